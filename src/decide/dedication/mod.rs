//! Dedications: devices for the claims of some namespaces, and for no others.
//!
//! A dedication is a taint `dedicated=NAME` on devices, a policy that adds the toleration to new claims
//! of its namespaces, and a policy that refuses that toleration elsewhere. All of it is made from
//! [`Terms`].
//!
//! | what | module |
//! |---|---|
//! | The terms of a dedication: its name, its namespaces, and namespaces in which claims may tolerate the taint | `terms` |
//! | The expressions of a dedication's policies (CEL) | `expressions` |
//! | The objects of a dedication beside its rules | `objects` |
//! | The rules of a dedication | `rules` |
//! | Steps that create or remove the policies of a dedication, in order | `plan` |
//! | The namespaces of a dedication: whether they exist and may be members | `namespaces` |
//! | Devices that another dedication has already | `overlap` |
//! | Claims and templates that tolerate a taint | `tolerating` |
//! | Tolerations as documents | `documents` |

mod documents;
mod expressions;
mod namespaces;
mod objects;
mod overlap;
mod plan;
mod rules;
mod terms;
#[cfg(test)]
pub(crate) mod testing;
mod tolerating;

pub use documents::{taints_meant, toleration_document, traps, typed_taint};
pub use namespaces::{KnownNamespaces, NamespaceFact, refuse_namespaces};
pub use objects::{DesiredObject, PolicyKind, objects};
pub use overlap::refuse_overlap;
pub use plan::{PolicyStep, is_ours, is_still_ours, plan, removable};
pub use rules::{is_our_rule, left_policies, members_of_rules};
pub use terms::{Members, Terms, object_name};
pub use tolerating::{Tolerance, Tolerant, TolerantKind, tolerance_of, tolerants, unreadable};
