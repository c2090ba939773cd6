//! Verdicts of the control plane over a [`Snapshot`](crate::model::Snapshot).
//!
//! Pure functions of (snapshot, now, semantics): no I/O, no clock, no failure. Everything that the
//! device-taint-eviction controller decides is decided here, by the same rules.
//!
//! ```text
//! taint ──▶ device ──▶ claim ──▶ pod      at every arrow the earliest time wins
//! ```
//!
//! | what | module |
//! |---|---|
//! | Behaviour of Kubernetes versions: the one table of differences | [`semantics`] |
//! | Known defects of Kubernetes releases around device taints | [`defects`] |
//! | Preview: the verdicts on pods if the proposed taints were there | [`preview()`] |
//! | Why is a pod evicted, or not? | [`explain`] |
//! | Devices that proposed taints select | [`selection()`] |
//! | PodDisruptionBudgets that the evictions would violate | [`disruption()`] |
//! | Model of the scheduler's structured allocator: whether claims that lose their devices can be reallocated | [`allocator`] |
//! | Workloads of evicted pods, and how many ready pods they keep | [`workloads()`] |
//! | Devices of the cluster with their users | [`inventory`] |
//! | Partitions that stay schedulable although the whole device is tainted | [`open_parts`] |
//! | Devices known from claims alone, because their driver publishes nothing | [`unpublished_devices`] |
//! | The condition `EvictionInProgress` that the controller would write | [`condition`] |
//! | Pods that use the hardware of tainted devices through other devices | [`beside`] |
//! | What keeps a pod on its node although all its containers have ended | [`termination_blocker`] |
//! | Lifecycle of a rule: pending evictions while it is there, devices released once it is gone | [`rule_lifecycle`] |
//! | End conditions of waits | [`settle`]; claims that hold devices, and pods that stay: [`holders`]; pods deleted by force: [`forced_deletions`] |
//! | Nodes that a pod cannot be scheduled on | [`closed_nodes`] |
//! | Identification of a kubelet's node | [`kubelet_node`] |
//! | Claims and templates, not allocated yet, that tolerate the taints of a device | [`tolerant`] |
//!
//! Upstream: `pkg/controller/devicetainteviction` of Kubernetes.

#![cfg_attr(not(test), deny(clippy::expect_used, clippy::panic))]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        reason = "a sum that overflows in a test fails that test"
    )
)]

pub mod allocator;
pub mod beside;
mod claims;
pub mod closed_nodes;
pub mod condition;
pub mod defects;
pub mod device_filter;
mod devices;
pub mod disruption;
mod eviction;
pub mod explain;
pub mod expression;
pub mod forced_deletions;
pub mod holders;
pub mod impact;
pub mod inventory;
pub mod job_fate;
pub mod kubelet_node;
pub mod model;
pub mod open_parts;
mod preview;
mod proposed_rules;
mod proposed_taint;
pub mod rule_lifecycle;
mod select;
mod selection;
mod selector_scope;
pub mod semantics;
pub mod settle;
mod templates;
pub mod termination_blocker;
#[cfg(any(test, feature = "testing"))]
#[allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "for tests"
)]
pub mod testing;
#[cfg(any(test, feature = "testing"))]
#[allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "for tests"
)]
pub mod tests;
pub mod tolerant;
pub mod tolerate;
pub mod unpublished_devices;
mod usage;
pub mod workloads;

pub use condition::Condition;
pub use defects::{Defect, Presence};
pub use device_filter::{DeviceCondition, FilteredDevices, filter_devices};
pub use devices::{PoolSlices, complete_pools, current_slices, pool_slices};
pub use disruption::{Disruption, disruption};
pub use impact::{
    Cause, ClaimUse, Counts, DeviceImpact, DeviceTaint, Impact, NotEvicted, Origin, PodImpact,
    ProposedTaint, RuleImpact, Verdict, nodes_of,
};
pub use inventory::{Consumer, DeviceState, devices, taints_on};
pub use preview::{preview, tainted_devices};
pub use selection::{Selection, selected_of, selection};
pub use selector_scope::SelectorScope;
pub use semantics::Semantics;
pub use usage::{Usage, claim_names, drivers_of, usage};
pub use workloads::{WorkloadImpact, Workloads, workloads};
