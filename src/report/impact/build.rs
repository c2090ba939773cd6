//! Construction of an impact report from verdicts.

use jiff::Timestamp;

use super::budgets::Budget;
use super::finding::Finding;
use super::note::{self, NoteCode};
use super::published::Published;
use super::release_time::{
    note_freed, note_hardware_in_use, note_open_parts, note_plugin_devices,
    note_selected_hardware_in_use, note_unknown_ends,
};
use super::replacements::Replacements;
use super::siblings::Sibling;
use super::view::{
    AllocatedDevice, Cause, Counts, Device, ImpactReport, Pod, Selector, Summary, TaintImpact,
    UsedClaim, Workload,
};
use crate::assess::defects;
use crate::assess::{
    Assessed, Assessment, Basis, CountSubject, DisruptionFacts, Limits, PodAssessment,
    ReportCompleteness, TaintCounts,
};
use crate::decide::publish::{ControllerAnswer, OtherTreatment};
use crate::engine::{
    self, Defect, DeviceImpact, Impact, PodImpact, ProposedTaint, RuleImpact, Semantics,
};
use crate::model::{AllocationResult, ObjectName};
use crate::report::answer;
use crate::report::bounds::Bounds;
use crate::report::casing::pascal_case;
use crate::report::guard::GuardResult;
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use crate::report::reference::Owner;
use crate::report::taint::Taint;
use crate::report::time::Time;

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
            note_open_parts(&mut devices, &assessed.assessment.open_parts);
            note_plugin_devices(&mut devices, &assessed.assessment.plugin_devices);
            if assessed.assessment.totals.has_unknown_ends() {
                note_unknown_ends(&mut devices, &basis.reading.snapshot, impact, basis.now);
            }
        }
        let rules = impact.rules.iter();
        let taints: Vec<_> = rules
            .map(|rule| taint(rule, basis.semantics, completeness))
            .collect();
        let of_rules = defects::of_rules(Some(basis.semantics.version));
        let mut defects = defects::of_impact(impact, basis.semantics);
        let assessment = assessed.assessment;
        defects.extend_from_slice(&assessment.hardware_warnings);
        // This defect comes with any rule, so that it concerns only a preview that proposes one.
        defects.extend(of_rules.filter(|_| !proposed.is_empty()));
        let reading = basis.reading;
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ImpactReport".to_owned(),
            metadata: Metadata::new(basis),
            guard_results: assessment.guards.iter().map(GuardResult::from).collect(),
            incomplete: assessment.facts.gaps.iter().map(Incomplete::from).collect(),
            proposed_taints: taints,
            summary: Summary::from(&assessment.totals),
            affected_pods: pods,
            selected_devices: devices,
            budgets,
            workloads: disruption_facts
                .workloads
                .workloads
                .iter()
                .map(Workload::new)
                .collect(),
            replacements: Replacements::from(&assessment.replacements),
            siblings: assessment.siblings.iter().map(Sibling::from).collect(),
            published_rules: Vec::new(),
            answers: Vec::new(),
            warnings: views(&[&reading.warnings, &impact.warnings, &defects]),
            by_workload: false,
            assessment,
        }
    }

    /// Adds the controller's messages about its taints, in their order.
    pub fn set_answers(&mut self, answers: Vec<ControllerAnswer>) {
        self.published_rules = answers.iter().map(Published::from).collect();
        self.answers = answers;
    }

    /// Messages of the controller for each taint if it treated pods with extended resources as in `other`.
    pub fn other_treatment(&self, other: &Self) -> Vec<OtherTreatment> {
        let taints = self.proposed_taints.iter().zip(&other.proposed_taints);
        let other = taints.map(|(here, there)| OtherTreatment {
            message: there.controller_message.clone(),
            evicts_more: there.counts.evicted_pod_count > here.counts.evicted_pod_count,
        });
        other.collect()
    }

    /// The written fields: inputs of the report are in no document.
    #[must_use]
    pub fn as_written(mut self) -> Self {
        self.assessment = Assessment::default();
        self.answers.clear();
        for taint in &mut self.proposed_taints {
            taint.counts.known = TaintCounts::default();
        }
        self
    }

    /// True if a guard forbids the change.
    pub fn is_refused(&self) -> bool {
        self.assessment.guards.iter().any(|guard| guard.tripped)
    }
}

impl answer::Answer for ImpactReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn refusal(&self) -> Option<String> {
        self.assessment.tripped()
    }

    /// The reason to stay is beside the pod.
    fn mentions(&self, warning: &Warning) -> bool {
        let is_told = |note: NoteCode| {
            let mut notes = self.affected_pods.iter().flat_map(|pod| &pod.notes);
            notes.any(|found| found.reason == note.reason())
        };
        let is = |defect: Defect| warning.reason == pascal_case(defect.code());
        (is(Defect::ExtendedResourcesStay) && is_told(NoteCode::ExtendedResource))
            || (is(Defect::StaleReservationsHide) && is_told(NoteCode::HiddenByStaleReservation))
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
        selector: proposed.selector.as_ref().map(Selector::from),
        selector_scope: engine::SelectorScope::of(
            proposed.selector.as_ref(),
            &proposed.taint.effect,
            semantics,
        )
        .into(),
        controller_message: (previews && exact)
            .then(|| engine::condition::preview_message(&rule.counts)),
        // The message contains the counts: with one of them unknown, it would not be the controller's word for word.
        controller_message_unknown: (previews && !exact).then(missing),
        taint: Taint::of_rule(
            &proposed.taint,
            proposed.rule.as_ref().map(ObjectName::as_str),
        ),
        counts: counts.into(),
    }
}

impl From<TaintCounts> for Counts {
    fn from(counts: TaintCounts) -> Self {
        Self {
            published_device_count: counts.published_devices.counted(),
            allocation_count: counts.allocated_devices.counted(),
            evicted_pod_count: counts.pods.counted(),
            namespace_count: counts.namespaces.counted(),
            bounds: Bounds::of(&[
                ("publishedDeviceCount", counts.published_devices),
                ("allocationCount", counts.allocated_devices),
                ("evictedPodCount", counts.pods),
                ("namespaceCount", counts.namespaces),
            ]),
            known: counts,
        }
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
        qos_class: pod
            .qos_class
            .as_ref()
            .map(|class| class.as_str().to_owned()),
        priority: pod.priority,
        priority_class_name: pod.priority_class_name.to_string(),
        grace_period_seconds: pod.grace_period_seconds,
        budget_names: found.budgets.clone(),
        hazards: found
            .findings
            .iter()
            .map(|found| found.hazard.into())
            .collect(),
        severity: found.severity(),
        findings: found.findings.iter().map(Finding::from).collect(),
        notes: note::notes(impact, now),
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
        release_time_if_running: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::report::impact::{Severities, Summary};
    use crate::report::testing::{self, Example};

    #[test]
    fn every_thing_is_counted_once() {
        let expected = Summary {
            device_count: 1,
            claim_count: 6,
            evicted_pod_count: 3,
            evicted_now_pod_count: 1,
            evicted_later_pod_count: 2,
            tolerating_pod_count: 1,
            terminating_pod_count: 1,
            not_evicted_pod_count: 1,
            critical_pod_count: 0,
            unmanaged_pod_count: 1,
            namespace_count: 2,
            node_count: 1,
            // Two pods of one ReplicaSet, and a bare pod.
            workload_count: 2,
            violated_budget_count: 0,
            down_workload_count: 0,
            severities: Severities {
                notice_pod_count: 2,
                warning_pod_count: 1,
                ..Severities::default()
            },
            unplaceable_claim_count: 0,
            available_device_count: 0,
            class_device_count: 0,
            first_eviction_time: Some(Time(testing::now())),
            last_eviction_time: Some(Time(testing::after(9_000))),
            bounds: Vec::new(),
        };
        assert_eq!(Example::new().report().summary, expected);
    }

    #[test]
    fn pods_are_ordered_by_namespace_and_name() {
        let report = Example::new().report();
        let names: Vec<_> = report
            .affected_pods
            .iter()
            .map(|pod| pod.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "infer-0", "old-0", "queued-0", "train-0", "train-1", "bare-0"
            ]
        );
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
    fn a_pod_that_stays_has_no_time() {
        let report = Example::new().report();
        let stays = report
            .affected_pods
            .iter()
            .find(|pod| pod.name == "queued-0")
            .unwrap();
        assert_eq!((stays.eviction_time, stays.evict_in_seconds), (None, None));
        assert_eq!(stays.notes[0].reason, "NotScheduled");
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
}
