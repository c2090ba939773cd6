//! Draining units: the reads, waits and changes around `decide::drain`.

mod prepare;
mod units;

pub(crate) use prepare::{DrainRequest, PreparedDrain, leaving};
pub(crate) use units::UnitDrain;
