//! Outcome of a guard.

use super::expression::Guard;
use crate::model::Count;

/// Outcome of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardOutcome {
    /// The guard.
    pub guard: Guard,
    /// Count of its signal.
    pub value: Count,
    /// Base of a percentage; absent where the guard names a number.
    pub whole: Option<Count>,
    /// True if the comparison is true, or may be true given what is unknown, so nothing may be changed.
    pub tripped: bool,
    /// Missing data, if value or whole is not known.
    pub missing: Option<String>,
}

impl GuardOutcome {
    /// Value, as far as that is known, with the base of a percentage.
    pub fn value_in_words(&self) -> String {
        let whole = self
            .whole
            .and_then(Count::exact)
            .map_or_else(String::new, |whole| format!(" of {whole}"));
        let known = match (self.value.exact(), self.value.least(), self.value.most()) {
            (Some(value), _, _) if self.missing.is_none() => {
                return format!("the value is {value}{whole}");
            }
            (Some(value), _, _) => {
                format!("the value is {value}, and the total for the percentage is unknown")
            }
            (None, least, Some(most)) => {
                format!("the value is unknown, between {least} and {most}{whole}")
            }
            (None, least, None) if least > 0 => {
                format!("the value is unknown, at least {least}{whole}")
            }
            (None, _, None) => "the value is unknown".to_owned(),
        };
        match &self.missing {
            Some(missing) => format!("{known} (missing: {missing})"),
            None => known,
        }
    }

    /// The guard with why it tripped, where its value does not say so itself.
    pub fn reason(&self) -> String {
        let expression = self.guard.expression();
        if self.missing.is_some() {
            format!("{expression}, {}", self.value_in_words())
        } else {
            expression.to_owned()
        }
    }
}
