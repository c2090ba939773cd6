//! Draining units: the reads, waits and changes around `decide::drain`.
//!
//! | what | module |
//! |---|---|
//! | What is looked at while a unit is drained | `look` |
//! | One unit, from its first eviction until it is over | `unit` |
//! | All units of a drain, one after the other | `units` |

mod look;
mod unit;
mod units;

pub(crate) use look::unread;
pub(crate) use units::{DrainOrder, DrainRun};
