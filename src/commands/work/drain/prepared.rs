//! The work of a drain, and what it does to pods.

use std::collections::{BTreeMap, BTreeSet};

use super::order::DrainRun;
use crate::decide::AddStep;
use crate::decide::drain::{DrainTerms, RecordedWorkloads, RestartPlan, Unit};
use crate::model::{DeviceTaintRule, Effect, Uid};

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
    /// Names of the units that are over or left out.
    pub(crate) settled: BTreeSet<String>,
}

impl Prepared {
    /// Whether no rule of the drain exists yet.
    pub(crate) fn is_new(&self) -> bool {
        self.steps.iter().all(|step| match step {
            AddStep::Create(_) => true,
            AddStep::Change { .. } | AddStep::Keep { .. } => false,
        })
    }

    /// Whether a rule is still to be made or changed.
    pub(crate) fn changes_rules(&self) -> bool {
        self.steps.iter().any(|step| match step {
            AddStep::Create(_) | AddStep::Change { .. } => true,
            AddStep::Keep { .. } => false,
        })
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
