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
