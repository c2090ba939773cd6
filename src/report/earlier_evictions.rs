//! Evictions of a rule before its effect was lowered, and pods of these that are still terminating.
//!
//! Such a pod is not evicted by what the rule is now. Only the events of the eviction controller tell of it, and these name no
//! rule: a pod that another taint evicts, too, is left to that taint.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::engine::condition::evicted_since_controller_start;
use crate::engine::rule_lifecycle::{
    PendingEviction, TerminationFacts, pending_evictions, terminating,
};
use crate::engine::{Cause, Impact, PodImpact};
use crate::model::{DeviceTaintRule, Effect, Event, NamespacedName, Pod, Uid};

/// What the controller notes on a pod that it evicts.
///
/// Upstream: `emitPodDeletionEvent` in `device_taint_eviction.go`.
pub(super) const EVICTS: &str = "Marking for deletion";

/// Whether the rule has or may once have had an effect that evicts.
#[must_use]
pub fn may_have_evicted(rule: &DeviceTaintRule) -> bool {
    // Objects keep no earlier spec: after any change the effect may have been NoExecute before.
    rule.taint.effect == Effect::NoExecute || rule.generation > 1
}

/// Whether it happened while the rule was there, as it is: what is older is due to something else. What
/// bears no time may be.
pub(super) fn is_since(found: &Event, rule: &DeviceTaintRule) -> bool {
    let since = match rule.taint.effect {
        Effect::NoExecute => rule.taint.time_added.or(rule.metadata.created),
        // It may have evicted before it was made to do less.
        Effect::None | Effect::NoSchedule | Effect::Unknown(_) => rule.metadata.created,
    };
    since
        .zip(found.last)
        .is_none_or(|(since, last)| last >= since)
}

/// The pods that the rule evicted earlier and that are still terminating; the rule is the only considered one of `impact`.
///
/// None where the rule evicts now, and where its status counts no eviction.
#[must_use]
pub fn evicted_earlier<'a>(
    rule: &DeviceTaintRule,
    impact: &Impact<'a>,
    events: &[Event],
) -> Vec<&'a Pod> {
    let has_evicted = rule.taint.effect != Effect::NoExecute
        && may_have_evicted(rule)
        && evicted_since_controller_start(rule) != Some(0);
    if !has_evicted {
        return Vec::new();
    }
    let pods = impact.pods.iter().filter(|pod| is_left_to_no_taint(pod));
    // By UID and name, which only together identify a pod: event writers may set any UID.
    let mut last: BTreeMap<(&Uid, &NamespacedName), Option<&Event>> = pods
        .clone()
        .map(|pod| ((&pod.pod.uid, &pod.pod.name), None))
        .collect();
    for event in events.iter().filter(|event| event.about.kind == "Pod") {
        let of_pod = last.get_mut(&(&event.about.uid, &event.about.name));
        let Some(of_pod) = of_pod.filter(|_| is_since(event, rule)) else {
            continue;
        };
        // Times have a precision of seconds: of two events in one second, the later of the list counts.
        if of_pod.is_none_or(|known| known.last <= event.last) {
            *of_pod = Some(event);
        }
    }
    let is_evicted = |pod: &&Pod| {
        let event = last.get(&(&pod.uid, &pod.name)).copied().flatten();
        // The controller may cancel a deletion that it has announced.
        event.is_some_and(|event| event.message.starts_with(EVICTS))
    };
    pods.map(|pod| pod.pod).filter(is_evicted).collect()
}

/// The pods that the rule evicts or has evicted and that are still there, by name.
#[must_use]
pub fn remaining_evictions<'a>(
    rule: &DeviceTaintRule,
    impact: &Impact<'a>,
    events: &[Event],
    facts: &TerminationFacts<'_>,
    now: Timestamp,
) -> Vec<PendingEviction<'a>> {
    let earlier = evicted_earlier(rule, impact, events).into_iter();
    let earlier = earlier.filter_map(|pod| {
        let obstacle = terminating(pod, facts, now)?;
        Some(PendingEviction { pod, obstacle })
    });
    let mut remaining = pending_evictions(impact, facts, now);
    remaining.extend(earlier);
    remaining.sort_by_key(|left| &left.pod.name);
    remaining
}

/// Whether the pod is terminating, and neither the rule nor another taint evicts it now.
fn is_left_to_no_taint(impact: &PodImpact<'_>) -> bool {
    let is_hit = impact.causes.iter().any(Cause::is_proposed);
    impact.pod.deletion.is_some() && !is_hit && !impact.has_foreign_cause()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::Verdict;
    use crate::engine::holders::staying;
    use crate::engine::impact::Origin;
    use crate::engine::termination_blocker::Publishers;
    use crate::model::{Deletion, DeviceSelector, EventSubject, EvictionCondition, RuleMetadata};
    use crate::report::testing;

    /// A rule that was created a minute ago, and got effect NoSchedule again.
    fn rule() -> DeviceTaintRule {
        let mut taint = testing::TAINT.clone();
        taint.effect = Effect::NoSchedule;
        DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "3".to_owned(),
            generation: 3,
            selector: Some(DeviceSelector::default()),
            taint,
            condition: None,
            metadata: RuleMetadata {
                created: Some(testing::after(-60)),
                ..RuleMetadata::default()
            },
            managers: Vec::new(),
        }
    }

    fn pod(name: &str, is_terminating: bool) -> Pod {
        Pod {
            deletion: is_terminating.then(|| Deletion {
                at: testing::after(30),
                grace_period_seconds: Some(60),
                finalizers: Vec::new(),
            }),
            ..testing::pod("ml", name)
        }
    }

    fn event(pod: &Pod, seconds: i64, message: &str) -> Event {
        Event {
            name: testing::name("ml", "event"),
            about: EventSubject {
                kind: "Pod".to_owned(),
                name: pod.name.clone(),
                uid: pod.uid.clone(),
            },
            kind: "Normal".to_owned(),
            reason: "DeviceTaintManagerEviction".to_owned(),
            message: message.to_owned(),
            last: Some(testing::after(seconds)),
        }
    }

    fn condition(message: &str) -> EvictionCondition {
        EvictionCondition {
            status: "False".to_owned(),
            reason: "OtherEffect".to_owned(),
            message: message.to_owned(),
            observed_generation: 3,
            last_transition: None,
        }
    }

    #[test]
    fn a_terminating_pod_with_an_event_of_its_eviction_remains_and_is_not_among_those_that_stay() {
        let pods = ["evicted", "deleted", "elsewhere"].map(|name| pod(name, true));
        let there = pod("there", false);
        let mut impacts: Vec<PodImpact<'_>> = pods
            .iter()
            .map(|pod| testing::with_verdict(pod, Verdict::Terminating))
            .collect();
        let other = "other".into();
        impacts[2].causes = vec![testing::cause(Origin::Rule(&other), 0)];
        impacts.push(testing::with_verdict(&there, Verdict::Tolerates));
        let impact = testing::impact(impacts);
        let evicts = "Marking for deletion Pod ml/evicted";
        let events = [
            event(&pods[0], -50, evicts),
            event(&pods[2], -50, evicts),
            event(&there, -50, evicts),
        ];
        let facts = TerminationFacts {
            claims: &[],
            nodes: &BTreeMap::new(),
            publishers: &Publishers::default(),
        };
        let left = remaining_evictions(&rule(), &impact, &events, &facts, testing::now());
        let names = |pods: Vec<&Pod>| -> Vec<String> {
            let names = pods.iter().map(|pod| pod.name.name.to_string());
            names.collect()
        };
        assert_eq!(
            names(left.iter().map(|left| left.pod).collect()),
            ["evicted"]
        );
        assert!(left[0].obstacle.is_terminating());
        let others = staying(&impact, &left);
        assert_eq!(
            names(others.iter().map(|one| one.pod).collect()),
            ["deleted", "elsewhere", "there"]
        );
    }

    #[test]
    fn only_an_eviction_that_may_be_of_the_rule_and_was_not_cancelled_counts() {
        let pod = pod("train-0", true);
        let impact = testing::impact(vec![testing::with_verdict(&pod, Verdict::Terminating)]);
        let evicts = event(&pod, -50, "Marking for deletion Pod ml/train-0");
        let is_evicted = |rule: &DeviceTaintRule, events: &[Event]| {
            !evicted_earlier(rule, &impact, events).is_empty()
        };
        let counted = |message| DeviceTaintRule {
            condition: Some(condition(message)),
            ..rule()
        };
        let once = "Eviction only happens for the NoExecute effect. 1 pod evicted since starting the controller.";
        let never = "Eviction only happens for the NoExecute effect.";
        let mut evicting = rule();
        evicting.taint.effect = Effect::NoExecute;
        let unchanged = DeviceTaintRule {
            generation: 1,
            ..rule()
        };
        for (name, rule, expected) in [
            ("without a condition", rule(), true),
            ("counted", counted(once), true),
            ("not counted", counted(never), false),
            ("as it was created", unchanged, false),
            ("evicting now", evicting, false),
        ] {
            let events = std::slice::from_ref(&evicts);
            assert_eq!(is_evicted(&rule, events), expected, "{name}");
        }
        let older = event(&pod, -70, &evicts.message);
        let cancelled = event(&pod, -40, "Cancelling deletion of Pod ml/train-0");
        let mut namesake = evicts.clone();
        namesake.about.uid = "another".into();
        for (name, events) in [
            ("older than the rule", vec![older]),
            ("cancelled", vec![cancelled.clone(), evicts.clone()]),
            ("of another pod of the name", vec![namesake]),
            ("none", vec![]),
        ] {
            assert!(!is_evicted(&rule(), &events), "{name}");
        }
        let again = event(&pod, -40, &evicts.message);
        assert!(is_evicted(&rule(), &[cancelled, again]));
    }
}
