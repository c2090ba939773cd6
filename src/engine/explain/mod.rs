//! Why is a pod evicted, or not?
//!
//! The whole chain of one pod, link by link, each judged by what judges it in a preview: nothing is
//! decided a second time here. Which single change would alter the verdict is found by making the change
//! in what is around the pod, and asking again.
//!
//! ```text
//! pod ─▶ entry ─▶ claim ─▶ reservation      ─┐
//!                   └▶ device ─▶ taint ─▶ toleration ─┴▶ verdict ─▶ changes
//! ```
//!
//! | what | module |
//! |---|---|
//! | The part of a snapshot that concerns one pod | [`mod@related_objects`] |
//! | Input of explanations: a snapshot, existing and assumed taints, and a time | [`explain_input`] |
//! | The chain of references from a pod to its taints, link by link | [`chain`] |
//! | The verdict on a pod, in the detail that explanations need | [`pod_verdict`] |
//! | All claims a pending pod waits for, merged into one, since one node has to serve them all | [`pending_pod`] |
//! | Single changes that would alter what happens to a pod | [`mod@alterations`] |

pub mod alterations;
pub mod chain;
pub mod explain_input;
pub mod pending_pod;
pub mod pod_verdict;
pub mod related_objects;

pub use alterations::{Alteration, VerdictChange, alterations, combined_alteration};
pub use chain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, HeldDevice, Publication, Reservation, on_device,
};
pub use explain_input::ExplainInput;
pub use pending_pod::PendingPod;
pub use pod_verdict::PodVerdict;
pub use related_objects::{related_claims, related_objects};
