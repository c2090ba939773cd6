//! Workloads of evicted pods, and how many ready pods they keep.
//!
//! Owner references lead from a pod to the top: ReplicaSet to Deployment, Job to CronJob or JobSet,
//! StatefulSet to LeaderWorkerSet. An owner of a kind that is not known here ends its chain and is the
//! top; one that should be there and was not read leaves the chain open, and what is left unknown. The
//! workers of a LeaderWorkerSet are owned by their leader, a pod; their label says of which set they are.

use std::collections::{BTreeMap, BTreeSet};

use super::impact::{Impact, PodImpact, Verdict};
use crate::model::{
    Affects, Controller, Gap, Kind, Namespace, NamespacedName, ObjectName, Pod, Reading, Snapshot,
    Uid, Workload,
};

/// The workloads that lose pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads<'a> {
    /// Each with the pods that it loses, by namespace, kind and name; bare pods are none.
    pub workloads: Vec<WorkloadImpact<'a>>,
    /// Facts that could not be read or evaluated.
    pub gaps: Vec<Gap>,
    /// Where each pod's is.
    places: BTreeMap<&'a Uid, usize>,
}

/// A workload at the top of a chain, and the pods of it that are evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadImpact<'a> {
    /// The workload, as the reference to it says.
    pub owner: Controller,
    /// Its namespace and name.
    pub name: NamespacedName,
    /// The workload, where it was read.
    pub workload: Option<(Kind, &'a Workload)>,
    /// True if nothing between the pods and the top is missing.
    pub is_whole: bool,
    /// The evicted pods, by name.
    pub pods: Vec<&'a Pod>,
}

/// A group of pods that are of use together only, and that loses some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gang {
    /// Such as `PodGroup team-a/train`.
    pub group: String,
    /// Number of members that it needs at least; absent where that is not known.
    pub needs: Option<i32>,
    /// Number of seen members that are lost.
    pub lost: usize,
    /// Number of seen members that stay.
    pub left: usize,
}

/// Number of workloads that lose pods and have not recovered from something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovering {
    /// Those that have fewer ready pods than they want.
    pub workloads: usize,
    /// Those of which that is not known.
    pub unknown: usize,
}

/// Follows owners up, of one snapshot.
#[derive(Debug)]
pub struct Owners<'a> {
    by_uid: BTreeMap<&'a Uid, (Kind, &'a Workload)>,
    reading: &'a Reading,
}

/// The end of a chain of owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top<'a> {
    /// The last reference.
    pub owner: Controller,
    /// The workload that it refers to, where that is known.
    pub workload: Option<(Kind, &'a Workload)>,
    /// Why the chain may go on.
    pub gap: Option<Gap>,
}

impl<'a> Owners<'a> {
    /// Those of a reading.
    pub fn new(reading: &'a Reading) -> Self {
        let workloads = reading.snapshot.workloads().into_iter();
        Self {
            by_uid: workloads
                .map(|(kind, workload)| (&workload.uid, (kind, workload)))
                .collect(),
            reading,
        }
    }

    /// The top of a pod's chain; nothing for a bare pod.
    pub fn top(&self, pod: &'a Pod) -> Option<Top<'a>> {
        let mut owner = pod.controller.as_ref()?;
        let mut seen = BTreeSet::new();
        loop {
            if !seen.insert(&owner.uid) {
                let gap = Some(cycle(pod, owner));
                return Some(Top {
                    owner: owner.clone(),
                    workload: None,
                    gap,
                });
            }
            let found = self.by_uid.get(&owner.uid).copied();
            match found {
                Some((_, workload)) => match &workload.controller {
                    Some(above) => owner = above,
                    None => {
                        return Some(Top {
                            owner: owner.clone(),
                            workload: found,
                            gap: None,
                        });
                    }
                },
                None if is_pod(owner) && pod.leader_worker_set().is_some() => {
                    return self.set_of(pod);
                }
                None => {
                    return Some(Top {
                        owner: owner.clone(),
                        workload: None,
                        gap: self.missing(owner),
                    });
                }
            }
        }
    }

    /// The owners of a pod that were read, the nearest first.
    pub fn owners_of(&self, pod: &'a Pod) -> Vec<&'a Workload> {
        let mut above: Vec<&'a Workload> = Vec::new();
        let mut owner = pod.controller.as_ref();
        while let Some((_, workload)) = owner.and_then(|owner| self.by_uid.get(&owner.uid)) {
            if above.iter().any(|known| known.uid == workload.uid) {
                break;
            }
            above.push(workload);
            owner = workload.controller.as_ref();
        }
        above
    }

    /// True if the owner of the pod is certainly gone.
    fn is_gone(&self, pod: &Pod) -> bool {
        pod.controller.as_ref().is_some_and(|owner| {
            let kind = owner.workload_kind();
            // Only of a kind that was read completely does a missing owner mean that it is gone.
            kind.is_some_and(|kind| self.reading.known.contains(&kind))
                && !self.by_uid.contains_key(&owner.uid)
        })
    }

    /// The LeaderWorkerSet that the pod says it is of.
    fn set_of(&self, pod: &Pod) -> Option<Top<'a>> {
        let kind = Kind::LeaderWorkerSet;
        let name = pod.leader_worker_set()?;
        let mut sets = self.reading.snapshot.leader_worker_sets.iter();
        let set = sets
            .find(|set| set.name.namespace == pod.name.namespace && set.name.name.as_str() == name);
        let owner = Controller {
            api_version: format!("{}/v1", kind.group()).as_str().into(),
            kind: kind.as_str().into(),
            name: name.into(),
            uid: set.map_or_else(|| "".into(), |set| set.uid.clone()),
        };
        Some(Top {
            owner,
            workload: set.map(|set| (kind, &set.0)),
            gap: set.is_none().then(|| self.without(kind)).flatten(),
        })
    }

    /// Why an owner is not there: nothing where it is of a kind that is not known here, or certainly gone.
    fn missing(&self, owner: &Controller) -> Option<Gap> {
        self.without(owner.workload_kind()?)
    }

    /// Gap of a kind that was asked for, unless it is told already.
    fn without(&self, kind: Kind) -> Option<Gap> {
        self.reading
            .gaps
            .iter()
            .find(|gap| gap.kind() == Some(kind))
            .cloned()
            .or_else(|| self.reading.without(kind))
    }
}

/// Pods that the evictions of `impact` take, by workload.
pub fn workloads<'a>(impact: &Impact<'a>, reading: &'a Reading) -> Workloads<'a> {
    let owners = Owners::new(reading);
    let mut by_key: BTreeMap<(String, String, String, Uid), WorkloadImpact<'a>> = BTreeMap::new();
    let mut gaps = BTreeSet::new();
    for pod in evicted(impact) {
        let Some(top) = owners.top(pod) else {
            continue;
        };
        let is_whole = top.gap.is_none();
        gaps.extend(top.gap);
        let namespace = &pod.name.namespace;
        let key = (
            namespace.to_string(),
            top.owner.kind.to_string(),
            top.owner.name.to_string(),
            top.owner.uid.clone(),
        );
        let entry = by_key.entry(key).or_insert_with(|| WorkloadImpact {
            name: NamespacedName {
                namespace: namespace.clone(),
                name: top.owner.name.clone(),
            },
            owner: top.owner,
            workload: top.workload,
            is_whole: true,
            pods: Vec::new(),
        });
        entry.is_whole &= is_whole;
        entry.pods.push(pod);
    }
    let mut workloads: Vec<_> = by_key.into_values().collect();
    for workload in &mut workloads {
        workload
            .pods
            .sort_by(|left, right| left.name.cmp(&right.name));
        if workload.workload.is_some() && workload.left().is_none() {
            gaps.extend(unscaled(workload));
        }
    }
    let places = workloads.iter().enumerate().flat_map(|(place, workload)| {
        let pods = workload.pods.iter();
        pods.map(move |pod| (&pod.uid, place))
    });
    Workloads {
        places: places.collect(),
        workloads,
        gaps: gaps.into_iter().collect(),
    }
}

impl<'a> Workloads<'a> {
    /// The workload that loses this pod.
    pub fn of(&self, pod: &Pod) -> Option<&WorkloadImpact<'a>> {
        self.workloads.get(*self.places.get(&pod.uid)?)
    }

    /// Number of workloads that have nothing left, and of those for which that is not known.
    pub fn down(&self) -> (usize, usize) {
        let mut down = (0_usize, 0_usize);
        for workload in &self.workloads {
            match workload.is_down() {
                Some(true) => down.0 = down.0.saturating_add(1),
                Some(false) => {}
                None => down.1 = down.1.saturating_add(1),
            }
        }
        down
    }
}

impl WorkloadImpact<'_> {
    /// Number of ready pods that are left; `None` where that is not known, or the pods of the workload do not stand in
    /// for each other.
    pub fn left(&self) -> Option<i32> {
        let (kind, workload) = self.workload?;
        if !kind.has_interchangeable_pods() {
            return None;
        }
        let lost = self.pods.iter().filter(|pod| pod.is_ready).count();
        let lost = i32::try_from(lost).unwrap_or(i32::MAX);
        workload
            .ready
            // The status may lag behind the pods, so that more are lost than it says are ready.
            .map(|ready| ready.saturating_sub(lost).max(0))
    }

    /// True if nothing of it is left; unknown where its numbers are, or what it is.
    pub fn is_down(&self) -> Option<bool> {
        match self.workload {
            Some((kind, _)) if !kind.has_interchangeable_pods() => Some(false),
            Some(_) => self.left().map(|left| left <= 0),
            None => None,
        }
    }
}

/// The workloads that lose pods and have fewer ready pods than they want before that: of each pod the topmost
/// owner counts that says how many it wants and has.
pub fn recovering(impact: &Impact<'_>, reading: &Reading) -> Recovering {
    let owners = Owners::new(reading);
    let mut states: BTreeMap<&Uid, Option<bool>> = BTreeMap::new();
    for pod in evicted(impact).filter(|pod| !owners.is_gone(pod)) {
        let Some(owner) = &pod.controller else {
            continue;
        };
        let above = owners.owners_of(pod);
        let mut telling = above
            .iter()
            .rev()
            .filter_map(|above| Some((&above.uid, above.has_recovered()?)));
        match telling.next() {
            Some((uid, recovered)) => states.insert(uid, Some(recovered)),
            None => states.insert(&owner.uid, None),
        };
    }
    let count = |wanted| states.values().filter(|state| **state == wanted).count();
    Recovering {
        workloads: count(Some(false)),
        unknown: count(None),
    }
}

/// True if that refers to a pod.
fn is_pod(owner: &Controller) -> bool {
    &*owner.kind == Kind::Pod.as_str() && &*owner.api_version == "v1"
}

/// A group of pods that are of use together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group<'a> {
    /// A PodGroup, by namespace and name.
    Pods(&'a Namespace, &'a ObjectName),
    /// A group of the coscheduling plugin, by namespace and name.
    Coscheduled(&'a Namespace, &'a str),
    /// A LeaderWorkerSet's, by namespace, name and the group's index.
    Workers(&'a Namespace, &'a str, &'a str),
}

/// The groups that cannot do without the pods that they lose, for each of these pods: by its PodGroup, or
/// by its LeaderWorkerSet, whose groups start again together.
pub fn gangs<'a>(impact: &Impact<'a>, reading: &'a Reading) -> BTreeMap<&'a Uid, Gang> {
    let snapshot = &reading.snapshot;
    let lost: BTreeSet<&Uid> = evicted(impact).map(|pod| &pod.uid).collect();
    let mut members: BTreeMap<Group<'a>, (usize, usize)> = BTreeMap::new();
    for pod in snapshot.pods.iter().filter(|pod| !pod.phase.is_terminal()) {
        let Some(group) = Group::of(pod) else {
            continue;
        };
        let (gone, left) = members.entry(group).or_default();
        if lost.contains(&pod.uid) {
            *gone = gone.saturating_add(1);
        } else if pod.deletion.is_none() {
            // A member that is terminating is neither lost by this nor one that is left.
            *left = left.saturating_add(1);
        }
    }
    let gang = |pod: &'a Pod| {
        let group = Group::of(pod)?;
        // A pod that has ended is no member any more, and its group may have no other.
        let (lost, left) = members.get(&group).copied()?;
        let (name, needs) = describe(&group, snapshot)?;
        let gang = Gang {
            group: name,
            needs,
            lost,
            left,
        };
        gang.is_broken().then_some((&pod.uid, gang))
    };
    evicted(impact).filter_map(gang).collect()
}

/// Name of the group, and number of members that it needs, where that is known; `None` for one that needs no number of
/// members.
fn describe(group: &Group<'_>, snapshot: &Snapshot) -> Option<(String, Option<i32>)> {
    match group {
        Group::Pods(namespace, name) => {
            let known = snapshot
                .pod_groups
                .iter()
                .find(|known| known.name.namespace == **namespace && known.name.name == **name);
            let needs = match known {
                Some(known) => Some(known.min_members?),
                None => None,
            };
            Some((format!("PodGroup {namespace}/{name}"), needs))
        }
        Group::Coscheduled(namespace, name) => {
            let known = snapshot.coscheduling_pod_groups.iter().find(|known| {
                known.name.namespace == **namespace && known.name.name.as_str() == *name
            });
            let needs = known.and_then(|group| group.min_members);
            Some((format!("PodGroup {namespace}/{name}"), needs))
        }
        Group::Workers(namespace, set, index) => {
            let known = snapshot.leader_worker_sets.iter().find(|known| {
                known.name.namespace == **namespace && known.name.name.as_str() == *set
            });
            let needs = known.and_then(|set| set.min_members);
            let name = format!("LeaderWorkerSet {namespace}/{set}, group {index}");
            (needs != Some(1)).then_some((name, needs))
        }
    }
}

impl<'a> Group<'a> {
    /// The group that a pod is in, if it is in one.
    fn of(pod: &'a Pod) -> Option<Self> {
        let namespace = &pod.name.namespace;
        if let Some(group) = &pod.pod_group {
            return Some(Self::Pods(namespace, group));
        }
        if let Some(group) = pod.coscheduling_group() {
            return Some(Self::Coscheduled(namespace, group));
        }
        let set = pod.leader_worker_set()?;
        let index = pod.label(Pod::GROUP_INDEX).unwrap_or_default();
        Some(Self::Workers(namespace, set, index))
    }
}

impl Gang {
    /// True if it may have too few members left; those that were not seen do not count.
    pub fn is_broken(&self) -> bool {
        let left = i32::try_from(self.left).unwrap_or(i32::MAX);
        // Where it is not known how many it needs, one that is lost may be one too many.
        self.needs.is_none_or(|needs| left < needs)
    }
}

/// The pods that are evicted.
pub(super) fn evicted<'i, 'a>(
    impact: &'i Impact<'a>,
) -> impl Iterator<Item = &'a Pod> + use<'i, 'a> {
    let is_evicted = |pod: &&PodImpact<'a>| match pod.verdict {
        Verdict::Evicted { .. } => true,
        Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => false,
    };
    impact.pods.iter().filter(is_evicted).map(|pod| pod.pod)
}

fn cycle(pod: &Pod, owner: &Controller) -> Gap {
    Gap {
        what: "owners".to_owned(),
        why: format!(
            "the owners of pod {} form a cycle at {} {}: the workload of the pod is unknown",
            pod.name, owner.kind, owner.name
        ),
        affects: Affects::Details,
    }
}

/// A workload that was read without its numbers.
fn unscaled(workload: &WorkloadImpact<'_>) -> Option<Gap> {
    let (kind, _) = workload
        .workload
        .filter(|(kind, _)| kind.has_interchangeable_pods())?;
    Some(Gap::of(
        kind,
        &format!("{kind} {} does not report its ready pods", workload.name),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        CoschedulingPodGroup, Deployment, LeaderWorkerSet, PodGroup, ReplicaSet, StatefulSet,
    };
    use crate::testing::{self, workload};

    fn below(workload: Workload, kind: &str, name: &str) -> Workload {
        Workload {
            controller: Some(testing::controller(kind, name)),
            ..workload
        }
    }

    fn impact(pods: &[Pod]) -> Impact<'_> {
        testing::impact(pods.iter().map(|pod| testing::evicted(pod, 0)).collect())
    }

    #[test]
    fn an_owner_that_was_not_read_leaves_open_what_is_left() {
        let pods = [testing::pod("team-a", "train-0")];
        let mut reading = testing::reading();
        reading.known.remove(&Kind::ReplicaSet);
        let lost = impact(&pods);
        let found = workloads(&lost, &reading);
        assert_eq!(found.gaps.len(), 1, "{found:?}");
        assert_eq!(found.gaps[0].kind(), Some(Kind::ReplicaSet));
        assert_eq!(found.workloads[0].is_down(), None);
        assert_eq!(found.down(), (0, 1));
        // One that is known to be gone is no gap, and nothing is known of what it has left.
        reading.known.insert(Kind::ReplicaSet);
        let found = workloads(&lost, &reading);
        assert_eq!((found.gaps.len(), found.down()), (0, (0, 1)));
    }

    #[test]
    fn owners_that_lead_in_a_circle_are_named_and_do_not_hang() {
        let pods = [testing::pod("team-a", "train-0")];
        let mut reading = testing::reading();
        reading.snapshot.replica_sets = vec![
            ReplicaSet(below(workload("train-6d", 1), "ReplicaSet", "b")),
            ReplicaSet(below(workload("b", 1), "ReplicaSet", "train-6d")),
        ];
        let lost = impact(&pods);
        let found = workloads(&lost, &reading);
        assert!(
            found.gaps[0]
                .why
                .contains("form a cycle at ReplicaSet train-6d"),
            "{found:?}"
        );
        assert_eq!(found.workloads[0].is_down(), None);
    }

    #[test]
    fn a_group_that_needs_more_than_stay_is_broken_and_members_that_nobody_saw_do_not_count() {
        let mut pods: Vec<Pod> = (0..3)
            .map(|number| testing::pod("team-a", &format!("rank-{number}")))
            .collect();
        for pod in &mut pods {
            pod.pod_group = Some("ranks".into());
        }
        let mut reading = testing::reading();
        reading.snapshot.pods = pods.clone();
        let lost = impact(&pods[..1]);
        let mut group = workload("ranks", 0);
        for (needs, broken) in [(Some(2), false), (Some(3), true), (None, false)] {
            group.min_members = needs;
            reading.snapshot.pod_groups = vec![PodGroup(group.clone())];
            let found = gangs(&lost, &reading);
            let found = found.get(&pods[0].uid);
            assert_eq!(found.is_some(), broken, "{needs:?}");
            if let Some(found) = found {
                assert_eq!((found.lost, found.left), (1, 2));
            }
        }
        // The number that it needs is not known.
        reading.snapshot.pod_groups.clear();
        assert!(gangs(&lost, &reading).contains_key(&pods[0].uid));
    }

    fn labelled(pod: Pod, label: &str, value: &str) -> Pod {
        let mut pod = pod;
        pod.labels.push((label.into(), value.into()));
        pod
    }

    #[test]
    fn a_group_of_the_coscheduling_plugin_needs_its_min_member_and_no_other_groups() {
        let name = |number| testing::pod("team-a", &format!("rank-{number}"));
        let of_plugin = |number| labelled(name(number), Pod::COSCHEDULING_GROUP, "ranks");
        let pods: Vec<Pod> = (0..3).map(of_plugin).collect();
        let mut reading = testing::reading();
        reading.snapshot.pods = pods.clone();
        let mut group = workload("ranks", 0);
        group.min_members = Some(1);
        // Of the same name, and another API.
        reading.snapshot.pod_groups = vec![PodGroup(group.clone())];
        let lost = impact(&pods[..1]);
        assert_eq!(gangs(&lost, &reading)[&pods[0].uid].needs, None);
        for (needs, broken) in [(0, false), (2, false), (3, true)] {
            group.min_members = Some(needs);
            let group = CoschedulingPodGroup(group.clone());
            reading.snapshot.coscheduling_pod_groups = vec![group];
            let found = gangs(&lost, &reading);
            assert_eq!(found.contains_key(&pods[0].uid), broken, "{needs}");
        }
    }

    #[test]
    fn workers_belong_to_the_set_of_their_leader() {
        let of_set = |pod: &str, kind: &str, owner: &str| {
            let pod = testing::pod("team-a", pod);
            let mut pod = labelled(pod, Pod::LEADER_WORKER_SET, "serve");
            pod.controller = Some(testing::controller(kind, owner));
            pod
        };
        let pods = [
            of_set("serve-0", "StatefulSet", "serve"),
            of_set("serve-0-1", "StatefulSet", "serve-0"),
        ];
        let leader = Controller {
            api_version: "v1".into(),
            uid: "uid-of-leader".into(),
            ..testing::controller("Pod", "serve-0")
        };
        let of_leader = Controller {
            api_version: "leaderworkerset.x-k8s.io/v1".into(),
            uid: "uid-of-set".into(),
            ..testing::controller("LeaderWorkerSet", "serve")
        };
        let mut set = workload("serve", 0);
        set.uid = of_leader.uid.clone();
        let mut reading = testing::reading();
        reading.snapshot.stateful_sets = vec![
            StatefulSet(Workload {
                controller: Some(of_leader),
                ..workload("serve", 1)
            }),
            StatefulSet(Workload {
                controller: Some(leader),
                ..workload("serve-0", 1)
            }),
        ];
        let found = |reading: &Reading| {
            let lost = impact(&pods);
            let found = workloads(&lost, reading);
            let tops = found.workloads.iter();
            let tops = tops.map(|top| (top.owner.kind.to_string(), top.name.name.to_string()));
            (tops.collect::<Vec<_>>(), found.gaps.len())
        };
        let serve = ("LeaderWorkerSet".to_owned(), "serve".to_owned());
        reading.known.remove(&Kind::LeaderWorkerSet);
        assert_eq!(found(&reading), (vec![serve.clone(); 2], 1));
        reading.snapshot.leader_worker_sets = vec![LeaderWorkerSet(set)];
        assert_eq!(found(&reading), (vec![serve], 0));
    }

    #[test]
    fn a_workload_recovers_while_fewer_of_its_pods_are_ready_than_it_wants() {
        let pods = [
            testing::pod("team-a", "train-0"),
            testing::pod("team-a", "train-1"),
        ];
        let lost = impact(&pods);
        let mut reading = testing::reading();
        let recovering = |reading: &Reading| {
            let found = recovering(&lost, reading);
            (found.workloads, found.unknown)
        };
        let wants = |ready: i32| Workload {
            replicas: Some(3),
            ..workload("train-6d", ready)
        };
        for (ready, expected) in [(2, (1, 0)), (3, (0, 0))] {
            reading.snapshot.replica_sets = vec![ReplicaSet(wants(ready))];
            assert_eq!(recovering(&reading), expected);
        }
        // The owner above it that says how many it wants is right.
        reading.snapshot.replica_sets = vec![ReplicaSet(below(wants(3), "Deployment", "train"))];
        reading.snapshot.deployments = vec![Deployment(Workload {
            replicas: Some(9),
            ..workload("train", 3)
        })];
        assert_eq!(recovering(&reading), (1, 0));
        reading.snapshot.replica_sets.clear();
        assert_eq!(recovering(&reading), (0, 0), "it is gone");
        reading.known.remove(&Kind::ReplicaSet);
        assert_eq!(recovering(&reading), (0, 1), "not known");
    }
}
