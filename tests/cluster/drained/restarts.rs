//! A Deployment of one replica whose budget allows no eviction.

use super::stage::Stage;

/// A Deployment with a pod on the drained node, another node for it, and the drain.
fn stuck_deployment(stage: &mut Stage) -> (String, String) {
    let node = stage.node(1);
    stage.deployment("web", 1, 1, 0);
    stage.budget("web", 1);
    stage.node(1);
    let line = format!("drain --node {node} --yes");
    (node, line)
}

#[test]
fn a_restart_empties_the_node_without_a_moment_below_the_budget() {
    let mut stage = Stage::monitored();
    let (node, line) = stuck_deployment(&mut stage);
    // Long enough to notice a drain that continues too early.
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
