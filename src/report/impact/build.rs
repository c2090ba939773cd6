//! Construction of an impact report from verdicts.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::release_time::{
    note_freed, note_hardware_in_use, note_may_be_used, note_selected_hardware_in_use,
    note_unknown_ends,
};
use super::rows;
use super::view::{
    AllocatedDevice, Budget, Cause, Device, ImpactReport, NotReleased, Pod, TaintImpact, UsedClaim,
};
use crate::assess::{
    Assessed, Basis, CountSubject, DeviceBasis, DisruptionFacts, Guard, Limits, PodAssessment,
    ReportCompleteness, TaintCounts, Wholes, defects,
};
use crate::engine::{
    self, DeviceImpact, Impact, PodImpact, ProposedTaint, RuleImpact, Selection, Semantics,
};
use crate::model::{AllocationResult, DeviceId, DriverName, ObjectName, Uid};
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, views};
use crate::report::taint::{Owner, Taint, Time};

impl ImpactReport {
    /// The report of an answer; pods and devices are ordered by name.
    pub fn new(impact: &Impact<'_>, basis: &Basis<'_>, limits: &Limits<'_>) -> Self {
        let disruption_facts = DisruptionFacts::of(impact, basis);
        let assessed = Assessed::new(impact, &disruption_facts, basis, limits);
        let proposed: Vec<_> = impact.rules.iter().map(|rule| rule.proposed).collect();
        let completeness = &assessed.completeness;
        let pods: Vec<_> = assessed
            .pods
            .iter()
            .map(|found| pod(found, &proposed, basis.now))
            .collect();
        let budgets: Vec<_> = disruption_facts
            .disruption
            .budgets
            .iter()
            .map(Budget::new)
            .collect();
        let mut devices = devices(impact, &proposed);
        // A pod or claim that was not read may keep any device: then no device gets a release time.
        let holders = [CountSubject::Pods, CountSubject::Allocated];
        if holders
            .iter()
            .all(|subject| completeness.is_complete(*subject))
        {
            note_freed(&mut devices, &pods, Time(basis.now));
            note_hardware_in_use(&mut devices, &assessed.assessment.siblings);
            note_selected_hardware_in_use(&mut devices, &basis.reading.snapshot, impact);
            let open = assessed.assessment.open_parts.keys();
            note_may_be_used(&mut devices, NotReleased::HardwareMayBeInUse, open);
            let offered = &assessed.assessment.plugin_devices;
            note_may_be_used(&mut devices, NotReleased::DevicePluginToo, offered);
            if assessed.assessment.totals.has_unknown_ends() {
                note_unknown_ends(&mut devices, &basis.reading.snapshot, impact, basis.now);
            }
        }
        let rules = impact.rules.iter();
        let taints: Vec<_> = rules
            .map(|rule| taint(rule, basis.semantics, completeness))
            .collect();
        let assessment = assessed.assessment;
        // This defect comes with any rule, so that it concerns only a preview that proposes one.
        let defect = defects::of_rules(Some(basis.semantics.version));
        let defect = defect.filter(|_| !proposed.is_empty());
        let found = [&assessment.hardware_warnings[..], defect.as_slice()].concat();
        let reading = basis.reading;
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ImpactReport".to_owned(),
            metadata: Metadata::new(basis),
            incomplete: assessment.facts.gaps.iter().map(Incomplete::from).collect(),
            proposed_taints: taints,
            affected_pods: pods,
            selected_devices: devices,
            budgets,
            published_rules: Vec::new(),
            warnings: views(&[&reading.warnings, &impact.warnings, &found]),
            by_workload: false,
            assessment,
        }
    }

    /// True if a guard forbids the change.
    pub fn is_refused(&self) -> bool {
        self.assessment.guards.iter().any(|guard| guard.tripped)
    }
}

fn taint(
    rule: &RuleImpact<'_>,
    semantics: &Semantics,
    completeness: &ReportCompleteness<'_>,
) -> TaintImpact {
    let proposed = rule.proposed;
    let counts = TaintCounts::of(rule, completeness);
    // The counts of another effect are not those that the controller previews.
    let previews = proposed.taint.effect.evicts();
    let exact = counts.is_exact();
    let missing = || {
        let subjects = [
            CountSubject::Published,
            CountSubject::Allocated,
            CountSubject::Pods,
        ];
        format!(
            "unknown, because this data could not be read: {}",
            completeness.missing(&subjects)
        )
    };
    TaintImpact {
        rule: proposed.rule.as_ref().map(ToString::to_string),
        selector: proposed.selector.clone(),
        selector_scope: engine::SelectorScope::of(
            proposed.selector.as_ref(),
            &proposed.taint.effect,
            semantics,
        ),
        controller_message: (previews && exact)
            .then(|| engine::condition::preview_message(&rule.counts)),
        // The message contains the counts: with one of them unknown, it would not be the controller's word for word.
        controller_message_unknown: (previews && !exact).then(missing),
        taint: Taint::of_rule(
            &proposed.taint,
            proposed.rule.as_ref().map(ObjectName::as_str),
        ),
        counts,
    }
}

fn pod(found: &PodAssessment<'_>, proposed: &[&ProposedTaint], now: Timestamp) -> Pod {
    let (impact, pod) = (found.impact, found.impact.pod);
    let evict_at = found.evict_at();
    Pod {
        namespace: pod.name.namespace.to_string(),
        name: pod.name.name.to_string(),
        uid: pod.uid.to_string(),
        node: pod.node.as_ref().map(ToString::to_string),
        phase: pod.phase.as_str().to_owned(),
        outcome: found.outcome,
        eviction_time: evict_at.map(Time),
        evict_in_seconds: found.evict_in_seconds(now),
        causes: causes(impact, proposed),
        used_claims: used_claims(impact),
        owner: pod.controller.as_ref().map(Owner::from),
        workload: found.workload.as_ref().map(Owner::from),
        grace_period_seconds: pod.grace_period_seconds,
        budget_names: found.budgets.clone(),
        hazards: found.findings.iter().map(|found| found.hazard).collect(),
        severity: found.severity(),
        findings: found.findings.clone(),
        notes: rows::notes(impact, now),
        replacement_stays: impact.replacement_stays && pod.controller.is_some(),
    }
}

fn causes(impact: &PodImpact<'_>, proposed: &[&ProposedTaint]) -> Vec<Cause> {
    let view = |cause: &engine::Cause<'_>| Cause {
        taint: Taint::of_origin(cause.taint, cause.origin, proposed),
        device: cause.device.to_string(),
        eviction_time: Time(cause.at),
    };
    impact.causes.iter().map(view).collect()
}

fn used_claims(impact: &PodImpact<'_>) -> Vec<UsedClaim> {
    let view = |result: &&AllocationResult| AllocatedDevice {
        request: result.request.to_string(),
        device: result.device.to_string(),
        admin_access: result.admin_access,
    };
    impact
        .claims
        .iter()
        .map(|used| UsedClaim {
            name: used.claim.name.to_string(),
            allocations: used.results.iter().map(view).collect(),
        })
        .collect()
}

fn devices(impact: &Impact<'_>, proposed: &[&ProposedTaint]) -> Vec<Device> {
    let mut devices: Vec<_> = impact.devices.iter().collect();
    devices.sort_by(|left, right| left.id.cmp(&right.id));
    let devices = devices.into_iter();
    devices.map(|impact| device(impact, proposed)).collect()
}

fn device(impact: &DeviceImpact<'_>, proposed: &[&ProposedTaint]) -> Device {
    Device {
        device: impact.id.to_string(),
        node: impact.node.map(ToString::to_string),
        published: impact.published,
        claims: impact.claims.iter().map(|claim| (*claim).into()).collect(),
        taints: impact
            .taints
            .iter()
            .map(|present| Taint::present(present, proposed))
            .collect(),
        release_time: None,
        not_released_reason: None,
    }
}

impl DeviceBasis<'_> {
    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    pub fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        engine::selection(&self.reading.snapshot, proposed, self.semantics)
    }

    /// Devices whose pods the answer needs: the selected ones, and those of the same drivers where `guards`
    /// take a share of all pods that use them.
    pub fn devices_of_question(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> BTreeSet<DeviceId> {
        let selected = self.selected(proposed).devices;
        // Pods of whole drivers are read only where a guard takes a share of them: they may be most of the cluster's.
        if !guards.iter().any(Guard::needs_whole) {
            return selected;
        }
        let drivers: BTreeSet<&DriverName> = selected.iter().map(|id| &id.driver).collect();
        let claims = self.reading.snapshot.claims.iter();
        let results = claims
            .filter_map(|claim| claim.allocation.as_ref())
            .flat_map(|allocation| &allocation.results);
        let held = results.map(|result| &result.device);
        held.filter(|id| drivers.contains(&id.driver))
            .cloned()
            .collect()
    }
}

impl<'a> Basis<'a> {
    /// Impact of the `proposed` taints.
    pub fn impact(&self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        engine::preview(&self.reading.snapshot, proposed, self.now, self.semantics)
    }

    /// Leaves the pods that are `kept` out of the number that the user approves, in the report of these taints.
    pub fn agree_without(
        &self,
        report: &mut ImpactReport,
        proposed: &[ProposedTaint],
        kept: &BTreeSet<Uid>,
    ) {
        let mut impact = self.impact(proposed);
        impact.pods.retain(|pod| !kept.contains(&pod.pod.uid));
        let limits = Limits {
            guards: &[],
            wholes: Wholes::default(),
        };
        let disruption_facts = DisruptionFacts::of(&impact, self);
        let agreed = Assessed::new(&impact, &disruption_facts, self, &limits).assessment;
        report.assessment.totals.evicted_pod_count = agreed.totals.evicted_pod_count;
        report.assessment.consent = agreed.consent;
    }

    /// Report of the pods read that the `proposed` taints affect, and of the results of `guards`.
    pub fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        let snapshot = &self.reading.snapshot;
        let impact = engine::preview(snapshot, proposed, self.now, self.semantics);
        self.report_of(&impact, guards)
    }

    /// The report on the evictions of `pods` and no others, which use devices with the `proposed` taints.
    pub fn report_on(
        &self,
        pods: &BTreeSet<Uid>,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> ImpactReport {
        let mut impact = self.impact(proposed);
        impact.evict_only(pods, self.now);
        self.report_of(&impact, guards)
    }

    fn report_of(&self, impact: &Impact<'_>, guards: &[Guard]) -> ImpactReport {
        let snapshot = &self.reading.snapshot;
        let usage = engine::usage(snapshot, &engine::drivers_of(impact));
        let wholes = Wholes {
            pods: usage.pods,
            devices: usage.devices,
        };
        ImpactReport::new(impact, self, &Limits { guards, wholes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::engine::testing::{claim_in_use, now, pod, proposed, reading, semantics};
    use crate::model::Count;
    use crate::report::testing;
    use crate::report::testing::Example;

    #[test]
    fn every_thing_is_counted_once() {
        let summary = &serde_json::to_value(Example::new().report()).unwrap()["summary"];
        let expected = serde_json::json!({
            "deviceCount": 1,
            "claimCount": 6,
            "evictedPodCount": 3,
            "evictedNowPodCount": 1,
            "evictedLaterPodCount": 2,
            "toleratingPodCount": 1,
            "terminatingPodCount": 1,
            "notEvictedPodCount": 1,
            "criticalPodCount": 0,
            "unmanagedPodCount": 1,
            "namespaceCount": 2,
            "nodeCount": 1,
            // Two pods of one ReplicaSet, and a bare pod.
            "workloadCount": 2,
            "violatedBudgetCount": 0,
            "downWorkloadCount": 0,
            "severities": {"okPodCount": 0, "noticePodCount": 2, "warningPodCount": 1, "dangerPodCount": 0},
            "unplaceableClaimCount": 0,
            "availableDeviceCount": 0,
            "classDeviceCount": 0,
            "firstEvictionTime": Time(testing::now()),
            "lastEvictionTime": Time(testing::after(9_000)),
        });
        assert_eq!(*summary, expected);
    }

    #[test]
    fn an_eviction_that_is_overdue_happens_now_and_tells_since_when() {
        let pod = testing::pod("team-a", "train-0");
        let impact = testing::impact(vec![testing::evicted(&pod, -30)]);
        let reading = testing::reading();
        let semantics = testing::semantics(37);
        let basis = Basis::new(&reading, &semantics, testing::now());
        let report = ImpactReport::new(&impact, &basis, &Limits::default());
        let view = &report.affected_pods[0];
        assert_eq!(view.outcome, Outcome::EvictedNow);
        assert_eq!(view.evict_in_seconds, Some(-30));
        assert_eq!(view.eviction_time, Some(Time(testing::after(-30))));
    }

    #[test]
    fn equal_warnings_of_reading_and_engine_are_one() {
        let warning = crate::model::Warning {
            code: "duplicate-device",
            message: "gpu-0 is published twice".to_owned(),
            fix: None,
        };
        let mut example = Example::new();
        example.reading.warnings = vec![warning.clone(), warning];
        assert_eq!(example.report().warnings.len(), 1);
    }

    #[test]
    fn pods_that_stay_are_no_part_of_the_number_that_is_agreed_to() {
        let mut reading = reading();
        for (namespace, name) in [("team-a", "web"), ("monitoring", "monitor")] {
            let mut pod = pod(namespace, name);
            let claim = claim_in_use(&pod);
            pod.claims = testing::uses(claim.name.name.as_str());
            reading.snapshot.claims.push(claim);
            reading.snapshot.pods.push(pod);
        }
        let (semantics, proposed) = (semantics(37), [proposed(None)]);
        let basis = Basis::new(&reading, &semantics, now());
        let mut report = basis.report(&proposed, &[]);
        assert_eq!(
            report.assessment.totals.evicted_pod_count.0,
            Count::known(2)
        );
        let kept = [reading.snapshot.pods[1].uid.clone()].into();
        basis.agree_without(&mut report, &proposed, &kept);
        assert_eq!(
            report.assessment.totals.evicted_pod_count.0,
            Count::known(1)
        );
    }
}
