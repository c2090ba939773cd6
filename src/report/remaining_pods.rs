//! Pods that are still there, and what each waits for.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule_lifecycle::why;
use super::table::{Column, Table, optional};
use super::time::Time;
use crate::engine::rule_lifecycle::{EvictionObstacle, PendingEviction};
use crate::engine::termination_blocker::{DriverPresence, TerminationBlocker, UnreleasedDriver};
use crate::model::{Effect, NodeHealth};

/// A pod that a rule has not got rid of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemainingPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its node; null while it has none.
    pub node: Option<String>,
    /// What it waits for, in words.
    pub waits_for: String,
    /// What it waits for, as a stable code: controller, tolerates, grace-period, driver-down,
    /// sandbox, finalizers, node-not-ready, node-gone or kubelet; effect-does-not-evict if it waits
    /// for nothing, because the rule evicts no pods with its effect.
    pub reason: String,
    /// Since when it waits for that; null when that is not known.
    pub since: Option<Time>,
    /// Until when it waits for that at most; null when there is no such time.
    pub until: Option<Time>,
    /// The drivers that may hold its devices; only with driver-down.
    #[serde(default)]
    pub drivers: Vec<HoldingDriver>,
    /// Who else has to agree before it is gone, once it is deleted.
    pub finalizers: Vec<String>,
    /// Whether it is on its way out already.
    pub terminating: bool,
}

/// A driver that has not given back a pod's devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldingDriver {
    /// Its name.
    pub driver: String,
    /// Whether it publishes devices of the node; null when that is not known. One that is frozen does.
    pub published: Option<bool>,
    /// Since when it was observed not to; null if not observed before.
    pub unpublished_since: Option<Time>,
}

impl HoldingDriver {
    fn new(holder: &UnreleasedDriver) -> Self {
        let (published, since) = match holder.presence {
            DriverPresence::Published => (Some(true), None),
            DriverPresence::Gone { seen } => (Some(false), seen),
            DriverPresence::Unknown => (None, None),
        };
        Self {
            driver: holder.driver.to_string(),
            published,
            unpublished_since: since.map(Time),
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

/// The code of a pod that a rule would only wait for with another effect.
const NO_EFFECT: &str = "effect-does-not-evict";

impl RemainingPod {
    /// The view of a pod at `now`, of a rule with this effect.
    #[must_use]
    pub fn new(left: &PendingEviction<'_>, effect: &Effect, now: Timestamp) -> Self {
        let words = why(&left.obstacle, now);
        let terminating = left.obstacle.is_terminating();
        // What has been deleted goes whatever the rule does now.
        let waits = *effect == Effect::NoExecute || terminating;
        let waits_for = if waits {
            words
        } else {
            format!("no consequence with effect {effect}; with NoExecute: {words}")
        };
        let (since, until) = if waits { times(left) } else { (None, None) };
        let deletion = left.pod.deletion.as_ref();
        Self {
            namespace: left.pod.name.namespace.to_string(),
            name: left.pod.name.name.to_string(),
            node: left.pod.node.as_ref().map(ToString::to_string),
            waits_for,
            reason: if waits {
                code(&left.obstacle)
            } else {
                NO_EFFECT
            }
            .to_owned(),
            since: since.map(Time),
            until: until.map(Time),
            drivers: HoldingDriver::all(&left.obstacle),
            finalizers: deletion.map_or_else(Vec::new, |deletion| deletion.finalizers.clone()),
            terminating,
        }
    }
}

impl RemainingPod {
    /// When it is evicted; absent for one that is not, or is on its way out.
    #[must_use]
    pub(super) fn due(&self, now: Timestamp) -> Option<Timestamp> {
        match self.reason.as_str() {
            CONTROLLER => Some(now),
            TOLERATES => self.until.map(|until| until.0),
            _ => None,
        }
    }
}

/// The codes of pods that the rule has still to evict.
const CONTROLLER: &str = "controller";
const TOLERATES: &str = "tolerates";

/// The stable code of what keeps a pod.
fn code(obstacle: &EvictionObstacle) -> &'static str {
    match obstacle {
        EvictionObstacle::Controller { .. } => CONTROLLER,
        EvictionObstacle::Tolerates { .. } => TOLERATES,
        EvictionObstacle::GracePeriod { .. } => "grace-period",
        EvictionObstacle::Stuck(TerminationBlocker::Driver { .. }) => "driver-down",
        EvictionObstacle::Stuck(TerminationBlocker::Sandbox { .. }) => "sandbox",
        EvictionObstacle::Finalizers(_) => "finalizers",
        EvictionObstacle::Node(NodeHealth::Gone) => "node-gone",
        EvictionObstacle::Node(NodeHealth::NotReady | NodeHealth::Ready) => "node-not-ready",
        EvictionObstacle::Kubelet { .. } => "kubelet",
    }
}

/// Since when the pod waits for what keeps it, and until when at most.
fn times(left: &PendingEviction<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    // What is left when the grace period is over, is waited for since then.
    let overdue = left.pod.deletion.as_ref().map(|deletion| deletion.at);
    match &left.obstacle {
        EvictionObstacle::Controller { since } => (Some(*since), None),
        EvictionObstacle::Tolerates { until } => (None, Some(*until)),
        EvictionObstacle::GracePeriod { since, until } => (Some(*since), Some(*until)),
        EvictionObstacle::Kubelet { since }
        | EvictionObstacle::Stuck(
            TerminationBlocker::Driver { since, .. } | TerminationBlocker::Sandbox { since },
        ) => (Some(*since), None),
        EvictionObstacle::Finalizers(_) | EvictionObstacle::Node(_) => (overdue, None),
    }
}

/// The pods as a table.
#[must_use]
pub fn table(remaining: &[RemainingPod]) -> Table {
    let row = |pod: &RemainingPod| {
        vec![
            pod.namespace.clone(),
            pod.name.clone(),
            optional(pod.node.as_deref()),
            pod.waits_for.clone(),
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
        };
        for (obstacle, reason, since, until) in [
            (
                EvictionObstacle::Controller { since: past },
                "controller",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Tolerates { until: future },
                "tolerates",
                None,
                Some(future),
            ),
            (grace, "grace-period", Some(past), Some(future)),
            (
                EvictionObstacle::Stuck(TerminationBlocker::Sandbox { since: past }),
                "sandbox",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Stuck(TerminationBlocker::Driver {
                    holders: Vec::new(),
                    since: past,
                }),
                "driver-down",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Finalizers(vec!["example.com/drain".to_owned()]),
                "finalizers",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Node(NodeHealth::Gone),
                "node-gone",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Node(NodeHealth::NotReady),
                "node-not-ready",
                Some(past),
                None,
            ),
            (
                EvictionObstacle::Kubelet { since: past },
                "kubelet",
                Some(past),
                None,
            ),
        ] {
            let terminating = obstacle.is_terminating();
            let view = view(obstacle, &Effect::NoExecute);
            assert_eq!(view.reason, reason);
            assert_eq!(view.since, since.map(Time), "{reason}");
            assert_eq!(view.until, until.map(Time), "{reason}");
            assert_eq!(view.terminating, terminating, "{reason}");
            assert_eq!(view.finalizers.len(), usize::from(terminating), "{reason}");
        }
    }

    #[test]
    fn a_rule_without_effect_is_waited_for_by_nobody_but_those_on_their_way_out() {
        let tolerates = EvictionObstacle::Tolerates {
            until: testing::after(60),
        };
        let stays = view(tolerates, &Effect::None);
        assert_eq!((stays.reason.as_str(), stays.until), (NO_EFFECT, None));
        assert!(
            stays
                .waits_for
                .starts_with("no consequence with effect None")
        );
        let goes = view(EvictionObstacle::Node(NodeHealth::Gone), &Effect::None);
        assert_eq!(goes.reason, "node-gone");
    }
}
