//! `explain`: chains from saved files, and the text where a link is missing.

use serde_json::{Value, json};

use super::harness::{Folder, devicetaint, example};
use crate::screen::assert_screen;

fn explain(words: &str) -> super::harness::Run {
    devicetaint(&format!("explain {words} --from examples/cluster.yaml"))
}

#[test]
fn the_whole_chain_has_the_field_of_each_link() {
    assert_screen(
        "explain",
        &explain("pod/fold-jsg5p -n research -o wide").shown(),
    );
}

#[test]
fn a_pod_that_waits_is_told_what_keeps_devices_from_it() {
    assert_screen("explain-waiting", &explain("training/llm-2").shown());
}

fn pod(namespace: &str, name: &str, entry: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}")},
        "spec": {"resourceClaims": [entry]}, "status": {"phase": "Pending"}})
}

#[test]
fn what_was_not_read_makes_a_verdict_unknown_and_strict_fails() {
    let pod = pod(
        "ml",
        "train",
        &json!({"name": "gpu", "resourceClaimName": "claim"}),
    );
    let folder = Folder::new().with("pods.json", pod.to_string());
    let run = |more: &str| {
        let line = format!("explain pod/train --from pods.json --now 2026-11-21T01:00:00Z {more}");
        folder.devicetaint(&line)
    };
    assert_eq!(run("").code, 0);
    let device = folder.devicetaint(
        "explain device/gpu.example.com/a/b --from pods.json --now 2026-11-21T01:00:00Z",
    );
    assert_eq!(device.code, 1);
    assert!(
        device.stderr.contains("cannot tell whether"),
        "{}",
        device.stderr
    );
    let json = run("-o json").json();
    assert_eq!(json["items"][0]["verdict"]["outcome"], "Unknown");
    assert_eq!(json["items"][0]["fixes"], json!([]));
}

fn item(run: &super::harness::Run) -> Value {
    run.json()["items"][0].clone()
}

#[test]
fn a_pod_that_waits_is_counted_by_node_and_each_device_once() {
    let example: Value = serde_yaml::from_str(&example()).expect("YAML");
    let explained = |count: i64, selector: Option<&str>| {
        let mut dump = example.clone();
        let items = dump["items"].as_array_mut().expect("objects");
        let claim = items.iter_mut().find(|item| {
            let spec = &item["spec"]["devices"]["requests"][0]["exactly"];
            item["kind"] == "ResourceClaim"
                && item["metadata"]["namespace"] == "training"
                && spec["deviceClassName"] == "h200.example.com"
                && item["status"]["allocation"].is_null()
        });
        let claim = claim.expect("the claim of llm-2");
        let request = &mut claim["spec"]["devices"]["requests"][0]["exactly"];
        request["count"] = json!(count);
        if let Some(expression) = selector {
            request["selectors"] = json!([{"cel": {"expression": expression}}]);
        }
        let folder = Folder::new().with("dump.json", dump.to_string());
        let run = folder.devicetaint("explain training/llm-2 --from dump.json -o json");
        item(&run)
    };
    let short = explained(4, None);
    let request = &short["waitingRequests"][0];
    assert_eq!(request["bestNode"]["name"], "node-4");
    assert_eq!(request["bestNode"]["usableDeviceCount"], 3);
    assert_eq!(request["bestNode"]["matchingDeviceCount"], 4);
    let excluded = request["excluded"].as_array().expect("reasons").iter();
    let excluded: u64 = excluded
        .map(|one| one["deviceCount"].as_u64().unwrap())
        .sum();
    let usable = request["usableDevices"].as_array().expect("names").len() as u64;
    let slices = example["items"].as_array().expect("objects").iter();
    let devices = slices
        .filter(|item| item["kind"] == "ResourceSlice")
        .map(|slice| slice["spec"]["devices"].as_array().map_or(0, Vec::len) as u64);
    // The slices of older generations are none of the cluster's devices.
    assert!(usable + excluded <= devices.sum(), "each device once");
    assert_eq!(explained(32, None)["blockedBy"], "Never", "no node has 32");
    let unmatched = explained(1, Some("device.driver == 'other'"));
    assert_eq!(unmatched["blockedBy"], "Never");
    assert_eq!(unmatched["waitingRequests"][0]["matchingDeviceCount"], 0);
    let why = unmatched["messages"].to_string();
    assert!(why.contains("devices match the selector"), "{why}");
    assert!(why.contains("device.driver == 'other'"), "{why}");
}

#[test]
fn a_taint_evicts_no_pod_through_a_claim_that_the_controller_ignores() {
    let taint = "gpu.example.com/node-7/gpu-0 a.io/m:NoExecute -o json";
    let run = explain(&format!("serving/thumbnails-75c8f4b69d-5bvwl {taint}"));
    let step = &item(&run)["steps"][0]["steps"][1]["steps"][1];
    assert_eq!(step["type"], "Taint");
    assert_eq!(step["satisfied"], false);
}
