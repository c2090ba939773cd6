//! Is the engine's answer that of a real cluster?
//!
//! Random clusters are loaded into a real API server, many beside each other. The real controller deletes pods;
//! the engine predicts which, from the server's objects. The number of compared clusters is printed.

mod budgets;
pub mod case;
mod jobs;
mod pending;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use case::LiveCase;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use proptest::strategy::{Strategy, ValueTree};
use serde_json::Value;

use crate::case::{Family, any_case};
use crate::harness::{ControlPlane, DEADLINE, Variant, fresh_seed, random_suffix, say, wait_for};
use crate::oracle::run::runner;

/// Clusters whose evictions are compared.
const TIMELINES: usize = 120;
/// Number of rules watched at a time.
const WATCHED: usize = 16;

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

/// Waits until the controller has written the condition of every rule.
async fn observed(plane: &ControlPlane, rules: &[Value]) {
    let work = rules.iter().map(name).map(|name| async move {
        plane.rule_condition(&name).await;
    });
    stream::iter(work)
        .buffer_unordered(WATCHED)
        .collect::<()>()
        .await;
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
    observed(plane, &rules).await;

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
