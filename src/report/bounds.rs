//! Text of a count whose number is not known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Count;

/// Bounds of a count that is not exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    /// The count to which the bounds belong: its name or path in the object that has the field `bounds`, for example
    /// `severities.dangerPodCount`. The count itself is null, or counts only the known data.
    pub field: String,
    /// Lower bound of the count.
    pub at_least: usize,
    /// Upper bound of the count; null if there is none.
    pub at_most: Option<usize>,
}

impl Bounds {
    /// The bounds, by field, of the counts whose number is not known.
    pub fn of(counts: &[(&str, Count)]) -> Vec<Self> {
        // Only those: the list is empty, and so absent from JSON, where every number can be taken as it is.
        let uncertain = counts.iter().filter(|(_, count)| count.exact().is_none());
        uncertain
            .map(|(name, count)| Self {
                field: (*name).to_owned(),
                at_least: count.least(),
                at_most: count.most(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_told_of_uncertain_counts_only() {
        let bounds = Bounds::of(&[
            ("podCount", Count::at_least(3)),
            ("nodeCount", Count::known(1)),
        ]);
        let expected = Bounds {
            field: "podCount".to_owned(),
            at_least: 3,
            at_most: None,
        };
        assert_eq!(bounds, [expected]);
    }
}
