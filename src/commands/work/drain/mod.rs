//! Draining units: the reads, waits and changes around `decide::drain`.
//!
//! | what | module |
//! |---|---|
//! | What a drain is going to do, and what it is refused for before anything is tainted | `prepare` |
//! | What is drained, and how | `order` |
//! | What is looked at while a unit is drained | `look` |
//! | Restarts of Deployments whose pods leave | `restart` |
//! | One unit, from its first eviction until it is over | `unit` |
//! | All units of a drain, one after the other | `units` |

mod look;
mod order;
mod prepare;
mod restart;
mod unit;
mod units;

pub(crate) use order::DrainOrder;
pub(crate) use prepare::DrainRequest;
