//! Why is it so? One pod, device or rule, link by link.
//!
//! | question | module |
//! |---|---|
//! | What is said, and where does it stand? | [`step`] |
//! | What is there to say of everything that was asked about? | [`view`] |
//! | What is asked about one pod? | `context` |
//! | What leads to a pod's verdict? | [`pod`] |
//! | What does a request ask for, in words, and where does it stand? | `asked` |
//! | What keeps a claim from devices, in words? | `blame` |
//! | What does a toleration make of a taint, in words? | `toleration` |
//! | What becomes of it, in words? | `verdict` |
//! | Which single change would alter that? | [`change`] |
//! | What does a pod wait for, and what keeps it? | [`waiting`] |
//! | Which single change would give it devices? | `releasing` |
//! | Who uses a device, what taints it, who could get it next? | [`device`] |
//! | What does a rule select, and why? | [`rule`] |
//! | Where does a taint stand? | `origin` |

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
pub use fixes::SingleChange;
pub use pod::{explain_pod, explain_pod_without_claims, explain_unread_pod};
pub use rule::explain_rule;
pub use step::{About, FieldSource, Step};
pub use verdict::{ExplainedVerdict, VerdictCode};
pub use view::{Explained, Explanation, RuleEviction, SubjectKind};
pub use waiting::{Excluded, RootCauseCode, WaitingRequest};
