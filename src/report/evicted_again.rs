//! Evicted pods of which others took the place and were evicted too.

use std::collections::{BTreeMap, BTreeSet};

use super::evicted::EvictedPod;
use super::evicted_daemon;
use super::evicted_workload::{EvictedWorkload, Tops, outcome_of_replacement};
use super::reference::Owner;
use crate::assess::EvictedOutcome;
use crate::model::{Kind, NodeName, Uid};

/// Evicted pods with their outcomes.
pub(super) struct Evictions<'a> {
    pub(super) pods: Vec<EvictedPod>,
    /// The pods of DaemonSets that may replace one of them.
    pub(super) replacements: BTreeSet<&'a Uid>,
}

/// The pods, with those of which others took the place and were evicted too.
///
/// A StatefulSet's pod is replaced by one of its name, a DaemonSet's by one of its node. Any pod of another workload may
/// replace any: of those that it has lost, only as many can be the last as it wants beside the pods that it had before.
pub(super) fn with_repetitions<'a>(
    evicted: Vec<EvictedPod>,
    workloads: &[EvictedWorkload<'a>],
    tops: &Tops,
    rule_nodes: Option<&BTreeSet<NodeName>>,
) -> Evictions<'a> {
    let mut by_name: BTreeMap<(&str, &str, &str), &EvictedWorkload<'a>> = BTreeMap::new();
    for of in workloads {
        let name = &of.workload.name;
        let key = (
            name.namespace.as_str(),
            of.kind.as_str(),
            name.name.as_str(),
        );
        by_name.insert(key, of);
    }
    let mut places: BTreeMap<(&str, Owner), Vec<usize>> = BTreeMap::new();
    for (place, pod) in evicted.iter().enumerate() {
        if let Some(owner) = &pod.workload {
            let key = (pod.namespace.as_str(), tops.get(&pod.namespace, owner));
            places.entry(key).or_default().push(place);
        }
    }
    let is_rolled_out = |pod: &EvictedPod| {
        let owner = pod.workload.as_ref();
        let key = owner.map(|owner| (pod.namespace.as_str(), &*owner.kind, &*owner.name));
        let of = key.and_then(|key| by_name.get(&key));
        of.is_some_and(|of| of.is_rolled_out())
    };
    let mut outcomes: Vec<EvictedOutcome> = evicted.iter().map(|pod| pod.after_eviction).collect();
    let mut replacements = BTreeSet::new();
    for ((namespace, owner), places) in places {
        let Some(of) = by_name.get(&(namespace, owner.kind.as_str(), owner.name.as_str())) else {
            continue;
        };
        let pods: Vec<&EvictedPod> = places.iter().map(|place| &evicted[*place]).collect();
        let of_pods = if of.kind == Kind::StatefulSet {
            by_names(&pods)
        } else if of.kind == Kind::DaemonSet {
            let found = evicted_daemon::outcomes(&pods, of, rule_nodes);
            replacements.extend(found.replacements);
            found.outcomes
        } else {
            by_number(&pods, of)
        };
        for (place, outcome) in places.into_iter().zip(of_pods) {
            // Fewer pods are desired of its ReplicaSet, but not of the Deployment, whose pods came of another one.
            let is_scaled_down = outcome == EvictedOutcome::ScaledDown;
            if !(is_scaled_down && is_rolled_out(&evicted[place])) {
                outcomes[place] = outcome;
            }
        }
    }
    let pods = evicted.into_iter().zip(outcomes);
    Evictions {
        pods: pods
            .map(|(pod, after_eviction)| EvictedPod {
                after_eviction,
                ..pod
            })
            .collect(),
        replacements,
    }
}

/// The outcomes of pods that are replaced by those of the same name, first to last.
fn by_names(pods: &[&EvictedPod]) -> Vec<EvictedOutcome> {
    let mut later: BTreeSet<&str> = BTreeSet::new();
    let mut outcomes: Vec<EvictedOutcome> = Vec::with_capacity(pods.len());
    for pod in pods.iter().rev() {
        let is_repeated = !later.insert(&pod.name);
        let outcome = pod.after_eviction;
        outcomes.push(if is_repeated && outcome != EvictedOutcome::Terminating {
            EvictedOutcome::EvictedAgain
        } else {
            outcome
        });
    }
    outcomes.reverse();
    outcomes
}

/// The outcomes of pods of which any later pod replaces any, first to last.
fn by_number(pods: &[&EvictedPod], of: &EvictedWorkload<'_>) -> Vec<EvictedOutcome> {
    let mut outcomes: Vec<EvictedOutcome> = Vec::with_capacity(pods.len());
    let mut missing = of
        .wanted()
        .map(|wanted| wanted.saturating_sub(of.live.len()));
    let replacement = of.live.iter().map(|pod| outcome_of_replacement(pod));
    // A pending pod stands for the last one that has a replacement; `share_out` sees to that.
    let replacement = replacement
        .min_by_key(|outcome| *outcome != EvictedOutcome::Pending)
        .unwrap_or(EvictedOutcome::Missing);
    for (later, pod) in pods.iter().rev().enumerate() {
        let younger = of.younger(pod.eviction_time);
        let goes_on = pod.after_eviction.is_of_a_workload_that_goes_on();
        let well_after = || {
            let later = pods.iter().rev().take(later);
            later.filter(|other| is_well_after(other, pod)).count()
        };
        let outcome = match younger {
            // All pods that it wants were there before.
            Some(0) if goes_on => EvictedOutcome::ScaledDown,
            // Pods that were evicted together do not replace each other: it may have been scaled down since.
            Some(younger) if goes_on && later >= younger && well_after() < younger => {
                EvictedOutcome::Unknown
            }
            // A pod that stays was made when this one was evicted, and may be its replacement.
            Some(younger) if goes_on && later >= younger && of.may_live_on(pod.eviction_time) => {
                EvictedOutcome::Unknown
            }
            // Of pods that were evicted together, some were replaced by pods that were evicted again: nothing tells which.
            Some(younger) if goes_on && later < younger && is_one_of_more(pods, pod, younger) => {
                EvictedOutcome::Unknown
            }
            // From the last to the first: a pod was replaced if enough of its workload were evicted after it.
            Some(younger) if goes_on && later >= younger => EvictedOutcome::EvictedAgain,
            _ => pod.after_eviction,
        };
        outcomes.push(match (outcome, &mut missing) {
            (EvictedOutcome::Missing, Some(0)) => replacement,
            (EvictedOutcome::Missing | EvictedOutcome::Terminating, Some(missing)) => {
                *missing = missing.saturating_sub(1);
                outcome
            }
            _ => outcome,
        });
    }
    outcomes.reverse();
    outcomes
}

/// Whether the pod was evicted in the same second as one that is not among the last `younger` ones.
fn is_one_of_more(pods: &[&EvictedPod], pod: &EvictedPod, younger: usize) -> bool {
    let mut earlier = pods.iter().rev().skip(younger);
    earlier.any(|other| other.eviction_time == pod.eviction_time)
}

/// Whether a replacement of `pod` can have been made, scheduled, and evicted when `other` was evicted. Times have a
/// precision of seconds, and the controller evicts ten pods in one.
fn is_well_after(other: &EvictedPod, pod: &EvictedPod) -> bool {
    let times = other.eviction_time.zip(pod.eviction_time);
    times.is_none_or(|(other, pod)| other.0.duration_since(pod.0).as_secs() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_terminates_is_not_evicted_again_by_what_follows() {
        let pod = |after_eviction| EvictedPod {
            namespace: "ml".to_owned(),
            name: "db-0".to_owned(),
            uid: None,
            eviction_time: None,
            workload: None,
            node: None,
            after_eviction,
            certain: true,
        };
        let [terminating, missing] =
            [EvictedOutcome::Terminating, EvictedOutcome::Missing].map(pod);
        assert_eq!(
            by_names(&[&missing, &terminating, &missing]),
            [
                EvictedOutcome::EvictedAgain,
                EvictedOutcome::Terminating,
                EvictedOutcome::Missing
            ]
        );
    }
}
