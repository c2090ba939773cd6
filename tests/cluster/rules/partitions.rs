//! A card that is in use through its partitions alone.

use serde_json::json;

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
