//! Pods that come meanwhile, and pods that never become schedulable.

use serde_json::json;

use super::scene::Scene;
use crate::cluster::rules::harm::Proxy;
use crate::harness::At;

/// The scene with one device in use, and a proxy.
fn scene() -> (Scene, Proxy) {
    let mut scene = Scene::new();
    scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    scene.pending("critical", "critical", 0);
    let proxy = Proxy::start(&scene.stage.world);
    (scene, proxy)
}

#[test]
fn a_pending_pod_of_higher_priority_that_tolerates_the_taint_is_named_and_refused_in_scripts() {
    let (scene, _proxy) = scene();
    scene.pending("rival", "critical", 1);
    let run = scene.make_room("--dry-run").ended(0);
    run.saying("may get the devices first").saying("/rival");
    let run = scene.make_room("--yes").ended(4);
    run.saying("/rival").saying("--force");
    scene.without_rules();
}

#[test]
fn a_competitor_of_higher_priority_that_tolerates_the_taint_wins_and_is_named() {
    let (scene, proxy) = scene();
    // Before the rule is made, a pod comes that the scheduler tries first.
    let run = proxy.run_while(
        &scene.stage.world,
        &scene.line("--yes"),
        At::Method("POST", 1),
        || scene.pending("winner", "critical", 1),
    );
    // It usually wins; which of them the scheduler tries first depends on their back-off, too.
    let has_won = scene.node_of("winner").is_some();
    let run = run.ended(if has_won { 5 } else { 0 });
    for words in ["another claim got the devices", "winner-gpu-"] {
        assert_eq!(run.stderr.contains(words), has_won, "{run:#?}");
    }
    assert_eq!(scene.node_of("critical").is_none(), has_won, "{run:#?}");
    scene.without_rules();
}

#[test]
fn a_competitor_of_higher_priority_that_does_not_tolerate_the_taint_waits() {
    let (scene, proxy) = scene();
    let run = proxy.run_while(
        &scene.stage.world,
        &scene.line("--yes"),
        At::Method("POST", 1),
        || scene.pending("greedy", "gpu", 1),
    );
    run.ended(0).saying("is scheduled on node");
    assert!(scene.node_of("critical").is_some());
    assert_eq!(scene.node_of("greedy"), None);
    scene.without_rules();
}

#[test]
fn a_pod_that_never_becomes_schedulable_ends_with_the_timeout_and_without_rules() {
    let mut scene = Scene::new();
    scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    scene.pod_with("critical", "critical", Some(0), |pod| {
        pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1000"});
    });
    scene.until_unschedulable("critical");
    let run = scene.make_room("--yes --timeout 8s").ended(5);
    run.saying("was not scheduled in time")
        .saying("Insufficient cpu");
    scene.without_rules();
}

#[test]
fn a_pod_that_is_deleted_meanwhile_ends_it() {
    let (scene, proxy) = scene();
    let run = proxy.run_while(
        &scene.stage.world,
        &scene.line("--yes"),
        At::Method("POST", 1),
        || scene.delete("critical"),
    );
    run.ended(1).saying("was deleted meanwhile");
    scene.without_rules();
}
