//! Facts about one unit, as observed at one time.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{BudgetState, Harm};
use super::pod_class::{Inclusions, PodClass, Treatment};
use super::restart::RestartState;
use crate::assess::Basis;
use crate::decide::draft::RuleDraft;
use crate::engine::disruption::{BudgetAnswer, allows_first, disruption};
use crate::engine::workloads::Owners;
use crate::engine::{Impact, PodImpact, Verdict};
use crate::model::{
    DeviceTaintRule, Effect, JobEnd, Kind, NamespacedName, Pod, Reading, Uid, Workload,
};

/// Facts about a unit at one time.
#[derive(Clone, Debug, Default)]
pub struct UnitFacts {
    /// Change of its rules by another user or run, which ends the drain.
    pub change: Option<String>,
    /// True if all of its rules have effect NoExecute.
    pub is_raised: bool,
    /// The pods that use its devices, the least harmful to evict first.
    pub pods: Vec<UnitPod>,
    /// The workloads of these pods, by UID.
    pub workloads: BTreeMap<Uid, WorkloadState>,
    /// The Deployments among them that start new pods first, by UID.
    pub restarts: BTreeMap<Uid, RestartState>,
    /// Data that could not be read.
    pub unread: Vec<String>,
    /// Claims on the devices, as the wait beside the evictions observes them.
    pub wait: IdleWait,
}

/// Observations of a wait until no claim holds the devices.
#[derive(Clone, Debug, Default)]
pub struct IdleWait {
    /// True if no claim has held them for long enough, by data that was read whole.
    pub is_idle: bool,
    /// Claims that hold them, a line each.
    pub left: Vec<String>,
    /// Reasons why terminating pods are not gone.
    pub terminating: BTreeMap<NamespacedName, String>,
    /// Pods that were force-deleted, so that their nodes may not have released the devices, a line each.
    pub unreleased: Vec<String>,
}

/// A pod that uses a device of the unit.
#[derive(Clone, Debug)]
pub struct UnitPod {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later pod of the same name.
    pub uid: Uid,
    /// Consequence of its eviction for its workload.
    pub class: PodClass,
    /// Harm of its eviction.
    pub harm: Harm,
    /// True if it is terminating.
    pub is_terminating: bool,
    /// True if its replacement comes back to the same device and is evicted again, under effect NoExecute.
    pub is_evicted_again: bool,
    /// The budgets that allow no eviction of it now.
    pub budgets: Vec<NamespacedName>,
    /// The workload that recreates it elsewhere; absent if none is known to.
    pub workload: Option<Uid>,
}

impl UnitPod {
    /// True if the drain evicts it.
    pub fn is_evicted(&self, included: Inclusions) -> bool {
        !self.is_terminating && self.class.treatment(included) == Treatment::Evicted
    }

    /// True if it stays and holds the devices.
    pub fn holds(&self, included: Inclusions) -> bool {
        !self.is_terminating && self.class.treatment(included) == Treatment::Stays
    }
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
    /// True if it creates no more pods.
    pub has_ended: bool,
}

impl WorkloadState {
    fn of(kind: Kind, workload: &Workload) -> Self {
        let failure = workload.failure.as_ref();
        Self {
            name: format!("{kind} {}", workload.name),
            ready: workload.ready,
            wanted: workload.replicas,
            has_ended: match failure.and_then(|failure| failure.ended.as_ref()) {
                Some(JobEnd::Complete | JobEnd::Failed(_)) => true,
                None => false,
            },
        }
    }

    /// True if as many pods are ready as desired, or as `before`, or no more are created.
    pub fn is_ready(&self, before: Option<i32>) -> bool {
        let is_enough = |needed: Option<i32>| {
            let needed = self.ready.zip(needed);
            needed.is_some_and(|(ready, needed)| ready >= needed)
        };
        // A workload that was short of pods before the drain cannot be expected to be complete after it.
        self.has_ended || is_enough(self.wanted) || is_enough(before)
    }

    /// Ready and desired pods, as text.
    pub fn describe(&self) -> String {
        let count =
            |count: Option<i32>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let (ready, wanted) = (count(self.ready), count(self.wanted));
        format!("{}: ready {ready} of {wanted}", self.name)
    }
}

/// The pods of `impact`, which is that of a NoExecute taint on the devices of a unit.
///
/// Pods that have ended are left out: their claims are released without an eviction.
pub fn pods_of<'a>(impact: &Impact<'a>, basis: &Basis<'a>) -> Vec<UnitPod> {
    let owners = Owners::new(basis.reading);
    let budgets = refusing_budgets(impact, basis);
    let pods = impact.pods.iter();
    let running = pods.filter(|impact| !impact.pod.phase.is_terminal());
    let mut pods: Vec<UnitPod> = running
        .map(|found| {
            let pod = found.pod;
            let class = PodClass::of(found, &owners);
            let budgets = budgets.get(&pod.uid).cloned().unwrap_or_default();
            let state = match budgets.is_empty() {
                true => BudgetState::Allows,
                false => BudgetState::Refuses,
            };
            UnitPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                class,
                harm: Harm::of(pod, class, state),
                is_terminating: pod.deletion.is_some() || found.verdict == Verdict::Terminating,
                is_evicted_again: is_evicted_again(found, class),
                budgets,
                // A DaemonSet recreates its pod on the same node, where it stays pending until the drain is undone.
                workload: workload_of(pod, &owners)
                    .filter(|_| class != PodClass::DaemonSet)
                    .map(|workload| workload.uid.clone()),
            }
        })
        .collect();
    pods.sort_by(|left, right| left.harm.cmp(&right.harm));
    pods
}

/// The budgets that refuse each pod before any other is evicted. Several budgets refuse together, whatever each allows.
///
/// Upstream: `pkg/registry/core/pod/storage/eviction.go`.
fn refusing_budgets<'a>(
    impact: &Impact<'a>,
    basis: &Basis<'a>,
) -> BTreeMap<&'a Uid, Vec<NamespacedName>> {
    let budgets = &basis.reading.snapshot.budgets;
    let mut refusing: BTreeMap<&Uid, Vec<NamespacedName>> = BTreeMap::new();
    for found in disruption(impact, budgets, basis.now).budgets {
        for (pod, answer) in found.pods {
            let refuses = match answer {
                BudgetAnswer::Refused => !allows_first(found.budget, pod),
                BudgetAnswer::Ambiguous => true,
                BudgetAnswer::NotAsked | BudgetAnswer::Allowed => false,
            };
            if refuses {
                let names = refusing.entry(&pod.uid).or_default();
                names.push(found.budget.name.clone());
            }
        }
    }
    refusing
}

/// True if the replacement of a pod comes back to the device, and tolerates effect NoExecute for the scheduler alone:
/// admin access needs no free device, a DaemonSet has no other node, and the device of a tolerant pod is free once it is
/// evicted.
fn is_evicted_again(impact: &PodImpact<'_>, class: PodClass) -> bool {
    match class {
        PodClass::KeepsClaim => true,
        PodClass::Admin | PodClass::DaemonSet | PodClass::Tolerant => {
            impact.tolerates_schedule_only && impact.pod.controller.is_some()
        }
        PodClass::Replicated
        | PodClass::Singleton
        | PodClass::Job
        | PodClass::Unmanaged
        | PodClass::NotEvicted => false,
    }
}

/// The topmost owner of a pod that reports desired and ready pods; else the nearest owner that was read. A rollout moves
/// pods between the ReplicaSets of a Deployment, and only the Deployment has the sum.
fn workload_of<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Option<&'a Workload> {
    let above = owners.owners_of(pod);
    let counting = above.iter().rev().copied();
    let mut counting = counting.filter(|owner| owner.has_recovered().is_some());
    counting.next().or_else(|| above.first().copied())
}

/// Readiness of the workloads of `pods` in `reading`, by UID, and the workloads that could not be read.
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
        // A pod whose owner is of no known kind has no workload to wait for, which is no gap.
        let owner = pod.controller.as_ref();
        let Some((owner, kind)) = owner.and_then(|it| Some((it, it.workload_kind()?))) else {
            continue;
        };
        // An owner that is missing from a complete list was deleted, and creates no more pods.
        if reading.without(kind).is_some() {
            unread.insert(format!(
                "{kind} {}/{} could not be read",
                pod.name.namespace, owner.name
            ));
        }
    }
    (states, unread.into_iter().collect())
}

/// Data without which the pods that use the devices are not known, a line for each kind.
pub fn unread(reading: &Reading) -> Vec<String> {
    let needed = [
        Kind::Pod,
        Kind::ResourceClaim,
        Kind::ResourceSlice,
        Kind::DeviceTaintRule,
    ];
    let gaps = reading.gaps.iter();
    gaps.filter(|gap| gap.kind().is_some_and(|kind| needed.contains(&kind)))
        .map(|gap| format!("{} could not be read: {}", gap.what, gap.why))
        .collect()
}

/// The rules of a unit when its turn comes, as they are in `found`.
///
/// # Errors
///
/// One was removed or changed since this run began.
pub fn rules_as_made(
    drafts: &[&RuleDraft],
    found: &[DeviceTaintRule],
) -> Result<Vec<DeviceTaintRule>, String> {
    let rules = drafts.iter().map(|draft| {
        let name = &draft.name;
        let rule = found.iter().find(|rule| rule.name.as_str() == *name);
        let rule = rule.filter(|rule| rule.metadata.deletion.is_none());
        let rule = rule.ok_or_else(|| format!("rule {name} was removed"))?;
        match draft.is_spec_of(rule) {
            true => Ok(rule.clone()),
            false => Err(format!("rule {name} was changed")),
        }
    });
    rules.collect()
}

/// Change of the rules that this run has left as `made`; absent if there is none.
pub fn rule_change(made: &[DeviceTaintRule], found: &[DeviceTaintRule]) -> Option<String> {
    made.iter().find_map(|rule| {
        let name = &rule.name;
        let Some(now) = found.iter().find(|found| found.name == *name) else {
            return Some(format!("rule {name} was removed"));
        };
        let was = |what: &str| Some(format!("rule {name} was {what}"));
        if now.uid != rule.uid || now.metadata.deletion.is_some() {
            return was("removed");
        }
        if now.selector != rule.selector
            || now.taint.key != rule.taint.key
            || now.taint.value != rule.taint.value
        {
            return was("changed");
        }
        (now.taint.effect != rule.taint.effect)
            .then(|| format!("rule {name} was given effect {}", now.taint.effect))
    })
}

/// True if all rules evict pods themselves.
pub fn is_raised(rules: &[DeviceTaintRule]) -> bool {
    let mut rules = rules.iter();
    rules.all(|rule| rule.taint.effect == Effect::NoExecute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, drain_rule, owned};
    use crate::model::Gap;

    #[test]
    fn an_owner_that_could_not_be_read_is_unread_and_one_that_is_gone_is_not() {
        let mut cluster = Cluster::default();
        let pods = [owned("web-1", Some(("ReplicaSet", "web")))];
        let nothing = (BTreeMap::new(), Vec::new());
        assert_eq!(workload_states(&pods, &cluster.reading), nothing);
        cluster.reading.known.remove(&Kind::ReplicaSet);
        cluster.reading.gaps = vec![Gap::of(Kind::ReplicaSet, "denied")];
        let (states, unread) = workload_states(&pods, &cluster.reading);
        assert!(states.is_empty());
        assert_eq!(unread.len(), 1);
        assert_eq!(super::unread(&cluster.reading), Vec::<String>::new());
        cluster.reading.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        assert_eq!(super::unread(&cluster.reading).len(), 1);
    }

    #[test]
    fn a_workload_is_the_topmost_owner_that_counts_its_pods() {
        let mut cluster = Cluster::default();
        cluster.deployment("web", 3);
        let pod = owned("web-1", Some(("ReplicaSet", "web-6d")));
        let (states, _) = workload_states(&[pod], &cluster.reading);
        let names: Vec<&str> = states.values().map(|state| state.name.as_str()).collect();
        assert_eq!(names, ["Deployment team-a/web"]);
    }

    #[test]
    fn a_workload_is_ready_with_as_many_pods_as_desired_or_before() {
        let state = |ready, wanted, has_ended| WorkloadState {
            name: String::new(),
            ready,
            wanted,
            has_ended,
        };
        for (state, before, expected) in [
            (state(Some(3), Some(3), false), None, true),
            (state(Some(2), Some(3), false), None, false),
            (state(Some(2), Some(3), false), Some(2), true),
            (state(Some(1), Some(3), false), Some(2), false),
            (state(Some(1), Some(1), false), Some(2), true),
            (state(None, Some(3), false), Some(2), false),
            (state(Some(3), None, false), None, false),
            (state(Some(0), Some(1), true), None, true),
        ] {
            assert_eq!(state.is_ready(before), expected, "{state:?} {before:?}");
        }
    }

    #[test]
    fn a_rule_that_was_removed_weakened_or_taken_over_is_a_change() {
        let made = drain_rule("a", "node-1", "NoSchedule");
        let changed = |change: &dyn Fn(&mut DeviceTaintRule)| {
            let mut now = made.clone();
            change(&mut now);
            rule_change(std::slice::from_ref(&made), &[now])
        };
        assert_eq!(changed(&|_| {}), None);
        assert_eq!(
            changed(&|rule| rule.metadata.labels.clear()),
            None,
            "labels"
        );
        assert!(rule_change(std::slice::from_ref(&made), &[]).is_some());
        assert!(changed(&|rule| rule.uid = "other".into()).is_some());
        assert!(changed(&|rule| rule.selector = None).is_some());
        assert!(changed(&|rule| rule.taint.value = "other".to_owned()).is_some());
        for effect in [Effect::None, Effect::NoExecute] {
            assert!(changed(&|rule| rule.taint.effect = effect.clone()).is_some());
        }
    }
}
