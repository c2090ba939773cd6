//! What the scheduler decides beside devices: nodes that it does not use, pods that it tries first, and its own evictions.

use std::thread;

use serde_json::json;

use super::scene::Scene;
use crate::cluster::drained::stage::plane;
use crate::cluster::rules::harm::Proxy;
use crate::harness::{At, DEADLINE, Reference, block_on, text, wait_for};

#[test]
fn no_pod_is_evicted_from_a_node_whose_taint_the_pod_does_not_tolerate() {
    let mut scene = Scene::new();
    // Of the lowest priority, and therefore first, but for the taint of its node.
    let tainted = scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    let open = scene.stage.node(1);
    scene.pod("other", "gpu", Some(0));
    scene.stage.until_ready("other", 1);
    let taint = format!("{tainted}/reserved:NoSchedule");
    text(&plane().kubectl(&["taint", "nodes", &tainted, &taint]));
    scene.pending("critical", "critical", 1);
    let run = scene.make_room("--yes").ended(0).saying("/other (");
    let why = format!("{tainted} has taint {taint}");
    assert!(run.stderr.contains(&why), "{run:#?}");
    assert_eq!(scene.node_of("critical"), Some(open));
    assert_eq!(scene.stage.on(&tainted).len(), 1);
    scene.without_rules();
}

#[test]
fn free_devices_on_a_cordoned_node_are_no_reason_to_wait() {
    let mut scene = Scene::new();
    let open = scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    let cordoned = scene.stage.node(1);
    text(&plane().kubectl(&["cordon", &cordoned]));
    scene.pending("critical", "critical", 0);
    let why = format!("{cordoned} is cordoned");
    scene.make_room("--yes").ended(0).saying(&why);
    assert_eq!(scene.node_of("critical"), Some(open));
    scene.without_rules();
}

/// The scheduler of this version evicts nobody for devices, so that the test says in its place that it has: what it would
/// write is all that is known of it.
#[test]
fn where_the_scheduler_has_evicted_pods_itself_that_is_said_and_waited_for() {
    let mut scene = Scene::new();
    let node = scene.stage.node(1);
    scene.pod("other", "gpu", None);
    scene.stage.until_ready("other", 1);
    scene.pending("critical", "critical", 0);
    let namespace = scene.stage.world.namespace.clone();
    let pod = Reference::pod(&namespace, "critical");
    let path = format!("/api/v1/namespaces/{namespace}/pods/critical");
    let proxy = Proxy::start(&scene.stage.world);
    // Before each look, since the scheduler takes it back whenever it tries the pod again.
    let nominate = || {
        let nominated = json!({"nominatedNodeName": node});
        block_on(plane().patch_status(&pod, &nominated));
    };
    let at = || At::Path(path.clone(), 1);
    let world = &scene.stage.world;
    let run = proxy.run_while(world, &scene.line("--timeout 2s"), at(), nominate);
    run.ended(5).saying("was not scheduled in time");
    let run = thread::scope(|scope| {
        scope.spawn(|| {
            block_on(wait_for("it waits for the pod", DEADLINE, async || {
                let seen = proxy.seen().into_iter();
                let looks = seen.filter(|seen| seen.path.starts_with(&path)).count();
                // Those of the run before were forgotten with its plan.
                (looks >= 2).then_some(())
            }));
            scene.delete("other");
        });
        proxy.run_while(world, &scene.line(""), at(), nominate)
    });
    let message = format!("the scheduler has nominated node {node}");
    let run = run.ended(0).saying(&message);
    assert!(run.stderr.contains("is scheduled on node"), "{run:#?}");
    assert_eq!(scene.node_of("critical"), Some(node.clone()));
    scene.without_rules();
}
