//! Drains that do not begin: nothing is tainted, and what is in the way is named.

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::cluster::rules::support::World;
use crate::harness::{At, ENTER, Fault, PLUGIN, Proxy, Reply, Seen, Terminal, block_on};

/// Where rules are made.
const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";

fn nothing_is_tainted(stage: &Stage) {
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}

#[test]
fn claims_without_another_device_refuse_unless_that_is_accepted() {
    let mut stage = Stage::new();
    let node = stage.node(2);
    stage.workload("ReplicaSet", "web", 2);
    let spare = stage.node(1);
    let line = format!("drain --node {node} --yes");
    stage
        .run(&line)
        .ended(4)
        .saying("together, at most 1 of the 2 claims")
        .saying("--accept-unplaceable");
    nothing_is_tainted(&stage);
    let run = stage.run(&format!("{line} --accept-unplaceable")).ended(0);
    assert!(run.stderr.contains("accepted: "), "{run:#?}");
    assert_eq!(stage.on(&node), Vec::<String>::new());
    assert_eq!(stage.on(&spare).len(), 1);
    stage.run(&format!("restore {node}")).ended(0);
    nothing_is_tainted(&stage);
    // The pod that got none is scheduled again.
    stage.until_ready("web", 2);
}

#[test]
fn a_node_whose_driver_publishes_nothing_is_refused_until_it_does() {
    let mut stage = Stage::new();
    let node = stage.node(2);
    stage.workload("ReplicaSet", "web", 1);
    stage.node(1);
    stage.silence(&node);
    let line = format!("drain --node {node} --yes");
    for dry_run in ["", " --dry-run"] {
        stage
            .run(&format!("{line}{dry_run}"))
            .ended(4)
            .saying(&format!("the devices of node {node} are not all known"))
            .saying(&format!("start driver {}", stage.world.driver));
        nothing_is_tainted(&stage);
    }
    // A device by itself is known.
    stage
        .run(&format!("{line} --unit device --dry-run"))
        .ended(0);
    stage.publish(&node, 2);
    stage.run(&line).ended(0);
    assert_eq!(block_on(stage.world.rules()).len(), 2);
    stage.run(&format!("restore {node} --yes")).ended(0);
}

/// The pod of a DaemonSet stays: it would come back to the same node.
#[test]
fn pods_of_daemon_sets_stay_and_guards_count_them() {
    let mut stage = Stage::new();
    let node = stage.node(2);
    stage.workload("ReplicaSet", "web", 1);
    stage.of_daemon_set("agent");
    stage.node(1);
    let line = format!("drain --node {node} --yes --timeout 30s");
    stage
        .run(&format!("{line} --abort-if pods.evicted>1"))
        .ended(4)
        .saying("guard tripped");
    nothing_is_tainted(&stage);
    let drained = stage.run(&format!("{line} --abort-if pods.evicted>2"));
    assert!(!drained.stderr.contains("guard tripped"), "{drained:#?}");
    assert_eq!(stage.on(&node).len(), 1, "{drained:#?}");
    stage.run(&format!("restore {node} --yes")).ended(0);
}

#[test]
fn jobs_and_bare_pods_are_evicted_only_where_somebody_said_so() {
    let mut stage = Stage::new();
    let node = stage.node(2);
    stage.workload("Job", "train", 1);
    stage.bare("notebook");
    stage.node(2);
    let line = format!("drain --node {node} --yes");
    let run = stage.run(&line).ended(4);
    for named in ["pods of Jobs: ", "notebook", "--include jobs,unmanaged"] {
        assert!(run.stderr.contains(named), "{named}: {run:#?}");
    }
    nothing_is_tainted(&stage);
    let line = format!("{line} --include jobs,unmanaged");
    stage.run(&line).ended(0);
    assert_eq!(stage.on(&node), Vec::<String>::new());
    stage.until_ready("train", 1);
    stage.run(&format!("restore {node} --yes")).ended(0);
}

#[test]
fn who_may_not_evict_hears_it_before_anything_is_tainted() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    stage.deployment("web", 1, 1, 0);
    stage.node(1);
    let rules = [
        json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}),
        json!({
            "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"],
            "verbs": ["create", "patch", "delete"],
        }),
    ];
    let run_with = |rules: &[Value], flags: &str| {
        let user = block_on(plane().kubeconfig_for(rules));
        let mut world = World::bare(plane(), stage.world.driver.clone(), String::new());
        world.namespace.clone_from(&stage.world.namespace);
        let line = format!("drain --node {node} --yes {flags}");
        let run = world.seen_by(&user.kubeconfig).run(&line).ended(1);
        nothing_is_tainted(&stage);
        run.saying("nothing was changed")
    };
    let (evictions, restarts) = ("create pods/eviction", "patch deployments.apps");
    run_with(&rules, "").saying(evictions);
    let evict = json!({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]});
    let [read, change] = rules;
    run_with(&[read.clone(), change, evict], "--restart").saying(restarts);
    // Whoever may not change rules hears all that is missing there, too.
    let run = run_with(&[read], "");
    for verb in ["create", "patch"] {
        let denied = format!("{verb} devicetaintrules.resource.k8s.io");
        assert!(run.stderr.contains(&denied), "{denied}: {run:#?}");
    }
}

/// One node is drained to learn which request makes the last rule; then the other node, where that request is refused.
#[test]
fn a_rule_that_cannot_be_made_stops_the_drain_before_the_first_eviction() {
    let mut stage = Stage::new();
    let from = stage.node(2);
    stage.workload("ReplicaSet", "web", 2);
    let to = stage.node(2);
    let drain = stage.world.namespace.clone();
    let proxy = Proxy::start(plane());
    let mut world = World::bare(plane(), stage.world.driver.clone(), String::new());
    world.namespace.clone_from(&stage.world.namespace);
    let world = world.seen_by(&proxy.kubeconfig);
    let line = |node: &str| format!("drain --node {node} --name {drain} --yes");
    world.run(&line(&from)).ended(0);
    let seen = proxy.seen().into_iter();
    let posts: Vec<Seen> = seen.filter(|seen| seen.method == "POST").collect();
    let makes_a_rule = |seen: &Seen| {
        let is_rule = seen.path.split('?').next() == Some(RULES);
        is_rule && !seen.path.contains("dryRun")
    };
    let last = posts
        .iter()
        .rposition(makes_a_rule)
        .expect("a rule is made");
    assert_eq!(stage.on(&to).len(), 2);
    stage.until_ready("web", 2);
    stage.run(&format!("restore {drain} --yes")).ended(0);

    let denied = Reply::refusal("422 Unprocessable Entity", "Invalid");
    proxy.plan([(At::Method("POST", last + 1), Fault::Answer(denied))]);
    world
        .run(&line(&to))
        .ended(1)
        .saying("it was said after the change");
    let is_eviction =
        |seen: &Seen| seen.path.contains("/eviction") && !seen.path.contains("dryRun");
    let sent: Vec<Seen> = proxy.seen().into_iter().filter(is_eviction).collect();
    assert!(sent.is_empty(), "{sent:#?}");
    assert_eq!(stage.on(&to).len(), 2);
    let rules = block_on(stage.world.rules());
    assert_eq!(rules.len(), 1, "{rules:#?}");
    stage.run(&format!("restore {drain} --yes")).ended(0);
}

#[test]
fn a_device_that_is_not_published_is_refused() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    stage
        .run(&format!("drain DRIVER/{node}/gpu-9 --yes"))
        .ended(1)
        .saying("gpu-9");
    nothing_is_tainted(&stage);
}

#[test]
fn devices_of_another_drain_are_refused_by_its_name() {
    let mut stage = Stage::new();
    let node = stage.node(1);
    let first = format!("{}-first", stage.world.namespace);
    stage
        .run(&format!("drain --node {node} --name {first} --yes"))
        .ended(0);
    stage
        .run(&format!(
            "drain {}/{node}/gpu-0 --name second --yes",
            stage.world.driver
        ))
        .ended(4)
        .saying(&format!("is part of drain {first}"));
    is_asked_before_the_restoration(&stage, &first);
}

/// Only a yes removes the rules of another user.
fn is_asked_before_the_restoration(stage: &Stage, drain: &str) {
    let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let other = block_on(plane().kubeconfig_for(&[all]));
    let mut words = vec![PLUGIN.to_owned()];
    let line = format!(
        "restore {drain} --kubeconfig {}",
        other.kubeconfig.display()
    );
    words.extend(stage.world.words(&line));
    let mut terminal = Terminal::open(plane());
    for (answer, code) in [("n", 4), ("y", 0)] {
        assert_eq!(block_on(stage.world.rules()).len(), 1);
        terminal.command(&words);
        terminal.until(&format!("Restore drain {drain}: remove 1 rule"));
        terminal.until("? [y/N]");
        terminal.press(answer);
        terminal.press(ENTER);
        terminal.ended(code);
    }
    nothing_is_tainted(stage);
}
