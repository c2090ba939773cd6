//! Model of the scheduler's structured allocator: whether claims that lose their devices can be reallocated.
//!
//! Answers for the proposed taints, claim by claim: could each be reallocated, with all other allocations kept, or with
//! those of all evicted pods gone? How many can be reallocated together is not said. Where something is not known (a
//! class that is gone, an expression that fails, nodes that were not read), the answer is unknown, never "no" and never
//! "yes".
//!
//! ```text
//! slices ─▶ pools of a node ─┐
//! claims ─▶ what is in use  ─┼▶ one claim ─▶ reallocation
//! classes ▶ which devices fit┘
//! ```
//!
//! | what | module |
//! |---|---|
//! | The cluster as the allocator sees it: devices with their taints, classes and nodes | `cluster_state` |
//! | Pools as the allocator gathers them for a node, and what was read of them | `pool` |
//! | Requests of a claim on a node; claims with equal specs share them | `demand` |
//! | Devices that could serve a request: selectors, and constraints between devices | `candidate_devices` |
//! | Capacity consumed of shared devices | `capacity` |
//! | Devices in use, and the counters that partitions consume | `counters` |
//! | Backtracking search for an allocation of one claim on one node | `search` |
//! | Nodes on which the pods of a claim can be scheduled | [`pod_nodes`] |
//! | Reallocation of every affected claim, with one budget and shared intermediate results | `allocation_session` |
//! | A claim that waits for devices, and what remains available | `pending_claim` |
//! | Reasons why a device cannot serve a request, and the root cause of a wait | `exclusions`, [`mod@diagnosis`] |
//! | Pods whose eviction makes room for a waiting claim | [`room`] |
//! | Parts of devices, such as the partitions of a GPU, and their users | [`parts_by_device()`], [`blocked_partitions()`] |
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, which is the allocator
//! of 1.36 to 1.38 with their default feature gates.

mod allocation_session;
mod blocked_partitions;
mod candidate_devices;
mod capacity;
mod cluster_state;
mod counters;
mod demand;
pub mod diagnosis;
mod exclusions;
mod parts;
mod pending_claim;
pub mod pod_nodes;
mod pool;
pub mod room;
mod search;

#[cfg(test)]
mod tests;

pub use allocation_session::replacement;
pub use blocked_partitions::{PartitionedPools, blocked_partitions};
pub use diagnosis::{Diagnosis, RootCause, TaintOwner, diagnose};
pub use exclusions::{ChoiceDiagnosis, Exclusion};
pub use parts::{
    Sibling, parts_by_device, same_hardware, sharing_by_device, sharing_counters, siblings,
    users_beside,
};
pub use pending_claim::{
    Available, ClaimReallocation, PendingClaim, Placeability, Replacement, RequestCandidates,
    is_placeable, sufficient_uncordons,
};
pub use pod_nodes::NodeFilter;
pub use pool::{Completeness, IncompletePool, Range, SearchBasis, Unknown};
