//! On real nodes: how pods leave their devices, and what keeps them.
//!
//! These tests need root and mounts of their own. Where that is not to be had they fail with one line
//! that says so; `DEVICETAINT_NODES=none` leaves them out, and then every one of them says so.

#[allow(dead_code, reason = "the second tier uses the rest")]
mod bench;
mod leaving;
mod podresources;
mod pulling;
