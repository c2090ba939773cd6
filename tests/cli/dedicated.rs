//! `tolerations`, and refusals of `dedicate` before it asks any cluster.

use serde_json::Value;

use super::harness::{Run, devicetaint};

const EXAMPLE: &str = "--from examples/cluster.yaml";

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

#[test]
fn rules_and_devices_are_tolerated_by_their_taints() {
    for (target, key) in [
        ("node-10-decommission", "example.com/decommission"),
        ("gpu.example.com/node-9/gpu-1", "gpu.example.com/unhealthy"),
    ] {
        let run = devicetaint(&format!("tolerations {target} {EXAMPLE} -o json"));
        assert_eq!(parsed(&run)["tolerations"][0]["key"], key, "{run:#?}");
    }
    let run = devicetaint(&format!("tolerations node-6-firmware {EXAMPLE}"));
    assert!(
        run.stderr.contains("needs no toleration"),
        "effect None: {run:#?}"
    );
    let run = devicetaint(&format!("tolerations node-10-decomission {EXAMPLE}"));
    assert!(
        run.stderr.contains("did you mean node-10-decommission?"),
        "{run:#?}"
    );
}

#[test]
fn who_tolerates_a_taint_is_listed_with_blanket_tolerations_apart() {
    let run = devicetaint(&format!(
        "tolerations example.com/maintenance:NoExecute --who {EXAMPLE} -o json"
    ));
    let report = parsed(&run);
    let found = report["items"].as_array().expect("a list");
    let tolerances: Vec<&str> = found
        .iter()
        .filter_map(|one| one["tolerance"].as_str())
        .collect();
    assert!(
        tolerances.contains(&"Key") && tolerances.contains(&"Wildcard"),
        "{report}"
    );
    assert!(tolerances.is_sorted(), "those by key first: {report}");
    let scheduler_only = found.iter().any(|one| one["schedulingOnly"] == true);
    assert!(
        scheduler_only,
        "a toleration without effect is good for the scheduler alone: {report}"
    );
}

#[test]
fn manifests_of_a_dedication_need_no_cluster() {
    let run = devicetaint("dedicate d.example.com/p/x --to a --allow b --dry-run=client -o json");
    assert_eq!(run.code, 0, "{run:#?}");
    let kinds: Vec<Value> = parsed(&run)["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["kind"].clone())
        .collect();
    assert_eq!(kinds.len(), 5, "{run:#?}");
    assert_eq!(kinds[4], "DeviceTaintRule", "the taint comes last");
}
