//! A taint and its owner as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Time;
use crate::engine::{DeviceTaint, Origin, ProposedTaint};
use crate::model;

/// Where a taint comes from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TaintSource {
    /// A DeviceTaintRule, existing or considered.
    Rule,
    /// The driver, through a ResourceSlice.
    ResourceSlice,
}

/// Whose taint it is: its source and the name of the object, absent for a rule that does not exist.
///
/// `proposed` are the taints of the question, which [`Origin::Proposed`] counts through.
#[must_use]
pub fn source_of(origin: Origin<'_>, proposed: &[&ProposedTaint]) -> (TaintSource, Option<String>) {
    match origin {
        Origin::Proposed(index) => {
            let rule = proposed.get(index).and_then(|taint| taint.rule.as_ref());
            (TaintSource::Rule, rule.map(ToString::to_string))
        }
        Origin::Rule(name) => (TaintSource::Rule, Some(name.to_string())),
        Origin::ResourceSlice(name) => (TaintSource::ResourceSlice, Some(name.to_string())),
    }
}

/// A taint as a rule would set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// The taint's key.
    pub key: String,
    /// The taint's value; empty when it has none.
    pub value: String,
    /// The effect as it was considered, which for a rule with effect None is NoExecute.
    pub effect: String,
    /// Since when it is there; tolerations count from then. Null when that is not known.
    pub time_added: Option<Time>,
}

impl From<&model::Taint> for Taint {
    fn from(taint: &model::Taint) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.to_string(),
            time_added: taint.time_added.map(Time),
        }
    }
}

/// A taint that a device has already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PresentTaint {
    /// Where it comes from.
    pub source: TaintSource,
    /// Name of the rule or of the slice; null for a rule that does not exist yet.
    pub name: Option<String>,
    /// The taint's key.
    pub key: String,
    /// The taint's value; empty when it has none.
    pub value: String,
    /// What it does: None, NoSchedule, NoExecute, or an effect newer than this plugin.
    pub effect: String,
}

impl PresentTaint {
    /// The view of a device's taint; `proposed` are the taints of the question, if any.
    #[must_use]
    pub fn new(present: &DeviceTaint<'_>, proposed: &[&ProposedTaint]) -> Self {
        let (source, name) = source_of(present.origin, proposed);
        Self {
            source,
            name,
            key: present.taint.key.clone(),
            value: present.taint.value.clone(),
            effect: present.taint.effect.to_string(),
        }
    }

    /// The taint with whose it is, such as `example.com/ecc=high:NoExecute (driver)`.
    #[must_use]
    pub fn cell(&self) -> String {
        let taint = spelled(&self.key, &self.value, &self.effect);
        format!("{taint} ({})", owner(self.source, self.name.as_deref()))
    }
}

/// A taint as people write it: `KEY[=VALUE]:EFFECT`.
#[must_use]
pub fn spelled(key: &str, value: &str, effect: &str) -> String {
    if value.is_empty() {
        format!("{key}:{effect}")
    } else {
        format!("{key}={value}:{effect}")
    }
}

/// Whose a taint is, in words: `rule NAME`, `this taint` for one that does not exist yet, `driver`.
#[must_use]
pub fn owner(source: TaintSource, name: Option<&str>) -> String {
    match (source, name) {
        (TaintSource::Rule, Some(name)) => format!("rule {name}"),
        (TaintSource::Rule, None) => "this taint".to_owned(),
        (TaintSource::ResourceSlice, _) => "driver".to_owned(),
    }
}
