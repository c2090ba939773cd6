//! How is an impact report made from the verdicts?

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::arrangement::Arrangement;
use super::budgets::Budget;
use super::digest::{digest, hardware_digest};
use super::findings::{Evidence, severity_of};
use super::freed::note_freed;
use super::note::{self, NoteCode};
use super::replacements::Replacements;
use super::siblings::Sibling;
use super::stakes::Stakes;
use super::summary::{Parts, bounds, summary};
use super::view::{
    AllocatedDevice, Cause, Claim, Counts, Device, ImpactMetadata, ImpactReport, Outcome, Owner,
    Pod, Selector, TaintImpact, Workload,
};
use crate::engine::{
    self, ConsideredTaint, Defect, DeviceImpact, Impact, PodImpact, RuleImpact, Semantics, Verdict,
};
use crate::model::{AllocationResult, DeviceSelector, Gap, Kind, Reading};
use crate::report::answer;
use crate::report::count::{Bounds, Count};
use crate::report::defects;
use crate::report::guard::{Guard, GuardResult, Wholes};
use crate::report::knowledge::{Knowledge, Subject};
use crate::report::metadata::{API_VERSION, Affects, Basis, Incomplete, Metadata, Warning, views};
use crate::report::policy::Violation;
use crate::report::taint::{PresentTaint, Taint, source_of};
use crate::report::time::Time;

/// How much may be hit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// The guards, in the order in which they were given.
    pub guards: &'a [Guard],
    /// What their percentages are taken of.
    pub wholes: Wholes,
}

impl ImpactReport {
    /// The report of an answer; pods and devices are ordered by name.
    #[must_use]
    pub fn new(impact: &Impact<'_>, basis: &Basis<'_>, limits: &Limits<'_>) -> Self {
        let considered: Vec<_> = impact.rules.iter().map(|rule| rule.considered).collect();
        let mut impacts: Vec<_> = impact.pods.iter().collect();
        impacts.sort_by(|left, right| {
            (&left.pod.name, &left.pod.uid).cmp(&(&right.pod.name, &right.pod.uid))
        });
        let reading = basis.reading;
        let disruption = engine::disruption(impact, &reading.snapshot.budgets, basis.now);
        let workloads = engine::workloads(impact, reading);
        let (replacements, unplaced) = Replacements::of(impact, basis);
        let siblings = Sibling::of(impact, basis);
        let stakes = Stakes {
            disruption: &disruption,
            workloads: &workloads,
            replacements: &replacements,
            siblings: &siblings,
        };
        let evidence = Evidence::new(impact, reading, &stakes, basis.now);
        let evicts = impacts.iter().any(|pod| is_evicted(pod));
        let unread = unread(impact, reading);
        let pods: Vec<_> = impacts
            .iter()
            .map(|impact| pod(impact, &considered, &evidence, basis.now))
            .collect();
        let budgets: Vec<_> = disruption.budgets.iter().map(Budget::new).collect();
        let lost: Vec<_> = workloads.workloads.iter().map(Workload::new).collect();
        let mut devices = devices(impact, &considered);
        let gaps = reading.gaps.iter().chain(&impact.gaps);
        let gaps = gaps.filter(|gap| evicts || !is_about_evictions(gap));
        let gaps = gaps
            .chain(&disruption.gaps)
            .chain(&workloads.gaps)
            .chain(&unread)
            .chain(&unplaced);
        let knowledge = Knowledge::new(gaps, basis.semantics);
        let holders = [Subject::Pods, Subject::Allocated];
        if holders
            .iter()
            .all(|subject| knowledge.is_complete(*subject))
        {
            note_freed(&mut devices, &pods, Time(basis.now));
        }
        let taints: Vec<_> = impact
            .rules
            .iter()
            .map(|rule| taint(rule, basis.semantics, &knowledge))
            .collect();
        let of_rules = defects::of_rules(Some(basis.semantics.version));
        let mut defects = defects::of_impact(impact, basis.semantics);
        defects.extend(of_rules.filter(|_| !considered.is_empty()));
        let mut summary = summary(&Parts {
            pods: &pods,
            devices: &devices,
            budgets: &budgets,
            workloads: &lost,
            replacements: &replacements,
        });
        let parts = (taints.as_slice(), &replacements);
        summary.bounds = bounds(&summary, parts, &knowledge, workloads.down().1);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ImpactReport".to_owned(),
            metadata: ImpactMetadata {
                origin: Metadata::new(basis),
                digest: digest(&taints, &pods, &devices),
                hardware_digest: hardware_digest(&taints, &devices),
            },
            guards: limits
                .guards
                .iter()
                .map(|guard| guard.evaluate(&summary, &limits.wholes, &knowledge))
                .collect(),
            incomplete: incomplete(&taints, &knowledge),
            taints,
            summary,
            pods,
            devices,
            budgets,
            workloads: lost,
            replacements,
            siblings,
            published: Vec::new(),
            violations: Vec::new(),
            warnings: views(&[&reading.warnings, &impact.warnings, &defects]),
            arrangement: Arrangement::default(),
        }
    }

    /// The report with what identifies the hardware of those of its devices that are named one by one,
    /// by DRIVER/POOL/DEVICE.
    #[must_use]
    pub fn with_identities(
        mut self,
        identities: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Self {
        for device in &mut self.devices {
            device.identity = identities.get(&device.device).cloned().unwrap_or_default();
        }
        self.metadata.digest = digest(&self.taints, &self.pods, &self.devices);
        self.metadata.hardware_digest = hardware_digest(&self.taints, &self.devices);
        self
    }

    /// Whether a guard or a policy forbids the change.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.guards.iter().any(|guard| guard.tripped) || !self.violations.is_empty()
    }

    /// The tripped guards in one line, each with why when its value is not known, and what policies
    /// forbid; absent when nothing speaks against the change.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let tripped = self.guards.iter().filter(|guard| guard.tripped);
        let reasons: Vec<String> = tripped.map(GuardResult::reason).collect();
        let guards =
            (!reasons.is_empty()).then(|| format!("guard tripped: {}", reasons.join("; ")));
        let forbidden = self.violations.iter().map(Violation::line);
        let all: Vec<String> = guards.into_iter().chain(forbidden).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What keeps it from being known who is evicted, one line each; empty when that is known.
    #[must_use]
    pub fn unknown_evictions(&self) -> Vec<String> {
        let gaps = self.incomplete.iter();
        gaps.filter(|gap| gap.affects == Affects::Evictions)
            .map(Incomplete::line)
            .collect()
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
        self.refusal()
    }

    /// Why a pod stays stands beside it.
    fn says(&self, warning: &Warning) -> bool {
        let is_told = |note: NoteCode| {
            let mut notes = self.pods.iter().flat_map(|pod| &pod.notes);
            notes.any(|found| found.code == note.as_str())
        };
        let is = |defect: Defect| warning.code == defect.code();
        (is(Defect::ExtendedResourcesStay) && is_told(NoteCode::ExtendedResource))
            || (is(Defect::StaleReservationsHide) && is_told(NoteCode::HiddenByStaleReservation))
    }
}

fn taint(rule: &RuleImpact<'_>, semantics: &Semantics, knowledge: &Knowledge<'_>) -> TaintImpact {
    let considered = rule.considered;
    let taint = Taint::from(&considered.taint);
    let counts = counts(&rule.counts, &taint, knowledge);
    // The counts of another effect are not those that the controller previews.
    let previews = semantics.has_condition && taint.evicts();
    let exact = counts.bounds.is_empty();
    let missing = || {
        let subjects = [Subject::Published, Subject::Allocated, Subject::Pods];
        format!(
            "not known: its numbers depend on what is missing: {}",
            knowledge.missing(&subjects)
        )
    };
    TaintImpact {
        rule: considered.rule.as_ref().map(ToString::to_string),
        selector: considered.selector.as_ref().map(selector),
        reach: engine::Reach::of(
            considered.selector.as_ref(),
            &considered.taint.effect,
            semantics,
        )
        .into(),
        controller_message: (previews && exact)
            .then(|| engine::condition::preview_message(&rule.counts)),
        controller_message_unknown: (previews && !exact).then(missing),
        taint,
        counts,
    }
}

fn counts(counts: &engine::Counts, taint: &Taint, knowledge: &Knowledge<'_>) -> Counts {
    let evicted = |number| {
        if taint.evicts() {
            knowledge.count(Subject::Pods, number)
        } else {
            Count::known(number)
        }
    };
    let published = counts.published_devices;
    let allocated = counts.allocated_devices;
    Counts {
        published_devices: published,
        allocated_devices: allocated,
        pods: counts.pods,
        namespaces: counts.namespaces,
        bounds: Bounds::of(&[
            (
                "publishedDevices",
                knowledge.count(Subject::Published, published),
            ),
            (
                "allocatedDevices",
                knowledge.count(Subject::Allocated, allocated),
            ),
            ("pods", evicted(counts.pods)),
            ("namespaces", evicted(counts.namespaces)),
        ]),
    }
}

fn selector(selector: &DeviceSelector) -> Selector {
    Selector {
        driver: selector.driver.as_ref().map(ToString::to_string),
        pool: selector.pool.as_ref().map(ToString::to_string),
        device: selector.device.as_ref().map(ToString::to_string),
        device_class_name: selector.device_class.as_ref().map(ToString::to_string),
        expressions: selector.expressions.clone(),
        unknown_fields: selector.unknown_fields.clone(),
    }
}

fn is_evicted(impact: &PodImpact<'_>) -> bool {
    match impact.verdict {
        Verdict::Evicted { .. } => true,
        Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => false,
    }
}

/// What is missing. Who is evicted does not depend on it where nothing that is considered evicts.
fn incomplete(taints: &[TaintImpact], knowledge: &Knowledge<'_>) -> Vec<Incomplete> {
    let mut incomplete = Incomplete::all(knowledge);
    if !taints.iter().any(|impact| impact.taint.evicts()) {
        for gap in &mut incomplete {
            gap.affects = Affects::Details;
        }
    }
    incomplete
}

/// Whether something is missing that only says how badly an eviction hurts.
fn is_about_evictions(gap: &Gap) -> bool {
    let kind = gap.kind();
    let is_one_of = |kind: Kind| {
        kind == Kind::PodDisruptionBudget || kind == Kind::Node || Kind::WORKLOADS.contains(&kind)
    };
    kind.is_some_and(is_one_of) || gap.what == Gap::REPLACEMENTS
}

/// What is missing of an answer about evictions whose budgets and nodes nobody has read; nothing where
/// they were read, or where it is told already why they were not.
fn unread(impact: &Impact<'_>, reading: &Reading) -> Vec<Gap> {
    let mut evicted = impact.pods.iter().filter(|pod| is_evicted(pod)).peekable();
    if evicted.peek().is_none() {
        return Vec::new();
    }
    let has_node = evicted.any(|pod| pod.pod.node.is_some());
    let kinds = [Kind::PodDisruptionBudget].into_iter();
    let kinds = kinds.chain(has_node.then_some(Kind::Node));
    let is_told = |kind: Kind| reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
    kinds
        .filter(|kind| !is_told(*kind))
        .filter_map(|kind| reading.without(kind))
        .collect()
}

fn pod(
    impact: &PodImpact<'_>,
    considered: &[&ConsideredTaint],
    evidence: &Evidence<'_>,
    now: Timestamp,
) -> Pod {
    let pod = impact.pod;
    let (outcome, evict_at) = outcome(&impact.verdict, now);
    let findings = evidence.of(impact);
    Pod {
        namespace: pod.name.namespace.to_string(),
        name: pod.name.name.to_string(),
        uid: pod.uid.to_string(),
        node: pod.node.as_ref().map(ToString::to_string),
        phase: pod.phase.as_str().to_owned(),
        outcome,
        evict_at: evict_at.map(Time),
        evict_in_seconds: evict_at.map(|at| at.duration_since(now).as_secs()),
        causes: causes(impact, considered),
        claims: claims(impact),
        owner: pod.controller.as_ref().map(|controller| Owner {
            kind: controller.kind.to_string(),
            name: controller.name.to_string(),
        }),
        workload: evidence.workload(pod).map(|owner| Owner {
            kind: owner.kind.to_string(),
            name: owner.name.to_string(),
        }),
        qos_class: pod
            .qos_class
            .as_ref()
            .map(|class| class.as_str().to_owned()),
        priority: pod.priority,
        priority_class_name: pod.priority_class_name.to_string(),
        grace_period_seconds: pod.grace_period_seconds,
        budgets: evidence.budgets(pod),
        hazards: findings.iter().map(|found| found.code.clone()).collect(),
        severity: severity_of(&findings),
        findings,
        notes: note::notes(impact, now),
    }
}

fn outcome(verdict: &Verdict, now: Timestamp) -> (Outcome, Option<Timestamp>) {
    match verdict {
        Verdict::Evicted { at } if *at <= now => (Outcome::EvictedNow, Some(*at)),
        Verdict::Evicted { at } => (Outcome::EvictedLater, Some(*at)),
        Verdict::Tolerates => (Outcome::Tolerates, None),
        Verdict::Terminating => (Outcome::Terminating, None),
        Verdict::NotEvicted(_) => (Outcome::NotEvicted, None),
    }
}

fn causes(impact: &PodImpact<'_>, considered: &[&ConsideredTaint]) -> Vec<Cause> {
    let view = |cause: &engine::Cause<'_>| {
        let (source, name) = source_of(cause.origin, considered);
        Cause {
            source,
            name,
            device: cause.device.to_string(),
            key: cause.taint.key.clone(),
            value: cause.taint.value.clone(),
            effect: cause.taint.effect.to_string(),
            at: Time(cause.at),
        }
    };
    impact.causes.iter().map(view).collect()
}

fn claims(impact: &PodImpact<'_>) -> Vec<Claim> {
    let view = |result: &&AllocationResult| AllocatedDevice {
        request: result.request.to_string(),
        device: result.device.to_string(),
        admin_access: result.admin_access,
    };
    impact
        .claims
        .iter()
        .map(|used| Claim {
            name: used.claim.name.to_string(),
            devices: used.results.iter().map(view).collect(),
        })
        .collect()
}

fn devices(impact: &Impact<'_>, considered: &[&ConsideredTaint]) -> Vec<Device> {
    let mut devices: Vec<_> = impact.devices.iter().collect();
    devices.sort_by(|left, right| left.id.cmp(&right.id));
    let devices = devices.into_iter();
    devices.map(|impact| device(impact, considered)).collect()
}

fn device(impact: &DeviceImpact<'_>, considered: &[&ConsideredTaint]) -> Device {
    Device {
        device: impact.id.to_string(),
        node: impact.node.map(ToString::to_string),
        published: impact.published,
        identity: BTreeMap::new(),
        claims: impact
            .claims
            .iter()
            .map(|claim| claim.name.to_string())
            .collect(),
        taints: impact
            .taints
            .iter()
            .map(|present| PresentTaint::new(present, considered))
            .collect(),
        free_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::impact::{Note, Severities, Summary};
    use crate::report::testing::{self, Example};

    #[test]
    fn every_thing_is_counted_once() {
        let expected = Summary {
            devices: 1,
            claims: 6,
            pods: 3,
            pods_now: 1,
            pods_later: 2,
            pods_tolerating: 1,
            pods_terminating: 1,
            pods_not_evicted: 1,
            pods_critical: 0,
            pods_unmanaged: 1,
            namespaces: 2,
            nodes: 1,
            // Two pods of one ReplicaSet, and a bare pod.
            workloads: 2,
            budgets_violated: 0,
            workloads_down: 0,
            severities: Severities {
                notice: 2,
                warning: 1,
                ..Severities::default()
            },
            claims_unplaceable: 0,
            devices_available: 0,
            devices_of_class: 0,
            first_eviction: Some(Time(testing::now())),
            last_eviction: Some(Time(testing::after(9_000))),
            bounds: Vec::new(),
        };
        assert_eq!(Example::new().report().summary, expected);
    }

    #[test]
    fn pods_are_ordered_by_namespace_and_name() {
        let report = Example::new().report();
        let names: Vec<_> = report.pods.iter().map(|pod| pod.name.as_str()).collect();
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
        let basis = Basis {
            reading: &reading,
            semantics: &testing::semantics(37),
            now: testing::now(),
        };
        let report = ImpactReport::new(&impact, &basis, &Limits::default());
        let view = &report.pods[0];
        assert_eq!(view.outcome, Outcome::EvictedNow);
        assert_eq!(view.evict_in_seconds, Some(-30));
        assert_eq!(view.evict_at, Some(Time(testing::after(-30))));
    }

    #[test]
    fn a_pod_that_stays_has_no_time() {
        let report = Example::new().report();
        let stays = report
            .pods
            .iter()
            .find(|pod| pod.name == "queued-0")
            .unwrap();
        assert_eq!((stays.evict_at, stays.evict_in_seconds), (None, None));
        let note = Note {
            code: "not-scheduled".to_owned(),
            message: "has no node yet".to_owned(),
        };
        assert_eq!(stays.notes, [note]);
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
