//! A card that is in use through its partitions alone.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::objects::{class, node, partitioned};
use crate::harness::{ControlPlane, Reference, block_on, driver_name, random_suffix};

/// A node with a card in two halves, and a pod on the first of them.
async fn world(plane: &ControlPlane) -> World<'_> {
    let mut world = World::bare(plane, driver_name(), format!("node-{}", random_suffix()));
    world.namespace = plane.namespace().await;
    let (driver, name) = (world.driver.as_str(), world.node.as_str());
    let names = [("card", "80Gi"), ("half-0", "40Gi"), ("half-1", "40Gi")];
    let [sets, mut devices] = partitioned(driver, name, &names, "80Gi");
    devices["spec"]["devices"][0]["attributes"] = json!({"uuid": {"string": uuid(&world)}});
    plane
        .create(&[class(driver), node(name), sets, devices])
        .await;
    world.pod("train", "half-0").await;
    world
}

/// The UUID of the card.
fn uuid(world: &World<'_>) -> String {
    format!("GPU-{}", world.node)
}

/// A wait for a card that ends while a pod uses a partition would have the card pulled under it.
#[test]
fn a_card_is_not_idle_while_a_partition_is_in_use() {
    let world = block_on(world(ControlPlane::shared()));
    let card = format!("uuid={}", uuid(&world));
    let name = format!("card-{}", world.node);
    world
        .run(&format!("add {card} {KEY}:NoSchedule --yes --name {name}"))
        .ended(0);
    let pod = format!("{}/train", world.namespace);
    world
        .run(&format!("wait {card} {KEY} --for idle --timeout 2s"))
        .ended(5)
        .saying(&pod);
    block_on(async {
        let plane = world.plane;
        plane.force_delete_pod(&world.namespace, "train").await;
        plane
            .delete(&Reference::claim(&world.namespace, "train"))
            .await;
    });
    world
        .run(&format!("wait {name} --for idle --settle 0s --timeout 20s"))
        .ended(0);
    world.run(&format!("remove {name}")).ended(0);
}

/// One after the other, neither the card nor its partitions would become idle.
#[test]
fn a_card_is_drained_together_with_its_partitions() {
    let world = block_on(world(ControlPlane::shared()));
    let card = uuid(&world);
    let drain = format!("drain uuid={card} --name {} --yes", world.node);
    let alone = world.run(&format!("{drain} --timeout 3s --include unmanaged"));
    alone
        .ended(5)
        .saying("not drained: ")
        .saying("half-0 is allocated to claim");
    world.run(&format!("restore {} --yes", world.node)).ended(0);
    let flags = "--with-partitions --include unmanaged --accept-unplaceable --dry-run";
    world
        .run(&format!("{drain} {flags}"))
        .ended(0)
        .saying("(3 devices)");
}

#[test]
fn a_card_in_use_through_its_partitions_does_not_look_unused() {
    let world = block_on(world(ControlPlane::shared()));
    let card = world.device("card");
    let shown = world.run(&format!("devices {card}")).ended(0).stdout;
    for said in [
        "no (1 pod on partitions)",
        "1 selected device, 0 allocated, 1 in use through partitions, 0 tainted",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let listed = world.run(&format!("devices --node {} -o json", world.node));
    let listed: Value = serde_json::from_str(&listed.ended(0).stdout).expect("JSON");
    let card_row = &listed["items"][0];
    assert_eq!(card_row["free"], false, "{listed}");
    let named = json!([{"namespace": world.namespace, "name": "train", "uid": null}]);
    assert_eq!(card_row["partitionPods"], named, "{listed}");
    assert_eq!(listed["items"][2]["free"], true, "{listed}");

    const STAYS: &str = "1 pod uses other devices of the same hardware, such as partitions, and stays; \
        `add`, `preview` and `drain` include partitions with --with-partitions.";
    let name = format!("card-{}", world.node);
    world
        .run(&format!("add {card} {KEY}:None --yes --name {name}"))
        .ended(0);
    world
        .run(&format!("add {card} {KEY}:NoExecute --dry-run=client"))
        .ended(0)
        .saying(STAYS);
    world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(0)
        .saying(STAYS);
    let listed = world.run(&format!("list {name}")).ended(0).stdout;
    assert!(listed.contains("0 (+1 on partitions)"), "{listed}");
    let described = world.run(&format!("describe {name}")).ended(0).stdout;
    assert!(
        described.contains("Pods:        0 (+1 on partitions)"),
        "{described}"
    );
    world
        .run(&format!("remove {name}"))
        .ended(0)
        .saying("1 device untainted, but in use through partitions (pods per device: 1)");
}

#[test]
fn a_partition_of_a_card_that_is_held_whole_is_not_schedulable_again() {
    let world = block_on(world(ControlPlane::shared()));
    block_on(async {
        world
            .plane
            .force_delete_pod(&world.namespace, "train")
            .await;
        let claim = Reference::claim(&world.namespace, "train");
        world.plane.delete(&claim).await;
        world.pod("whole", "card").await;
    });
    let half = world.device("half-1");
    let name = format!("half-{}", world.node);
    world
        .run(&format!("add {half} {KEY}:NoSchedule --yes --name {name}"))
        .ended(0);
    world
        .run(&format!("remove {name}"))
        .ended(0)
        .saying("1 device untainted, but other devices of the same hardware use up the shared");
}
