//! Drains that do not begin: nothing is tainted, and the reason is named.

use serde_json::{Value, json};

use super::stage::{Stage, plane};
use crate::cluster::rules::support::World;
use crate::harness::block_on;

fn nothing_is_tainted(stage: &Stage) {
    assert_eq!(block_on(stage.world.rules()), Vec::<Value>::new());
}

#[test]
fn a_missing_permission_is_named_before_anything_is_tainted() {
    let mut stage = Stage::monitored();
    let node = stage.node(1);
    stage.deployment("web", 1, 1, 0);
    stage.node(1);
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let read = rule("*", "*", &["get", "list", "watch"]);
    let change = rule(
        "resource.k8s.io",
        "devicetaintrules",
        &["create", "patch", "delete"],
    );
    let evict = rule("", "pods/eviction", &["create"]);
    for (rules, flags, denied) in [
        (
            vec![read.clone()],
            "",
            "create devicetaintrules.resource.k8s.io",
        ),
        (
            vec![read.clone(), change.clone()],
            "",
            "create pods/eviction",
        ),
        (
            vec![read, change, evict],
            "--restart",
            "patch deployments.apps",
        ),
    ] {
        let user = block_on(plane().kubeconfig_for(&rules));
        let mut world = World::bare(plane(), stage.world.driver.clone(), String::new());
        world.namespace.clone_from(&stage.world.namespace);
        let line = format!("drain --node {node} --yes {flags}");
        let run = world.seen_by(&user.kubeconfig).run(&line).ended(1);
        run.saying("nothing was changed").saying(denied);
        nothing_is_tainted(&stage);
    }
}
