//! Outcome of a guard, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess::GuardOutcome;
use crate::model::Count;

/// Result of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardResult {
    /// The guard, as given.
    pub expression: String,
    /// Value of the left side of the guard, such as the number of evicted pods for `pods.evicted>20`; null if
    /// unknown.
    pub count: Option<usize>,
    /// The number that is 100% for a guard with a percentage, such as `pods.evicted>=50%`; null for other guards, or
    /// if unknown.
    pub total_count: Option<usize>,
    /// True if the guard tripped: the comparison is true, or may be true because data is unknown. If so, the
    /// command changes nothing.
    pub tripped: bool,
    /// The lowest possible value of `count`; absent if `count` is not null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The highest possible value of `count`; absent if `count` is not null, or if there is no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// The missing data because of which `count` or `totalCount` is unknown; absent if no data is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl From<&GuardOutcome> for GuardResult {
    fn from(outcome: &GuardOutcome) -> Self {
        let GuardOutcome { guard, value, .. } = outcome;
        // Beside an exact number, bounds would only repeat it.
        let bounded = value.exact().is_none();
        Self {
            expression: guard.expression().to_owned(),
            count: value.exact(),
            total_count: outcome.whole.and_then(Count::exact),
            tripped: outcome.tripped,
            at_least: bounded.then(|| value.least()),
            at_most: value.most().filter(|_| bounded),
            missing: outcome.missing.clone(),
        }
    }
}
