//! Explanations of pods, devices and rules, link by link.
//!
//! | what | module |
//! |---|---|
//! | A step of an explanation, with the field it comes from | [`step`] |
//! | The document of an explanation | [`view`] |
//! | Input of the explanation of one pod | `pod_context` |
//! | Explanation of a pod's verdict | [`pod`] |
//! | A request of a claim in words, with its field path | `request_text` |
//! | What keeps a claim from devices, in words | `root_cause` |
//! | The links of a chain that decide about its pod, in a line or two each | `deciding` |
//! | Match of a toleration with a taint, in words | `toleration` |
//! | The verdict on a pod, in words | `verdict` |
//! | Single changes that would alter what happens to a pod, in words | [`fixes`] |
//! | Explanation of a pending pod: its requests, and what keeps devices from them | [`waiting`] |
//! | Single changes that would give devices to a pending pod | `pending_fixes` |
//! | Explanation of a device: its users, its taints, and claims that could get it | [`device`] |
//! | Explanation of what a rule selects | [`rule`] |
//! | The object and field a taint comes from | `origin` |

mod deciding;
pub mod device;
pub mod fixes;
mod origin;
mod pending_fixes;
pub mod pod;
mod pod_context;
mod request_text;
mod root_cause;
pub mod rule;
pub mod step;
mod toleration;
mod verdict;
pub mod view;
pub mod waiting;

pub use device::explain_device;
pub use fixes::{ChangeType, SingleChange};
pub use pod::{explain_pod, explain_pod_without_claims, explain_unread_pod};
pub use rule::explain_rule;
pub use step::{FieldReference, Step, StepType};
pub use verdict::{ExplainedVerdict, PodOutcome};
pub use view::{Explained, Explanation, SubjectKind};
pub use waiting::{Excluded, RootCauseCode, WaitingRequest};
