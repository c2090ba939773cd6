//! Deployments whose pods leave: restarted with --restart where new pods come first, evicted otherwise.

use std::time::Duration;

use serde_json::Value;

use super::stage::Stage;
use crate::harness::{DEADLINE, block_on, wait_for};

const RESTARTED: &str = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";

/// A Deployment with two pods on each of two nodes, a third node for all of them and one more, and the drain of the
/// first.
fn spread_deployment(stage: &mut Stage, surge: usize, unavailable: usize) -> (String, String) {
    let drained = stage.node(2);
    stage.node(2);
    stage.deployment("web", 4, surge, unavailable);
    stage.budget("web", 3);
    stage.node(5);
    // Long enough for whoever goes on too early to be seen.
    stage.ready_after(Duration::from_secs(2));
    let line = format!("drain --node {drained} --yes --restart");
    (drained, line)
}

async fn restarted_at(stage: &Stage) -> Option<Value> {
    let deployment = stage.object("apps/v1", "Deployment", "web").await;
    deployment.pointer(RESTARTED).cloned()
}

#[test]
fn where_new_pods_come_first_the_deployment_is_restarted_and_never_has_fewer() {
    let mut stage = Stage::new();
    let (drained, line) = spread_deployment(&mut stage, 1, 0);
    let owner = format!("Deployment {}/web", stage.world.namespace);
    stage
        .run(&line)
        .ended(0)
        .saying(&format!(
            "restarts {owner} (4 pods, 2 of them on other devices)"
        ))
        .saying(&format!("unit {drained}: restarted {owner}"))
        .saying("no claim holds its devices");
    assert_eq!(stage.fewest("web"), 4);
    assert_eq!(stage.on(&drained), Vec::<String>::new());
    assert!(block_on(restarted_at(&stage)).is_some());
    stage.run(&format!("restore {drained} --yes")).ended(0);
}

#[test]
fn where_old_pods_go_first_they_are_evicted_within_the_budget() {
    let mut stage = Stage::new();
    let (drained, line) = spread_deployment(&mut stage, 0, 1);
    let run = stage.run(&line).ended(0);
    assert!(run.stderr.contains("evicted pod"), "{run:#?}");
    assert!(!run.stderr.contains("restart"), "{run:#?}");
    assert_eq!(stage.fewest("web"), 3);
    assert_eq!(stage.on(&drained), Vec::<String>::new());
    assert_eq!(block_on(restarted_at(&stage)), None);
    stage.run(&format!("restore {drained} --yes")).ended(0);
}

/// The restart goes on by itself when its command is gone, and the next one does not make another.
#[test]
fn a_second_run_waits_for_the_restart_of_the_first() {
    let mut stage = Stage::new();
    let (drained, line) = spread_deployment(&mut stage, 1, 0);
    let mut first = stage.begin(&line);
    let began = block_on(wait_for("it is restarted", DEADLINE, async || {
        restarted_at(&stage).await
    }));
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    stage.run(&line).ended(0);
    assert_eq!(block_on(restarted_at(&stage)), Some(began));
    assert_eq!(stage.fewest("web"), 4);
    assert_eq!(stage.on(&drained), Vec::<String>::new());
    stage.run(&format!("restore {drained} --yes")).ended(0);
}

#[test]
fn without_the_flag_pods_are_evicted_within_the_budget() {
    let mut stage = Stage::new();
    let (drained, line) = spread_deployment(&mut stage, 1, 0);
    let run = stage.run(&line.replace(" --restart", "")).ended(0);
    assert!(run.stderr.contains("evicted pod"), "{run:#?}");
    assert!(stage.fewest("web") >= 3);
    assert_eq!(stage.on(&drained), Vec::<String>::new());
    assert_eq!(block_on(restarted_at(&stage)), None);
    stage.run(&format!("restore {drained} --yes")).ended(0);
}
