//! Counts of an answer, as far as they are known: every object once, however many taints, claims or devices
//! lead to it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::assessment::{Outcome, PodAssessment, Severity};
use super::completeness::{Basis, CountSubject, Number, ReportCompleteness, Time};
use super::hazard::Hazard;
use super::replacements::{Replacements, Sibling};
use crate::engine::disruption::{BudgetAnswer, Disruption};
use crate::engine::job_fate::{JobFate, job_fates};
use crate::engine::workloads::{Recovering, recovering};
use crate::engine::{self, Impact, RuleImpact, Workloads};
use crate::model::{Count, Gap, Kind, Reading, Uid};

/// Counts over all proposed taints; each object is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summary")]
pub struct Totals {
    /// Devices that a proposed taint selects, published or allocated.
    pub device_count: Number,
    /// Claims that hold a selected device.
    pub claim_count: Number,
    /// Pods that would be evicted, now or later.
    pub evicted_pod_count: Number,
    /// Pods with the outcome EvictedNow: they would be evicted at once.
    pub evicted_now_pod_count: Number,
    /// Pods with the outcome EvictedLater: they would be evicted later.
    pub evicted_later_pod_count: Number,
    /// Pods with the outcome Tolerates: they use a selected device and tolerate the proposed taints forever.
    pub tolerating_pod_count: Number,
    /// Pods that use a selected device and are already terminating.
    pub terminating_pod_count: Number,
    /// Pods with the outcome NotEvicted: the proposed taints do not evict them, for a reason other than a
    /// toleration. Terminating pods are counted separately.
    pub not_evicted_pod_count: Number,
    /// Pods that would be evicted and that are system-critical (hazard Critical).
    pub critical_pod_count: Number,
    /// Pods that would be evicted and that nothing recreates (hazard Unmanaged).
    pub unmanaged_pod_count: Number,
    /// Pods that would be evicted, and that their nodes cannot end as things are; any may be one whose node is not
    /// known.
    #[serde(skip)]
    pub pods_on_lost_nodes: Number,
    /// Pods that would be evicted, and that hang until a driver is back; any may be one where slices are not known.
    #[serde(skip)]
    pub pods_without_driver: Number,
    /// Namespaces of the pods that would be evicted.
    pub namespace_count: Number,
    /// Nodes of the pods that would be evicted.
    pub node_count: Number,
    /// Workloads of the pods that would be evicted; a pod without a controller counts as a workload.
    pub workload_count: Number,
    /// PodDisruptionBudgets that the evictions would violate.
    pub violated_budget_count: Number,
    /// Workloads with interchangeable replicas, such as Deployments, that would have no ready pod left.
    pub down_workload_count: Number,
    /// Numbers of evicted pods, by the severity of the worst hazard of each.
    pub severities: Severities,
    /// Claims that cannot be reallocated when their pods are evicted; each claim is checked as if no other claim were
    /// reallocated. For these claims, `placeable` is false in replacements.claimReplacements.
    pub unplaceable_claim_count: Number,
    /// Devices that claims without tolerations could still get with the taints, counted in the DeviceClasses of the selected
    /// devices.
    /// Includes shareable devices with capacity left.
    pub available_device_count: Number,
    /// All devices in the DeviceClasses of the selected devices, available or not.
    pub class_device_count: Number,
    /// When the first pod would be evicted; a time in the past means at once. Null if no pod would be
    /// evicted.
    pub first_eviction_time: Option<Time>,
    /// When the last pod would be evicted; a time in the past means at once. Null if no pod would be evicted.
    pub last_eviction_time: Option<Time>,
}

impl Totals {
    /// True if it is unknown of some pod to be evicted if it can end.
    pub fn has_unknown_ends(&self) -> bool {
        let ends = [self.pods_on_lost_nodes, self.pods_without_driver];
        ends.iter().any(|count| count.exact().is_none())
    }
}

/// Numbers of evicted pods, by the severity of the worst hazard of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Severities {
    /// Evicted pods without a known hazard.
    pub ok_pod_count: Number,
    /// Evicted pods whose worst hazard has severity Notice.
    pub notice_pod_count: Number,
    /// Evicted pods whose worst hazard has severity Warning.
    pub warning_pod_count: Number,
    /// Evicted pods whose worst hazard has severity Danger.
    pub danger_pod_count: Number,
}

/// Facts that counts are made from.
#[derive(Clone, Copy)]
pub struct Tally<'t, 'a> {
    /// The verdicts.
    pub impact: &'t Impact<'a>,
    /// Pods and their hazards.
    pub pods: &'t [PodAssessment<'a>],
    /// Effects of the evictions on others.
    pub disruption_facts: &'t DisruptionFacts<'a>,
    /// Missing data.
    pub completeness: &'t ReportCompleteness<'t>,
}

impl<'t, 'a> Tally<'t, 'a> {
    /// True if one of the considered taints evicts. One that never evicts evicts no pod, whichever pods exist.
    pub fn evicts(&self) -> bool {
        let mut rules = self.impact.rules.iter();
        rules.any(|rule| rule.proposed.taint.effect.evicts())
    }

    /// The pods that would be evicted.
    pub fn evicted(&self) -> impl Iterator<Item = &'t PodAssessment<'a>> {
        self.pods.iter().filter(|pod| pod.outcome.is_evicted())
    }

    /// Count of `number` of a subject that depends on the evicted pods.
    pub fn of_evicted(&self, number: usize) -> Count {
        self.of(CountSubject::Pods, number)
    }

    /// The pods that would be evicted and have that hazard: where something was not read in which it is found, any
    /// of them may have it.
    pub fn with_hazard(&self, hazard: Hazard) -> Count {
        let has = |pod: &&PodAssessment<'_>| pod.has(hazard);
        let found = self.evicted().filter(has).count();
        let known = self.of_evicted(found);
        // A subject without an upper bound was not read: any pod that is evicted may have the hazard.
        let mut reads = hazard.reads().iter();
        if reads.all(|subject| self.of(*subject, found).most().is_some()) {
            return known;
        }
        match self.of_evicted(self.evicted().count()).most() {
            Some(most) => Count::between(known.least(), most).having_counted(found),
            None => known.or_more(),
        }
    }

    /// The Jobs that fail for good since pods of them would be evicted; one of which that is not known may.
    pub fn jobs_failed(&self) -> Count {
        let (mut fails, mut may_fail) = (BTreeSet::new(), BTreeSet::new());
        for pod in self.evicted().map(|pod| pod.impact.pod) {
            let (Some(owner), Some(fate)) =
                (&pod.controller, self.disruption_facts.jobs.get(&pod.uid))
            else {
                continue;
            };
            if fate.is_for_good() {
                fails.insert(&owner.uid);
            } else if !fate.is_known() {
                may_fail.insert(&owner.uid);
            }
        }
        // A Job that fails because of one pod is no longer one that may fail because of another.
        let unknown = may_fail.difference(&fails).count();
        self.perhaps_more(fails.len(), unknown)
    }

    /// The workloads that would lose pods, and have fewer ready ones than they want already.
    pub fn workloads_recovering(&self) -> Count {
        let Recovering { workloads, unknown } = self.disruption_facts.recovering;
        self.perhaps_more(workloads, unknown)
    }

    /// So many workloads, and perhaps so many of which it is not known.
    fn perhaps_more(&self, known: usize, unknown: usize) -> Count {
        let count = self.of(CountSubject::Workloads, known);
        match count.most() {
            Some(most) => {
                Count::between(count.least(), most.saturating_add(unknown)).having_counted(known)
            }
            None => count,
        }
    }

    /// Count of `subject`, of which `number` were found; zero where nothing evicts.
    fn of(&self, subject: CountSubject, number: usize) -> Count {
        if self.evicts() {
            self.completeness.count(subject, number)
        } else {
            Count::known(number)
        }
    }

    fn with(&self, outcome: Outcome) -> usize {
        let pods = self.pods.iter();
        pods.filter(|pod| pod.outcome == outcome).count()
    }

    fn severity(&self, severity: Severity) -> usize {
        let is = |pod: &&PodAssessment<'_>| pod.severity() == severity;
        self.evicted().filter(is).count()
    }

    /// The pods that would be evicted and whose worst hazard is of that severity: where the data of a worse
    /// one is missing, any of them may have that, and any with a lesser one may be one of them.
    fn with_severity(&self, severity: Severity, pods: Count) -> Count {
        let found = self.severity(severity);
        let is_unread = |is_meant: &dyn Fn(Severity) -> bool| {
            let hazards = Hazard::ALL.into_iter();
            let mut reads = hazards
                .filter(|hazard| is_meant(hazard.severity()))
                .flat_map(Hazard::reads);
            reads.any(|subject| self.of(*subject, found).most().is_none())
        };
        let may_be_fewer = pods.exact().is_none() || is_unread(&|other| other > severity);
        let least = if may_be_fewer { 0 } else { found };
        let most = if pods.exact().is_none() {
            pods.most()
        } else if is_unread(&|other| other == severity) {
            let better = Severity::ALL.into_iter().filter(|other| *other < severity);
            let better: usize = better.map(|other| self.severity(other)).sum();
            Some(found.saturating_add(better))
        } else {
            Some(found)
        };
        let bounds = most.map_or_else(
            || Count::at_least(least),
            |most| Count::between(least, most),
        );
        bounds.having_counted(found)
    }

    /// All counts.
    pub fn totals(&self) -> Totals {
        let Self {
            impact,
            disruption_facts,
            completeness,
            ..
        } = self;
        let using = |outcome| {
            completeness
                .count(CountSubject::Pods, self.with(outcome))
                .into()
        };
        let pods = self.of_evicted(self.evicted().count());
        let (pods_now, pods_later) = self.now_and_later(pods);
        let claims = impact.devices.iter().flat_map(|device| &device.claims);
        let claims = distinct(claims.map(|claim| &claim.name));
        let nodes = self
            .evicted()
            .filter_map(|pod| pod.impact.pod.node.as_ref());
        let namespaces = self.evicted().map(|pod| &pod.impact.pod.name.namespace);
        let times = || self.evicted().filter_map(PodAssessment::evict_at);
        let workloads = distinct(self.evicted().map(PodAssessment::top_owner));
        let replacements = &disruption_facts.replacements;
        Totals {
            device_count: completeness
                .count(CountSubject::Selected, impact.devices.len())
                .into(),
            claim_count: completeness.count(CountSubject::Allocated, claims).into(),
            evicted_pod_count: pods.into(),
            evicted_now_pod_count: pods_now.into(),
            evicted_later_pod_count: pods_later.into(),
            tolerating_pod_count: using(Outcome::Tolerates),
            terminating_pod_count: using(Outcome::Terminating),
            not_evicted_pod_count: using(Outcome::NotEvicted),
            critical_pod_count: self.with_hazard(Hazard::Critical).into(),
            unmanaged_pod_count: self.with_hazard(Hazard::Unmanaged).into(),
            pods_on_lost_nodes: self.with_hazard(Hazard::NodeNotReady).into(),
            pods_without_driver: self.with_hazard(Hazard::DriverDown).into(),
            namespace_count: self.of_evicted(distinct(namespaces)).into(),
            node_count: self.of_evicted(distinct(nodes)).into(),
            workload_count: self.of_evicted(workloads).into(),
            violated_budget_count: self.violated().into(),
            down_workload_count: self.down().into(),
            severities: Severities {
                ok_pod_count: self.with_severity(Severity::Ok, pods).into(),
                notice_pod_count: self.with_severity(Severity::Notice, pods).into(),
                warning_pod_count: self.with_severity(Severity::Warning, pods).into(),
                danger_pod_count: self.in_danger(pods).into(),
            },
            unplaceable_claim_count: self.unplaceable(pods).into(),
            available_device_count: replacements.available().into(),
            class_device_count: replacements.of_class().into(),
            first_eviction_time: times().min().map(Time),
            last_eviction_time: times().max().map(Time),
        }
    }

    /// Taints that are not known may drive the later ones off at once, and never the reverse.
    fn now_and_later(&self, pods: Count) -> (Count, Count) {
        let (now, later) = (
            self.with(Outcome::EvictedNow),
            self.with(Outcome::EvictedLater),
        );
        // Without later evictions none can be moved to now.
        if self.completeness.is_complete(CountSubject::Times) || later == 0 {
            return (self.of_evicted(now), self.of_evicted(later));
        }
        let least = self.of_evicted(now).least();
        match pods.most() {
            Some(most) => (
                Count::between(least, most).having_counted(now),
                Count::between(0, later).having_counted(later),
            ),
            None => (
                Count::at_least(least).having_counted(now),
                Count::default().having_counted(later),
            ),
        }
    }

    fn violated(&self) -> Count {
        let budgets = self.disruption_facts.disruption.budgets.iter();
        // The eviction API refuses a pod with several budgets, so that these count too.
        let is_violated = |answer: BudgetAnswer| {
            answer == BudgetAnswer::Refused || answer == BudgetAnswer::Ambiguous
        };
        let violated = budgets.filter(|budget| {
            let mut answers = budget.pods.iter();
            answers.any(|(_, answer)| is_violated(*answer))
        });
        self.of(CountSubject::Budgets, violated.count())
    }

    /// Some workloads may be known to be affected, and not how badly.
    fn down(&self) -> Count {
        match self.disruption_facts.workloads.down() {
            (down, 0) => self.of(CountSubject::Workloads, down),
            // A workload of which not everything is known may be down as well.
            (down, _) => Count::at_least(down),
        }
    }

    /// Claims of pods that are not known are not known either.
    fn unplaceable(&self, pods: Count) -> Count {
        let known = self.disruption_facts.replacements.unplaceable();
        match pods.exact() {
            Some(_) => known,
            None => known.or_more(),
        }
    }

    /// Every kind that is missing may hold a reason why it is worse.
    fn in_danger(&self, pods: Count) -> Count {
        let found = self.severity(Severity::Danger);
        let of_danger = Hazard::ALL
            .into_iter()
            .filter(|hazard| hazard.severity() == Severity::Danger);
        let mut reads = of_danger
            .flat_map(Hazard::reads)
            .chain(&[CountSubject::Pods]);
        if !self.evicts() || reads.all(|subject| self.completeness.is_complete(*subject)) {
            return Count::known(found);
        }
        match pods.most() {
            Some(most) => Count::between(found, most),
            None => Count::at_least(found),
        }
    }
}

fn distinct<T: Ord>(things: impl Iterator<Item = T>) -> usize {
    things.collect::<BTreeSet<_>>().len()
}

/// Counts that the eviction controller would report for one proposed taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Counts")]
pub struct TaintCounts {
    /// Selected devices in the newest generation of each pool.
    pub published_device_count: Number,
    /// Number of allocation results that name a selected device. A device can have several: one for each
    /// share, and one for each request with admin access.
    pub allocation_count: Number,
    /// Pods that would be evicted, now or later; pods that are already terminating are not counted.
    pub evicted_pod_count: Number,
    /// Namespaces of the pods that would be evicted.
    pub namespace_count: Number,
}

impl TaintCounts {
    /// Counts for a considered taint. One that never evicts evicts no pod, whichever pods exist.
    pub fn of(rule: &RuleImpact<'_>, completeness: &ReportCompleteness<'_>) -> Self {
        let counts = &rule.counts;
        let evicted = |number| {
            if rule.proposed.taint.effect.evicts() {
                completeness.count(CountSubject::Pods, number)
            } else {
                Count::known(number)
            }
        };
        let count = |subject, number| completeness.count(subject, number).into();
        Self {
            published_device_count: count(CountSubject::Published, counts.published_devices),
            allocation_count: count(CountSubject::Allocated, counts.allocated_devices),
            evicted_pod_count: evicted(counts.pods).into(),
            namespace_count: evicted(counts.namespaces).into(),
        }
    }

    /// True if each of them is known.
    pub fn is_exact(&self) -> bool {
        let all = [
            self.published_device_count,
            self.allocation_count,
            self.evicted_pod_count,
            self.namespace_count,
        ];
        all.into_iter().all(|count| count.exact().is_some())
    }
}

/// Facts beyond a pod itself that show the harm of its eviction.
#[derive(Default)]
pub struct DisruptionFacts<'a> {
    /// Effect on budgets.
    pub disruption: Disruption<'a>,
    /// Effect on workloads.
    pub workloads: Workloads<'a>,
    /// Effect on the Jobs of lost pods, by pod.
    pub jobs: BTreeMap<&'a Uid, JobFate>,
    /// Workloads that have not recovered from something else, and lose pods.
    pub recovering: Recovering,
    /// Replacements for claims that lose their devices.
    pub replacements: Replacements,
    /// Pods that stay on the same hardware, by device.
    pub siblings: Vec<Sibling>,
    /// Gaps of these facts, budgets and workloads aside.
    pub gaps: Vec<Gap>,
}

impl<'a> DisruptionFacts<'a> {
    /// Of an answer.
    pub fn of(impact: &Impact<'a>, basis: &Basis<'a>) -> Self {
        let reading = basis.reading;
        let (replacements, unplaced) = Replacements::of(impact, basis);
        Self {
            disruption: engine::disruption(impact, &reading.snapshot.budgets, basis.now),
            workloads: engine::workloads(impact, reading),
            jobs: job_fates(impact, reading),
            recovering: recovering(impact, reading),
            siblings: Sibling::of(impact, basis),
            gaps: unread(impact, reading)
                .into_iter()
                .chain(unplaced)
                .collect(),
            replacements,
        }
    }

    /// Everything that is not known of it.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &Gap> {
        let known = self.disruption.gaps.iter().chain(&self.workloads.gaps);
        known.chain(&self.gaps)
    }
}

/// Gaps of an answer about evictions whose budgets and nodes were not read; empty where they were read, or
/// where the reason is among the gaps already.
fn unread(impact: &Impact<'_>, reading: &Reading) -> Vec<Gap> {
    let mut evicted = impact.pods.iter().filter(|pod| pod.is_evicted()).peekable();
    if evicted.peek().is_none() {
        return Vec::new();
    }
    let has_node = evicted.any(|pod| pod.pod.node.is_some());
    let kinds = [Kind::PodDisruptionBudget]
        .into_iter()
        .chain(has_node.then_some(Kind::Node));
    // A gap that was noted has the reason; the general one would repeat it without.
    let is_told = |kind: Kind| reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
    kinds
        .filter(|kind| !is_told(*kind))
        .filter_map(|kind| reading.without(kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{PodImpact, Verdict};
    use crate::report::testing::{evicted, impact, pod, reading, with_verdict};

    #[test]
    fn budgets_and_nodes_that_were_not_read_are_missing_where_pods_are_evicted() {
        let mut reading = reading();
        reading.known.remove(&Kind::PodDisruptionBudget);
        reading.known.remove(&Kind::Node);
        let running = pod("team-a", "train-0");
        let mut queued = pod("team-a", "train-1");
        queued.node = None;
        let kinds = |pods: Vec<PodImpact<'_>>, reading: &Reading| -> Vec<Option<Kind>> {
            let gaps = unread(&impact(pods), reading);
            gaps.iter().map(Gap::kind).collect()
        };
        let staying = || with_verdict(&running, Verdict::Tolerates);
        let (budgets, nodes) = (Some(Kind::PodDisruptionBudget), Some(Kind::Node));
        assert_eq!(kinds(vec![staying()], &reading), []);
        assert_eq!(
            kinds(vec![evicted(&queued, 0), staying()], &reading),
            [budgets]
        );
        let both = || vec![evicted(&queued, 0), evicted(&running, 0)];
        assert_eq!(kinds(both(), &reading), [budgets, nodes]);
        // A gap with a reason is not repeated without it.
        reading.gaps = vec![Gap::of(Kind::Node, "denied")];
        assert_eq!(kinds(both(), &reading), [budgets]);
    }
}
