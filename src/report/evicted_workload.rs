//! Workloads whose pods were evicted: what made a pod that is gone, and the pods that may replace it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::evicted::EvictedPod;
use super::reference::Owner;
use super::time::Time;
use crate::assess::EvictedOutcome;
use crate::engine::deployments::{Deployments, PodCountOwner};
use crate::model::{
    Controller, Kind, NamespacedName, Phase, Pod, Reading, Snapshot, Uid, Workload,
};
use crate::naming::phrase::few;

/// A workload that makes pods, or a Deployment, and the pods that stay of what is counted for it: neither terminating nor
/// evicted.
pub(super) struct EvictedWorkload<'a> {
    pub(super) kind: Kind,
    pub(super) workload: &'a Workload,
    pub(super) live: Vec<&'a Pod>,
    /// What tells how many pods there should be.
    pub(super) counted: Counted<'a>,
}

/// What tells how many pods there should be in the place of those of a workload.
#[derive(Clone, Copy)]
pub(super) enum Counted<'a> {
    /// The workload itself.
    Itself,
    /// The Deployment of a ReplicaSet, by the pods of all its ReplicaSets.
    Deployment(&'a Workload),
    /// Something that was not read.
    Unread,
}

impl<'a> EvictedWorkload<'a> {
    /// All of them; the pods with these UIDs were evicted.
    fn all(
        snapshot: &'a Snapshot,
        evicted: &BTreeSet<&Uid>,
        deployments: &Deployments<'a>,
    ) -> Vec<Self> {
        let mut live: BTreeMap<&Uid, Vec<&'a Pod>> = BTreeMap::new();
        let pods = snapshot.pods.iter();
        for pod in pods.filter(|pod| pod.deletion.is_none() && !evicted.contains(&pod.uid)) {
            if let Some(controller) = &pod.controller {
                live.entry(&controller.uid).or_default().push(pod);
            }
        }
        let workloads = snapshot.workloads().into_iter();
        // Deployments and their like make no pods: a pod is named after what made it, unless that is gone.
        let mut all: Vec<Self> = workloads
            .filter(|(kind, _)| Kind::POD_MAKERS.contains(kind) || *kind == Kind::Deployment)
            .map(|(kind, workload)| Self {
                kind,
                workload,
                live: live.remove(&workload.uid).unwrap_or_default(),
                counted: Counted::of(kind, workload, deployments),
            })
            .collect();
        let mut of_deployments: BTreeMap<&NamespacedName, Vec<&'a Pod>> = BTreeMap::new();
        for of in &all {
            if let Counted::Deployment(deployment) = of.counted {
                let pods = of_deployments.entry(&deployment.name).or_default();
                pods.extend(&of.live);
            }
        }
        for of in &mut all {
            if let Some(deployment) = of.deployment() {
                let pods = of_deployments.get(&deployment.name);
                of.live = pods.cloned().unwrap_or_default();
            }
        }
        all
    }

    /// The Deployment that it is, or that it belongs to.
    fn deployment(&self) -> Option<&'a Workload> {
        match self.counted {
            Counted::Deployment(deployment) => Some(deployment),
            Counted::Itself => (self.kind == Kind::Deployment).then_some(self.workload),
            Counted::Unread => None,
        }
    }

    /// Kind and name of the workload by which its pods are counted: those of one Deployment together.
    pub(super) fn top(&self) -> Owner {
        match self.deployment() {
            Some(deployment) => name_of(Kind::Deployment, deployment),
            None => name_of(self.kind, self.workload),
        }
    }

    /// Whether it is an old ReplicaSet of a Deployment, which has pods of later ones by now, or the Deployment itself, named
    /// because such a ReplicaSet is gone.
    pub(super) fn is_rolled_out(&self) -> bool {
        match self.counted {
            Counted::Deployment(deployment) => self.workload.replicas < deployment.replicas,
            Counted::Itself => self.kind == Kind::Deployment,
            Counted::Unread => false,
        }
    }

    /// Whether it is a DaemonSet that made the pod.
    pub(super) fn is_daemon_of(&self, pod: &Pod) -> bool {
        let controller = pod.controller.as_ref();
        self.kind == Kind::DaemonSet
            && controller.is_some_and(|controller| controller.uid == self.workload.uid)
    }

    /// How many pods it wants; absent where it does not say.
    pub(super) fn wanted(&self) -> Option<usize> {
        let count = match self.counted {
            Counted::Itself => self.workload.replicas?,
            Counted::Deployment(deployment) => deployment.replicas?,
            Counted::Unread => return None,
        };
        Some(usize::try_from(count).unwrap_or_default())
    }

    /// How many of its pods were not there yet at that time, or are still missing: one of them replaces a pod that was
    /// evicted then.
    pub(super) fn younger(&self, at: Option<Time>) -> Option<usize> {
        let older = self.live.iter().filter(|pod| is_older(pod, at)).count();
        Some(self.wanted()?.saturating_sub(older))
    }

    /// Whether one of the pods that stay was scheduled right at that time, so that it may replace a pod that was evicted
    /// then. Times have a precision of seconds.
    pub(super) fn may_live_on(&self, at: Option<Time>) -> bool {
        let mut since = self.live.iter().filter_map(|pod| scheduled_since(pod));
        since.any(|since| {
            at.is_some_and(|at| (0..2).contains(&since.duration_since(at.0).as_secs()))
        })
    }
}

impl<'a> Counted<'a> {
    fn of(kind: Kind, workload: &Workload, deployments: &Deployments<'a>) -> Self {
        if kind != Kind::ReplicaSet {
            return Self::Itself;
        }
        match deployments.owner_of(workload) {
            PodCountOwner::Itself => Self::Itself,
            PodCountOwner::Deployment(deployment) => Self::Deployment(deployment),
            PodCountOwner::UnreadDeployment(_) => Self::Unread,
            // Its controller may desire pods of a later ReplicaSet instead, as a Deployment does.
            PodCountOwner::Other(_) if workload.replicas <= Some(0) => Self::Unread,
            PodCountOwner::Other(_) => Self::Itself,
        }
    }
}

/// The workloads by which pods are counted, of the workloads that their pods name.
pub(super) struct Tops(BTreeMap<(String, Owner), Owner>);

impl Tops {
    pub(super) fn of(workloads: &[EvictedWorkload<'_>]) -> Self {
        let tops = workloads.iter().map(|of| {
            let namespace = of.workload.name.namespace.to_string();
            ((namespace, name_of(of.kind, of.workload)), of.top())
        });
        Self(tops.collect())
    }

    /// That of a workload; itself, if nothing is known of it.
    pub(super) fn get(&self, namespace: &str, owner: &Owner) -> Owner {
        let known = self.0.get(&(namespace.to_owned(), owner.clone()));
        known.unwrap_or(owner).clone()
    }
}

/// Whether the pod was there before that time. Times have a precision of seconds.
pub(super) fn is_older(pod: &Pod, at: Option<Time>) -> bool {
    let since = scheduled_since(pod);
    since.zip(at).is_some_and(|(since, at)| since < at.0)
}

/// When the scheduler spoke of the pod for the last time.
fn scheduled_since(pod: &Pod) -> Option<Timestamp> {
    pod.scheduling.as_ref()?.said.as_ref()?.since
}

/// Since when the scheduler has found no node for the pod, where it says so.
pub(super) fn pending_since(pod: &Pod) -> Option<Timestamp> {
    let said = pod.scheduling.as_ref()?.said.as_ref()?;
    said.since.filter(|_| !said.is_scheduled)
}

/// What became of a pod that this one replaces.
pub(super) fn outcome_of_replacement(pod: &Pod) -> EvictedOutcome {
    if is_pending(pod) {
        EvictedOutcome::Pending
    } else {
        EvictedOutcome::CreatedAgain
    }
}

pub(super) fn is_pending(pod: &Pod) -> bool {
    pod.deletion.is_none() && pod.phase == Phase::Pending
}

/// Kind and name of a workload.
pub(super) fn name_of(kind: Kind, workload: &Workload) -> Owner {
    Owner {
        kind: kind.as_str().to_owned(),
        name: workload.name.name.to_string(),
    }
}

/// What may have made evicted pods.
pub(super) struct Makers<'a> {
    pub(super) workloads: Vec<EvictedWorkload<'a>>,
    pub(super) tops: Tops,
    deployments: Deployments<'a>,
    /// Whether the pods of Deployments are known, which only ReplicaSets lead to.
    has_replica_sets: bool,
}

impl<'a> Makers<'a> {
    /// Those of `reading`; the pods with these UIDs were evicted.
    pub(super) fn of(reading: &'a Reading, evicted: &BTreeSet<&Uid>) -> Self {
        let deployments = Deployments::of(reading);
        let workloads = EvictedWorkload::all(&reading.snapshot, evicted, &deployments);
        Self {
            tops: Tops::of(&workloads),
            workloads,
            deployments,
            has_replica_sets: reading.without(Kind::ReplicaSet).is_none(),
        }
    }

    /// What made a pod that is gone, by its name: that of the workload, and what controllers put behind it. The
    /// Deployment, where the ReplicaSet is gone as well.
    pub(super) fn maker_of(&self, pod: &NamespacedName) -> Option<&EvictedWorkload<'a>> {
        let is_maker = |maker: &&EvictedWorkload<'_>| {
            let name = &maker.workload.name;
            let rest = pod.name.as_str().strip_prefix(name.name.as_str());
            let rest = rest.and_then(|rest| rest.strip_prefix('-'));
            name.namespace == pod.namespace && rest.is_some_and(|rest| is_of(maker.kind, rest))
        };
        let makers = self.workloads.iter();
        let found = makers.filter(|maker| maker.kind != Kind::Deployment && is_maker(maker));
        // `a-1-x` may be of Job `a`, as its index 1, and of Job `a-1`: the longer one explains more of the name.
        let found = found.max_by_key(|maker| maker.workload.name.name.as_str().len());
        let or_deployment = || {
            let PodCountOwner::Deployment(deployment) = self.deployments.owner_of_gone_pod(pod)
            else {
                return None;
            };
            let mut makers = self.workloads.iter();
            makers.find(|maker| {
                maker.kind == Kind::Deployment && maker.workload.name == deployment.name
            })
        };
        found.or_else(|| or_deployment().filter(|_| self.has_replica_sets))
    }

    /// Whether a pod that is gone may have been of a Deployment that could not be read, by its name.
    pub(super) fn may_be_of_unread_deployment(&self, pod: &NamespacedName) -> bool {
        matches!(
            self.deployments.owner_of_gone_pod(pod),
            PodCountOwner::UnreadDeployment(_)
        )
    }

    /// Whether what became of one of these pods is unknown because Deployments could not be read.
    pub(super) fn needs_deployments(&self, evicted: &[EvictedPod]) -> bool {
        let is_unread = |of: &EvictedWorkload<'_>| {
            let controller = of.workload.controller.as_ref();
            matches!(of.counted, Counted::Unread)
                && controller.and_then(Controller::workload_kind) == Some(Kind::Deployment)
        };
        let mut unknown = evicted
            .iter()
            .filter(|pod| pod.after_eviction == EvictedOutcome::Unknown);
        unknown.any(|pod| match &pod.workload {
            Some(owner) => self.named(&pod.namespace, owner).is_some_and(is_unread),
            None => self.may_be_of_unread_deployment(&NamespacedName {
                namespace: pod.namespace.as_str().into(),
                name: pod.name.as_str().into(),
            }),
        })
    }

    /// The workload that this namespace has under that name.
    fn named(&self, namespace: &str, owner: &Owner) -> Option<&EvictedWorkload<'a>> {
        self.workloads.iter().find(|of| {
            of.workload.name.namespace.as_str() == namespace
                && name_of(of.kind, of.workload) == *owner
        })
    }

    /// Why the outcome of evicted pods is unknown whose workloads were read; not of DaemonSets, of which the nodes decide.
    pub(super) fn unknown_replacements(&self, evicted: &[EvictedPod]) -> Vec<String> {
        let (mut unordered, mut uncounted) = (BTreeSet::new(), BTreeSet::new());
        for pod in evicted {
            let owner = pod.workload.as_ref();
            let owner = owner.filter(|owner| owner.kind != Kind::DaemonSet.as_str());
            let Some(owner) = owner.filter(|_| pod.after_eviction == EvictedOutcome::Unknown)
            else {
                continue;
            };
            let workloads = match self
                .named(&pod.namespace, owner)
                .and_then(EvictedWorkload::wanted)
            {
                Some(_) => &mut unordered,
                None => &mut uncounted,
            };
            workloads.insert(format!("{owner} in {}", pod.namespace));
        }
        let named = |workloads: BTreeSet<String>| few(&workloads.into_iter().collect::<Vec<_>>());
        let mut lines = Vec::new();
        if !unordered.is_empty() {
            lines.push(format!(
                "which of the evicted pods of {} were replaced by pods that were evicted, too: events do not record \
                 which pod replaced which",
                named(unordered)
            ));
        }
        if !uncounted.is_empty() {
            lines.push(format!(
                "the outcome of the evicted pods of {}, because it is unknown how many pods are desired",
                named(uncounted)
            ));
        }
        lines
    }
}

/// Whether a controller of this kind puts that behind a workload's name and `-`: a StatefulSet a number, a Job
/// perhaps a number before what all others put there.
fn is_of(kind: Kind, rest: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match (kind == Kind::StatefulSet, rest.split_once('-')) {
        (true, _) => is_number(rest),
        (false, None) => !rest.is_empty(),
        (false, Some((index, end))) => {
            kind == Kind::Job && is_number(index) && !end.is_empty() && !end.contains('-')
        }
    }
}
