//! Dedications: devices for the claims of some namespaces, and for no others.
//!
//! A dedication is a taint `dedicated=NAME` on devices, a policy that adds the toleration to new claims
//! of its namespaces, and a policy that refuses that toleration elsewhere. All of it is made from
//! [`Terms`], which the policies note, so that what is there can be compared with what should be.
//!
//! | question | module |
//! |---|---|
//! | Who is let in, and how is that noted? | `terms` |
//! | Which expressions do the policies have? | `expressions` |
//! | Which objects are they? | `objects` |
//! | What is different in the object that is there? | `drift` |
//! | What is done about each of them, and in which order? | `plan` |
//! | Do the namespaces exist, and are they fit for it? | `namespaces` |
//! | Has another dedication these devices? | `overlap` |
//! | Which claims have the toleration, and which lack it? | `tolerating` |
//! | What tolerates a taint, as a document? | `documents` |
//! | What do reports show of it? | `reported` |
//! | What does a preview say of those who are let in? | `let_in` |
//! | What is there to know before? | `notes` |
//! | What is the state of a dedication? | `state` |

mod documents;
mod drift;
mod expressions;
mod let_in;
mod namespaces;
mod notes;
mod objects;
mod overlap;
mod plan;
mod reported;
mod state;
mod terms;
#[cfg(test)]
mod testing;
mod tolerating;

pub use documents::{TolerationFor, taints_meant, toleration_document, traps, typed_taint};
pub use drift::{drift, merge_patch};
pub use let_in::let_in;
pub use namespaces::{KnownNamespaces, Missing, NamespaceFact, refuse_namespaces};
pub use notes::notes;
pub use objects::{DesiredObject, PolicyKind, api_version_of, objects, snippet};
pub use overlap::{Overlap, overlaps, refuse_overlaps};
pub use plan::{Overwrite, PolicyStep, is_ours, plan, removable, too_old_for_policies};
pub use reported::{reported, tolerant_report};
pub use state::{
    DedicatedDevice, DedicationState, DeviceUser, Policies, PolicyCondition, PolicyListing,
    PolicyState, is_our_rule, members_of_rules, names, state,
};
pub use terms::{AdminAccess, Members, Terms, object_name};
pub use tolerating::{
    Tolerance, Tolerant, TolerantKind, lacking, tolerance_of, tolerants, unreadable,
};
