//! Facts about one unit, as observed at one time.

use super::start::RestartState;
use crate::assess::Basis;
use crate::decide::draft::RuleDraft;
use crate::engine::disruption::{BudgetAnswer, allows_first, disruption};
use crate::engine::impact::replacement_takes_claim;
use crate::engine::workloads::Owners;
use crate::engine::{Impact, PodImpact, Verdict};
use crate::model::{
    DeviceTaintRule, Effect, JobEnd, Kind, NamespacedName, Pod, QosClass, Reading, Uid, Workload,
};
use std::collections::{BTreeMap, BTreeSet};

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
    /// True if effect NoExecute evicts it.
    pub is_evicted_by_taint: bool,
    /// True if its replacement comes back to the same device and is evicted again, under effect NoExecute.
    pub is_evicted_again: bool,
    /// The budgets that allow no eviction of it now.
    pub budgets: Vec<NamespacedName>,
    /// The workload that recreates it elsewhere; absent if none is known to.
    pub workload: Option<Uid>,
}

impl UnitPod {
    /// True if the drain evicts it.
    pub fn is_evicted(&self, included: &[IncludedClass]) -> bool {
        !self.is_terminating && self.class.treatment(included) == Treatment::Evicted
    }

    /// True if it stays and holds the devices.
    pub fn holds(&self, included: &[IncludedClass]) -> bool {
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
            UnitPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                class,
                harm: Harm::of(pod, class, &budgets),
                is_terminating: pod.deletion.is_some() || found.verdict == Verdict::Terminating,
                is_evicted_by_taint: found.is_evicted(),
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
    reading
        .gaps_of(&needed)
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

/// Consequence of a pod's eviction, the least harmful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodClass {
    /// Its workload recreates it, elsewhere if need be.
    Replicated,
    /// The only pod of a StatefulSet: nothing serves until its replacement is ready.
    Singleton,
    /// Of a Job, which may fail.
    Job,
    /// Nothing is known to recreate it.
    Unmanaged,
    /// Of a DaemonSet, which recreates it on the same node.
    DaemonSet,
    /// Its claims have admin access, which takes the devices from no other pod.
    Admin,
    /// It tolerates the taint of the drain, or its replacement would for the scheduler.
    Tolerant,
    /// Its replacement would use the same claim, which stays allocated.
    KeepsClaim,
    /// The eviction controller leaves it alone, for example because it has no node yet.
    NotEvicted,
}

/// Classes of pods that are evicted only if they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum IncludedClass {
    /// Pods of DaemonSets
    Daemonsets,
    /// Pods of single-replica StatefulSets
    Singletons,
    /// Pods of Jobs
    Jobs,
    /// Pods that no known workload recreates
    Unmanaged,
}

impl IncludedClass {
    /// All but pods of DaemonSets, which a drain leaves in place.
    pub const ALL_RECREATED: [Self; 3] = [Self::Singletons, Self::Jobs, Self::Unmanaged];
}

/// Treatment of the pods of a class by a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They are evicted.
    Evicted,
    /// The drain does not begin unless `--include` names this class.
    NeedsInclude(&'static str),
    /// They stay, and hold the devices.
    Stays,
    /// They stay, and hold no device.
    Ignored,
}

impl PodClass {
    /// The class of a pod with its verdict under a NoExecute taint on its devices.
    pub fn of<'a>(impact: &PodImpact<'a>, owners: &Owners<'a>) -> Self {
        if impact.has_admin_access_only() {
            return Self::Admin;
        }
        let owned = || Self::of_owner(impact.pod, owners);
        match impact.verdict {
            Verdict::Tolerates => Self::Tolerant,
            Verdict::NotEvicted(_) => Self::NotEvicted,
            Verdict::Evicted { .. } | Verdict::Terminating if replacement_takes_claim(impact) => {
                Self::KeepsClaim
            }
            Verdict::Evicted { .. } | Verdict::Terminating if impact.replacement_tolerates() => {
                Self::Tolerant
            }
            Verdict::Evicted { .. } | Verdict::Terminating => owned(),
        }
    }

    fn of_owner<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Self {
        let Some(kind) = pod.controller.as_ref().and_then(|it| it.workload_kind()) else {
            // It is unknown if an owner of another kind recreates the pod.
            return Self::Unmanaged;
        };
        let owner = owners.owners_of(pod).into_iter().next();
        let several = |owner: &Workload| owner.replicas.is_some_and(|replicas| replicas > 1);
        if kind == Kind::DaemonSet {
            Self::DaemonSet
        } else if kind == Kind::Job {
            Self::Job
        } else if kind == Kind::StatefulSet && !owner.is_some_and(several) {
            // A StatefulSet that was not read may have one replica.
            Self::Singleton
        } else {
            Self::Replicated
        }
    }

    /// Treatment of pods of the class.
    pub fn treatment(self, included: &[IncludedClass]) -> Treatment {
        let by_flag = |class, name| match included.contains(&class) {
            true => Treatment::Evicted,
            false => Treatment::NeedsInclude(name),
        };
        match self {
            Self::Replicated => Treatment::Evicted,
            Self::Singleton => by_flag(IncludedClass::Singletons, "singletons"),
            Self::Job => by_flag(IncludedClass::Jobs, "jobs"),
            Self::Unmanaged => by_flag(IncludedClass::Unmanaged, "unmanaged"),
            Self::DaemonSet if included.contains(&IncludedClass::Daemonsets) => Treatment::Evicted,
            Self::DaemonSet | Self::Tolerant | Self::KeepsClaim | Self::NotEvicted => {
                Treatment::Stays
            }
            Self::Admin => Treatment::Ignored,
        }
    }

    /// Kind of the pods, as a short reason.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Replicated => "recreated by their workloads",
            Self::Singleton => "only pod of a StatefulSet",
            Self::Job => "Job",
            Self::Unmanaged => "nothing recreates them",
            Self::DaemonSet => "DaemonSet",
            Self::Admin => "admin access",
            Self::Tolerant => "tolerates the taint",
            Self::KeepsClaim => "replacement uses the same claim",
            Self::NotEvicted => "not evicted by taints",
        }
    }
}

/// Longest grace period that counts as short, as for hazards.
const SHORT_GRACE_SECONDS: i64 = 10;

/// Rank of the harm that the eviction of a pod does; least first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Harm {
    class: PodClass,
    tier: u8,
    is_ready: bool,
    quality: u8,
    priority: i32,
    name: NamespacedName,
}

impl Harm {
    /// Of the eviction of `pod`.
    pub fn of(pod: &Pod, class: PodClass, refusing: &[NamespacedName]) -> Self {
        let is_short = pod.grace_period_seconds <= SHORT_GRACE_SECONDS;
        let tier = match (refusing.is_empty(), is_short) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        let quality = match pod.qos_class {
            Some(QosClass::BestEffort) => 0,
            Some(QosClass::Burstable) => 1,
            Some(QosClass::Guaranteed | QosClass::Unknown(_)) | None => 2,
        };
        Self {
            class,
            tier,
            is_ready: pod.is_ready,
            quality,
            priority: pod.priority,
            name: pod.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, drain_rule, owned};
    use crate::engine::testing::{pod, with_verdict};
    use crate::engine::{ClaimUse, testing};
    use crate::model::{Gap, ResourceClaim};

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

    fn use_of(claim: &ResourceClaim) -> ClaimUse<'_> {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        ClaimUse {
            claim: &claim.name,
            results: results.collect(),
        }
    }

    #[test]
    fn an_owner_decides_the_class_and_an_unknown_one_the_most_careful() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 3);
        cluster.stateful_set("db", 1, 1);
        cluster.stateful_set("shards", 3, 3);
        cluster.job("train", 1);
        for (owner, expected) in [
            (Some(("ReplicaSet", "web")), PodClass::Replicated),
            (Some(("ReplicaSet", "unread")), PodClass::Replicated),
            (Some(("StatefulSet", "db")), PodClass::Singleton),
            (Some(("StatefulSet", "unread")), PodClass::Singleton),
            (Some(("StatefulSet", "shards")), PodClass::Replicated),
            (Some(("Job", "train")), PodClass::Job),
            (Some(("DaemonSet", "agent")), PodClass::DaemonSet),
            (Some(("RayCluster", "ray")), PodClass::Unmanaged),
            (None, PodClass::Unmanaged),
        ] {
            let pod = owned("x", owner);
            let owners = Owners::new(&cluster.reading);
            assert_eq!(PodClass::of_owner(&pod, &owners), expected, "{owner:?}");
        }
    }

    #[test]
    fn only_a_pod_all_of_whose_devices_are_monitored_has_admin_access() {
        let pod = owned("x", Some(("ReplicaSet", "web")));
        let mut claim = testing::claim(&pod);
        let results = &mut claim.allocation.as_mut().expect("an allocation").results;
        results[0].admin_access = true;
        let reading = Cluster::default().reading;
        let owners = Owners::new(&reading);
        let at = crate::engine::testing::now();
        let class = |claim: &ResourceClaim, verdict| {
            let mut impact = with_verdict(&pod, verdict);
            impact.claims = vec![use_of(claim)];
            PodClass::of(&impact, &owners)
        };
        assert_eq!(class(&claim, Verdict::Evicted { at }), PodClass::Admin);
        assert_eq!(class(&claim, Verdict::Tolerates), PodClass::Admin);
        let results = &mut claim.allocation.as_mut().expect("an allocation").results;
        let mut used = results[0].clone();
        used.admin_access = false;
        results.push(used);
        assert_eq!(class(&claim, Verdict::Evicted { at }), PodClass::Replicated);
    }

    #[test]
    fn a_pod_whose_replacement_comes_back_to_the_device_is_not_evicted() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 2, 2);
        cluster.stateful_set("db", 2, 2);
        let owners = Owners::new(&cluster.reading);
        let at = crate::engine::testing::now();
        let tolerant = |owner| {
            let pod = owned("x", owner);
            let impact = PodImpact {
                tolerates_no_schedule: true,
                ..with_verdict(&pod, Verdict::Evicted { at })
            };
            PodClass::of(&impact, &owners)
        };
        assert_eq!(tolerant(Some(("ReplicaSet", "web"))), PodClass::Tolerant);
        assert_eq!(tolerant(None), PodClass::Unmanaged);
        let class = |owner, named: bool| {
            let mut pod = owned("x", Some(owner));
            let claim = testing::claim(&pod);
            if named {
                pod.claims = testing::uses(claim.name.name.as_str());
            }
            let mut impact = with_verdict(&pod, Verdict::Terminating);
            impact.claims = vec![use_of(&claim)];
            PodClass::of(&impact, &owners)
        };
        assert_eq!(class(("ReplicaSet", "web"), true), PodClass::KeepsClaim);
        assert_eq!(class(("ReplicaSet", "web"), false), PodClass::Replicated);
        // It is recreated when its pod is gone, and the claim is free by then.
        assert_eq!(class(("StatefulSet", "db"), true), PodClass::Replicated);
    }

    #[test]
    fn each_class_that_hurts_needs_its_own_include() {
        use IncludedClass::{Daemonsets, Jobs, Singletons, Unmanaged};
        let (all, none) = (&[Singletons, Jobs, Unmanaged, Daemonsets][..], &[][..]);
        for (class, name) in [
            (PodClass::Singleton, "singletons"),
            (PodClass::Job, "jobs"),
            (PodClass::Unmanaged, "unmanaged"),
        ] {
            assert_eq!(class.treatment(none), Treatment::NeedsInclude(name));
            assert_eq!(class.treatment(all), Treatment::Evicted);
        }
        assert_eq!(PodClass::DaemonSet.treatment(none), Treatment::Stays);
        assert_eq!(PodClass::DaemonSet.treatment(all), Treatment::Evicted);
        assert_eq!(PodClass::Replicated.treatment(none), Treatment::Evicted);
        assert_eq!(PodClass::Admin.treatment(all), Treatment::Ignored);
        for class in [
            PodClass::Tolerant,
            PodClass::KeepsClaim,
            PodClass::NotEvicted,
        ] {
            assert_eq!(class.treatment(all), Treatment::Stays, "{class:?}");
        }
        let jobs = &[Jobs][..];
        assert_eq!(PodClass::Job.treatment(jobs), Treatment::Evicted);
        assert_ne!(PodClass::Unmanaged.treatment(jobs), Treatment::Evicted);
    }

    fn change(name: &str, change: impl Fn(&mut Pod)) -> Pod {
        let mut pod = pod("team-a", name);
        pod.grace_period_seconds = 10;
        change(&mut pod);
        pod
    }

    #[test]
    fn the_least_harmful_eviction_comes_first() {
        let plain = |_: &mut Pod| {};
        let ordered = [
            Harm::of(
                &change("z", |pod| pod.is_ready = false),
                PodClass::Replicated,
                &[],
            ),
            Harm::of(
                &change("y", |pod| pod.qos_class = Some(QosClass::BestEffort)),
                PodClass::Replicated,
                &[],
            ),
            Harm::of(&change("w", plain), PodClass::Replicated, &[]),
            Harm::of(&change("x", plain), PodClass::Replicated, &[]),
            Harm::of(
                &change("v", |pod| pod.priority = 1),
                PodClass::Replicated,
                &[],
            ),
            Harm::of(
                &change("u", |pod| pod.qos_class = Some(QosClass::Guaranteed)),
                PodClass::Replicated,
                &[],
            ),
            Harm::of(
                &change("t", |pod| pod.grace_period_seconds = 11),
                PodClass::Replicated,
                &[],
            ),
            Harm::of(
                &change("s", |pod| pod.is_ready = false),
                PodClass::Replicated,
                &[pod("team-a", "budget").name],
            ),
            Harm::of(&change("a", plain), PodClass::Singleton, &[]),
            Harm::of(&change("a", plain), PodClass::Job, &[]),
            Harm::of(&change("a", plain), PodClass::Unmanaged, &[]),
        ];
        assert!(ordered.is_sorted());
        for pair in ordered.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
