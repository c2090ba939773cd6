//! Costs of evicting sets of pods.
//!
//! Takes the verdicts on all pods in question, and gives the [`EvictionCost`] of each set of them, from the rows of
//! hazards. Costs of sets are not sums: pods share budgets, workloads, groups and Jobs (`SharedLoss`).
//!
//! Two hazards are not counted: `no-replacement` and `sibling-in-use` depend on all devices that are left. Pods that
//! are not ready are evicted before the others, as in a drain.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::assess::assessment::Severity;
use crate::assess::completeness::Basis;
use crate::assess::evidence::HazardEvidence;
use crate::assess::hazard::{Hazard, findings};
use crate::assess::totals::DisruptionFacts;
use crate::engine::disruption::{allows_first, is_subject_to_budgets, refusals};
use crate::engine::job_fate::{JobFailure, JobFate, job_fates, job_fates_alone};
use crate::engine::workloads;
use crate::engine::workloads::{Gang, gangs};
use crate::engine::{Impact, PodImpact};
use crate::model::{Kind, Namespace, PodDisruptionBudget, Uid};

/// Cost of evictions; lower is better, and the order of the fields is the order of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EvictionCost {
    /// Pods whose budgets or workloads could not be read.
    pub unknown: usize,
    /// Violated PodDisruptionBudgets; a pod with several budgets counts as one more.
    pub violated_budgets: usize,
    /// Hazards of severity danger.
    pub danger: usize,
    /// Hazards of severity warning.
    pub warning: usize,
    /// Evicted pods.
    pub pods: usize,
    /// Devices that are not free after the evictions.
    pub held_devices: usize,
}

impl EvictionCost {
    /// No evictions.
    const NONE: Self = Self {
        unknown: 0,
        violated_budgets: 0,
        danger: 0,
        warning: 0,
        pods: 0,
        held_devices: 0,
    };

    /// Part of the cost of a pod that could not be read.
    const UNKNOWN: Self = Self {
        unknown: 1,
        ..Self::NONE
    };

    /// Cost of a number of hazards.
    fn of(hazard: Hazard, number: usize) -> Self {
        let mut cost = Self::NONE;
        match hazard.severity() {
            Severity::Danger => cost.danger = number,
            Severity::Warning => cost.warning = number,
            Severity::Notice | Severity::Ok => {}
        }
        cost
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, usize::saturating_add)
    }

    /// Cost beyond that of a part of the evictions.
    #[must_use]
    pub fn beyond(self, part: Self) -> Self {
        self.with(part, usize::saturating_sub)
    }

    fn with(self, other: Self, both: fn(usize, usize) -> usize) -> Self {
        Self {
            unknown: both(self.unknown, other.unknown),
            violated_budgets: both(self.violated_budgets, other.violated_budgets),
            danger: both(self.danger, other.danger),
            warning: both(self.warning, other.warning),
            pods: both(self.pods, other.pods),
            held_devices: both(self.held_devices, other.held_devices),
        }
    }
}

/// Budget, workload, group or Job that can lose only so many of its pods without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedLoss {
    /// Pods that can be lost without harm.
    harmless: usize,
    /// Hazard of the pods if more are lost.
    hazard: Hazard,
}

impl SharedLoss {
    /// Cost of losing this number of its pods.
    pub(super) fn cost(self, lost: usize) -> EvictionCost {
        let excess = lost.saturating_sub(self.harmless);
        if excess == 0 {
            return EvictionCost::NONE;
        }
        if self.hazard != Hazard::PdbViolated {
            return EvictionCost::of(self.hazard, lost);
        }
        // The Eviction API refuses only the evictions that exceed a budget.
        EvictionCost {
            violated_budgets: 1,
            ..EvictionCost::of(self.hazard, excess)
        }
    }

    /// Reports that further evictions of up to `widest` pods cost the same after `lost` and after `other` losses: none
    /// exceeds the limit, or each does.
    pub(super) fn is_linear(self, lost: usize, other: usize, widest: usize) -> bool {
        let (fewer, more) = (lost.min(other), lost.max(other));
        fewer > self.harmless || more.saturating_add(widest) <= self.harmless
    }
}

/// Cost of evicting one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodCost {
    /// Cost if no other pod is lost.
    pub(super) alone: EvictionCost,
    /// Indices of the shared losses that count it.
    pub(super) shared: Vec<usize>,
}

/// Costs of evicting any set of the pods that an impact evicts; pods are named by their index among these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionCosts {
    pub(super) pods: Vec<PodCost>,
    pub(super) shared: Vec<SharedLoss>,
}

impl EvictionCosts {
    /// Costs of evicting pods of `impact`.
    pub fn new(impact: &Impact<'_>, basis: &Basis<'_>) -> Self {
        let pods: Vec<&PodImpact<'_>> = impact.pods.iter().filter(|pod| pod.is_evicted()).collect();
        let mut costs = Self {
            pods: vec![PodCost::default(); pods.len()],
            shared: Vec::new(),
        };
        costs.add_budgets(&pods, basis);
        let index = pods.iter().enumerate();
        let index: HashMap<&Uid, usize> = index.map(|(index, pod)| (&pod.pod.uid, index)).collect();
        let alone = job_fates_alone(impact, basis.reading);
        costs.add_jobs(&pods, &alone, impact, basis);
        costs.add_hazards(&pods, alone, impact, basis);
        costs.add_workloads(&index, impact, basis);
        costs.add_groups(&pods, &index, impact, basis);
        costs
    }

    /// Cost of evicting these pods, each named once.
    pub fn of(&self, set: impl IntoIterator<Item = usize>) -> EvictionCost {
        let mut cost = EvictionCost::NONE;
        let mut lost: BTreeMap<usize, usize> = BTreeMap::new();
        for pod in set.into_iter().filter_map(|pod| self.pods.get(pod)) {
            cost = cost.plus(pod.alone);
            for shared in &pod.shared {
                let lost = lost.entry(*shared).or_default();
                *lost = lost.saturating_add(1);
            }
        }
        let shared = lost.into_iter();
        let shared = shared.filter_map(|(shared, lost)| Some(self.shared.get(shared)?.cost(lost)));
        shared.fold(cost, EvictionCost::plus)
    }

    fn add(&mut self, pod: usize, cost: EvictionCost) {
        if let Some(pod) = self.pods.get_mut(pod) {
            pod.alone = pod.alone.plus(cost);
        }
    }

    fn share(&mut self, members: &[usize], loss: SharedLoss) {
        // A loss that the pods cannot exceed together is never harmful.
        if members.len() <= loss.harmless {
            return;
        }
        for member in members {
            if let Some(pod) = self.pods.get_mut(*member) {
                pod.shared.push(self.shared.len());
            }
        }
        self.shared.push(loss);
    }

    fn add_budgets(&mut self, pods: &[&PodImpact<'_>], basis: &Basis<'_>) {
        let violation = SharedLoss {
            harmless: 0,
            hazard: Hazard::PdbViolated,
        };
        let reading = basis.reading;
        let is_unread = reading.without(Kind::PodDisruptionBudget).is_some();
        let mut budgets: HashMap<&Namespace, Vec<(usize, &PodDisruptionBudget)>> =
            HashMap::default();
        for (index, budget) in reading.snapshot.budgets.iter().enumerate() {
            let of_namespace = budgets.entry(&budget.name.namespace).or_default();
            of_namespace.push((index, budget));
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let subject = pods.iter().enumerate();
        for (index, pod) in subject.filter(|(_, found)| is_subject_to_budgets(found.pod)) {
            let pod = pod.pod;
            let mut covering = Vec::new();
            let mut is_known = !is_unread;
            for (number, budget) in budgets.get(&pod.name.namespace).into_iter().flatten() {
                match budget.covers(pod) {
                    Some(true) => covering.push((*number, *budget)),
                    Some(false) => {}
                    None => is_known = false,
                }
            }
            if !is_known {
                self.add(index, EvictionCost::UNKNOWN);
            }
            match covering.as_slice() {
                [] => {}
                [(number, _)] if pod.is_ready => members.entry(*number).or_default().push(index),
                [(_, budget)] if allows_first(budget, pod) => {}
                // Not ready and refused all the same, or of several budgets, which the Eviction API refuses to decide.
                _ => self.add(index, violation.cost(1)),
            }
        }
        for (number, members) in members {
            let Some(budget) = reading.snapshot.budgets.get(number) else {
                continue;
            };
            // The first entry is for no eviction at all.
            let refused = refusals(budget, members.len());
            let allowed = refused.iter().skip(1).take_while(|refused| **refused == 0);
            let loss = SharedLoss {
                harmless: allowed.count(),
                ..violation
            };
            self.share(&members, loss);
        }
    }

    fn add_hazards(
        &mut self,
        pods: &[&PodImpact<'_>],
        jobs: BTreeMap<&Uid, JobFate>,
        impact: &Impact<'_>,
        basis: &Basis<'_>,
    ) {
        // Without budgets, workloads and replacements, only hazards of each pod by itself are found.
        let alone = DisruptionFacts {
            jobs,
            ..DisruptionFacts::default()
        };
        let evidence = HazardEvidence::new(impact, basis.reading, &alone, basis.now);
        for (index, pod) in pods.iter().enumerate() {
            let pod_alone = EvictionCost {
                pods: 1,
                ..EvictionCost::NONE
            };
            let findings = findings(&evidence, pod).into_iter();
            let hazards = findings.map(|found| found.hazard);
            // Groups are judged as if all pods were lost; they are shared losses.
            let hazards = hazards.filter(|hazard| *hazard != Hazard::Gang);
            let costs = hazards.map(|hazard| EvictionCost::of(hazard, 1));
            self.add(index, costs.fold(pod_alone, EvictionCost::plus));
        }
    }

    fn add_workloads(
        &mut self,
        index: &HashMap<&Uid, usize>,
        impact: &Impact<'_>,
        basis: &Basis<'_>,
    ) {
        for workload in workloads(impact, basis.reading).workloads {
            let pods = workload.pods.iter();
            let running = pods.filter(|pod| pod.is_ready && !pod.phase.is_terminal());
            let members: Vec<usize> = running
                .filter_map(|pod| index.get(&pod.uid).copied())
                .collect();
            let ready = workload.workload.and_then(|(_, workload)| workload.ready);
            if let (Some(_), Some(ready)) = (workload.left(), ready) {
                let ready = usize::try_from(ready).unwrap_or_default();
                let loss = SharedLoss {
                    harmless: ready.saturating_sub(1),
                    hazard: Hazard::LastReplica,
                };
                self.share(&members, loss);
            } else if workload.is_down().is_none()
                && (workload.workload.is_some() || !workload.is_whole)
            {
                // Any of its pods may be the last, where its owner or the owner's numbers were not read.
                for member in members {
                    self.add(member, EvictionCost::UNKNOWN);
                }
            }
        }
    }

    fn add_groups(
        &mut self,
        pods: &[&PodImpact<'_>],
        index: &HashMap<&Uid, usize>,
        impact: &Impact<'_>,
        basis: &Basis<'_>,
    ) {
        let mut groups: BTreeMap<String, (Gang, Vec<usize>)> = BTreeMap::new();
        let is_running = |pod: &usize| {
            let pod = pods.get(*pod);
            pod.is_some_and(|pod| !pod.pod.phase.is_terminal())
        };
        // Only groups that are broken if all are lost: others are not broken by less.
        for (uid, gang) in gangs(impact, basis.reading) {
            if let Some(pod) = index.get(uid).copied().filter(is_running) {
                let name = gang.group.clone();
                let (_, members) = groups.entry(name).or_insert((gang, Vec::new()));
                members.push(pod);
            }
        }
        for (gang, members) in groups.into_values() {
            let all = gang.lost.saturating_add(gang.left);
            let needs = gang.needs.and_then(|needs| usize::try_from(needs).ok());
            let loss = SharedLoss {
                harmless: needs.map_or(0, |needs| all.saturating_sub(needs)),
                hazard: Hazard::Gang,
            };
            self.share(&members, loss);
        }
    }

    /// Adds Jobs that fail if all these pods are lost, and not if one is.
    fn add_jobs(
        &mut self,
        pods: &[&PodImpact<'_>],
        alone: &BTreeMap<&Uid, JobFate>,
        impact: &Impact<'_>,
        basis: &Basis<'_>,
    ) {
        let mut jobs: BTreeMap<&Uid, (i32, Vec<usize>)> = BTreeMap::new();
        let fates = job_fates(impact, basis.reading);
        for (index, found) in pods.iter().enumerate() {
            let uid = &found.pod.uid;
            if let Some(JobFate::Fails(JobFailure::Backoff { failures, limit })) = fates.get(uid)
                && let Some(owner) = &found.pod.controller
                && !alone.get(uid).is_some_and(JobFate::is_for_good)
            {
                let excess = failures.saturating_sub(*limit);
                let (_, members) = jobs.entry(&owner.uid).or_insert((excess, Vec::new()));
                members.push(index);
            }
        }
        for (excess, members) in jobs.into_values() {
            let excess = usize::try_from(excess).unwrap_or_default();
            let loss = SharedLoss {
                harmless: members.len().saturating_sub(excess),
                hazard: Hazard::JobFails,
            };
            self.share(&members, loss);
        }
    }
}
