//! What was agreed to, and whose rules they are.

use serde_json::json;

use super::support::{KEY, World, name_in};
use crate::harness::{ControlPlane, Reference, block_on, objects::rule};

/// Two pods in one namespace, one on each device.
fn two_pods() -> World<'static> {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.patient_pod("train", "gpu-0").await;
        world.patient_pod("infer", "gpu-1").await;
    });
    world
}

#[test]
fn a_dry_run_refuses_what_the_real_run_would_refuse() {
    let world = two_pods();
    let name = world.add(&format!("{KEY}=x"));
    for dry_run in ["--dry-run=client", "--dry-run=server"] {
        for line in [
            format!("add GPU1 {KEY}:NoExecute"),
            format!("escalate {name} --to NoExecute"),
        ] {
            world
                .run(&format!("{line} {dry_run} --abort-if pods.evicted>0"))
                .ended(4)
                .saying("guard tripped");
            world
                .run(&format!("{line} {dry_run}"))
                .ended(0)
                .saying("this command asks for confirmation; to confirm in advance: --yes");
        }
    }
    assert_eq!(block_on(world.rules()).len(), 1);
}

#[test]
fn rules_of_others_and_more_than_one_are_asked_about_before_they_are_deleted() {
    let world = block_on(World::new(ControlPlane::shared()));
    let theirs = format!("theirs-{}", world.driver);
    block_on(
        world
            .plane
            .create(&[rule(&theirs, &world.driver, "NoSchedule")]),
    );
    world
        .run(&format!("remove {theirs}"))
        .ended(4)
        .saying("was not created by this plugin: created by ")
        .saying("--others");
    world
        .run("remove DRIVER example.com/broken- --yes")
        .ended(4)
        .saying("--others");
    world
        .run(&format!("escalate {theirs} --to NoExecute"))
        .ended(4)
        .saying("was not created by this plugin");
    let one = world.add(&format!("{KEY}=x"));
    let two = name_in(&world.run(&format!("add GPU1 {KEY}=x")).ended(0).stdout);
    world
        .run(&format!("remove {one} {two}"))
        .ended(4)
        .saying("--yes");
    world
        .run(&format!("remove {one} {two} --dry-run=server"))
        .ended(0)
        .saying("without --dry-run, this command asks");
    assert_eq!(block_on(world.rules()).len(), 3);
    world
        .run(&format!("remove {one} {two} {theirs} --yes --others"))
        .ended(0);
    assert!(block_on(world.rules()).is_empty());
}

#[test]
fn what_gitops_applies_is_braked_without_a_question_and_with_a_hint() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let labels = json!({"metadata": {"labels": {"argocd.argoproj.io/instance": "racks"}}});
    block_on(world.plane.patch(&Reference::rule(&name), &labels));
    world
        .run(&format!("deescalate {name} --to None"))
        .ended(0)
        .saying("applied by Argo CD (application racks), which will revert this change");
    world
        .run(&format!("remove {name}"))
        .ended(4)
        .saying("Argo CD");
}

#[test]
fn a_rule_that_is_being_deleted_is_nothing_to_add_to() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x"));
    let hold = |finalizers| json!({"metadata": {"finalizers": finalizers}});
    let reference = Reference::rule(&name);
    block_on(async {
        world
            .plane
            .patch(&reference, &hold(json!(["example.com/hold"])))
            .await;
    });
    world.run(&format!("remove {name}")).ended(0);
    world
        .run(&format!("add GPU0 {KEY}=x"))
        .ended(1)
        .saying("is being deleted")
        .saying("the deletion waits for finalizer example.com/hold")
        .saying("--for deleted");
    block_on(world.plane.patch(&reference, &hold(json!(null))));
}

#[test]
fn a_manifest_is_kept_whole_or_refused() {
    let world = block_on(World::new(ControlPlane::shared()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rule.json");
    let name = format!("manifest-{}", world.driver);
    let mut manifest = rule(&name, &world.driver, "None");
    manifest["metadata"]["finalizers"] = json!(["example.com/hold"]);
    std::fs::write(&path, manifest.to_string()).expect("a file");
    let add = format!("add -f {}", path.display());
    world.run(&add).ended(0);
    let made = block_on(world.rule(&name)).expect("it is there");
    assert_eq!(made["metadata"]["finalizers"], json!(["example.com/hold"]));
    let release = json!({"metadata": {"finalizers": null}});
    block_on(world.plane.patch(&Reference::rule(&name), &release));
    world
        .run(&add)
        .ended(1)
        .saying("does not have all metadata.finalizers of the manifest");
    manifest["spec"]["deviceSelector"]["all"] = json!(true);
    std::fs::write(&path, manifest.to_string()).expect("a file");
    world.run(&add).ended(2).saying("spec.deviceSelector.all");
}
