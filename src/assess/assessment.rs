//! Consequences of verdicts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::availability::{device_plugin_warning, device_plugins, open_parts_warning};
use super::completeness::{Basis, ReportCompleteness};
use super::consent::{Consent, consent};
use super::evidence::HazardEvidence;
use super::guard::{GuardOutcome, Limits, Measured};
use super::hazard::{Finding, Hazard, findings, severity_of};
use super::replacements::{Replacements, Sibling};
use super::totals::{DisruptionFacts, Tally, Totals};
use crate::engine::inventory::open_parts;
use crate::engine::{Cause, Impact, Origin, PodImpact, ProposedTaint, Verdict};
use crate::model::{
    Affects, Controller, DeviceId, Effect, Gap, Kind, NamespacedName, ObjectName, Uid, Warning,
};

/// Consequences of verdicts, the basis of decisions.
///
/// Without anything to assess, nothing is known: no count is zero, and a change needs the strictest approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// Counts over all proposed taints; each object is counted once.
    #[serde(rename = "summary")]
    pub totals: Totals,
    /// The effects of the considered taints, each once where it follows itself.
    #[serde(skip)]
    pub effects: Vec<Effect>,
    /// Affected pods, as the user approves them.
    #[serde(skip)]
    pub facts: ImpactFacts,
    /// The guards that were given, and whether each tripped.
    #[serde(rename = "guardResults")]
    pub guards: Vec<GuardOutcome>,
    /// Approval that the change needs.
    #[serde(skip)]
    pub consent: Consent,
    /// Reallocation of the claims of evicted pods.
    pub replacements: Replacements,
    /// Devices that share hardware with a selected device and stay in use, each with its pods that would not be
    /// evicted. Ordered by name.
    pub siblings: Vec<Sibling>,
    /// The partitions of each selected device on which pods can still be scheduled.
    #[serde(skip)]
    pub open_parts: BTreeMap<DeviceId, BTreeSet<DeviceId>>,
    /// The devices that a device plugin may offer, too.
    #[serde(skip)]
    pub plugin_devices: BTreeSet<DeviceId>,
    /// Warnings about ways to the same hardware that the taints do not close.
    #[serde(skip)]
    pub hardware_warnings: Vec<Warning>,
}

impl Assessment {
    /// The tripped guards in one line, each with why when its value is not known; absent when none tripped.
    pub fn tripped(&self) -> Option<String> {
        let tripped = self.guards.iter().filter(|guard| guard.tripped);
        let reasons: Vec<String> = tripped.map(GuardOutcome::reason).collect();
        (!reasons.is_empty()).then(|| format!("guard tripped: {}", reasons.join("; ")))
    }
}

/// An assessment and its inputs.
pub struct Assessed<'a> {
    /// The pods, by namespace and name.
    pub pods: Vec<PodAssessment<'a>>,
    /// Missing data.
    pub completeness: ReportCompleteness<'a>,
    /// Consequences.
    pub assessment: Assessment,
}

impl<'a> Assessed<'a> {
    /// Assesses the verdicts of `impact`, with the `disruption_facts` of others, for these `limits`.
    pub fn new(
        impact: &'a Impact<'a>,
        disruption_facts: &'a DisruptionFacts<'a>,
        basis: &Basis<'a>,
        limits: &Limits<'_>,
    ) -> Self {
        let completeness = ReportCompleteness::new(gaps(impact, disruption_facts, basis));
        let evidence = HazardEvidence::new(impact, basis.reading, disruption_facts, basis.now);
        let mut impacts: Vec<_> = impact.pods.iter().collect();
        // By name and UID: while a pod terminates, its successor of the same name may exist.
        impacts.sort_by_key(|impact| (&impact.pod.name, &impact.pod.uid));
        let pods: Vec<_> = impacts
            .into_iter()
            .map(|impact| PodAssessment::new(impact, &evidence, basis.now))
            .collect();
        let tally = Tally {
            impact,
            pods: &pods,
            disruption_facts,
            completeness: &completeness,
        };
        let totals = tally.totals();
        let measured = Measured {
            tally: &tally,
            totals: &totals,
            wholes: &limits.wholes,
        };
        let guards = limits.guards.iter();
        let rules = impact.rules.iter();
        let mut effects: Vec<_> = rules
            .map(|rule| rule.proposed.taint.effect.clone())
            .collect();
        effects.dedup();
        let selected: BTreeSet<&DeviceId> =
            impact.devices.iter().map(|device| &device.id).collect();
        let snapshot = &basis.reading.snapshot;
        let open_parts = open_parts(snapshot, &selected, basis.semantics);
        let plugins = device_plugins(impact, &snapshot.nodes);
        let warnings = [
            open_parts_warning(&open_parts),
            device_plugin_warning(&plugins),
        ];
        let assessment = Assessment {
            facts: ImpactFacts::of(impact, &pods, &completeness, basis),
            guards: guards.map(|guard| guard.evaluate(&measured)).collect(),
            consent: consent(&tally, &totals, basis.semantics),
            replacements: disruption_facts.replacements.clone(),
            siblings: disruption_facts.siblings.clone(),
            hardware_warnings: warnings.into_iter().flatten().collect(),
            plugin_devices: plugins.into_keys().collect(),
            open_parts,
            effects,
            totals,
        };
        Self {
            pods,
            completeness,
            assessment,
        }
    }
}

/// Gaps of an answer. Those that concern only the harm of evictions are left out where nothing evicts.
fn gaps<'a>(
    impact: &'a Impact<'a>,
    disruption_facts: &'a DisruptionFacts<'a>,
    basis: &Basis<'a>,
) -> impl Iterator<Item = &'a Gap> {
    let evicts = impact.pods.iter().any(|pod| pod.is_evicted());
    let gaps = basis
        .reading
        .gaps
        .iter()
        // Where no pod is evicted, budgets and replacements decide nothing, so their absence leaves no number
        // open.
        .filter(move |gap| evicts || !is_about_evictions(gap));
    gaps.chain(disruption_facts.gaps())
}

/// True if the gap concerns only the harm of evictions.
fn is_about_evictions(gap: &Gap) -> bool {
    let kind = gap.kind();
    let is_one_of = |kind: Kind| {
        let others = [
            Kind::PodDisruptionBudget,
            Kind::Node,
            Kind::ResourceClaimTemplate,
        ];
        others.contains(&kind) || Kind::WORKLOADS.contains(&kind)
    };
    kind.is_some_and(is_one_of) || gap.what == Gap::REPLACEMENTS
}

/// A pod, its outcome, and its hazards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodAssessment<'a> {
    /// The pod with its verdict.
    pub impact: &'a PodImpact<'a>,
    /// Outcome for the pod.
    pub outcome: Outcome,
    /// Its hazards, in the order of [`Hazard::ALL`].
    pub findings: Vec<Finding>,
    /// The top of its owners, where all between is known.
    pub workload: Option<Controller>,
    /// Names of the disruption budgets that are about it.
    pub budgets: Vec<String>,
}

impl<'a> PodAssessment<'a> {
    /// Of a pod, at the moment `now`.
    pub(super) fn new(
        impact: &'a PodImpact<'a>,
        evidence: &HazardEvidence<'_>,
        now: Timestamp,
    ) -> Self {
        Self {
            impact,
            outcome: Outcome::of(&impact.verdict, now),
            findings: findings(evidence, impact),
            workload: evidence.workload(impact.pod).cloned(),
            budgets: evidence.budgets(impact.pod),
        }
    }

    /// True if the pod has that hazard.
    pub fn has(&self, hazard: Hazard) -> bool {
        self.findings.iter().any(|found| found.hazard == hazard)
    }

    /// The worst of its hazards.
    pub fn severity(&self) -> Severity {
        severity_of(&self.findings)
    }

    /// When it would be evicted; in the past means at once.
    pub fn evict_at(&self) -> Option<Timestamp> {
        match self.impact.verdict {
            Verdict::Evicted { at } => Some(at),
            Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => None,
        }
    }

    /// In how many seconds it would be evicted, counted from `now`; zero or less means at once.
    pub fn evict_in_seconds(&self, now: Timestamp) -> Option<i64> {
        // Of whole seconds, as times are written: readers who subtract two of them come to the same number.
        let seconds = |at: Timestamp| at.as_second().saturating_sub(now.as_second());
        self.evict_at().map(seconds)
    }

    /// Namespace, kind and name of what would create it again, or of itself.
    pub(super) fn top_owner(&self) -> (&str, &str, &str) {
        let pod = self.impact.pod;
        // Where the owners above it are not all known, the pod's own controller stands for them.
        let owner = self.workload.as_ref().or(pod.controller.as_ref());
        let (kind, name) = match owner {
            Some(owner) => (&*owner.kind, owner.name.as_str()),
            None => ("Pod", pod.name.name.as_str()),
        };
        (pod.name.namespace.as_str(), kind, name)
    }
}

/// Pods that proposed taints affect, on which hardware, and the gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpactFacts {
    /// The proposed taints, in the order of the question.
    pub taints: Vec<ProposedTaint>,
    /// Every pod that uses a selected device, by namespace and name.
    pub pods: Vec<PodFacts>,
    /// Every selected device, as DRIVER/POOL/DEVICE, by name.
    pub devices: Vec<String>,
    /// Data that could not be read or evaluated, in the order in which it was met.
    pub gaps: Vec<Gap>,
}

/// A pod, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Name of the pod.
    pub name: NamespacedName,
    /// UID of the pod.
    pub uid: Uid,
    /// Outcome for the pod.
    pub outcome: Outcome,
    /// When it would be evicted; a time in the past means at once.
    pub eviction_time: Option<Timestamp>,
    /// In how many seconds it would be evicted, counted from when that was found.
    pub evict_in_seconds: Option<i64>,
    /// The rule whose taint evicts it first; absent for a driver's taint, and for a rule that is not there yet.
    pub first_rule: Option<ObjectName>,
}

impl ImpactFacts {
    /// Collects the facts of an impact as it was assessed.
    pub(super) fn of(
        impact: &Impact<'_>,
        pods: &[PodAssessment<'_>],
        completeness: &ReportCompleteness<'_>,
        basis: &Basis<'_>,
    ) -> Self {
        let proposed: Vec<&ProposedTaint> = impact.rules.iter().map(|rule| rule.proposed).collect();
        // Evicted pods do not depend on missing data where no considered taint evicts.
        let evicts = proposed.iter().any(|taint| taint.taint.effect.evicts());
        let gap = |gap: &Gap| Gap {
            affects: match gap.affects {
                Affects::Evictions if !evicts => Affects::Details,
                affects @ (Affects::Evictions | Affects::Details | Affects::Nothing) => affects,
            },
            ..gap.clone()
        };
        let pod = |found: &PodAssessment<'_>| PodFacts {
            name: found.impact.pod.name.clone(),
            uid: found.impact.pod.uid.clone(),
            outcome: found.outcome,
            eviction_time: found.evict_at(),
            evict_in_seconds: found.evict_in_seconds(basis.now),
            first_rule: found
                .impact
                .causes
                .first()
                .and_then(|cause| rule_of(cause, &proposed)),
        };
        let mut devices: Vec<_> = impact.devices.iter().map(|device| &device.id).collect();
        devices.sort();
        Self {
            pods: pods.iter().map(pod).collect(),
            devices: devices.into_iter().map(ToString::to_string).collect(),
            gaps: completeness.gaps().map(gap).collect(),
            taints: proposed.into_iter().cloned().collect(),
        }
    }

    /// The pods that are evicted, now or later.
    pub fn evicted(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.iter().filter(|pod| pod.outcome.is_evicted())
    }

    /// Gaps that keep the evicted pods from being known.
    pub fn decisive_gaps(&self) -> impl Iterator<Item = &Gap> {
        let gaps = self.gaps.iter();
        gaps.filter(|gap| gap.affects == Affects::Evictions)
    }

    /// As [`ImpactFacts::decisive_gaps`], one line each; empty when it is known who is evicted.
    pub fn unknown_evictions(&self) -> Vec<String> {
        let line = |gap: &Gap| format!("{}: {}", gap.what, gap.why);
        self.decisive_gaps().map(line).collect()
    }
}

/// The rule of the taint.
fn rule_of(cause: &Cause<'_>, proposed: &[&ProposedTaint]) -> Option<ObjectName> {
    match cause.origin {
        Origin::Proposed(index) => proposed.get(index)?.rule.clone(),
        Origin::Rule(name) => Some(name.clone()),
        Origin::ResourceSlice(_) => None,
    }
}

/// Outcome of a pod.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Outcome {
    /// The pod would be evicted at once.
    EvictedNow,
    /// The pod would be evicted when its toleration ends, or at the taint's timeAdded if that is in the
    /// future.
    EvictedLater,
    /// The pod uses a selected device and tolerates the proposed taints forever. An existing taint may still
    /// evict it: see `causes`.
    Tolerates,
    /// The pod is already terminating.
    Terminating,
    /// The pod refers to a claim with a selected device, but no proposed taint evicts it, for a reason other
    /// than a toleration: see `notes`. An existing taint may still evict it: see `causes`.
    NotEvicted,
}

impl Outcome {
    /// The outcome as it is spelled in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EvictedNow => "EvictedNow",
            Self::EvictedLater => "EvictedLater",
            Self::Tolerates => "Tolerates",
            Self::Terminating => "Terminating",
            Self::NotEvicted => "NotEvicted",
        }
    }

    /// True if a considered taint evicts the pod, now or later.
    pub fn is_evicted(self) -> bool {
        match self {
            Self::EvictedNow | Self::EvictedLater => true,
            Self::Tolerates | Self::Terminating | Self::NotEvicted => false,
        }
    }

    /// Outcome of the verdict at the moment `now`; overdue evictions happen at once.
    pub fn of(verdict: &Verdict, now: Timestamp) -> Self {
        match verdict {
            Verdict::Evicted { at } if *at <= now => Self::EvictedNow,
            Verdict::Evicted { .. } => Self::EvictedLater,
            Verdict::Tolerates => Self::Tolerates,
            Verdict::Terminating => Self::Terminating,
            Verdict::NotEvicted(_) => Self::NotEvicted,
        }
    }
}

/// Severity of the impact on a pod, in ascending order.
///
/// It is based on known data only, so the real severity may be higher: `incomplete` lists the missing data,
/// and the bounds of the counts in `severities` show how many pods may have each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Severity {
    /// No known hazard.
    #[default]
    Ok,
    /// Nothing is lost permanently, but the owner of the pod may need to know.
    Notice,
    /// The eviction costs something that is not restored automatically.
    Warning,
    /// The eviction breaks something beyond the pod itself, such as the availability of its workload.
    Danger,
}

impl Severity {
    /// Every severity, from the least to the worst.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Notice, Self::Warning, Self::Danger];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Limits;
    use crate::engine::{PodImpact, RuleImpact};
    use crate::model::{Effect, Kind};
    use crate::report::ImpactReport;
    use crate::report::testing::{Example, now, semantics};

    #[test]
    fn what_only_says_how_badly_an_eviction_hurts_is_missing_where_one_is_evicted() {
        for gap in [
            Gap::of(Kind::PodDisruptionBudget, "denied"),
            Gap::of(Kind::Node, "denied"),
            Gap::of(Kind::ResourceClaimTemplate, "denied"),
            Gap::of(Kind::ReplicaSet, "denied"),
            Gap::of_replacements("denied"),
        ] {
            let mut example = Example::new();
            example.reading.gaps = vec![gap.clone()];
            let semantics = semantics(37);
            let basis = Basis::new(&example.reading, &semantics, now());
            let missing = |impact: &Impact<'_>| {
                let facts = DisruptionFacts::of(impact, &basis);
                gaps(impact, &facts, &basis).any(|found| *found == gap)
            };
            let mut impact = example.impact();
            assert!(missing(&impact), "{gap:?}");
            impact.pods.retain(|pod| !PodImpact::is_evicted(pod));
            assert!(!impact.pods.is_empty());
            assert!(!missing(&impact), "{gap:?}");
        }
    }

    #[test]
    fn what_is_missing_decides_who_is_evicted_only_where_something_evicts() {
        let facts = |effect: Effect| {
            let mut example = Example::new();
            example.proposed.taint.effect = effect;
            let gap = Gap::of(Kind::Pod, "access denied");
            example.reading.gaps.push(gap);
            example.facts()
        };
        let unknown = facts(Effect::NoExecute).unknown_evictions();
        assert_eq!(unknown.len(), 1);
        assert!(unknown[0].starts_with("pods: access denied"), "{unknown:?}");
        let weak = facts(Effect::NoSchedule);
        assert_eq!(weak.unknown_evictions(), Vec::<String>::new());
        assert_eq!(weak.gaps.len(), 1);
        assert_eq!(weak.gaps[0].affects, Affects::Details);
    }

    #[test]
    fn what_is_missing_leaves_evictions_open_where_one_of_the_rules_evicts() {
        let mut example = Example::new();
        example.reading.gaps = vec![Gap::of(Kind::Pod, "denied")];
        let mut harmless = example.proposed.clone();
        harmless.taint.effect = Effect::NoSchedule;
        let mut impact = example.impact();
        let second = RuleImpact {
            proposed: &harmless,
            ..impact.rules[0].clone()
        };
        impact.rules.push(second);
        let unknown = |impact: &Impact<'_>| {
            let semantics = semantics(37);
            let basis = Basis::new(&example.reading, &semantics, now());
            let report = ImpactReport::new(impact, &basis, &Limits::default());
            report.assessment.facts.unknown_evictions()
        };
        assert_eq!(unknown(&impact).len(), 1);
        impact.rules.remove(0);
        assert_eq!(unknown(&impact), Vec::<String>::new());
    }
}
