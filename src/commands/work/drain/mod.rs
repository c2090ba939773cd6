//! Draining units: the reads, waits and changes around `decide::drain`.
//!
//! | what | module |
//! |---|---|
//! | The units of a drain, its rules, and its pods before anything is tainted | `prepare` |
//! | Permissions, asked for before anything is tainted | `permission` |
//! | Units, one after the other | `units` |
//! | Observations of a unit | `look` |
//! | Evictions, restarts and effects | `act` |

mod act;
mod look;
mod permission;
mod prepare;
mod units;

pub(crate) use prepare::{DrainRequest, PreparedDrain, leaving};
pub(crate) use units::UnitDrain;
