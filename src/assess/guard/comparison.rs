//! Comparisons of counts that may be partly known.

use crate::model::Count;

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Operator {
    // Longer spellings first: `>` is the beginning of `>=`.
    const SPELLINGS: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    /// The operator that the text begins with, and the rest.
    pub(super) fn strip(text: &str) -> Option<(Self, &str)> {
        Self::SPELLINGS
            .into_iter()
            .find_map(|(spelling, operator)| Some((operator, text.strip_prefix(spelling)?)))
    }

    /// True if the comparison holds for all values that the two may have, false if for none; absent otherwise.
    pub(super) fn holds(self, value: Count, limit: Count) -> Option<bool> {
        match self {
            Self::Above => value.is_above(limit),
            Self::AtLeast => limit.is_above(value).map(std::ops::Not::not),
            Self::Below => limit.is_above(value),
            Self::AtMost => value.is_above(limit).map(std::ops::Not::not),
            Self::Equal => value.equals(limit),
            Self::Unequal => value.equals(limit).map(std::ops::Not::not),
        }
    }
}
