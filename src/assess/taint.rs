//! Taints with their owners, and conditions of rules, as documents have them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Time;
use crate::engine::{DeviceTaint, Origin, ProposedTaint};
use crate::model::{self, EvictionCondition};

/// Where a taint comes from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TaintSource {
    /// A DeviceTaintRule, existing or proposed.
    DeviceTaintRule,
    /// The driver, through a ResourceSlice.
    ResourceSlice,
}

/// Source of the taint, and the name of the object, absent for a rule that does not exist.
///
/// `proposed` are the taints of the question, which [`Origin::Proposed`] counts through.
fn source_of(origin: Origin<'_>, proposed: &[&ProposedTaint]) -> (TaintSource, Option<String>) {
    match origin {
        Origin::Proposed(index) => {
            let rule = proposed.get(index).and_then(|taint| taint.rule.as_ref());
            (TaintSource::DeviceTaintRule, rule.map(ToString::to_string))
        }
        Origin::Rule(name) => (TaintSource::DeviceTaintRule, Some(name.to_string())),
        Origin::ResourceSlice(name) => (TaintSource::ResourceSlice, Some(name.to_string())),
    }
}

/// A taint and its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// The taint's key.
    pub key: String,
    /// The taint's value; empty if it has none.
    pub value: String,
    /// The effect: None, NoSchedule, NoExecute, or an effect newer than this plugin.
    pub effect: String,
    /// When the taint was added; tolerationSeconds count from then. Null if unknown.
    pub time_added: Option<Time>,
    /// Source of the taint: DeviceTaintRule or ResourceSlice.
    pub source: TaintSource,
    /// Name of the DeviceTaintRule or ResourceSlice; null for a rule that does not exist yet, or if
    /// unknown.
    pub source_name: Option<String>,
}

impl Taint {
    /// The taint of a rule, by the rule's name if it exists.
    pub fn of_rule(taint: &model::Taint, rule: Option<&str>) -> Self {
        Self::from_source(taint, TaintSource::DeviceTaintRule, rule.map(str::to_owned))
    }

    /// The taint of a driver, in any slice.
    pub fn of_driver(taint: &model::Taint) -> Self {
        // Such a taint is on devices in several slices, none of which could be named for all.
        Self::from_source(taint, TaintSource::ResourceSlice, None)
    }

    /// The view of a device's taint; `proposed` are the taints of the question, if any.
    pub fn present(present: &DeviceTaint<'_>, proposed: &[&ProposedTaint]) -> Self {
        Self::of_origin(present.taint, present.origin, proposed)
    }

    /// The taint with its owner; `proposed` are the taints of the question.
    pub fn of_origin(
        taint: &model::Taint,
        origin: Origin<'_>,
        proposed: &[&ProposedTaint],
    ) -> Self {
        let (source, name) = source_of(origin, proposed);
        Self::from_source(taint, source, name)
    }

    fn from_source(taint: &model::Taint, source: TaintSource, name: Option<String>) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.to_string(),
            time_added: taint.time_added.map(Time),
            source,
            source_name: name,
        }
    }

    /// The taint with its owner, such as `example.com/ecc=high:NoExecute (driver)`.
    pub fn cell(&self) -> String {
        format!("{self} ({})", self.owner())
    }

    /// Owner in words: `rule NAME`, `this taint` for one that does not exist yet, `driver`.
    pub fn owner(&self) -> String {
        match (self.source, &self.source_name) {
            (TaintSource::DeviceTaintRule, Some(name)) => format!("rule {name}"),
            (TaintSource::DeviceTaintRule, None) => "this taint".to_owned(),
            (TaintSource::ResourceSlice, _) => "driver".to_owned(),
        }
    }
}

/// As people write it: `KEY[=VALUE]:EFFECT`.
impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key, value, effect, ..
        } = self;
        match value.as_str() {
            "" => write!(formatter, "{key}:{effect}"),
            value => write!(formatter, "{key}={value}:{effect}"),
        }
    }
}

/// The condition EvictionInProgress of a rule, as the eviction controller has written it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Status of the condition: True, False or Unknown.
    pub status: String,
    /// Code set by the eviction controller, such as NoEffect for a rule with effect None.
    pub reason: String,
    /// The eviction controller's counts, as text.
    pub message: String,
    /// Generation of the rule that the eviction controller observed.
    pub observed_generation: i64,
    /// When the status of the condition last changed; null if unknown.
    pub last_transition_time: Option<Time>,
}

impl From<&EvictionCondition> for Condition {
    fn from(condition: &EvictionCondition) -> Self {
        Self {
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            observed_generation: condition.observed_generation,
            last_transition_time: condition.last_transition.map(Time),
        }
    }
}
