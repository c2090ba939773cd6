//! The controller's own answer, and whether it agrees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decide::publish::ControllerAnswer;
use crate::report::taint::Condition;

/// A rule with effect None that `preview --publish` created, and the counts that the eviction controller wrote to
/// the rule's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The rule's name.
    pub rule: String,
    /// The rule's condition for its current generation; null if the controller did not write it in time.
    pub condition: Option<Condition>,
    /// True if the message of the condition is identical to `controllerMessage` in the corresponding entry of
    /// `proposedTaints`; null if one of these messages is missing.
    pub agrees: Option<bool>,
}

impl From<&ControllerAnswer> for Published {
    fn from(answer: &ControllerAnswer) -> Self {
        Self {
            rule: answer.rule.clone(),
            condition: answer.condition.as_ref().map(Condition::from),
            agrees: answer.agrees(),
        }
    }
}
