//! Result expected of one cluster, beside that of the real controller.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::words;
use jiff::Timestamp;
use kubectl_devicetaint::cluster::{self, FileSource, Limits};
use kubectl_devicetaint::engine::{
    Counts, Impact, Origin, PodImpact, ProposedTaint, Semantics, Verdict, preview,
};
use kubectl_devicetaint::model::{DeviceSelector, Effect, Snapshot, Taint};
use serde_json::Value;

use crate::case::{Case, Family, START, list};
use crate::oracle::subject::{HORIZON, Subject};

/// Result for a cluster, in words that can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The second in which each pod was deleted, by namespace and name.
    pub deleted: BTreeMap<String, i64>,
    /// Status, reason and message of each rule's condition.
    pub conditions: BTreeMap<String, [String; 3]>,
}

/// Result of the real controller.
pub fn actual(answer: &Value) -> Outcome {
    if let Some(error) = answer.get("error") {
        panic!("the oracle cannot answer: {error}");
    }
    let deleted = answer["deleted"].as_object().expect("deleted pods");
    let rules = answer["rules"].as_object().expect("rules");
    Outcome {
        deleted: deleted
            .iter()
            .map(|(pod, second)| {
                (
                    pod.clone(),
                    second.as_f64().expect("a number").floor() as i64,
                )
            })
            .collect(),
        conditions: rules
            .iter()
            .map(|(rule, condition)| {
                let part = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
                (
                    rule.clone(),
                    [part("status"), part("reason"), part("message")],
                )
            })
            .collect(),
    }
}

/// Result of the engine for the same objects, read the way `--from` reads them.
pub fn expected(case: &Case, family: Family, subject: &Subject) -> Outcome {
    let text = list(&case.objects()).to_string();
    let reading = cluster::read(
        &[FileSource::Stdin],
        &mut text.as_bytes(),
        &Limits::default(),
    )
    .expect("the case is well-formed");
    let semantics = if case.pod_groups {
        subject.semantics.with_pod_groups()
    } else {
        subject.semantics
    };
    match family {
        Family::Previews => previews(&reading.snapshot, &semantics),
        Family::Timelines => timeline(&reading.snapshot, &semantics),
    }
}

/// The two outcomes without parts that a version leaves to chance.
pub fn comparable(
    case: &Case,
    family: Family,
    subject: &Subject,
    (mut ours, mut theirs): (Outcome, Outcome),
) -> (Outcome, Outcome) {
    if family == Family::Previews {
        return (ours, theirs);
    }
    if !subject.counts_evictions() {
        ours.conditions.clear();
        theirs.conditions.clear();
    }
    for pod in subject.late_pods(case) {
        let due = ours.deleted.get(&pod).copied();
        let late = theirs.deleted.get(&pod).is_none_or(|at| Some(*at) >= due);
        if let Some(due) = due.filter(|_| late) {
            theirs.deleted.insert(pod, due);
        }
    }
    (ours, theirs)
}

fn start() -> Timestamp {
    Timestamp::from_second(START).expect("in range")
}

/// Each rule on its own, as if its effect were `NoExecute`.
fn previews(snapshot: &Snapshot, semantics: &Semantics) -> Outcome {
    let mut conditions = BTreeMap::new();
    for rule in &snapshot.rules {
        let proposed = [ProposedTaint {
            rule: Some(rule.name.clone()),
            selector: rule.selector.clone(),
            taint: Taint {
                effect: Effect::NoExecute,
                ..rule.taint.clone()
            },
        }];
        let impact = preview(snapshot, &proposed, start(), semantics);
        let condition = words(&rule.taint.effect, &impact.rules[0].counts, 0);
        conditions.insert(rule.name.to_string(), condition);
    }
    Outcome {
        deleted: BTreeMap::new(),
        conditions,
    }
}

/// The second in which each pod is deleted, by namespace and name, as things are.
pub fn deadlines(snapshot: &Snapshot, semantics: &Semantics) -> BTreeMap<String, i64> {
    timeline(snapshot, semantics).deleted
}

/// All rules as they are, until the horizon.
fn timeline(snapshot: &Snapshot, semantics: &Semantics) -> Outcome {
    let subject = Subject {
        semantics: *semantics,
    };
    let proposed: Vec<ProposedTaint> = snapshot
        .rules
        .iter()
        .map(|rule| ProposedTaint {
            rule: Some(rule.name.clone()),
            selector: rule.selector.clone(),
            taint: rule.taint.clone(),
        })
        .collect();
    let impact = preview(snapshot, &proposed, start(), semantics);
    let mut deleted = evicted_by_drivers(snapshot, semantics);
    deleted.extend(impact.pods.iter().filter_map(eviction_of));
    let conditions = snapshot
        .rules
        .iter()
        .enumerate()
        .map(|(place, rule)| {
            (
                rule.name.to_string(),
                final_condition(place, &rule.taint.effect, &impact, &subject),
            )
        })
        .collect();
    Outcome {
        deleted,
        conditions,
    }
}

fn eviction_of(impact: &PodImpact<'_>) -> Option<(String, i64)> {
    let Verdict::Evicted { at } = impact.verdict else {
        return None;
    };
    Some((impact.pod.name.to_string(), second(at)?))
}

/// The second of virtual time in which something due `at` happens, if the run lasts until then.
fn second(at: Timestamp) -> Option<i64> {
    let second = (at.as_second() - START).max(0);
    (second <= HORIZON).then_some(second)
}

/// Pods that go because of a driver's taint alone: evaluated with a taint on every device that itself evicts no pod.
fn evicted_by_drivers(snapshot: &Snapshot, semantics: &Semantics) -> BTreeMap<String, i64> {
    let harmless = [ProposedTaint {
        rule: None,
        selector: Some(DeviceSelector::default()),
        taint: Taint {
            key: "example.com/harmless".to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
            time_added: Some(start()),
        },
    }];
    let mut without_rules = snapshot.clone();
    without_rules.rules.clear();
    let impact = preview(&without_rules, &harmless, start(), semantics);
    let staying = impact.pods.iter().filter(|pod| pod.pod.deletion.is_none());
    staying
        .filter_map(|pod| Some((pod.pod.name.to_string(), second(pod.earliest()?)?)))
        .collect()
}

/// The condition after the last eviction: pending pods beyond the horizon, and pods evicted because of the rule.
fn final_condition(
    place: usize,
    effect: &Effect,
    impact: &Impact<'_>,
    subject: &Subject,
) -> [String; 3] {
    let mut pending = Counts::default();
    let mut namespaces = BTreeSet::new();
    let mut evicted = 0;
    for pod in &impact.pods {
        let because = pod
            .causes
            .iter()
            .any(|cause| cause.origin == Origin::Proposed(place));
        let Some(at) = pod.earliest().filter(|_| because) else {
            continue;
        };
        if second(at).is_some() {
            let counts = pod.pod.deletion.is_none() || subject.counts_terminating_pods();
            evicted += usize::from(counts);
        } else if pod.pod.deletion.is_none() {
            pending.pods += 1;
            namespaces.insert(&pod.pod.name.namespace);
        }
    }
    pending.namespaces = namespaces.len();
    words(effect, &pending, evicted)
}
