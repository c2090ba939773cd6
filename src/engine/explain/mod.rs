//! Why is a pod evicted, or not?
//!
//! The whole chain of one pod, link by link, each judged by what judges it in a preview: nothing is
//! decided a second time here. Which single change would alter the verdict is found by making the change
//! in what is around the pod, and asking again.
//!
//! ```text
//! pod ─▶ entry ─▶ claim ─▶ reservation      ─┐
//!                   └▶ device ─▶ taint ─▶ toleration ─┴▶ fate ─▶ changes
//! ```
//!
//! | question | module |
//! |---|---|
//! | What of a cluster is around a pod? | [`mod@related_objects`] |
//! | Which taints are asked about, beside those that are there? | [`explain_input`] |
//! | What leads from the pod to a taint, and what stands in between? | [`chain`] |
//! | What becomes of it? | [`pod_verdict`] |
//! | What does it wait for that has no devices yet? | [`pending_pod`] |
//! | Which change of one thing would alter that, and which several where none does? | [`mod@alterations`] |

pub mod alterations;
pub mod chain;
pub mod explain_input;
pub mod pending_pod;
pub mod pod_verdict;
pub mod related_objects;

pub use alterations::{Alteration, VerdictChange, alterations, together};
pub use chain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, HeldDevice, Publication, Reservation, on_device,
};
pub use explain_input::ExplainInput;
pub use pending_pod::PendingPod;
pub use pod_verdict::PodVerdict;
pub use related_objects::{related_claims, related_objects};
