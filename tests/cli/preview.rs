//! `preview`: the ways to choose devices and taints, guards, and versions.

use std::collections::BTreeMap;

use super::harness::{EXAMPLE, Folder, Run, devicetaint};
use crate::screen::assert_screen;

fn preview(flags: &str) -> Run {
    devicetaint(&format!("preview --from {EXAMPLE} {flags}"))
}

/// The evicted pods, by `namespace/name`, each with its outcome and hazards.
fn evicted(flags: &str) -> BTreeMap<String, String> {
    let report = preview(&format!("{flags} -o json")).json();
    let pods = report["affectedPods"].as_array().expect("pods");
    let evicted = pods.iter().filter(|pod| {
        let outcome = pod["outcome"].as_str();
        outcome.is_some_and(|outcome| outcome.starts_with("Evicted"))
    });
    let facts = evicted.map(|pod| {
        let text = |field: &str| pod[field].as_str().expect("a text").to_owned();
        let name = format!("{}/{}", text("namespace"), text("name"));
        (name, format!("{} {}", text("outcome"), pod["hazards"]))
    });
    facts.collect()
}

#[test]
fn a_report_has_the_pods_with_their_hazards_guards_and_replacements() {
    let line = "gpu.example.com/node-7/* a:NoExecute --abort-if claims.unplaceable>1 --abort-if devices.available<25%";
    assert_screen("preview", &preview(line).shown());
}

#[test]
fn one_device_is_previewed_without_a_taint() {
    let expected = [
        ("research/notebook-anna", "EvictedNow"),
        ("serving/embed-5f6b8c9d77-mdd2q", "EvictedNow"),
        ("serving/rerank-6b4d9f8c5-wxh7f", "EvictedLater"),
    ];
    let found = evicted("gpu.example.com/node-7/gpu-0");
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (pod, outcome) in expected {
        assert!(found[pod].starts_with(outcome), "{pod}: {found:?}");
    }
    assert!(found["serving/rerank-6b4d9f8c5-wxh7f"].contains("PdbViolated"));
    assert!(found["research/notebook-anna"].contains("Unmanaged"));
}

#[test]
fn manifest_may_come_from_standard_input() {
    let path = format!("{}/examples/rule.yaml", env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read(path).expect("a manifest");
    let folder = Folder::new().with_example();
    let line = "preview --from cluster.yaml -f -";
    let run = folder.devicetaint_reading(line, &manifest);
    assert_eq!(run.shown(), preview("-f examples/rule.yaml").shown());
}
