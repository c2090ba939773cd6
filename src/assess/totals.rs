//! Counts of an answer, as far as they are known: every object once, however many taints, claims or devices
//! lead to it.

use super::assessment::{Outcome, PodAssessment, Severity};
use super::completeness::{Basis, CountSubject, ReportCompleteness};
use super::hazard::Hazard;
use super::replacements::{Replacements, Sibling};
use crate::engine;
use crate::engine::disruption::{BudgetAnswer, Disruption};
use crate::engine::job_fate::{JobFate, job_fates};
use crate::engine::workloads::{Recovering, recovering};
use crate::engine::{Impact, RuleImpact, Workloads};
use crate::model::{Count, Gap, Kind, Reading, Uid};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Counts over all considered taints together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Devices that a considered taint selects, published or allocated.
    pub devices: Count,
    /// Claims that hold such a device.
    pub claims: Count,
    /// Pods that would be evicted, now or later.
    pub pods: Count,
    /// Pods that would be evicted at once.
    pub pods_now: Count,
    /// Pods that would be evicted later.
    pub pods_later: Count,
    /// Pods that use a selected device and tolerate the taint forever.
    pub pods_tolerating: Count,
    /// Pods that use a selected device and are terminating already.
    pub pods_terminating: Count,
    /// Pods that refer to a claim with a selected device, and that the controller leaves alone.
    pub pods_not_evicted: Count,
    /// Pods that would be evicted, and that the system needs.
    pub pods_critical: Count,
    /// Pods that would be evicted, and that nothing creates again.
    pub pods_unmanaged: Count,
    /// Pods that would be evicted, and that their nodes cannot end as things are; any may be one whose node is not
    /// known.
    pub pods_on_lost_nodes: Count,
    /// Pods that would be evicted, and that hang until a driver is back; any may be one where slices are not known.
    pub pods_without_driver: Count,
    /// Namespaces of the pods that would be evicted.
    pub namespaces: Count,
    /// Nodes of the pods that would be evicted.
    pub nodes: Count,
    /// Owners of the pods that would be evicted; a pod without a controller counts as its own.
    pub workloads: Count,
    /// Disruption budgets that the evictions would overdraw.
    pub budgets_violated: Count,
    /// Workloads of which no ready pod would be left.
    pub workloads_down: Count,
    /// Evicted pods by the worst hazard that was found.
    pub severities: Severities,
    /// Pods that would be evicted and have a hazard that breaks something for others.
    pub pods_in_danger: Count,
    /// Claims whose pods would be evicted and that cannot be reallocated even alone.
    pub claims_unplaceable: Count,
    /// Devices of the classes of the selected ones that stay allocatable.
    pub devices_available: Count,
    /// All devices of these classes.
    pub devices_of_class: Count,
    /// When the first pod would be evicted.
    pub first_eviction: Option<Timestamp>,
    /// When the last pod would be evicted.
    pub last_eviction: Option<Timestamp>,
}

impl Totals {
    /// True if it is unknown of some pod to be evicted if it can end.
    pub fn has_unknown_ends(&self) -> bool {
        let ends = [self.pods_on_lost_nodes, self.pods_without_driver];
        ends.iter().any(|count| count.exact().is_none())
    }
}

/// Pods that would be evicted, by the worst of the hazards that were found; those of danger are counted with
/// their uncertainty by [`Totals::pods_in_danger`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Severities {
    /// Without a hazard.
    pub ok: Count,
    /// With one that is worth knowing.
    pub notice: Count,
    /// With one that costs something which does not come back by itself.
    pub warning: Count,
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
        let using = |outcome| completeness.count(CountSubject::Pods, self.with(outcome));
        let pods = self.of_evicted(self.evicted().count());
        let (pods_now, pods_later) = self.now_and_later(pods);
        let claims = impact.devices.iter().flat_map(|device| &device.claims);
        let claims = distinct(claims.map(|claim| &claim.name));
        let nodes = self
            .evicted()
            .filter_map(|pod| pod.impact.pod.node.as_ref());
        let namespaces = self.evicted().map(|pod| &pod.impact.pod.name.namespace);
        let times = || self.evicted().filter_map(PodAssessment::evict_at);
        Totals {
            devices: completeness.count(CountSubject::Selected, impact.devices.len()),
            claims: completeness.count(CountSubject::Allocated, claims),
            pods,
            pods_now,
            pods_later,
            pods_tolerating: using(Outcome::Tolerates),
            pods_terminating: using(Outcome::Terminating),
            pods_not_evicted: using(Outcome::NotEvicted),
            pods_critical: self.with_hazard(Hazard::Critical),
            pods_unmanaged: self.with_hazard(Hazard::Unmanaged),
            pods_on_lost_nodes: self.with_hazard(Hazard::NodeNotReady),
            pods_without_driver: self.with_hazard(Hazard::DriverDown),
            namespaces: self.of_evicted(distinct(namespaces)),
            nodes: self.of_evicted(distinct(nodes)),
            workloads: self.of_evicted(distinct(self.evicted().map(PodAssessment::top_owner))),
            budgets_violated: self.violated(),
            workloads_down: self.down(),
            severities: Severities {
                ok: self.with_severity(Severity::Ok, pods),
                notice: self.with_severity(Severity::Notice, pods),
                warning: self.with_severity(Severity::Warning, pods),
            },
            pods_in_danger: self.in_danger(pods),
            claims_unplaceable: self.unplaceable(pods),
            devices_available: disruption_facts.replacements.available(),
            devices_of_class: disruption_facts.replacements.of_class(),
            first_eviction: times().min(),
            last_eviction: times().max(),
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

/// Counts of the eviction controller for one taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaintCounts {
    /// Selected devices in the newest generation of each pool.
    pub published_devices: Count,
    /// Selected devices in allocated claims; a shared device counts once per share.
    pub allocated_devices: Count,
    /// Pods that would be evicted, now or later; pods that are already terminating are not counted.
    pub pods: Count,
    /// Namespaces of the pods that would be evicted.
    pub namespaces: Count,
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
        Self {
            published_devices: completeness
                .count(CountSubject::Published, counts.published_devices),
            allocated_devices: completeness
                .count(CountSubject::Allocated, counts.allocated_devices),
            pods: evicted(counts.pods),
            namespaces: evicted(counts.namespaces),
        }
    }

    /// True if each of them is known.
    pub fn is_exact(&self) -> bool {
        let all = [
            self.published_devices,
            self.allocated_devices,
            self.pods,
            self.namespaces,
        ];
        all.into_iter().all(|count| count.exact().is_some())
    }
}

/// Facts beyond a pod itself that show the harm of its eviction.
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
