//! What a rule has done, and until what it evicted has recovered.

use serde_json::{Value, json};

use super::support::{KEY, World};
use crate::harness::objects::{allocation, bound, claim, pod, reserved};
use crate::harness::{ControlPlane, DEADLINE, Reference, Variant, block_on, wait_for};

/// A ReplicaSet that wants one pod, of which nobody makes any.
async fn replica_set(world: &World<'_>, name: &str) -> Value {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example.com/none"}]},
            },
        },
    });
    world.plane.create(&[set]).await.remove(0)
}

async fn owned_pod(world: &World<'_>, name: &str, owner: &Value) {
    let mut owned = bound(pod(&world.namespace, name, name), &world.node);
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true,
    }]);
    let claim = claim(&world.namespace, name, &world.driver);
    let allocation = allocation(&world.driver, &world.node, "gpu-0");
    world
        .plane
        .create(&[owned, reserved(claim, allocation, name)])
        .await;
}

/// Ends the pod as a kubelet would, once it was evicted.
async fn ended(world: &World<'_>, name: &str) {
    world.until_evicted(name).await;
    world.plane.force_delete_pod(&world.namespace, name).await;
    let pod = Reference::pod(&world.namespace, name);
    wait_for("the pod is gone", DEADLINE, async || {
        world.plane.get(&pod).await.is_none().then_some(())
    })
    .await;
}

#[test]
fn a_rule_tells_what_it_did_and_its_workloads_are_waited_for() {
    // Alone: events do not say which rule they are due to.
    let plane = ControlPlane::start(&Variant::default());
    let world = block_on(World::new(&plane));
    block_on(async {
        let set = replica_set(&world, "embed-5f6b").await;
        owned_pod(&world, "embed-5f6b-x1", &set).await;
    });
    let name = world.add(&format!("{KEY}=x:NoExecute"));
    block_on(ended(&world, "embed-5f6b-x1"));
    let described = block_on(wait_for("the eviction is reported", DEADLINE, async || {
        let run = world.run(&format!("describe {name} --history")).ended(0);
        run.stdout.contains("1 pod evicted").then_some(run.stdout)
    }));
    let row = format!("{}/embed-5f6b-x1", world.namespace);
    let (_, history) = described.split_once("\nHistory:").expect("a history");
    let row = history.lines().find(|line| line.contains(&row));
    let row = row.expect("the pod has a row");
    for part in [
        "ReplicaSet/embed-5f6b",
        "not recreated yet",
        "this rule or another taint",
    ] {
        assert!(row.contains(part), "{part}: {described}");
    }
    assert!(!described.contains("not known"), "{described}");
    let json = world
        .run(&format!("describe {name} --history -o json"))
        .ended(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(
        json["history"]["evictedPods"][0]["afterEviction"], "Missing",
        "{json:#}"
    );
    let told = world.run(&format!("explain rule/{name}")).ended(0).stdout;
    assert!(
        told.contains("1 pod evicted by ") && told.contains("another taint"),
        "{told}"
    );

    let wait = |timeout: &str, flag: &str| {
        let line = format!("wait {name} --for recovered --settle 0s --timeout {timeout}{flag}");
        world.run(&line)
    };
    let even_if_deleted = " --ignore-not-found";
    let open = format!("ReplicaSet {}/embed-5f6b: 0 of 1 ready", world.namespace);
    wait("3s", "").ended(5).saying(&open);
    world.run(&format!("remove {name}")).ended(0);
    // A name that was misspelled is not a rule that was deleted.
    wait("3s", "")
        .ended(1)
        .saying("no rule")
        .saying("--ignore-not-found");
    wait("3s", even_if_deleted)
        .ended(5)
        .saying(&open)
        .saying("no rule found for");
    let set = Reference::namespaced("apps/v1", "ReplicaSet", &world.namespace, "embed-5f6b");
    let ready = json!({"replicas": 1, "readyReplicas": 1});
    block_on(plane.patch_status(&set, &ready));
    let run = wait("60s", even_if_deleted).ended(0);
    assert!(run.stdout.contains("recovered"), "{run:#?}");
}

#[test]
fn without_claims_no_rule_counts_as_recovered() {
    let world = block_on(World::new(ControlPlane::shared()));
    let name = world.add(&format!("{KEY}=x:NoExecute"));
    let reader = block_on(world.plane.kubeconfig_for(&[
        json!({"apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules", "resourceslices", "deviceclasses"], "verbs": ["get", "list", "watch"]}),
        json!({"apiGroups": ["", "apps", "batch", "events.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}),
    ]));
    world
        .seen_by(&reader.kubeconfig)
        .run(&format!(
            "wait {name} --for recovered --settle 0s --timeout 3s"
        ))
        .ended(1)
        .saying("cannot tell which pods are evicted");
}

#[test]
fn what_nothing_creates_again_does_not_recover() {
    let plane = ControlPlane::start(&Variant::default());
    let world = block_on(World::new(&plane));
    block_on(world.pod("notebook", "gpu-0"));
    let name = world.add(&format!("{KEY}=x:NoExecute"));
    block_on(ended(&world, "notebook"));
    let line = format!("wait {name} --for recovered --settle 0s --timeout 60s");
    block_on(wait_for("the eviction is reported", DEADLINE, async || {
        let run = world.run(&format!("describe {name} --history")).ended(0);
        run.stdout.contains("1 pod evicted").then_some(())
    }));
    let lost = format!("{}/notebook: nothing recreates it", world.namespace);
    let run = world.run(&line).ended(1).saying(&lost);
    assert!(!run.stderr.contains("all workloads recovered"), "{run:#?}");
}
