//! A Deployment of one replica whose budget allows no eviction.

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::harness::block_on;

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

/// The other permissions of a drain are those of `campaign::roles`.
#[test]
fn a_restart_that_is_denied_is_named_before_anything_is_tainted() {
    let mut stage = Stage::monitored();
    let (_, line) = stuck_deployment(&mut stage);
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let rules = [
        rule("*", "*", &["get", "list", "watch"]),
        rule("resource.k8s.io", "devicetaintrules", &["*"]),
        rule("", "pods/eviction", &["create"]),
    ];
    let user = block_on(plane().kubeconfig_for(&rules)).kubeconfig;
    stage
        .run(&format!("{line} --restart --kubeconfig {}", user.display()))
        .ended(1)
        .saying("nothing was changed")
        .saying("patch deployments.apps");
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}
