//! Impact that a user approves: current, or of a report that was saved and read back.
//!
//! Both are the same facts, so that one is compared with the other field by field.

use jiff::Timestamp;

use super::basis::Basis;
use super::completeness::ReportCompleteness;
use super::outcome::Outcome;
use super::pod::PodAssessment;
use crate::engine::{Cause, Impact, Origin, ProposedTaint};
use crate::model::{Affects, Gap, NamespacedName, ObjectName, Uid};

/// Pods that proposed taints affect, on which hardware, and the gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpactFacts {
    /// The proposed taints, in the order of the question.
    pub taints: Vec<ProposedTaint>,
    /// Every pod that uses a selected device, by namespace and name.
    pub pods: Vec<PodFacts>,
    /// Every selected device, by name.
    pub devices: Vec<DeviceFacts>,
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

/// A selected device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// The device, as DRIVER/POOL/DEVICE.
    pub name: String,
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
            devices: devices
                .into_iter()
                .map(|id| DeviceFacts {
                    name: id.to_string(),
                })
                .collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Limits;
    use crate::engine::RuleImpact;
    use crate::model::{Effect, Kind};
    use crate::report::ImpactReport;
    use crate::report::testing::{Example, now, semantics};

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
