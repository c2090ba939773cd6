//! `plan`: the devices or nodes that cost least to drain.

use super::harness::{EXAMPLE, Run, devicetaint};
use crate::screen::assert_screen;

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}

#[test]
fn plan_has_its_units_and_its_drain() {
    let run = plan("'gpu.example.com/node-3/*' --count 5");
    assert_screen("plan", &run.shown());
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
    let last = "kubectl devicetaint drain --node node-4 --node node-8";
    assert_eq!(plan(flags).stdout.lines().last(), Some(last));
    // A Job's pod is evicted only if the drain includes Jobs.
    let jobs = plan("gpu.example.com/node-10/gpu-0 --count 1").stdout;
    assert!(jobs.ends_with("/gpu-0 --include jobs\n"), "{jobs}");
}
