//! `add`: makes it so.

use serde_json::json;

use super::support::{KEY, World, name_in};
use crate::harness::{ControlPlane, block_on};

#[test]
fn a_rule_is_created_once_and_unchanged_after_that() {
    let world = block_on(World::new(ControlPlane::shared()));
    let line = format!("add GPU0 {KEY}=firmware --reason update --labels team=ml");
    let first = world.run_by_kubectl(&line).ended(0);
    let name = name_in(&first.stdout);
    assert_eq!(
        first.stdout,
        format!("devicetaintrule.resource.k8s.io/{name} created\n")
    );
    let rule = block_on(world.rule(&name)).expect("it is there");
    assert_eq!(
        rule["spec"]["deviceSelector"],
        json!({"driver": world.driver, "pool": world.node, "device": "gpu-0"})
    );
    assert_eq!(rule["spec"]["taint"]["effect"], "None");
    assert_eq!(rule["spec"]["taint"]["value"], "firmware");
    let metadata = &rule["metadata"];
    assert_eq!(
        metadata["labels"]["app.kubernetes.io/managed-by"],
        "kubectl-devicetaint"
    );
    assert_eq!(metadata["labels"]["team"], "ml");
    assert!(metadata["labels"]["devicetaint.dev/batch"].is_string());
    assert_eq!(metadata["annotations"]["devicetaint.dev/reason"], "update");
    assert!(metadata["annotations"]["devicetaint.dev/created-by"].is_string());

    let again = world.run(&line).ended(0);
    assert_eq!(
        again.stdout,
        format!("devicetaintrule.resource.k8s.io/{name} unchanged\n")
    );
}

#[test]
fn a_manifest_is_added_and_one_that_is_too_wide_is_refused() {
    let world = block_on(World::new(ControlPlane::shared()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rule.yaml");
    let name = format!("by-hand-{}", crate::harness::random_suffix());
    let manifest = |selector: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata:\n  name: {name}\nspec:\n  deviceSelector: {selector}\n  taint:\n    key: {KEY}\n    effect: None\n"
        )
    };
    let line = format!("add -f {}", path.display());
    std::fs::write(&path, manifest("{}")).expect("a file");
    world.run(&line).ended(2).saying("every device");
    std::fs::write(&path, manifest("{deviceClassName: gpu}")).expect("a file");
    world.run(&line).ended(1).saying("unknown field");
    std::fs::write(&path, manifest(&format!("{{driver: {}}}", world.driver))).expect("a file");
    let run = world.run(&line).ended(0);
    assert_eq!(name_in(&run.stdout), name);
    world.run(&line).ended(0);
}
