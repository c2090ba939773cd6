//! What became of a guard, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess::GuardOutcome;
use crate::model::Count;

/// What became of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardResult {
    /// The guard as it was given.
    pub expression: String,
    /// What the signal counts here; null when that is not known.
    pub count: Option<usize>,
    /// What a percentage is taken of; null when the guard names a number, or when it is not known.
    pub total_count: Option<usize>,
    /// Whether the comparison is true, or may be true given what is unknown, so nothing may be
    /// changed.
    pub tripped: bool,
    /// The lowest value that is possible; only when count is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The highest value that is possible; only when count is null, and there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// What is missing, so that count or totalCount is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The file of the policy that asks for it; absent for one that was given with --abort-if.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

impl From<&GuardOutcome> for GuardResult {
    fn from(outcome: &GuardOutcome) -> Self {
        let GuardOutcome { guard, value, .. } = outcome;
        let bounded = value.exact().is_none();
        Self {
            expression: guard.expression().to_owned(),
            count: value.exact(),
            total_count: outcome.whole.and_then(Count::exact),
            tripped: outcome.tripped,
            at_least: bounded.then(|| value.least()),
            at_most: value.most().filter(|_| bounded),
            missing: outcome.missing.clone(),
            policy: guard.policy().map(str::to_owned),
        }
    }
}
