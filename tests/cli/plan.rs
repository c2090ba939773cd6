//! `plan`: the devices or nodes that cost least to drain.

use super::harness::{EXAMPLE, Folder, Run, assert_refused, devicetaint, example};
use crate::screen::assert_screen;

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}

#[test]
fn a_plan_has_its_units_their_cost_and_its_drain() {
    assert_screen(
        "plan",
        &plan("'gpu.example.com/node-3/*' --count 5 example.com/firmware:NoSchedule").shown(),
    );
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
    let run = plan("gpu.example.com --nodes 2 --exclude gpu.example.com/node-2/gpu-0 -o name");
    let names: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(names.len(), 10, "{}", run.shown());
    let on = |node: &str| names.iter().filter(|name| name.contains(node)).count();
    assert_eq!((on("node-4/"), on("node-8/")), (6, 4));
}

#[test]
fn what_cannot_be_planned_is_refused() {
    assert_refused(
        plan,
        &[
            ("--count 2", 2, "no devices"),
            ("gpu.example.com", 2, "--count"),
            ("gpu.example.com --count 0", 2, "--count 0"),
            ("gpu.example.com --count 41", 2, "40 devices"),
            ("gpu.example.com --nodes 99", 2, "9 nodes"),
            ("gpu.example.com --node nod-7 --count 1", 1, "node-7"),
            (
                "gpu.example.com --count 1 --exclude gpu.example.com",
                2,
                "--exclude",
            ),
            (
                "gpu.example.com --count 1 --exclude example.com/a=b:NoExecute",
                2,
                "--exclude",
            ),
            (
                "gpu.example.com/node-77/gpu-0 --count 1",
                1,
                "gpu.example.com/node-7/gpu-0",
            ),
        ],
    );
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
    assert!(busy.stdout.contains("unknown whether"), "{}", busy.shown());
}
