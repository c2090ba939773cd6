//! Dedications: devices for the claims of some namespaces, and for no others.
//!
//! [`Terms`] describe a dedication. They give its objects: policies that add a toleration in these
//! namespaces and reject it elsewhere, and rules that taint the devices.
//!
//! | what | module |
//! |---|---|
//! | Name, namespaces and devices of a dedication | `terms` |
//! | Admission policies and their expressions (CEL) | `policies` |
//! | Objects of a dedication, and what is done about each | `objects` |
//! | Devices that others have or can still use | `conflicts` |
//! | Pods that stay, and claims outside that tolerate the taint | `findings` |
//! | Claims and templates that tolerate a taint | `tolerating` |
//! | Tolerations as documents | `documents` |

mod objects;
mod terms;
#[cfg(test)]
pub(crate) mod testing;
mod tolerating;

pub use objects::{DesiredObject, KINDS, Step, full_name, is_of};
pub use terms::{
    NamespaceFact, Namespaces, Terms, findings, other_dedication, refuse_overlap,
    refuse_shared_counters,
};
pub use tolerating::{
    Tolerance, Tolerant, TolerantKind, taints_meant, tolerance_of, tolerants, toleration_document,
    traps, typed_taint, unreadable,
};
