//! `explain`: chains from saved files, and what is said where a link is missing.

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
        "node-10-decommission",
        "rule/node-10-decommission",
        "devicetaintrule.resource.k8s.io/node-10-decommission",
    ] {
        let run = explain(&format!("{words} -o name"));
        let name = "devicetaintrule.resource.k8s.io/node-10-decommission\n";
        assert_eq!(run.stdout, name, "{words}");
    }
    let device = explain("gpu.example.com/node-9/gpu-1 -o name").stdout;
    assert_eq!(device, "gpu.example.com/node-9/gpu-1\n");
}

#[test]
fn the_verdict_is_that_of_preview_for_a_taint_that_is_asked_about() {
    let taint = "gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware:NoExecute";
    let previewed = devicetaint(&format!(
        "preview {taint} --from examples/cluster.yaml -o json"
    ));
    let previewed = previewed.json();
    let pods = previewed["affectedPods"].as_array().expect("pods");
    assert!(pods.len() > 4);
    for pod in pods {
        let name = format!(
            "{}/{}",
            pod["namespace"].as_str().unwrap(),
            pod["name"].as_str().unwrap()
        );
        let explained = explain(&format!("{name} {taint} -o json")).json();
        let verdict = &explained["items"][0]["verdict"];
        assert_eq!(verdict["outcome"], pod["outcome"], "{name}");
        assert_eq!(verdict["evictionTime"], pod["evictionTime"], "{name}");
    }
}

/// A pod with a claim of its own, `extra` in its spec, beside `others`.
fn cluster(pods: &[Value], others: &[Value]) -> Folder {
    let items: Vec<&Value> = pods.iter().chain(others).collect();
    let kinds = "ResourceSlice,ResourceClaim,DeviceTaintRule,Pod,DeviceClass,Node";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"annotations": {
        "devicetaint.dev/observed-at": "2026-11-21T01:00:00Z",
        "devicetaint.dev/kinds": kinds,
    }}});
    Folder::new().with("cluster.json", list.to_string())
}

fn pod(namespace: &str, name: &str, entry: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}")},
        "spec": {"resourceClaims": [entry]}, "status": {"phase": "Pending"}})
}

fn claim(name: &str, class: &str) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"namespace": "ml", "name": name, "uid": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": class, "allocationMode": "ExactCount", "count": 1}}]}}})
}

/// A program that reads verdicts has to tell a pod that waits from one that is left alone.
#[test]
fn the_verdict_of_a_pod_that_waits_is_that_it_waits() {
    let named = |name: &str| json!({"name": "gpu", "resourceClaimName": name});
    let folder = cluster(
        &[
            pod("ml", "lost", &named("nowhere")),
            pod("ml", "classless", &named("waiting")),
        ],
        &[claim("waiting", "gone")],
    );
    for name in ["lost", "classless"] {
        let run = folder.devicetaint(&format!("explain pod/{name} --from cluster.json -o json"));
        assert_eq!(
            run.json()["items"][0]["verdict"]["outcome"],
            "Waiting",
            "{name}"
        );
    }
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
            "whether a driver publishes it is unknown",
            "not published",
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
        (
            "ResourceClaim",
            device,
            "requests of pending claims are unknown",
            "no request of a pending claim",
        ),
        (
            "ResourceClaim",
            "rule/node-10-decommission",
            "allocation unknown",
            "not allocated",
        ),
        (
            "DeviceTaintRule",
            device,
            "outcome unknown",
            "could get the device now",
        ),
    ] {
        let told = explained(missing, what);
        assert!(told.contains(said), "without {missing}: {told}");
        assert!(!told.contains(not_said), "without {missing}: {told}");
    }
}

#[test]
fn toleration_without_effect() {
    let taint = "gpu.example.com/node-8/gpu-0 example.com/maintenance:NoExecute";
    for (version, outcome, why) in [
        ("1.37", "EvictedNow", "tolerates this taint for scheduling"),
        ("1.38", "Tolerates", "tolerates this taint forever"),
    ] {
        let more = format!("--from examples/cluster.yaml --kubernetes {version}");
        let previewed = devicetaint(&format!("preview {taint} {more} -o json")).json();
        let pods = previewed["affectedPods"].as_array().expect("pods");
        let outcomes: Vec<_> = pods.iter().map(|pod| pod["outcome"].as_str()).collect();
        assert_eq!(outcomes, [Some(outcome)], "{version}");
        let pod = "pod/serving/chat-7d9c6b5f4d-qvwlt";
        let explained = devicetaint(&format!("explain {pod} {taint} {more} -o wide")).shown();
        assert!(explained.contains(why), "{version}: {explained}");
    }
}
