//! Dedications: devices for the claims of some namespaces, and for no others.
//!
//! A dedication is a taint `dedicated=NAME` on devices, a policy that adds the toleration to new claims
//! of its namespaces, and a policy that refuses that toleration elsewhere. All of it is made from
//! [`Terms`], which the policies note, so that what is there can be compared with what should be.
//!
//! | what | module |
//! |---|---|
//! | The terms of a dedication: its name, who is let in, and what is allowed elsewhere | `terms` |
//! | The expressions of a dedication's policies (CEL) | `expressions` |
//! | The objects of a dedication beside its rules | `objects` |
//! | Differences between an object as it is and as it should be | `drift` |
//! | What is done about the policies of a dedication, and in which order | `plan` |
//! | The namespaces of a dedication: whether they are there, and whether they are fit for one | `namespaces` |
//! | Devices that another dedication has already | `overlap` |
//! | Claims and templates that tolerate a taint, and those that lack the toleration | `tolerating` |
//! | What is asked about tolerations, and what is printed for it | `documents` |
//! | The warning of a preview about the claims that a dedication lets in | `let_in` |
//! | What to know before devices are dedicated | `notes` |
//! | The state of a dedication: its policies, its devices, and who uses them | `state` |

mod documents;
mod drift;
mod expressions;
mod let_in;
mod namespaces;
mod notes;
mod objects;
mod overlap;
mod plan;
mod state;
mod terms;
#[cfg(test)]
pub(crate) mod testing;
mod tolerating;

pub use documents::{TolerationFor, taints_meant, toleration_document, traps, typed_taint};
pub use drift::{drift, merge_patch};
pub use let_in::let_in;
pub use namespaces::{KnownNamespaces, Missing, NamespaceFact, refuse_namespaces};
pub use notes::notes;
pub use objects::{DesiredObject, PolicyKind, api_version_of, objects, snippet};
pub use overlap::{Overlap, overlaps, refuse_overlaps};
pub use plan::{
    Overwrite, PolicyStep, is_ours, is_still_ours, plan, removable, replaced, too_old_for_policies,
};
pub use state::{
    DedicatedDevice, DedicationState, DeviceUser, Policies, PolicyCondition, PolicyListing,
    PolicyState, is_our_rule, left_policies, members_of_rules, names, state,
};
pub use terms::{AdminAccess, Members, Terms, object_name};
pub use tolerating::{
    Tolerance, Tolerant, TolerantKind, lacking, tolerance_of, tolerants, unreadable,
};
