//! `DeviceTaintRule` as served by every version, and taints and tolerations wherever they are.
//!
//! Rules are read as JSON: a selector field from the future may narrow or widen what a rule hits, so that it must not go
//! unnoticed. It is kept by its name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact};
use super::message::message;
use super::meta::{ManagedFieldsEntry, ObjectMeta};
use super::object::{Context, Object};
use super::time::Time;
use crate::model;

/// One taint for many devices.
pub(super) type DeviceTaintRule = GeneratedKind<Rule>;

/// The fields of a rule that are used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Rule {
    metadata: Option<RuleMeta>,
    spec: Option<RuleSpec>,
    status: Option<RuleStatus>,
}

/// Field managers; absent from objects that were saved without them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleMeta {
    managed_fields: Option<Vec<ManagedFieldsEntry>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleSpec {
    device_selector: Option<Selector>,
    taint: Option<DeviceTaint>,
}

/// Selector of the devices that a rule taints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Selector {
    driver: Option<String>,
    pool: Option<String>,
    device: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// Status of the controller; since 1.35.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct RuleStatus {
    conditions: Option<Vec<Condition>>,
}

/// `metav1.Condition`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: Option<String>,
    status: Option<String>,
    observed_generation: Option<i64>,
    last_transition_time: Option<Time>,
    reason: Option<String>,
    message: Option<String>,
}

impl ToFact for Rule {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self.spec.ok_or_else(|| FieldError::missing("spec"))?;
        let taint = spec.taint;
        let taint = taint.ok_or_else(|| FieldError::missing("spec.taint"))?;
        let conditions = self.status.and_then(|status| status.conditions);
        let mut conditions = conditions.unwrap_or_default().into_iter().rev();
        let evictions =
            conditions.find(|found| found.r#type.as_deref() == Some("EvictionInProgress"));
        let managers = self.metadata.and_then(|metadata| metadata.managed_fields);
        let managers = managers.unwrap_or_default().into_iter();
        Ok(Some(Object::DeviceTaintRule(model::DeviceTaintRule {
            name: metadata.object_name(context)?,
            // A manifest that was never applied has no uid and can still be assessed.
            uid: context.intern(metadata.uid()),
            resource_version: metadata.resource_version().to_owned(),
            generation: metadata.generation(),
            selector: spec
                .device_selector
                .map(|selector| selector.into_model(context)),
            taint: taint
                .to_model(context)
                .map_err(|error| error.under("spec.taint"))?,
            condition: evictions.map(|condition| condition.into_model(context)),
            metadata: rule_metadata(metadata, context),
            managers: managers.map(ManagedFieldsEntry::into_model).collect(),
        })))
    }
}

fn rule_metadata(metadata: &ObjectMeta, context: &mut Context) -> model::RuleMetadata {
    let mut time = |time, field| Time::to_timestamp(time, field, context);
    let owners = metadata.owner_references.iter();
    model::RuleMetadata {
        labels: metadata.labels.clone(),
        annotations: metadata.annotations.clone(),
        created: time(metadata.creation_timestamp, "metadata.creationTimestamp"),
        deletion: time(metadata.deletion_timestamp, "metadata.deletionTimestamp"),
        finalizers: metadata.finalizers.clone(),
        owners: owners.map(|owner| owner.uid().into()).collect(),
    }
}

impl Selector {
    /// The selector as a fact. Unknown fields are warnings in `context`.
    fn into_model(self, context: &mut Context) -> model::DeviceSelector {
        for field in self.unknown.keys() {
            let field = format!("spec.deviceSelector.{field}");
            context.unknown("unknown-selector-field", "the unknown field", &field);
        }
        // An empty text is no wildcard: it equals no name, as upstream.
        model::DeviceSelector {
            driver: self.driver.map(|name| context.intern(&name)),
            pool: self.pool.map(|name| context.intern(&name)),
            device: self.device.map(|name| context.intern(&name)),
            unknown_fields: self.unknown.into_keys().collect(),
        }
    }
}

impl Condition {
    fn into_model(self, context: &mut Context) -> model::EvictionCondition {
        let changed = self.last_transition_time;
        model::EvictionCondition {
            status: self.status.unwrap_or_default(),
            reason: self.reason.unwrap_or_default(),
            message: self.message.unwrap_or_default(),
            observed_generation: self.observed_generation.unwrap_or_default(),
            last_transition: Time::to_timestamp(changed, "status.conditions", context),
        }
    }
}

message! {
    /// `DeviceTaint`, the same in every version.
    pub struct DeviceTaint {
        /// A label key.
        key: optional string = 1,
        /// A label value.
        value: optional string = 2,
        /// Effect, such as `NoExecute`.
        effect: optional string = 3,
        /// Filled in by the server when it is absent.
        time_added: optional Time = 4,
    }
}

impl DeviceTaint {
    /// The taint as a fact. Unknown effects are warnings in `context`.
    pub(super) fn to_model(&self, context: &mut Context) -> Result<model::Taint, FieldError> {
        let time_added = Time::to_timestamp(self.time_added, "timeAdded", context);
        Ok(model::Taint {
            key: required(self.key(), "key")?.to_owned(),
            value: self.value().to_owned(),
            effect: effect(required(self.effect(), "effect")?, context),
            time_added,
        })
    }
}

message! {
    /// `DeviceToleration`, the same in every version.
    pub struct DeviceToleration {
        /// Empty covers every key.
        key: optional string = 1,
        /// `Equal` when absent.
        operator: optional string = 2,
        /// For `Equal`.
        value: optional string = 3,
        /// Empty covers every effect.
        effect: optional string = 4,
        /// Absent means forever.
        toleration_seconds: optional int64 = 5,
    }
}

impl DeviceToleration {
    /// The toleration as a fact. Unknown effects and operators are warnings in `context`.
    pub(super) fn to_model(&self, context: &mut Context) -> model::Toleration {
        let operator = model::Operator::from(self.operator());
        if let model::Operator::Unknown(text) = &operator {
            let what = "a toleration with the unknown operator";
            context.unknown("unknown-operator", what, text);
        }
        model::Toleration {
            key: self.key().to_owned(),
            operator,
            value: self.value().to_owned(),
            // Empty matches every effect in the scheduler (`ToleratesTaint`) but none
            // in the eviction controller, which requires the literal `NoExecute`.
            effect: (!self.effect().is_empty()).then(|| effect(self.effect(), context)),
            seconds: self.toleration_seconds,
        }
    }
}

fn required<'a>(text: &'a str, field: &str) -> Result<&'a str, FieldError> {
    let text = Some(text).filter(|text| !text.is_empty());
    text.ok_or_else(|| FieldError::missing(field))
}

fn effect(text: &str, context: &mut Context) -> model::Effect {
    let effect = model::Effect::from(text);
    if let model::Effect::Unknown(text) = &effect {
        context.unknown("unknown-effect", "the unknown effect", text);
    }
    effect
}
