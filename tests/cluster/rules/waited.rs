//! Changes that wait for what they do, and waits that cannot end.

use std::thread;

use super::support::{KEY, World, name_in};
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
fn an_addition_waits_until_the_pods_are_gone() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let line = format!("add GPU0 {KEY}:NoExecute --yes --wait --settle 1s --timeout 60s");
    let run = thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&line));
        block_on(end(&world, "train"));
        waiting.join().expect("no panic")
    });
    run.ended(0)
        .saying("1 gone, 0 terminating, 0 not yet evicted");
}

#[test]
fn an_addition_that_is_waited_for_too_short_is_refused_before_it_is_made() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 300));
    let line = format!("add GPU0 {KEY}:NoExecute --yes --wait");
    world
        .run(&format!("{line} --timeout 25s"))
        .ended(4)
        .saying("the last eviction is due in")
        .saying("nothing was changed");
    assert!(block_on(world.rules()).is_empty());
}

#[test]
fn an_addition_whose_pods_are_not_gone_in_time_says_what_is_left() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.patient_pod("train", "gpu-0"));
    let run = world
        .run(&format!(
            "add GPU0 {KEY}:NoExecute --yes --wait --settle 1s --timeout 4s"
        ))
        .ended(5)
        .saying(&format!("{}/train", world.namespace));
    assert!(block_on(world.rule(&name_in(&run.stdout))).is_some());
}
