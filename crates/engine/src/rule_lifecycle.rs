//! Lifecycle of a rule: pending evictions while it is there, devices released once it is gone.
//!
//! Is what the controller said about a rule still true, which pods does the rule still wait for and
//! why, and which devices can be allocated again once it is gone? Takes rules and the answer of a
//! preview, and decides nothing that the controller decides.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::allocator::{blocked_partitions, users_beside};
use super::closed_nodes::hindering_taints;
use super::impact::{Cause, DeviceImpact, DeviceTaint, Impact, PodImpact, Verdict};
use super::termination_blocker::{Publishers, TerminationBlocker, termination_blocker};
use crate::model::{
    DeviceId, DeviceTaintRule, Effect, NamespacedName, Node, NodeHealth, NodeName, Pod,
    ResourceClaim, Snapshot,
};

/// Meaning of the condition `EvictionInProgress` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum EvictionStatus {
    /// There is no condition: the server is too old, or no controller has looked yet.
    Unknown,
    /// The controller has evictions to do.
    #[cfg_attr(feature = "serde", serde(rename = "InProgress"))]
    Yes,
    /// It has none to do; pods may still be terminating.
    #[cfg_attr(feature = "serde", serde(rename = "Idle"))]
    No,
    /// It says something about an earlier state of the rule.
    Outdated,
    /// It says that pods have to be evicted, and none is left: the controller does not look again
    /// when pods go for other reasons.
    #[cfg_attr(feature = "serde", serde(rename = "NoPodsLeft"))]
    Leftover,
}

impl EvictionStatus {
    /// Judges the condition of `rule`, of whose pods so many are still to be evicted.
    pub fn of(rule: &DeviceTaintRule, pods_left: usize) -> Self {
        let Some(condition) = &rule.condition else {
            return Self::Unknown;
        };
        // After an escalation the old condition still says "False". Only the generation shows that it is about the
        // old effect.
        if condition.observed_generation != rule.generation {
            return Self::Outdated;
        }
        match (condition.status.as_str(), pods_left) {
            ("True", 0) => Self::Leftover,
            ("True", _) => Self::Yes,
            ("False", _) => Self::No,
            _ => Self::Unknown,
        }
    }

    /// As [`EvictionStatus::of`], where it is known that no pod is left to be evicted, and that no replacement is the next
    /// one, if `is_over`: only then is it certain.
    pub fn judged(rule: &DeviceTaintRule, is_over: bool) -> Self {
        Self::of(rule, usize::from(!is_over))
    }

    /// True if the condition is true now.
    pub fn is_current(self) -> bool {
        match self {
            Self::Yes | Self::No => true,
            Self::Unknown | Self::Outdated | Self::Leftover => false,
        }
    }
}

/// Obstacle that keeps a pod from being evicted by a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionObstacle {
    /// Its eviction is due; the controller has not come to it yet.
    Controller {
        /// Since when it is due.
        since: Timestamp,
    },
    /// It tolerates the taint for a while.
    Tolerates {
        /// When it will be evicted.
        until: Timestamp,
    },
    /// It was deleted and may take its time.
    GracePeriod {
        /// When it was deleted.
        since: Timestamp,
        /// When the time is over.
        until: Timestamp,
        /// Health of its node, if that cannot report that the pod has ended.
        away: Option<NodeHealth>,
    },
    /// Its containers have ended, and nothing more comes of it on its node.
    Stuck(TerminationBlocker),
    /// Its grace period is over, and these finalizers have to be removed.
    Finalizers(Vec<String>),
    /// Its grace period is over, and its node does not answer or does not exist.
    Node(NodeHealth),
    /// Its grace period is over, and the kubelet has not said that it ended.
    Kubelet {
        /// When the grace period ended.
        since: Timestamp,
    },
}

impl EvictionObstacle {
    /// True if the pod has been deleted already.
    pub fn is_terminating(&self) -> bool {
        match self {
            Self::Controller { .. } | Self::Tolerates { .. } => false,
            Self::GracePeriod { .. }
            | Self::Stuck(_)
            | Self::Finalizers(_)
            | Self::Node(_)
            | Self::Kubelet { .. } => true,
        }
    }
}

/// A pod that a rule has not got rid of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEviction<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Why it is still there.
    pub obstacle: EvictionObstacle,
}

/// Facts around pods that should have ended.
#[derive(Clone, Copy, Debug)]
pub struct TerminationFacts<'s> {
    /// All claims.
    pub claims: &'s [ResourceClaim],
    /// Health of nodes; those that are not mentioned are taken to be well.
    pub nodes: &'s BTreeMap<NodeName, NodeHealth>,
    /// Drivers that work on each node.
    pub publishers: &'s Publishers,
}

/// The pods that the proposed taints of `impact` evict and that are still there, terminating ones
/// included.
pub fn pending_evictions<'a>(
    impact: &Impact<'a>,
    facts: &TerminationFacts<'_>,
    now: Timestamp,
) -> Vec<PendingEviction<'a>> {
    let hit = impact
        .pods
        .iter()
        // By causes and not by verdict: a terminating pod has another verdict, and still holds its devices.
        .filter(|pod| pod.causes.iter().any(Cause::is_proposed));
    hit.filter_map(|impact| {
        Some(PendingEviction {
            pod: impact.pod,
            obstacle: obstacle(impact, facts, now)?,
        })
    })
    .collect()
}

fn obstacle(
    impact: &PodImpact<'_>,
    facts: &TerminationFacts<'_>,
    now: Timestamp,
) -> Option<EvictionObstacle> {
    match impact.verdict {
        // The controller counts from the taint, also for a pod that has come to the device later.
        Verdict::Evicted { at } if at <= now => Some(EvictionObstacle::Controller {
            since: scheduled(impact.pod).map_or(at, |scheduled| scheduled.clamp(at, now)),
        }),
        Verdict::Evicted { at } => Some(EvictionObstacle::Tolerates { until: at }),
        Verdict::Terminating => terminating(impact.pod, facts, now),
        Verdict::Tolerates | Verdict::NotEvicted(_) => None,
    }
}

/// When the pod was given its node.
fn scheduled(pod: &Pod) -> Option<Timestamp> {
    let said = pod.scheduling.as_ref()?.said.as_ref()?;
    said.since.filter(|_| said.is_scheduled)
}

/// Obstacle that a deleted pod waits for; `None` where it was not deleted.
pub fn terminating(
    pod: &Pod,
    facts: &TerminationFacts<'_>,
    now: Timestamp,
) -> Option<EvictionObstacle> {
    let deletion = pod.deletion.as_ref()?;
    let health = pod.node.as_ref().and_then(|node| facts.nodes.get(node));
    let away = match health {
        Some(health @ (NodeHealth::NotReady | NodeHealth::Gone)) => Some(*health),
        Some(NodeHealth::Ready) | None => None,
    };
    // The status from a kubelet that is away is old; and a pod can be stuck before its grace period ends.
    let stuck = termination_blocker(pod, facts.claims, facts.publishers, now);
    if let (Some(stuck), None) = (stuck, away) {
        return Some(EvictionObstacle::Stuck(stuck));
    }
    if deletion.at > now {
        // The API sets the time of the deletion to the end of the grace period.
        let granted = deletion.grace_period_seconds.unwrap_or_default();
        let since = deletion.at.checked_sub(SignedDuration::from_secs(granted));
        return Some(EvictionObstacle::GracePeriod {
            since: since.unwrap_or(now),
            until: deletion.at,
            away,
        });
    }
    if !deletion.finalizers.is_empty() {
        return Some(EvictionObstacle::Finalizers(deletion.finalizers.clone()));
    }
    Some(match away {
        Some(health) => EvictionObstacle::Node(health),
        None => EvictionObstacle::Kubelet { since: deletion.at },
    })
}

/// A device that loses a taint that kept it from being allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRelease<'a> {
    /// The device.
    pub device: DeviceId,
    /// True if a ResourceSlice of its pool's current generation has it.
    pub is_published: bool,
    /// The taints that still keep it from being allocated.
    pub remaining: Vec<DeviceTaint<'a>>,
    /// The claims that hold it, those with administrative access left aside: pods on their way out, or
    /// that tolerate the taint, keep a device that nothing taints any more.
    pub claims: Vec<&'a ResourceClaim>,
    /// The pods that use parts of it as devices of their own.
    pub partition_pods: BTreeSet<NamespacedName>,
    /// True if the allocator gives it to no claim, since devices in use have taken of its counters what it needs.
    pub is_blocked_partition: bool,
    /// The node that it is local to.
    pub node: Option<ReleaseNode>,
}

/// A node on which a device is untainted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseNode {
    /// Its name.
    pub name: NodeName,
    /// Schedulability of its node.
    pub schedulability: NodeSchedulability,
}

/// Schedulability of pods on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeSchedulability {
    /// It does.
    Open,
    /// The node is cordoned.
    Cordoned,
    /// The node is not ready.
    NotReady,
    /// The node has taints with these keys, and only pods that tolerate them are placed there.
    Tainted(BTreeSet<String>),
    /// There is no such node.
    Gone,
    /// Nodes could not be read.
    Unknown,
}

/// State of these devices when the proposed taints that select them, and block allocation, are gone; `nodes` are
/// theirs, where they could be read.
pub fn release<'a>(
    devices: &[DeviceImpact<'a>],
    snapshot: &Snapshot,
    nodes: Option<&[Node]>,
) -> Vec<DeviceRelease<'a>> {
    let names = devices.iter().map(|device| &device.id).collect();
    let beside = users_beside(snapshot, &names);
    let blocked = blocked_partitions(snapshot);
    devices
        .iter()
        .map(|device| {
            let taints = device.taints.iter().copied();
            DeviceRelease {
                device: device.id.clone(),
                is_published: device.published,
                remaining: taints.filter(|taint| blocks(&taint.taint.effect)).collect(),
                claims: device
                    .claims
                    .iter()
                    .copied()
                    .filter(|claim| takes(claim, &device.id))
                    .collect(),
                partition_pods: beside.get(&device.id).cloned().unwrap_or_default(),
                is_blocked_partition: blocked.contains(&device.id),
                node: device.node.map(|node| ReleaseNode {
                    name: node.clone(),
                    schedulability: schedulability(node, nodes),
                }),
            }
        })
        .collect()
}

fn schedulability(name: &NodeName, nodes: Option<&[Node]>) -> NodeSchedulability {
    let Some(nodes) = nodes else {
        return NodeSchedulability::Unknown;
    };
    match nodes.iter().find(|node| node.name == *name) {
        // Of its metadata alone neither taints nor conditions are known.
        Some(node) if !node.is_whole => NodeSchedulability::Unknown,
        // First, since a node that is cordoned or not ready has a taint that says the same.
        Some(node) if node.unschedulable => NodeSchedulability::Cordoned,
        Some(node) => match node.health() {
            NodeHealth::Ready => {
                let keys: BTreeSet<String> = hindering_taints(node).map(|it| it.key).collect();
                if keys.is_empty() {
                    NodeSchedulability::Open
                } else {
                    NodeSchedulability::Tainted(keys)
                }
            }
            NodeHealth::NotReady | NodeHealth::Gone => NodeSchedulability::NotReady,
        },
        None => NodeSchedulability::Gone,
    }
}

/// True if the claim has the device to work with, and not beside its users to look after it.
fn takes(claim: &ResourceClaim, device: &DeviceId) -> bool {
    let mut results = claim.exclusive_results();
    results.any(|result| result.device == *device)
}

/// True if one of the taints keeps its device from being allocated.
pub fn is_blocked(taints: &[DeviceTaint<'_>]) -> bool {
    taints.iter().any(|taint| blocks(&taint.taint.effect))
}

/// True if a taint with this effect keeps a device from being allocated.
pub fn blocks(effect: &Effect) -> bool {
    match effect {
        Effect::NoSchedule | Effect::NoExecute => true,
        Effect::None | Effect::Unknown(_) => false,
    }
}
