//! `Node` of the core API, as k8s-openapi describes it.

use k8s_openapi::api::core::v1;

use super::error::FieldError;
use super::generated_kinds::{GeneratedKind, ToFact};
use super::meta::ObjectMeta;
use super::object::{Context, Object};
use super::pod::is_extended;
use crate::model;

/// A machine that runs pods.
pub(super) type Node = GeneratedKind<v1::Node>;

impl ToFact for v1::Node {
    fn to_fact(
        self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let is_whole = self.spec.is_some() || self.status.is_some();
        let spec = self.spec.unwrap_or_default();
        let status = self.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let taints = spec.taints.unwrap_or_default();
        let allocatable = status.allocatable.unwrap_or_default().into_iter();
        // A plugin that has left its node leaves the resource behind, with zero.
        let offered = allocatable.filter(|(name, amount)| is_extended(name) && amount.0 != "0");
        Ok(Some(Object::Node(model::Node {
            name: context.required(metadata.name.as_deref(), "metadata.name")?,
            labels: self.metadata.labels.unwrap_or_default(),
            is_whole,
            unschedulable: spec.unschedulable.unwrap_or_default(),
            conditions: conditions.into_iter().map(condition).collect(),
            taints: taints.into_iter().map(taint).collect(),
            extended_resources: offered.map(|(name, _)| name).collect(),
        })))
    }
}

fn condition(condition: v1::NodeCondition) -> model::NodeCondition {
    model::NodeCondition {
        kind: condition.type_,
        status: condition.status,
        reason: condition.reason.unwrap_or_default(),
        last_transition: condition.last_transition_time.map(|time| time.0),
    }
}

fn taint(taint: v1::Taint) -> model::NodeTaint {
    model::NodeTaint {
        key: taint.key,
        value: taint.value.unwrap_or_default(),
        effect: taint.effect,
        time_added: taint.time_added.map(|time| time.0),
    }
}
