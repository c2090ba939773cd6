//! Remaining pods, and their blockers.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::blocker::{Blocker, BlockerReason};
use super::rule_lifecycle::why;
use super::table::{Column, Table, optional};
use super::taint::{self, ObjectReference, Time};
use crate::engine::Impact;
use crate::engine::holders::{NotEvictedReason, UnevictedPod};
use crate::engine::rule_lifecycle::PendingEviction;
use crate::model::{self, DeviceTaintRule, Effect, NamespacedName, Uid};
use crate::naming::phrase::few;
use crate::report::impact::rows::not_evicted;

/// A pod of a rule with this effect that still exists, and what it waits for.
pub fn remaining(left: &PendingEviction<'_>, effect: &Effect, now: Timestamp) -> Blocker {
    let blocker = Blocker::pod(left, now);
    let words = why(&left.obstacle, now);
    // Deleted pods end whatever the rule does now.
    if *effect == Effect::NoExecute || left.obstacle.is_terminating() {
        return Blocker {
            message: words,
            ..blocker
        };
    }
    Blocker {
        reason: BlockerReason::EffectDoesNotEvict,
        // A pod that is not evicted waits for nothing, so that there is no time of it.
        since_time: None,
        until_time: None,
        message: format!(
            "nothing, because effect {effect} evicts no pods; with NoExecute: {words}"
        ),
        ..blocker
    }
}

/// The pods as a table.
pub fn table(remaining: &[Blocker]) -> Table {
    Table::of(remaining)
        .column(Column::text("NAMESPACE"), |pod| {
            optional(pod.namespace.as_deref())
        })
        .column(Column::text("POD"), |pod| optional(pod.name.as_deref()))
        .column(Column::text("NODE"), |pod| optional(pod.node.as_deref()))
        .column(Column::prose("WAITS-FOR"), |pod| pod.message.clone())
        .table()
}

/// A pod that uses devices of the rules and that the rules do not evict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotEvictedPod {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the pod; a later pod of the same name has another UID. Null if unknown.
    pub uid: Option<String>,
    /// The node of the pod; null while the pod is not scheduled.
    pub node: Option<String>,
    /// Why the pod is not evicted: Tolerates (it tolerates the taints forever), AdminAccess (it does, and uses the
    /// devices only with adminAccess: true in its claims), EffectDoesNotEvict (the effect of the rules does not evict
    /// pods), Ended (its containers have ended, so it does not count as a pod to evict, although the eviction
    /// controller may still delete it until its claim is released), Leaving (it is terminating, for a reason other than
    /// the rules), or the code of a note in an ImpactReport.
    #[schemars(with = "String")]
    pub reason: NotEvictedReason,
    /// Why the pod is not evicted, as text.
    pub message: String,
}

impl NotEvictedPod {
    /// The view of a pod that stays.
    pub fn new(staying: &UnevictedPod<'_>) -> Self {
        let pod = staying.pod;
        Self {
            namespace: pod.name.namespace.to_string(),
            name: pod.name.name.to_string(),
            uid: taint::known(&pod.uid),
            node: pod.node.as_ref().map(ToString::to_string),
            reason: staying.stay,
            message: words(staying.stay),
        }
    }

    /// Name of the pod and its reason to stay.
    pub fn line(&self) -> String {
        format!("{}/{} ({})", self.namespace, self.name, self.message)
    }
}

fn words(stay: NotEvictedReason) -> String {
    let words = match stay {
        NotEvictedReason::Tolerates => "tolerates the taint",
        NotEvictedReason::AdminAccess => "tolerates the taint, and has admin access",
        NotEvictedReason::EffectDoesNotEvict => "stays until it ends by itself",
        NotEvictedReason::Ended => "has ended, but its claim is not released",
        NotEvictedReason::Leaving => "was deleted, but is still terminating",
        NotEvictedReason::NotEvicted(why) => return not_evicted(why).message,
    };
    words.to_owned()
}

/// Line about pods that stay on the devices; absent where none does.
pub fn not_evicted_line(staying: &[NotEvictedPod]) -> Option<String> {
    if staying.is_empty() {
        return None;
    }
    let names: Vec<String> = staying.iter().map(NotEvictedPod::line).collect();
    Some(format!("not evicted: {}", few(&names)))
}

/// A Kubernetes event about a rule, or about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The pod of the event; null for an event of the rule itself.
    pub pod: Option<ObjectReference>,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Reason of the event: a code set by the component that reported the event.
    pub reason: String,
    /// Text of the event.
    pub message: String,
    /// When the event last occurred; null if the event has no time.
    pub last_time: Option<Time>,
}

/// Those of `events` that are about the rule, and about the pods that use its devices, oldest first; the rule is the only
/// considered one of `impact`.
pub fn events_about(
    rule: &DeviceTaintRule,
    impact: &Impact<'_>,
    events: &[model::Event],
) -> Vec<Event> {
    // By UID and name, which only together identify a pod: event writers may set any UID.
    let pods = impact.pods.iter();
    let pods: BTreeSet<(&Uid, &NamespacedName)> =
        pods.map(|pod| (&pod.pod.uid, &pod.pod.name)).collect();
    let is_meant = |found: &&model::Event| {
        let about = &found.about;
        is_about(found, rule) || pods.contains(&(&about.uid, &about.name))
    };
    let mut events: Vec<Event> = events.iter().filter(is_meant).map(event).collect();
    // Most events have times in whole seconds, in which many pods are evicted: the rest of the key settles the order.
    events.sort_by(|left, right| {
        (left.last_time, &left.pod, &left.message).cmp(&(
            right.last_time,
            &right.pod,
            &right.message,
        ))
    });
    events
}

/// True if the event is about this very rule, and not about an earlier one of its name.
fn is_about(found: &model::Event, rule: &DeviceTaintRule) -> bool {
    let about = &found.about;
    let (said, known) = (about.uid.as_str(), rule.uid.as_str());
    // Where a UID is not known, the name decides: without that, events of this rule would be left out.
    about.kind == "DeviceTaintRule"
        && about.name.name == rule.name
        && (said.is_empty() || known.is_empty() || said == known)
}

fn event(found: &model::Event) -> Event {
    let pod = (found.about.kind == "Pod")
        .then(|| ObjectReference::new(&found.about.name, &found.about.uid));
    Event {
        pod,
        event_type: found.kind.clone(),
        reason: found.reason.clone(),
        message: found.message.clone(),
        last_time: found.last.map(Time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rule_lifecycle::EvictionObstacle;
    use crate::engine::termination_blocker::TerminationBlocker;
    use crate::model::{Deletion, DeviceSelector, Effect, EventSubject, NodeHealth};
    use crate::report::testing;

    fn view(obstacle: EvictionObstacle, effect: &Effect) -> Blocker {
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
        remaining(&left, effect, testing::now())
    }

    #[test]
    fn every_obstacle_has_a_code_and_its_times() {
        use BlockerReason as Reason;
        use EvictionObstacle as Obstacle;
        let (past, future) = (testing::after(-10), testing::after(60));
        let (since, until) = (Some(past), Some(future));
        let controller = Obstacle::Controller { since: past };
        let tolerates = Obstacle::Tolerates { until: future };
        let grace = Obstacle::GracePeriod {
            since: past,
            until: future,
            away: None,
        };
        let sandbox = Obstacle::Stuck(TerminationBlocker::Sandbox { since: past });
        let driver = Obstacle::Stuck(TerminationBlocker::Driver {
            holders: Vec::new(),
            since: past,
        });
        let finalizers = Obstacle::Finalizers(vec!["example.com/drain".to_owned()]);
        let gone = Obstacle::Node(NodeHealth::Gone);
        let not_ready = Obstacle::Node(NodeHealth::NotReady);
        let kubelet = Obstacle::Kubelet { since: past };
        for (obstacle, reason, since, until) in [
            (controller, Reason::Controller, since, None),
            (tolerates, Reason::Tolerates, None, until),
            (grace, Reason::GracePeriod, since, until),
            (sandbox, Reason::Sandbox, since, None),
            (driver, Reason::DriverDown, since, None),
            (finalizers, Reason::Finalizers, since, None),
            (gone, Reason::NodeGone, since, None),
            (not_ready, Reason::NodeNotReady, since, None),
            (kubelet, Reason::Kubelet, since, None),
        ] {
            let view = view(obstacle, &Effect::NoExecute);
            assert_eq!(view.reason, reason);
            assert_eq!(view.since_time, since.map(Time), "{reason:?}");
            assert_eq!(view.until_time, until.map(Time), "{reason:?}");
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

    fn rule() -> DeviceTaintRule {
        let mut taint = testing::TAINT.clone();
        taint.effect = Effect::NoExecute;
        taint.time_added = Some(testing::after(0));
        DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".to_owned(),
            generation: 1,
            selector: Some(DeviceSelector::default()),
            taint,
            ..DeviceTaintRule::default()
        }
    }

    fn reported(kind: &str, (name, uid): (&str, &str), seconds: i64) -> model::Event {
        let in_namespace = |name: &str| NamespacedName {
            namespace: if kind == "Pod" { "ml" } else { "" }.into(),
            name: name.into(),
        };
        model::Event {
            name: in_namespace("event"),
            about: EventSubject {
                kind: kind.to_owned(),
                name: in_namespace(name),
                uid: uid.into(),
            },
            kind: "Normal".to_owned(),
            reason: "DeviceTaintManagerEviction".to_owned(),
            message: format!("Marking for deletion Pod ml/{name}"),
            last: Some(testing::after(seconds)),
        }
    }

    #[test]
    fn events_are_those_of_the_rule_and_of_the_pods_on_its_devices() {
        let pods = ["hit", "spared"].map(|name| testing::pod("ml", name));
        let impact = testing::impact(vec![
            testing::evicted(&pods[0], 0),
            testing::with_verdict(&pods[1], crate::engine::Verdict::Tolerates),
        ]);
        let events = [
            reported("DeviceTaintRule", ("drain", "uid"), 1),
            reported("DeviceTaintRule", ("drain", "another"), 2),
            reported("Pod", ("hit", pods[0].uid.as_str()), 5),
            reported("Pod", ("hit", "another"), 6),
            reported("Pod", ("gone", "gone-uid"), 7),
            reported("Pod", ("spared", pods[1].uid.as_str()), 8),
        ];
        let found = events_about(&rule(), &impact, &events).into_iter();
        let found: Vec<String> = found
            .map(|event| event.pod.map_or_else(String::new, |pod| pod.to_string()))
            .collect();
        assert_eq!(found, ["", "ml/hit", "ml/spared"]);
    }
}
