//! Devices that may not be pulled, and are not forgotten, on a real kubelet.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::bench::{Bench, plane};
use super::podresources::data;
use crate::harness::{DEADLINE, block_on, text};

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// A wait for evictions with these further flags, during which the pod is deleted by force.
fn wait_while_deleted(bench: &Bench<'_>, pod: &str, flags: &[&str]) -> std::process::Output {
    let wait = ["wait", &bench.rule, "--for", "evicted", "--settle", "0s"];
    let question = [&wait[..], flags].concat();
    let plane = bench.plane;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| plane.plugin(&question));
        // By then, the wait watches the pod, or queries the kubelet.
        thread::sleep(Duration::from_secs(8));
        block_on(plane.force_delete_pod(&bench.namespace, pod));
        waiting.join().expect("a wait")
    })
}

#[test]
fn a_wait_that_saw_a_pod_deleted_by_force_is_not_met() {
    let Some(plane) = plane() else { return };
    let mut bench = Bench::start(plane);
    bench.run_pod("train", |_| {});
    bench.node.tell("freeze driver");
    bench.evict();
    bench.wait_for_reason("DriverDown");
    let waited = wait_while_deleted(&bench, "train", &["--timeout", "60s", "-o", "json"]);
    let (status, left) = (waited.status.code(), data(&waited)["blockers"].clone());
    assert_eq!(bench.held().len(), 1, "the driver holds it");
    assert_eq!(status, Some(5), "{left:?}");
    assert_eq!(left[0]["reason"], "ForceDeleted", "{left:?}");
}

#[test]
fn devices_of_a_node_are_known_from_claims_while_their_driver_is_away() {
    let Some(plane) = plane() else { return };
    let mut bench = Bench::start(plane);
    bench.run_pod("train", |_| {});
    let held = bench.held()[0].devices[0].clone();
    let (driver, node) = (bench.node.driver().to_owned(), bench.node.name().to_owned());
    bench.node.tell("kill driver");
    let listed = || {
        let output = bench.plugin(&["devices", "--node", &node, "-o", "json"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        told
    };
    let end = Instant::now() + DEADLINE * 2;
    let mut told = listed();
    while told["items"].as_array().map(Vec::len) != Some(1) {
        assert!(Instant::now() < end, "the driver's slices stay: {told}");
        thread::sleep(Duration::from_millis(500));
        told = listed();
    }
    assert_eq!(
        told["items"][0]["device"],
        format!("{driver}/{node}/{held}")
    );
    assert_eq!(told["items"][0]["published"], false);
    let warning = told["warnings"][0]["message"].as_str().unwrap_or_default();
    assert!(warning.contains("not published, because driver"), "{told}");
    let key = "example.com/away:NoExecute";
    let previewed = bench.plugin(&["preview", "--node", &node, key, "-o", "name"]);
    assert_eq!(
        text(&previewed).trim(),
        format!("pod/train -n {}", bench.namespace)
    );
    bench.node.tell("start driver");
    wait_until("the driver is back", || bench.free().len() == 3);
}
