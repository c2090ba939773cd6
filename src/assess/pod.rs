//! Effect of an eviction on one pod.

use jiff::Timestamp;

use super::evidence::HazardEvidence;
use super::hazard::{Finding, Hazard, findings, severity_of};
use super::outcome::Outcome;
use super::severity::Severity;
use crate::engine::{PodImpact, Verdict};
use crate::model::Controller;

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
