//! Counts, exact or bounded.
//!
//! A count of a part of the objects is not the count of all. [`Count`] keeps the lower and the upper bound,
//! so that unread objects are not taken for zero.

use std::fmt;

/// The cell for something that could not be read.
pub const UNKNOWN: &str = "<unknown>";

/// A number of things, or what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    counted: usize,
    least: usize,
    most: Option<usize>,
}

/// Unknown: objects that were not counted are not zero.
impl Default for Count {
    fn default() -> Self {
        Self::at_least(0)
    }
}

impl Count {
    /// Exactly `number`.
    pub const fn known(number: usize) -> Self {
        Self::between(number, number)
    }

    /// A count of `number` or more.
    pub const fn at_least(number: usize) -> Self {
        Self {
            counted: number,
            least: number,
            most: None,
        }
    }

    /// From `least` to `most`, both included.
    pub const fn between(least: usize, most: usize) -> Self {
        Self {
            counted: least,
            least,
            most: Some(most),
        }
    }

    /// This count, where `number` were counted of what it may be.
    #[must_use]
    pub const fn having_counted(self, number: usize) -> Self {
        Self {
            counted: number,
            ..self
        }
    }

    /// This count without an upper limit: there may be more.
    #[must_use]
    pub const fn or_more(self) -> Self {
        Self { most: None, ..self }
    }

    /// Number that was counted, for reports, which write the bounds beside it. No decision uses it.
    pub const fn counted(self) -> usize {
        self.counted
    }

    /// The lowest number that it can be.
    pub const fn least(self) -> usize {
        self.least
    }

    /// The highest number that it can be; absent when there is no limit.
    pub const fn most(self) -> Option<usize> {
        self.most
    }

    /// The number, if it is known.
    pub fn exact(self) -> Option<usize> {
        self.most.filter(|most| *most == self.least)
    }

    /// True if it is known to be zero.
    pub fn is_none(self) -> bool {
        self.most == Some(0)
    }

    /// True if it is known to be one or more.
    pub const fn is_some(self) -> bool {
        self.least > 0
    }

    /// True if nothing is known of it.
    pub const fn is_unknown(self) -> bool {
        self.least == 0 && self.most.is_none()
    }

    /// Product with `factor`. A product that is too large for a number has no limit.
    #[must_use]
    pub fn times(self, factor: usize) -> Self {
        Self {
            counted: self.counted.saturating_mul(factor),
            // A lower bound that is cut off stays one; an upper bound would not, and becomes none.
            least: self.least.saturating_mul(factor),
            most: self.most.and_then(|most| most.checked_mul(factor)),
        }
    }

    /// True if it is greater than the other, if that is settled.
    pub fn is_above(self, other: Self) -> Option<bool> {
        if other.most.is_some_and(|most| self.least > most) {
            Some(true)
        } else if self.most.is_some_and(|most| most <= other.least) {
            Some(false)
        } else {
            None
        }
    }

    /// True if both are the same number, if that is settled.
    pub fn equals(self, other: Self) -> Option<bool> {
        if self.is_above(other) == Some(true) || other.is_above(self) == Some(true) {
            Some(false)
        } else if self.exact().is_some() && self.exact() == other.exact() {
            Some(true)
        } else {
            None
        }
    }
}

impl fmt::Display for Count {
    /// As a cell: `3`, `3+`, `1-3` or `<unknown>`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (self.least, self.most) {
            (least, Some(most)) if least == most => least.to_string(),
            (least, Some(most)) => format!("{least}-{most}"),
            (0, None) => UNKNOWN.to_owned(),
            (least, None) => format!("{least}+"),
        };
        formatter.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_shows_what_is_known_of_it() {
        for (count, shown) in [
            (Count::known(0), "0"),
            (Count::known(3), "3"),
            (Count::at_least(3), "3+"),
            (Count::at_least(0), "<unknown>"),
            (Count::between(0, 3), "0-3"),
            (Count::between(2, 2), "2"),
        ] {
            assert_eq!(count.to_string(), shown);
        }
    }

    #[test]
    fn only_a_known_zero_is_none() {
        assert!(Count::known(0).is_none());
        assert!(!Count::at_least(0).is_none() && Count::at_least(0).is_unknown());
        assert!(!Count::between(0, 1).is_none() && !Count::between(0, 1).is_some());
        assert!(Count::at_least(1).is_some());
    }

    #[test]
    fn what_nobody_has_counted_is_not_known() {
        assert!(Count::default().is_unknown());
        assert_eq!(Count::default().exact(), None);
    }

    #[test]
    fn two_counts_are_compared_as_far_as_they_are_known() {
        let (two, three) = (Count::known(2), Count::known(3));
        for (left, right, above, equal) in [
            (three, two, Some(true), Some(false)),
            (two, two, Some(false), Some(true)),
            (two, three, Some(false), Some(false)),
            (Count::at_least(3), two, Some(true), Some(false)),
            (Count::at_least(2), two, None, None),
            (Count::between(0, 2), two, Some(false), None),
            (Count::between(1, 3), two, None, None),
            (Count::default(), Count::default(), None, None),
        ] {
            assert_eq!(left.is_above(right), above, "{left} > {right}");
            assert_eq!(left.equals(right), equal, "{left} = {right}");
        }
        // The counted number decides nothing.
        assert_eq!(two.having_counted(9).equals(two), Some(true));
    }

    #[test]
    fn a_product_that_is_too_large_has_no_limit() {
        assert_eq!(Count::between(1, 2).times(100), Count::between(100, 200));
        assert_eq!(Count::known(usize::MAX).times(2).most(), None);
    }
}
