//! Recovery of workloads after evictions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::assess::{CountSubject, EvictedOutcome, ReportCompleteness};
use crate::engine::deployments::{Deployments, PodCountOwner};
use crate::engine::rule_lifecycle::EvictionStatus;
use crate::engine::{self, ProposedTaint, Semantics, Verdict};
use crate::model::{
    DeviceTaintRule, Effect, Gap, JobEnd, Kind, NamespacedName, ObjectName, Reading, RuleMetadata,
    Taint, Uid, Warning, Workload,
};
use crate::naming::age::human_duration;
use crate::naming::phrase::{counted, few};

/// A pod that was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictedFacts {
    /// What it was called.
    pub name: NamespacedName,
    /// Kind and name of its workload; absent for a bare pod, or if that is not known.
    pub workload: Option<(String, String)>,
    /// What became of it.
    pub outcome: EvictedOutcome,
    /// Whether a rule that is asked about evicted it; otherwise another taint may have.
    pub is_certain: bool,
}

/// What has not recovered yet, or is not known to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecovered {
    /// The workload or pod.
    pub name: NamespacedName,
    /// How far it is.
    pub message: String,
}

/// How far the workloads are whose pods were evicted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// How many pods were evicted, as far as is known.
    pub pods: usize,
    /// How many of them another taint may have evicted: events do not name rules.
    pub uncertain: usize,
    /// What has not recovered yet, or is not known to have.
    pub open: Vec<Unrecovered>,
    /// How many workloads are complete, or have as many ready pods as they want.
    pub recovered: usize,
    /// Workloads that want no pod, such as after they were scaled to 0.
    pub without_pods: Vec<String>,
    /// Workloads that do not come back by themselves, each in a line.
    pub lost: Vec<String>,
    /// Names of pods that nothing creates again, by namespace.
    pub lost_pods: BTreeMap<String, BTreeSet<String>>,
}

/// How many pods of a namespace are named in a line.
const NAMED_PODS: usize = 3;

/// A rule of which nothing is known but its name, since it is gone: it selects nothing any more, and evicted whom
/// events tell of.
#[must_use]
pub fn gone_rule(name: &str) -> DeviceTaintRule {
    DeviceTaintRule {
        name: name.into(),
        uid: "".into(),
        resource_version: String::new(),
        generation: 0,
        selector: None,
        taint: Taint {
            key: String::new(),
            value: String::new(),
            effect: Effect::NoSchedule,
            time_added: None,
        },
        condition: None,
        metadata: RuleMetadata::default(),
        managers: Vec::new(),
    }
}

/// How far the workloads of these pods are in `reading`: each has recovered when as many of its pods are ready
/// as it wants. One that wants none has nothing to recover, and is named. Of the ReplicaSet of a Deployment, the Deployment
/// counts: once that was rolled out, it wants no pods of the ReplicaSet any more.
#[must_use]
pub fn recovery(evicted: &[EvictedFacts], reading: &Reading) -> Recovery {
    let known: BTreeMap<(String, &NamespacedName), (Kind, &Workload)> = reading
        .snapshot
        .workloads()
        .into_iter()
        .map(|(kind, workload)| ((kind.as_str().to_owned(), &workload.name), (kind, workload)))
        .collect();
    let deployments = Deployments::of(reading);
    let mut recovery = Recovery {
        pods: evicted.len(),
        uncertain: evicted.iter().filter(|pod| !pod.is_certain).count(),
        ..Recovery::default()
    };
    let mut seen = BTreeSet::new();
    for pod in evicted {
        // No end of it: the workload of the pod has to recover as well.
        if pod.outcome == EvictedOutcome::Terminating {
            recovery.add_open(&pod.name, format!("{} is terminating", pod.name));
        }
        let Some((kind, owner)) = &pod.workload else {
            recovery.add_bare(pod);
            continue;
        };
        let full = NamespacedName {
            namespace: pod.name.namespace.clone(),
            name: owner.as_str().into(),
        };
        let of_name = known.get(&(kind.clone(), &full));
        let owner = match of_name {
            _ if kind != Kind::ReplicaSet.as_str() => PodCountOwner::Itself,
            Some((_, replica_set)) => deployments.owner_of(replica_set),
            None => deployments.owner_of_gone(&full),
        };
        // A workload that lost several pods is reported once.
        let mut is_new =
            |kind: &str, name: &NamespacedName| seen.insert((kind.to_owned(), name.clone()));
        match owner {
            PodCountOwner::Deployment(deployment) => {
                if is_new(Kind::Deployment.as_str(), &deployment.name) {
                    recovery.add(Kind::Deployment, deployment);
                }
            }
            PodCountOwner::UnreadDeployment(name) => {
                if is_new(Kind::Deployment.as_str(), &name) {
                    recovery.add_unknown(Kind::Deployment.as_str(), &name);
                }
            }
            PodCountOwner::Itself | PodCountOwner::Other(_) if !is_new(kind, &full) => {}
            PodCountOwner::Itself | PodCountOwner::Other(_) => match of_name {
                // Its controller may desire pods of a later ReplicaSet instead, as a Deployment does.
                Some((_, workload))
                    if workload.replicas <= Some(0) && owner != PodCountOwner::Itself =>
                {
                    recovery.add_unknown(kind, &full);
                }
                Some((kind, workload)) => recovery.add(*kind, workload),
                None => recovery.add_absent(kind, &full, reading),
            },
        }
    }
    recovery
}

/// The pods that `rules` evict now or later and that are not terminating yet, with the time: until the controller has
/// evicted them, nothing shows what recovers from that. Of each rule counts what it is in `reading`; one that is gone evicts
/// no pod.
#[must_use]
pub fn due_pods(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    now: Timestamp,
    semantics: &Semantics,
) -> Vec<(NamespacedName, Timestamp)> {
    let taints = ProposedTaint::of_rules(evicting(rules, reading), now);
    let impact = engine::preview(&reading.snapshot, &taints, now, semantics);
    let due = impact.pods.iter().filter_map(|pod| match pod.verdict {
        Verdict::Evicted { at } => Some((pod.pod.name.clone(), at)),
        Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => None,
    });
    due.collect()
}

/// Those of `gaps` that keep it unknown which pods `rules` evict, or whether an evicted pod has ended.
///
/// Rules that are gone evict no more pods: what became of those that they evicted is known without claims and rules.
#[must_use]
pub fn hiding_evictions<'a>(
    rules: &[DeviceTaintRule],
    gaps: impl IntoIterator<Item = &'a Gap>,
    semantics: &Semantics,
) -> Vec<&'a Gap> {
    let are_gone = rules.iter().all(|rule| rule.uid.as_str().is_empty());
    let hides = |gap: &&Gap| match gap.kind() {
        Some(Kind::Pod) => true,
        _ if are_gone => false,
        Some(Kind::DeviceTaintRule) => true,
        _ => {
            let completeness = ReportCompleteness::new(std::slice::from_ref(*gap), semantics);
            !completeness.is_complete(CountSubject::Pods)
        }
    };
    gaps.into_iter().filter(hides).collect()
}

/// The names of those of `rules` that evict pods and on which the controller has not reported yet, as they are in `reading`: it
/// may evict pods before it writes events about them. None where no controller reports on rules.
#[must_use]
pub fn unreported_rules(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Vec<ObjectName> {
    let unreported = evicting(rules, reading).filter(|rule| match EvictionStatus::of(rule, 0) {
        EvictionStatus::Unknown | EvictionStatus::Outdated => semantics.has_condition,
        EvictionStatus::Yes | EvictionStatus::No | EvictionStatus::Leftover => false,
    });
    unreported.map(|rule| rule.name.clone()).collect()
}

/// Those of `rules` that exist and have effect `NoExecute`, as they are in `reading`.
fn evicting<'a>(
    rules: &[DeviceTaintRule],
    reading: &'a Reading,
) -> impl Iterator<Item = &'a DeviceTaintRule> + use<'a> {
    let followed: BTreeSet<Uid> = rules.iter().map(|rule| rule.uid.clone()).collect();
    reading
        .snapshot
        .rules
        .iter()
        .filter(move |rule| followed.contains(&rule.uid) && rule.taint.effect == Effect::NoExecute)
}

/// Whether the numbers of a Deployment are those of an earlier state of its spec.
fn is_outdated(workload: &Workload) -> bool {
    let rollout = workload.rollout.as_ref();
    rollout.is_some_and(|rollout| rollout.observed_generation < rollout.generation)
}

impl Recovery {
    /// The recovery, with rules on which the controller reports first.
    #[must_use]
    pub fn with_unreported(mut self, rules: &[ObjectName]) -> Self {
        let nothing = NamespacedName {
            namespace: "".into(),
            name: "".into(),
        };
        for rule in rules {
            let text = format!("the controller has not reported on rule {rule} yet");
            self.add_open(&nothing, text);
        }
        self
    }

    /// The recovery, with pods that are to be evicted first.
    #[must_use]
    pub fn with_due(mut self, pods: Vec<(NamespacedName, Timestamp)>, now: Timestamp) -> Self {
        for (pod, at) in pods {
            let text = if at <= now {
                format!("{pod} is not evicted yet")
            } else {
                let left = human_duration(at.duration_since(now));
                format!("{pod} is evicted in {left}")
            };
            self.add_open(&pod, text);
        }
        self
    }

    fn add_open(&mut self, name: &NamespacedName, message: String) {
        let name = name.clone();
        let open = Unrecovered { name, message };
        // The pods of a StatefulSet have the same name each time.
        if !self.open.contains(&open) {
            self.open.push(open);
        }
    }

    /// A pod that no workload is known to make.
    fn add_bare(&mut self, pod: &EvictedFacts) {
        let name = &pod.name;
        match pod.outcome {
            EvictedOutcome::NotCreatedAgain => {
                let namespace = name.namespace.to_string();
                let pods = self.lost_pods.entry(namespace).or_default();
                pods.insert(name.name.to_string());
            }
            EvictedOutcome::Pending | EvictedOutcome::Missing => {
                self.add_open(name, format!("{name} is pending"));
            }
            EvictedOutcome::Unknown => {
                self.add_open(name, format!("{name}: its owner is unknown"));
            }
            EvictedOutcome::Terminating
            | EvictedOutcome::CreatedAgain
            | EvictedOutcome::JobComplete
            | EvictedOutcome::ScaledDown
            | EvictedOutcome::EvictedAgain => {}
        }
    }

    fn add(&mut self, kind: Kind, workload: &Workload) {
        let called = format!("{} {}", kind.as_str(), workload.name);
        let ended = workload.failure.as_ref();
        match ended.and_then(|failure| failure.ended.as_ref()) {
            Some(JobEnd::Complete) => {
                self.recovered = self.recovered.saturating_add(1);
                return;
            }
            Some(JobEnd::Failed(reason)) => {
                let reason = match reason.as_str() {
                    "" => String::new(),
                    reason => format!(": {reason}"),
                };
                self.lost.push(format!("{called} has failed{reason}"));
                return;
            }
            None => {}
        }
        let text = match (workload.ready, workload.replicas) {
            // As many are ready as it wants, and none was created again.
            (_, Some(wanted)) if wanted <= 0 => {
                self.without_pods.push(called);
                return;
            }
            _ if is_outdated(workload) => {
                let kind_name = kind.as_str();
                format!(
                    "{called}: the {kind_name} controller has not processed the last change of the {kind_name} yet"
                )
            }
            (Some(ready), Some(wanted)) if ready >= wanted => {
                self.recovered = self.recovered.saturating_add(1);
                return;
            }
            (Some(ready), Some(wanted)) => format!("{called}: {ready} of {wanted} ready"),
            // What is not known has not recovered.
            (None, _) | (_, None) => format!("{called}: the number of ready pods is unknown"),
        };
        self.add_open(&workload.name, text);
    }

    /// A workload that was not found: somebody deleted it, unless its kind could not be read.
    fn add_absent(&mut self, kind: &str, name: &NamespacedName, reading: &Reading) {
        let mut kinds = Kind::WORKLOADS.iter();
        let found = kinds.find(|known| known.as_str() == kind);
        // Of a kind that could not be read, a workload that is not found may still be there.
        let is_read = found.is_some_and(|kind| reading.without(*kind).is_none());
        if !is_read {
            self.add_unknown(kind, name);
        }
    }

    fn add_unknown(&mut self, kind: &str, name: &NamespacedName) {
        let text = format!("{kind} {name}: the number of ready pods is unknown");
        self.add_open(name, text);
    }

    /// What does not come back by itself: a line for each workload, and one for the pods of each namespace that
    /// nothing creates again.
    #[must_use]
    pub fn lost_lines(&self) -> Vec<String> {
        let pods = self.lost_pods.iter().map(|(namespace, pods)| {
            let named: Vec<String> = pods
                .iter()
                .take(NAMED_PODS)
                .map(|pod| format!("{namespace}/{pod}"))
                .collect();
            let more = pods.len().saturating_sub(named.len());
            match (more, pods.len()) {
                (0, 1) => format!("{}: nothing recreates it", named.join(", ")),
                (0, _) => format!("{}: nothing recreates them", named.join(", ")),
                (more, _) => format!(
                    "{} and {more} more: nothing recreates them",
                    named.join(", ")
                ),
            }
        });
        self.lost.iter().cloned().chain(pods).collect()
    }

    /// How far it is, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let open: Vec<&str> = self
            .open
            .iter()
            .map(|left| left.message.as_str())
            .take(3)
            .collect();
        let more = self.open.len().saturating_sub(open.len());
        let more = match more {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let pods = counted(self.pods, "pod");
        let evicted = match self.uncertain {
            0 => format!("{pods} evicted"),
            _ => format!("{pods} evicted, by these rules or other taints"),
        };
        let bare: usize = self.lost_pods.values().map(BTreeSet::len).sum();
        let lost = [(self.lost.len(), "workload"), (bare, "pod")];
        let lost: Vec<String> = lost
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| counted(count, noun))
            .collect();
        let lost = match &lost[..] {
            [] => String::new(),
            lost => format!("; will not recover: {}", lost.join(" and ")),
        };
        let without_pods = match &self.without_pods[..] {
            [] => String::new(),
            names => format!(
                "; nothing to recover, because 0 pods are desired: {}",
                few(names)
            ),
        };
        let has_other_end = !lost.is_empty() || !without_pods.is_empty();
        let ends = format!("{lost}{without_pods}");
        match &open[..] {
            [] if self.pods == 0 => {
                "no eviction by these rules was found, so no workload has to recover".to_owned()
            }
            [] if !has_other_end => format!("{evicted}; all workloads recovered"),
            [] if lost.is_empty() && self.recovered > 0 => {
                format!("{evicted}; all other workloads recovered{ends}")
            }
            [] => format!("{evicted}; no workload is still recovering{ends}"),
            [_, ..] => format!("{evicted}; {}{more}{ends}", open.join("; ")),
        }
    }

    /// That workloads count as recovered which want no pod.
    #[must_use]
    pub fn warning(&self) -> Option<Warning> {
        let (has, its) = match &self.without_pods[..] {
            [] => return None,
            [_] => ("has", "its"),
            [_, _, ..] => ("have", "their"),
        };
        Some(Warning {
            code: "no-pods-desired",
            message: format!(
                "{} {has} 0 desired pods: {its} evicted pods are not recreated",
                few(&self.without_pods)
            ),
            fix: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Controller, Deployment, DisruptionAction, FailurePolicy, Job, ReplicaSet, Rollout,
        RolloutStrategy,
    };
    use crate::report::testing;

    fn evicted(name: &str, workload: Option<&str>, outcome: EvictedOutcome) -> EvictedFacts {
        let workload = workload.map(|name| {
            let (kind, name) = name.split_once('/').unwrap();
            (kind.to_owned(), name.to_owned())
        });
        EvictedFacts {
            name: testing::name("ml", name),
            workload,
            outcome,
            is_certain: true,
        }
    }

    #[test]
    fn unread_claims_pods_and_rules_hide_evictions() {
        let rules = [crate::decide::testing::named("drain", "NoExecute")];
        let hidden = |rules: &[DeviceTaintRule], kind| {
            let gap = Gap::of(kind, "denied");
            !hiding_evictions(rules, [&gap], &Semantics::newest()).is_empty()
        };
        for kind in [Kind::ResourceClaim, Kind::Pod, Kind::DeviceTaintRule] {
            assert!(hidden(&rules, kind), "{kind:?}");
        }
        for kind in [Kind::ReplicaSet, Kind::Node, Kind::PodDisruptionBudget] {
            assert!(!hidden(&rules, kind), "{kind:?}");
        }
        let gone = [gone_rule("drain")];
        assert!(hidden(&gone, Kind::Pod));
        assert!(!hidden(&gone, Kind::ResourceClaim) && !hidden(&gone, Kind::DeviceTaintRule));
    }

    fn workload(name: &str, ready: i32, replicas: i32) -> Workload {
        Workload {
            name: testing::name("ml", name),
            uid: name.into(),
            controller: None,
            replicas: Some(replicas),
            ready: Some(ready),
            min_members: None,
            failure: None,
            rollout: None,
        }
    }

    fn reading() -> Reading {
        let mut reading = testing::reading();
        reading.known = [Kind::ReplicaSet, Kind::Job].into();
        let ended = |name: &str, ended| {
            Job(Workload {
                failure: Some(FailurePolicy {
                    backoff_limit: 0,
                    limit_per_index: None,
                    failed: 1,
                    disruption: DisruptionAction::Count,
                    ended: Some(ended),
                }),
                ..workload(name, 0, 1)
            })
        };
        reading.snapshot.replica_sets = vec![
            ReplicaSet(workload("well", 2, 2)),
            ReplicaSet(workload("slow", 1, 2)),
        ];
        reading.snapshot.jobs = vec![
            ended("sweep", JobEnd::Failed("BackoffLimitExceeded".to_owned())),
            ended("done", JobEnd::Complete),
        ];
        reading
    }

    #[test]
    fn a_workload_has_recovered_when_as_many_are_ready_as_it_wants() {
        let pods = [
            evicted(
                "well-1",
                Some("ReplicaSet/well"),
                EvictedOutcome::CreatedAgain,
            ),
            evicted("slow-1", Some("ReplicaSet/slow"), EvictedOutcome::Pending),
            evicted("slow-2", Some("ReplicaSet/slow"), EvictedOutcome::Pending),
            evicted("done-1", Some("Job/done"), EvictedOutcome::NotCreatedAgain),
            evicted(
                "gone-1",
                Some("ReplicaSet/deleted"),
                EvictedOutcome::Missing,
            ),
        ];
        let found = recovery(&pods, &reading());
        let open: Vec<&str> = found
            .open
            .iter()
            .map(|left| left.message.as_str())
            .collect();
        assert_eq!(open, ["ReplicaSet ml/slow: 1 of 2 ready"]);
        assert!(found.lost_lines().is_empty(), "{found:?}");
        assert_eq!(
            found.line(),
            "5 pods evicted; ReplicaSet ml/slow: 1 of 2 ready"
        );
    }

    #[test]
    fn a_workload_that_was_scaled_to_zero_is_not_said_to_have_recovered() {
        let mut reading = reading();
        let scaled = ReplicaSet(workload("scaled", 0, 0));
        reading.snapshot.replica_sets.push(scaled);
        let well = evicted(
            "well-1",
            Some("ReplicaSet/well"),
            EvictedOutcome::CreatedAgain,
        );
        let scaled = evicted(
            "scaled-1",
            Some("ReplicaSet/scaled"),
            EvictedOutcome::ScaledDown,
        );
        let found = recovery(std::slice::from_ref(&scaled), &reading);
        assert!(found.open.is_empty(), "{found:?}");
        assert_eq!(
            found.line(),
            "1 pod evicted; no workload is still recovering; nothing to recover, because 0 pods are \
             desired: ReplicaSet ml/scaled"
        );
        assert_eq!(
            found.warning().map(|warning| warning.message).as_deref(),
            Some("ReplicaSet ml/scaled has 0 desired pods: its evicted pods are not recreated")
        );
        let both = recovery(&[scaled, well.clone()], &reading);
        assert_eq!(
            both.line(),
            "2 pods evicted; all other workloads recovered; nothing to recover, because 0 pods are \
             desired: ReplicaSet ml/scaled"
        );
        assert_eq!(recovery(&[well], &reading).warning(), None);
    }

    /// The ReplicaSet of a Deployment.
    fn replica_set(name: &str, deployment: &str, ready: i32, replicas: i32) -> ReplicaSet {
        ReplicaSet(Workload {
            controller: Some(testing::controller("Deployment", deployment)),
            ..workload(name, ready, replicas)
        })
    }

    fn messages(found: &Recovery) -> Vec<&str> {
        let open = found.open.iter();
        open.map(|left| left.message.as_str()).collect()
    }

    #[test]
    fn a_deployment_that_was_rolled_out_counts_and_not_its_old_replica_sets() {
        let pods = |old: &str| {
            [
                evicted("infer-1", Some(old), EvictedOutcome::Pending),
                evicted(
                    "infer-2",
                    Some("ReplicaSet/infer-6dc955bc4b"),
                    EvictedOutcome::Pending,
                ),
            ]
        };
        let rolled_out = |ready, replicas| {
            let mut reading = reading();
            reading.known.insert(Kind::Deployment);
            reading.snapshot.deployments = vec![Deployment(workload("infer", ready, replicas))];
            reading.snapshot.replica_sets = vec![
                replica_set("infer-6dc955bc4b", "infer", 0, 0),
                replica_set("infer-7c7f9d6d78", "infer", ready, replicas),
            ];
            reading
        };
        // One that is there, and one that is gone.
        for old in [
            "ReplicaSet/infer-6dc955bc4b",
            "ReplicaSet/infer-5f6b7c8d9",
            "Deployment/infer",
        ] {
            let found = recovery(&pods(old), &rolled_out(0, 1));
            let open = ["Deployment ml/infer: 0 of 1 ready"];
            assert_eq!(messages(&found), open, "{old}");
            assert_eq!(found.warning(), None, "{old}");
            let found = recovery(&pods(old), &rolled_out(1, 1));
            let line = "2 pods evicted; all workloads recovered";
            assert_eq!(found.line(), line, "{old}");
            assert_eq!((found.warning(), found.recovered), (None, 1), "{old}");
            let found = recovery(&pods(old), &rolled_out(0, 0));
            assert!(found.open.is_empty(), "{found:?}");
            assert_eq!(found.without_pods, ["Deployment ml/infer"], "{old}");
        }
        let mut unread = rolled_out(1, 1);
        unread.known.remove(&Kind::Deployment);
        unread.snapshot.deployments.clear();
        let found = recovery(&pods("ReplicaSet/infer-5f6b7c8d9"), &unread);
        let open = ["Deployment ml/infer: the number of ready pods is unknown"];
        assert_eq!(messages(&found), open);
        // It was deleted, and nothing desires pods in its place.
        let mut deleted = rolled_out(1, 1);
        deleted.snapshot.deployments.clear();
        let found = recovery(&pods("ReplicaSet/infer-5f6b7c8d9"), &deleted);
        assert!(found.open.is_empty(), "{found:?}");
        assert_eq!(found.without_pods, ["ReplicaSet ml/infer-6dc955bc4b"]);
    }

    #[test]
    fn a_replica_set_without_pods_of_a_controller_of_another_kind_is_not_known_to_have_recovered() {
        let mut reading = reading();
        let owned = |mut set: ReplicaSet| {
            set.0.controller = set.0.controller.map(|controller| Controller {
                api_version: "argoproj.io/v1alpha1".into(),
                kind: "Rollout".into(),
                ..controller
            });
            set
        };
        reading.snapshot.replica_sets = vec![
            owned(replica_set("infer-old", "infer", 0, 0)),
            owned(replica_set("infer-new", "infer", 1, 1)),
        ];
        let pod = |set| evicted("infer-1", Some(set), EvictedOutcome::Unknown);
        let found = recovery(&[pod("ReplicaSet/infer-old")], &reading);
        let open = ["ReplicaSet ml/infer-old: the number of ready pods is unknown"];
        assert_eq!(messages(&found), open);
        assert_eq!(found.warning(), None);
        let found = recovery(&[pod("ReplicaSet/infer-new")], &reading);
        assert_eq!(found.line(), "1 pod evicted; all workloads recovered");
    }

    #[test]
    fn a_deployment_whose_numbers_are_of_an_earlier_spec_has_not_recovered() {
        let mut reading = reading();
        reading.known.insert(Kind::Deployment);
        let found = |generation| {
            let mut deployment = workload("infer", 1, 1);
            deployment.rollout = Some(Rollout {
                resource_version: String::new(),
                strategy: RolloutStrategy::Recreate,
                is_paused: false,
                generation,
                observed_generation: 2,
                total: 1,
                updated: 1,
                available: 1,
                restarted: None,
            });
            let mut reading = reading.clone();
            reading.snapshot.deployments = vec![Deployment(deployment)];
            let pod = evicted("infer-1", Some("Deployment/infer"), EvictedOutcome::Pending);
            recovery(&[pod], &reading)
        };
        assert_eq!(found(2).line(), "1 pod evicted; all workloads recovered");
        assert_eq!(
            messages(&found(3)),
            [
                "Deployment ml/infer: the Deployment controller has not processed the last change of the Deployment yet"
            ]
        );
    }

    #[test]
    fn what_does_not_come_back_is_lost_and_what_is_not_known_stays_open() {
        let pods = [
            evicted("notebook", None, EvictedOutcome::NotCreatedAgain),
            evicted(
                "sweep-1",
                Some("Job/sweep"),
                EvictedOutcome::NotCreatedAgain,
            ),
            evicted("secret-1", None, EvictedOutcome::Unknown),
            // Evicted under the same name before.
            evicted("secret-1", None, EvictedOutcome::Unknown),
            evicted("llm-0", Some("StatefulSet/llm"), EvictedOutcome::Unknown),
            evicted("late", None, EvictedOutcome::Terminating),
        ];
        let found = recovery(&pods, &reading());
        assert_eq!(
            found.lost_lines(),
            [
                "Job ml/sweep has failed: BackoffLimitExceeded",
                "ml/notebook: nothing recreates it",
            ]
        );
        let open: Vec<&str> = found
            .open
            .iter()
            .map(|left| left.message.as_str())
            .collect();
        assert_eq!(
            open,
            [
                "ml/secret-1: its owner is unknown",
                "StatefulSet ml/llm: the number of ready pods is unknown",
                "ml/late is terminating"
            ]
        );
    }

    #[test]
    fn pods_that_nothing_creates_again_are_a_line_for_each_namespace() {
        let bare = |count: usize| {
            let names = (0..count).map(|number| format!("monitor-{number}"));
            let pods = names.map(|name| evicted(&name, None, EvictedOutcome::NotCreatedAgain));
            recovery(&pods.collect::<Vec<_>>(), &reading())
        };
        assert_eq!(
            bare(2).lost_lines(),
            ["ml/monitor-0, ml/monitor-1: nothing recreates them"]
        );
        assert_eq!(
            bare(350).lost_lines(),
            ["ml/monitor-0, ml/monitor-1, ml/monitor-10 and 347 more: nothing recreates them"]
        );
        assert_eq!(
            bare(2).line(),
            "2 pods evicted; no workload is still recovering; will not recover: 2 pods"
        );
        let none = bare(0);
        let line = "no eviction by these rules was found, so no workload has to recover";
        assert_eq!(none.line(), line);
    }

    #[test]
    fn nothing_has_recovered_while_pods_are_about_to_be_evicted() {
        use crate::engine::testing::{claim_in_use, now, pod, published, semantics, slice};
        let mut reading = crate::engine::testing::reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        let mut user = pod("ml", "train-0");
        user.claims = vec![crate::model::PodClaim {
            name: "gpu".into(),
            source: crate::model::ClaimSource::Claim("train-0-gpu".into()),
        }];
        reading.snapshot.claims = vec![claim_in_use(&user)];
        reading.snapshot.pods = vec![user.clone()];
        let rule = |effect: &str| {
            let mut rule = crate::decide::testing::rule(effect);
            rule.uid = "uid-1".into();
            rule.selector = Some(crate::decide::testing::selector("gpu-0"));
            rule.condition = Some(crate::model::EvictionCondition {
                status: "False".to_owned(),
                reason: "Completed".to_owned(),
                message: String::new(),
                observed_generation: rule.generation,
                last_transition: None,
            });
            rule
        };
        let due = |current: &[DeviceTaintRule], reading: &Reading| {
            let mut reading = reading.clone();
            reading.snapshot.rules = current.to_vec();
            let semantics = semantics(37);
            let followed = [rule("NoExecute")];
            let due = due_pods(&followed, &reading, now(), &semantics);
            let unreported = unreported_rules(&followed, &reading, &semantics);
            let found = recovery(&[], &reading).with_due(due, now());
            found.with_unreported(&unreported).line()
        };
        let open = "0 pods evicted; ml/train-0 is not evicted yet";
        let nothing = "no eviction by these rules was found, so no workload has to recover";
        assert_eq!(due(&[rule("NoExecute")], &reading), open);
        assert_eq!(due(&[rule("NoSchedule")], &reading), nothing);
        assert_eq!(due(&[rule("None")], &reading), nothing, "it is no preview");
        assert_eq!(due(&[], &reading), nothing, "it was removed");
        // The controller may have evicted the pod, and not have written an event about it yet.
        let mut gone = reading.clone();
        gone.snapshot.pods.clear();
        gone.snapshot.claims.clear();
        assert_eq!(due(&[rule("NoExecute")], &gone), nothing);
        let mut unseen = rule("NoExecute");
        unseen.generation += 1;
        let unreported = "0 pods evicted; the controller has not reported on rule drain yet";
        assert_eq!(due(std::slice::from_ref(&unseen), &gone), unreported);
        unseen.condition = None;
        assert_eq!(due(&[unseen], &gone), unreported);
        let mut later = reading.clone();
        let allocation = later.snapshot.claims[0].allocation.as_mut().unwrap();
        let tolerates = |seconds| crate::model::Toleration {
            key: String::new(),
            operator: crate::model::Operator::Exists,
            value: String::new(),
            effect: Some(Effect::NoExecute),
            seconds,
        };
        allocation.results[0].tolerations = vec![tolerates(Some(3_600))];
        let mut tainted = rule("NoExecute");
        tainted.taint.time_added = Some(now());
        assert_eq!(
            due(std::slice::from_ref(&tainted), &later),
            "0 pods evicted; ml/train-0 is evicted in 60m"
        );
        let allocation = later.snapshot.claims[0].allocation.as_mut().unwrap();
        allocation.results[0].tolerations = vec![tolerates(None)];
        assert_eq!(due(&[tainted], &later), nothing, "it stays");
        let mut other = rule("NoExecute");
        other.uid = "uid-2".into();
        assert_eq!(due(&[other], &reading), nothing, "it has only the name");
        user.deletion = Some(crate::model::Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        reading.snapshot.pods = vec![user];
        assert_eq!(
            due(&[rule("NoExecute")], &reading),
            nothing,
            "it is evicted"
        );
    }
}
