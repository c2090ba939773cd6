//! `preview` of more pods than a person reads.

use serde_json::{Value, json};

use super::harness::Folder;
use crate::screen::assert_screen;

/// A cluster with so many StatefulSets of ten pods, each pod with a device of one node.
fn cluster(sets: usize) -> Value {
    let names = (0..sets).flat_map(|set| (0..10).map(move |pod| format!("model-{set}-{pod}")));
    let devices: Vec<Value> = names.map(|name| json!({"name": name})).collect();
    let meta = |name: &str| json!({"name": name, "uid": name});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let mut items = vec![
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta("node-0"),
            "spec": {"driver": "gpu.example.com", "nodeName": "node-0", "devices": devices,
                "pool": {"name": "node-0", "generation": 1, "resourceSliceCount": 1}}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": meta("node-0"), "status": {"conditions": ready}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": meta("gpu"), "spec": {}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": meta("other"),
            "spec": {"deviceSelector": {"driver": "nic.example.com"},
                "taint": {"key": "a", "effect": "None", "timeAdded": "2026-11-20T10:00:00Z"}}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "default", "name": "other", "uid": "budget"},
            "spec": {"selector": {"matchLabels": {"app": "other"}}}}),
    ];
    for set in 0..sets {
        let (namespace, owner) = (format!("team-{set:02}"), format!("model-{set}"));
        let meta = |name: &str| json!({"namespace": namespace, "name": name, "uid": name});
        items.push(
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta(&owner),
            "spec": {"replicas": 10}, "status": {"replicas": 10, "readyReplicas": 10}}),
        );
        for pod in 0..10 {
            let name = format!("{owner}-{pod}");
            let result = json!({"request": "gpu", "driver": "gpu.example.com", "pool": "node-0", "device": name});
            items.push(json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta(&name),
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
                "status": {"allocation": {"devices": {"results": [result]}},
                    "reservedFor": [{"resource": "pods", "name": name, "uid": name}]}}));
            let mut metadata = meta(&name);
            metadata["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner,
                "uid": owner, "controller": true}]);
            items.push(
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
                "spec": {"nodeName": "node-0", "terminationGracePeriodSeconds": 5, "containers": [],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": name}]},
                "status": {"phase": "Running", "conditions": ready}}),
            );
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[test]
fn many_pods_are_rolled_up_by_workload_and_the_summary_is_last() {
    let folder = Folder::new().with("cluster.json", cluster(35).to_string());
    let run = folder.devicetaint(
        "preview gpu.example.com a:NoExecute --from cluster.json --now 2026-11-20T10:15:00Z",
    );
    let shown = run.shown();
    let table = shown.find("SEVERITY ").expect("a table");
    // Eighteen workloads have a row, of which one is enough here.
    let is_left_out = |line: &&str| line.starts_with("danger ") && !line.contains(" team-00/");
    let lines: Vec<&str> = shown[table..]
        .lines()
        .filter(|line| !is_left_out(line))
        .collect();
    assert_eq!(shown[table..].matches("/StatefulSet/").count(), 18);
    assert_screen("preview-by-workload", &lines.join("\n"));
}
