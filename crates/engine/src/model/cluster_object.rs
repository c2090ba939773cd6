//! Objects of the cluster of which the name and the notes count: admission policies, and namespaces.
//!
//! The content of an admission policy is compared field by field with what it should be, on the object as
//! it is served; this module only identifies objects.

use std::collections::BTreeMap;
use std::ops::Deref;

use jiff::Timestamp;

use super::ids::{ObjectName, Uid};

/// Identity and metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterObject {
    /// Unique among those of its kind.
    pub name: ObjectName,
    /// Distinguishes it from a later one of the same name; empty where nothing says it.
    pub uid: Uid,
    /// Version of the object; opaque.
    pub resource_version: String,
    /// For selecting.
    pub labels: BTreeMap<String, String>,
    /// Plain text and programs.
    pub annotations: BTreeMap<String, String>,
    /// Time of deletion, if only a finalizer still holds it.
    pub deletion: Option<Timestamp>,
}

macro_rules! cluster_objects {
    ($($(#[$about:meta])* $kind:ident),*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            // A type for each kind, though all hold the same: the table of kinds makes a field of the snapshot of
            // each name.
            pub struct $kind(pub ClusterObject);

            impl Deref for $kind {
                type Target = ClusterObject;

                fn deref(&self) -> &ClusterObject {
                    &self.0
                }
            }
        )*
    };
}

cluster_objects!(
    /// `MutatingAdmissionPolicy` of admissionregistration: changes objects while they are stored.
    MutatingAdmissionPolicy,
    /// `MutatingAdmissionPolicyBinding`: where such a policy acts.
    MutatingAdmissionPolicyBinding,
    /// `ValidatingAdmissionPolicy` of admissionregistration: refuses objects.
    ValidatingAdmissionPolicy,
    /// `ValidatingAdmissionPolicyBinding`: where such a policy acts, and how.
    ValidatingAdmissionPolicyBinding,
    /// `Namespace` of the core API; one of names alone is a string in this crate.
    NamespaceObject
);
