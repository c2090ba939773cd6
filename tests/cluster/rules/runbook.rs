//! The runbook of `examples/`, as people run it.

use std::process::{Command, Stdio};

use super::support::{KEY, Run, World};
use crate::harness::{ControlPlane, DEADLINE, Reference, block_on, wait_for};

fn runbook(world: &World<'_>, guard: &str) -> std::process::Child {
    runbook_with(world, guard, "")
}

fn runbook_with(world: &World<'_>, guard: &str, policy: &str) -> std::process::Child {
    command(world, guard, policy)
        .spawn()
        .expect("bash can be run")
}

/// As [`runbook`], for a run of that name.
fn runbook_as(world: &World<'_>, run: &str) -> std::process::Child {
    command(world, "pods.evicted>5", "")
        .env("RUN", run)
        .spawn()
        .expect("bash can be run")
}

fn command(world: &World<'_>, guard: &str, policy: &str) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/runbook.sh");
    let mut command = world.plane.command("bash");
    command
        .args([script, &world.device("gpu-0"), &format!("{KEY}=firmware")])
        .env("GUARD", guard)
        .env("POLICY", policy)
        .env("TIMEOUT", "60s")
        .env("SETTLE", "1s")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn the_runbook_drains_a_device_and_gives_it_back() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let child = runbook(&world, "pods.evicted>5");
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
fn the_runbook_goes_on_where_an_earlier_run_has_stopped() {
    let world = block_on(World::new(ControlPlane::shared()));
    let taint = format!("{KEY}=firmware:NoSchedule");
    let device = world.device("gpu-0");
    let added = ["add", &device, &taint, "--yes", "--batch", "earlier"];
    Run::from(world.plane.plugin(&added)).ended(0);
    let child = runbook_as(&world, "earlier");
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(0);
    for word in ["configured", "deleted"] {
        assert!(run.stdout.contains(word), "{word}: {run:?}");
    }
    assert_eq!(block_on(world.rules()).len(), 0);
}

/// What one run is doing must not be undone by another.
#[test]
fn a_second_run_of_the_runbook_leaves_the_rule_of_the_first_alone() {
    let world = block_on(World::new(ControlPlane::shared()));
    let (device, taint) = (world.device("gpu-0"), format!("{KEY}=firmware"));
    let first = ["add", &device, &taint, "--yes", "--batch", "first"];
    Run::from(world.plane.plugin(&first)).ended(0);
    let child = runbook_as(&world, "second");
    Run::from(child.wait_with_output().expect("it ends"))
        .ended(4)
        .saying("is a rule of another run");
    let rules = block_on(world.rules());
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["spec"]["taint"]["effect"], "None");
}

#[test]
fn the_runbook_evicts_nobody_where_the_time_is_too_short() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let child = runbook(&world, "pods.evicted>5");
    Run::from(child.wait_with_output().expect("it ends"))
        .ended(4)
        .saying("the last eviction is due in")
        .saying("TIMEOUT is too short");
    let rules = block_on(world.rules());
    assert_eq!(rules[0]["spec"]["taint"]["effect"], "None", "{rules:?}");
}

/// Without TIMEOUT it waits for as long as the report says that it takes.
#[test]
fn the_runbook_waits_for_as_long_as_its_report_says() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 900));
    let child = command(&world, "pods.evicted>5", "")
        .env_remove("TIMEOUT")
        .spawn()
        .expect("bash can be run");
    // The waits of 60s above, and the 5m of `escalate`, are over before.
    block_on(async {
        wait_for("the rule evicts", DEADLINE, async || {
            let rules = world.rules().await;
            let effect = rules.first()?["spec"]["taint"]["effect"].as_str()?;
            (effect == "NoExecute").then_some(())
        })
        .await;
        world
            .plane
            .force_delete_pod(&world.namespace, "patient")
            .await;
        let claim = Reference::claim(&world.namespace, "patient");
        world.plane.delete(&claim).await;
    });
    let run = Run::from(child.wait_with_output().expect("it ends")).ended(0);
    assert!(run.stdout.contains("deleted"), "{run:?}");
}

#[test]
fn the_runbook_stops_at_its_guard() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let child = runbook(&world, "pods.evicted>0");
    Run::from(child.wait_with_output().expect("it ends"))
        .ended(4)
        .saying("too many pods");
    assert_eq!(block_on(world.rules()).len(), 0);
}

#[test]
fn the_runbook_keeps_the_policy_of_a_team() {
    let world = block_on(World::new(ControlPlane::shared()));
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("team policy.yaml");
    let run = |rest: &str| {
        let head = "apiVersion: devicetaint.dev/v1alpha1\nkind: DeviceTaintPolicy\n";
        std::fs::write(&policy, format!("{head}{rest}")).expect("a file");
        let child = runbook_with(&world, "pods.evicted>5", &policy.display().to_string());
        Run::from(child.wait_with_output().expect("it ends"))
    };
    let device = world.device("gpu-0");
    run(&format!("neverTaint:\n- device: {device}\n"))
        .ended(4)
        .saying("is protected (neverTaint)");
    assert_eq!(block_on(world.rules()).len(), 0);
    // It says why.
    run("require: [Reason]\n").ended(0);
    run("require: [Ticket]\n").ended(4).saying("needs a ticket");
    assert_eq!(block_on(world.rules()).len(), 0);
}
