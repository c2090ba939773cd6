//! Each tier of evictions, and the refusals.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::cluster::drained::stage::plane;
use crate::harness::block_on;

#[test]
fn a_pod_gets_the_device_of_a_pod_of_lower_priority_and_the_replacement_waits() {
    let mut scene = Scene::new();
    let node = scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    scene.pending("critical", "critical", 0);
    let planned = scene.make_room("--dry-run").ended(0).saying("evicts pod");
    assert!(planned.stdout.contains("(dry run)"), "{planned:#?}");
    scene.without_rules();
    let report = scene.make_room("--yes -o json").ended(0);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(report["kind"], "ChangeReport", "{report:#}");
    assert_eq!(report["room"]["node"], node, "{report:#}");
    assert_eq!(report["room"]["violatedBudgets"], json!([]));
    let evicted = report["room"]["evictedPods"].as_array().expect("pods");
    assert_eq!(evicted.len(), 1, "{report:#}");
    assert_eq!(scene.node_of("critical"), Some(node.clone()));
    assert_eq!(scene.stage.on(&node), ["critical"]);
    scene.without_rules();
    // The pod has its devices.
    let again = scene.make_room("--yes").ended(0);
    again.saying("is already scheduled on node");
}

#[test]
fn with_force_a_budget_that_allows_nothing_is_violated_and_without_it_no_set_is_found() {
    let mut scene = Scene::new();
    let node = scene.stage.node(1);
    scene.stage.workload("ReplicaSet", "web", 1);
    scene.stage.budget("web", 1);
    scene.pending("critical", "critical", 0);
    let run = scene.make_room("--yes").ended(1);
    run.saying("no set of pods was found").saying("--force");
    assert_eq!(scene.stage.fewest("web"), 1);
    let run = scene.make_room("--yes --force").ended(4);
    run.saying("--abort-if");
    let run = scene
        .make_room("--yes --force --abort-if pods.evicted>0")
        .ended(4);
    run.saying("pods.evicted");
    // Its eviction is refused for a minute.
    scene
        .make_room("--yes --force --abort-if pods.evicted>1")
        .ended(0)
        .saying("its eviction stays refused");
    assert_eq!(scene.node_of("critical"), Some(node));
    scene.without_rules();
}

#[test]
fn a_missing_permission_is_named_before_the_first_rule_is_made() {
    let mut scene = Scene::new();
    scene.stage.node(2);
    scene.stage.workload("ReplicaSet", "web", 2);
    scene.stage.budget("web", 1);
    scene.pending("critical", "critical", 0);
    let rule = |groups: &[&str], resource: &str, verbs: &[&str]| json!({"apiGroups": groups, "resources": [resource], "verbs": verbs});
    let rules = |verbs: &[&str]| rule(&["resource.k8s.io"], "devicetaintrules", verbs);
    let (read, evict) = (
        rule(&["*"], "*", &["get", "list", "watch"]),
        rule(&[""], "pods/eviction", &["create"]),
    );
    let groups = [
        "",
        "apps",
        "batch",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "events.k8s.io",
    ];
    let (create, delete) = (rules(&["create", "patch"]), rules(&["delete", "patch"]));
    let (all, any) = (
        rules(&["create", "delete", "patch"]),
        rule(&groups, "*", &["*"]),
    );
    let denied = "nothing was changed";
    for (granted, code, words, missing) in [
        (
            vec![&read, &create, &evict],
            1,
            denied,
            "delete devicetaint",
        ),
        (
            vec![&read, &delete, &evict],
            1,
            denied,
            "create devicetaint",
        ),
        (vec![&read, &all], 1, denied, "create pods/eviction"),
        // Without the budgets it is unknown which pods may leave.
        (vec![&any], 4, "cannot choose pods", "poddisruptionbudgets"),
    ] {
        let granted: Vec<Value> = granted.into_iter().cloned().collect();
        let user = block_on(plane().kubeconfig_for(&granted)).kubeconfig;
        let run = scene.make_room(&format!("--yes --kubeconfig {}", user.display()));
        run.ended(code).saying(words).saying(missing);
        scene.without_rules();
    }
    assert_eq!(scene.stage.fewest("web"), 2);
}
