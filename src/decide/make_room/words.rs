//! The chosen set, the next best, and why nothing helps, in words.

use super::plan::{NothingHelps, PlannedEviction, PlannedRoom, RoomPlan};
use super::tolerance::Mechanism;
use crate::assess::closed_line;
use crate::engine::allocator::room::Tier;
use crate::engine::closed_nodes::ClosedNode;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, NamespacedName};
use crate::naming::phrase::{counted, few};

/// More pods than these are counted.
const SHOWN: usize = 10;

/// What the evictions of a set respect.
#[must_use]
pub fn tier_words(tier: Tier) -> &'static str {
    match tier {
        Tier::ShortGrace => "no PodDisruptionBudget is violated, and grace periods are at most 10s",
        Tier::WithinBudgets => "no PodDisruptionBudget is violated",
        Tier::BudgetsViolated => "violates a PodDisruptionBudget",
        Tier::Unknown => "it is unknown whether PodDisruptionBudgets are violated",
    }
}

/// What is done for the pod, as a question without its mark.
#[must_use]
pub fn action(pod: &NamespacedName, plan: &RoomPlan) -> String {
    let devices = counted(plan.chosen.set.devices.len(), "device");
    format!("Make room for pod {pod} on {devices}")
}

/// The lines above the question: the set with the pods that are evicted, the next best, what is not known.
#[must_use]
pub fn plan_lines(
    pod: &NamespacedName,
    plan: &RoomPlan,
    mechanism: Mechanism,
    scheduler: Option<&str>,
) -> Vec<String> {
    let chosen = &plan.chosen;
    let mut lines = vec![format!("Room for pod {pod}: {}", summary(chosen))];
    lines.extend(pod_lines(&chosen.pods));
    if !plan.leaving.is_empty() {
        let leaving: Vec<String> = plan.leaving.iter().map(ToString::to_string).collect();
        lines.push(format!("  terminating already: {}", few(&leaving)));
    }
    if let Some(next) = &plan.runner_up {
        lines.push(format!("  next best: {}", named_summary(next)));
    }
    if !plan.is_proved {
        lines.push("  not proven optimal: evicting another set of pods may cost less".to_owned());
    }
    lines.extend(left_out(&plan.unknown, &plan.closed).map(|why| format!("  {why}")));
    lines.push(
        match mechanism {
            Mechanism::Taint => "  the devices are tainted until the pod is scheduled",
            Mechanism::PriorityAlone => {
                "  without toleration: the taint is removed when the pods have left, and another pod, even \
                 one of a lower priority, may get the devices first"
            }
        }
        .to_owned(),
    );
    lines.push(NOT_CHECKED.to_owned());
    lines.extend(scheduler.map(|said| format!("  scheduler message: {said}")));
    lines
}

/// What was not looked at, and why.
fn left_out(unknown: &[String], closed: &[ClosedNode]) -> impl Iterator<Item = String> {
    let closed = closed_line(closed).into_iter();
    let all = unknown.iter().cloned().chain(closed);
    all.map(|why| format!("left out: {why}"))
}

/// What the scheduler looks at beside devices, node selectors and taints of nodes.
const NOT_CHECKED: &str = "  not checked: CPU and memory of nodes, and affinity to other pods";

/// Node, devices, the number of evicted pods, and the tier.
fn summary(room: &PlannedRoom) -> String {
    summary_with(room, "")
}

/// As [`summary`], with the names of the evicted pods.
fn named_summary(room: &PlannedRoom) -> String {
    let names: Vec<String> = room.pods.iter().map(|pod| pod.name.to_string()).collect();
    summary_with(room, &format!(" ({})", few(&names)))
}

fn summary_with(room: &PlannedRoom, names: &str) -> String {
    let devices: Vec<String> = room.set.devices.iter().map(DeviceId::to_string).collect();
    let node = room.set.node.as_ref();
    let node = node.map_or_else(String::new, |node| format!(" on node {node}"));
    let tier = tier_words(room.set.cost.tier);
    match room.pods.len() {
        0 => format!("{}{node}; evicts no pod", few(&devices)),
        pods => format!(
            "{}{node}; evicts {}{names}; {tier}",
            few(&devices),
            counted(pods, "pod")
        ),
    }
}

fn pod_lines(pods: &[PlannedEviction]) -> Vec<String> {
    let shown = pods.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|pod| format!("  evicts {}", pod_line(pod)))
        .collect();
    let more = pods.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("  and {}", counted(more, "more pod")));
    }
    lines
}

fn pod_line(pod: &PlannedEviction) -> String {
    let owner = pod.controller.as_ref().map_or_else(
        || "no controller recreates it".to_owned(),
        |owner| format!("{} {}", owner.kind, owner.name),
    );
    let budget = if pod.has_budget {
        ", through the Eviction API"
    } else {
        ""
    };
    format!(
        "pod {} ({owner}, priority {}, grace period {}s{budget})",
        pod.name, pod.priority, pod.grace_period_seconds
    )
}

impl NothingHelps {
    /// The failure of a command that found no set: exit code 1, with the nearest sets.
    #[must_use]
    pub fn failure(&self, pod: &NamespacedName) -> Failure {
        let message = if self.is_proved {
            format!(
                "no allowed eviction frees the devices that pod {pod} needs; nothing was changed"
            )
        } else {
            format!(
                "found no set of pods whose eviction frees the devices that pod {pod} needs; nothing was changed"
            )
        };
        let mut failure = Failure::new(ExitStatus::Failed, message);
        for near in &self.nearest {
            failure = failure.detail(near_line(near));
        }
        if self.nearest.is_empty() && self.evictable == 0 {
            failure = failure.detail(
                "none of the pods that may be evicted uses a device that the pending pod could get",
            );
        } else if self.nearest.is_empty() {
            failure = failure.detail(match self.evictable {
                1 => "only one pod may be evicted, and evicting it would not free the devices"
                    .to_owned(),
                many => format!(
                    "only {many} pods may be evicted, and evicting all of them would not free the devices"
                ),
            });
        }
        let shown = self.staying.iter().take(SHOWN);
        for (name, why) in shown {
            failure = failure.detail(format!("pod {name} stays: {}", why.describe()));
        }
        let more = self.staying.len().saturating_sub(SHOWN);
        if more > 0 {
            failure = failure.detail(format!("and {}", counted(more, "more pod")));
        }
        for why in left_out(&self.unknown, &self.closed) {
            failure = failure.detail(why);
        }
        if self.nearest.is_empty() {
            failure
        } else {
            failure.hint("to choose the first of these sets, add --force")
        }
    }
}

fn near_line(near: &PlannedRoom) -> String {
    format!("nearest set: {}; needs --force", named_summary(near))
}
