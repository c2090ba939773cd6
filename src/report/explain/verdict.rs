//! The verdict on a pod, in words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::explain::PodVerdict;
use crate::engine::rule_lifecycle::{self, EvictionObstacle, TerminationFacts};
use crate::engine::termination_blocker::Publishers;
use crate::model::{Kind, Node, NodeName, Pod, Reading};
use crate::naming::duration::{exact_duration, human_duration};
use crate::report::impact::note::{not_evicted, terminating};
use crate::report::rule_lifecycle::{stuck, why};
use crate::report::time::Time;

/// Outcome of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedVerdict {
    /// Code of the outcome.
    pub outcome: PodOutcome,
    /// Code of the reason why the eviction controller does not evict the pod: EffectDoesNotEvict (the effect is
    /// not NoExecute), NotScheduled (the pod has no node), PodGroupReservation (the claim is reserved only for
    /// the PodGroup of the pod), NotOwned (the pod uses a claim template, but the claim was not generated for
    /// this pod), ExtendedResource (the pod uses the device through an extended resource) or
    /// HiddenByStaleReservation (an outdated entry in the claim's reservedFor hides the pod from the eviction
    /// controller). Null unless the outcome is NotEvicted.
    pub reason: Option<String>,
    /// When the pod is evicted; a time in the past means at once. Null if the pod is not evicted.
    pub eviction_time: Option<Time>,
}

/// Outcome of a pod. The outcomes in an ImpactReport are the same, but without Untouched, Waiting and Unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PodOutcome {
    /// The pod is evicted at once.
    EvictedNow,
    /// The pod is evicted when its toleration ends, or at the taint's timeAdded if that is in the future.
    EvictedLater,
    /// The pod tolerates the taints that would evict it.
    Tolerates,
    /// The pod is already terminating.
    Terminating,
    /// A device that the pod uses has a taint, but the eviction controller does not evict the pod: see
    /// `reason`.
    NotEvicted,
    /// No device that the pod uses has a taint.
    Untouched,
    /// The pod waits for devices that its claims do not have yet.
    Waiting,
    /// Unknown, because data is missing, or evictions by this version of Kubernetes are not predicted.
    Unknown,
}

impl ExplainedVerdict {
    /// The unknown verdict.
    pub(super) const UNKNOWN: Self = Self {
        outcome: PodOutcome::Unknown,
        reason: None,
        eviction_time: None,
    };

    /// The verdict on a pod that uses no tainted device.
    pub(super) const UNTOUCHED: Self = Self {
        outcome: PodOutcome::Untouched,
        ..Self::UNKNOWN
    };

    /// The verdict on a pod without devices, on which no taint can be yet.
    pub(super) const WAITING: Self = Self {
        outcome: PodOutcome::Waiting,
        reason: None,
        eviction_time: None,
    };

    pub(super) fn new(verdict: PodVerdict, now: Timestamp) -> Self {
        let plain = |outcome| Self {
            outcome,
            ..Self::UNKNOWN
        };
        match verdict {
            PodVerdict::Evicted { at } => Self {
                eviction_time: Some(Time(at)),
                ..plain(if at <= now {
                    PodOutcome::EvictedNow
                } else {
                    PodOutcome::EvictedLater
                })
            },
            PodVerdict::Tolerates => plain(PodOutcome::Tolerates),
            PodVerdict::Terminating => plain(PodOutcome::Terminating),
            PodVerdict::NotEvicted(why) => Self {
                // The codes of a preview's notes, so that both reports have one word for one reason.
                reason: Some(not_evicted(why).reason),
                ..plain(PodOutcome::NotEvicted)
            },
            PodVerdict::Untouched => plain(PodOutcome::Untouched),
        }
    }
}

/// When the eviction of a pod that was deleted was due, or would be.
pub(super) fn past_eviction(at: Timestamp, now: Timestamp) -> String {
    let tense = if at <= now { "was" } else { "would be" };
    format!("eviction {tense} due at {at}")
}

/// When an eviction that is due at that moment happens, with `verb` for one that is not overdue.
pub(super) fn eviction(verb: &str, at: Timestamp, now: Timestamp) -> String {
    let distance = at.duration_since(now);
    match at.cmp(&now) {
        // Overdue is not over: the controller deletes the pod at its next turn.
        std::cmp::Ordering::Less => {
            format!("eviction overdue since {at} ({})", human_duration(distance))
        }
        std::cmp::Ordering::Equal => format!("{verb} now"),
        std::cmp::Ordering::Greater => format!("{verb} in {}, at {at}", exact_duration(distance)),
    }
}

/// Outcome of the pod; of a terminating one, what it waits for, as far as `reading` shows it.
pub(super) fn describe_in(
    reading: &Reading,
    verdict: PodVerdict,
    pod: &Pod,
    now: Timestamp,
) -> String {
    if verdict == PodVerdict::Terminating {
        let names: BTreeSet<NodeName> = pod.node.iter().cloned().collect();
        let known = &reading.snapshot.nodes;
        // Nodes of which metadata alone was read have no conditions, and look as if they were not ready.
        let is_read = |name: &NodeName| {
            let mut nodes = known.iter().filter(|node| node.name == *name);
            nodes.next().is_none_or(|node| node.is_whole)
        };
        let nodes = match reading.without(Kind::Node) {
            None if names.iter().all(is_read) => Node::health_of(known, &names),
            None | Some(_) => BTreeMap::new(),
        };
        let facts = TerminationFacts {
            nodes: &nodes,
            claims: &reading.snapshot.claims,
            publishers: &Publishers::of(reading, &names),
        };
        match rule_lifecycle::terminating(pod, &facts, now) {
            Some(EvictionObstacle::Stuck(blocker)) => {
                return format!("terminating, {}", stuck(&blocker, now));
            }
            Some(obstacle @ EvictionObstacle::Node(_)) => return why(&obstacle, now),
            Some(_) | None => {}
        }
    }
    describe(verdict, pod, now)
}

/// Outcome of the pod.
pub(super) fn describe(verdict: PodVerdict, pod: &Pod, now: Timestamp) -> String {
    match verdict {
        PodVerdict::Evicted { at } => eviction("evicted", at, now),
        PodVerdict::Tolerates => "stays: it tolerates the taints that would evict it".to_owned(),
        PodVerdict::Terminating => format!("terminating, {}", terminating(pod, now).message),
        PodVerdict::NotEvicted(why) => format!("stays: {}", not_evicted(why).message),
        PodVerdict::Untouched => "stays: none of its devices is tainted".to_owned(),
    }
}
