//! What the loss of each pod costs by itself.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::assess::basis::Basis;
use crate::assess::disruption_facts::DisruptionFacts;
use crate::assess::evidence::{HazardEvidence, LONG_GRACE_SECONDS};
use crate::assess::hazard::{DecidedBy, Finding, findings};
use crate::assess::replacements::Replacements;
use crate::assess::severity::Severity;
use crate::engine::disruption::Disruption;
use crate::engine::job_fate::{JobFate, job_fates_alone};
use crate::engine::set_search::{Burden, SearchPod, Tier};
use crate::engine::workloads::Recovering;
use crate::engine::{Impact, PodImpact, Workloads};
use crate::model::{NamespacedName, ResourceClaim, Uid};

/// The pods that the devices of all units evict, in the order of the impact.
pub(super) struct EvictedPods<'i, 'a> {
    pub(super) all: Vec<&'i PodImpact<'a>>,
    places: HashMap<&'a Uid, usize>,
}

impl<'i, 'a> EvictedPods<'i, 'a> {
    pub(super) fn of(impact: &'i Impact<'a>) -> Self {
        let evicted = impact.pods.iter().filter(|pod| pod.is_evicted());
        let all: Vec<&PodImpact<'a>> = evicted.collect();
        let places = all.iter().enumerate();
        Self {
            places: places.map(|(place, pod)| (&pod.pod.uid, place)).collect(),
            all,
        }
    }

    /// The place of a pod.
    pub(super) fn place(&self, uid: &Uid) -> Option<usize> {
        self.places.get(uid).copied()
    }
}

/// Hazards, one of each finding by its severity.
pub(super) fn of_severity(severity: Severity) -> Burden {
    let mut burden = Burden::NONE;
    match severity {
        Severity::Danger => burden.danger = 1,
        Severity::Warning => burden.warning = 1,
        Severity::Notice => burden.notice = 1,
        Severity::Ok => {}
    }
    burden
}

/// What each pod costs if it is the only one that is lost.
pub(super) fn burdens(
    pods: &EvictedPods<'_, '_>,
    impact: &Impact<'_>,
    basis: &Basis<'_>,
) -> Vec<SearchPod> {
    let claims = basis.reading.snapshot.claims.iter();
    let claims: HashMap<&NamespacedName, &ResourceClaim> =
        claims.map(|claim| (&claim.name, claim)).collect();
    let hazards = hazards(pods, job_fates_alone(impact, basis.reading), impact, basis);
    let pods = pods.all.iter().zip(hazards);
    pods.map(|(found, hazards)| {
        let pod = found.pod;
        let used = found
            .claims
            .iter()
            .filter_map(|used| claims.get(used.claim));
        let held = used.filter_map(|claim| claim.allocation.as_ref());
        let devices = held.map(|allocation| allocation.results.len());
        let own = Burden {
            pods: 1,
            devices: whole(devices.fold(0, usize::saturating_add)),
            unmanaged: i64::from(pod.controller.is_none()),
            ..Burden::NONE
        };
        let is_long = !pod.phase.is_terminal() && pod.grace_period_seconds > LONG_GRACE_SECONDS;
        SearchPod {
            burden: hazards.plus(own),
            tier: if is_long {
                Tier::WithinBudgets
            } else {
                Tier::ShortGrace
            },
            couplings: Vec::new(),
        }
    })
    .collect()
}

/// The hazards of each pod where its Job does what `jobs` says, but for those that depend on what else is lost.
pub(super) fn hazards(
    pods: &EvictedPods<'_, '_>,
    jobs: BTreeMap<&Uid, JobFate>,
    impact: &Impact<'_>,
    basis: &Basis<'_>,
) -> Vec<Burden> {
    let alone = DisruptionFacts {
        disruption: Disruption::default(),
        workloads: Workloads::default(),
        jobs,
        recovering: Recovering::default(),
        replacements: Replacements::default(),
        siblings: Vec::new(),
        gaps: Vec::new(),
    };
    let evidence = HazardEvidence::new(impact, basis.reading, &alone, basis.now);
    let counts = |finding: &&Finding| match finding.hazard.decided_by() {
        DecidedBy::Pod | DecidedBy::Job => true,
        // Of several pods together, by `couplings`; of what is left for claims, by no set alone.
        DecidedBy::Budget
        | DecidedBy::Workload
        | DecidedBy::Group
        | DecidedBy::Hardware
        | DecidedBy::Allocation => false,
    };
    let of_pod = |pod: &&PodImpact<'_>| {
        let findings = findings(&evidence, pod);
        let counted = findings.iter().filter(counts);
        let severities = counted.map(|finding| of_severity(finding.hazard.severity()));
        severities.fold(Burden::NONE, Burden::plus)
    };
    pods.all.iter().map(of_pod).collect()
}

/// A count as burdens have it.
pub(super) fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
