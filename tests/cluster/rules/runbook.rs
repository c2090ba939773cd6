//! The runbook of `examples/`, as people run it.

use std::process::{Command, Stdio};

use super::support::{KEY, Run, World};
use crate::harness::{ControlPlane, DEADLINE, Reference, block_on, wait_for};

/// A run of the runbook for `gpu-0`; the rule gets the name `rule`.
fn runbook(world: &World<'_>, rule: &str, guard: &str) -> std::process::Child {
    command(world, rule, guard)
        .spawn()
        .expect("bash can be run")
}

fn command(world: &World<'_>, rule: &str, guard: &str) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/runbook.sh");
    let mut command = world.plane.command("bash");
    command
        .args([script, &world.device("gpu-0"), &format!("{KEY}=firmware")])
        .env("GUARD", guard)
        .env("RUN", rule)
        .env("TIMEOUT", "60s")
        .env("SETTLE", "1s")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A name for a rule that no other test has.
fn rule_of(world: &World<'_>, run: &str) -> String {
    format!("{run}-{}", world.namespace)
}

#[test]
fn the_runbook_drains_a_device_and_gives_it_back() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let child = runbook(&world, &rule_of(&world, "run"), "pods.evicted>5");
    // Where a kubelet would end the pod, the test does.
    block_on(async {
        world.until_evicted("train").await;
        world
            .plane
            .force_delete_pod(&world.namespace, "train")
            .await;
        let pod = Reference::pod(&world.namespace, "train");
        wait_for("the pod is gone", DEADLINE, async || {
            world.plane.get(&pod).await.is_none().then_some(())
        })
        .await;
        // The scheduler, which gives claims back, has not allocated this one.
        let claim = Reference::claim(&world.namespace, "train");
        world.plane.delete(&claim).await;
    });
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(0);
    for word in ["created", "configured", "deleted"] {
        assert!(run.stdout.contains(word), "{word}: {run:?}");
    }
    assert_eq!(block_on(world.rules()).len(), 0);
}

#[test]
fn the_runbook_continues_where_an_earlier_run_has_stopped() {
    let world = block_on(World::new(ControlPlane::shared()));
    let taint = format!("{KEY}=firmware:NoSchedule");
    let (device, rule) = (world.device("gpu-0"), rule_of(&world, "earlier"));
    let added = ["add", &device, &taint, "--yes", "--name", &rule];
    Run::from(world.plane.plugin(&added)).ended(0);
    let child = runbook(&world, &rule, "pods.evicted>5");
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(0);
    for word in ["configured", "deleted"] {
        assert!(run.stdout.contains(word), "{word}: {run:?}");
    }
    assert_eq!(block_on(world.rules()).len(), 0);
}

#[test]
fn the_runbook_stops_at_its_guard() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let child = runbook(&world, &rule_of(&world, "run"), "pods.evicted>0");
    Run::from(child.wait_with_output().expect("it ends"))
        .ended(4)
        .saying("too many pods");
    assert_eq!(block_on(world.rules()).len(), 0);
}
