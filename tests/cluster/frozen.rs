//! A kubelet that is frozen: no command waits for it longer than it was told to.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rules::support::{KEY, World};
use super::said::{Said, everything};
use crate::harness::{ControlPlane, block_on};

/// How much longer than its time a command may take on a machine that has much to do.
const LATE: Duration = Duration::from_secs(10);

#[test]
fn a_frozen_kubelet_is_given_up_in_time() {
    let server = Said::start("well", &everything(), &json!({}));
    server.note();
    server.freeze();
    for question in [&["list"][..], &["check", "--node", "node-0"]] {
        let began = Instant::now();
        let output = server.asked(&[question, &["--request-timeout", "1s"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(75), "{question:?}: {said}");
        assert!(said.contains("did not respond within 1s"), "{said}");
        assert!(began.elapsed() < LATE, "{question:?}");
    }
}

/// What a kubelet lists that has a pod which the API does not know any more.
fn listed(world: &World<'_>) -> Value {
    let resource =
        json!({"driverName": world.driver, "poolName": world.node, "deviceName": "gpu-0"});
    let claim = json!({
        "claimName": "gone", "claimNamespace": world.namespace, "claimResources": [resource],
    });
    json!({"podResources": [{
        "name": "gone", "namespace": world.namespace,
        "containers": [{"name": "main", "dynamicResources": [claim]}],
    }]})
}

#[test]
fn a_wait_keeps_its_time_when_the_kubelet_is_frozen() {
    let world = block_on(World::new(ControlPlane::shared()));
    let rule = world.add(&format!("{KEY}=x:NoExecute"));
    let server = Said::start("well", &listed(&world), &json!({}));
    server.note();
    let wait = |seconds: u64| {
        let began = Instant::now();
        let line = format!(
            "wait {rule} --for evicted --settle 0s --timeout {seconds}s --verify-node={} --node {} --confirm-node",
            server.socket().display(),
            world.node
        );
        let run = world.run(&line);
        assert!(
            began.elapsed() < Duration::from_secs(seconds) + LATE,
            "{run:#?}"
        );
        run
    };
    // It is well, and has not given the device back.
    wait(2).ended(5).saying("in use by container");
    // It freezes while it is waited for.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(6));
        std::thread::sleep(Duration::from_secs(3));
        server.freeze();
        let run = waiting.join().expect("a wait").ended(5);
        run.saying("timed out after 6s")
            .saying("did not respond within");
    });
    // It was frozen before.
    wait(2).ended(5).saying("did not respond within");
}
