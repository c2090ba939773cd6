//! Changes that wait for what they do, and waits that cannot end.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::support::{KEY, World};
use crate::harness::objects::{allocation, bound, claim, pod, reserved};
use crate::harness::{ControlPlane, DEADLINE, Reference, block_on, wait_for};

/// Ends a pod as its kubelet would, and waits until it is gone.
async fn end(world: &World<'_>, name: &str) {
    world.until_evicted(name).await;
    world.plane.force_delete_pod(&world.namespace, name).await;
    let pod = Reference::pod(&world.namespace, name);
    wait_for("the pod is gone", DEADLINE, async || {
        world.plane.get(&pod).await.is_none().then_some(())
    })
    .await;
}

#[test]
fn a_wait_that_is_over_says_how_the_kubelet_is_asked() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let line = format!("wait {name} --for evicted --settle 0s --timeout 60s");
    world.run(&line).ended(0).saying(&format!(
        "next: before you pull a device, run on {node}: kubectl devicetaint podresources check --node \
         {node}",
        node = world.node
    ));
}

/// A pod of a DaemonSet as its controller makes it.
async fn exporter(world: &World<'_>, number: usize) {
    let name = format!("exporter-{number}");
    let mut pod = bound(pod(&world.namespace, &name, &name), &world.node);
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "exporter", "uid": "d", "controller": true,
    }]);
    let claim = claim(&world.namespace, &name, &world.driver);
    let allocation = allocation(&world.driver, &world.node, "gpu-0");
    let objects = [pod, reserved(claim, allocation, &name)];
    world.plane.create(&objects).await;
}

#[test]
fn a_wait_ends_when_pods_are_created_again_and_evicted_again() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}:NoExecute"));
    block_on(exporter(&world, 0));
    let line = format!("wait {name} --for evicted --timeout 120s --settle 20s");
    let run = thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&line));
        // The first of them is seen.
        thread::sleep(Duration::from_secs(3));
        for number in 0..3 {
            if number > 0 {
                block_on(exporter(&world, number));
            }
            if number < 2 {
                let name = format!("exporter-{number}");
                block_on(world.until_evicted(&name));
                // A look is taken a second after the one before at the earliest.
                thread::sleep(Duration::from_secs(3));
                block_on(end(&world, &name));
            }
        }
        waiting.join().expect("no panic")
    });
    run.ended(5)
        .saying("evicted pods are replaced and evicted again")
        .saying(&format!(
            "the pods of DaemonSet/exporter in {} are evicted again each time they are recreated (",
            world.namespace
        ))
        .saying("seen); to prevent these evictions, give their claims a toleration with effect NoExecute");
}
