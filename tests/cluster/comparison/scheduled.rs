//! Clusters in which the real scheduler allocates and the real controllers make claims.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{full_name, is_leaving, now, pods, verdicts};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, driver_name, objects, random_suffix, say, wait_for,
};

/// Number of clusters.
const CLUSTERS: usize = 8;
/// Number of them worked on at a time.
const AT_ONCE: usize = 4;

#[tokio::test]
async fn what_the_real_scheduler_allocated_is_judged_as_by_the_real_controller() {
    let plane = ControlPlane::shared();
    let clusters = (0..CLUSTERS).map(|number| compare(plane, number));
    let evicted: Vec<usize> = stream::iter(clusters)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    say(&format!(
        "cluster: the conditions and {} evictions in {CLUSTERS} live clusters that the scheduler filled agree with the controller's",
        evicted.iter().sum::<usize>()
    ));
}

/// A node with devices; pods that share a claim, that have one of their own, that have a generated
/// one, and that tolerate the taint in different ways.
async fn compare(plane: &ControlPlane, number: usize) -> usize {
    let (driver, namespace) = (driver_name(), plane.namespace().await);
    let node = format!("node-{}", random_suffix());
    plane.ready_node(&node).await;
    let tolerations = [
        json!([]),
        json!([{"key": "example.com/broken", "operator": "Exists", "effect": "NoExecute"}]),
        json!([{"operator": "Exists"}]),
        json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 86_400}]),
    ];
    let claim = |name: &str, place: usize| {
        let mut claim = objects::claim(&namespace, name, &driver);
        claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] =
            tolerations[(place + number) % tolerations.len()].clone();
        claim
    };
    let mut template = objects::claim(&namespace, "template", &driver);
    template["kind"] = "ResourceClaimTemplate".into();
    template["spec"] = json!({"spec": template["spec"]});
    let mut from_template = objects::pod(&namespace, "generated", "unused");
    from_template["spec"]["resourceClaims"] =
        json!([{"name": "device", "resourceClaimTemplateName": "template"}]);
    plane
        .create(&[
            objects::class(&driver),
            objects::slice(
                &driver,
                &node,
                &["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4"],
            ),
            template,
            claim("shared", 0),
            claim("own", 1),
            claim("patient", 2),
        ])
        .await;
    plane
        .create(&[
            objects::pod(&namespace, "sharing-0", "shared"),
            objects::pod(&namespace, "sharing-1", "shared"),
            objects::pod(&namespace, "owning", "own"),
            objects::pod(&namespace, "patient", "patient"),
            from_template,
        ])
        .await;
    wait_for("every pod has a node", DEADLINE, async || {
        let pods = own_pods(plane, &namespace).await;
        pods.iter()
            .all(|pod| pod["spec"]["nodeName"].is_string())
            .then_some(())
    })
    .await;

    let rule = format!("rule-{}", random_suffix());
    agree_on_condition(plane, &rule, &driver).await;
    evict(plane, &rule, &namespace).await
}

async fn own_pods(plane: &ControlPlane, namespace: &str) -> Vec<Value> {
    let all = pods(plane).await.into_values();
    all.filter(|pod| pod["metadata"]["namespace"] == *namespace)
        .collect()
}

/// A preview is computed once; one that was faster than the news of pods and claims is repeated.
async fn agree_on_condition(plane: &ControlPlane, rule: &str, driver: &str) {
    wait_for("both say the same about the rule", DEADLINE, async || {
        plane.create(&[objects::rule(rule, driver, "None")]).await;
        let condition = plane.rule_condition(rule).await;
        let ours = verdicts::conditions(&verdicts::read(plane).await, now());
        let [status, reason, message] = &ours[rule];
        if condition["message"] == **message {
            assert_eq!(
                (&condition["status"], &condition["reason"]),
                (&json!(status), &json!(reason))
            );
            return Some(());
        }
        plane.delete(&Reference::rule(rule)).await;
        None
    })
    .await;
}

/// Escalates the rule, and returns how many pods went, which are those that should.
async fn evict(plane: &ControlPlane, rule: &str, namespace: &str) -> usize {
    let escalated = plane
        .patch(
            &Reference::rule(rule),
            &json!({"spec": {"taint": {"effect": "NoExecute"}}}),
        )
        .await;
    let mut objects = own_pods(plane, namespace).await;
    // Pods may be leaving by now: as they were when the rule was escalated, none was.
    for pod in &mut objects {
        if let Some(metadata) = pod["metadata"].as_object_mut() {
            metadata.remove("deletionTimestamp");
        }
    }
    let path = format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims");
    let claims = plane.request(http::Method::GET, &path, None).await;
    let claims = claims
        .and_then(crate::harness::Answer::success)
        .expect("claims can be listed");
    let claims = claims["items"].as_array().cloned().unwrap_or_default();
    objects.extend(claims.into_iter().map(|mut claim| {
        claim["apiVersion"] = "resource.k8s.io/v1".into();
        claim["kind"] = "ResourceClaim".into();
        claim
    }));
    for pod in objects.iter_mut().filter(|object| object["kind"].is_null()) {
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
    }
    objects.push(escalated);
    let expected = verdicts::evicted(&objects, now());
    wait_for(
        "exactly those pods leave that should",
        DEADLINE,
        async || {
            let leaving: BTreeSet<String> = own_pods(plane, namespace)
                .await
                .iter()
                .filter(|pod| is_leaving(pod))
                .map(full_name)
                .collect();
            (leaving == expected).then_some(())
        },
    )
    .await;
    expected.len()
}
