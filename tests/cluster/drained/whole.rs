//! Two nodes with everything that a drain has to be careful with, one after the other.

use std::time::Duration;

use serde_json::Value;

use super::stage::Stage;
use crate::harness::block_on;

/// Output of `drain status` for a unit.
fn status(stage: &Stage, drain: &str, unit: &str) -> Value {
    let run = stage.run(&format!("drain status {drain} -o json")).ended(0);
    let list: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let units = list["items"].as_array().expect("units").clone();
    let found = units.into_iter().find(|found| found["unit"] == unit);
    found.expect("the unit is there")
}

#[test]
fn two_nodes_are_drained_one_after_the_other_and_no_budget_is_violated_at_any_look() {
    let mut stage = Stage::monitored();
    let nodes = [stage.node(4), stage.node(4)];
    for (name, pods) in [("web", 4), ("api", 2)] {
        stage.workload("ReplicaSet", name, pods);
        stage.budget(name, pods - 1);
    }
    stage.workload("StatefulSet", "db", 1);
    stage.bare("notebook");
    let spare = stage.node(8);
    let drain = stage.world.namespace.clone();
    let line = format!("drain --node {} --name {drain}", nodes.join(" --node "));
    let refused = stage.run(&format!("{line} --yes")).ended(4);
    for named in ["/db-0", "/notebook", "--include singletons,unmanaged"] {
        assert!(refused.stderr.contains(named), "{named}: {refused:#?}");
    }
    let line = format!("{line} --include singletons --include unmanaged");
    let dry = stage.run(&format!("{line} --dry-run")).ended(0);
    let lines = dry.stdout.lines().count() + dry.stderr.lines().count();
    assert!(lines <= 24, "{lines}: {dry:#?}");
    for named in ["/web-", "/db-0", "/notebook", "admin access"] {
        assert!(dry.stderr.contains(named), "{named}: {dry:#?}");
    }
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());

    // A drain that takes the next pod before the last replacement is ready violates a budget.
    stage.ready_after(Duration::from_secs(2));
    let run = stage
        .run(&format!(
            "{line} --yes --ignore-daemonsets=true --delete-emptydir-data"
        ))
        .ended(0);
    for (name, pods) in [("web", 4), ("api", 2)] {
        let fewest = stage.fewest(name);
        assert!(fewest >= pods - 1, "{name}: {fewest} of {pods}: {run:#?}");
        stage.until_ready(name, pods);
    }
    for node in &nodes {
        assert_eq!(stage.on(node), Vec::<String>::new());
        let idle = format!("{node} idle (");
        assert!(run.stderr.contains(&idle), "{idle}: {run:#?}");
        let unit = status(&stage, &drain, node);
        assert_eq!(unit["stage"], "Idle", "{unit:#}");
        assert_eq!(unit["rules"].as_array().map(Vec::len), Some(1), "{unit:#}");
    }
    // The bare pod is not recreated.
    assert_eq!(stage.on(&spare).len(), 7);
    // The same command again finds all units idle.
    stage.run(&format!("{line} --yes")).ended(0);
    stage.run(&format!("restore {} --yes", nodes[0])).ended(0);
    assert_eq!(block_on(stage.world.rules()).len(), 1);
    stage.run(&format!("restore {drain} --yes")).ended(0);
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
    stage.run(&format!("restore {drain} --yes")).ended(1);
}

#[test]
fn force_evicts_by_taint_after_the_grace() {
    let mut stage = Stage::monitored();
    let node = stage.node(1);
    stage.workload("ReplicaSet", "web", 1);
    stage.budget("web", 1);
    stage.node(1);
    let line = format!("drain --node {node} --force --grace 2s --yes");
    stage.run(&line).ended(4).saying("--abort-if");
    stage
        .run(&format!("{line} --abort-if pods.evicted>9"))
        .ended(0)
        .saying("allows no eviction");
    let rules = block_on(stage.world.rules());
    assert_eq!(rules[0]["spec"]["taint"]["effect"], "NoExecute");
    stage.until_ready("web", 1);
    stage.run(&format!("restore {node}")).ended(0);
}
