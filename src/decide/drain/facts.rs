//! Facts about one unit, as observed at one time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use super::order::{BudgetState, Harm};
use super::pod_class::{Inclusions, PodClass, Treatment};
use super::restart::RestartState;
use super::unit_step::UnitEnd;
use crate::assess::Basis;
use crate::engine::disruption::{BudgetAnswer, disruption};
use crate::engine::holders::holders;
use crate::engine::workloads::Owners;
use crate::engine::{Impact, Origin, PodImpact, Verdict};
use crate::model::{
    DeviceId, DeviceTaintRule, Effect, JobEnd, Kind, NamespacedName, ObjectName, Pod, Reading,
    RuleMetadata, Snapshot, Uid, Workload,
};

/// A pod for which the scheduler finds no node, with the scheduler's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnschedulablePod {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Message of the PodScheduled condition.
    pub message: String,
}

impl UnschedulablePod {
    /// The pod if the scheduler finds no node for it.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        Some(Self {
            name: pod.name.clone(),
            message: pod.has_no_place()?.to_owned(),
        })
    }
}

impl fmt::Display for UnschedulablePod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is unschedulable: {}", self.name, self.message)
    }
}

/// Facts about a unit at one time.
#[derive(Clone, Debug, Default)]
pub struct UnitFacts {
    /// When this was observed, by the server's clock; absent if unknown.
    pub now: Option<Timestamp>,
    /// Whether the rules of the unit are as this drain made them.
    pub rules: RuleState,
    /// All rules of the drain, also those of its other units.
    pub drain_rules: Vec<DeviceTaintRule>,
    /// The pods that use its devices, the least harmful to evict first.
    pub pods: Vec<UnitPod>,
    /// Claims that hold its devices, each with no pod of `pods` that it is reserved for.
    pub other_claims: Vec<NamespacedName>,
    /// The workloads of pods that this run has observed, by UID.
    pub workloads: BTreeMap<Uid, WorkloadState>,
    /// The Deployments among them, by UID, with how a restart would go and how far it is.
    pub restarts: BTreeMap<Uid, RestartState>,
    /// An unschedulable pod of each of these workloads that has one.
    pub unschedulable: BTreeMap<Uid, UnschedulablePod>,
    /// What could not be read.
    pub unread: Vec<String>,
    /// Devices of the unit that none of its rules selects, in a sentence; absent if there are none.
    pub untainted: Option<String>,
    /// Whether a wait has observed that no claim holds the devices, under any name of their hardware.
    pub is_idle: bool,
    /// How often the wait that runs beside the evictions has looked.
    pub wait_looks: usize,
    /// What that wait has seen of pods whose devices may not be released, a line each.
    pub unreleased: Vec<String>,
    /// What keeps terminating pods, in words, as far as the wait has found it.
    pub terminating: BTreeMap<NamespacedName, String>,
    /// What the wait still sees on the devices, also by other names of the hardware, a line each.
    pub not_idle: Vec<String>,
}

impl UnitFacts {
    /// Why devices without a pod are not idle, one reason each.
    pub(super) fn why_not_idle(&self) -> Vec<String> {
        if self.not_idle.is_empty() {
            return vec!["it is not yet known whether the devices are idle".to_owned()];
        }
        self.not_idle.clone()
    }

    /// A line for the unschedulable pod of each workload that `is_meant`.
    pub(super) fn unschedulable_lines(&self, is_meant: impl Fn(&Uid) -> bool) -> Vec<String> {
        let meant = self.unschedulable.iter().filter(|(uid, _)| is_meant(uid));
        meant.map(|(_, pod)| format!("pod {pod}")).collect()
    }

    /// The end of a unit of which nothing is left to evict. New pods can run on devices that no rule selects, and waiting
    /// does not change that: only another run creates rules.
    pub(super) fn end(&self, end: UnitEnd) -> UnitEnd {
        match &self.untainted {
            Some(line) => UnitEnd::Blocked(vec![line.clone()]),
            None => end,
        }
    }
}

/// Those of the `lines` that are no part of a reason.
pub(super) fn not_named(lines: Vec<String>, reasons: &[String]) -> Vec<String> {
    let is_named = |line: &String| reasons.iter().any(|reason| reason.contains(line.as_str()));
    lines.into_iter().filter(|line| !is_named(line)).collect()
}

/// Whether the rules of a unit are as the drain made them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RuleState {
    /// They block new pods.
    #[default]
    AsMade,
    /// Another user or program removed or weakened one.
    Reversed(String),
    /// Another user or program gave one another effect, which blocks new pods, too: how, in words.
    EffectChanged(String),
    /// Another run has taken over this unit.
    TakenOver(String),
}

/// A pod that uses a device of the unit.
#[derive(Clone, Debug)]
pub struct UnitPod {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later pod of the same name.
    pub uid: Uid,
    /// What its eviction means for its workload.
    pub class: PodClass,
    /// How harmful its eviction is.
    pub harm: Harm,
    /// Whether it is terminating.
    pub is_terminating: bool,
    /// When its grace period ends, if it is terminating.
    pub grace_period_end: Option<Timestamp>,
    /// Whether its replacement comes back to the same device and is evicted again, under effect NoExecute.
    pub is_evicted_again: bool,
    /// Whether a rule of the drain evicts it already: one that selects a device of it and has effect NoExecute.
    pub is_evicted_by_rule: bool,
    /// The workload whose recovery the drain waits for; absent if nothing is known to recreate the pod.
    pub workload: Option<Uid>,
}

impl UnitPod {
    /// Whether the drain evicts it.
    #[must_use]
    pub fn is_evicted(&self, included: Inclusions) -> bool {
        !self.is_terminating && self.class.treatment(included) == Treatment::Evicted
    }

    /// Whether effect NoExecute removes it for good, and an eviction does not: its claim tolerates effect NoSchedule only.
    pub(super) fn only_taint_removes(&self) -> bool {
        self.class == PodClass::TolerantForScheduler && !self.is_evicted_again
    }
}

/// What has to happen before a pod is evicted.
#[derive(Clone, Copy, Debug)]
pub(super) enum EvictionObstacle<'a> {
    /// This pod has to be gone.
    Pod(&'a UnitPod),
    /// The workload with this UID has to be ready again.
    Workload(&'a Uid),
}

/// Readiness of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadState {
    /// `KIND NAMESPACE/NAME`
    pub name: String,
    /// Ready pods; absent if unknown.
    pub ready: Option<i32>,
    /// Desired pods; absent if unknown.
    pub wanted: Option<i32>,
    /// Whether it creates no more pods: it has ended, or was deleted.
    pub has_ended: bool,
}

impl WorkloadState {
    /// Of the workload, which is of that kind.
    pub(super) fn of(kind: Kind, workload: &Workload) -> Self {
        let failure = workload.failure.as_ref();
        let ended = failure.and_then(|failure| failure.ended.as_ref());
        Self {
            name: format!("{kind} {}", workload.name),
            ready: workload.ready,
            wanted: workload.replicas,
            has_ended: match ended {
                Some(JobEnd::Complete | JobEnd::Failed(_)) => true,
                None => false,
            },
        }
    }

    /// Whether as many pods are ready as desired, or no more are created.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_ready_as(None)
    }

    /// Whether as many pods are ready as desired, or as `before`, or no more are created.
    #[must_use]
    pub fn is_ready_as(&self, before: Option<i32>) -> bool {
        let is_enough = |needed: Option<i32>| {
            let needed = self.ready.zip(needed);
            needed.is_some_and(|(ready, needed)| ready >= needed)
        };
        // A workload that was short of pods before the drain cannot be expected to be complete after it.
        self.has_ended || is_enough(self.wanted) || is_enough(before)
    }

    /// Ready and desired pods, in words, with the reason why a drain does not wait for more: there are no fewer than before
    /// it, or a pending pod is accepted.
    pub(super) fn describe_accepted(
        &self,
        has_no_fewer: bool,
        accepted: Option<&UnschedulablePod>,
    ) -> String {
        let line = self.describe();
        match accepted {
            _ if has_no_fewer => format!("{line} (no fewer than before the drain)"),
            Some(pod) => format!(
                "{line} (replacements are pending, such as pod {}; --accept-unplaceable accepts this)",
                pod.name
            ),
            None => line,
        }
    }

    /// Ready and desired pods, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.ready, self.wanted) {
            (Some(ready), Some(wanted)) => format!("{}: {ready} of {wanted} ready", self.name),
            (Some(ready), None) => format!(
                "{}: {ready} ready, the number of desired pods is unknown",
                self.name
            ),
            (None, _) => format!("{}: the number of ready pods is unknown", self.name),
        }
    }
}

/// Whether the replacement of a pod of this class comes back to the device, and tolerates effect NoExecute for the scheduler
/// alone: admin access needs no free device, a DaemonSet has no other node, and the device of a tolerant pod is free once
/// it is evicted.
fn is_evicted_again(impact: &PodImpact<'_>, class: PodClass) -> bool {
    match class {
        PodClass::KeepsClaim => true,
        PodClass::Monitor
        | PodClass::DaemonSet
        | PodClass::TolerantForScheduler
        | PodClass::TolerantDaemonSet => {
            impact.tolerates_schedule_only && impact.pod.controller.is_some()
        }
        PodClass::Replicated
        | PodClass::SingleReplica
        | PodClass::Job
        | PodClass::Unmanaged
        | PodClass::TolerantMonitor
        | PodClass::Tolerant
        | PodClass::NotEvicted => false,
    }
}

/// Whether one of these rules evicts the pod, as it is now: `impact` is that of NoExecute, whatever effect the rules have.
fn is_evicted_by_rule(pod: &PodImpact<'_>, impact: &Impact<'_>, rules: &[DeviceTaintRule]) -> bool {
    let evicts = |name: &ObjectName| {
        rules.iter().any(|rule| {
            rule.name == *name
                && rule.taint.effect == Effect::NoExecute
                && rule.metadata.labels.contains_key(RuleMetadata::DRAIN)
        })
    };
    pod.is_evicted()
        && pod.causes.iter().any(|cause| match cause.origin {
            Origin::Rule(name) => evicts(name),
            Origin::Proposed(place) => impact
                .rules
                .get(place)
                .and_then(|rule| rule.proposed.rule.as_ref())
                .is_some_and(evicts),
            Origin::ResourceSlice(_) => false,
        })
}

/// The pods of `impact`, which is that of a NoExecute taint on the devices of a unit.
///
/// Pods that have ended are left out: their claims are released without an eviction.
#[must_use]
pub fn pods_of<'a>(impact: &Impact<'a>, basis: &Basis<'a>) -> Vec<UnitPod> {
    let owners = Owners::new(basis.reading);
    let budgets = &basis.reading.snapshot.budgets;
    let refused: BTreeSet<Uid> = disruption(impact, budgets, basis.now)
        .budgets
        .iter()
        .flat_map(|budget| &budget.pods)
        .filter(|(_, answer)| match answer {
            // The Eviction API refuses a pod that several budgets match, whatever each of them allows.
            BudgetAnswer::Refused | BudgetAnswer::Ambiguous => true,
            BudgetAnswer::NotAsked | BudgetAnswer::Allowed => false,
        })
        .map(|(pod, _)| pod.uid.clone())
        .collect();
    let pods = impact.pods.iter();
    let running = pods.filter(|impact| !impact.pod.phase.is_terminal());
    let rules = &basis.reading.snapshot.rules;
    let mut pods: Vec<UnitPod> = running
        .map(|found| {
            let pod = found.pod;
            let class = PodClass::of(found, &owners);
            let budgets = if refused.contains(&pod.uid) {
                BudgetState::Refuses
            } else {
                BudgetState::Allows
            };
            UnitPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                class,
                harm: Harm::of(pod, class, budgets),
                is_terminating: match found.verdict {
                    Verdict::Terminating => true,
                    // A pod that stays despite the taint may be terminating for another reason.
                    Verdict::Evicted { .. } | Verdict::Tolerates | Verdict::NotEvicted(_) => {
                        pod.deletion.is_some()
                    }
                },
                grace_period_end: pod.deletion.as_ref().map(|deletion| deletion.at),
                is_evicted_again: is_evicted_again(found, class),
                is_evicted_by_rule: is_evicted_by_rule(found, impact, rules),
                workload: workload_of(pod, &owners)
                    // A DaemonSet recreates its pod on the same node, where it stays pending until the drain is undone.
                    .filter(|_| !matches!(class, PodClass::DaemonSet | PodClass::TolerantDaemonSet))
                    .map(|workload| workload.uid.clone()),
            }
        })
        .collect();
    pods.sort_by(|left, right| left.harm.cmp(&right.harm));
    pods
}

/// The topmost owner of a pod that reports desired and ready pods; else the nearest owner that was read.
pub(super) fn workload_of<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Option<&'a Workload> {
    let above = owners.owners_of(pod);
    let telling = above.iter().rev();
    // The topmost one: a rollout moves pods between the ReplicaSets of a Deployment, and only the Deployment
    // has the sum.
    let telling = telling.copied().find(|it| it.has_recovered().is_some());
    telling.or_else(|| above.first().copied())
}

/// An unschedulable pod of each of the `workloads` that has one among `pods`, as far as owners were read. A pod counts for
/// each of its owners: the run that recorded a ReplicaSet may have been unable to read the Deployment.
#[must_use]
pub fn unschedulable_by_workload(
    pods: &[Pod],
    reading: &Reading,
    workloads: &BTreeSet<&Uid>,
) -> BTreeMap<Uid, UnschedulablePod> {
    let owners = Owners::new(reading);
    let mut found = BTreeMap::new();
    for pod in pods {
        let Some(unschedulable) = UnschedulablePod::of(pod) else {
            continue;
        };
        let above = owners.owners_of(pod).into_iter();
        let awaited = above.filter(|owner| workloads.contains(&owner.uid));
        found.extend(awaited.map(|owner| (owner.uid.clone(), unschedulable.clone())));
    }
    found
}

/// Readiness of the workloads of `pods` in `reading`, by UID, and the workloads that could not be read. The pods may be
/// gone: their owners are found by name.
#[must_use]
pub fn workload_states(
    pods: &[Pod],
    reading: &Reading,
) -> (BTreeMap<Uid, WorkloadState>, Vec<String>) {
    let owners = Owners::new(reading);
    let kinds: BTreeMap<&Uid, Kind> = reading
        .snapshot
        .workloads()
        .into_iter()
        .map(|(kind, workload)| (&workload.uid, kind))
        .collect();
    let mut states = BTreeMap::new();
    let mut unread = BTreeSet::new();
    for pod in pods {
        if let Some(workload) = workload_of(pod, &owners) {
            let kind = kinds.get(&workload.uid).copied();
            let state = kind.map(|kind| WorkloadState::of(kind, workload));
            states.extend(state.map(|state| (workload.uid.clone(), state)));
            continue;
        }
        let owner = pod.controller.as_ref();
        // A pod whose owner is of no known kind has no workload to wait for, which is no gap.
        let Some((owner, kind)) = owner.and_then(|it| Some((it, it.workload_kind()?))) else {
            continue;
        };
        // An owner that is missing from a complete list was deleted, and creates no more pods.
        if reading.without(kind).is_some() {
            unread.insert(format!("{kind} {}/{}", pod.name.namespace, owner.name));
        }
    }
    (states, unread.into_iter().collect())
}

/// The claims that hold `devices` and are not reserved for any of `pods`: such a claim holds a device as well, so the unit is
/// not idle.
#[must_use]
pub fn other_claims(
    snapshot: &Snapshot,
    devices: &BTreeSet<DeviceId>,
    pods: &[UnitPod],
) -> Vec<NamespacedName> {
    let uids: BTreeSet<&Uid> = pods.iter().map(|pod| &pod.uid).collect();
    let others = holders(snapshot, devices).into_iter().filter(|holder| {
        let mut users = holder.claim.reserved_for.iter();
        !users.any(|user| uids.contains(&user.uid))
    });
    others.map(|holder| holder.claim.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned, unit_pod};
    use crate::engine::testing::{claim_in_use, device};
    use crate::model::{Gap, Scheduled, Scheduling};
    use crate::report::testing::{impact, now, semantics, with_verdict};

    #[test]
    fn a_claim_that_no_pod_of_the_unit_uses_holds_it_too() {
        let pod = owned("web-1", None);
        let mut snapshot = Cluster::default().reading.snapshot;
        snapshot.claims = vec![claim_in_use(&pod)];
        let used = [unit_pod(&pod, PodClass::Replicated)];
        let on =
            |name: &str, pods: &[UnitPod]| other_claims(&snapshot, &[device(name)].into(), pods);
        let claim = crate::engine::testing::name("team-a", "web-1-gpu");
        assert_eq!(on("gpu-0", &used), []);
        assert_eq!(on("gpu-0", &[]), std::slice::from_ref(&claim));
        let other = [unit_pod(&owned("web-2", None), PodClass::Replicated)];
        assert_eq!(on("gpu-0", &other), [claim]);
        assert_eq!(on("gpu-1", &[]), []);
    }

    #[test]
    fn a_workload_is_told_by_the_topmost_owner_that_says_how_many_it_wants() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 2);
        let pod = owned("web-1", Some(("ReplicaSet", "web")));
        let (states, unread) = workload_states(&[pod], &cluster.reading);
        assert_eq!(unread, Vec::<String>::new());
        let lines: Vec<String> = states.values().map(WorkloadState::describe).collect();
        assert_eq!(lines, ["ReplicaSet team-a/web: 2 of 3 ready"]);
    }

    #[test]
    fn an_owner_that_could_not_be_read_is_unread_and_one_that_is_gone_is_not() {
        let mut cluster = Cluster::default();
        let pods = [owned("web-1", Some(("ReplicaSet", "web")))];
        assert_eq!(
            workload_states(&pods, &cluster.reading),
            (BTreeMap::new(), Vec::new())
        );
        cluster.reading.known.remove(&Kind::ReplicaSet);
        cluster.reading.gaps = vec![Gap::of(Kind::ReplicaSet, "denied")];
        let (states, unread) = workload_states(&pods, &cluster.reading);
        assert!(states.is_empty());
        assert_eq!(unread, ["ReplicaSet team-a/web"]);
    }

    #[test]
    fn a_pending_pod_counts_for_each_of_its_owners_that_is_waited_for() {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 3);
        let mut waiting = owned("web-4", Some(("ReplicaSet", "web-6d")));
        waiting.node = None;
        waiting.scheduling = Some(Box::new(Scheduling {
            said: Some(Scheduled {
                is_scheduled: false,
                since: None,
                reason: "Unschedulable".into(),
                message: "Insufficient cpu".into(),
            }),
            ..Scheduling::default()
        }));
        let maker = waiting.controller.as_ref().unwrap().uid.clone();
        let top = cluster.reading.snapshot.deployments[0].0.uid.clone();
        let placed = owned("web-1", Some(("ReplicaSet", "web-6d")));
        let pods = [placed, waiting];
        let found = |awaited: &[&Uid]| -> Vec<(Uid, String)> {
            let awaited = awaited.iter().copied().collect();
            let found = unschedulable_by_workload(&pods, &cluster.reading, &awaited);
            let found = found.into_iter();
            found
                .map(|(uid, pod)| (uid, pod.name.name.to_string()))
                .collect()
        };
        let pending = |uid: &Uid| (uid.clone(), "web-4".to_owned());
        assert_eq!(found(&[&top]), [pending(&top)]);
        assert_eq!(found(&[&maker]), [pending(&maker)], "recorded without it");
        assert_eq!(found(&[&top, &maker]).len(), 2);
        assert_eq!(found(&[&Uid::from("other")]), []);
    }

    #[test]
    fn a_workload_of_unknown_numbers_says_so() {
        let described = |ready, wanted| {
            let state = WorkloadState {
                name: "ReplicaSet team-a/web".to_owned(),
                ready,
                wanted,
                has_ended: false,
            };
            state.describe()
        };
        let unknown = "ReplicaSet team-a/web: the number of ready pods is unknown";
        assert_eq!(described(None, Some(1)), unknown);
        assert_eq!(described(None, None), unknown);
        assert_eq!(
            described(Some(1), None),
            "ReplicaSet team-a/web: 1 ready, the number of desired pods is unknown"
        );
    }

    #[test]
    fn a_monitor_is_evicted_again_that_is_recreated_and_tolerates_the_taint_for_the_scheduler() {
        let again = |owner, class, schedule_only| {
            let pod = owned("x", owner);
            let impact = PodImpact {
                tolerates_schedule_only: schedule_only,
                ..with_verdict(&pod, Verdict::Evicted { at: now() })
            };
            is_evicted_again(&impact, class)
        };
        let agent = Some(("DaemonSet", "agent"));
        for class in [PodClass::Monitor, PodClass::DaemonSet] {
            assert!(again(agent, class, true), "{class:?}");
            assert!(!again(agent, class, false), "{class:?}: it stays pending");
        }
        assert!(
            !again(None, PodClass::Monitor, true),
            "nothing recreates it"
        );
        let web = Some(("ReplicaSet", "web"));
        assert!(
            !again(web, PodClass::Replicated, true),
            "there are other devices"
        );
        assert!(again(web, PodClass::KeepsClaim, false));
        assert!(again(web, PodClass::TolerantForScheduler, true));
        assert!(
            !again(web, PodClass::TolerantForScheduler, false),
            "it tolerates effect NoSchedule only"
        );
    }

    #[test]
    fn a_rule_of_a_drain_evicts_a_pod_already_once_its_effect_is_no_execute() {
        use crate::decide::drain::testing::drain_rule;
        use crate::engine::testing::cause;
        use crate::engine::{Counts, ProposedTaint, RuleImpact};
        let pod = owned("web-1", Some(("ReplicaSet", "web")));
        let rules = [
            drain_rule("low", "node-1", "NoSchedule"),
            drain_rule("high", "node-1", "NoExecute"),
            crate::decide::testing::named("other", "NoExecute"),
        ];
        let proposed: Vec<ProposedTaint> = rules
            .iter()
            .map(|rule| ProposedTaint::of_changed_rule(rule, &Effect::NoExecute, now()))
            .collect();
        let mut impact = impact(Vec::new());
        let of_rules = proposed.iter().map(|proposed| RuleImpact {
            proposed,
            counts: Counts::default(),
            terminating: 0,
            staying: 0,
        });
        impact.rules = of_rules.collect();
        let is_evicted = |origins: &[Origin<'_>], verdict| {
            let found = PodImpact {
                causes: origins.iter().map(|origin| cause(*origin, 0)).collect(),
                ..with_verdict(&pod, verdict)
            };
            is_evicted_by_rule(&found, &impact, &rules)
        };
        let evicts = |origins: &[Origin<'_>]| is_evicted(origins, Verdict::Evicted { at: now() });
        assert!(!evicts(&[Origin::Proposed(0)]));
        assert!(evicts(&[Origin::Proposed(0), Origin::Proposed(1)]));
        assert!(!evicts(&[Origin::Proposed(2)]), "no rule of a drain");
        assert!(!evicts(&[Origin::Proposed(3)]));
        assert!(evicts(&[Origin::Proposed(0), Origin::Rule(&rules[1].name)]));
        assert!(!evicts(&[Origin::Rule(&rules[0].name)]));
        assert!(!evicts(&[Origin::ResourceSlice(&rules[1].name)]));
        assert!(!is_evicted(&[Origin::Proposed(1)], Verdict::Terminating));
    }

    #[test]
    fn pods_come_the_least_harmful_first_and_those_that_ended_not_at_all() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 3);
        let web = owned("web-1", Some(("ReplicaSet", "web")));
        let job = owned("a-job", Some(("Job", "train")));
        let mut leaving = owned("web-2", Some(("ReplicaSet", "web")));
        leaving.deletion = Some(crate::model::Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        let mut ended = owned("web-3", Some(("ReplicaSet", "web")));
        ended.phase = crate::model::Phase::Succeeded;
        let at = Verdict::Evicted { at: now() };
        let used = crate::decide::drain::testing::used();
        let of = |pod, verdict| {
            let mut impact = with_verdict(pod, verdict);
            impact.claims = vec![used.claim_use()];
            impact
        };
        let impact = impact(vec![
            of(&job, at.clone()),
            of(&leaving, Verdict::Terminating),
            of(&web, at.clone()),
            of(&ended, at),
        ]);
        let semantics = semantics(37);
        let basis = Basis::new(&cluster.reading, &semantics, now());
        let pods = pods_of(&impact, &basis);
        let found: Vec<(&str, PodClass, bool, bool)> = pods
            .iter()
            .map(|pod| {
                (
                    pod.name.name.as_str(),
                    pod.class,
                    pod.is_terminating,
                    pod.workload.is_some(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("web-1", PodClass::Replicated, false, true),
                ("web-2", PodClass::Replicated, true, true),
                ("a-job", PodClass::Job, false, false),
            ]
        );
    }

    #[test]
    fn the_workload_of_a_daemon_set_is_not_waited_for() {
        let cluster = Cluster::default();
        let mut reading = cluster.reading;
        let agent = crate::report::testing::workload("agent", 1);
        reading
            .snapshot
            .daemon_sets
            .push(crate::model::DaemonSet(agent));
        let pod = owned("agent-1", Some(("DaemonSet", "agent")));
        let semantics = semantics(37);
        let basis = Basis::new(&reading, &semantics, now());
        for tolerates in [false, true] {
            let used = crate::decide::drain::testing::used();
            let mut found = with_verdict(&pod, Verdict::Evicted { at: now() });
            found.claims = vec![used.claim_use()];
            found.tolerates_no_schedule = tolerates;
            let pods = pods_of(&impact(vec![found]), &basis);
            let expected = if tolerates {
                PodClass::TolerantDaemonSet
            } else {
                PodClass::DaemonSet
            };
            assert_eq!((pods[0].class, pods[0].workload.as_ref()), (expected, None));
        }
    }

    #[test]
    fn a_deployment_of_unknown_numbers_leaves_its_replica_set_to_be_waited_for() {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 3);
        let pod = owned("web-1", Some(("ReplicaSet", "web-6d")));
        let name = |cluster: &Cluster| {
            let owners = Owners::new(&cluster.reading);
            workload_of(&pod, &owners).map(|found| found.name.name.to_string())
        };
        assert_eq!(name(&cluster).as_deref(), Some("web"));
        let deployment = &mut cluster.reading.snapshot.deployments[0].0;
        (deployment.replicas, deployment.ready) = (None, None);
        assert_eq!(name(&cluster).as_deref(), Some("web-6d"));
    }

    #[test]
    fn pods_that_a_budget_refuses_come_after_those_that_it_allows() {
        use crate::decide::drain::testing::{budget, used};
        let mut cluster = Cluster::default();
        let pods = ["web-1", "web-2"].map(|name| owned(name, Some(("ReplicaSet", "web"))));
        cluster.replica_set("web", 3, 3);
        let mut about_one = budget(3, 3, 3);
        about_one.selector = Some(crate::model::LabelSelector {
            labels: [("name".to_owned(), "web-1".to_owned())].into(),
            ..Default::default()
        });
        let labelled = pods.map(|mut pod| {
            let name = pod.name.name.to_string();
            pod.labels = vec![("name".into(), name.as_str().into())];
            pod
        });
        let semantics = semantics(37);
        let used = used();
        let order = |budgets: Vec<crate::model::PodDisruptionBudget>| -> Vec<String> {
            let mut reading = cluster.reading.clone();
            reading.snapshot.budgets = budgets;
            let basis = Basis::new(&reading, &semantics, now());
            let found = labelled.iter().map(|pod| {
                let mut found = with_verdict(pod, Verdict::Evicted { at: now() });
                found.claims = vec![used.claim_use()];
                found
            });
            let pods = pods_of(&impact(found.collect()), &basis).into_iter();
            pods.map(|pod| pod.name.name.to_string()).collect()
        };
        assert_eq!(order(Vec::new()), ["web-1", "web-2"]);
        assert_eq!(order(vec![about_one.clone()]), ["web-2", "web-1"]);
        about_one.status.disruptions_allowed = 1;
        assert_eq!(order(vec![about_one.clone()]), ["web-1", "web-2"]);
        // Two budgets about a pod refuse it, whatever each allows.
        assert_eq!(
            order(vec![about_one.clone(), about_one]),
            ["web-2", "web-1"]
        );
    }
}
