//! What was reported about a rule, and about whom it hits?

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Time;
use crate::engine::{Cause, Impact};
use crate::model::{self, DeviceTaintRule, NamespacedName, Uid};

/// Something that a component reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The pod that it is about, as NAMESPACE/NAME; null for one about the rule itself.
    #[serde(default)]
    pub pod: Option<String>,
    /// Normal or Warning.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// When it last happened.
    pub last: Option<Time>,
}

/// Those of `events` that are about the rule and about the pods that it hits, oldest first; the rule is
/// the only considered one of `impact`.
#[must_use]
pub fn events_about(
    rule: &DeviceTaintRule,
    impact: &Impact<'_>,
    events: &[model::Event],
) -> Vec<Event> {
    let hit = hit(impact);
    let shown = events.iter().filter_map(|found| {
        let about = &found.about;
        if about.kind == "DeviceTaintRule" {
            let meant = about.name.name == rule.name;
            return meant.then(|| event(found, None));
        }
        let meant = hit.contains(&(&about.uid, &about.name));
        meant.then(|| event(found, Some(about.name.to_string())))
    });
    let mut events: Vec<Event> = shown.collect();
    events.sort_by(|left, right| {
        (left.last, &left.pod, &left.message).cmp(&(right.last, &right.pod, &right.message))
    });
    events
}

/// Whether the considered taints hit any pods, about which something may have been reported.
#[must_use]
pub fn hits_anybody(impact: &Impact<'_>) -> bool {
    !hit(impact).is_empty()
}

/// The pods that the considered taints hit. Whoever may write events may give any UID to them: a pod is
/// meant only by its UID and its name together.
fn hit<'a>(impact: &'a Impact<'_>) -> BTreeSet<(&'a Uid, &'a NamespacedName)> {
    let pods = impact.pods.iter();
    pods.filter(|pod| pod.causes.iter().any(Cause::is_considered))
        .map(|pod| (&pod.pod.uid, &pod.pod.name))
        .collect()
}

fn event(found: &model::Event, pod: Option<String>) -> Event {
    Event {
        pod,
        kind: found.kind.clone(),
        reason: found.reason.clone(),
        message: found.message.clone(),
        last: found.last.map(Time),
    }
}
