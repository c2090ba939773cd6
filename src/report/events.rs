//! Kubernetes events about a rule and the pods it evicts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::ObjectReference;
use super::time::Time;
use crate::engine::Impact;
use crate::model::{self, DeviceTaintRule, NamespacedName, Uid};

/// A Kubernetes event about a rule, or about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The pod of the event; null for an event of the rule itself.
    #[serde(default)]
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
