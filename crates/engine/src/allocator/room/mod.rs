//! Pods whose eviction makes room for a claim that waits.
//!
//! Takes a [`RoomQuestion`]: a waiting claim (all claims of a pod as one), the pods that may be evicted, and what their
//! eviction costs. Gives the cheapest set found of pods after whose eviction the allocator can place the claim on one
//! node. Knows no time, evicts nothing, and cannot fail.
//!
//! ```text
//! pods that may be evicted ─▶ claims that each set releases ─▶ placement on each node ─▶ cheapest set
//! ```
//!
//! A claim is released when all pods that it is reserved for are evicted or terminating. Devices that are held with
//! admin access block no claim.

pub mod question;
pub mod search;
#[cfg(test)]
mod tests;

pub use question::{RoomCost, RoomQuestion, RoomSearch, RoomSet, RoomTier};
pub use search::{can_use, relevant_devices, room};
