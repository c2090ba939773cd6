//! Pods whose eviction makes room for a claim that waits.
//!
//! Takes a [`RoomQuestion`]: a waiting claim (all claims of a pod as one), the pods that may be evicted, and what their
//! eviction costs. Gives the cheapest set of pods after whose eviction the allocator can place the claim on one node, the
//! next best, and whether that is proved. Knows no time, evicts nobody, and cannot fail.
//!
//! ```text
//! pods that may be evicted ─▶ devices emptied by each set ─▶ placement on each node ─▶ cheapest set, runner-up
//! ```
//!
//! | what | module |
//! |---|---|
//! | What a set costs | [`cost`] |
//! | The question, and the sets that answer it | [`question`] |
//! | Who uses each device, and what is free once some pods have left | `occupancy` |
//! | Devices of one node that pods would have to leave | `node_room` |
//! | Combinations of places | `combinations` |
//! | The search, tier by tier and size by size | [`search`] |
//!
//! A device counts as empty only when every pod that uses it is evicted or terminating: a taint with effect NoExecute
//! evicts them all, those with admin access too. A smaller set is always cheaper, so that sets are tried by their size,
//! and none that contains one that was found.

mod combinations;
pub mod cost;
mod node_room;
mod occupancy;
pub mod question;
pub mod search;
#[cfg(test)]
mod tests;

pub use cost::{RoomCost, Tier};
pub use question::{RoomQuestion, RoomSearch, RoomSet};
pub use search::{relevant_devices, room};
