//! Kubernetes events about a rule and the pods it evicts.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::earlier_evictions::{evicted_earlier, is_since, may_have_evicted};
use super::reference::ObjectReference;
use super::time::Time;
use crate::engine::{Cause, Impact};
use crate::model::{self, DeviceTaintRule, NamespacedName, Uid};

/// A Kubernetes event about a rule, or about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The pod of the event; null for an event of the rule itself.
    #[serde(default)]
    pub pod: Option<ObjectReference>,
    /// Whether the rule caused the event: Certain or Possible.
    #[serde(default)]
    pub attribution: Attribution,
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

/// Whether a rule caused an event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Attribution {
    /// The event is about the rule itself, or about a pod that no other taint evicts.
    #[default]
    Certain,
    /// The pod no longer exists, or another taint evicts it too. The event does not name a rule, so another rule may
    /// be the cause.
    Possible,
}

/// Those of `events` that are about the rule and about the pods that it hits, and those about pods that were
/// evicted since it is there and that it does not hit now, oldest first; the rule is the only considered
/// one of `impact`.
///
/// The controller notes the pod, and not the rule: of a pod that is gone, and of one that something else
/// evicts too, nobody can tell which rule it was.
#[must_use]
pub fn events_about(
    rule: &DeviceTaintRule,
    impact: &Impact<'_>,
    events: &[model::Event],
) -> Vec<Event> {
    let hit = hit(impact);
    let pods: BTreeSet<&Uid> = impact.pods.iter().map(|pod| &pod.pod.uid).collect();
    let earlier = evicted_earlier(rule, impact, events).into_iter();
    let earlier: BTreeSet<(&Uid, &NamespacedName)> =
        earlier.map(|pod| (&pod.uid, &pod.name)).collect();
    let shown = events.iter().filter_map(|found| {
        let about = &found.about;
        if !is_since(found, rule) {
            return None;
        }
        if about.kind == "DeviceTaintRule" {
            return is_about(found, rule).then(|| event(found, Attribution::Certain));
        }
        let attribution = match hit.get(&(&about.uid, &about.name)) {
            Some(certain) => Some(*certain),
            None if earlier.contains(&(&about.uid, &about.name)) => Some(Attribution::Possible),
            // A pod that it leaves alone was marked by another.
            None if pods.contains(&about.uid) => None,
            None => may_have_evicted(rule).then_some(Attribution::Possible),
        };
        attribution.map(|attribution| event(found, attribution))
    });
    let mut events: Vec<Event> = shown.collect();
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

/// Whether the event is about this very rule, and not about an earlier one of its name.
fn is_about(found: &model::Event, rule: &DeviceTaintRule) -> bool {
    let about = &found.about;
    let (said, known) = (about.uid.as_str(), rule.uid.as_str());
    // Where a UID is not known, the name decides: without that, events of this rule would be left out.
    about.name.name == rule.name && (said.is_empty() || known.is_empty() || said == known)
}

/// The pods that the considered taints hit, and whether nothing else evicts them. Whoever may write events
/// may give any UID to them: a pod is meant only by its UID and its name together.
fn hit<'a>(impact: &'a Impact<'_>) -> BTreeMap<(&'a Uid, &'a NamespacedName), Attribution> {
    let pods = impact.pods.iter();
    pods.filter(|pod| pod.causes.iter().any(Cause::is_proposed))
        .map(|pod| {
            let attribution = if pod.has_foreign_cause() {
                Attribution::Possible
            } else {
                Attribution::Certain
            };
            ((&pod.pod.uid, &pod.pod.name), attribution)
        })
        .collect()
}

fn event(found: &model::Event, attribution: Attribution) -> Event {
    let pod = (found.about.kind == "Pod")
        .then(|| ObjectReference::new(&found.about.name, &found.about.uid));
    Event {
        pod,
        attribution,
        event_type: found.kind.clone(),
        reason: found.reason.clone(),
        message: found.message.clone(),
        last_time: found.last.map(Time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceSelector, Effect, EventSubject, RuleMetadata};
    use crate::report::testing;

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
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
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

    fn describe(rule: &DeviceTaintRule, events: &[model::Event]) -> Vec<(String, Attribution)> {
        let pods = ["hit", "spared"].map(|name| testing::pod("ml", name));
        let impact = testing::impact(vec![
            testing::evicted(&pods[0], 0),
            testing::with_verdict(&pods[1], crate::engine::Verdict::Tolerates),
        ]);
        let about = events_about(rule, &impact, events).into_iter();
        about
            .map(|event| {
                let pod = event.pod.map(|pod| pod.to_string());
                (pod.unwrap_or_default(), event.attribution)
            })
            .collect()
    }

    #[test]
    fn pods_that_are_gone_are_told_and_that_another_rule_may_have_evicted_them() {
        let hit = testing::pod("ml", "hit");
        let spared = testing::pod("ml", "spared");
        let events = [
            reported("Pod", ("hit", hit.uid.as_str()), 5),
            reported("Pod", ("gone", "gone-uid"), 6),
            reported("Pod", ("spared", spared.uid.as_str()), 7),
        ];
        let certain = ("ml/hit".to_owned(), Attribution::Certain);
        let possible = ("ml/gone".to_owned(), Attribution::Possible);
        assert_eq!(describe(&rule(), &events), [certain.clone(), possible]);
        // It has never evicted anybody.
        let mut harmless = rule();
        harmless.taint.effect = Effect::NoSchedule;
        assert_eq!(describe(&harmless, &events), [certain]);
    }

    #[test]
    fn the_eviction_of_a_pod_that_is_still_terminating_is_told_after_the_effect_was_lowered() {
        let mut pod = testing::pod("ml", "train-0");
        pod.deletion = Some(model::Deletion {
            at: testing::after(30),
            grace_period_seconds: Some(60),
            finalizers: Vec::new(),
        });
        let verdict = crate::engine::Verdict::Terminating;
        let impact = testing::impact(vec![testing::with_verdict(&pod, verdict)]);
        let mut lowered = rule();
        lowered.taint.effect = Effect::NoSchedule;
        lowered.generation = 3;
        let event = reported("Pod", ("train-0", pod.uid.as_str()), 5);
        let about = events_about(&lowered, &impact, &[event]);
        let told: Vec<Attribution> = about.iter().map(|event| event.attribution).collect();
        assert_eq!(told, [Attribution::Possible]);
    }

    #[test]
    fn what_is_older_than_the_rule_or_about_an_earlier_one_of_its_name_is_not_its_own() {
        let hit = testing::pod("ml", "hit");
        let older = reported("Pod", ("hit", hit.uid.as_str()), -360);
        let namesake = reported("DeviceTaintRule", ("drain", "another"), 5);
        let own = reported("DeviceTaintRule", ("drain", "uid"), 5);
        let found = describe(&rule(), &[older, namesake, own]);
        assert_eq!(found, [(String::new(), Attribution::Certain)]);
    }
}
