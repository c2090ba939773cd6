//! Draining units: the reads, waits and changes around `decide::drain`.
//!
//! | what | module |
//! |---|---|
//! | The work of a drain, and reasons to refuse it before anything is tainted | `prepare` |
//! | What it does to pods, and further reasons to refuse it | `assess` |
//! | Permissions that are asked for before that | `permission` |
//! | The units to drain, and how | `order` |
//! | Results of a run, and its progress | `board` |
//! | Observations of a unit while it is drained | `look` |
//! | Restarts of Deployments | `restart` |
//! | One unit, from its first eviction until it is done | `unit` |
//! | All units of a drain | `units` |
//! | Force deletions in units that wait | `waiting_units` |
//! | How many of them are drained at the same time | `concurrent` |

mod assess;
mod board;
mod look;
mod order;
mod permission;
mod prepare;
mod prepared;
mod restart;
mod unit;
mod units;
mod waiting_units;

pub(crate) use order::DrainOrder;
pub(crate) use prepare::DrainRequest;
