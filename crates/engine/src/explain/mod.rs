//! Reasons for the verdict on a pod.
//!
//! The chain of one pod, link by link, each judged by the code that judges it in a preview. A single change is
//! found by making it in the objects around the pod, and judging again.
//!
//! ```text
//! pod ─▶ entry ─▶ claim ─▶ reservation      ─┐
//!                   └▶ device ─▶ taint ─▶ toleration ─┴▶ verdict ─▶ changes
//! ```
//!
//! | what | module |
//! |---|---|
//! | The part of a snapshot that concerns one pod | [`related_objects()`] |
//! | Input of explanations: a snapshot, existing and assumed taints, and a time | [`ExplainInput`] |
//! | The chain of references from a pod to its taints, link by link | [`chain`] |
//! | The verdict on a pod, in the detail that explanations need | [`PodVerdict`] |
//! | All claims a pending pod waits for, merged into one, since one node has to serve them all | [`pending_pod`] |
//! | Single changes that spare a pod its eviction, or delay it | [`mod@alterations`] |

pub mod alterations;
pub mod chain;
pub mod pending_pod;

pub use alterations::{Alteration, RequestToleration, VerdictChange, alterations};
pub use chain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, ExplainInput, HeldDevice, PodVerdict,
    Publication, Reservation, on_device,
};
pub use pending_pod::{PendingPod, RequestOrigin, related_claims, related_objects};
