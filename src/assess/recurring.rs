//! Evictions that go on although no pod waits for one: replacements of terminating pods use the same claim.
//!
//! Takes verdicts and what was read, and names the workloads of which this is so. While a pod of theirs terminates, its
//! replacement is scheduled to the tainted device and evicted too, however often; between two of them no pod is left
//! that a rule evicts, which looks like the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::recurring_evictions::replacement_takes_claim;
use crate::engine::{Impact, Origin, Verdict};
use crate::model::{Controller, Effect, Pod, Reading, Uid, Warning, Workload};
use crate::naming::phrase::few;

/// The workloads, such as `Deployment team-a/rerank`, whose terminating pods have replacements that the proposed taints
/// evict too, by the place of the taint. A workload that is known to be gone, or to want no pods, is none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecurringWorkloads(BTreeMap<usize, BTreeSet<String>>);

impl RecurringWorkloads {
    /// Those of the proposed taints of `impact`, in what was read.
    #[must_use]
    pub fn of(impact: &Impact<'_>, reading: &Reading) -> Self {
        let pods = impact
            .pods
            .iter()
            .filter(|pod| pod.verdict == Verdict::Terminating && replacement_takes_claim(pod));
        let mut owners: BTreeMap<(usize, &Uid), (&Pod, &Controller)> = BTreeMap::new();
        for pod in pods {
            let Some(owner) = pod.pod.controller.as_ref() else {
                continue;
            };
            for cause in &pod.causes {
                if let Origin::Proposed(place) = cause.origin {
                    owners.insert((place, &owner.uid), (pod.pod, owner));
                }
            }
        }
        let mut found = Self::default();
        if owners.is_empty() {
            return found;
        }
        let workloads = reading.snapshot.workloads();
        let workloads: BTreeMap<&Uid, &Workload> = workloads
            .iter()
            .map(|(_, workload)| (&workload.uid, *workload))
            .collect();
        for ((place, uid), (pod, owner)) in owners {
            let workload = workloads.get(uid);
            let is_gone = workload.is_none()
                && owner
                    .workload_kind()
                    .is_some_and(|kind| reading.known.contains(&kind));
            if is_gone || workload.is_some_and(|workload| workload.replicas == Some(0)) {
                continue;
            }
            let top = workload.and_then(|workload| workload.controller.as_ref());
            let top = top.unwrap_or(owner);
            // A ReplicaSet that was not read has the name of its Deployment.
            let (kind, name) = match pod.deployment().filter(|_| workload.is_none()) {
                Some(name) => ("Deployment", name),
                None => (&*top.kind, top.name.clone()),
            };
            let name = format!("{kind} {}/{name}", pod.name.namespace);
            found.0.entry(place).or_default().insert(name);
        }
        found
    }

    /// Those of any of the taints.
    #[must_use]
    pub fn all(self) -> BTreeSet<String> {
        self.0.into_values().flatten().collect()
    }

    /// Those of a rule with this effect, which is the proposed taint at this place: a rule evicts nothing before it has
    /// effect NoExecute.
    #[must_use]
    pub fn of_rule(&self, effect: &Effect, place: usize) -> BTreeSet<String> {
        let found = self.0.get(&place).filter(|_| effect.evicts());
        found.cloned().unwrap_or_default()
    }
}

/// The warning that evictions of these workloads go on, by a rule that exists where it is named; absent where there are
/// no such workloads.
#[must_use]
pub fn recurring_warning(rule: Option<&str>, workloads: &BTreeSet<String>) -> Option<Warning> {
    let names: Vec<String> = workloads.iter().cloned().collect();
    let rule = rule.map_or_else(String::new, |rule| format!("rule {rule}: "));
    (!names.is_empty()).then(|| Warning {
        code: "recurring-evictions",
        message: format!(
            "{rule}replacements for the terminating pods of {} use the same claim, which stays \
             allocated, and are evicted too",
            few(&names)
        ),
        fix: Some(
            "to end this, scale the workload to 0 replicas, or use a ResourceClaimTemplate in its \
             pods"
                .to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{self, cause, controller, with_verdict};
    use crate::engine::{ClaimUse, Counts, PodImpact, ProposedTaint, RuleImpact};
    use crate::model::{ClaimSource, Kind, Pod, PodClaim, ReplicaSet};

    /// The workloads of a pod that terminates, or not, in what was read.
    fn workloads(
        reading: &Reading,
        change: impl FnOnce(&mut Pod, &mut PodImpact<'_>),
    ) -> Vec<String> {
        let mut pod = testing::pod("team-a", "rerank-5d-x");
        pod.controller = Some(controller("ReplicaSet", "rerank-5d"));
        pod.claims = vec![PodClaim {
            name: "gpu".into(),
            source: ClaimSource::Claim("shared".into()),
        }];
        let claim = testing::name("team-a", "shared");
        let copy = pod.clone();
        let mut found = with_verdict(&copy, Verdict::Terminating);
        found.causes = vec![cause(Origin::Proposed(0), 0)];
        found.claims = vec![ClaimUse {
            claim: &claim,
            results: Vec::new(),
        }];
        change(&mut pod, &mut found);
        let found = PodImpact { pod: &pod, ..found };
        let proposed: ProposedTaint = testing::proposed(Some("drain"));
        let mut impact = testing::impact(vec![found]);
        impact.rules = vec![RuleImpact {
            proposed: &proposed,
            counts: Counts::default(),
            terminating: 1,
            staying: 0,
        }];
        let found = RecurringWorkloads::of(&impact, reading);
        assert!(found.of_rule(&Effect::NoSchedule, 0).is_empty());
        assert!(found.of_rule(&Effect::NoExecute, 1).is_empty());
        assert_eq!(found.of_rule(&Effect::NoExecute, 0), found.clone().all());
        found.all().into_iter().collect()
    }

    #[test]
    fn evictions_go_on_while_replacements_take_the_claim_of_a_terminating_pod() {
        let mut reading = testing::reading();
        let mut set = testing::workload("rerank-5d", 2);
        set.controller = Some(controller("Deployment", "rerank"));
        reading.snapshot.replica_sets = vec![ReplicaSet(set)];
        assert_eq!(workloads(&reading, |_, _| ()), ["Deployment team-a/rerank"]);
        let others: [fn(&mut Pod, &mut PodImpact<'_>); 4] = [
            |_, impact| impact.verdict = Verdict::Tolerates,
            |_, impact| impact.causes.clear(),
            |pod, _| pod.claims[0].source = ClaimSource::Unknown,
            |pod, _| pod.controller = None,
        ];
        for other in others {
            assert_eq!(workloads(&reading, other), [""; 0]);
        }
        reading.snapshot.replica_sets[0].0.replicas = Some(0);
        assert_eq!(workloads(&reading, |_, _| ()), [""; 0], "scaled to 0");
        reading.snapshot.replica_sets.clear();
        assert_eq!(workloads(&reading, |_, _| ()), [""; 0], "deleted");
        // A workload that was not read may want pods.
        reading.known.remove(&Kind::ReplicaSet);
        assert_eq!(
            workloads(&reading, |_, _| ()),
            ["ReplicaSet team-a/rerank-5d"]
        );
        let hashed = |pod: &mut Pod, _: &mut PodImpact<'_>| {
            pod.labels = vec![("pod-template-hash".into(), "5d".into())];
        };
        assert_eq!(workloads(&reading, hashed), ["Deployment team-a/rerank"]);
    }
}
