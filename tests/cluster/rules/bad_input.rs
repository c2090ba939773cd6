//! Everything that can be wrong with who asks, and what was asked for.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

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
