//! Everything that can be wrong with who asks, and what was asked for.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

#[test]
fn who_may_only_read_is_told_which_permission_is_missing() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}=x"));
    let reader = block_on(plane.kubeconfig_for(&[
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]}),
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}),
    ]));
    let world = world.seen_by(&reader.kubeconfig);
    world.run("list").ended(0);
    world
        .run(&format!("add GPU1 {KEY}=x"))
        .ended(1)
        .saying("cannot create devicetaintrules.resource.k8s.io")
        .saying("not created:");
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(1)
        .saying("cannot patch devicetaintrules.resource.k8s.io")
        .saying("changed: nothing")
        .saying(&format!("not changed: {name}"));
    world
        .run(&format!("deescalate {name} --to NoSchedule"))
        .ended(2)
        .saying("changed: nothing");
    world
        .run(&format!("remove {name} --others"))
        .ended(1)
        .saying("cannot delete devicetaintrules.resource.k8s.io");
}

#[test]
fn who_may_not_look_at_devices_may_still_remove_and_brake() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let operator = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"],
        "verbs": ["get", "list", "patch", "delete"],
    })]));
    let other = world.add(&format!("example.com/other-{}:NoSchedule", world.node));
    let without_slices = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules", "resourceclaims"],
        "verbs": ["get", "list", "patch", "delete"],
    })]));
    let world = world.seen_by(&operator.kubeconfig);
    world.run(&format!("deescalate {name} --to None")).ended(0);
    // A rule that kept no device from being allocated sets none free.
    let silent = world.run(&format!("remove {name} --others")).ended(0);
    assert!(!silent.stderr.contains("schedulable"), "{silent:#?}");
    let unknown =
        "unknown whether the devices are schedulable again: ResourceSlices could not be read";
    let removed = world
        .seen_by(&without_slices.kubeconfig)
        .run(&format!("remove {other} --others -o json"))
        .ended(0)
        .saying(unknown);
    let report: Value = serde_json::from_str(&removed.stdout).expect("a report");
    assert_eq!(report["messages"], json!([unknown]), "{removed:#?}");
}

#[test]
fn a_rule_that_may_not_be_read_is_told_and_keeps_no_other_from_being_lowered() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let hidden = world.add(&format!("example.com/other-{}:NoSchedule", world.node));
    let operator = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"],
        "resourceNames": [name], "verbs": ["get", "patch"],
    })]));
    let effect = |name: &str| {
        let rule = block_on(world.rule(name)).expect("the rule is there");
        rule["spec"]["taint"]["effect"].clone()
    };
    let lower = |names: &str| {
        let line = format!(
            "deescalate {names} --to None --kubeconfig {}",
            operator.kubeconfig.display()
        );
        world.run(&line)
    };
    let denied = "cannot get devicetaintrules.resource.k8s.io";
    lower(&hidden).ended(1).saying(denied);
    let both = lower(&format!("{hidden} {name}")).ended(1).saying(denied);
    assert!(both.stdout.contains("configured"), "{both:#?}");
    assert_eq!(
        (effect(&name), effect(&hidden)),
        (json!("None"), json!("NoSchedule"))
    );
}

#[test]
fn a_rule_of_that_name_with_another_selector_is_left_alone() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = format!("mine-{}", world.driver);
    world
        .run(&format!("add GPU0 {KEY}=x --name {name}"))
        .ended(0);
    world
        .run(&format!("add GPU1 {KEY}=x --name {name} --overwrite"))
        .ended(1)
        .saying("exists with other content")
        .saying("--name");
}

#[test]
fn every_rule_is_checked_before_the_first_is_written() {
    let world = block_on(World::new(ControlPlane::shared()));
    world.run(&format!("add GPU1 {KEY}=x")).ended(0);
    world
        .run(&format!("add GPU0 GPU1 {KEY}=other"))
        .ended(1)
        .saying("nothing was changed");
    assert_eq!(block_on(world.rules()).len(), 1);
}

#[test]
fn names_are_checked_here_and_the_rest_by_the_server_in_its_words() {
    let world = block_on(World::new(ControlPlane::shared()));
    world
        .run(&format!("add GPU0 {KEY}=x --name Not_A_Name"))
        .ended(2)
        .saying("rule \"Not_A_Name\" is not valid");
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("rule.yaml");
    let content = format!(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {{name: Not_A_Name}}\nspec:\n  deviceSelector: {{driver: {}}}\n  taint: {{key: {KEY}, effect: None}}\n",
        world.driver
    );
    std::fs::write(&manifest, content).expect("a file");
    let refused = world
        .run(&format!("add -f {}", manifest.display()))
        .ended(1)
        .saying("the server rejected the request: DeviceTaintRule.resource.k8s.io \"Not_A_Name\"")
        .saying("correct the rule, and run the command again");
    assert!(!refused.stderr.contains("same command"), "{refused:?}");
    assert!(block_on(world.rules()).is_empty());
    world
        .run("escalate nobody --to NoExecute --yes")
        .ended(1)
        .saying("no rule");
    world.run("describe nobody").ended(1).saying("no rule");
}

#[test]
fn all_devices_need_a_limit_beside_yes() {
    let plane = ControlPlane::start(
        &crate::harness::Variant::default()
            .without_controllers()
            .without_scheduler(),
    );
    let world = block_on(World::new(&plane));
    world
        .run(&format!("add --all-devices {KEY}:NoSchedule --yes"))
        .ended(4)
        .saying("every device of every driver");
    world
        .run(&format!(
            "add --all-devices {KEY}:NoSchedule --yes --abort-if pods.evicted>0"
        ))
        .ended(0);
    let run = world.run("remove --all --yes").ended(0);
    assert!(run.stdout.contains("deleted"), "{run:?}");
}
