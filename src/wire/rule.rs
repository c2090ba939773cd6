//! `DeviceTaintRule` as served by every version.
//!
//! v1alpha3 up to 1.34 has two more selector fields (see `selector.rs`); otherwise the versions
//! are the same.

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::nullable::or_default;
use super::object::{Object, ToObject};
use super::{DeviceTaint, DeviceTaintSelector, ObjectMeta, Time};
use crate::model;

/// One taint for many devices.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceTaintRule {
    /// Who it is.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// What it wants.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<DeviceTaintRuleSpec>,
    /// What the controller says.
    #[prost(message, optional, tag = "3")]
    pub status: Option<DeviceTaintRuleStatus>,
}

/// Which devices get which taint.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceTaintRuleSpec {
    /// Which devices.
    #[prost(message, optional, tag = "1")]
    pub device_selector: Option<DeviceTaintSelector>,
    /// Which taint.
    #[prost(message, optional, tag = "2")]
    pub taint: Option<DeviceTaint>,
}

/// What the controller says; since 1.35.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceTaintRuleStatus {
    /// By type.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

/// `metav1.Condition`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Such as `EvictionInProgress`.
    #[prost(string, optional, tag = "1")]
    pub r#type: Option<String>,
    /// `True`, `False` or `Unknown`.
    #[prost(string, optional, tag = "2")]
    pub status: Option<String>,
    /// What the writer had seen.
    #[prost(int64, optional, tag = "3")]
    pub observed_generation: Option<i64>,
    /// When it last changed.
    #[prost(message, optional, tag = "4")]
    pub last_transition_time: Option<Time>,
    /// Why, in one word.
    #[prost(string, optional, tag = "5")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[prost(string, optional, tag = "6")]
    pub message: Option<String>,
}

impl ToObject for DeviceTaintRule {
    fn metadata(&self) -> Option<&ObjectMeta> {
        self.metadata.as_ref()
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
            condition: self.eviction_condition(context)?,
        })))
    }
}

impl DeviceTaintRule {
    fn eviction_condition(
        &self,
        context: &mut Context,
    ) -> Result<Option<model::EvictionCondition>, FieldError> {
        let conditions = self
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let mut found = None;
        for (index, condition) in conditions.iter().enumerate() {
            let condition_model = condition
                .to_model()
                .map_err(|error| error.at("status.conditions", index))?;
            context.saw(condition_model.last_transition);
            if condition.r#type.as_deref() == Some("EvictionInProgress") {
                found = Some(condition_model);
            }
        }
        Ok(found)
    }
}

impl Condition {
    fn to_model(&self) -> Result<model::EvictionCondition, FieldError> {
        Ok(model::EvictionCondition {
            status: self.status.clone().unwrap_or_default(),
            reason: self.reason.clone().unwrap_or_default(),
            message: self.message.clone().unwrap_or_default(),
            observed_generation: self.observed_generation.unwrap_or_default(),
            last_transition: Time::to_timestamp(self.last_transition_time, "lastTransitionTime")?,
        })
    }
}
