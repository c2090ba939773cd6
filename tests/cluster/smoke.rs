//! Does the control plane that all other tests rely on do what they rely on?

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Reference, Variant, block_on, build_node, build_program,
    driver_name,
    objects::{allocation, bound, claim, class, pod, reserved, rule, slice},
    random_suffix, text, wait_for,
};

/// What one device, one claim and one pod look like to the controller.
const PREVIEW: &str = "1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace \
    if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.";

/// A device that is in use on a node that nobody has heard of: `pod` with `claim` in the namespace.
fn device_in_use(driver: &str, namespace: &str) -> Vec<Value> {
    let node = format!("node-{driver}");
    let claim = claim(namespace, "claim", driver);
    vec![
        slice(driver, &node, &["gpu-0"]),
        bound(pod(namespace, "pod", "claim"), &node),
        reserved(claim, allocation(driver, &node, "gpu-0"), "pod"),
    ]
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == name)
}

#[tokio::test]
async fn controller_previews_a_rule_and_evicts_when_it_is_escalated() {
    let plane = ControlPlane::shared();
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    plane.create(&device_in_use(&driver, &namespace)).await;

    let name = format!("rule-{}", random_suffix());
    let preview = rule(&name, &driver, "None");
    // A preview is computed once; one that was faster than the news of pod and claim is asked for again.
    wait_for("the rule previews the eviction", DEADLINE, async || {
        plane.create(std::slice::from_ref(&preview)).await;
        let condition = plane.rule_condition(&name).await;
        if condition["message"] == PREVIEW {
            assert_eq!(
                (&condition["status"], &condition["reason"]),
                (&json!("False"), &json!("NoEffect"))
            );
            return Some(());
        }
        plane.delete(&Reference::rule(&name)).await;
        None
    })
    .await;

    plane
        .patch(
            &Reference::rule(&name),
            &json!({"spec": {"taint": {"effect": "NoExecute"}}}),
        )
        .await;
    let evicted = wait_for("the pod is evicted", DEADLINE, async || {
        let pod = plane.get(&Reference::pod(&namespace, "pod")).await?;
        pod["metadata"]["deletionTimestamp"]
            .is_string()
            .then_some(pod)
    })
    .await;
    let target =
        condition(&evicted, "DisruptionTarget").expect("the condition comes before the deletion");
    assert_eq!(target["reason"], "DeletionByDeviceTaintManager");
    assert_eq!(
        target["message"],
        "Device Taint manager: deleting due to NoExecute taint"
    );

    plane.force_delete_pod(&namespace, "pod").await;
    wait_for("the rule has evicted one pod", DEADLINE, async || {
        let condition = plane.rule_condition(&name).await;
        let message = "1 pod evicted since starting the controller.";
        (condition["reason"] == "Completed" && condition["message"] == message).then_some(())
    })
    .await;
}

#[tokio::test]
async fn scheduler_allocates_and_waits_when_the_device_is_tainted() {
    let plane = ControlPlane::shared();
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let node = format!("node-{}", random_suffix());
    plane.ready_node(&node).await;
    plane
        .create(&[class(&driver), slice(&driver, &node, &["gpu-0", "gpu-1"])])
        .await;
    plane
        .create(&[
            pod(&namespace, "first", "first"),
            claim(&namespace, "first", &driver),
        ])
        .await;

    let scheduled = wait_for("the pod is on the node", DEADLINE, async || {
        let pod = plane.get(&Reference::pod(&namespace, "first")).await?;
        pod["spec"]["nodeName"].is_string().then_some(pod)
    })
    .await;
    assert_eq!(scheduled["spec"]["nodeName"], *node);
    let claim_now = plane
        .get(&Reference::claim(&namespace, "first"))
        .await
        .expect("the claim is in use");
    assert_eq!(
        claim_now["status"]["allocation"]["devices"]["results"][0]["driver"],
        *driver
    );
    assert_eq!(
        claim_now["status"]["reservedFor"][0]["uid"],
        scheduled["metadata"]["uid"]
    );

    plane
        .create(&[rule(
            &format!("rule-{}", random_suffix()),
            &driver,
            "NoSchedule",
        )])
        .await;
    plane
        .create(&[
            pod(&namespace, "second", "second"),
            claim(&namespace, "second", &driver),
        ])
        .await;
    wait_for("the second pod cannot be scheduled", DEADLINE, async || {
        let pod = plane.get(&Reference::pod(&namespace, "second")).await?;
        (condition(&pod, "PodScheduled")?["reason"] == "Unschedulable").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_deleted_claim_and_a_finished_pod_can_be_loaded() {
    let plane = ControlPlane::shared();
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let mut finished = bound(pod(&namespace, "finished", "claim"), "node");
    finished["spec"]["containers"][0]["resources"]["requests"] = json!({"example.com/gpu": "1"});
    finished["spec"]["containers"][0]["resources"]["limits"] = json!({"example.com/gpu": "1"});
    finished["status"] = json!({
        "phase": "Succeeded",
        "extendedResourceClaimStatus": {
            "resourceClaimName": "extended",
            "requestMappings": [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu"}],
        },
    });
    let mut deleted = claim(&namespace, "claim", &driver);
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    deleted["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "finished", "controller": true}]);

    let created = plane.create(&[deleted, finished]).await;
    assert!(created[0]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        created[0]["metadata"]["ownerReferences"][0]["uid"],
        created[1]["metadata"]["uid"]
    );
    assert_eq!(created[1]["status"]["phase"], "Succeeded");
    assert_eq!(
        created[1]["status"]["extendedResourceClaimStatus"]["resourceClaimName"],
        "extended"
    );
}

#[test]
fn users_may_do_what_their_rules_say() {
    let plane = ControlPlane::shared();
    let read_claims = json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", "list"]});
    let user = block_on(plane.kubeconfig_for(&[read_claims]));

    let kubeconfig = user.kubeconfig.to_str().expect("the path is text");
    text(&plane.kubectl(&[
        "--kubeconfig",
        kubeconfig,
        "get",
        "resourceclaims",
        "--all-namespaces",
    ]));
    let refused = plane.kubectl(&["--kubeconfig", kubeconfig, "get", "devicetaintrules"]);
    assert!(!refused.status.success());
    let expected = format!(
        "User \"{}\" cannot list resource \"devicetaintrules\"",
        user.name
    );
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains(&expected),
        "{refused:?}"
    );
}

#[test]
fn kubectl_finds_the_plugin() {
    let plane = ControlPlane::shared();
    let plugins = text(&plane.kubectl(&["plugin", "list"]));
    assert!(plugins.contains("kubectl-devicetaint"), "{plugins}");
    assert!(!plugins.contains("warning"), "{plugins}");
    assert!(text(&plane.kubectl(&["version"])).contains("Server Version: v1."));
}

#[test]
fn api_server_can_go_away_and_come_back() {
    let plane = ControlPlane::start(&Variant::default().without_controllers().without_scheduler());
    let namespace = block_on(plane.namespace());

    plane.stop_api_server();
    let refused = plane.kubectl(&["get", "namespaces"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("refused"),
        "{refused:?}"
    );

    plane.start_api_server();
    assert!(text(&plane.kubectl(&["get", "namespaces"])).contains(&namespace));
}

/// Not a test: builds what the script `up` beside this file runs, and says where it is.
#[test]
#[ignore = "checks nothing"]
fn build() {
    let program = build_program().unwrap_or_else(|reason| panic!("{reason}"));
    println!("\nprogram: {}\nplugin: {PLUGIN}", program.display());
}

/// Not a test: builds what the script `up` runs when it is asked for nodes, and says where it is.
#[test]
#[ignore = "checks nothing"]
fn build_with_nodes() {
    let node = build_node().unwrap_or_else(|reason| panic!("{reason}"));
    println!("\nnode: {}", node.display());
    build();
}

/// Not a test: says how fast whole clusters can be loaded.
#[tokio::test]
#[ignore = "takes a while and checks nothing"]
async fn loading_speed() {
    let plane = ControlPlane::start(&Variant::default());
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let objects: Vec<_> = (0..2000)
        .flat_map(|index| {
            let (name, node) = (format!("pod-{index}"), format!("node-{index}"));
            let claim = claim(&namespace, &name, &driver);
            [
                slice(&driver, &node, &["gpu-0"]),
                bound(pod(&namespace, &name, &name), &node),
                reserved(claim, allocation(&driver, &node, "gpu-0"), &name),
            ]
        })
        .collect();
    let started = std::time::Instant::now();
    plane.create(&objects).await;
    // The status of a claim is a write of its own.
    let writes = objects.len() + objects.len() / 3;
    println!(
        "{writes} writes, {:.0} a second",
        writes as f64 / started.elapsed().as_secs_f64()
    );
}
