//! Does a guard trip for several clusters together?

use super::expression::{Guard, Quantity};
use super::outcome::GuardResult;
use crate::report::Count;

impl Guard {
    /// Compares the guard with the sum of what it found in several clusters, by their names; nothing is
    /// known of one without a result.
    ///
    /// Pods, devices and namespaces of two clusters are never the same, so that sums count everything
    /// once. A sum of which a part is not known is known from below.
    #[must_use]
    pub fn together(&self, parts: &[(&str, Option<&GuardResult>)]) -> GuardResult {
        let results = || parts.iter().map(|(_, result)| *result);
        let value = sum(results().map(|result| result.map_or(Count::at_least(0), value_of)));
        let whole = match self.quantity {
            Quantity::Number(_) => None,
            Quantity::Percent { .. } => Some(sum(results().map(|result| {
                let whole = result.and_then(|result| result.whole);
                whole.map_or(Count::at_least(0), Count::known)
            }))),
        };
        self.result(value, whole, || missing(parts))
    }
}

/// What the guard counted in one cluster, as far as it is known.
fn value_of(result: &GuardResult) -> Count {
    match (result.value, result.at_most) {
        (Some(value), _) => Count::known(value),
        (None, Some(most)) => Count::between(result.at_least.unwrap_or_default(), most),
        (None, None) => Count::at_least(result.at_least.unwrap_or_default()),
    }
}

fn sum(counts: impl Iterator<Item = Count>) -> Count {
    counts.fold(Count::known(0), |sum, count| {
        let least = sum.least().saturating_add(count.least());
        match (sum.most(), count.most()) {
            (Some(some), Some(more)) => Count::between(least, some.saturating_add(more)),
            (None, _) | (_, None) => Count::at_least(least),
        }
    })
}

/// What is missing in which cluster.
fn missing(parts: &[(&str, Option<&GuardResult>)]) -> String {
    let missing = parts.iter().filter_map(|(name, result)| match result {
        None => Some(format!("{name}: everything")),
        Some(result) => {
            let missing = result.unknown_without.as_ref()?;
            Some(format!("{name}: {missing}"))
        }
    });
    missing.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: Option<usize>, whole: Option<usize>) -> GuardResult {
        GuardResult {
            expression: String::new(),
            value,
            whole,
            tripped: false,
            at_least: value.is_none().then_some(1),
            at_most: None,
            unknown_without: value.is_none().then(|| "pods".to_owned()),
            policy: None,
        }
    }

    fn together(guard: &str, parts: &[Option<GuardResult>]) -> GuardResult {
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
            assert_eq!(result.value, Some(4), "{guard}");
            assert_eq!(result.unknown_without, None, "{guard}");
        }
        assert_eq!(together("pods.evicted>9%", &[two(), two()]).whole, Some(20));
    }

    #[test]
    fn a_cluster_that_says_nothing_trips_what_it_may_trip() {
        let result = together("pods.evicted>3", &[Some(found(Some(2), None)), None]);
        assert!(result.tripped);
        assert_eq!((result.value, result.at_least), (None, Some(2)));
        assert_eq!(result.unknown_without.as_deref(), Some("b: everything"));
        // However many there are, these are too many for it.
        let result = together("pods.evicted<2", &[Some(found(Some(2), None)), None]);
        assert!(!result.tripped);
        let result = together("pods.evicted>3", &[None, Some(found(None, None))]);
        assert_eq!(
            result.unknown_without.as_deref(),
            Some("a: everything; b: pods")
        );
        assert_eq!(result.at_least, Some(1));
        let share = together("pods.evicted>50%", &[Some(found(Some(1), None))]);
        assert!(share.tripped, "nobody knows of how many");
    }
}
