//! What every object and every list carries.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::nullable::{or_default, unique};
use super::time::Time;
use crate::model;

/// `metav1.ObjectMeta`, as far as it is needed.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ObjectMeta {
    /// Unique in the namespace, or in the cluster.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Absent for objects of the whole cluster.
    #[prost(string, optional, tag = "3")]
    pub namespace: Option<String>,
    /// Unique over time.
    #[prost(string, optional, tag = "5")]
    pub uid: Option<String>,
    /// Opaque, but a growing number in practice.
    #[prost(string, optional, tag = "6")]
    pub resource_version: Option<String>,
    /// Raised by every change of the spec.
    #[prost(int64, optional, tag = "7")]
    pub generation: Option<i64>,
    /// When the server first stored it.
    #[prost(message, optional, tag = "8")]
    pub creation_timestamp: Option<Time>,
    /// When the grace period of its deletion ends.
    #[prost(message, optional, tag = "9")]
    pub deletion_timestamp: Option<Time>,
    /// The grace period that was granted.
    #[prost(int64, optional, tag = "10")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// For selecting; only those of pods are used.
    #[prost(btree_map = "string, string", tag = "11")]
    #[serde(default, deserialize_with = "unique")]
    pub labels: BTreeMap<String, String>,
    /// For tools; only some of those of pods are used.
    #[prost(btree_map = "string, string", tag = "12")]
    #[serde(default, deserialize_with = "unique")]
    pub annotations: BTreeMap<String, String>,
    /// Who has to go before it goes.
    #[prost(message, repeated, tag = "13")]
    #[serde(default, deserialize_with = "or_default")]
    pub owner_references: Vec<OwnerReference>,
    /// Who has to agree before a deleted object is gone.
    #[prost(string, repeated, tag = "14")]
    #[serde(default, deserialize_with = "or_default")]
    pub finalizers: Vec<String>,
}

/// `metav1.OwnerReference`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Such as `apps/v1`.
    #[prost(string, optional, tag = "5")]
    pub api_version: Option<String>,
    /// Such as `ReplicaSet`.
    #[prost(string, optional, tag = "1")]
    pub kind: Option<String>,
    /// The owner's name.
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    /// The owner's identity.
    #[prost(string, optional, tag = "4")]
    pub uid: Option<String>,
    /// Whether this owner manages the object; at most one does.
    #[prost(bool, optional, tag = "6")]
    pub controller: Option<bool>,
}

/// What a list says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// The state of the list; opaque, and empty in lists that kubectl made.
    #[serde(default, deserialize_with = "or_default")]
    pub resource_version: String,
    /// Where the next page starts; empty on the last page.
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

    /// When the object is going to be gone, if somebody has deleted it.
    pub(super) fn deletion(&self, context: &mut Context) -> Option<model::Deletion> {
        let at = self.deletion_timestamp;
        let at = Time::to_timestamp(at, "metadata.deletionTimestamp", context)?;
        Some(model::Deletion {
            at,
            grace_period_seconds: self.deletion_grace_period_seconds,
            finalizers: self.finalizers.clone(),
        })
    }

    /// Notes the times that tell when the object was read: its creation, and the moment of its
    /// deletion, which is the end of the grace period less the grace period.
    pub(super) fn note_times(&self, context: &mut Context) {
        context.saw(Time::instant(self.creation_timestamp));
        if let Some(at) = Time::instant(self.deletion_timestamp) {
            let grace = self.deletion_grace_period_seconds.unwrap_or_default();
            context.saw(jiff::Timestamp::from_second(at.as_second().saturating_sub(grace)).ok());
        }
    }
}
