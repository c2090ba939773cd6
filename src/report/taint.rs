//! Tolerations, objects and owners, as reports write them and as text.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Controller, NamespacedName, Operator, Pod, ResourceClaim, Toleration, Uid};

pub use crate::assess::Time;
pub use crate::assess::taint::{Condition, Taint, TaintSource};

/// A toleration, with the fields of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Toleration")]
pub struct TolerationView {
    /// The key; absent if the toleration matches every key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Operator of the toleration: Exists or Equal.
    pub operator: String,
    /// The value; absent if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect; absent if the toleration has none. Such a toleration matches every effect for scheduling,
    /// but prevents no eviction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Seconds for which the taint is tolerated, counted from the timeAdded of the taint; absent means
    /// forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

impl From<&Toleration> for TolerationView {
    fn from(toleration: &Toleration) -> Self {
        let is_equal = toleration.operator == Operator::Equal;
        Self {
            key: toleration.key.clone(),
            operator: toleration.operator.as_str().to_owned(),
            // The API server refuses a value beside the operator Exists.
            value: if is_equal {
                toleration.value.clone()
            } else {
                String::new()
            },
            effect: toleration.effect.as_ref().map(ToString::to_string),
            toleration_seconds: toleration.seconds,
        }
    }
}

impl TolerationView {
    /// As it is written in a claim, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if !self.key.is_empty() {
            fields.push(format!("key: {}", self.key));
        }
        fields.push(format!("operator: {}", self.operator));
        if !self.value.is_empty() {
            // Quoted, since YAML would read a value such as `true` or `1` as something else than a text.
            fields.push(format!("value: {:?}", self.value));
        }
        fields.extend(
            self.effect
                .as_ref()
                .map(|effect| format!("effect: {effect}")),
        );
        let seconds = self.toleration_seconds;
        fields.extend(seconds.map(|seconds| format!("tolerationSeconds: {seconds}")));
        let fields = fields.into_iter().enumerate();
        fields
            .map(|(place, field)| {
                let sign = if place == 0 { "- " } else { "  " };
                format!("{sign}{field}")
            })
            .collect()
    }
}

/// A pod, a claim or a PodGroup, identified by namespace, name and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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

/// The code as reports write it: `last-replica` becomes `LastReplica`.
pub fn pascal_case(words: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    words.split('-').map(capitalized).collect()
}
