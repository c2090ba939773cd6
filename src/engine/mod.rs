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

//! | Which devices are there, and who uses them? | [`inventory`] |
//! | What would the controller's condition say? | [`condition`] |
//!
//! Upstream: `pkg/controller/devicetainteviction` of Kubernetes.

pub mod condition;
pub mod impact;
pub mod inventory;
pub mod semantics;

pub use condition::Condition;
pub use impact::{
    Cause, ClaimUse, ConsideredTaint, Counts, DeviceImpact, DeviceTaint, Impact, NotEvicted,
    Origin, PodImpact, RuleImpact, Verdict,
};
pub use inventory::DeviceState;
pub use semantics::Semantics;
