//! Partitions, shared claims, several devices, and pods chosen by claim or by priority.

use serde_json::json;

use super::scene::{Scene, tolerations};
use crate::cluster::drained::stage::plane;
use crate::harness::{block_on, objects::partitioned, random_suffix};

#[test]
fn partitions_are_left_and_kept_so_that_the_whole_device_is_free() {
    let mut scene = Scene::new();
    let driver = scene.stage.world.driver.clone();
    let node = format!("node-{}", random_suffix());
    block_on(async {
        plane().ready_node(&node).await;
        let names = [("whole", "2"), ("half-0", "1"), ("half-1", "1")];
        let [counters, mut devices] = partitioned(&driver, &node, &names, "2");
        for (index, (_, slots)) in names.iter().enumerate() {
            devices["spec"]["devices"][index]["attributes"] =
                json!({"slots": {"int": slots.parse::<u8>().expect("a number")}});
        }
        plane().create(&[counters, devices]).await;
    });
    scene.stage.nodes.push(node.clone());
    let of = |slots: u8| {
        let expression = format!("device.attributes['{driver}'].slots == {slots}");
        json!({
            "deviceClassName": driver, "tolerations": tolerations(),
            "selectors": [{"cel": {"expression": expression}}],
        })
    };
    scene.template_of("whole", &of(2));
    let mut half = of(1);
    half.as_object_mut()
        .expect("a request")
        .remove("tolerations");
    scene.template_of("half", &half);
    // One half is in use, and the other is free: both are kept from others until the whole is allocated.
    scene.stage.workload_with("ReplicaSet", "web", 1, |spec| {
        spec["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = json!("half");
    });
    scene.pending("critical", "whole", 0);
    scene.make_room("--yes").ended(0).saying("/whole");
    assert_eq!(scene.node_of("critical"), Some(node.clone()));
    assert_eq!(scene.stage.on(&node), ["critical"]);
    scene.without_rules();
}

#[test]
fn a_claim_that_two_pods_share_is_free_when_both_are_evicted() {
    let mut scene = Scene::new();
    let node = scene.stage.node(1);
    let world = &scene.stage.world;
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": world.namespace},
        "spec": {"devices": {"requests": [
            {"name": "gpu", "exactly": {"deviceClassName": world.driver}},
        ]}},
    });
    block_on(plane().create(&[claim]));
    for name in ["one", "two"] {
        scene.pod_with(name, "gpu", None, |pod| {
            pod["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": "shared"}]);
        });
        scene.stage.until_ready(name, 1);
    }
    scene.pending("critical", "critical", 0);
    scene
        .make_room("--yes")
        .ended(0)
        .saying("/one (")
        .saying("/two (");
    assert_eq!(scene.stage.on(&node), ["critical"]);
    scene.without_rules();
}

#[test]
fn of_two_nodes_the_one_is_chosen_where_fewer_pods_are_evicted() {
    let mut scene = Scene::new();
    let first = scene.stage.node(2);
    scene.stage.workload("ReplicaSet", "single", 2);
    let second = scene.stage.node(2);
    scene
        .stage
        .workload_with("ReplicaSet", "double", 1, |spec| {
            spec["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] =
                json!("pair");
        });
    scene.template("critical-pair", 2, Some(tolerations()));
    scene.pending("critical", "critical-pair", 0);
    scene.make_room("--yes").ended(0);
    assert_eq!(scene.node_of("critical"), Some(second));
    assert_eq!(scene.stage.on(&first).len(), 2);
    scene.without_rules();
}
