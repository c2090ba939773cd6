//! `DeviceTaintRule` as served by every version: all have the same fields.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::context::Context;
use super::error::FieldError;
use super::manager::ManagedFieldsEntry;
use super::message::message;
use super::meta::{ObjectMeta, OwnerReference};
use super::nullable::unique;
use super::object::{Object, ToObject};
use super::selector::DeviceTaintSelector;
use super::taint::DeviceTaint;
use super::time::Time;
use crate::model;

message! {
    /// One taint for many devices.
    pub struct DeviceTaintRule {
        /// Metadata.
        metadata: optional RuleMeta = 1,
        /// Desired state.
        spec: optional DeviceTaintRuleSpec = 2,
        /// Status of the controller.
        status: optional DeviceTaintRuleStatus = 3,
    }

    /// `metav1.ObjectMeta` of a rule: the one kind whose annotations and writers are read. For all others
    /// they would only cost time.
    pub struct RuleMeta {
        /// Unique in the cluster.
        name: optional string = 1,
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
        /// For selecting.
        #[prost(btree_map = "string, string", tag = "11")]
        #[serde(default, deserialize_with = "unique")]
        pub labels: BTreeMap<String, String>,
        /// Plain text and programs.
        #[prost(btree_map = "string, string", tag = "12")]
        #[serde(default, deserialize_with = "unique")]
        pub annotations: BTreeMap<String, String>,
        /// With which objects it goes.
        owner_references: repeated OwnerReference = 13,
        /// Finalizers that delay its removal after deletion.
        finalizers: repeated string = 14,
        /// Field managers; absent from objects that were saved without them.
        managed_fields: repeated ManagedFieldsEntry = 17,
    }
}

impl RuleMeta {
    /// Metadata that every object has.
    fn common(&self) -> ObjectMeta {
        ObjectMeta {
            name: self.name.clone(),
            namespace: None,
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            generation: self.generation,
            creation_timestamp: self.creation_timestamp,
            deletion_timestamp: self.deletion_timestamp,
            deletion_grace_period_seconds: self.deletion_grace_period_seconds,
            // These are taken from the rule itself, see `notes`.
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            owner_references: Vec::new(),
            finalizers: Vec::new(),
        }
    }
}

message! {
    /// Devices and their taint.
    pub struct DeviceTaintRuleSpec {
        /// Devices.
        device_selector: optional DeviceTaintSelector = 1,
        /// Taint.
        taint: optional DeviceTaint = 2,
    }

    /// Status of the controller; since 1.35.
    pub struct DeviceTaintRuleStatus {
        /// By type.
        conditions: repeated Condition = 1,
    }

    /// `metav1.Condition`.
    pub struct Condition {
        /// Type, such as `EvictionInProgress`.
        #[prost(string, optional, tag = "1")]
        pub r#type: Option<String>,
        /// `True`, `False` or `Unknown`.
        #[prost(string, optional, tag = "2")]
        pub status: Option<String>,
        /// Generation that the writer had seen.
        observed_generation: optional int64 = 3,
        /// Time of its last change.
        last_transition_time: optional Time = 4,
        /// Why, in one word.
        reason: optional string = 5,
        /// Why, in a sentence.
        message: optional string = 6,
    }
}

impl ToObject for DeviceTaintRule {
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        self.metadata
            .as_ref()
            .map(|metadata| Cow::Owned(metadata.common()))
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self
            .spec
            .as_ref()
            .ok_or_else(|| FieldError::missing("spec"))?;
        let taint = spec
            .taint
            .as_ref()
            .ok_or_else(|| FieldError::missing("spec.taint"))?;
        Ok(Some(Object::DeviceTaintRule(model::DeviceTaintRule {
            name: metadata.object_name(context)?,
            // A manifest that was never applied has no uid and can still be assessed.
            uid: context.intern(metadata.uid.as_deref().unwrap_or_default()),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            selector: spec
                .device_selector
                .as_ref()
                .map(|selector| selector.to_model(context)),
            taint: taint
                .to_model(context)
                .map_err(|error| error.under("spec.taint"))?,
            condition: self.eviction_condition(context),
            metadata: self.notes(context),
            managers: self.managers(),
        })))
    }
}

impl DeviceTaintRule {
    fn notes(&self, context: &mut Context) -> model::RuleMetadata {
        let Some(metadata) = &self.metadata else {
            return model::RuleMetadata::default();
        };
        let created = metadata.creation_timestamp;
        let created = Time::to_timestamp(created, "metadata.creationTimestamp", context);
        model::RuleMetadata {
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            created,
            deletion: Time::to_timestamp(
                metadata.deletion_timestamp,
                "metadata.deletionTimestamp",
                context,
            ),
            finalizers: metadata.finalizers.clone(),
            owners: metadata
                .owner_references
                .iter()
                .map(|owner| owner.uid.as_deref().unwrap_or_default().into())
                .collect(),
        }
    }

    fn managers(&self) -> Vec<model::FieldManager> {
        let entries = self.metadata.iter().flat_map(|meta| &meta.managed_fields);
        entries.map(ManagedFieldsEntry::to_model).collect()
    }

    fn eviction_condition(&self, context: &mut Context) -> Option<model::EvictionCondition> {
        let is_of_evictions =
            |condition: &&Condition| condition.r#type.as_deref() == Some("EvictionInProgress");
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        let found = conditions.rev().find(is_of_evictions);
        found.map(|condition| condition.to_model(context))
    }
}

impl Condition {
    fn to_model(&self, context: &mut Context) -> model::EvictionCondition {
        let changed = self.last_transition_time;
        let changed = Time::to_timestamp(changed, "status.conditions", context);
        model::EvictionCondition {
            status: self.status.clone().unwrap_or_default(),
            reason: self.reason.clone().unwrap_or_default(),
            message: self.message.clone().unwrap_or_default(),
            observed_generation: self.observed_generation.unwrap_or_default(),
            last_transition: changed,
        }
    }
}
