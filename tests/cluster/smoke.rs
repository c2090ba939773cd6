//! Does the control plane that all other tests rely on do what they rely on?

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Reference, build_node, build_program, driver_name,
    objects::{allocation, bound, claim, pod, reserved, rule, slice},
    random_suffix, wait_for,
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
