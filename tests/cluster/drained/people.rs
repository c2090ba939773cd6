//! Changes by others while a node waits for a budget that never allows an eviction.

use http::Method;
use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::cluster::rules::support::Run;
use crate::harness::{DEADLINE, ENTER, PLUGIN, Terminal, block_on, wait_for};

/// A node whose only pod is kept by a budget, and another node.
fn stuck_node(stage: &mut Stage) -> String {
    let node = stage.node(1);
    stage.workload("ReplicaSet", "web", 1);
    stage.budget("web", 1);
    stage.node(1);
    node
}

/// Begins a drain of the node, does something once the node is tainted, and gives the result of the drain.
fn drain_while(stage: &Stage, node: &str, act: impl FnOnce(&str)) -> Run {
    let child = stage.begin(&format!("drain --node {node} --yes --timeout 60s"));
    let rule = block_on(wait_for("the node is tainted", DEADLINE, async || {
        let rules = stage.world.rules().await;
        Some(rules.first()?["metadata"]["name"].as_str()?.to_owned())
    }));
    // The unit begins after the scheduler has observed the taint.
    std::thread::sleep(std::time::Duration::from_secs(8));
    act(&rule);
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn a_rule_that_is_removed_meanwhile_ends_the_drain() {
    let mut stage = Stage::monitored();
    let node = stuck_node(&mut stage);
    let run = drain_while(&stage, &node, |rule| {
        stage.run(&format!("remove {rule} --yes")).ended(0);
    });
    run.ended(1).saying("was removed");
    assert_eq!(stage.on(&node).len(), 1);
}

#[test]
fn a_node_whose_pod_was_force_deleted_is_held() {
    let mut stage = Stage::monitored();
    let node = stuck_node(&mut stage);
    let run = drain_while(&stage, &node, |_| {
        let pods = stage.on(&node);
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}",
            stage.world.namespace, pods[0]
        );
        let now = json!({"gracePeriodSeconds": 0});
        let deleted = block_on(plane().request(Method::DELETE, &path, Some(&now)));
        assert!(deleted.expect("an answer").success().is_ok());
    });
    run.ended(5).saying(&format!("{node} is held"));
    stage.run(&format!("restore {node} --yes")).ended(0);
}

#[test]
fn only_a_confirmation_removes_the_rules_of_others() {
    let mut stage = Stage::monitored();
    let node = stage.node(1);
    stage.run(&format!("drain --node {node} --yes")).ended(0);
    let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let other = block_on(plane().kubeconfig_for(&[all]));
    let line = format!("restore {node} --kubeconfig {}", other.kubeconfig.display());
    stage.run(&line).ended(4).saying("nothing was changed");
    let mut words = vec![PLUGIN.to_owned()];
    words.extend(stage.world.words(&line));
    let mut terminal = Terminal::open(plane());
    for (answer, code, left) in [("n", 4, 1), ("y", 0, 0)] {
        terminal.command(&words);
        terminal.until("? [y/N]");
        terminal.press(answer);
        terminal.press(ENTER);
        terminal.ended(code);
        assert_eq!(block_on(stage.world.rules()).len(), left);
    }
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}
