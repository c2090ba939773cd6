//! Draining units: the reads, waits and changes around `decide::drain`.

mod prepare;
mod units;

pub(crate) use prepare::{DrainRequest, PreparedDrain};
pub(crate) use units::UnitDrain;
