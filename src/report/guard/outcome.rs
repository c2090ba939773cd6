//! What became of a guard?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardResult {
    /// The guard as it was given.
    pub expression: String,
    /// What the signal counts here; null when that is not known.
    pub value: Option<usize>,
    /// What a percentage is taken of; null when the guard names a number, or when it is not known.
    pub whole: Option<usize>,
    /// Whether the comparison holds, or may hold as far as is known, so that nothing may be changed.
    pub tripped: bool,
    /// The lowest value that is possible; only when value is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The highest value that is possible; only when value is null, and there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// What is missing, so that value or whole is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_without: Option<String>,
    /// The file of the policy that asks for it; absent for one that was given with --abort-if.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

impl GuardResult {
    /// What the value is, as far as that is known, with what a percentage is taken of.
    #[must_use]
    pub fn value_in_words(&self) -> String {
        let whole = self
            .whole
            .map_or_else(String::new, |whole| format!(" of {whole}"));
        let known = match (self.value, self.at_least, self.at_most) {
            (Some(value), _, _) if self.unknown_without.is_none() => {
                return format!("the value is {value}{whole}");
            }
            (Some(value), _, _) => format!("the value is {value} of an unknown number"),
            (None, Some(least), Some(most)) => {
                format!("the value is not known, it is {least} to {most}{whole}")
            }
            (None, Some(least), None) if least > 0 => {
                format!("the value is not known, it is at least {least}{whole}")
            }
            (None, _, _) => "the value is not known".to_owned(),
        };
        match &self.unknown_without {
            Some(missing) => format!("{known} (missing: {missing})"),
            None => known,
        }
    }

    /// The guard, with the policy that asks for it.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.policy {
            Some(policy) => format!("{} of {policy}", self.expression),
            None => self.expression.clone(),
        }
    }

    /// The guard with why it tripped, where its value does not say so itself.
    pub(in crate::report) fn reason(&self) -> String {
        if self.unknown_without.is_some() {
            format!("{}, {}", self.name(), self.value_in_words())
        } else {
            self.name()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_an_unknown_whole_is_told_as_such() {
        let result = |missing: Option<&str>| GuardResult {
            expression: "devices.selected>50%".to_owned(),
            value: Some(3),
            whole: missing.is_none().then_some(4),
            tripped: true,
            at_least: None,
            at_most: None,
            unknown_without: missing.map(str::to_owned),
            policy: None,
        };
        assert_eq!(result(None).value_in_words(), "the value is 3 of 4");
        assert_eq!(
            result(Some("resourceslices")).value_in_words(),
            "the value is 3 of an unknown number (missing: resourceslices)"
        );
    }
}
