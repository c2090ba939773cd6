//! Evicted pods of which others took the place and were evicted too, and the workloads of pods that are gone.

use std::collections::BTreeMap;

use super::evicted::EvictedPod;
use super::reference::Owner;
use crate::assess::EvictedOutcome;
use crate::model::{Kind, NamespacedName, Workload};

/// The pods, with those of which others took the place and were evicted too: of those that a workload has lost, only
/// as many as it wants can be the last.
pub(super) fn with_repetitions(
    evicted: Vec<EvictedPod>,
    makers: &[(Kind, &Workload)],
) -> Vec<EvictedPod> {
    let wanted: BTreeMap<(String, Owner), usize> = makers
        .iter()
        .filter_map(|(kind, workload)| {
            let namespace = workload.name.namespace.to_string();
            let wanted = usize::try_from(workload.replicas?).ok()?;
            Some(((namespace, name_of(*kind, workload)), wanted))
        })
        .collect();
    let mut later: BTreeMap<(String, Owner), usize> = BTreeMap::new();
    let mut pods: Vec<EvictedPod> = Vec::with_capacity(evicted.len());
    // From the last to the first: a pod was replaced if enough of its workload were evicted after it.
    for pod in evicted.into_iter().rev() {
        let Some(workload) = pod.workload.clone() else {
            pods.push(pod);
            continue;
        };
        let key = (pod.namespace.clone(), workload);
        let since = later.entry(key.clone()).or_default();
        let is_repeated = wanted
            .get(&key)
            // A workload that was scaled to zero has a last pod, too.
            .is_some_and(|wanted| *since >= (*wanted).max(1))
            && pod.after_eviction.is_of_a_workload_that_goes_on();
        *since = since.saturating_add(1);
        pods.push(EvictedPod {
            after_eviction: if is_repeated {
                EvictedOutcome::EvictedAgain
            } else {
                pod.after_eviction
            },
            ..pod
        });
    }
    pods.reverse();
    pods
}

/// Kind and name of a workload.
pub(super) fn name_of(kind: Kind, workload: &Workload) -> Owner {
    Owner {
        kind: kind.as_str().to_owned(),
        name: workload.name.name.to_string(),
    }
}

/// What made a pod that is gone, by its name: that of the workload, and what controllers put behind it.
pub(super) fn maker_of<'a>(
    pod: &NamespacedName,
    makers: &[(Kind, &'a Workload)],
) -> Option<(Kind, &'a Workload)> {
    let is_maker = |(kind, workload): &&(Kind, &Workload)| {
        let rest = pod.name.as_str().strip_prefix(workload.name.name.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix('-'));
        workload.name.namespace == pod.namespace && rest.is_some_and(|rest| is_of(*kind, rest))
    };
    let found = makers.iter().filter(is_maker);
    // `a-1-x` may be of Job `a`, as its index 1, and of Job `a-1`: the longer one explains more of the name.
    let longest = found.max_by_key(|(_, workload)| workload.name.name.as_str().len());
    longest.copied()
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
