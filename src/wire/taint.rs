//! Taints and tolerations, as slices, rules and allocation results carry them.

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::time::Time;
use crate::model;

/// `DeviceTaint`, the same in every version.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceTaint {
    /// A label key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// A label value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
    /// Such as `NoExecute`.
    #[prost(string, optional, tag = "3")]
    pub effect: Option<String>,
    /// Filled in by the server when it is absent.
    #[prost(message, optional, tag = "4")]
    pub time_added: Option<Time>,
}

impl DeviceTaint {
    /// The taint as a fact. `context` hears of unknown effects and of the time.
    pub(super) fn to_model(&self, context: &mut Context) -> Result<model::Taint, FieldError> {
        context.saw(Time::instant(self.time_added));
        let time_added = Time::to_timestamp(self.time_added, "timeAdded", context);
        Ok(model::Taint {
            key: required(self.key.as_deref(), "key")?.to_owned(),
            value: self.value.clone().unwrap_or_default(),
            effect: effect(required(self.effect.as_deref(), "effect")?, context),
            time_added,
        })
    }
}

/// `DeviceToleration`, the same in every version.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceToleration {
    /// Empty covers every key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// `Equal` when absent.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// For `Equal`.
    #[prost(string, optional, tag = "3")]
    pub value: Option<String>,
    /// Empty covers every effect.
    #[prost(string, optional, tag = "4")]
    pub effect: Option<String>,
    /// Absent means forever.
    #[prost(int64, optional, tag = "5")]
    pub toleration_seconds: Option<i64>,
}

impl DeviceToleration {
    /// The toleration as a fact. `context` hears of unknown effects and operators.
    pub(super) fn to_model(&self, context: &mut Context) -> model::Toleration {
        let operator = model::Operator::from(self.operator.as_deref().unwrap_or_default());
        if let model::Operator::Unknown(text) = &operator {
            let what = format!(
                "a toleration with the unknown operator `{}`",
                text.escape_debug()
            );
            context.odd("unknown-operator", what);
        }
        model::Toleration {
            key: self.key.clone().unwrap_or_default(),
            operator,
            value: self.value.clone().unwrap_or_default(),
            effect: self
                .effect
                .as_deref()
                // Empty matches every effect in the scheduler (`ToleratesTaint`) but none
                // in the eviction controller, which requires the literal `NoExecute`.
                .filter(|text| !text.is_empty())
                .map(|text| effect(text, context)),
            seconds: self.toleration_seconds,
        }
    }
}

fn required<'a>(text: Option<&'a str>, field: &str) -> Result<&'a str, FieldError> {
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| FieldError::missing(field))
}

fn effect(text: &str, context: &mut Context) -> model::Effect {
    let effect = model::Effect::from(text);
    if let model::Effect::Unknown(text) = &effect {
        let what = format!(
            "the unknown effect `{}`, which is shown and otherwise ignored",
            text.escape_debug()
        );
        context.odd("unknown-effect", what);
    }
    effect
}
