//! The controller's own answer, and whether it agrees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::EvictionCondition;
use crate::report::condition::Condition;

/// A rule with effect None that was created for the controller's own count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The rule's name.
    pub rule: String,
    /// The rule's condition for its current generation; null if the controller did not write it in time.
    pub condition: Option<Condition>,
    /// Whether the message of the condition is identical to the controllerMessage of the taint;
    /// null if one of them is missing.
    pub agrees: Option<bool>,
}

impl Published {
    /// The answer of the controller beside the `expected` message.
    ///
    /// A condition is an answer only when the controller has seen the rule's `generation`.
    #[must_use]
    pub fn new(
        rule: &str,
        generation: i64,
        condition: Option<&EvictionCondition>,
        expected: Option<&str>,
    ) -> Self {
        let current = condition.filter(|condition| condition.observed_generation == generation);
        Self {
            rule: rule.to_owned(),
            condition: current.map(Condition::from),
            agrees: current.zip(expected).map(|(condition, expected)| {
                // Not the message alone: with another status or reason, the controller says something else.
                condition.status == "False"
                    && condition.reason == "NoEffect"
                    && condition.message == expected
            }),
        }
    }

    /// Says in one line what the controller says; `expected` is what this plugin said.
    #[must_use]
    pub fn line(&self, expected: Option<&str>) -> String {
        let rule = &self.rule;
        match (&self.condition, self.agrees) {
            (Some(condition), Some(true)) => format!("{rule} agrees: {}", condition.message),
            (Some(condition), Some(false)) => format!(
                "{rule} differs: the controller reports {:?} ({} {}), this preview {:?}",
                condition.message,
                condition.status,
                condition.reason,
                expected.unwrap_or_default()
            ),
            (Some(condition), None) => format!(
                "{rule} is not compared, because some numbers of this preview are unknown: {}",
                condition.message
            ),
            (None, _) => format!("{rule}: no controller responded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(message: &str, reason: &str, generation: i64) -> EvictionCondition {
        EvictionCondition {
            status: "False".to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition: None,
        }
    }

    #[test]
    fn only_the_same_words_about_the_same_generation_agree() {
        for (name, condition, agrees) in [
            ("same", Some(condition("1 pod", "NoEffect", 2)), Some(true)),
            (
                "other words",
                Some(condition("2 pods", "NoEffect", 2)),
                Some(false),
            ),
            (
                "other reason",
                Some(condition("1 pod", "NotStarted", 2)),
                Some(false),
            ),
            (
                "older generation",
                Some(condition("1 pod", "NoEffect", 1)),
                None,
            ),
            ("no condition", None, None),
        ] {
            let published = Published::new("rule", 2, condition.as_ref(), Some("1 pod"));
            assert_eq!(published.agrees, agrees, "{name}");
            assert_eq!(published.condition.is_some(), agrees.is_some(), "{name}");
        }
    }

    #[test]
    fn a_difference_shows_both_sides_and_silence_is_not_agreement() {
        let differs = Published::new(
            "r",
            1,
            Some(&condition("2 pods", "NoEffect", 1)),
            Some("1 pod"),
        );
        assert_eq!(
            differs.line(Some("1 pod")),
            r#"r differs: the controller reports "2 pods" (False NoEffect), this preview "1 pod""#
        );
        let silent = Published::new("r", 1, None, Some("1 pod"));
        assert_eq!(silent.line(None), "r: no controller responded");
        let unknown = Published::new("r", 1, Some(&condition("2 pods", "NoEffect", 1)), None);
        assert_eq!(unknown.agrees, None);
        assert_eq!(
            unknown.line(None),
            "r is not compared, because some numbers of this preview are unknown: 2 pods"
        );
    }
}
