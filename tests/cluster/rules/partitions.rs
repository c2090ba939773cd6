//! A card that is in use through its partitions alone.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::objects::{class, node, partitioned, slice};
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

/// A wait for a card that ends while pods of its partitions terminate is a card that is pulled under them.
#[test]
fn the_rules_on_partitions_are_meant_by_the_card_to_look_and_named_to_change() {
    let world = block_on(world(ControlPlane::shared()));
    let card = uuid(&world);
    let json = world
        .run(&format!(
            "add {card} {KEY}:NoExecute --with-partitions --yes -o json"
        ))
        .ended(0)
        .stdout;
    let made: Value = serde_json::from_str(&json).expect("JSON");
    let names: Vec<&str> = made["changes"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    assert_eq!(names.len(), 3, "{made:#}");
    let pod = format!("{}/train", world.namespace);
    for goal in ["evicted", "idle"] {
        let line = format!("wait {card} --for {goal} --timeout 2s");
        world.run(&line).ended(5).saying(&pod);
    }
    let keyed = format!("wait {card} {KEY} --for evicted --timeout 2s");
    world.run(&keyed).ended(5).saying(&pod);
    let listed = world.run(&format!("list {card} -o name")).ended(0).stdout;
    let described = world.run(&format!("describe {card}")).ended(0).stdout;
    for name in &names {
        assert!(listed.contains(name), "{name}: {listed}");
        assert!(described.contains(name), "{name}: {described}");
    }
    let run = world.run(&format!("remove {card} --yes")).ended(0);
    let rest = world.run(&format!("list {card} -o name")).ended(0).stdout;
    assert_eq!(rest.lines().count(), 2, "{rest}");
    for name in rest.lines().filter_map(|line| line.rsplit('/').next()) {
        assert!(run.stderr.contains(name), "{name}: {run:#?}");
    }
    let rest: Vec<&str> = rest
        .lines()
        .filter_map(|line| line.rsplit('/').next())
        .collect();
    world
        .run(&format!("remove {} --yes", rest.join(" ")))
        .ended(0);
    world.run(&format!("list {card}")).ended(1);
}

/// One after the other, neither the card nor its partitions would become idle.
#[test]
fn a_card_is_drained_together_with_its_partitions() {
    let world = block_on(world(ControlPlane::shared()));
    let card = uuid(&world);
    let drain = format!("drain {card} --name {} --yes", world.node);
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

/// Two drivers publish one card: what the one has given away, the other must not offer.
#[test]
fn a_card_that_is_in_use_under_the_name_of_another_driver_is_not_free() {
    let world = block_on(world(ControlPlane::shared()));
    let other = driver_name();
    let mut vfio = slice(&other, &world.node, &["whole", "idle"]);
    vfio["spec"]["devices"][0]["attributes"] = json!({"uuid": {"string": uuid(&world)}});
    block_on(world.plane.create(&[vfio]));
    let [whole, idle] = ["whole", "idle"].map(|name| format!("{other}/{}/{name}", world.node));
    let half = world.device("half-0");
    let line = format!("devices --node {} -o json", world.node);
    let listed: Value = serde_json::from_str(&world.run(&line).ended(0).stdout).expect("JSON");
    let rows = listed["items"].as_array().expect("devices");
    let row = |name: &str| rows.iter().find(|row| row["device"] == name).expect(name);
    assert_eq!(row(&whole)["free"], false, "{listed:#}");
    assert_eq!(row(&whole)["inUseBy"], json!([half]), "{listed:#}");
    assert_eq!(row(&idle)["free"], true, "{listed:#}");
    let shown = world.run(&format!("devices {whole}")).ended(0).stdout;
    assert!(shown.contains(&format!("no (in use as {half})")), "{shown}");
    let free = world
        .run(&format!("devices --node {} --free -o name", world.node))
        .ended(0)
        .stdout;
    assert!(free.contains(&idle) && !free.contains(&whole), "{free}");
    let names = ["whole", "idle"].map(|name| format!("{name}-{}", world.node));
    for (device, name) in [&whole, &idle].into_iter().zip(&names) {
        let line = format!("add {device} {KEY}:NoSchedule --yes --name {name}");
        world.run(&line).ended(0);
    }
    world
        .run(&format!("remove {}", names[0]))
        .ended(0)
        .saying(&format!(
            "1 device untainted, but the hardware is in use as {half}"
        ));
    world
        .run(&format!("remove {}", names[1]))
        .ended(0)
        .saying("1 device schedulable again");
    // Of hardware with two names, the number alone does not say which is meant.
    let card = world.device("card");
    world
        .run(&format!("add {} {KEY}:None", uuid(&world)))
        .ended(1)
        .saying("is ambiguous");
    let mut names = [card, whole];
    names.sort();
    let names = names.join(" ");
    world.run(&format!("add {names} {KEY}:None --yes")).ended(0);
    world
        .run(&format!("remove {}", uuid(&world)))
        .ended(1)
        .saying("is ambiguous");
    world.run(&format!("remove {names} {KEY} --yes")).ended(0);
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
