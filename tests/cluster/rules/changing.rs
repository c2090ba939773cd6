//! `escalate`, `deescalate`, `remove` and `wait`.

use serde_json::json;

use super::support::{KEY, World};
use crate::harness::{ControlPlane, DEADLINE, Proxy, Reference, block_on, wait_for};

#[test]
fn escalation_evicts_and_waits_until_the_pod_is_gone() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    // Nobody ends the pod but this test, and its grace period does not end meanwhile.
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
fn a_timeout_before_the_last_eviction_is_due_is_refused_before_the_first() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 300));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let line = format!("escalate {name} --to NoExecute --yes");
    for dry_run in ["", " --dry-run=server"] {
        world
            .run(&format!("{line} --wait --timeout 25s{dry_run}"))
            .ended(4)
            .saying("the last eviction is due in 5m")
            .saying("nothing was changed");
    }
    let rule = block_on(world.rule(&name)).expect("it is there");
    assert_eq!(rule["spec"]["taint"]["effect"], "NoSchedule");
    world.run(&line).ended(0);
    world
        .run(&format!(
            "wait {name} --for evicted --timeout 2s --settle 1s"
        ))
        .ended(5)
        .saying("the last eviction is due in")
        .saying("tolerates the taint for");
}

#[test]
fn a_wait_for_what_was_never_there_is_a_mistake() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    for what in ["deleted", "observed", "evicted"] {
        world
            .run(&format!("wait {name}x --for {what} --timeout 5s"))
            .ended(1)
            .saying("did you mean ")
            .saying(&name);
        let run = world
            .run(&format!("wait {name}x --for {what} --ignore-not-found"))
            .ended(0);
        assert_eq!(run.stdout, "", "nothing is claimed of it");
    }
    let proxy = Proxy::start(world.plane);
    let kubeconfig = proxy.kubeconfig.display();
    let line = format!("wait {name} --for deleted --timeout 60s -o json --kubeconfig={kubeconfig}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&line));
        // It has seen the rule, however slow the machine is: it has begun to watch.
        block_on(wait_for("it watches", DEADLINE, async || {
            let seen = proxy.seen();
            seen.iter()
                .any(|request| request.path.contains("watch="))
                .then_some(())
        }));
        world.run(&format!("remove {name}")).ended(0);
        let met = waiting.join().expect("no panic").ended(0);
        let report: serde_json::Value = serde_json::from_str(&met.stdout).expect("JSON");
        assert_eq!(report["met"], true, "{report}");
    });
}

#[test]
fn a_pod_that_is_terminating_is_not_gone_because_its_rule_is() {
    let plane = ControlPlane::shared();
    let world = block_on(World::new(plane));
    block_on(world.patient_pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}:NoSchedule"));
    let eased = json!({"spec": {"taint": {"effect": "NoSchedule"}}});
    for is_deleted in [false, true] {
        let line = format!("escalate {name} --to NoExecute --yes --wait --timeout 60s");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| world.run(&line));
            block_on(wait_for("it is escalated", DEADLINE, async || {
                let rule = plane.get(&Reference::rule(&name)).await?;
                (rule["spec"]["taint"]["effect"] == "NoExecute").then_some(())
            }));
            block_on(wait_for("the eviction", DEADLINE, async || {
                let pod = plane
                    .get(&Reference::pod(&world.namespace, "train"))
                    .await?;
                pod["metadata"]["deletionTimestamp"]
                    .is_string()
                    .then_some(())
            }));
            if is_deleted {
                block_on(plane.delete(&Reference::rule(&name)));
            } else {
                block_on(plane.patch(&Reference::rule(&name), &eased));
            }
            let ended = waiting.join().expect("no panic").ended(1);
            // Whether the wait has looked by then, and heard that it is terminating, is the server's business.
            let has_looked = ended.stderr.contains("left: ");
            let is_left = ended.stderr.contains("left: when last observed: 0 gone, ");
            assert_eq!(has_looked, is_left, "{ended:?}");
            assert!(!ended.stderr.contains("1 gone"), "{ended:?}");
        });
    }
}

#[test]
fn the_brake_asks_nothing_and_says_what_it_cancelled() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let run = world
        .run_by_kubectl(&format!("deescalate {name} --to NoSchedule"))
        .ended(0)
        .saying("1 eviction was pending and is cancelled");
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
fn several_namespaces_need_a_limit_beside_yes() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.pod("train", "gpu-0").await;
        let other = world.plane.namespace().await;
        world.pod_in(&other, "infer", "gpu-1").await;
    });
    let line = format!(
        "add DRIVER {KEY}:NoExecute --name both-{} --yes",
        world.driver
    );
    world
        .run(&line)
        .ended(4)
        .saying("--abort-if 'pods.evicted>2'")
        .saying("2 namespaces");
    world
        .run(&format!("{line} --abort-if pods.evicted>1"))
        .ended(4);
    world
        .run(&format!("{line} --abort-if pods.evicted>2"))
        .ended(0);
    block_on(world.until_evicted("train"));
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

#[test]
fn what_has_expired_is_listed_and_removed_once() {
    let world = block_on(World::new(ControlPlane::shared()));
    let stay = world
        .run(&format!("add GPU1 {KEY}=x --expires 4h"))
        .ended(0);
    let stay = super::support::name_in(&stay.stdout);
    let gone = world
        .run(&format!("add GPU0 {KEY}=x --expires 1s"))
        .ended(0);
    let gone = super::support::name_in(&gone.stdout);
    block_on(crate::harness::wait_for(
        "a second passes on the server",
        crate::harness::DEADLINE,
        async || {
            world
                .run("list --expired -o name")
                .stdout
                .contains(&gone)
                .then_some(())
        },
    ));
    assert!(!world.run("list --expired -o name").stdout.contains(&stay));
    let run = world.run("remove --expired").ended(0);
    assert!(
        run.stdout.contains(&gone) && !run.stdout.contains(&stay),
        "{run:?}"
    );
    world
        .run("remove --expired")
        .ended(0)
        .saying("No resources found");
    world
        .run(&format!("remove {gone}"))
        .ended(1)
        .saying("no rule");
    // The same again keeps the time that the first run has set.
    let again = world
        .run(&format!("add GPU1 {KEY}=x --expires 8h"))
        .ended(0);
    assert!(again.stdout.ends_with("unchanged\n"), "{again:?}");
}

#[test]
fn the_controllers_word_in_between_is_no_conflict() {
    let plane = ControlPlane::start(
        &crate::harness::Variant::default()
            .without_controllers()
            .without_scheduler(),
    );
    let world = block_on(World::new(&plane));
    let name = world.add(&format!("{KEY}=x"));
    let reference = Reference::rule(&name);
    let path = format!("{}/status", block_on(plane.path(&reference)));
    let writing = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        // Also when an assertion ends the test: whoever writes is waited for.
        let done = Done(&writing);
        scope.spawn(|| {
            let mut generation = 0;
            while writing.load(std::sync::atomic::Ordering::Relaxed) {
                generation += 1;
                let condition = json!({"conditions": [{
                    "type": "EvictionInProgress", "status": "False", "reason": "Test", "message": "",
                    "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]});
                // Once the rule is removed, the server says so.
                let body = json!({"status": condition});
                let _ = block_on(plane.request(http::Method::PATCH, &path, Some(&body)));
            }
        });
        for _ in 0..5 {
            world
                .run(&format!("escalate {name} --to NoSchedule --yes"))
                .ended(0);
            world.run(&format!("deescalate {name} --to None")).ended(0);
        }
        world.run(&format!("remove {name}")).ended(0);
        drop(done);
    });
}

/// Ends the writing when it goes.
struct Done<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(false, std::sync::atomic::Ordering::Relaxed);
    }
}
