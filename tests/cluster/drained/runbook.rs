//! The runbook of `examples/` for the firmware of several nodes, as people run it.

use std::process::Stdio;

use serde_json::Value;

use super::stage::{Stage, plane};
use crate::cluster::rules::support::Run;
use crate::harness::block_on;

#[test]
fn nodes_are_planned_drained_updated_and_restored() {
    let mut stage = Stage::new();
    for _ in 0..3 {
        stage.node(2);
    }
    stage.workload("ReplicaSet", "web", 2);
    stage.budget("web", 1);
    let folder = tempfile::tempdir().expect("a folder");
    let run = |update: &str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/firmware-update.sh");
        let mut command = plane().command("bash");
        command
            .args([script, &stage.world.driver, "--yes", "--settle", "1s"])
            .env("NODES", "2")
            .env("DRAIN", &stage.world.namespace)
            .env("UPDATE", update)
            .current_dir(folder.path())
            .stdin(Stdio::null());
        Run::from(command.output().expect("bash can be run"))
    };
    let plan = folder
        .path()
        .join(format!("{}.plan", stage.world.namespace));
    // The devices stay drained where the update fails, and the same script goes on from there.
    run("false").ended(1);
    let planned = std::fs::read_to_string(&plan).expect("the plan is kept");
    assert_eq!(planned.lines().count(), 4);
    let rules = block_on(stage.world.rules());
    assert_eq!(rules.len(), 4);
    let drained = planned
        .lines()
        .filter_map(|device| device.split('/').nth(1));
    for node in drained {
        assert_eq!(stage.on(node), Vec::<String>::new());
    }
    let run = run("true").ended(0);
    assert!(
        run.stderr
            .contains("no device, node or pool is left to drain"),
        "{run:#?}"
    );
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
    assert!(!plan.exists(), "the next maintenance makes another plan");
    assert!(stage.fewest("web") >= 1);
}
