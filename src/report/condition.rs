//! The controller's condition, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Time;
use crate::model::EvictionCondition;

/// The condition EvictionInProgress of a rule, as the eviction controller has written it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
