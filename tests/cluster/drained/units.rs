//! Units that are drained, and what others do meanwhile.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::cluster::rules::support::Run;
use crate::harness::{DEADLINE, Reference, block_on, wait_for};

/// What `drain status` says of a unit.
fn unit(stage: &Stage, drain: &str, unit: &str) -> Value {
    let run = stage.run(&format!("drain status {drain} -o json")).ended(0);
    let list: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let units = list["items"][0]["units"].as_array().expect("units").clone();
    let found = units.into_iter().find(|found| found["name"] == unit);
    found.expect("the unit is there")
}

/// The name of the rule of the node, once its pods are to leave.
async fn begun(stage: &Stage, node: &str) -> String {
    wait_for("the unit has begun", DEADLINE, async || {
        let rules = stage.world.rules().await;
        let is_begun = |rule: &&Value| {
            rule["spec"]["deviceSelector"]["pool"] == node
                && rule["metadata"]["annotations"]["devicetaint.dev/drain-stage"] == "Draining"
        };
        let rule = rules.iter().find(is_begun)?;
        Some(rule["metadata"]["name"].as_str()?.to_owned())
    })
    .await
}

#[test]
fn nodes_are_drained_one_after_the_other_and_no_budget_is_violated() {
    let mut stage = Stage::new();
    let (one, two) = (stage.node(3), stage.node(3));
    stage.workload("ReplicaSet", "web", 3);
    stage.workload("ReplicaSet", "api", 2);
    stage.workload("StatefulSet", "db", 1);
    stage.budget("web", 2);
    stage.budget("api", 1);
    let spare = stage.node(6);
    let line = format!(
        "drain --node {one} --node {two} --name {} --yes",
        stage.world.namespace
    );
    let drain = stage.world.namespace.clone();
    stage
        .run(&line)
        .ended(4)
        .saying("pods of single-replica StatefulSets")
        .saying("--include singletons");
    let dry = stage.run(&format!("{line} --include singletons --dry-run"));
    dry.ended(0).saying("Drain ");
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
    let run = stage
        .run(&format!("{line} --include singletons"))
        .ended(0)
        .saying("for the scheduler to see the taints");
    assert!(
        run.stderr.contains("no claim holds its devices"),
        "{run:#?}"
    );
    for (app, least) in [("web", 2), ("api", 1)] {
        assert!(stage.fewest(app) >= least, "{app}: {}", stage.fewest(app));
        stage.until_ready(app, least + 1);
    }
    for node in [&one, &two] {
        assert_eq!(stage.on(node), Vec::<String>::new());
        let unit = unit(&stage, &drain, node);
        assert_eq!(unit["unitStage"], "Idle", "{unit:#}");
        assert_eq!(unit["holdingPods"], serde_json::json!([]), "{unit:#}");
    }
    assert_eq!(stage.on(&spare).len(), 6);
    // Nothing is left to do, and the same command says so.
    stage
        .run(&format!("{line} --include singletons"))
        .ended(0)
        .saying("no device, node or pool is left to drain");
    stage.run(&format!("restore {one} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()).len(), 3);
    stage.run(&format!("restore {drain} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
    stage
        .run(&format!("restore {drain} --yes"))
        .ended(1)
        .saying("no drain");
}

#[test]
fn a_budget_that_never_allows_ends_with_what_is_left_and_the_same_command_continues() {
    let mut stage = Stage::new();
    let node = stage.node(2);
    stage.workload("ReplicaSet", "web", 2);
    stage.budget("web", 2);
    stage.node(2);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {node} --name {drain} --yes");
    stage
        .run(&format!("{line} --timeout 5s"))
        .ended(5)
        .saying("left: pod")
        .saying("disruption budget")
        .saying("run the same command again");
    assert_eq!(stage.fewest("web"), 2);
    assert_eq!(unit(&stage, &drain, &node)["unitStage"], "Blocked");
    let rules = block_on(stage.world.rules());
    assert!(
        rules
            .iter()
            .all(|rule| rule["spec"]["taint"]["effect"] == "NoSchedule")
    );
    let run = stage
        .run(&format!(
            "{line} --force --grace 1s --abort-if pods.evicted>9"
        ))
        .ended(0);
    assert!(run.stderr.contains("with effect NoExecute"), "{run:#?}");
    assert_eq!(unit(&stage, &drain, &node)["unitStage"], "Idle");
    stage.until_ready("web", 2);
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

#[test]
fn who_reverses_a_unit_is_heeded_also_by_the_same_command() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    stage.workload("ReplicaSet", "web", 1);
    stage.budget("web", 1);
    let empty = stage.node(1);
    stage.node(1);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {node},{empty} --name {drain} --yes");
    let running = stage.begin(&line);
    let name = block_on(begun(&stage, &node));
    block_on(plane().delete(&Reference::rule(&name)));
    let output = running.wait_with_output().expect("it ends");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    let removed = format!("is skipped: rule {name} was removed");
    assert!(messages.contains(&removed), "{messages}");
    let reversed = "1 unit is no longer drained";
    assert!(messages.contains(reversed), "{messages}");
    // Nothing is left of the unit but what the run has recorded on the rule of the other.
    let found = unit(&stage, &drain, &node);
    assert_eq!(found["unitStage"], "Reversed", "{found:#}");
    assert_eq!(found["messages"][0], format!("rule {name} was removed"));
    assert_eq!(unit(&stage, &drain, &empty)["unitStage"], "Idle");
    stage.run(&line).ended(1).saying(&removed).saying(reversed);
    assert_eq!(block_on(stage.world.rules()).len(), 1);
    stage.run(&format!("restore {drain} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}

/// Once its turn comes, the API shows the device as free.
#[test]
fn a_pod_that_is_deleted_by_force_on_a_waiting_unit_keeps_it_from_being_done() {
    let mut stage = Stage::new();
    let mut nodes = [stage.node(1), stage.node(1)];
    nodes.sort();
    let [one, two] = nodes;
    stage.workload("ReplicaSet", "web", 2);
    stage.until_ready("web", 2);
    stage.node(3);
    stage.ready_after(Duration::from_secs(12));
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {one},{two} --name {drain} --yes");
    let running = stage.begin(&line);
    block_on(begun(&stage, &one));
    while !stage.on(&one).is_empty() {
        sleep(Duration::from_millis(100));
    }
    let pod = stage.on(&two).remove(0);
    block_on(plane().force_delete_pod(&stage.world.namespace, &pod));
    Run::from(running.wait_with_output().expect("it ends"))
        .ended(5)
        .saying(&format!("{pod} was force-deleted before it ended"))
        .saying(&format!("unit {two} was not drained"));
    assert_eq!(unit(&stage, &drain, &one)["unitStage"], "Idle");
    assert_eq!(unit(&stage, &drain, &two)["unitStage"], "Held");
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

/// What was confirmed is looked at again before each unit after the first: here the second has a budget by then.
#[test]
fn a_unit_whose_turn_comes_when_a_guard_trips_is_not_started_and_neither_are_later_ones() {
    let mut stage = Stage::new();
    let mut nodes = [stage.node(1), stage.node(1), stage.node(1)];
    nodes.sort();
    let [one, two, three] = nodes;
    stage.workload("ReplicaSet", "web", 3);
    stage.node(3);
    stage.ready_after(Duration::from_secs(12));
    let drain = stage.world.namespace.clone();
    let line = format!(
        "drain --node {one},{two},{three} --name {drain} --yes --timeout 60s \
         --abort-if budgets.violated>0"
    );
    let running = stage.begin(&line);
    block_on(begun(&stage, &one));
    while !stage.on(&one).is_empty() {
        sleep(Duration::from_millis(100));
    }
    let held = json!({"held": "yes"});
    let pod = Reference::pod(&stage.world.namespace, &stage.on(&two)[0]);
    block_on(plane().patch(&pod, &json!({"metadata": {"labels": held}})));
    stage.budget_for("held", &held, 1);
    Run::from(running.wait_with_output().expect("it ends"))
        .ended(5)
        .saying("budgets.violated>0")
        .saying(&format!("unit {two} was not started"));
    assert_eq!(unit(&stage, &drain, &one)["unitStage"], "Idle");
    for node in [&two, &three] {
        assert_eq!(stage.on(node).len(), 1, "{node}");
    }
    assert_eq!(block_on(stage.world.rules()).len(), 3);
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

#[test]
fn a_device_that_came_later_is_drained_by_the_same_command() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {node} --name {drain} --yes");
    stage.run(&line).ended(0);
    assert_eq!(block_on(stage.world.rules()).len(), 1);
    stage.grow(&node, 2);
    let later = unit(&stage, &drain, &node);
    assert_eq!(later["unitStage"], "Blocked");
    let message = later["messages"][0].as_str().expect("a message");
    assert!(
        message.contains("1 device of the node is not tainted by this drain: "),
        "{message}"
    );
    stage.run(&line).ended(0);
    assert_eq!(block_on(stage.world.rules()).len(), 2);
    assert_eq!(unit(&stage, &drain, &node)["unitStage"], "Idle");
    // One of them is removed: that is a reversal, and no device that came later.
    let rules = block_on(stage.world.rules());
    let name = rules[0]["metadata"]["name"].as_str().expect("a name");
    block_on(plane().delete(&Reference::rule(name)));
    let removed = unit(&stage, &drain, &node);
    assert_eq!(removed["unitStage"], "Reversed");
    assert_eq!(removed["messages"][0], format!("rule {name} was removed"));
    stage
        .run(&format!("restore {drain} --yes --dry-run"))
        .ended(0);
    stage
        .run(&line)
        .ended(1)
        .saying(&format!("is skipped: rule {name} was removed"));
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

#[test]
fn a_node_that_gets_a_device_during_its_drain_is_not_done() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {node} --name {drain} --yes");
    let first = stage.begin(&line);
    block_on(wait_for("a rule", DEADLINE, async || {
        (!stage.world.rules().await.is_empty()).then_some(())
    }));
    stage.grow(&node, 2);
    Run::from(first.wait_with_output().expect("it ends"))
        .ended(5)
        .saying("left: 1 device of the node is not tainted by this drain: ")
        .saying("run the same command again");
    assert_eq!(unit(&stage, &drain, &node)["unitStage"], "Blocked");
    stage.run(&line).ended(0);
    assert_eq!(unit(&stage, &drain, &node)["unitStage"], "Idle");
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

#[test]
fn a_second_run_takes_over_and_the_first_says_so() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    stage.workload("ReplicaSet", "web", 1);
    stage.budget("web", 1);
    stage.node(1);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {node} --name {drain} --yes");
    let first = stage.begin(&line);
    block_on(begun(&stage, &node));
    stage.run(&format!("{line} --timeout 8s")).ended(5);
    let output = first.wait_with_output().expect("it ends");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("was taken over by another run"),
        "{messages}"
    );
    stage.run(&format!("restore {drain} --yes")).ended(0);
}
