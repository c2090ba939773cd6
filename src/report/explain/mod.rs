//! Explanations of pods and devices, link by link.

pub mod device;
pub mod pod;
mod root_cause;
pub mod step;
pub mod view;
pub mod waiting;

pub use device::explain_device;
pub use pod::{explain_pod, explain_pod_without_claims};
pub use step::{ExplainedVerdict, PodOutcome};
pub use step::{FieldReference, Step, StepType};
pub use view::{ChangeType, Explained, Explanation, SingleChange};
pub use waiting::{BestNode, Excluded, ExclusionReason, RootCauseCode, WaitingRequest};
