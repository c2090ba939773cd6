//! Units of a drain that are still to be drained.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{DrainState, UnitProgress};
use super::unit::Unit;

/// The units of a drain by whether anything is left to do for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUnits {
    /// The units to drain, in their order, each with the stage that it has reached.
    pub open: Vec<(Unit, UnitProgress)>,
    /// How many units the drain has, with those of earlier runs: it is recorded on the rules as the size of the drain.
    pub count: usize,
}

impl OpenUnits {
    /// Of these `units`, without those that are `left_out`, of a drain that an earlier run has left in this `state`, if there
    /// was one. A unit that was over is open again if its `progress` says so: it may have got devices or pods since.
    #[must_use]
    pub fn new(
        units: Vec<Unit>,
        left_out: &BTreeMap<String, String>,
        state: Option<&DrainState>,
        progress: impl Fn(&Unit) -> UnitProgress,
    ) -> Self {
        let known = state.into_iter().flat_map(|state| &state.units);
        let mut names: BTreeSet<&str> = units.iter().map(|unit| &*unit.name).collect();
        names.extend(known.map(|unit| &*unit.name));
        let count = names.len();
        let units = units.into_iter().map(|unit| {
            let progress = progress(&unit);
            (unit, progress)
        });
        let open = units
            .filter(|(unit, progress)| !left_out.contains_key(&unit.name) && !progress.is_over());
        Self {
            open: open.collect(),
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{drain_rule, idle_drain};
    use super::*;
    use crate::decide::drain::drains;

    fn unit(name: &str) -> Unit {
        Unit {
            name: name.to_owned(),
            devices: BTreeSet::new(),
        }
    }

    fn names(found: &OpenUnits) -> Vec<&str> {
        let open = found.open.iter().map(|(unit, _)| &*unit.name);
        open.collect()
    }

    #[test]
    fn what_an_earlier_run_finished_is_left_out_unless_it_is_open_again() {
        let state = idle_drain();
        let found = |progress: &UnitProgress| {
            let units = vec![unit("node-1"), unit("node-2")];
            OpenUnits::new(units, &BTreeMap::new(), Some(&state), |unit| {
                if unit.name == "node-1" {
                    progress.clone()
                } else {
                    UnitProgress::Waiting
                }
            })
        };
        let over = found(&UnitProgress::Idle);
        assert_eq!(names(&over), ["node-2"]);
        let again = found(&UnitProgress::Draining);
        assert_eq!(names(&again), ["node-1", "node-2"]);
        assert_eq!(again.open[0].1, UnitProgress::Draining);
        assert_eq!((over.count, again.count), (2, 2));
    }

    #[test]
    fn units_of_earlier_runs_count() {
        let state = drains(&[drain_rule("a", "node-1", "NoSchedule")]).remove(0);
        let found = OpenUnits::new(vec![unit("node-2")], &BTreeMap::new(), Some(&state), |_| {
            UnitProgress::Waiting
        });
        assert_eq!(names(&found), ["node-2"]);
        assert_eq!(found.count, 2);
        let found = OpenUnits::new(
            vec![unit("node-2")],
            &BTreeMap::new(),
            Some(&idle_drain()),
            |_| UnitProgress::Waiting,
        );
        assert_eq!(names(&found), ["node-2"]);
    }

    #[test]
    fn units_that_are_left_out_count() {
        let left_out = BTreeMap::from([("node-1".to_owned(), "restored by eve".to_owned())]);
        let units = vec![unit("node-1"), unit("node-2")];
        let found = OpenUnits::new(units, &left_out, None, |_| UnitProgress::Waiting);
        assert_eq!(names(&found), ["node-2"]);
        assert_eq!(found.count, 2);
    }
}
