//! The work of a drain, and what it does to pods.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::order::DrainRun;
use crate::decide::AddStep;
use crate::decide::drain::{DrainTerms, RecordedWorkloads, RestartPlan, Unit};
use crate::engine::ProposedTaint;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Uid};

/// What a drain does to pods, as shown before the confirmation.
pub(crate) struct CheckedDrain {
    pub(crate) restarts: RestartPlan,
    /// The workloads that have pods on the devices, by unit.
    pub(crate) workloads: BTreeMap<String, RecordedWorkloads>,
    /// The lines that are shown before the question.
    pub(crate) lines: Vec<String>,
    /// The pods on the devices that are not evicted.
    pub(crate) kept: BTreeSet<Uid>,
    /// Whether partitions of the devices are in use that the drain does not include.
    pub(crate) leaves_partitions: bool,
    /// Whether effect NoExecute evicts pods, too: as this run may set it, or as an earlier run has.
    pub(crate) by_taint: bool,
}

/// The work of a drain.
pub(crate) struct Prepared {
    pub(crate) terms: DrainTerms,
    /// Units that are neither done nor skipped.
    pub(crate) units: Vec<Unit>,
    pub(crate) steps: Vec<AddStep>,
    pub(crate) runs: Vec<DrainRun>,
    /// How many units the drain has, with those that are done or reversed.
    pub(crate) count: usize,
    /// Units that are left out, with the reasons.
    pub(crate) skipped: BTreeMap<String, String>,
}

impl Prepared {
    /// A NoExecute taint on each of its devices, as if it evicted by taint.
    pub(super) fn hypothetical(&self, now: Timestamp) -> Vec<ProposedTaint> {
        let devices = self.units.iter().flat_map(|unit| &unit.devices);
        devices
            .map(|device| hypothetical(device.clone().into(), now))
            .collect()
    }

    /// How many of its rules have effect NoExecute.
    pub(super) fn raised(&self, known: &[DeviceTaintRule]) -> usize {
        let names: BTreeSet<&str> = self
            .runs
            .iter()
            .flat_map(|run| &run.rules)
            .map(|it| &**it)
            .collect();
        let raised = known
            .iter()
            .filter(|rule| rule.taint.effect == Effect::NoExecute);
        raised
            .filter(|rule| names.contains(rule.name.as_str()))
            .count()
    }

    /// The rules of its units; none unless all of them are there.
    pub(super) fn rules(&self, known: &[DeviceTaintRule]) -> Vec<DeviceTaintRule> {
        let names = self.runs.iter().flat_map(|run| &run.rules);
        let rules: Option<Vec<DeviceTaintRule>> = names
            .map(|name| known.iter().find(|rule| rule.name.as_str() == *name))
            .map(Option::<&_>::cloned)
            .collect();
        rules.unwrap_or_default()
    }
}

/// A NoExecute taint on these devices, as if the drain evicted by taint.
pub(super) fn hypothetical(selector: DeviceSelector, now: Timestamp) -> ProposedTaint {
    let taint = DrainTerms {
        name: String::new(),
    };
    ProposedTaint::hypothetical(selector, taint.taint(), now).with_effect(&Effect::NoExecute, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::UnitProgress;
    use crate::decide::testing::named;

    /// A drain of one unit with the rules `a` and `b`.
    fn prepared() -> Prepared {
        let unit = Unit {
            name: "node-1".to_owned(),
            devices: BTreeSet::new(),
        };
        let run = DrainRun {
            unit,
            rules: vec!["a".to_owned(), "b".to_owned()],
            progress: UnitProgress::Waiting,
        };
        Prepared {
            terms: DrainTerms {
                name: "fw".to_owned(),
            },
            units: Vec::new(),
            steps: Vec::new(),
            runs: vec![run],
            count: 1,
            skipped: BTreeMap::new(),
        }
    }

    #[test]
    fn rules_of_its_units_count_as_raised_and_are_rules_only_together() {
        let drain = prepared();
        let known = [
            named("a", "NoExecute"),
            named("b", "NoSchedule"),
            named("c", "NoExecute"),
        ];
        assert_eq!(drain.raised(&known), 1);
        assert_eq!(drain.raised(&known[1..]), 0);
        assert_eq!(drain.rules(&known), known[..2]);
        assert_eq!(drain.rules(&known[1..]), []);
    }
}
