//! `plan`: the devices or nodes that cost least to drain.

use insta::assert_snapshot;

use super::harness::{EXAMPLE, Run, devicetaint};

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}

#[test]
fn the_plan_ends_with_the_verdict_and_the_drain_of_its_units() {
    for (flags, next) in [
        (
            "gpu.example.com --count 3",
            "next: kubectl devicetaint drain gpu.example.com/node-10/gpu-1 gpu.example.com/node-10/gpu-2 \
             gpu.example.com/node-10/gpu-3 --dry-run",
        ),
        (
            "gpu.example.com --nodes 2 --exclude gpu.example.com/node-2/gpu-0",
            "next: kubectl devicetaint drain --node node-4 --node node-8",
        ),
    ] {
        let run = plan(flags);
        assert_eq!(run.code, 0, "{}", run.shown());
        assert!(run.stdout.contains("Optimal: no other set costs less."));
        assert!(run.stderr.contains(next), "{}", run.shown());
    }
}

#[test]
fn whole_nodes_are_planned_with_all_of_their_devices() {
    let run = plan("gpu.example.com --nodes 2 --exclude gpu.example.com/node-2/gpu-0 -o name");
    let names: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(names.len(), 10, "{}", run.shown());
    let on = |node: &str| names.iter().filter(|name| name.contains(node)).count();
    assert_eq!((on("node-4/"), on("node-8/")), (6, 4));
}

#[test]
fn what_cannot_be_planned_is_refused_with_the_reason() {
    assert_snapshot!(plan("--count 2").shown(), @r"
    [stderr]
    error: no devices specified
    hint: specify devices as DRIVER/POOL/DEVICE; DRIVER alone means all devices of the driver
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --count 0").shown(), @r"
    [stderr]
    error: --count 0 plans nothing
    hint: use a whole number of 1 or more
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --count 41").shown(), @r"
    [stderr]
    error: --count 41 exceeds the number of candidates: 40 devices
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --nodes 99").shown(), @r"
    [stderr]
    error: --nodes 99 exceeds the number of candidates: 9 nodes
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --node nod-7 --count 1").shown(), @r"
    [stderr]
    error: node nod-7 not found
    hint: did you mean one of node-7, node-1, node-2?
    [exit status: 1]
    ");
    assert_snapshot!(plan("gpu.example.com --count 1 --exclude gpu.example.com").shown(), @r"
    [stderr]
    error: --exclude excludes all of 40 selected devices
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com/node-77/gpu-0 --count 1").shown(), @r"
    [stderr]
    error: no device matches gpu.example.com/node-77/gpu-0: none is published or allocated
    hint: did you mean one of gpu.example.com/node-7/gpu-0, gpu.example.com/node-1/gpu-0, gpu.example.com/node-10/gpu-0?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 1]
    ");
    assert_snapshot!(plan("gpu.example.com --count 1 --exclude example.com/a=b:NoExecute").shown(), @"
    [stderr]
    error: --exclude: no devices specified for taint example.com/a=b:NoExecute
    hint: specify devices as DRIVER/POOL/DEVICE before the taint
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    assert_eq!(plan("gpu.example.com").code, 2);
}

#[test]
fn what_was_not_read_makes_a_plan_unknown_and_not_cheap() {
    let all = plan("gpu.example.com --count 40");
    assert_eq!(all.code, 0, "{}", all.shown());
    assert!(!all.stdout.contains("unknown whether"), "{}", all.stdout);
    let text = example();
    let kept = text
        .split("\n- apiVersion: ")
        .filter(|document| !document.contains("kind: PodDisruptionBudget\n"));
    let kept = kept.collect::<Vec<_>>().join("\n- apiVersion: ");
    let folder = Folder::new().with("cluster.yaml", kept);
    let busy = folder.devicetaint("plan gpu.example.com --count 40 --from cluster.yaml");
    assert!(
        busy.stdout
            .contains("unknown whether PodDisruptionBudgets are violated"),
        "{}",
        busy.shown()
    );
    let idle = folder.devicetaint("plan gpu.example.com --count 3 --from cluster.yaml");
    assert!(
        idle.stdout.contains("Cost: no pod is evicted."),
        "{}",
        idle.shown()
    );
}

#[test]
fn the_plan_is_data_too() {
    let three = plan("gpu.example.com --count 3 -o json").json();
    assert_eq!(
        three["plannedUnits"][0]["devices"][0],
        three["plannedUnits"][0]["unit"]
    );
    assert_eq!(three["optimality"], "Optimal");
    assert_eq!(three["cost"], three["lowerBound"]);
}
