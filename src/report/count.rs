//! How many, as far as that is known?
//!
//! A number that was counted from a part of the facts is not the number. [`Count`] keeps both ends
//! of what it may be, so that nobody takes what could not be read for zero.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cell for something that could not be read.
pub const UNKNOWN: &str = "<unknown>";

/// A number of things, or what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    least: usize,
    most: Option<usize>,
}

impl Count {
    /// Exactly so many.
    #[must_use]
    pub const fn known(number: usize) -> Self {
        Self::between(number, number)
    }

    /// So many or more.
    #[must_use]
    pub const fn at_least(number: usize) -> Self {
        Self {
            least: number,
            most: None,
        }
    }

    /// From `least` to `most`, both included.
    #[must_use]
    pub const fn between(least: usize, most: usize) -> Self {
        Self {
            least,
            most: Some(most),
        }
    }

    /// The lowest number that it can be.
    #[must_use]
    pub const fn least(self) -> usize {
        self.least
    }

    /// The highest number that it can be; absent when there is no limit.
    #[must_use]
    pub const fn most(self) -> Option<usize> {
        self.most
    }

    /// The number, if it is known.
    #[must_use]
    pub fn exact(self) -> Option<usize> {
        self.most.filter(|most| *most == self.least)
    }

    /// Whether it is known that there is none.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.most == Some(0)
    }

    /// Whether it is known that there is one or more.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.least > 0
    }

    /// Whether nothing is known of it.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.least == 0 && self.most.is_none()
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

/// What is known of a count whose true number is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    /// Name of the field beside this list that holds what could be counted.
    pub count: String,
    /// The lowest number that it can be.
    pub at_least: usize,
    /// The highest number that it can be; null when there is no limit.
    pub at_most: Option<usize>,
}

impl Bounds {
    /// The bounds of those counts, by field, whose number is not known.
    #[must_use]
    pub fn of(counts: &[(&str, Count)]) -> Vec<Self> {
        let uncertain = counts.iter().filter(|(_, count)| count.exact().is_none());
        uncertain
            .map(|(name, count)| Self {
                count: (*name).to_owned(),
                at_least: count.least(),
                at_most: count.most(),
            })
            .collect()
    }

    /// What is known of the field `name`, which holds `number`.
    #[must_use]
    pub fn count(bounds: &[Self], name: &str, number: usize) -> Count {
        let found = bounds.iter().find(|bounds| bounds.count == name);
        found.map_or(Count::known(number), |bounds| Count {
            least: bounds.at_least,
            most: bounds.at_most,
        })
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
    fn bounds_are_told_of_uncertain_counts_only_and_read_back() {
        let bounds = Bounds::of(&[("pods", Count::at_least(3)), ("nodes", Count::known(1))]);
        assert_eq!(bounds.len(), 1);
        assert_eq!(Bounds::count(&bounds, "pods", 3), Count::at_least(3));
        assert_eq!(Bounds::count(&bounds, "nodes", 1), Count::known(1));
    }
}
