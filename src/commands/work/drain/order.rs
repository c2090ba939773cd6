//! The units to drain, and how.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::commands::context::Context;
use crate::commands::work::connect::Live;
use crate::decide::RuleDraft;
use crate::decide::drain::{RecordedWorkloads, RestartPlan, Unit, UnitLimits, UnitProgress};
use crate::engine::Semantics;
use crate::model::RuleMetadata;

/// How long devices must be idle, and how long the scheduler has to observe taints.
pub(super) const SETTLE: Duration = Duration::from_secs(5);

/// Parameters that all units of a drain share.
pub(crate) struct DrainOrder<'a> {
    /// Name of the drain.
    pub(crate) name: &'a str,
    pub(crate) live: &'a Live,
    pub(crate) semantics: Semantics,
    pub(crate) limits: UnitLimits,
    /// Owners that are restarted, as announced before the question.
    pub(crate) restarts: RestartPlan,
    /// How many units the drain has, with those that are done or reversed.
    pub(crate) units: usize,
    /// Units that are left out, with the reasons.
    pub(crate) skipped: BTreeMap<String, String>,
    /// The workloads that have pods on the devices, by unit.
    pub(crate) workloads: BTreeMap<String, RecordedWorkloads>,
    /// Whether the same command with `--with-partitions` would drain more devices that keep units from becoming idle.
    pub(crate) leaves_partitions: bool,
    pub(crate) context: &'a Context,
}

/// A unit to drain.
pub(crate) struct DrainRun {
    pub(crate) unit: Unit,
    /// The names of its rules.
    pub(crate) rules: Vec<String>,
    /// Stage that an earlier run has reached.
    pub(crate) progress: UnitProgress,
}

/// The names of the rules of each unit.
pub(super) fn names_by_unit(drafts: &[RuleDraft]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for draft in drafts {
        let unit = draft.annotations.get(RuleMetadata::DRAIN_UNIT);
        if let Some(unit) = unit {
            let rules = names.entry(unit.clone()).or_default();
            rules.push(draft.name.clone());
        }
    }
    names
}

/// The units, those first that an earlier run has started.
pub(super) fn begun_first(runs: Vec<DrainRun>) -> Vec<DrainRun> {
    let (mut begun, waiting): (Vec<DrainRun>, Vec<DrainRun>) =
        runs.into_iter().partition(|run| run.progress.has_begun());
    begun.extend(waiting);
    begun
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn units_that_an_earlier_run_has_started_come_first() {
        let run = |name: &str, progress| DrainRun {
            unit: Unit {
                name: name.to_owned(),
                devices: BTreeSet::new(),
            },
            rules: Vec::new(),
            progress,
        };
        let runs = begun_first(vec![
            run("a", UnitProgress::Waiting),
            run("b", UnitProgress::Blocked),
            run("c", UnitProgress::Waiting),
            run("d", UnitProgress::Draining),
        ]);
        let names: Vec<&str> = runs.iter().map(|run| run.unit.name.as_str()).collect();
        assert_eq!(names, ["b", "d", "a", "c"]);
    }
}
