//! Verdicts of the control plane over a [`Snapshot`](crate::model::Snapshot).
//!
//! Functions of a snapshot, the time and the Kubernetes version: no I/O, no clock, and no failure for
//! well-formed input. Decisions are those of the device-taint-eviction controller and of the
//! scheduler's allocator.
//!
//! ```text
//! taint ──▶ device ──▶ claim ──▶ pod      at every arrow the earliest time wins
//! ```
//!
//! A preview of a rule with effect `NoExecute` for one device, which a claim of one pod holds:
//!
//! ```
//! use device_taint_engine::{model::*, preview, ProposedTaint, Semantics, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = "2026-11-21T01:00:34Z".parse()?;
//! let gpu = DeviceId { driver: "gpu.example.com".into(), pool: "node-7".into(), device: "gpu-0".into() };
//! let pool = Pool { name: gpu.pool.clone(), generation: 1, slice_count: 1 };
//! let devices = vec![Device { name: gpu.device.clone(), ..Device::default() }];
//! let slice = ResourceSlice { driver: gpu.driver.clone(), pool, devices, ..ResourceSlice::default() };
//!
//! let name = NamespacedName { namespace: "ml".into(), name: "train".into() };
//! let used = PodClaim { name: "gpu".into(), source: ClaimSource::Claim("train".into()) };
//! let node = Some("node-7".into());
//! let pod = Pod { name: name.clone(), uid: "1".into(), node, claims: vec![used], ..Pod::default() };
//! let results = vec![AllocationResult { device: gpu.clone(), ..AllocationResult::default() }];
//! let allocation = Some(Allocation { results, node: None });
//! let (resource, uid) = ("pods".into(), "1".into());
//! let consumer = ConsumerReference { resource, name: "train".into(), uid, ..Default::default() };
//! let claim = ResourceClaim { name, allocation, reserved_for: vec![consumer], ..ResourceClaim::default() };
//!
//! let snapshot = Snapshot { slices: vec![slice], claims: vec![claim], pods: vec![pod], ..Snapshot::default() };
//! let taint = Taint { key: "broken".into(), effect: Effect::NoExecute, time_added: Some(now), ..Taint::default() };
//! let rules = [ProposedTaint { rule: None, selector: Some(gpu.into()), taint }];
//! let impact = preview(&snapshot, &rules, now, &Semantics::assumed());
//! assert_eq!(impact.pods[0].verdict, Verdict::Evicted { at: now });
//! # Ok(())
//! # }
//! ```
//!
//! | what | module |
//! |---|---|
//! | Behaviour of Kubernetes versions: the one table of differences | [`semantics`] |
//! | Known defects of Kubernetes releases around device taints | [`defects`] |
//! | Preview: the verdicts on pods if the proposed taints were there | [`preview()`] |
//! | Why is a pod evicted, or not? | [`explain`] |
//! | Devices that proposed taints select | [`selection()`] |
//! | Devices that meet conditions, such as expressions in CEL | [`filter_devices`], [`expression`] |
//! | PodDisruptionBudgets that the evictions would violate | [`disruption()`] |
//! | Model of the scheduler's structured allocator: whether claims that lose their devices can be reallocated | [`allocator`] |
//! | Workloads of evicted pods, and how many ready pods they keep | [`workloads()`] |
//! | Reactions of Jobs to lost pods | [`job_fate`] |
//! | Devices of the cluster with their users, open partitions, and pods beside tainted devices | [`inventory`] |
//! | Published devices, and those known from claims alone | [`devices`](mod@devices) |
//! | The message of the condition `EvictionInProgress` of a rule with effect `None` | [`condition`] |
//! | What keeps a pod on its node although all its containers have ended | [`termination_blocker`] |
//! | Lifecycle of a rule: pending evictions while it is there, devices released once it is gone | [`rule_lifecycle`] |
//! | End conditions of waits | [`settle`]; claims that hold devices, pods that stay, pods deleted by force: [`holders`] |
//! | Nodes that a pod cannot be scheduled on, and the node of a kubelet | [`closed_nodes`] |
//! | Tolerations, and claims that tolerate the taints of a device | [`tolerate`] |
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
mod claims;
pub mod closed_nodes;
pub mod condition;
pub mod defects;
pub mod devices;
pub mod disruption;
mod eviction;
pub mod explain;
pub mod expression;
pub mod holders;
pub mod impact;
pub mod inventory;
pub mod job_fate;
pub mod model;
mod preview;
pub mod rule_lifecycle;
mod select;
pub mod semantics;
pub mod settle;
pub mod signal;
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
pub mod tolerate;
pub mod workloads;

pub use claims::{Usage, claim_names, drivers_of, usage};
pub use defects::{Defect, Presence};
pub use devices::{PoolSlices, complete_pools, current_slices, pool_slices};
pub use disruption::{Disruption, disruption};
pub use impact::{
    Cause, ClaimUse, Counts, DeviceImpact, DeviceTaint, Impact, NotEvicted, Origin, PodImpact,
    RuleImpact, Verdict, nodes_of,
};
pub use inventory::{Consumer, DeviceState, devices, taints_on};
pub use preview::{preview, tainted_devices};
pub use select::{
    DeviceCondition, FilteredDevices, ProposedTaint, Selection, SelectorScope, filter_devices,
    selected_of, selection,
};
pub use semantics::Semantics;
pub use workloads::{WorkloadImpact, Workloads, workloads};
