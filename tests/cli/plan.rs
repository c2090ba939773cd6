//! `plan`: the devices or nodes that cost least to drain.

use super::harness::{EXAMPLE, Folder, Run, devicetaint, example};
use crate::screen::assert_screen;

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}

#[test]
fn plan_has_its_units_the_next_best_and_its_drain() {
    let run = plan("'gpu.example.com/node-3/*' --count 5");
    assert_screen("plan", &run.shown());
}

#[test]
fn idle_devices_are_planned_first() {
    let run = plan("gpu.example.com --count 3 -o name");
    assert_eq!(run.code, 0, "{}", run.shown());
    let names: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        names,
        [
            "gpu.example.com/node-10/gpu-1",
            "gpu.example.com/node-10/gpu-2",
            "gpu.example.com/node-10/gpu-3"
        ]
    );
}

#[test]
fn whole_nodes_are_planned_with_all_of_their_devices() {
    let flags = "gpu.example.com --nodes 2 --exclude gpu.example.com/node-2/gpu-0";
    let run = plan(&format!("{flags} -o name"));
    let names: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(names.len(), 10, "{}", run.shown());
    let on = |node: &str| names.iter().filter(|name| name.contains(node)).count();
    assert_eq!((on("node-4/"), on("node-8/")), (6, 4));
    let run = plan(&format!("{flags} --no-headers"));
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.shown());
    let next = "next: kubectl devicetaint drain --node node-4 --node node-8\n";
    assert_eq!(run.stderr, next);
}

/// Two devices, the first of which a claim with this metadata and these users holds.
fn held_by(metadata: &str, users: &str) -> Folder {
    let text = format!(
        "apiVersion: v1
kind: List
metadata:
  annotations:
    devicetaint.dev/observed-at: \"2025-11-18T00:00:00Z\"
    devicetaint.dev/kinds: ResourceSlice,ResourceClaim,DeviceTaintRule,Pod
    devicetaint.dev/server-version: v1.37.0
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {{name: a}}
  spec:
    driver: d.example.com
    nodeName: n1
    pool: {{name: n1, generation: 1, resourceSliceCount: 1}}
    devices: [{{name: gpu-0}}, {{name: gpu-1}}]
- {{apiVersion: v1, kind: Pod, metadata: {{name: other, namespace: t, uid: o1}}, spec: {{}}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {{name: held, namespace: t, uid: x1{metadata}}}
  spec: {{devices: {{requests: [{{name: g, exactly: {{deviceClassName: c}}}}]}}}}
  status:
    allocation: {{devices: {{results: [{{request: g, driver: d.example.com, pool: n1, device: gpu-0}}]}}}}
    reservedFor: [{users}]
"
    );
    Folder::new().with("cluster.yaml", text)
}

#[test]
fn device_that_a_claim_without_pods_holds_is_planned_last() {
    for (metadata, users) in [
        ("", ""),
        (
            ", deletionTimestamp: \"2025-11-18T00:00:00Z\", finalizers: [a.io/protection]",
            "{resource: pods, name: gone, uid: gone}",
        ),
    ] {
        let folder = held_by(metadata, users);
        let run = |flags: &str| {
            folder.devicetaint(&format!("plan d.example.com {flags} --from cluster.yaml"))
        };
        let first = run("--count 1 -o name");
        assert_eq!(
            first.stdout,
            "d.example.com/n1/gpu-1\n",
            "{}",
            first.shown()
        );
        let rows = run("--count 2 --no-headers").stdout;
        let free: Vec<bool> = rows.lines().map(|row| row.ends_with("1 of 1")).collect();
        assert_eq!(free, [false, true], "{rows}");
    }
}

#[test]
fn budgets_that_were_not_read_are_unknown() {
    let all = plan("gpu.example.com --count 40 -o json");
    assert_eq!(all.code, 0, "{}", all.shown());
    assert!(
        !all.stdout.contains("\"violatedBudgets\": null"),
        "{}",
        all.stdout
    );
    let text = example();
    let kept = text
        .split("\n- apiVersion: ")
        .filter(|document| !document.contains("kind: PodDisruptionBudget\n"));
    let kept = kept.collect::<Vec<_>>().join("\n- apiVersion: ");
    let folder = Folder::new().with("cluster.yaml", kept);
    let run = folder.devicetaint("plan gpu.example.com --count 40 --from cluster.yaml -o json");
    assert!(
        run.stdout.contains("\"violatedBudgets\": null"),
        "{}",
        run.shown()
    );
}
