//! Clusters of public reports: `list`, `devices`, `plan`, and dumps that are no snapshots.

use serde_json::{Value, json};

use super::harness::{Folder, devicetaint};

/// A question about a file of `tests/data/reports`, and the expected answer.
struct Report {
    name: &'static str,
    file: &'static str,
    line: &'static str,
    code: i32,
    /// Facts of the JSON document, by pointer.
    facts: Vec<(&'static str, Value)>,
    /// Words of the text.
    words: &'static [&'static str],
}

fn report(name: &'static str, file: &'static str, line: &'static str) -> Report {
    Report {
        name,
        file,
        line,
        code: 0,
        facts: Vec::new(),
        words: &[],
    }
}

impl Report {
    fn fact(mut self, pointer: &'static str, value: Value) -> Self {
        self.facts.push((pointer, value));
        self
    }

    fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

#[test]
fn reported_clusters_have_the_right_answers() {
    for report in [
        report("the newest of all times", "time-of-a-dump", "list")
            .words(&["as of 2026-09-17T18:00:00Z"]),
        report("a pod stuck for hours", "time-of-a-dump", "describe r").words(&["for 8h"]),
        report(
            "--now wins",
            "time-of-a-dump",
            "describe r --now 2026-09-17T10:00:00Z",
        )
        .words(&["for 59m"]),
        report(
            "an unneeded kind is skipped",
            "unneeded-kind-at-other-version",
            "devices",
        )
        .fact("/items/0/device", json!("d.example.com/n1/gpu-0"))
        .fact("/warnings/0/reason", json!("UnsupportedVersion"))
        .fact("/warnings/1", Value::Null),
        report(
            "a held device is the last choice",
            "plan-tie",
            "plan d.example.com --count 1",
        )
        .fact("/plannedUnits/0/unit", json!("d.example.com/n1/gpu-1"))
        .fact("/plannedUnits/0/freeDeviceCount", json!(1))
        .words(&["\nkubectl devicetaint drain d.example.com/n1/gpu-1\n"]),
        report(
            "a claim without pods holds its device",
            "claim-without-pods",
            "plan gpu.nvidia.com --nodes 1",
        )
        .fact("/plannedUnits/0/freeDeviceCount", json!(0))
        .fact("/plannedUnits/0/evictedPodCount", json!(0)),
        report(
            "a drain does not evict a pod that has ended",
            "finished-pod",
            "plan gpu.example.com --count 1",
        )
        .fact("/plannedUnits/0/evictedPodCount", json!(0))
        .fact("/plannedUnits/0/freeDeviceCount", json!(1)),
        report(
            "the drain of a plan needs what its pods need",
            "template-needs-more",
            "plan gpu.example.com/n1/gpu-0 --count 1",
        )
        .words(&["drain gpu.example.com/n1/gpu-0 --accept-unplaceable\n"]),
        report(
            "a device that a device plugin may offer is not free afterwards",
            "device-plugin-too",
            "plan gpu.nvidia.com --count 1",
        )
        .fact("/plannedUnits/0/unit", json!("gpu.nvidia.com/n2/gpu-0"))
        .fact("/plannedUnits/0/freeDeviceCount", json!(1)),
        report("rules that are not stated", "no-rules", "list")
            .words(&["No resources found", "empty DeviceTaintRuleList"]),
        report("taints that are not known", "no-rules", "devices")
            .fact("/nodes/0/freeDeviceCount", Value::Null)
            .fact("/nodes/0/usedDeviceCount", json!(1))
            .fact("/incomplete/0/missing", json!("devicetaintrules")),
        report("a monitor uses nothing", "monitor-on-partitions", "devices")
            .fact("/nodes/0/usedDeviceCount", json!(0))
            .fact("/nodes/0/freeDeviceCount", json!(1))
            .fact("/nodes/0/usedPartitionCount", json!(0))
            .fact("/items/0/state", json!("Free"))
            .words(&["0 of 1"]),
        report(
            "monitors are one line",
            "monitor-on-partitions",
            "devices gpu.x.io",
        )
        .words(&["\nadmin access to all: mon/dcgm\n"]),
    ] {
        let Report { name, file, .. } = report;
        let line = format!("{} --from tests/data/reports/{file}.yaml", report.line);
        let run = devicetaint(&line);
        assert_eq!(run.code, report.code, "{name}: {}", run.shown());
        for words in report.words {
            assert!(
                run.shown().contains(words),
                "{name}: {words}: {}",
                run.shown()
            );
        }
        if report.facts.is_empty() {
            continue;
        }
        let document = devicetaint(&format!("{line} -o json")).json();
        for (pointer, expected) in &report.facts {
            let found = document.pointer(pointer).unwrap_or(&Value::Null);
            assert_eq!(found, expected, "{name}: {pointer}: {document:#}");
        }
    }
}

#[test]
fn an_empty_list_states_that_there_are_no_rules() {
    let none = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{},"items":[]}"#;
    let file = "tests/data/reports/no-rules.yaml";
    let text = std::fs::read_to_string(file).expect("a file");
    let folder = Folder::new().with("a.json", text).with("none.json", none);
    let rules = folder.devicetaint("list --from . --now 2026-01-02T00:00:00Z");
    assert_eq!(
        rules.shown(),
        "[stderr]\nNo resources found\n[exit status: 0]"
    );
    let devices = folder.devicetaint("devices --from . -o json").json();
    assert_eq!(devices["nodes"][0]["freeDeviceCount"], 1);
}

const SLICE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
    "spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x"}]}}"#;

#[test]
fn input_that_is_no_dump_is_named() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {resourceClaims: [{name: g, resourceClaimName: c}]}\n";
    let claims = SLICE.replace("ResourceSlice", "ResourceClaim");
    let folder = Folder::new()
        .with("pod.yaml", pod)
        .with(
            "claims.yaml",
            claims.replace("k8s.io/v1", "k8s.io/v1alpha3"),
        )
        .with("slice.json", SLICE)
        .with("notes/a.txt", "");
    for (line, code, words) in [
        (
            "devices --from pod.yaml",
            1,
            "is a manifest, not a dump: Pod a",
        ),
        (
            "devices --from claims.yaml",
            1,
            "ResourceClaim at document 1: apiVersion resource.k8s.io/v1alpha3",
        ),
        (
            "preview -f notes --from slice.json",
            1,
            "no DeviceTaintRule in notes",
        ),
        ("preview d a:NoExecute --from slice.json", 2, "--now"),
        ("devices --from slice.json", 0, "x"),
    ] {
        let run = folder.devicetaint(line);
        assert_eq!(run.code, code, "{line}: {}", run.shown());
        assert!(run.shown().contains(words), "{line}: {}", run.shown());
    }
    let document = folder
        .devicetaint("devices --from slice.json -o json")
        .json();
    assert_eq!(document["metadata"].get("observedTime"), None);
}

#[test]
fn other_kinds_in_a_manifest_are_one_line() {
    let dump = "examples/cluster.yaml";
    let run = devicetaint(&format!("preview -f {dump} --from {dump} -o name"));
    let skipped = run.stderr.lines().filter(|line| line.contains("skipped"));
    assert_eq!(skipped.count(), 1, "{}", run.stderr);
}
