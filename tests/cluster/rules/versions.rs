//! Every command at every version of the API.

use serde_json::Value;

use super::support::{KEY, World, name_in};
use crate::harness::{
    ControlPlane, Reference, Variant, block_on, driver_name, objects::slice, random_suffix,
};

/// Objects at the versions that the server has.
async fn world<'a>(plane: &'a ControlPlane, api_version: &str) -> World<'a> {
    let mut world = World::bare(plane, driver_name(), format!("node-{}", random_suffix()));
    let mut devices = slice(&world.driver, &world.node, &["gpu-0", "gpu-1"]);
    devices["apiVersion"] = api_version.into();
    plane.create(&[devices]).await;
    world.namespace = "default".to_owned();
    world
}

fn life_of_a_rule(variant: &Variant, slices: &str, rules: &str) {
    let plane = ControlPlane::of(variant);
    let world = block_on(world(plane, slices));
    let run = world
        .run_by_kubectl(&format!("add GPU0 {KEY}=firmware"))
        .ended(0);
    let name = name_in(&run.stdout);
    let listed: Value =
        serde_json::from_str(&world.run(&format!("list {name} -o json")).ended(0).stdout)
            .expect("JSON");
    assert_eq!(listed["items"][0]["apiVersion"], rules);
    world
        .run(&format!(
            "escalate {name} --to NoExecute --yes --dry-run=server"
        ))
        .ended(0);
    world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(0);
    let stored = block_on(plane.get(&Reference::cluster(rules, "DeviceTaintRule", &name)));
    assert_eq!(
        stored.expect("it is there")["spec"]["taint"]["effect"],
        "NoExecute"
    );
    let shown = world
        .run_by_kubectl(&format!("describe {name}"))
        .ended(0)
        .stdout;
    assert!(shown.contains(":NoExecute"), "{shown}");
    world
        .run(&format!("wait {name} --for observed --timeout 1s"))
        .ended(5)
        .saying("has no condition yet");
    world.run(&format!("deescalate {name} --to None")).ended(0);
    world.run(&format!("remove GPU0 {KEY}-")).ended(0);
    world
        .run(&format!(
            "wait {name} --for deleted --ignore-not-found --timeout 1s"
        ))
        .ended(0);
}

#[test]
fn rules_live_in_every_older_version() {
    for (variant, slices, rules) in [
        (Variant::like_1_36(), "v1", "v1beta2"),
        (Variant::only_v1beta2(), "v1beta2", "v1beta2"),
        (Variant::like_1_35(), "v1", "v1alpha3"),
    ] {
        let [slices, rules] = [slices, rules].map(|version| format!("resource.k8s.io/{version}"));
        life_of_a_rule(&variant, &slices, &rules);
    }
}

#[test]
fn without_rules_it_is_said_how_to_get_them() {
    let plane = ControlPlane::of(&Variant::without_rules());
    let world = block_on(world(plane, "resource.k8s.io/v1"));
    world
        .run(&format!("add GPU0 {KEY}=x"))
        .ended(1)
        .saying("does not serve DeviceTaintRule");
    world.run("wait nobody --for deleted").ended(1);
}
