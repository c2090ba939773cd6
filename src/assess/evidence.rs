//! Facts in which hazards of pods are found, and the function of each hazard.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::replacements::beside;
use super::totals::DisruptionFacts;
use crate::engine::disruption::BudgetAnswer;
use crate::engine::impact::replacement_takes_claim;
use crate::engine::job_fate::{JobFailure, JobFate};
use crate::engine::termination_blocker::{Publishers, driver_away, is_silent};
use crate::engine::workloads::{Gang, gangs};
use crate::engine::{Impact, PodImpact, Verdict};
use crate::model::{Controller, DeviceId, Kind, Node, NodeName, ObjectName, Pod, Reading, Uid};
use crate::naming::duration::human_duration;

/// A grace period above this many seconds makes a pod `long-grace`, as in the Rescheduler's tiers.
pub const LONG_GRACE_SECONDS: i64 = 10;

/// Priority from which a pod is `critical`: that of `system-cluster-critical`.
pub const CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// Reason for a hazard, as a short noun phrase with names and numbers.
pub(super) type HazardReason = String;

fn reason(holds: bool, reason: &str) -> Option<HazardReason> {
    holds.then(|| reason.to_owned())
}

/// Evidence of hazards.
pub(super) struct HazardEvidence<'a> {
    reading: &'a Reading,
    gangs: BTreeMap<&'a Uid, Gang>,
    disruption_facts: &'a DisruptionFacts<'a>,
    answers: BTreeMap<&'a Uid, Vec<(&'a str, BudgetAnswer, i32)>>,
    nodes: BTreeMap<&'a NodeName, &'a Node>,
    publishers: Publishers,
    published: BTreeSet<&'a DeviceId>,
    owners: BTreeSet<&'a Uid>,
    now: Timestamp,
}

impl<'a> HazardEvidence<'a> {
    /// From the verdicts, and the effects of the evictions on others.
    pub(super) fn new(
        impact: &'a Impact<'a>,
        reading: &'a Reading,
        disruption_facts: &'a DisruptionFacts<'a>,
        now: Timestamp,
    ) -> Self {
        let mut answers: BTreeMap<&Uid, Vec<(&str, BudgetAnswer, i32)>> = BTreeMap::new();
        for found in &disruption_facts.disruption.budgets {
            let name = found.budget.name.name.as_str();
            let allowed = found.budget.status.disruptions_allowed;
            for (pod, answer) in &found.pods {
                let entry = answers.entry(&pod.uid).or_default();
                entry.push((name, *answer, allowed));
            }
        }
        let nodes = reading.snapshot.nodes.iter();
        let names = impact.pods.iter().filter_map(|pod| pod.pod.node.clone());
        let published = impact.devices.iter().filter(|device| device.published);
        let owners = reading.snapshot.workloads().into_iter();
        Self {
            owners: owners.map(|(_, workload)| &workload.uid).collect(),
            publishers: Publishers::of(reading, &names.collect()),
            published: published.map(|device| &device.id).collect(),
            reading,
            gangs: gangs(impact, reading),
            disruption_facts,
            answers,
            nodes: nodes.map(|node| (&node.name, node)).collect(),
            now,
        }
    }

    /// The budgets that are about a pod, by name.
    pub(super) fn budgets(&self, pod: &Pod) -> Vec<String> {
        let answers = self.answers.get(&pod.uid).into_iter().flatten();
        answers.map(|(name, _, _)| (*name).to_owned()).collect()
    }

    /// The top of a pod's owners, where all between is known.
    pub(super) fn workload(&self, pod: &Pod) -> Option<&Controller> {
        let found = self.disruption_facts.workloads.of(pod)?;
        found.is_whole.then_some(&found.owner)
    }

    /// True if the pod is recreated, as far as that is known.
    fn is_made_again(&self, pod: &Pod) -> bool {
        let owner = pod.controller.as_ref();
        owner.is_some_and(|owner| !self.is_gone(owner))
            && !self
                .disruption_facts
                .jobs
                .get(&pod.uid)
                .is_some_and(JobFate::is_for_good)
    }

    /// True if a pod's controller is known to be missing. Another one of the same name creates its own pods.
    fn is_gone(&self, owner: &Controller) -> bool {
        let kind = owner.workload_kind();
        kind.is_some_and(|kind| self.reading.known.contains(&kind))
            && !self.owners.contains(&owner.uid)
    }

    pub(super) fn refused(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let mut answers = self.answers.get(&pod.uid)?.iter();
        let (name, _, allowed) = answers.find(|(_, answer, _)| *answer == BudgetAnswer::Refused)?;
        Some(format!("PDB {name} allows {allowed}"))
    }

    pub(super) fn ambiguous(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let answers = self.answers.get(&pod.uid)?;
        let is_ambiguous = answers
            .iter()
            .any(|(_, answer, _)| *answer == BudgetAnswer::Ambiguous);
        is_ambiguous.then(|| {
            let names: Vec<&str> = answers.iter().map(|(name, _, _)| *name).collect();
            format!("several PDBs: {}", names.join(", "))
        })
    }

    pub(super) fn last_replica(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let found = self.disruption_facts.workloads.of(pod)?;
        let (_, workload) = found.workload?;
        let ready = workload.ready?;
        (pod.is_ready && found.is_down() == Some(true)).then(|| match ready {
            1 => "last ready replica".to_owned(),
            ready => format!("last {ready} ready replicas"),
        })
    }

    pub(super) fn gang(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let gang = self.gangs.get(&pod.uid)?;
        let needs = gang
            .needs
            .map_or_else(|| "?".to_owned(), |it| it.to_string());
        let (group, left) = (&gang.group, gang.left);
        Some(format!("{group} keeps at most {left}, needs {needs}"))
    }

    /// Effect of the pod's loss on its Job, with the Job's name.
    fn job_fate(&self, impact: &PodImpact<'_>) -> Option<(&JobFate, String)> {
        let fate = self.disruption_facts.jobs.get(&impact.pod.uid)?;
        let owner = impact.pod.controller.as_ref()?;
        Some((fate, format!("Job {}", owner.name)))
    }

    pub(super) fn job_fails(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let (fate, job) = self.job_fate(impact)?;
        let why = match fate {
            JobFate::Fails(JobFailure::Policy) => "podFailurePolicy".to_owned(),
            JobFate::Fails(JobFailure::Backoff { failures, limit }) => {
                format!("failure {failures}, backoffLimit {limit}")
            }
            JobFate::IndexFails => "its index fails".to_owned(),
            JobFate::StartsAgain
            | JobFate::Counts { .. }
            | JobFate::Depends(_)
            | JobFate::Ended
            | JobFate::Unknown => return None,
        };
        Some(format!("{job} fails {UNLESS_ENDED}: {why}"))
    }

    pub(super) fn job_restart(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let (fate, job) = self.job_fate(impact)?;
        // A deleted Job reacts to nothing, and `unmanaged` reports the deletion.
        if self.is_gone(impact.pod.controller.as_ref()?) {
            return None;
        }
        Some(match fate {
            JobFate::StartsAgain => format!("{job} recreates it, podFailurePolicy"),
            JobFate::Counts { failures, limit } => {
                format!("{job} counts failure {failures} of {limit} {UNLESS_ENDED}")
            }
            JobFate::Fails(_) | JobFate::IndexFails | JobFate::Ended => return None,
            JobFate::Depends(actions) => {
                format!("podFailurePolicy of {job}: {}", actions.join(" or "))
            }
            JobFate::Unknown => format!("{job} not read"),
        })
    }

    pub(super) fn node_not_ready(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let name = pod.node.as_ref()?;
        let node = self.nodes.get(name).copied();
        if !is_silent(node, self.reading.known.contains(&Kind::Node)) {
            return None;
        }
        let since = node.and_then(|node| node.ready()?.last_transition);
        Some(match (node, since) {
            (Some(_), Some(since)) => {
                let ago = human_duration(self.now.duration_since(since));
                format!("node {name} NotReady for {ago}")
            }
            (Some(_), None) => format!("node {name} NotReady"),
            (None, _) => format!("node {name} not found"),
        })
    }

    pub(super) fn driver_down(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let node = impact.pod.node.as_ref()?;
        let driver = driver_away(impact, &self.published, &self.publishers)?;
        Some(format!("driver {driver} away from {node}"))
    }

    pub(super) fn node_maintenance(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let pod = impact.pod;
        let node = self.nodes.get(pod.node.as_ref()?)?;
        let under_way = node.conditions.iter().filter(|condition| {
            condition.status == "True" && MAINTENANCE.contains(&condition.kind.as_str())
        });
        let mut words: Vec<&str> = under_way.map(|condition| condition.kind.as_str()).collect();
        if node.unschedulable {
            words.push("cordoned");
        }
        (!words.is_empty()).then(|| format!("{}: {}", node.name, words.join(", ")))
    }

    pub(super) fn no_replacement(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        self.disruption_facts.replacements.lost_by(impact)
    }

    pub(super) fn sibling_in_use(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        beside(&self.disruption_facts.siblings, impact)
    }

    pub(super) fn unmanaged(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let Some(owner) = &impact.pod.controller else {
            return Some("nothing recreates it".to_owned());
        };
        let Controller { kind, name, .. } = owner;
        self.is_gone(owner)
            .then(|| format!("nothing recreates it, {kind} {name} deleted"))
    }

    pub(super) fn tolerates_schedule_only(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let comes_back = impact.tolerates_schedule_only && self.is_made_again(impact.pod);
        reason(comes_back, "replacement may be evicted again")
    }

    pub(super) fn claim_stays_allocated(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        let comes_back = replacement_takes_claim(impact) && self.is_made_again(impact.pod);
        reason(comes_back, "replacement evicted again, same claim")
    }

    /// Finds the annotation that asks not to evict the pod.
    pub(super) fn asks_to_stay(&self, impact: &PodImpact<'_>) -> Option<HazardReason> {
        do_not_disrupt(impact.pod)
    }
}

/// The annotation that asks that the pod be left alone, with its value; absent where none does.
pub fn do_not_disrupt(pod: &Pod) -> Option<String> {
    let mut annotations = pod.annotations.iter();
    let (key, value) = annotations.find(|(key, value)| match &**key {
        "karpenter.sh/do-not-disrupt" => &**value == "true",
        "cluster-autoscaler.kubernetes.io/safe-to-evict" => &**value == "false",
        // The descheduler looks whether it is there.
        "descheduler.alpha.kubernetes.io/prefer-no-eviction" => true,
        _ => false,
    })?;
    Some(format!("{key}: {value:?}"))
}

/// A pod that is stopped and whose containers exit with 0 has succeeded, and is no failure of its Job.
///
/// Upstream: `getPhase` of the kubelet.
const UNLESS_ENDED: &str = "unless it exits 0";

/// Conditions of a node that is being emptied.
///
/// Source: KEP-4212, declarative node maintenance, and the node lifecycle working group's conditions.
const MAINTENANCE: [&str; 3] = ["MaintenancePlanned", "DrainInProgress", "Drained"];

// Hazards that follow from the pod and its verdict alone.

pub(super) fn critical(_: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Option<HazardReason> {
    let pod = impact.pod;
    let class = &*pod.priority_class_name;
    if class == "system-node-critical" || class == "system-cluster-critical" {
        return Some(format!("priority class {class}"));
    }
    if pod.priority >= CRITICAL_PRIORITY {
        return Some(format!("priority {}", pod.priority));
    }
    // Before there were priorities, and in this namespace only.
    let old = "scheduler.alpha.kubernetes.io/critical-pod";
    (pod.annotation(old) == Some("") && pod.name.namespace.as_str() == "kube-system")
        .then(|| format!("annotation {old}"))
}

pub(super) fn long_grace(_: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Option<HazardReason> {
    let grace = impact.pod.grace_period_seconds;
    (grace > LONG_GRACE_SECONDS).then(|| format!("grace period {grace}s"))
}

pub(super) fn daemon_set(_: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Option<HazardReason> {
    let owner = impact.pod.controller.as_ref();
    let is_daemon = owner.is_some_and(|owner| &*owner.kind == "DaemonSet");
    reason(is_daemon, "its DaemonSet recreates it here")
}

pub(super) fn local_data(_: &HazardEvidence<'_>, impact: &PodImpact<'_>) -> Option<HazardReason> {
    reason(impact.pod.has_local_data, "emptyDir data lost")
}

pub(super) fn extended_resource(
    _: &HazardEvidence<'_>,
    impact: &PodImpact<'_>,
) -> Option<HazardReason> {
    let extended = impact.pod.extended_resource_claim.as_ref();
    let uses = |name: &ObjectName| impact.claims.iter().any(|used| used.claim.name == *name);
    reason(extended.is_some_and(uses), "extended resource")
}

pub(super) fn terminal_still_reserved(
    _: &HazardEvidence<'_>,
    impact: &PodImpact<'_>,
) -> Option<HazardReason> {
    // The controller does not check the phase: while the claim is reserved for it, a pod that has ended is
    // deleted. Upstream: `podEvictionTime`.
    let is_used = !matches!(impact.verdict, Verdict::NotEvicted(_));
    let has_ended = impact.pod.phase.is_terminal() && is_used;
    reason(has_ended, "ended, still reserved")
}

pub(super) fn foreign_taint(
    _: &HazardEvidence<'_>,
    impact: &PodImpact<'_>,
) -> Option<HazardReason> {
    let is_foreign = impact.verdict != Verdict::Terminating && impact.has_foreign_cause();
    reason(is_foreign, "another taint evicts it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::hazard::{Finding, findings};
    use crate::assess::replacements::Replacements;

    use crate::engine::job_fate::job_fates;
    use crate::engine::workloads::recovering;
    use crate::engine::{ClaimUse, NotEvicted, Origin, disruption};
    use crate::model::{NodeCondition, Phase, ReplicaSet};
    use crate::report::testing::{self, node, workload};

    fn found(impact: PodImpact<'_>, reading: &Reading) -> Vec<Finding> {
        let impact = testing::impact(vec![impact]);
        let disruption_facts = DisruptionFacts {
            disruption: disruption(&impact, &reading.snapshot.budgets, testing::now()),
            workloads: crate::engine::workloads(&impact, reading),
            jobs: job_fates(&impact, reading),
            recovering: recovering(&impact, reading),
            replacements: Replacements::default(),
            siblings: Vec::new(),
            gaps: Vec::new(),
        };
        let evidence = HazardEvidence::new(&impact, reading, &disruption_facts, testing::now());
        findings(&evidence, &impact.pods[0])
    }

    /// A cluster in which nothing is at stake.
    fn calm() -> Reading {
        let mut reading = testing::reading();
        reading.snapshot.replica_sets = vec![ReplicaSet(workload("train-6d", 5))];
        reading.snapshot.nodes = vec![node("node-7")];
        reading
    }

    fn pod() -> Pod {
        Pod {
            grace_period_seconds: LONG_GRACE_SECONDS,
            ..testing::pod("team-a", "train-0")
        }
    }

    fn codes_in(impact: PodImpact<'_>, reading: &Reading) -> Vec<&'static str> {
        let findings = found(impact, reading).into_iter();
        findings.map(|found| found.hazard.code()).collect()
    }

    fn codes(impact: PodImpact<'_>) -> Vec<&'static str> {
        codes_in(impact, &calm())
    }

    fn annotated(key: &str, value: &str) -> Pod {
        Pod {
            annotations: vec![(key.into(), value.into())],
            ..pod()
        }
    }

    #[test]
    fn hazards_are_read_off_the_pod() {
        let but = |change: fn(&mut Pod)| {
            let mut pod = pod();
            change(&mut pod);
            pod
        };
        let old = "scheduler.alpha.kubernetes.io/critical-pod";
        let of_system = Pod {
            name: testing::name("kube-system", "train-0"),
            ..annotated(old, "")
        };
        let of_daemon_set = Pod {
            controller: Some(testing::controller("DaemonSet", "train-6d")),
            ..pod()
        };
        let class = |name: &str| Pod {
            priority_class_name: name.into(),
            ..pod()
        };
        let grace = |seconds| Pod {
            grace_period_seconds: seconds,
            ..pod()
        };
        let autoscaler = "cluster-autoscaler.kubernetes.io/safe-to-evict";
        let descheduler = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
        let karpenter = "karpenter.sh/do-not-disrupt";
        let asks = &["do-not-disrupt"][..];
        let critical = &["critical"][..];
        for (pod, expected) in [
            (pod(), &[][..]),
            (but(|it| it.controller = None), &["unmanaged"]),
            (of_daemon_set, &["daemonset"]),
            (but(|it| it.priority = CRITICAL_PRIORITY), critical),
            (but(|it| it.priority = CRITICAL_PRIORITY - 1), &[]),
            (class("system-node-critical"), critical),
            (class("system-cluster-critical"), critical),
            (of_system, critical),
            (annotated(old, ""), &[]),
            (grace(LONG_GRACE_SECONDS + 1), &["long-grace"]),
            (but(|it| it.has_local_data = true), &["local-data"]),
            (annotated(karpenter, "true"), asks),
            (annotated(karpenter, "false"), &[]),
            (annotated(autoscaler, "false"), asks),
            (annotated(autoscaler, "true"), &[]),
            (annotated(descheduler, ""), asks),
            (
                but(|it| it.phase = Phase::Failed),
                &["terminal-still-reserved"],
            ),
        ] {
            assert_eq!(codes(testing::evicted(&pod, 0)), expected, "{pod:?}");
        }
    }

    #[test]
    fn a_claim_of_an_extended_resource_is_told_by_the_pods_status() {
        let mut pod = pod();
        pod.extended_resource_claim = Some("train-0-extended".into());
        let claim = testing::name("team-a", "train-0-extended");
        let other = testing::name("team-a", "train-0-gpu");
        let reason = Verdict::NotEvicted(NotEvicted::ExtendedResource);
        for (claim, expected) in [(&claim, &["extended-resource"][..]), (&other, &[])] {
            let mut impact = testing::with_verdict(&pod, reason.clone());
            impact.claims = vec![ClaimUse {
                claim,
                results: Vec::new(),
            }];
            assert_eq!(codes(impact), expected, "{claim}");
        }
    }

    #[test]
    fn an_eviction_that_repeats_or_has_other_causes_is_marked() {
        let pod = pod();
        let rule = "drain-node-7".into();
        let mut impact = testing::evicted(&pod, 0);
        impact.tolerates_schedule_only = true;
        impact.causes.push(testing::cause(Origin::Rule(&rule), 60));
        let mut going = impact.clone();
        going.verdict = Verdict::Terminating;
        assert_eq!(codes(impact), ["tolerates-schedule-only", "foreign-taint"]);
        assert!(codes(going).is_empty());
    }

    #[test]
    fn the_last_ready_pod_of_a_workload_has_a_hazard() {
        let mut reading = calm();
        reading.snapshot.replica_sets = vec![ReplicaSet(workload("train-6d", 1))];
        let found = codes_in(testing::evicted(&pod(), 0), &reading);
        assert_eq!(found, ["last-replica"]);
        let unready = Pod {
            is_ready: false,
            ..pod()
        };
        assert_eq!(codes_in(testing::evicted(&unready, 0), &reading), [""; 0]);
    }

    #[test]
    fn a_deleted_job_and_one_that_was_not_read_are_different_hazards() {
        let pod = Pod {
            controller: Some(testing::job("sweep")),
            ..pod()
        };
        let mut reading = calm();
        let codes = |reading: &Reading| codes_in(testing::evicted(&pod, 0), reading);
        assert_eq!(codes(&reading), ["unmanaged"]);
        reading.known.remove(&Kind::Job);
        assert_eq!(codes(&reading), ["job-restart"]);
    }

    #[test]
    fn a_node_that_cannot_end_pods_or_is_leaving_is_named_and_an_unknown_one_is_not() {
        let mut reading = calm();
        let condition = |kind: &str, status: &str| NodeCondition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: String::new(),
            last_transition: Some(testing::after(-120)),
        };
        let codes = |reading: &Reading| codes_in(testing::evicted(&pod(), 0), reading);
        reading.snapshot.nodes[0].conditions = vec![condition("Ready", "Unknown")];
        assert_eq!(codes(&reading), ["node-not-ready"]);
        reading.snapshot.nodes[0].conditions = vec![
            condition("Ready", "True"),
            condition("DrainInProgress", "True"),
            condition("Drained", "False"),
        ];
        reading.snapshot.nodes[0].unschedulable = true;
        assert_eq!(codes(&reading), ["node-maintenance"]);
        // It is known that there is no such node, or nothing is known of nodes.
        reading.snapshot.nodes.clear();
        assert_eq!(codes(&reading), ["node-not-ready"]);
        reading.known.remove(&Kind::Node);
        assert_eq!(codes(&reading), [""; 0]);
    }

    #[test]
    fn a_driver_that_publishes_nothing_on_the_node_is_away() {
        let mut reading = calm();
        let pod = pod();
        let claim = testing::claim(&pod);
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let mut impact = testing::evicted(&pod, 0);
        impact.claims = vec![ClaimUse {
            claim: &claim.name,
            results: results.collect(),
        }];
        assert_eq!(codes_in(impact.clone(), &reading), ["driver-down"]);
        reading.known.remove(&Kind::ResourceSlice);
        assert_eq!(codes_in(impact, &reading), [""; 0]);
    }
}
