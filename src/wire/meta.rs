//! Metadata of objects and lists.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::message::message;
use super::nullable::{or_default, unique};
use super::time::Time;
use crate::model;

message! {
    /// `metav1.ObjectMeta`, as far as it is needed.
    pub struct ObjectMeta {
        /// Unique in the namespace, or in the cluster.
        name: optional string = 1,
        /// Absent for objects of the whole cluster.
        namespace: optional string = 3,
        /// Unique over time.
        uid: optional string = 5,
        /// Opaque, but a growing number in practice.
        resource_version: optional string = 6,
        /// Raised by every change of the spec.
        generation: optional int64 = 7,
        /// Time of creation.
        creation_timestamp: optional Time = 8,
        /// Time when the grace period of its deletion ends.
        deletion_timestamp: optional Time = 9,
        /// The grace period that was granted.
        deletion_grace_period_seconds: optional int64 = 10,
        /// For selecting; only those of pods are used.
        #[prost(btree_map = "string, string", tag = "11")]
        #[serde(default, deserialize_with = "unique")]
        pub labels: BTreeMap<String, String>,
        /// For tools; only some of those of pods are used.
        #[prost(btree_map = "string, string", tag = "12")]
        #[serde(default, deserialize_with = "unique")]
        pub annotations: BTreeMap<String, String>,
        /// Owners.
        owner_references: repeated OwnerReference = 13,
        /// Finalizers that delay its removal.
        finalizers: repeated string = 14,
    }

    /// `metav1.OwnerReference`.
    pub struct OwnerReference {
        /// API version, such as `apps/v1`.
        api_version: optional string = 5,
        /// Kind, such as `ReplicaSet`.
        kind: optional string = 1,
        /// The owner's name.
        name: optional string = 3,
        /// The owner's identity.
        uid: optional string = 4,
        /// True if this owner manages the object; at most one does.
        controller: optional bool = 6,
    }
}

/// Metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// The state of the list; opaque, and empty in lists that kubectl made.
    #[serde(default, deserialize_with = "or_default")]
    pub resource_version: String,
    /// Token of the next page; empty on the last page.
    #[serde(default, rename = "continue", deserialize_with = "or_default")]
    pub continue_token: String,
    /// Only in lists that this plugin saved: no server sends any.
    #[serde(default, deserialize_with = "unique")]
    pub annotations: BTreeMap<String, String>,
}

impl ObjectMeta {
    /// The object's name.
    pub(super) fn object_name(
        &self,
        context: &mut Context,
    ) -> Result<model::ObjectName, FieldError> {
        context.required(self.name.as_deref(), "metadata.name")
    }

    /// Namespace and name of an object that lives in a namespace.
    pub(super) fn namespaced_name(
        &self,
        context: &mut Context,
    ) -> Result<model::NamespacedName, FieldError> {
        Ok(model::NamespacedName {
            namespace: context.required(self.namespace.as_deref(), "metadata.namespace")?,
            name: self.object_name(context)?,
        })
    }

    /// The identity, where one is indispensable: reservations are matched by it.
    pub(super) fn required_uid(&self) -> Result<model::Uid, FieldError> {
        match self.uid.as_deref() {
            None | Some("") => Err(FieldError::missing("metadata.uid")),
            Some(uid) => Ok(uid.into()),
        }
    }

    /// The owner that manages the object.
    pub(super) fn controller(&self, context: &mut Context) -> Option<model::Controller> {
        // As `metav1.GetControllerOf`: other owners matter for garbage collection only.
        let owner = self
            .owner_references
            .iter()
            .find(|owner| owner.controller == Some(true))?;
        Some(model::Controller {
            api_version: context.intern(owner.api_version.as_deref().unwrap_or_default()),
            kind: context.intern(owner.kind.as_deref().unwrap_or_default()),
            name: context.intern(owner.name.as_deref().unwrap_or_default()),
            uid: context.intern(owner.uid.as_deref().unwrap_or_default()),
        })
    }

    /// Deletion of the object, with its time, if it was deleted.
    pub(super) fn deletion(&self, context: &mut Context) -> Option<model::Deletion> {
        let at = self.deletion_timestamp;
        let at = Time::to_timestamp(at, "metadata.deletionTimestamp", context)?;
        Some(model::Deletion {
            at,
            grace_period_seconds: self.deletion_grace_period_seconds,
            finalizers: self.finalizers.clone(),
        })
    }

    /// Notes the moment of its deletion, which is the end of the grace period less the grace period: the object was read
    /// later.
    pub(super) fn note_deletion(&self, context: &mut Context) {
        if let Some(at) = Time::instant(self.deletion_timestamp) {
            let grace = self.deletion_grace_period_seconds.unwrap_or_default();
            context.saw(jiff::Timestamp::from_second(at.as_second().saturating_sub(grace)).ok());
        }
    }
}
