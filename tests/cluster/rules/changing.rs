//! `escalate`, `deescalate`, `remove` and `wait`.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

#[test]
fn escalation_evicts_and_waits_until_the_pod_is_gone() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    // Only this test ends the pod, and its grace period does not end meanwhile.
    block_on(world.patient_pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=firmware"));
    world
        .run(&format!("wait {name} --for observed --timeout 60s"))
        .ended(0);

    world
        .run(&format!("escalate {name} --to NoExecute"))
        .ended(4)
        .saying("--yes");
    let escalate = format!("escalate {name} --to NoExecute --yes --wait --timeout 60s");
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&escalate));
        block_on(world.until_evicted("train"));
        let left = format!(
            "  left: {}/train on {}: terminating for ",
            world.namespace, world.node
        );
        let line = format!("wait {name} --for evicted --timeout 1s");
        world.run(&line).ended(5).saying(&left);
        let described = world.run(&format!("describe {name}")).ended(0).stdout;
        let pod = described.lines().find(|line| line.contains("train"));
        assert!(
            pod.is_some_and(|line| line.contains("terminating for")),
            "{described}"
        );
        assert!(
            !waiting.is_finished(),
            "it waits as long as the pod is there"
        );
        block_on(plane.force_delete_pod(&world.namespace, "train"));
        waiting.join().expect("no panic")
    });
    let waiting = waiting.ended(0);
    assert!(waiting.stdout.contains("configured"), "{waiting:?}");
    let done = world
        .run_by_kubectl(&format!(
            "wait {name} --for evicted --timeout 60s --settle 1s"
        ))
        .ended(0);
    assert_eq!(
        done.stdout,
        format!("devicetaintrule.resource.k8s.io/{name} evicted\n")
    );
    let unchanged = world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(0);
    assert!(unchanged.stdout.ends_with("unchanged\n"), "{unchanged:?}");
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(2)
        .saying("deescalate");
}

#[test]
fn the_brake_asks_nothing_and_says_what_it_cancelled() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let run = world
        .run_by_kubectl(&format!("deescalate {name} --to NoSchedule"))
        .ended(0)
        .saying("evictions cancelled: 1");
    assert!(run.stdout.ends_with("configured\n"), "{run:?}");
    world
        .run(&format!("deescalate {name} --to None --dry-run=server"))
        .ended(0);
    world.run(&format!("deescalate {name} --to None")).ended(0);
    world
        .run(&format!("deescalate {name} --to NoSchedule"))
        .ended(2)
        .saying("escalate");
    world
        .run("deescalate nobody --to None")
        .ended(1)
        .saying("no rule");
}

#[test]
fn more_than_the_kept_report_says_is_refused() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=x"));
    let other = world.run(&format!("add GPU1 {KEY}=x")).ended(0);
    let other = super::support::name_in(&other.stdout);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.json");
    let report = world
        .run(&format!("preview --rule {name} -o json"))
        .ended(0)
        .stdout;
    let escalate = |name: &str| {
        world.run(&format!(
            "escalate {name} --to NoExecute --yes --expect {}",
            path.display()
        ))
    };

    std::fs::write(&path, &report).expect("a file");
    escalate(&other).ended(4).saying("the report is for");
    std::fs::write(&path, report.replace("/v1alpha1\"", "/v9\"")).expect("a file");
    escalate(&name).ended(2).saying("its apiVersion is");
    std::fs::write(&path, "no report").expect("a file");
    escalate(&name).ended(2);

    std::fs::write(&path, &report).expect("a file");
    block_on(world.pod("newcomer", "gpu-0"));
    escalate(&name)
        .ended(4)
        .saying(&format!("{}/newcomer", world.namespace));
    block_on(world.plane.force_delete_pod(&world.namespace, "newcomer"));
    escalate(&name).ended(0);
    block_on(world.until_evicted("train"));
}

#[test]
fn removal_by_device_key_name_and_label() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let run = world
        .run_by_kubectl(&format!("remove GPU0 {KEY}-"))
        .ended(0)
        .saying("1 device schedulable again");
    assert_eq!(
        run.stdout,
        format!("devicetaintrule.resource.k8s.io/{name} deleted\n")
    );
    world.run(&format!("remove GPU0 {KEY}-")).ended(1);
    world
        .run(&format!("remove GPU0 {KEY}- --ignore-not-found"))
        .ended(0);
    world
        .run(&format!("remove {name}"))
        .ended(1)
        .saying("no rule");

    let labelled = format!("remove -l devicetaint.dev/batch=nothing-{}", world.driver);
    world.run(&labelled).ended(0).saying("No resources found");
    world
        .run("remove --all")
        .ended(4)
        .saying("needs confirmation");
}
