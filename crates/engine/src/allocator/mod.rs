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
//! | Quantities as exact numbers | `quantity` |
//! | Evaluation of node selectors | `nodes` |
//! | Pools as the allocator gathers them for a node | `pool` |
//! | Devices and shares that claims hold | `usage` |
//! | Compiled class and request selectors, each evaluated once per device | `expression_cache` |
//! | Capacity consumed of shared devices | `capacity` |
//! | Shared counters that partitions of a device consume | `counters` |
//! | Constraints between the devices of a claim: `matchAttribute` and `distinctAttribute` | `constraint` |
//! | Requests of a claim as the allocator evaluates them on a node | `demand` |
//! | Backtracking search for an allocation of one claim on one node | `search` |
//! | Nodes on which the pods of a claim can be scheduled | [`pod_nodes`] |
//! | Reallocation of every affected claim, with one budget and shared intermediate results | `allocation_session` |
//! | Result types: what happens to every affected claim | [`mod@replacement`] |
//! | Claims with equal specs, and what is computed once for all of them | `claim_group` |
//! | Which inputs were read completely, and reasons for unknown results | [`completeness`] |
//! | Devices that could serve a request | `candidate_devices` |
//! | Devices of the affected classes that stay allocatable | `available` |
//! | Pools that the allocator skips because their drivers have not published all slices | `incomplete_pools` |
//! | A claim that waits for devices, and whether it can be allocated now | `pending_claim` |
//! | Reasons why a device cannot serve a request | `exclusions` |
//! | The root cause that keeps a claim waiting, as far as devices go | `root_cause` |
//! | Diagnosis of a waiting claim: usable devices, exclusions of all others, and the root cause | [`mod@diagnosis`] |
//! | Owners of taints that keep a device from a claim | `taint_owner` |
//! | Devices in use on the same hardware | [`mod@siblings`] |
//! | Pods whose eviction makes room for a waiting claim | [`room`] |
//! | Parts of devices, such as the partitions of a GPU | [`parts_by_device()`] |
//! | Free devices that cannot be allocated because other partitions of the same hardware are in use | [`blocked_partitions()`] |
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, which is the allocator
//! of 1.36 to 1.38 with their default feature gates.

mod allocation_session;
mod available;
mod blocked_partitions;
mod candidate_devices;
mod capacity;
mod claim_group;
mod cluster_state;
pub mod completeness;
mod constraint;
mod counters;
mod demand;
pub mod diagnosis;
mod exclusions;
mod expression_cache;
mod incomplete_pools;
mod nodes;
mod parts;
mod pending_claim;
pub mod pod_nodes;
mod pool;
mod quantity;
pub mod replacement;
pub mod room;
mod root_cause;
mod search;
pub mod siblings;
mod taint_owner;
mod usage;

#[cfg(test)]
mod tests;

pub use allocation_session::replacement;
pub use available::Available;
pub use blocked_partitions::{PartitionedPools, blocked_partitions};
pub use completeness::{Completeness, Range, SearchBasis, Unknown};
pub use diagnosis::{Diagnosis, diagnose};
pub use exclusions::{ChoiceDiagnosis, Exclusion};
pub use incomplete_pools::IncompletePool;
pub use parts::{parts_by_device, sharing_by_device, sharing_counters};
pub use pending_claim::{PendingClaim, is_placeable, sufficient_uncordons};
pub use pod_nodes::NodeFilter;
pub use replacement::{ClaimReallocation, Placeability, Replacement, RequestCandidates};
pub use root_cause::RootCause;
pub use siblings::{Sibling, same_hardware, siblings, users_beside};
pub use taint_owner::TaintOwner;
