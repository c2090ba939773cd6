//! Claims that hold devices, and pods that stay on them despite a rule.
//!
//! A rule that has evicted all its pods leaves those that tolerate its taint, and those that only look at the device
//! with administrative access. They hold it all the same: a device is idle when no claim holds it, nor another name of
//! the same hardware.

use super::impact::{Impact, NotEvicted, PodImpact, Verdict};
use super::rule_lifecycle::{EvictionObstacle, PendingEviction, TerminationFacts, terminating};
use crate::model::{
    Containers, DeviceId, NamespacedName, NodeName, Pod, ResourceClaim, Sandbox, Snapshot, Uid,
};
use foldhash::HashSet;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A claim that holds devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingClaim<'a> {
    /// The claim.
    pub claim: &'a ResourceClaim,
    /// Those of its devices for which holders were searched, by name.
    pub devices: Vec<DeviceId>,
    /// The pods that it is reserved for, as far as they are known.
    pub pods: Vec<&'a Pod>,
    /// Those of the pods that were deleted, by any client, with what keeps them.
    pub leaving: Vec<PendingEviction<'a>>,
}

impl HoldingClaim<'_> {
    /// True if it has admin access alone to these devices, which takes them from no other claim.
    pub fn has_admin_access(&self) -> bool {
        let allocation = self.claim.allocation.iter();
        let results = allocation.flat_map(|found| &found.results);
        let mut results = results.filter(|result| self.devices.contains(&result.device));
        results.all(|result| result.admin_access)
    }

    /// The claim with `leaving`: its deleted pods, with what keeps each.
    #[must_use]
    pub fn with_leaving(self, facts: &TerminationFacts<'_>, now: Timestamp) -> Self {
        let pods = self.pods.iter();
        let leaving = pods.filter_map(|pod| {
            let obstacle = terminating(pod, facts, now)?;
            Some(PendingEviction { pod, obstacle })
        });
        let leaving = leaving.collect();
        Self { leaving, ..self }
    }
}

/// The claims that hold any of `devices`, by name.
pub fn holders<'a>(snapshot: &'a Snapshot, devices: &BTreeSet<DeviceId>) -> Vec<HoldingClaim<'a>> {
    let holder = |claim: &'a ResourceClaim| {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let held: BTreeSet<&DeviceId> = results
            .map(|result| &result.device)
            .filter(|id| devices.contains(*id))
            .collect();
        let pods = snapshot.pods.iter().filter(|pod| {
            claim
                .reserved_for
                .iter()
                .any(|consumer| consumer.uid == pod.uid)
        });
        (!held.is_empty()).then(|| HoldingClaim {
            claim,
            devices: held.into_iter().cloned().collect(),
            pods: pods.collect(),
            leaving: Vec::new(),
        })
    };
    let mut holders: Vec<HoldingClaim<'a>> = snapshot.claims.iter().filter_map(holder).collect();
    holders.sort_by_key(|holder| &holder.claim.name);
    holders
}

/// Reason for which a pod stays on devices from which rules evict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum NotEvictedReason {
    /// It tolerates the taints forever.
    Tolerates,
    /// It tolerates them, and only looks at the devices, with administrative access.
    AdminAccess,
    /// The rules do not evict.
    EffectDoesNotEvict,
    /// Its containers have ended, and its claim is not given back.
    Ended,
    /// It was deleted, and not by the rules.
    Leaving,
    /// The controller leaves it alone for another reason.
    #[cfg_attr(feature = "serde", serde(untagged))]
    NotEvicted(NotEvicted),
}

/// A pod that uses devices from which rules evict, and is not evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnevictedPod<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Reason.
    pub stay: NotEvictedReason,
}

/// The pods that use devices which the proposed taints of `impact` select, and are not among those that are
/// `left` to go.
pub fn staying<'a>(impact: &Impact<'a>, left: &[PendingEviction<'_>]) -> Vec<UnevictedPod<'a>> {
    let pods = impact.pods.iter();
    let others = pods.filter(|one| left.iter().all(|known| known.pod.uid != one.pod.uid));
    let staying = others.filter_map(|one| {
        Some(UnevictedPod {
            pod: one.pod,
            stay: stay(one)?,
        })
    });
    staying.collect()
}

fn stay(impact: &PodImpact<'_>) -> Option<NotEvictedReason> {
    if impact.pod.phase.is_terminal() {
        return Some(NotEvictedReason::Ended);
    }
    match impact.verdict {
        // The next observation has it among the pods that are left to go.
        Verdict::Evicted { .. } => None,
        Verdict::Terminating => Some(NotEvictedReason::Leaving),
        Verdict::Tolerates if is_admin(impact) => Some(NotEvictedReason::AdminAccess),
        Verdict::Tolerates => Some(NotEvictedReason::Tolerates),
        Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict) => {
            Some(NotEvictedReason::EffectDoesNotEvict)
        }
        Verdict::NotEvicted(why) => Some(NotEvictedReason::NotEvicted(why)),
    }
}

/// True if it has administrative access alone to the devices.
fn is_admin(impact: &PodImpact<'_>) -> bool {
    impact
        .claims
        .iter()
        .flat_map(|used| &used.results)
        .all(|result| result.admin_access)
}

/// End of a pod whose node was not seen to release its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodEnd {
    /// It was deleted by force: a watch showed it at work when it went.
    ForceDeleted,
    /// Unknown: it was stuck when it was seen last, and nothing showed how it went. What kept it may have been
    /// mended since.
    NotObserved,
}

/// A pod that is gone, and whose node was not seen to release what it held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreleasedPod {
    /// The pod.
    pub pod: NamespacedName,
    /// Node of the pod.
    pub node: Option<NodeName>,
    /// The devices that it held when it was seen last.
    pub devices: Vec<DeviceId>,
    /// End of the pod.
    pub end: PodEnd,
}

/// Pods and claims in one observation.
#[derive(Clone, Copy, Debug)]
pub struct PodObservation<'a> {
    /// Pods that are there.
    pub pods: &'a [Pod],
    /// The claims that are there.
    pub claims: &'a [ResourceClaim],
    /// Pods that are to go.
    pub left: &'a [PendingEviction<'a>],
    /// The claims that are waited for, with their pods.
    pub holders: &'a [HoldingClaim<'a>],
    /// Pods that use the devices and are not to go: deleted by force, they leave the devices in use as well.
    pub staying: &'a [UnevictedPod<'a>],
    /// Pods whose deletion was reported since the previous observation, in their last state.
    pub departed: &'a [Pod],
}

/// Observations of pods that were to go.
#[derive(Clone, Debug, Default)]
pub struct ForcedDeletions {
    /// Pods as they were observed last.
    last: BTreeMap<Uid, LastSeen>,
    /// Pods that are gone, and were not observed to be ended by their kubelet.
    forced: BTreeMap<Uid, UnreleasedPod>,
}

#[derive(Clone, Debug)]
struct LastSeen {
    pod: UnreleasedPod,
    is_stuck: bool,
}

impl ForcedDeletions {
    /// Records which of the pods that were ever to go are there, and which are gone.
    pub fn see(&mut self, observation: &PodObservation<'_>, wanted: &HashSet<Uid>) {
        // Events of a watch come first and take the pod out of `last`, so that its absence is not judged again below.
        for pod in observation.departed {
            let Some(last) = self.last.remove(&pod.uid) else {
                if wanted.contains(&pod.uid) && is_at_work(pod) {
                    self.forced
                        .insert(pod.uid.clone(), seen(pod, observation.claims));
                }
                continue;
            };
            if is_at_work(pod) {
                self.forced.insert(pod.uid.clone(), last.pod);
            }
        }
        // A pod whose end was observed needs no event: it may be gone by the next observation without one.
        for pod in observation.pods.iter().filter(|pod| has_ended(pod)) {
            self.last.remove(&pod.uid);
        }
        let there: HashSet<&Uid> = observation.pods.iter().map(|pod| &pod.uid).collect();
        let gone: Vec<Uid> = self
            .last
            .iter()
            .filter(|(uid, _)| !there.contains(uid))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in gone {
            if let Some(last) = self.last.remove(&uid).filter(|last| last.is_stuck) {
                let end = PodEnd::NotObserved;
                self.forced.insert(uid, UnreleasedPod { end, ..last.pod });
            }
        }
        self.look(observation);
    }

    fn look(&mut self, observation: &PodObservation<'_>) {
        let of_holders = observation
            .holders
            .iter()
            .flat_map(|holder| &holder.pods)
            .map(|pod| (*pod, false));
        let deleted = observation
            .holders
            .iter()
            .flat_map(|holder| &holder.leaving);
        let left = deleted.chain(observation.left).map(|left| {
            let is_stuck = match left.obstacle {
                EvictionObstacle::Stuck(_) | EvictionObstacle::Kubelet { .. } => true,
                EvictionObstacle::Controller { .. }
                | EvictionObstacle::Tolerates { .. }
                | EvictionObstacle::GracePeriod { .. }
                | EvictionObstacle::Finalizers(_)
                | EvictionObstacle::Node(_) => false,
            };
            (left.pod, is_stuck)
        });
        let staying = observation.staying.iter().map(|stays| (stays.pod, false));
        let all = of_holders.chain(staying).chain(left);
        for (pod, is_stuck) in all.filter(|(pod, _)| !has_ended(pod)) {
            // A claim may be released before its pod is gone: what was observed to be held once, was.
            let known = self.last.get(&pod.uid);
            let before = known.map(|last| last.pod.devices.clone());
            let mut now = seen(pod, observation.claims);
            if now.devices.is_empty() {
                now.devices = before.unwrap_or_default();
            }
            let last = LastSeen { pod: now, is_stuck };
            self.last.insert(pod.uid.clone(), last);
        }
    }

    /// The pods that are gone without having been seen to be ended by their kubelet, by name.
    pub fn not_released(&self) -> Vec<UnreleasedPod> {
        let mut forced: Vec<UnreleasedPod> = self.forced.values().cloned().collect();
        forced.sort();
        forced
    }
}

/// True if its kubelet has begun with the pod, and was not seen to end it.
fn is_at_work(pod: &Pod) -> bool {
    let has_begun = pod.phase == crate::model::Phase::Running
        || pod.containers != Containers::Unknown
        || pod.sandbox != Sandbox::Unknown;
    pod.node.is_some() && has_begun && !has_ended(pod)
}

/// True if its kubelet has ended the pod. Another client may set the phase alone.
fn has_ended(pod: &Pod) -> bool {
    pod.phase.is_terminal() && pod.containers != Containers::Running
}

fn seen(pod: &Pod, claims: &[ResourceClaim]) -> UnreleasedPod {
    let own = claims.iter().filter(|claim| {
        let mut consumers = claim.reserved_for.iter();
        claim.name.namespace == pod.name.namespace
            && consumers.any(|consumer| consumer.uid == pod.uid)
    });
    let results = own.flat_map(|claim| claim.allocation.iter().flat_map(|found| &found.results));
    let mut devices: Vec<DeviceId> = results.map(|result| result.device.clone()).collect();
    devices.sort();
    devices.dedup();
    UnreleasedPod {
        pod: pod.name.clone(),
        node: pod.node.clone(),
        devices,
        end: PodEnd::ForceDeleted,
    }
}
