//! Workloads whose pods were evicted: what made a pod that is gone, and the pods that may replace it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::reference::Owner;
use super::time::Time;
use crate::assess::EvictedOutcome;
use crate::model::{Kind, NamespacedName, Phase, Pod, Snapshot, Uid, Workload};

/// A workload that makes pods, and its pods that stay: neither terminating nor evicted.
pub(super) struct EvictedWorkload<'a> {
    pub(super) kind: Kind,
    pub(super) workload: &'a Workload,
    pub(super) live: Vec<&'a Pod>,
}

impl<'a> EvictedWorkload<'a> {
    /// All of them; the pods with these UIDs were evicted.
    pub(super) fn all(snapshot: &'a Snapshot, evicted: &BTreeSet<&Uid>) -> Vec<Self> {
        let mut live: BTreeMap<&Uid, Vec<&'a Pod>> = BTreeMap::new();
        let pods = snapshot.pods.iter();
        for pod in pods.filter(|pod| pod.deletion.is_none() && !evicted.contains(&pod.uid)) {
            if let Some(controller) = &pod.controller {
                live.entry(&controller.uid).or_default().push(pod);
            }
        }
        // Without Deployments and their like, which make no pods: a pod is named after what made it.
        let makers = snapshot.workloads().into_iter();
        makers
            .filter(|(kind, _)| Kind::POD_MAKERS.contains(kind))
            .map(|(kind, workload)| Self {
                kind,
                workload,
                live: live.remove(&workload.uid).unwrap_or_default(),
            })
            .collect()
    }

    /// Whether it is a DaemonSet that made the pod.
    pub(super) fn is_daemon_of(&self, pod: &Pod) -> bool {
        let controller = pod.controller.as_ref();
        self.kind == Kind::DaemonSet
            && controller.is_some_and(|controller| controller.uid == self.workload.uid)
    }

    /// How many pods it wants; absent where it does not say.
    pub(super) fn wanted(&self) -> Option<usize> {
        let count = self.workload.replicas?;
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

/// What made a pod that is gone, by its name: that of the workload, and what controllers put behind it.
pub(super) fn maker_of<'m, 'a>(
    pod: &NamespacedName,
    makers: &'m [EvictedWorkload<'a>],
) -> Option<&'m EvictedWorkload<'a>> {
    let is_maker = |maker: &&EvictedWorkload<'_>| {
        let name = &maker.workload.name;
        let rest = pod.name.as_str().strip_prefix(name.name.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix('-'));
        name.namespace == pod.namespace && rest.is_some_and(|rest| is_of(maker.kind, rest))
    };
    let found = makers.iter().filter(is_maker);
    // `a-1-x` may be of Job `a`, as its index 1, and of Job `a-1`: the longer one explains more of the name.
    found.max_by_key(|maker| maker.workload.name.name.as_str().len())
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
