//! Remaining pods, and their blockers.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocker::BlockerReason;
use super::reference;
use super::rule_lifecycle::{times, why, why_if_evicting};
use super::table::{Column, Table, optional};
use super::time::Time;
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction};
use crate::engine::termination_blocker::{DriverPresence, TerminationBlocker, UnreleasedDriver};
use crate::model::Effect;

/// A pod of a rule that still exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemainingPod {
    /// Namespace of the object.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// The node of the pod; null while the pod is not scheduled.
    pub node: Option<String>,
    /// UID of the pod; a later pod of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
    /// The reason as text.
    pub message: String,
    /// Reason why the pod remains; EffectDoesNotEvict if the rule's effect does not evict the pod.
    pub reason: BlockerReason,
    /// Time since which this reason applies; null if unknown.
    pub since_time: Option<Time>,
    /// When the toleration (reason Tolerates) or the grace period (reason GracePeriod) of the pod ends; null
    /// for other reasons.
    pub until_time: Option<Time>,
    /// Drivers that possibly still hold the pod's devices; empty unless `reason` is DriverDown.
    #[serde(default)]
    pub drivers: Vec<HoldingDriver>,
    /// Finalizers of the pod, which block its deletion; empty if the pod is not terminating.
    pub finalizers: Vec<String>,
    /// True if the pod is already terminating.
    pub terminating: bool,
}

/// A driver that may not have released a pod's devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldingDriver {
    /// Name of the driver.
    pub driver: String,
    /// True if the driver publishes devices of the node; null if unknown. Also true for a driver that has
    /// stopped responding, because its ResourceSlices remain.
    pub published: Option<bool>,
}

impl HoldingDriver {
    fn new(holder: &UnreleasedDriver) -> Self {
        Self {
            driver: holder.driver.to_string(),
            published: match holder.presence {
                DriverPresence::Published => Some(true),
                DriverPresence::Gone { .. } => Some(false),
                DriverPresence::Unknown => None,
            },
        }
    }

    fn all(obstacle: &EvictionObstacle) -> Vec<Self> {
        match obstacle {
            EvictionObstacle::Stuck(TerminationBlocker::Driver { holders, .. }) => {
                holders.iter().map(Self::new).collect()
            }
            EvictionObstacle::Stuck(TerminationBlocker::Sandbox { .. })
            | EvictionObstacle::Controller { .. }
            | EvictionObstacle::Tolerates { .. }
            | EvictionObstacle::GracePeriod { .. }
            | EvictionObstacle::Finalizers(_)
            | EvictionObstacle::Node(_)
            | EvictionObstacle::Kubelet { .. } => Vec::new(),
        }
    }
}

impl RemainingPod {
    /// The view of a pod at `now`, of a rule with this effect.
    pub fn new(left: &PendingEviction<'_>, effect: &Effect, now: Timestamp) -> Self {
        let terminating = left.obstacle.is_terminating();
        // Deleted pods end whatever the rule does now.
        let waits = *effect == Effect::NoExecute || terminating;
        let waits_for = if waits {
            why(&left.obstacle, now)
        } else {
            let words = why_if_evicting(&left.obstacle, now);
            format!("nothing, because effect {effect} evicts no pods; with NoExecute: {words}")
        };
        // A pod that is not evicted waits for nothing, so that there is no time of it.
        let (since, until) = if waits { times(left) } else { (None, None) };
        let deletion = left.pod.deletion.as_ref();
        Self {
            namespace: left.pod.name.namespace.to_string(),
            name: left.pod.name.name.to_string(),
            node: left.pod.node.as_ref().map(ToString::to_string),
            uid: reference::known(&left.pod.uid),
            message: waits_for,
            reason: if waits {
                BlockerReason::of(&left.obstacle)
            } else {
                BlockerReason::EffectDoesNotEvict
            },
            since_time: since.map(Time),
            until_time: until.map(Time),
            drivers: HoldingDriver::all(&left.obstacle),
            // Finalizers hold an object only once it is deleted.
            finalizers: deletion.map_or_else(Vec::new, |deletion| deletion.finalizers.clone()),
            terminating,
        }
    }
}

impl RemainingPod {}

/// The pods as a table.
pub fn table(remaining: &[RemainingPod]) -> Table {
    let row = |pod: &RemainingPod| {
        vec![
            pod.namespace.clone(),
            pod.name.clone(),
            optional(pod.node.as_deref()),
            pod.message.clone(),
        ]
    };
    Table {
        columns: vec![
            Column::text("NAMESPACE"),
            Column::text("POD"),
            Column::text("NODE"),
            Column::prose("WAITS-FOR"),
        ],
        rows: remaining.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Deletion;
    use crate::model::NodeHealth;
    use crate::report::testing;

    fn view(obstacle: EvictionObstacle, effect: &Effect) -> RemainingPod {
        let mut pod = testing::pod("team-a", "train-0");
        if obstacle.is_terminating() {
            pod.deletion = Some(Deletion {
                at: testing::after(-10),
                grace_period_seconds: Some(30),
                finalizers: vec!["example.com/drain".to_owned()],
            });
        }
        let left = PendingEviction {
            pod: &pod,
            obstacle,
        };
        RemainingPod::new(&left, effect, testing::now())
    }

    #[test]
    fn every_obstacle_has_a_code_and_its_times() {
        let (past, future) = (testing::after(-10), testing::after(60));
        let grace = EvictionObstacle::GracePeriod {
            since: past,
            until: future,
            away: None,
        };
        for (obstacle, reason, since, until) in [
            (
                EvictionObstacle::Controller { since: past },
                BlockerReason::Controller,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Tolerates { until: future },
                BlockerReason::Tolerates,
                None,
                Some(future),
            ),
            (grace, BlockerReason::GracePeriod, Some(past), Some(future)),
            (
                EvictionObstacle::Stuck(TerminationBlocker::Sandbox { since: past }),
                BlockerReason::Sandbox,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Stuck(TerminationBlocker::Driver {
                    holders: Vec::new(),
                    since: past,
                }),
                BlockerReason::DriverDown,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Finalizers(vec!["example.com/drain".to_owned()]),
                BlockerReason::Finalizers,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Node(NodeHealth::Gone),
                BlockerReason::NodeGone,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Node(NodeHealth::NotReady),
                BlockerReason::NodeNotReady,
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Kubelet { since: past },
                BlockerReason::Kubelet,
                Some(past),
                None,
            ),
        ] {
            let terminating = obstacle.is_terminating();
            let view = view(obstacle, &Effect::NoExecute);
            assert_eq!(view.reason, reason);
            assert_eq!(view.since_time, since.map(Time), "{reason:?}");
            assert_eq!(view.until_time, until.map(Time), "{reason:?}");
            assert_eq!(view.terminating, terminating, "{reason:?}");
            assert_eq!(
                view.finalizers.len(),
                usize::from(terminating),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn a_rule_without_effect_is_waited_for_by_nobody_but_those_on_their_way_out() {
        let tolerates = EvictionObstacle::Tolerates {
            until: testing::after(60),
        };
        let stays = view(tolerates, &Effect::None);
        assert_eq!(
            (stays.reason, stays.until_time),
            (BlockerReason::EffectDoesNotEvict, None)
        );
        assert!(
            stays
                .message
                .starts_with("nothing, because effect None evicts no pods")
        );
        let goes = view(EvictionObstacle::Node(NodeHealth::Gone), &Effect::None);
        assert_eq!(goes.reason, BlockerReason::NodeGone);
    }
}
