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
fn an_interrupted_add_that_was_agreed_to_is_completed_by_the_same_command() {
    let world = two_pods();
    let both = format!("add GPU0 GPU1 {KEY}:NoExecute --yes --abort-if pods.evicted>2");
    // As if it had been killed after its first rule.
    world
        .run(&format!("add GPU0 {KEY}:NoExecute --yes"))
        .ended(0);
    let run = world.run(&both).ended(0);
    assert!(
        run.stdout.contains(" unchanged\n") && run.stdout.contains(" created\n"),
        "{run:?}"
    );
    let again = world.run(&both).ended(0);
    assert!(!again.stdout.contains("created"), "{again:?}");
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
fn rules_are_meant_by_their_devices_their_labels_and_their_printed_names() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x --labels row={}", world.node));
    let printed = format!("devicetaintrule.resource.k8s.io/{name}");
    for meant in [
        printed.clone(),
        format!("GPU0 {KEY}"),
        format!("-l row={}", world.node),
    ] {
        let up = world
            .run(&format!("escalate {meant} --to NoSchedule --yes"))
            .ended(0);
        assert_eq!(up.stdout, format!("{printed} configured\n"), "{meant}");
        let down = world
            .run_by_kubectl(&format!("deescalate {meant} --to None"))
            .ended(0);
        assert_eq!(down.stdout, format!("{printed} configured\n"), "{meant}");
    }
    world.run(&format!("remove {printed}")).ended(0);
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
fn the_brake_needs_no_more_than_its_rule() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let operator = block_on(plane.kubeconfig_for(&[json!({
        "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"],
        "resourceNames": [&name], "verbs": ["get", "patch"],
    })]));
    let world = world.seen_by(&operator.kubeconfig);
    world
        .run(&format!("deescalate {name} --to NoSchedule --yes"))
        .ended(0);
    // Its name follows from what it taints.
    world
        .run(&format!("deescalate GPU0 {KEY} --to None"))
        .ended(0);
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
fn who_may_not_list_rules_still_gets_what_was_asked_for() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}=x"));
    let maker = block_on(plane.kubeconfig_for(&[
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"], "verbs": ["get", "create", "patch"]}),
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices", "resourceclaims"], "verbs": ["list"]}),
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}),
    ]));
    let world = world.seen_by(&maker.kubeconfig);
    let run = world
        .run(&format!("add GPU0 {KEY}=x --reason firmware"))
        .ended(0);
    assert!(run.stdout.ends_with("configured\n"), "{run:?}");
    let rule = block_on(world.rule(&name)).expect("it is there");
    assert_eq!(
        rule["metadata"]["annotations"]["devicetaint.dev/reason"],
        "firmware"
    );
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(0);
    world
        .run("escalate nobody --to NoSchedule")
        .ended(1)
        .saying("no rule");
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

#[test]
fn what_was_done_can_be_had_as_data_also_of_a_command_that_failed() {
    let world = two_pods();
    let name = world.add(&format!("{KEY}=x"));
    let told = |line: &str, code: i32| -> serde_json::Value {
        let run = world.run(&format!("{line} -o json")).ended(code);
        serde_json::from_str(&run.stdout).expect("one document")
    };
    let refused = told(
        &format!("escalate {name} --to NoExecute --yes --abort-if pods.evicted>0"),
        4,
    );
    assert_eq!(refused["changed"], false);
    assert_eq!(refused["changes"][0]["result"], "Failed");
    let raised = told(&format!("escalate {name} --to NoSchedule --yes"), 0);
    assert_eq!(raised["kind"], "ChangeReport");
    assert_eq!(raised["changed"], true);
    assert_eq!(raised["changes"][0]["before"]["effect"], "None");
    assert_eq!(raised["changes"][0]["after"]["effect"], "NoSchedule");
    let again = told(&format!("escalate {name} --to NoSchedule --yes"), 0);
    assert_eq!(again["changed"], false);
    let braked = told(&format!("deescalate {name} nobody --to None"), 1);
    let outcomes = braked["changes"].as_array().expect("rules").iter();
    let mut outcomes: Vec<_> = outcomes.map(|rule| rule["result"].clone()).collect();
    outcomes.sort_by_key(ToString::to_string);
    assert_eq!(outcomes, ["Configured", "NotFound"]);
    assert_eq!(braked["changed"], true, "a part of it was done");
    assert!(braked["error"].as_str().expect("why").contains("nobody"));
    let tried = told(&format!("remove {name} --dry-run=server"), 0);
    assert_eq!(
        (&tried["changed"], &tried["dryRun"]),
        (&true.into(), &"Server".into())
    );
    let removed = told(&format!("remove {name}"), 0);
    assert_eq!(removed["changes"][0]["result"], "Deleted");
    assert_eq!(removed["error"], serde_json::Value::Null);
}

#[test]
fn a_command_that_fails_before_it_changes_anything_says_so_as_data_too() {
    let world = two_pods();
    let add = format!("add GPU0 {KEY}=x:NoExecute --yes");
    let elsewhere = "--server https://127.0.0.1:1";
    for (line, code) in [
        (add.clone() + " --abort-if devices.selected>0", 4),
        (format!("add DRIVER/nowhere/gpu-9 {KEY}=x"), 1),
        (format!("{add} {elsewhere}"), 75),
        ("escalate nobody --to NoSchedule".to_owned(), 1),
        (format!("escalate nobody --to NoSchedule {elsewhere}"), 75),
        ("deescalate nobody --to None".to_owned(), 1),
        (format!("deescalate nobody --to None {elsewhere}"), 75),
        ("remove nobody".to_owned(), 1),
        (format!("remove nobody {elsewhere}"), 75),
        ("remove nobody --as nobody".to_owned(), 1),
    ] {
        for dry_run in ["", " --dry-run=server"] {
            let run = world.run(&format!("{line}{dry_run} -o json")).ended(code);
            let report: serde_json::Value =
                serde_json::from_str(&run.stdout).expect("one document");
            assert_eq!(report["changed"], false, "{line}: {report:#}");
            let error = report["error"].as_str().expect("why");
            assert!(run.stderr.contains(error), "{line}: {report:#}");
        }
    }
    assert_eq!(block_on(world.rules()).len(), 0);
    // Nobody knows what was asked for.
    let run = world.run("remove -o json").ended(2);
    assert!(run.stdout.is_empty(), "{run:?}");
}
