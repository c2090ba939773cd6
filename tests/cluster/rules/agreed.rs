//! What was agreed to, and whose rules they are.

use serde_json::json;

use super::harm::Proxy;
use super::support::{KEY, World, name_in};
use crate::harness::{At, ControlPlane, Reference, Variant, block_on, objects::rule};

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
fn an_interrupted_escalation_that_was_agreed_to_is_completed_by_the_same_command() {
    let world = two_pods();
    let (one, two) = (
        world.add(&format!("{KEY}=x")),
        name_in(&world.run(&format!("add GPU1 {KEY}=x")).ended(0).stdout),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.json");
    let preview = format!("preview --rule {one} --rule {two} -o json");
    std::fs::write(&path, world.run(&preview).ended(0).stdout).expect("a file");
    let escalate = format!(
        "escalate {one} {two} --to NoExecute --yes --expect {}",
        path.display()
    );
    world
        .run(&format!("escalate {two} --to NoExecute --yes"))
        .ended(0);
    world.run(&escalate).ended(0);
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
fn the_brake_says_whom_it_cannot_save() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}:NoExecute"));
    block_on(world.until_evicted("train"));
    let run = world
        .run(&format!("deescalate {name} --to None"))
        .ended(0)
        .saying("1 pod is already terminating, which cannot be undone: ")
        .saying(&format!("{}/train", world.namespace));
    assert!(!run.stderr.contains("no eviction was pending"), "{run:?}");
    block_on(world.plane.force_delete_pod(&world.namespace, "train"));
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
fn the_first_command_keeps_its_rule() {
    let world = block_on(World::new(ControlPlane::shared()));
    world.run(&format!("add GPU0 GPU1 {KEY}=x")).ended(0);
    let before = block_on(world.rules());
    world.run(&format!("add GPU1 {KEY}=x")).ended(0);
    assert_eq!(block_on(world.rules()), before);
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

#[test]
fn a_selector_that_they_widened_is_shown_with_its_writer() {
    let plane = ControlPlane::start(&Variant::default().without_controllers().without_scheduler());
    let world = block_on(World::new(&plane));
    let proxy = Proxy::start(&world);
    let name = world.add(&format!("{KEY}=x"));
    let line = format!("escalate {name} --to NoSchedule --yes");
    proxy.run(&world, &line).ended(0);
    let seen = proxy.seen();
    let place = seen.iter().position(|seen| seen.method == "PATCH");
    let at = At::Number(place.expect("it patches") + 1);
    world.run(&format!("deescalate {name} --to None")).ended(0);
    let run = proxy.run_while(&world, &line, at, || {
        let wide = json!({"spec": {"deviceSelector": {"pool": null, "device": null}}});
        block_on(plane.patch(&Reference::rule(&name), &wide));
    });
    let run = run
        .ended(75)
        .saying(&format!(
            "its selector was {}, and is now {}/*/*",
            world.device("gpu-0"),
            world.driver
        ))
        .saying("impact of effect NoSchedule now:")
        .saying("run the same command again to complete the change");
    assert!(
        !run.stderr
            .contains("changed by admin, with kubectl-devicetaint"),
        "{run:?}"
    );
}
