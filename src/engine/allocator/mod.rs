//! Could claims that lose their devices be placed again?
//!
//! What the scheduler's structured allocator would say, with the considered taints in place: for each
//! claim alone, with everybody else's allocations kept, and for all of them together as a bound. Where
//! something is not known (a class that is gone, an expression that fails, nodes that nobody has read)
//! the answer is that, never "no" and never "there is one".
//!
//! ```text
//! slices ─▶ pools of a node ─┐
//! claims ─▶ what is in use  ─┼▶ one claim alone ─▶ outlook ─▶ all of them together
//! classes ▶ which devices fit┘
//! ```
//!
//! | question | module |
//! |---|---|
//! | Which devices are there, tainted how, and what is known of them? | `state` |
//! | What does an amount come to? | `quantity` |
//! | Which nodes does a selector mean? | `nodes` |
//! | Which pools does the allocator see on a node? | `pool` |
//! | Who holds what? | `usage` |
//! | Does a device fit class and expressions? | `fit` |
//! | How much of a shared device is taken? | `capacity` |
//! | Is enough left of what partitions share? | `counters` |
//! | Are the devices of a claim alike, or different, as it asks? | `constraint` |
//! | What exactly does a claim ask for on a node? | `demand` |
//! | Can one claim be placed on a node? | `search` |
//! | What becomes of every affected claim? | `session` |
//! | What is said of it? | [`mod@replacement`] |
//! | What do claims have in common that ask for the same? | `group` |
//! | What is known, and how much of it? | [`completeness`] |
//! | How many devices could serve a request? | `candidates` |
//! | How many claims can be placed together, at the most? | `together` |
//! | How much of the same class stays allocatable? | `available` |
//! | Which pools does the allocator pass over for now? | `incomplete_pools` |
//! | Which claim waits, and is there a place for it? | `waiting` |
//! | What speaks against each device for it? | `survey` |
//! | What keeps it waiting? | `root_cause` |
//! | What is there for it, all in all? | [`mod@diagnosis`] |
//! | Who could get a device next? | [`mod@candidate_claims`] |
//! | Whose is a taint that keeps a device back? | `owner` |
//! | Who else sits on the same hardware? | [`mod@siblings`] |
//! | What can nobody get although nobody holds it? | [`blocked_partitions()`] |
//!
//! Upstream: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, which is the allocator
//! of 1.36 and 1.37 with their default feature gates.

mod allocation_session;
mod available;
mod blocked_partitions;
pub mod candidate_claims;
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
mod joint_bound;
mod nodes;
mod pending_claim;
mod pool;
mod quantity;
pub mod replacement;
mod root_cause;
mod search;
pub mod siblings;
mod taint_owner;
mod unmodelled_terms;
mod usage;

#[cfg(test)]
mod tests;

pub use allocation_session::replacement;
pub use available::Available;
pub use blocked_partitions::blocked_partitions;
pub use candidate_claims::{CandidateClaim, candidate_claims};
pub use completeness::{Completeness, Range, Unknown};
pub use diagnosis::{Diagnosis, diagnose};
pub use exclusions::{ChoiceDiagnosis, Exclusion};
pub use incomplete_pools::IncompletePool;
pub use joint_bound::JointBound;
pub use pending_claim::{PendingClaim, is_placeable};
pub use replacement::{ClaimReallocation, Placeability, Replacement, RequestCandidates};
pub use root_cause::RootCause;
pub use siblings::{Sibling, siblings, users_beside};
pub use taint_owner::TaintOwner;
pub use unmodelled_terms::UnmodelledTerm;
