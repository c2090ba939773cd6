//! References to objects: each kind of object is named in the same way in every report.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Controller, NamespacedName, Pod, ResourceClaim, Uid};

/// A pod, a claim or a PodGroup, identified by namespace, name and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object; a later object of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
}

impl ObjectReference {
    /// The object of this name with this UID, which is empty where it is not known.
    pub fn new(name: &NamespacedName, uid: &Uid) -> Self {
        Self {
            uid: known(uid),
            ..Self::from(name)
        }
    }

    /// The name as a fact.
    pub fn full_name(&self) -> NamespacedName {
        NamespacedName {
            namespace: self.namespace.as_str().into(),
            name: self.name.as_str().into(),
        }
    }
}

/// The UID, unless it is not known.
pub fn known(uid: &Uid) -> Option<String> {
    let uid = uid.as_str();
    // Null and not empty: readers that compare UIDs would take two unknown ones for the same.
    (!uid.is_empty()).then(|| uid.to_owned())
}

impl From<&NamespacedName> for ObjectReference {
    fn from(name: &NamespacedName) -> Self {
        Self {
            namespace: name.namespace.to_string(),
            name: name.name.to_string(),
            uid: None,
        }
    }
}

impl From<&Pod> for ObjectReference {
    fn from(pod: &Pod) -> Self {
        Self::new(&pod.name, &pod.uid)
    }
}

impl From<&ResourceClaim> for ObjectReference {
    fn from(claim: &ResourceClaim) -> Self {
        Self::new(&claim.name, &claim.uid)
    }
}

/// `NAMESPACE/NAME`.
impl fmt::Display for ObjectReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// An object that owns pods. Its namespace is that of the pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Kind of the owner, such as ReplicaSet.
    pub kind: String,
    /// The owner's name.
    pub name: String,
}

impl From<&Controller> for Owner {
    fn from(controller: &Controller) -> Self {
        Self {
            kind: controller.kind.to_string(),
            name: controller.name.to_string(),
        }
    }
}

/// `KIND/NAME`.
impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)
    }
}
