//! The runbook of `examples/`, as people run it.

use std::process::{Child, Stdio};

use super::support::{KEY, Run, World};
use crate::harness::{ControlPlane, Reference, block_on};

/// A run of the runbook for `gpu-0`; the rule gets a name that no other test has.
fn runbook(world: &World<'_>, guard: &str) -> Child {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/runbook.sh");
    let mut command = world.plane.command("bash");
    command
        .args([script, &world.device("gpu-0"), &format!("{KEY}=firmware")])
        .envs([("GUARD", guard), ("RUN", &world.namespace)])
        .envs([("TIMEOUT", "60s"), ("SETTLE", "1s")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("bash can be run")
}

#[test]
fn the_runbook_stops_at_its_guard_continues_and_gives_the_device_back() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let ended = |child: Child| Run::from(child.wait_with_output().expect("it ends"));
    ended(runbook(&world, "pods.evicted>0"))
        .ended(4)
        .saying("too many pods");
    assert_eq!(block_on(world.rules()).len(), 0);
    // An earlier run has stopped after its first step.
    let name = &world.namespace;
    world.follow(&format!(
        "0 | add GPU0 {KEY}=firmware:NoSchedule --yes --name {name}"
    ));
    let child = runbook(&world, "pods.evicted>5");
    // Where a kubelet would end the pod, the test does.
    block_on(async {
        world.until_evicted("train").await;
        world.plane.end_pod(&world.namespace, "train").await;
        // The scheduler, which gives claims back, has not allocated this one.
        let claim = Reference::claim(&world.namespace, "train");
        world.plane.delete(&claim).await;
    });
    let run = ended(child).ended(0);
    for word in ["configured", "deleted"] {
        assert!(run.stdout.contains(word), "{word}: {run:?}");
    }
    assert_eq!(block_on(world.rules()).len(), 0);
}
