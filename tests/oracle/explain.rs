//! `explain` agrees with a preview on every pod, and each single change has its predicted effect.
//!
//! Changes are made here in the objects, by the report's description, and the engine is run again; for some
//! of them the controller, too.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubectl_devicetaint::assess::Basis;
use kubectl_devicetaint::cluster::{self, FileSource, Limits};
use kubectl_devicetaint::engine::{ProposedTaint, Semantics, Verdict, preview};
use kubectl_devicetaint::model::{Pod, Reading};
use kubectl_devicetaint::report::explain::{
    ChangeType, Explained, ExplainedVerdict, PodOutcome, SingleChange, explain_pod,
};
use proptest::strategy::{Strategy, ValueTree};
use serde_json::{Value, json};

use crate::case::{Case, Family, Objects, START, any_case, list};
use crate::harness::go_program::say;
use crate::oracle::compare::{actual, deadlines};
use crate::oracle::process::Oracle;
use crate::oracle::run::{cases_or, runner};
use crate::oracle::subject::{HORIZON, Subject};

/// So many changes are made before the eyes of the controller.
const CONTROLLED: usize = 300;

/// A change, with its case, and the predictions for the pod without and with it.
struct Predicted {
    request: [Value; 2],
    pod: String,
    seconds: [Option<i64>; 2],
    told: String,
}

/// Explains every pod of `cases` clusters of each family.
pub fn compare(seed: u64, cases: usize) {
    let cases = cases_or(cases);
    let mut oracle = Oracle::start();
    let subject = Subject::of(&mut oracle);
    let mut predicted = Vec::new();
    let (mut pods, mut changes) = (0, 0);
    for family in [Family::Previews, Family::Timelines] {
        let mut runner = runner(seed);
        let strategy = any_case(family);
        for place in 0..cases {
            let tree = strategy.new_tree(&mut runner).expect("cases can be made");
            let case = subject.adapted(tree.current());
            let look = Look::new(&case, &subject);
            pods += look.verdicts_are_those_of_previews(place);
            let found = look.changes_do_what_they_say(place);
            changes += found.len();
            if family == Family::Timelines && subject.late_pods(&case).is_empty() {
                let wanted = CONTROLLED.saturating_sub(predicted.len());
                predicted.extend(found.into_iter().take(wanted.min(2)));
            }
        }
    }
    let controlled = predicted.len();
    for one in predicted {
        one.is_what_the_controller_does(&mut oracle);
    }
    assert!(
        // Changes are proposed for pods that are evicted, which few are.
        pods > cases && changes > cases / 8,
        "{pods} pods, {changes} changes"
    );
    say(&format!(
        "explain: {pods} verdicts in {} clusters of seed {seed} are those of previews, {changes} single changes do what they say, {controlled} of them before the controller of Kubernetes {}",
        2 * cases,
        subject.semantics.version
    ));
}

/// One cluster.
struct Look<'a> {
    case: &'a Case,
    subject: &'a Subject,
    semantics: Semantics,
    reading: Reading,
}

fn read(objects: &Objects) -> Reading {
    let text = list(objects).to_string();
    let mut bytes = text.as_bytes();
    cluster::read(&[FileSource::Stdin], &mut bytes, &Limits::default()).expect("well-formed")
}

fn now() -> Timestamp {
    Timestamp::from_second(START).expect("in range")
}

impl<'a> Look<'a> {
    fn new(case: &'a Case, subject: &'a Subject) -> Self {
        let semantics = if case.pod_groups {
            subject.semantics.with_pod_groups()
        } else {
            subject.semantics
        };
        Self {
            case,
            subject,
            semantics,
            reading: read(&case.objects()),
        }
    }

    fn explained(&self, pod: &Pod, supposed: &[ProposedTaint]) -> Explained {
        let basis = Basis::new(&self.reading, &self.semantics, now());
        explain_pod(pod, supposed, &basis)
    }

    /// Each rule in question, alone and all together, and the present as the timelines have it.
    fn verdicts_are_those_of_previews(&self, place: usize) -> usize {
        let snapshot = &self.reading.snapshot;
        let rules = snapshot.rules.iter();
        let all: Vec<ProposedTaint> = rules
            .map(|rule| ProposedTaint::of_rule(rule, now()))
            .collect();
        let questions = all.iter().map(std::slice::from_ref).chain([&all[..]]);
        for question in questions {
            let impact = preview(snapshot, question, now(), &self.semantics);
            for pod in &snapshot.pods {
                let hit = impact.pods.iter().find(|hit| hit.pod.name == pod.name);
                let expected = match hit.map(|hit| &hit.verdict) {
                    None => (PodOutcome::Untouched, None),
                    Some(Verdict::Evicted { at }) if *at <= now() => {
                        (PodOutcome::EvictedNow, Some(*at))
                    }
                    Some(Verdict::Evicted { at }) => (PodOutcome::EvictedLater, Some(*at)),
                    Some(Verdict::Tolerates) => (PodOutcome::Tolerates, None),
                    Some(Verdict::Terminating) => (PodOutcome::Terminating, None),
                    Some(Verdict::NotEvicted(_)) => (PodOutcome::NotEvicted, None),
                };
                let verdict = self.explained(pod, question).verdict.expect("of a pod");
                let code = match verdict.outcome {
                    // No taint touches a pod whose claims have no devices yet.
                    PodOutcome::Waiting => PodOutcome::Untouched,
                    code => code,
                };
                assert_eq!(
                    (code, verdict.eviction_time.map(|at| at.0)),
                    expected,
                    "case {place}: {} {question:?}",
                    pod.name
                );
            }
        }
        let due = deadlines(snapshot, &self.semantics);
        for pod in snapshot.pods.iter().filter(|pod| pod.deletion.is_none()) {
            let verdict = self.explained(pod, &[]).verdict.expect("of a pod");
            let told = second(&verdict);
            assert_eq!(
                told,
                due.get(&pod.name.to_string()).copied(),
                "case {place}: {}",
                pod.name
            );
        }
        snapshot.pods.len()
    }

    /// Makes each single change in the objects, and runs the engine again.
    fn changes_do_what_they_say(&self, place: usize) -> Vec<Predicted> {
        let mut predicted = Vec::new();
        for pod in &self.reading.snapshot.pods {
            let explained = self.explained(pod, &[]);
            let before = explained.verdict.expect("of a pod");
            for change in &explained.fixes {
                let Some(after) = &change.verdict else {
                    continue;
                };
                let told = format!("case {place}: {}: {}", pod.name, change.message);
                assert_ne!(*after, before, "{told}");
                let mut objects = self.case.objects();
                make(change, &mut objects);
                let changed = read(&objects);
                let due = deadlines(&changed.snapshot, &self.semantics);
                let name = pod.name.to_string();
                assert_eq!(second(after), due.get(&name).copied(), "{told}");
                predicted.push(Predicted {
                    request: [
                        self.subject.request(self.case, Family::Timelines),
                        self.changed_request(&objects),
                    ],
                    pod: name,
                    seconds: [second(&before), second(after)],
                    told,
                });
            }
        }
        predicted
    }

    fn changed_request(&self, objects: &Objects) -> Value {
        let mut request = self.subject.request(self.case, Family::Timelines);
        request["slices"] = json!(objects.slices);
        request["claims"] = json!(objects.claims);
        request["pods"] = json!(objects.pods);
        request["rules"] = json!(objects.rules);
        request
    }
}

impl Predicted {
    fn is_what_the_controller_does(&self, oracle: &mut Oracle) {
        let answers = oracle.ask(&self.request);
        for (answer, second) in answers.iter().zip(self.seconds) {
            let found: BTreeMap<String, i64> = actual(answer).deleted;
            assert_eq!(
                found.get(&self.pod).copied(),
                second,
                "{}\n{answer:#}",
                self.told
            );
        }
    }
}

/// The second of virtual time in which the pod goes, if it does so before the end.
fn second(verdict: &ExplainedVerdict) -> Option<i64> {
    let at = verdict.eviction_time?;
    let second = (at.0.as_second() - START).max(0);
    (second <= HORIZON).then_some(second)
}

/// Makes the change in the objects of the API, by the report's description.
fn make(change: &SingleChange, objects: &mut Objects) {
    match change.change_type {
        ChangeType::WithoutTaint if change.rule.is_some() => {
            objects
                .rules
                .retain(|rule| rule["metadata"]["name"] != json!(change.rule));
        }
        ChangeType::WithoutTaint => {
            let device = change.device.as_deref().expect("a device");
            without_driver_taint(change, device, &mut objects.slices);
        }
        ChangeType::WithToleration => {
            let wanted = serde_json::to_value(&change.toleration).expect("JSON");
            let claim = claim(change, objects);
            let results = claim["status"]["allocation"]["devices"]["results"]
                .as_array_mut()
                .expect("results");
            for result in results {
                let mut tolerations = result["tolerations"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                tolerations.push(wanted.clone());
                result["tolerations"] = json!(tolerations);
            }
        }
        // No pod of this test is pending because of a cordoned node.
        ChangeType::Uncordoned => {}
    }
}

fn claim<'o>(change: &SingleChange, objects: &'o mut Objects) -> &'o mut Value {
    let wanted = change.claim.as_ref().expect("a claim");
    let mut claims = objects.claims.iter_mut();
    let found = claims.find(|claim| {
        claim["metadata"]["namespace"] == wanted.namespace
            && claim["metadata"]["name"] == wanted.name
    });
    found.expect("the claim")
}

/// Takes the taint that the change names from its device in the slices.
pub fn without_driver_taint(change: &SingleChange, device: &str, slices: &mut [Value]) {
    let parts: Vec<&str> = device.split('/').collect();
    let of_pool = slices.iter_mut().filter(|slice| {
        slice["spec"]["driver"] == *parts[0] && slice["spec"]["pool"]["name"] == *parts[1]
    });
    let devices = of_pool.filter_map(|slice| slice["spec"]["devices"].as_array_mut());
    for device in devices.flatten().filter(|one| one["name"] == *parts[2]) {
        if let Some(taints) = device["taints"].as_array_mut() {
            let gone = change.taint.as_ref().map(ToString::to_string);
            taints.retain(|taint| Some(spelled(taint)) != gone);
        }
    }
}

/// A taint as KEY[=VALUE]:EFFECT.
fn spelled(taint: &Value) -> String {
    let text = |field: &str| taint[field].as_str().unwrap_or_default();
    match text("value") {
        "" => format!("{}:{}", text("key"), text("effect")),
        value => format!("{}={value}:{}", text("key"), text("effect")),
    }
}
