//! Taints and tolerations, as slices, rules and allocation results carry them.

use super::context::Context;
use super::error::FieldError;
use super::message::message;
use super::time::Time;
use crate::model;

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
            key: required(self.key.as_deref(), "key")?.to_owned(),
            value: self.value.clone().unwrap_or_default(),
            effect: effect(required(self.effect.as_deref(), "effect")?, context),
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
            "the unknown effect `{}`, which evicts no pods",
            text.escape_debug()
        );
        context.odd("unknown-effect", what);
    }
    effect
}
