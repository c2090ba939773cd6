//! Whether a guard trips for several clusters together.

use super::expression::{Guard, Quantity};
use super::outcome::GuardOutcome;

impl Guard {
    /// Compares the guard with the sum of what it found in several clusters, by their names; nothing is
    /// known of one without a result.
    ///
    /// Pods, devices and namespaces of two clusters are never the same, so that sums count everything
    /// once. A sum of which a part is not known is known from below.
    #[must_use]
    pub fn together(&self, parts: &[(&str, Option<&GuardOutcome>)]) -> GuardOutcome {
        let results = || parts.iter().map(|(_, result)| *result);
        // The default of a count is unknown, so that a cluster without a result leaves the sum open.
        let values = results().map(|result| result.map(|result| result.value).unwrap_or_default());
        let wholes =
            results().map(|result| result.and_then(|result| result.whole).unwrap_or_default());
        let whole = match self.quantity {
            Quantity::Number(_) => None,
            Quantity::Percent { .. } => Some(wholes.sum()),
        };
        self.outcome(values.sum(), whole, || missing(parts))
    }
}

/// What is missing in which cluster.
fn missing(parts: &[(&str, Option<&GuardOutcome>)]) -> String {
    let missing = parts.iter().filter_map(|(name, result)| match result {
        None => Some(format!("{name}: everything")),
        Some(result) => {
            let missing = result.missing.as_ref()?;
            Some(format!("{name}: {missing}"))
        }
    });
    missing.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Count;

    fn found(value: Option<usize>, whole: Option<usize>) -> GuardOutcome {
        GuardOutcome {
            guard: "pods.evicted>0".parse().unwrap(),
            value: value.map_or(Count::at_least(1), Count::known),
            whole: whole.map(Count::known),
            tripped: false,
            missing: value.is_none().then(|| "pods".to_owned()),
        }
    }

    fn together(guard: &str, parts: &[Option<GuardOutcome>]) -> GuardOutcome {
        let guard: Guard = guard.parse().unwrap();
        let names = ["a", "b", "c"];
        let parts: Vec<_> = names
            .into_iter()
            .zip(parts.iter().map(Option::as_ref))
            .collect();
        guard.together(&parts)
    }

    #[test]
    fn what_no_cluster_exceeds_alone_they_may_exceed_together() {
        let two = || Some(found(Some(2), Some(10)));
        for (guard, tripped) in [
            ("pods.evicted>3", true),
            ("pods.evicted>4", false),
            ("pods.evicted>=4", true),
            ("pods.evicted<4", false),
            ("pods.evicted>19%", true),
            ("pods.evicted>20%", false),
        ] {
            let result = together(guard, &[two(), two()]);
            assert_eq!(result.tripped, tripped, "{guard}");
            assert_eq!(result.value, Count::known(4), "{guard}");
            assert_eq!(result.missing, None, "{guard}");
        }
        let share = together("pods.evicted>9%", &[two(), two()]);
        assert_eq!(share.whole, Some(Count::known(20)));
    }

    #[test]
    fn a_cluster_that_says_nothing_trips_what_it_may_trip() {
        let result = together("pods.evicted>3", &[Some(found(Some(2), None)), None]);
        assert!(result.tripped);
        assert_eq!(result.value, Count::at_least(2));
        assert_eq!(result.missing.as_deref(), Some("b: everything"));
        // However many there are, these are too many for it.
        let result = together("pods.evicted<2", &[Some(found(Some(2), None)), None]);
        assert!(!result.tripped);
        let result = together("pods.evicted>3", &[None, Some(found(None, None))]);
        assert_eq!(result.missing.as_deref(), Some("a: everything; b: pods"));
        assert_eq!(result.value, Count::at_least(1));
        let share = together("pods.evicted>50%", &[Some(found(Some(1), None))]);
        assert!(share.tripped, "nobody knows of how many");
    }
}
