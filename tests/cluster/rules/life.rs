//! Every command that reads or changes a rule, by kubectl and by itself, at every version of the API.

use serde_json::{Value, json};

use super::support::{KEY, World, name_in};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, block_on, driver_name, objects::slice,
    random_suffix, text, wait_for,
};

#[test]
fn a_rule_is_created_once_and_unchanged_after_that() {
    let world = block_on(World::new(ControlPlane::shared()));
    let line = format!("add GPU0 {KEY}=firmware --reason update --labels team=ml");
    let first = world.run_by_kubectl(&line).ended(0);
    let name = name_in(&first.stdout);
    let shown = |verb: &str| format!("devicetaintrule.resource.k8s.io/{name} {verb}\n");
    assert_eq!(first.stdout, shown("created"));
    let rule = block_on(world.rule(&name)).expect("it is there");
    let selector = json!({"driver": world.driver, "pool": world.node, "device": "gpu-0"});
    assert_eq!(rule["spec"]["deviceSelector"], selector);
    assert_eq!(rule["spec"]["taint"]["effect"], "None");
    assert_eq!(rule["spec"]["taint"]["value"], "firmware");
    let metadata = &rule["metadata"];
    let manager = &metadata["labels"]["app.kubernetes.io/managed-by"];
    assert_eq!(manager, "kubectl-devicetaint");
    assert_eq!(metadata["labels"]["team"], "ml");
    assert!(metadata["labels"]["devicetaint.dev/batch"].is_string());
    assert_eq!(metadata["annotations"]["devicetaint.dev/reason"], "update");
    assert!(metadata["annotations"]["devicetaint.dev/created-by"].is_string());
    assert_eq!(world.run(&line).ended(0).stdout, shown("unchanged"));
}

#[test]
fn a_manifest_is_added_unless_it_is_too_wide_or_the_server_refuses_it() {
    let world = block_on(World::new(ControlPlane::shared()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rule.yaml");
    let name = format!("by-hand-{}", random_suffix());
    let own = format!("{{driver: {}}}", world.driver);
    for (name, selector, code, words) in [
        (&*name, "{}", 2, "every device"),
        (&*name, "{deviceClassName: gpu}", 1, "unknown field"),
        ("Not_A_Name", &own, 1, "the server rejected the request: "),
        (&*name, &own, 0, ""),
        (&*name, &own, 0, ""),
    ] {
        let manifest = format!(
            "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {{name: {name}}}\n\
             spec: {{deviceSelector: {selector}, taint: {{key: {KEY}, effect: None}}}}\n"
        );
        std::fs::write(&path, manifest).expect("a file");
        let run = world.run(&format!("add -f {}", path.display()));
        run.ended(code).saying(words);
        assert_eq!(block_on(world.rules()).is_empty(), code != 0);
    }
}

#[test]
fn escalation_evicts_and_waits_until_the_pod_is_gone() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    // Only this test ends the pod, and its grace period does not end meanwhile.
    block_on(world.patient_pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=firmware"));
    world.follow(&format!(
        "0 | wait {name} --for observed --timeout 60s
         4 | escalate {name} --to NoExecute | --yes"
    ));
    let escalate = format!("escalate {name} --to NoExecute --yes --wait --timeout 60s");
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&escalate));
        block_on(world.until_evicted("train"));
        let (namespace, node) = (&world.namespace, &world.node);
        world.follow(&format!(
            "5 | wait {name} --for evicted --timeout 1s |   left: {namespace}/train on {node}: terminating for 
             0 | describe {name} | terminating for "
        ));
        assert!(!waiting.is_finished(), "the pod is there");
        block_on(plane.force_delete_pod(&world.namespace, "train"));
        waiting.join().expect("no panic")
    });
    assert!(waiting.ended(0).stdout.contains("configured"));
    world.follow(&format!(
        "0 | kubectl wait {name} --for evicted --timeout 60s --settle 1s | /{name} evicted
         0 | escalate {name} --to NoExecute --yes | unchanged
         2 | escalate {name} --to NoSchedule --yes | deescalate"
    ));
}

#[test]
fn lowering_asks_nothing_and_reports_cancelled_evictions() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let name = world.add(&format!("{KEY}:NoExecute"));
    world.follow(&format!(
        "0 | kubectl deescalate {name} --to NoSchedule | evictions cancelled: 1 | configured
         0 | deescalate {name} --to None --dry-run=server
         0 | deescalate {name} --to None
         2 | deescalate {name} --to NoSchedule | escalate
         1 | deescalate nobody --to None | no rule
         1 | escalate nobody --to NoExecute --yes | no rule
         1 | describe nobody | no rule"
    ));
}

#[test]
fn removal_by_device_key_name_and_label() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let driver = &world.driver;
    world.follow(&format!(
        "0 | kubectl remove GPU0 {KEY}- | 1 device schedulable again | /{name} deleted
         1 | remove GPU0 {KEY}-
         0 | remove GPU0 {KEY}- --ignore-not-found
         1 | remove {name} | no rule
         0 | remove -l devicetaint.dev/batch=nothing-{driver} | No resources found
         4 | remove --all | needs confirmation"
    ));
}

#[test]
fn the_policy_wants_a_reason_and_refuses_to_evict_from_every_device() {
    let plane = ControlPlane::start(&Variant::idle());
    let world = block_on(World::new(&plane));
    let path = format!("{}/manifests/policy.yaml", env!("CARGO_MANIFEST_DIR"));
    for _ in 0..2 {
        text(&plane.kubectl(&["apply", "-f", &path]));
    }
    let line = format!("add GPU0 {KEY}=a:NoSchedule --yes --name soft");
    // Policies act a moment after they are created.
    block_on(wait_for("the policy acts", DEADLINE, async || {
        let run = world.run(&format!("{line} --dry-run=server"));
        run.stderr.contains("needs a reason").then_some(())
    }));
    let wide = "add --all-devices example.com/all:NoExecute --reason everything --yes --abort-if pods.evicted>99";
    world.follow(&format!(
        "1 | {line} | needs a reason
         0 | {line} --reason firmware
         0 | add GPU1 {KEY}=b
         1 | {wide} | selects every device
         0 | deescalate soft --to None
         0 | remove soft --yes"
    ));
}

/// Devices at a version that the server has.
async fn world<'a>(plane: &'a ControlPlane, api_version: &str) -> World<'a> {
    let mut world = World::bare(plane, driver_name(), format!("node-{}", random_suffix()));
    let mut devices = slice(&world.driver, &world.node, &["gpu-0", "gpu-1"]);
    devices["apiVersion"] = api_version.into();
    plane.create(&[devices]).await;
    world.namespace = "default".to_owned();
    world
}

#[test]
fn rules_live_in_every_older_version() {
    for (variant, slices, rules) in [
        (Variant::like_1_36(), "v1", "v1beta2"),
        (Variant::only_v1beta2(), "v1beta2", "v1beta2"),
        (Variant::like_1_35(), "v1", "v1alpha3"),
    ] {
        let [slices, rules] = [slices, rules].map(|version| format!("resource.k8s.io/{version}"));
        let plane = ControlPlane::of(&variant);
        let world = block_on(world(plane, &slices));
        let run = world.run_by_kubectl(&format!("add GPU0 {KEY}=firmware"));
        let name = name_in(&run.ended(0).stdout);
        let listed = world.run(&format!("list {name} -o json")).ended(0).stdout;
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        assert_eq!(listed["items"][0]["apiVersion"], *rules);
        world.follow(&format!(
            "0 | escalate {name} --to NoExecute --yes --dry-run=server
             0 | escalate {name} --to NoExecute --yes"
        ));
        let stored = block_on(plane.get(&Reference::cluster(&rules, "DeviceTaintRule", &name)));
        let effect = &stored.expect("it is there")["spec"]["taint"]["effect"];
        assert_eq!(effect, "NoExecute");
        world.follow(&format!(
            "0 | kubectl describe {name} | :NoExecute
             5 | wait {name} --for observed --timeout 1s | has no condition yet
             0 | deescalate {name} --to None
             0 | remove GPU0 {KEY}-
             0 | wait {name} --for deleted --ignore-not-found --timeout 1s"
        ));
    }
}
