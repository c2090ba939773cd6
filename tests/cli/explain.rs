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

#[test]
fn names_that_commands_print_are_understood() {
    for words in [
        "pod/fold-jsg5p -n research",
        "pod/research/fold-jsg5p",
        "research/fold-jsg5p",
        "pod/fold-jsg5p",
        "fold-jsg5p",
    ] {
        let run = explain(&format!("{words} -o name"));
        assert_eq!(run.stdout, "pod/fold-jsg5p -n research\n", "{words}");
    }
    for words in [
        "claim/fold-jsg5p-gpu-ktkm8",
        "resourceclaim.resource.k8s.io/fold-jsg5p-gpu-ktkm8 -n research",
    ] {
        let run = explain(&format!("{words} -o name"));
        assert_eq!(run.stdout, "pod/fold-jsg5p -n research\n", "{words}");
    }
    for words in [
        "node-10-decommission",
        "rule/node-10-decommission",
        "devicetaintrule.resource.k8s.io/node-10-decommission",
    ] {
        let run = explain(words);
        assert_ne!(run.code, 0, "{words}");
        let shown = "describe --from examples/cluster.yaml node-10-decommission";
        assert!(run.stderr.contains(shown), "{words}: {}", run.stderr);
    }
    let device = explain("gpu.example.com/node-9/gpu-1 -o name").stdout;
    assert_eq!(device, "gpu.example.com/node-9/gpu-1\n");
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

#[test]
fn what_was_not_read_is_unknown_and_not_none() {
    let explained = |missing: &str, what: &str| {
        let all: Value = serde_yaml::from_str(&example()).expect("YAML");
        let items = all["items"].as_array().expect("objects").iter();
        let read: Vec<&Value> = items.filter(|item| item["kind"] != missing).collect();
        let dump = json!({"apiVersion": "v1", "kind": "List", "items": read});
        let folder = Folder::new().with("dump.json", dump.to_string());
        let run = folder.devicetaint(&format!("explain {what} --from dump.json"));
        // As one line, since a terminal wraps.
        run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let device = "device/gpu.example.com/node-9/gpu-1";
    for (missing, what, said, not_said) in [
        (
            "ResourceSlice",
            device,
            "unknown whether the device is published",
            "is not published",
        ),
        (
            "ResourceSlice",
            device,
            "not all of its taints are known",
            "no taint",
        ),
        (
            "ResourceClaim",
            device,
            "its allocation is unknown",
            "not allocated",
        ),
        ("DeviceTaintRule", device, "outcome unknown", "it tolerates"),
        (
            "ResourceClaim",
            "pod/llm-2 -n training",
            "outcome unknown",
            "devices free",
        ),
        (
            "DeviceTaintRule",
            "pod/llm-2 -n training",
            "number of free devices is unknown",
            "devices free",
        ),
    ] {
        let told = explained(missing, what);
        assert!(told.contains(said), "without {missing}: {told}");
        assert!(!told.contains(not_said), "without {missing}: {told}");
    }
}

/// A saved situation of `tests/data/reports`, explained.
fn situation(name: &str, words: &str) -> super::harness::Run {
    let run = devicetaint(&format!(
        "explain {words} --from tests/data/reports/{name}.yaml"
    ));
    assert_eq!(run.code, 0, "{name}: {}", run.shown());
    run
}

fn item(run: &super::harness::Run) -> Value {
    run.json()["items"][0].clone()
}

#[test]
fn toleration_without_effect_counts_for_scheduling_only_before_1_38() {
    let words = "pod/p1 gpu.x.io/n1/gpu-0 a.io/m:NoExecute";
    for (version, outcome, why) in [
        ("1.37", "EvictedNow", "scheduling only"),
        ("1.38", "Tolerates", "forever"),
    ] {
        let more = format!("{words} --kubernetes {version} -o json");
        let explained = item(&situation("toleration-without-effect", &more));
        assert_eq!(explained["verdict"]["outcome"], outcome, "{version}");
        let why_found = explained["messages"].to_string();
        assert!(why_found.contains(why), "{version}: {why_found}");
    }
}

#[test]
fn a_claim_that_is_missing_in_the_status_of_its_pod_is_named() {
    for (words, outcome) in [
        ("pod/p -n t", "Untouched"),
        (
            "pod/p -n t d.example.com/n1/gpu-0 a/b:NoExecute",
            "NotEvicted",
        ),
    ] {
        let explained = item(&situation(
            "claim-status-wiped",
            &format!("{words} -o json"),
        ));
        let message = explained["message"].as_str().expect("a text");
        assert!(message.contains("p-g-x"), "{message}");
        assert_eq!(explained["verdict"]["outcome"], outcome);
    }
}

#[test]
fn a_pending_extended_resource_is_explained_by_the_devices_of_its_class() {
    let explained = item(&situation(
        "pending-extended-resource",
        "pod/p -n t -o json",
    ));
    assert_eq!(explained["verdict"]["outcome"], "Waiting");
    assert_eq!(explained["blockedBy"], "Taint");
    let request = &explained["waitingRequests"][0];
    assert_eq!(request["request"], "nvidia.com/gpu");
    assert_eq!(request["excluded"][0]["taint"]["key"], "gpu.nvidia.com/xid");
    assert_eq!(request["claim"], Value::Null);
}

#[test]
fn a_driver_that_publishes_nothing_is_the_cause_on_its_node() {
    let explained = item(&situation("driver-away-pending", "pod/new -o json"));
    assert_eq!(explained["blockedBy"], "Driver");
    let message = explained["message"].as_str().expect("a text");
    assert!(message.contains("compute-domain.nvidia.com"), "{message}");
    assert!(message.contains("b2"), "{message}");
}

#[test]
fn a_toleration_that_the_template_has_already_is_not_proposed() {
    let words = "pod/d-1-a gpu.example.com/n1/gpu-0 x/y:NoExecute -o json";
    let explained = item(&situation("template-tolerates", words));
    let fixes = explained["fixes"].as_array().expect("fixes");
    let fix = fixes[0]["message"].as_str().expect("a text");
    assert!(fix.starts_with("delete the pod"), "{fix}");
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
