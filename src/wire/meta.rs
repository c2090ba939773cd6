//! Metadata of objects and lists.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::FieldError;
use super::message::message;
use super::object::Context;
use super::time::Time;
use super::unambiguous::{or_default, unique};
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
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// The state of the list; opaque, and empty in lists that kubectl made.
    #[prost(string, tag = "2")]
    #[serde(default, deserialize_with = "or_default")]
    pub resource_version: String,
    /// Token of the next page; empty on the last page.
    #[prost(string, tag = "3")]
    #[serde(default, rename = "continue", deserialize_with = "or_default")]
    pub continue_token: String,
    /// Only in lists that this plugin saved: no server sends any, and protobuf has no such field.
    #[prost(btree_map = "string, string", tag = "1000")]
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
            api_version: context.intern(owner.api_version()),
            kind: context.intern(owner.kind()),
            name: context.intern(owner.name()),
            uid: context.intern(owner.uid()),
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

/// `metav1.ManagedFieldsEntry`: one program and the fields that it is responsible for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedFieldsEntry {
    manager: Option<String>,
    operation: Option<String>,
    time: Option<Time>,
    /// A set of fields as a tree of JSON objects, whose keys are `f:NAME` and the like.
    fields_v1: Option<serde_json::Value>,
    /// Empty for the object itself.
    subresource: Option<String>,
}

impl ManagedFieldsEntry {
    /// The entry as a fact. What cannot be understood of it is left out: nothing that is decided
    /// depends on it.
    pub(super) fn into_model(self) -> model::FieldManager {
        let spec = self
            .fields_v1
            .as_ref()
            .and_then(|fields| fields.get("f:spec"));
        model::FieldManager {
            name: self.manager.unwrap_or_default(),
            operation: self.operation.unwrap_or_default().as_str().into(),
            subresource: self.subresource.filter(|name| !name.is_empty()),
            time: Time::instant(self.time),
            owns_spec: spec.is_some_and(|spec| !spec.is_null()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ManagerOperation;

    const JSON: &str = r#"{"manager":"kubectl-patch","operation":"Update","apiVersion":"resource.k8s.io/v1","time":"2026-11-20T06:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:taint":{"f:effect":{}}}}}"#;

    fn entry(json: &str) -> ManagedFieldsEntry {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_manager_of_the_spec_is_told_from_others() {
        let of_spec = entry(JSON).into_model();
        assert_eq!(of_spec.name, "kubectl-patch");
        assert_eq!(of_spec.operation, ManagerOperation::Update);
        assert!(of_spec.owns_spec);
        let time = of_spec.time.map(|time| time.to_string());
        assert_eq!(time.as_deref(), Some("2026-11-20T06:00:00Z"));

        let of_labels = entry(r#"{"operation":"Apply","fieldsV1":{"f:metadata":{}}}"#).into_model();
        assert_eq!(of_labels.operation, ManagerOperation::Apply);
        assert!(!of_labels.owns_spec);

        let of_status =
            entry(r#"{"subresource":"status","fieldsV1":{"f:status":{}}}"#).into_model();
        assert_eq!(of_status.subresource.as_deref(), Some("status"));
        assert!(!of_status.owns_spec);
    }

    #[test]
    fn what_is_not_understood_owns_nothing() {
        let odd = entry(r#"{"time":"9999-12-31T23:59:59Z","fieldsV1":7}"#).into_model();
        assert_eq!((odd.time, odd.owns_spec), (None, false));
    }
}
