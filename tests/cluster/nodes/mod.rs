//! Pods on real nodes: release of their devices, and its obstacles.
//!
//! These tests need root and mounts of their own. Without these they fail with one line about it;
//! `DEVICETAINT_NODES=none` skips them, and then every one of them prints so.

#[allow(dead_code, reason = "the second tier uses the rest")]
mod bench;
mod leaving;
mod podresources;
mod pulling;
