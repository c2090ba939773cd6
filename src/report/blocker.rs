//! Blockers of a wait.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::rule_lifecycle::{NO_CONDITION, remaining_line, times, why};
use super::taint::{self, Time};
use crate::engine::holders::HoldingClaim;
use crate::engine::holders::{PodEnd, UnreleasedPod};
use crate::engine::rule_lifecycle::{EvictionObstacle, EvictionStatus, PendingEviction};
use crate::engine::settle::OpenCondition;
use crate::engine::termination_blocker::TerminationBlocker;
use crate::model::{DeviceTaintRule, NamespacedName, NodeHealth};
use crate::naming::phrase::few;

/// Something that blocks a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// Code of the reason.
    pub reason: BlockerReason,
    /// Namespace of the pod or claim that blocks the wait; null if none of these does.
    pub namespace: Option<String>,
    /// Name of the pod, claim or rule that blocks the wait; null if none of these does.
    pub name: Option<String>,
    /// The node of the pod, or of a pod of the claim; null if there is none, or if unknown.
    pub node: Option<String>,
    /// UID of the pod or claim; null for others, or if unknown.
    pub uid: Option<String>,
    /// Time since which this blocks the wait; null if unknown.
    pub since_time: Option<Time>,
    /// When the toleration (reason Tolerates) or the grace period (reason GracePeriod) of the pod ends; null
    /// for other reasons.
    pub until_time: Option<Time>,
    /// The reason as text.
    pub message: String,
    /// The terminating pods for which the claim holds its devices, each with its blocker, in words.
    #[serde(skip)]
    pub leaving: Vec<(NamespacedName, String)>,
}

/// Why a wait has not ended, or (in a RuleDescription) why a pod still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum BlockerReason {
    /// The pod's eviction is due, but the eviction controller has not evicted the pod yet.
    Controller,
    /// The pod tolerates the taint until untilTime.
    Tolerates,
    /// The rule's effect does not evict pods.
    EffectDoesNotEvict,
    /// The pod is terminating within its grace period.
    GracePeriod,
    /// The pod's containers have ended, and a driver has not released the pod's devices.
    DriverDown,
    /// The pod's containers have ended, and its sandbox cannot be stopped.
    Sandbox,
    /// The pod is terminating, and a finalizer blocks its deletion.
    Finalizers,
    /// The pod is terminating, and its node is not ready.
    NodeNotReady,
    /// The pod is terminating, and its node does not exist.
    NodeGone,
    /// The grace period of the pod is over, and the kubelet has not removed the pod; the cause is unknown.
    Kubelet,
    /// The rule's condition EvictionInProgress does not report yet that the evictions are complete.
    Condition,
    /// The eviction controller has not observed the current generation of the rule.
    NotObserved,
    /// The rule still exists.
    Present,
    /// A claim holds a device of the rules.
    Held,
    /// The pod was force-deleted: the API no longer shows that it uses devices, but its node may not have released
    /// them.
    ForceDeleted,
    /// The pod was stuck in Terminating when it was last seen, and no longer exists. The API no longer shows that it
    /// uses devices, but its node may not have released them.
    EndNotObserved,
    /// The condition of the wait is met, but not yet for long enough.
    Settling,
}

impl Blocker {
    /// Blocker of an open condition, as it is at `now`.
    pub fn new(open: &OpenCondition<'_>, now: Timestamp) -> Self {
        match open {
            OpenCondition::Pod(left) => Self::pod(left, now),
            OpenCondition::Unsettled { rule, evicting } => {
                Self::rule(BlockerReason::Condition, rule, unsettled(rule, *evicting))
            }
            OpenCondition::Unobserved(rule) => {
                Self::rule(BlockerReason::NotObserved, rule, unobserved(rule))
            }
            OpenCondition::Present(rule) => Self::rule(BlockerReason::Present, rule, present(rule)),
            OpenCondition::Held(holder) => Self::holder(holder, now),
            OpenCondition::NotReleased(pod) => Self::not_released(pod),
            OpenCondition::Settling { settle } => Self::of(
                BlockerReason::Settling,
                format!(
                    "according to the API, the goal of the wait has been reached, but for less than {}s",
                    settle.as_secs_f64()
                ),
            ),
        }
    }

    /// Something that is about no object.
    fn of(reason: BlockerReason, message: String) -> Self {
        Self {
            reason,
            namespace: None,
            name: None,
            uid: None,
            node: None,
            since_time: None,
            until_time: None,
            message,
            leaving: Vec::new(),
        }
    }

    /// Sets the name of the object.
    fn named(self, name: &NamespacedName) -> Self {
        Self {
            namespace: Some(name.namespace.to_string()),
            name: Some(name.name.to_string()),
            ..self
        }
    }

    /// A claim that holds devices.
    fn holder(holder: &HoldingClaim<'_>, now: Timestamp) -> Self {
        let devices: Vec<String> = holder.devices.iter().map(ToString::to_string).collect();
        // Pods are named beside the claim, since people know pods and the API knows claims.
        let pods: Vec<String> = holder.pods.iter().map(|pod| pod.name.to_string()).collect();
        let users = match &pods[..] {
            [] => String::new(),
            pods => format!(" for {}", few(pods)),
        };
        let claim = &holder.claim.name;
        // A claim of several terminating pods is held by each of them; one is enough to see the problem.
        let leaving = holder.leaving.first();
        let leaving = leaving.map(|left| format!("; {}", remaining_line(left, now)));
        let message = format!(
            "claim {claim}{users} holds {}{}",
            few(&devices),
            leaving.unwrap_or_default()
        );
        // The first pod is enough: where devices are local to a node, all pods of their claim run there.
        let pod = holder.pods.first();
        let leaving = holder.leaving.iter();
        let leaving = leaving.map(|left| (left.pod.name.clone(), why(&left.obstacle, now)));
        Self {
            leaving: leaving.collect(),
            uid: taint::known(&holder.claim.uid),
            node: pod.and_then(|pod| pod.node.as_ref().map(ToString::to_string)),
            ..Self::of(BlockerReason::Held, message).named(claim)
        }
    }

    /// A pod of which it is not known whether its node has released the devices.
    pub fn not_released(pod: &UnreleasedPod) -> Self {
        let devices: Vec<String> = pod.devices.iter().map(ToString::to_string).collect();
        let what = match &devices[..] {
            // A claim can be released before its pod is gone, and then no look has shown which devices it held.
            [] => "its devices".to_owned(),
            several => few(several),
        };
        let node = pod.node.as_ref().map(ToString::to_string);
        let place = node.as_deref().unwrap_or("its node");
        let message = format!(
            "{} {}: the API no longer shows that it uses {what}, but {place} may still hold the hardware",
            pod.pod,
            how_it_went(pod.end)
        );
        Self {
            node,
            ..Self::of(BlockerReason::of_end(pod.end), message).named(&pod.pod)
        }
    }

    /// A pod that is not evicted yet, or has not ended.
    pub(super) fn pod(left: &PendingEviction<'_>, now: Timestamp) -> Self {
        let (since, until) = times(left);
        let node = left.pod.node.as_ref().map(ToString::to_string);
        let place = node
            .as_ref()
            .map_or_else(String::new, |node| format!(" on {node}"));
        let message = format!("{}{place}: {}", left.pod.name, why(&left.obstacle, now));
        Self {
            uid: taint::known(&left.pod.uid),
            node,
            since_time: since.map(Time),
            until_time: until.map(Time),
            ..Self::of(BlockerReason::of(&left.obstacle), message).named(&left.pod.name)
        }
    }

    fn rule(reason: BlockerReason, rule: &DeviceTaintRule, message: String) -> Self {
        Self {
            name: Some(rule.name.to_string()),
            ..Self::of(reason, message)
        }
    }
}

/// Words for the end of a pod, behind its name.
fn how_it_went(end: PodEnd) -> &'static str {
    match end {
        PodEnd::ForceDeleted => "was force-deleted before it ended",
        PodEnd::NotObserved => "was stuck in Terminating when it was last seen",
    }
}

impl BlockerReason {
    /// The reason for a pod that went like that.
    pub fn of_end(end: PodEnd) -> Self {
        match end {
            PodEnd::ForceDeleted => Self::ForceDeleted,
            PodEnd::NotObserved => Self::EndNotObserved,
        }
    }

    /// Blocker of the obstacle.
    pub fn of(obstacle: &EvictionObstacle) -> Self {
        match obstacle {
            EvictionObstacle::Controller { .. } => Self::Controller,
            EvictionObstacle::Tolerates { .. } => Self::Tolerates,
            EvictionObstacle::GracePeriod { .. } => Self::GracePeriod,
            EvictionObstacle::Stuck(TerminationBlocker::Driver { .. }) => Self::DriverDown,
            EvictionObstacle::Stuck(TerminationBlocker::Sandbox { .. }) => Self::Sandbox,
            EvictionObstacle::Finalizers(_) => Self::Finalizers,
            EvictionObstacle::Node(NodeHealth::Gone) => Self::NodeGone,
            // The engine has this obstacle only for nodes that are gone or not ready; `Ready` completes the match.
            EvictionObstacle::Node(NodeHealth::NotReady | NodeHealth::Ready) => Self::NodeNotReady,
            EvictionObstacle::Kubelet { .. } => Self::Kubelet,
        }
    }
}

fn unsettled(rule: &DeviceTaintRule, evicting: EvictionStatus) -> String {
    let name = &rule.name;
    let why = match evicting {
        EvictionStatus::No => "no pending evictions",
        EvictionStatus::Yes => "evictions are pending",
        EvictionStatus::Unknown => "not set yet",
        EvictionStatus::Outdated => "not updated for the current generation yet",
        EvictionStatus::Leftover => {
            "reports pending evictions, although no pod is left to evict; the condition may be stale"
        }
    };
    format!("controller condition of rule {name}: {why}")
}

fn unobserved(rule: &DeviceTaintRule) -> String {
    let name = &rule.name;
    match &rule.condition {
        None => format!("rule {name} has no condition yet; {NO_CONDITION}"),
        Some(condition) => format!(
            "rule {name} is at generation {}, but its condition is for generation {}",
            rule.generation, condition.observed_generation
        ),
    }
}

fn present(rule: &DeviceTaintRule) -> String {
    let name = &rule.name;
    match &rule.metadata.finalizers[..] {
        [] => format!("rule {name} still exists"),
        [only] => format!("rule {name} still exists: it waits for finalizer {only}"),
        several => format!(
            "rule {name} still exists: it waits for finalizers {}",
            several.join(", ")
        ),
    }
}
