//! What the control plane would do: verdicts over a [`Snapshot`](crate::model::Snapshot).
//!
//! Pure functions of (snapshot, now, semantics): no I/O, no clock, no failure. Everything that the
//! device-taint-eviction controller decides is decided here, by the same rules.
//!
//! ```text
//! taint ──▶ device ──▶ claim ──▶ pod      at every arrow the earliest time wins
//! ```
//!
//! | question | module |
//! |---|---|
//! | Which Kubernetes version behaves how? | [`semantics`] |
//! | What does which release do wrong? | [`defects`] |
//! | What would these taints do? | [`preview()`] |
//! | Why does a pod go, or stay, and what would alter that? | [`explain`] |
//! | Which devices do taints select? | [`selection()`] |
//! | Which budgets would refuse the evictions? | [`disruption()`] |
//! | Could claims be placed again, and who sits on the same hardware? | [`allocator`] |
//! | What do the evicted pods belong to, and what is left of it? | [`workloads()`] |
//! | Which devices are there, and who uses them? | [`inventory`] |
//! | Which devices are known from claims alone, since their driver is away? | [`unpublished_devices`] |
//! | What would the controller's condition say? | [`condition`] |
//! | Which devices are the same hardware under other names? | [`hardware`] |
//! | Which devices are close to one another? | [`mod@peers`] |
//! | What keeps a pod whose containers have ended? | [`termination_blocker`] |
//! | Where is a rule in its life? | [`rule_lifecycle`] |
//! | When is a wait over? | [`settle`]; who holds devices, and who stays? [`holders`]; who was deleted by force? [`forced_deletions`] |
//! | May a device be pulled? | [`device_removal`]; what has a kubelet not given back? [`unreleased_devices`] |
//! | Of which node is a kubelet? | [`kubelet_node`] |
//! | Who may still come to a tainted device? | [`tolerant`] |
//!
//! Upstream: `pkg/controller/devicetainteviction` of Kubernetes.

pub mod allocator;
mod claims;
pub mod condition;
pub mod defects;
pub mod device_filter;
pub mod device_removal;
mod devices;
pub mod disruption;
mod eviction;
pub mod explain;
pub mod expression;
pub mod forced_deletions;
pub mod hardware;
pub mod holders;
pub mod impact;
pub mod inventory;
pub mod job_fate;
pub mod kubelet_node;
mod legacy_selector;
pub mod peers;
mod preview;
mod proposed_rules;
mod proposed_taint;
pub mod recurring_evictions;
mod removal_objection;
pub mod rule_lifecycle;
mod select;
mod selection;
mod selector_scope;
pub mod semantics;
pub mod settle;
pub mod termination_blocker;
#[cfg(test)]
mod tests;
pub mod tolerant;
pub mod tolerate;
pub mod unpublished_devices;
pub mod unreleased_devices;
mod usage;
pub mod workloads;

pub use condition::Condition;
pub use defects::{Defect, Presence};
pub use device_filter::{DeviceCondition, FilteredDevices, filter_devices, with_siblings};
pub use devices::complete_pools;
pub use disruption::{Disruption, disruption};
pub use impact::{
    Cause, ClaimUse, Counts, DeviceImpact, DeviceTaint, Impact, NotEvicted, Origin, PodImpact,
    ProposedTaint, RuleImpact, Verdict,
};
pub use inventory::{Consumer, DeviceState, Inventory, devices};
pub use preview::preview;
pub use selection::{Selection, selected_of, selection};
pub use selector_scope::SelectorScope;
pub use semantics::Semantics;
pub use usage::{Usage, drivers_of, usage};
pub use workloads::{WorkloadImpact, Workloads, workloads};
