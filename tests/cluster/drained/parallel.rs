//! Units that are drained at the same time.

use std::time::Duration;

use serde_json::Value;

use super::stage::Stage;
use crate::cluster::rules::support::Run;
use crate::harness::{DEADLINE, block_on, wait_for};

/// The nodes whose units have begun and are not over.
async fn draining(stage: &Stage) -> Vec<String> {
    let rules = stage.world.rules().await;
    let is_draining = |rule: &&Value| {
        rule["metadata"]["annotations"]["devicetaint.dev/drain-stage"] == "Draining"
    };
    let draining = rules.iter().filter(is_draining);
    let nodes = draining.map(|rule| &rule["spec"]["deviceSelector"]["pool"]);
    nodes
        .map(|node| node.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Each of the two nodes has a pod of the same workload: both units begin, and the second leaves its pod alone until the
/// replacement of the first is ready.
#[test]
fn units_begin_together_and_take_turns_with_the_pods_of_one_workload() {
    let mut stage = Stage::new();
    let (one, two) = (stage.node(1), stage.node(1));
    stage.workload("ReplicaSet", "web", 2);
    stage.node(2);
    stage.ready_after(Duration::from_secs(2));
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {one} --node {two} --name {drain} --yes --settle 1s");
    let child = stage.begin(&format!("{line} --max-parallel 2"));
    block_on(wait_for("both units have begun", DEADLINE, async || {
        (draining(&stage).await.len() == 2).then_some(())
    }));
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(0);
    let run = run.saying("up to 2 units at a time");
    assert_eq!(stage.fewest("web"), 1, "{run:#?}");
    for node in [&one, &two] {
        assert_eq!(stage.on(node), Vec::<String>::new());
        let done = format!("unit {node}: no claim holds its devices");
        assert!(run.stderr.contains(&done), "{run:#?}");
    }
    // One unit has the same place in every line.
    for place in ["1", "2"] {
        let begin = format!("unit {place} of 2 (");
        let lines = run
            .stderr
            .lines()
            .filter_map(|line| line.split_once(&begin));
        let units: Vec<&str> = lines
            .filter_map(|(_, rest)| Some(rest.split_once(')')?.0))
            .collect();
        assert!(units.iter().all(|unit| *unit == units[0]), "{units:?}");
    }
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

/// Without the flag the second of them waits, as long as the first cannot be drained.
#[test]
fn without_the_flag_one_unit_is_drained_after_the_other() {
    let mut stage = Stage::new();
    let one = stage.node(1);
    stage.workload("ReplicaSet", "web", 1);
    stage.budget("web", 1);
    let two = stage.node(1);
    stage.workload("ReplicaSet", "api", 1);
    stage.budget("api", 1);
    stage.node(2);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {one} --node {two} --name {drain} --yes --settle 1s");
    let run = stage.run(&format!("{line} --timeout 4s")).ended(5);
    let first = run.stderr.contains(&format!("unit {one} is blocked"));
    let second = run.stderr.contains(&format!("unit {two} is blocked"));
    assert!(first != second, "{run:#?}");
    run.saying("not started: ");
    let run = stage
        .run(&format!("{line} --timeout 4s --max-parallel 2"))
        .ended(5);
    for node in [&one, &two] {
        let blocked = format!("unit {node} is blocked");
        assert!(run.stderr.contains(&blocked), "{run:#?}");
    }
    for app in ["web", "api"] {
        assert_eq!(stage.fewest(app), 1);
    }
    stage.run(&format!("restore {drain} --yes")).ended(0);
}
