//! Explanations of pods and devices, link by link.
//!
//! | what | module |
//! |---|---|
//! | The document of an explanation | [`view`] |
//! | A step of an explanation, with the field that it comes from | [`step`] |
//! | The verdict on a pod, in words | `verdict` |
//! | Explanation of a pod: its verdict and the deciding taints | [`pod`] |
//! | The chain from a pod to its taints, as steps with the fields that state them | `chain` |
//! | Single changes that keep a pod, or give it devices | [`fixes`] |
//! | Explanation of a pending pod: its requests, and what excludes devices from them | [`waiting`] |
//! | The root cause that keeps a pod pending, in words | `root_cause` |
//! | Explanation of a device: its taints and users, and devices that share counters with it | [`device`] |

mod chain;
pub mod device;
pub mod fixes;
pub mod pod;
mod root_cause;
pub mod step;
mod verdict;
pub mod view;
pub mod waiting;

pub use device::explain_device;
pub use fixes::{ChangeType, SingleChange};
pub use pod::{explain_pod, explain_pod_without_claims, explain_unread_pod};
pub use step::{FieldReference, Step, StepType};
pub use verdict::{ExplainedVerdict, PodOutcome};
pub use view::{Explained, Explanation};
pub use waiting::{BestNode, Excluded, ExclusionReason, RootCauseCode, WaitingRequest};
