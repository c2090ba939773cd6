//! Is the engine's answer that of a real cluster?
//!
//! Random clusters are loaded into a real API server, many beside each other. The real controller writes the
//! condition of every rule and deletes pods; the engine predicts both, from the server's objects. The number
//! of compared clusters is printed.

mod budgets;
pub mod case;
mod jobs;
mod pending;
mod scheduled;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use case::LiveCase;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use proptest::strategy::{Strategy, ValueTree};
use serde_json::Value;
use verdicts::Words;

use crate::case::{Family, any_case};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, fresh_seed, random_suffix, say, wait_for,
};
use crate::oracle::run::runner;

/// Clusters whose conditions are compared.
const PREVIEWS: usize = 120;
/// Clusters whose evictions are compared.
const TIMELINES: usize = 120;
/// Number of rules watched at a time.
const WATCHED: usize = 16;
/// Attempts for a rule whose preview may have been faster than the news of pods and claims.
const ATTEMPTS: usize = 3;

#[expect(
    clippy::disallowed_methods,
    reason = "a real controller works in real time"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Only the eviction controller: the others would repair the odd clusters.
fn eviction_controller_alone() -> &'static ControlPlane {
    let variant = Variant::default()
        .with_controllers("device-taint-eviction-controller")
        .without_scheduler();
    ControlPlane::of(&variant)
}

fn any_cases(family: Family, count: usize) -> (u64, Vec<LiveCase>) {
    let seed = fresh_seed();
    let mut runner = runner(seed);
    let strategy = any_case(family);
    let start = now().as_second();
    let run = random_suffix();
    let cases = (0..count).map(|number| {
        let case = strategy.new_tree(&mut runner).expect("cases can be made");
        LiveCase::new(&format!("c{run}-{number}"), case.current(), family, start)
    });
    (seed, cases.collect())
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("it has a name")
        .to_owned()
}

/// The objects as YAML, to find out why an answer differs.
fn yaml(objects: &[Value]) -> String {
    objects
        .iter()
        .map(|object| serde_yaml::to_string(object).expect("YAML"))
        .collect::<Vec<_>>()
        .join("---\n")
}

#[tokio::test]
async fn conditions_of_random_clusters_are_those_of_the_real_controller() {
    let plane = eviction_controller_alone();
    let (seed, cases) = any_cases(Family::Previews, PREVIEWS);
    let others: Vec<Value> = cases.iter().flat_map(|case| case.others.clone()).collect();
    plane.create(&others).await;
    let mut rules: Vec<Value> = cases.iter().flat_map(|case| case.rules.clone()).collect();
    let compared = rules.len();

    for attempt in 1.. {
        plane.create(&rules).await;
        let theirs = conditions_of(plane, &rules).await;
        let ours = verdicts::conditions(&verdicts::read(plane).await, now());
        rules.retain(|rule| ours.get(&name(rule)) != theirs.get(&name(rule)));
        let Some(rule) = rules.first() else {
            break;
        };
        let rule_name = name(rule);
        if attempt == ATTEMPTS {
            let case = cases
                .iter()
                .find(|case| rule_name.starts_with(&format!("{}-", case.prefix)))
                .expect("every rule is of a cluster");
            panic!(
                "seed {seed}: {rule_name}\nours:   {:?}\ntheirs: {:?}\n{}",
                ours.get(&rule_name),
                theirs.get(&rule_name),
                yaml(&[case.others.as_slice(), &case.rules].concat())
            );
        }
        for rule in &rules {
            plane.delete(&Reference::rule(&name(rule))).await;
        }
    }
    say(&format!(
        "cluster: the conditions of {compared} rules in {PREVIEWS} live clusters of seed {seed} agree with the controller's"
    ));
}

async fn conditions_of(plane: &ControlPlane, rules: &[Value]) -> BTreeMap<String, Words> {
    let work = rules.iter().map(name).map(|name| async move {
        let condition = plane.rule_condition(&name).await;
        let part = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        (name, [part("status"), part("reason"), part("message")])
    });
    stream::iter(work).buffer_unordered(WATCHED).collect().await
}

#[tokio::test]
async fn evictions_in_random_clusters_are_those_of_the_real_controller() {
    let plane = eviction_controller_alone();
    let (seed, cases) = any_cases(Family::Timelines, TIMELINES);
    let others: Vec<Value> = cases.iter().flat_map(|case| case.others.clone()).collect();
    let rules: Vec<Value> = cases.iter().flat_map(|case| case.rules.clone()).collect();
    // Drivers' taints evict as soon as the claims are there; the returned objects are from before.
    let mut created = plane.create(&others).await;
    created.extend(plane.create(&rules).await);
    let terminating: BTreeSet<String> = created
        .iter()
        .filter(|pod| is_leaving(pod))
        .map(full_name)
        .collect();
    let expected = verdicts::evicted(&created, now());

    let all: BTreeSet<String> = created
        .iter()
        .filter(|object| object["kind"] == "Pod")
        .map(full_name)
        .collect();
    let mut left = expected.clone();
    wait_for(
        "every pod is evicted that should be",
        DEADLINE,
        async || {
            let present = pods(plane).await;
            left.retain(|pod| present.get(pod).is_some_and(|pod| !is_leaving(pod)));
            left.is_empty().then_some(())
        },
    )
    .await;
    // The objects of a rule have been evaluated when its condition is there.
    conditions_of(plane, &rules).await;

    let present = pods(plane).await;
    let evicted: BTreeSet<String> = all
        .iter()
        .filter(|pod| !terminating.contains(*pod) && present.get(*pod).is_none_or(is_leaving))
        .cloned()
        .collect();
    assert_eq!(evicted, expected, "seed {seed}\n{}", yaml(&created));
    for pod in evicted.iter().filter_map(|pod| present.get(pod)) {
        let conditions = pod["status"]["conditions"].as_array();
        let marked = conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "DisruptionTarget" && condition["status"] == "True"
        });
        assert!(marked, "seed {seed}: {pod}");
    }
    say(&format!(
        "cluster: the {} evictions among {} pods in {TIMELINES} live clusters of seed {seed} agree with the controller's",
        evicted.len(),
        all.len()
    ));
}

/// All pods of the server, by namespace and name.
async fn pods(plane: &ControlPlane) -> BTreeMap<String, Value> {
    let answer = plane.request(http::Method::GET, "/api/v1/pods", None).await;
    let list = answer
        .and_then(crate::harness::Answer::success)
        .expect("pods can be listed");
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items
        .into_iter()
        .map(|pod| (full_name(&pod), pod))
        .collect()
}

fn full_name(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    format!("{namespace}/{}", name(object))
}

fn is_leaving(object: &Value) -> bool {
    object["kind"] != "Namespace" && object["metadata"]["deletionTimestamp"].is_string()
}
