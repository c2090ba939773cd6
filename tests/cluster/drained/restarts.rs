//! A Deployment of one replica whose budget allows no eviction.

use serde_json::Value;

use super::stage::Stage;
use crate::harness::{DEADLINE, block_on, wait_for};

const RESTARTED: &str = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";

/// A Deployment with a pod on the drained node, another node for it, and the drain.
fn stuck_deployment(stage: &mut Stage) -> (String, String) {
    let node = stage.node(1);
    stage.deployment("web", 1, 1, 0);
    stage.budget("web", 1);
    stage.node(1);
    let line = format!("drain --node {node} --yes");
    (node, line)
}

async fn restarted_at(stage: &Stage) -> Option<Value> {
    let deployment = stage.object("apps/v1", "Deployment", "web").await;
    deployment.pointer(RESTARTED).cloned()
}

#[test]
fn a_restart_empties_the_node_without_a_moment_below_the_budget() {
    let mut stage = Stage::monitored();
    let (node, line) = stuck_deployment(&mut stage);
    // Long enough for a drain that goes on too early to be seen.
    stage.ready_after(std::time::Duration::from_secs(2));
    stage
        .run(&format!("{line} --restart"))
        .ended(0)
        .saying("restarted Deployment ")
        .saying(&format!("{node} idle"));
    assert_eq!(stage.fewest("web"), 1);
    assert_eq!(stage.on(&node), Vec::<String>::new());
    stage.run(&format!("restore {node} --yes")).ended(0);
}

#[test]
fn without_a_restart_the_budget_is_named_and_the_taints_stay() {
    let mut stage = Stage::monitored();
    let (node, line) = stuck_deployment(&mut stage);
    stage
        .run(&format!("{line} --timeout 5s"))
        .ended(5)
        .saying("budget web allows no eviction")
        .saying("the taints stay");
    assert_eq!(stage.fewest("web"), 1);
    assert_eq!(stage.on(&node).len(), 1);
    assert_eq!(block_on(restarted_at(&stage)), None);
    assert_eq!(block_on(stage.world.rules()).len(), 1);
    stage.run(&format!("restore {node} --yes")).ended(0);
}

/// The restart goes on by itself when its command is gone, and the next one does not make another.
#[test]
fn a_second_run_waits_for_the_restart_of_the_first() {
    let mut stage = Stage::monitored();
    let (node, line) = stuck_deployment(&mut stage);
    let line = format!("{line} --restart");
    stage.ready_after(std::time::Duration::from_secs(2));
    let mut first = stage.begin(&line);
    let began = block_on(wait_for("it is restarted", DEADLINE, async || {
        restarted_at(&stage).await
    }));
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    stage.run(&line).ended(0);
    assert_eq!(block_on(restarted_at(&stage)), Some(began));
    assert_eq!(stage.fewest("web"), 1);
    assert_eq!(stage.on(&node), Vec::<String>::new());
    stage.run(&format!("restore {node} --yes")).ended(0);
}
