//! Which of two numbers is greater, as far as they are known?

use crate::report::Count;

/// How two numbers are compared.
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

    /// Whether the comparison holds for all that the two may be, for none of it, or for some.
    pub(super) fn holds(self, value: Range, limit: Range) -> Option<bool> {
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

/// What a number may be: both ends included, the upper one absent when there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    least: u128,
    most: Option<u128>,
}

impl Range {
    pub(super) fn exactly(number: u128) -> Self {
        Self {
            least: number,
            most: Some(number),
        }
    }

    /// So many times what the count may be. Counts fit into 64 bits and factors are at most one
    /// hundred, so that nothing is cut off.
    pub(super) fn of(count: Count, factor: u128) -> Self {
        let times = |count: usize| (count as u128).saturating_mul(factor);
        Self {
            least: times(count.least()),
            most: count.most().map(times),
        }
    }

    /// Whether it is greater than the other, if that is settled.
    pub(super) fn is_above(self, other: Self) -> Option<bool> {
        if other.most.is_some_and(|most| self.least > most) {
            Some(true)
        } else if self.most.is_some_and(|most| most <= other.least) {
            Some(false)
        } else {
            None
        }
    }

    /// Whether both are the same number, if that is settled.
    pub(super) fn equals(self, other: Self) -> Option<bool> {
        if self.is_above(other) == Some(true) || other.is_above(self) == Some(true) {
            Some(false)
        } else if self == other && self.most == Some(self.least) {
            Some(true)
        } else {
            None
        }
    }
}
