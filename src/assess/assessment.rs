//! Consequences of verdicts.

use std::collections::{BTreeMap, BTreeSet};

use super::basis::Basis;
use super::completeness::ReportCompleteness;
use super::consent::{Consent, consent};
use super::disruption_facts::DisruptionFacts;
use super::evidence::HazardEvidence;
use super::guard::{GuardOutcome, Limits, Measured};
use super::impact_facts::ImpactFacts;
use super::open_parts::{device_plugin_warning, device_plugins, open_parts_warning};
use super::pod::PodAssessment;
use super::replacements::Replacements;
use super::siblings::Sibling;
use super::totals::{Tally, Totals};
use crate::engine::Impact;
use crate::engine::open_parts::open_parts;
use crate::model::{DeviceId, Effect, Gap, Kind, Warning};

/// Consequences of verdicts, the basis of decisions.
///
/// Without anything to assess, nothing is known: no count is zero, and a change needs the strictest approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    /// Counts.
    pub totals: Totals,
    /// The effects of the considered taints, each once where it follows itself.
    pub effects: Vec<Effect>,
    /// Affected pods, as the user approves them.
    pub facts: ImpactFacts,
    /// Outcomes of the guards, in the order in which they were given.
    pub guards: Vec<GuardOutcome>,
    /// Approval that the change needs.
    pub consent: Consent,
    /// Replacements for claims that lose their devices.
    pub replacements: Replacements,
    /// Pods that stay on the same hardware.
    pub siblings: Vec<Sibling>,
    /// The partitions of each selected device on which pods can still be scheduled.
    pub open_parts: BTreeMap<DeviceId, BTreeSet<DeviceId>>,
    /// The devices that a device plugin may offer, too.
    pub plugin_devices: BTreeSet<DeviceId>,
    /// Warnings about ways to the same hardware that the taints do not close.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::PodImpact;

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
}
