//! `explain` on a real server: who may not read one link learns which, and what can still be said.

use serde_json::json;

use super::scene::{Scene, V1, json_of};
use crate::harness::ControlPlane;

#[tokio::test]
async fn the_link_that_may_not_be_read_is_named_and_the_rest_is_said() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane, V1).await;
    let pod = format!("{}/train-0", scene.namespace);
    let all = [
        "resourceslices",
        "resourceclaims",
        "devicetaintrules",
        "deviceclasses",
    ];
    let group = |resources: &[&str]| json!({"apiGroups": ["resource.k8s.io"], "resources": resources, "verbs": ["list"]});
    let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});

    let nobody = plane.kubeconfig_for(&[group(&all)]).await;
    let told = scene.run(&nobody.kubeconfig, &["explain", &pod]);
    for part in [
        "outcome unknown",
        "cannot be read",
        "is reserved for a pod named train-0",
        "[exit status: 0]",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }

    let no_rules = plane
        .kubeconfig_for(&[group(&all[..2]), pods.clone()])
        .await;
    let answer = json_of(&scene.output(&no_rules.kubeconfig, &["explain", &pod, "-o", "json"]));
    assert_eq!(
        answer["items"][0]["verdict"]["outcome"], "Unknown",
        "{answer:#}"
    );
    assert_eq!(
        answer["incomplete"][0]["missing"], "devicetaintrules",
        "{answer:#}"
    );

    let no_claims = plane
        .kubeconfig_for(&[group(&["resourceslices", "devicetaintrules"]), pods])
        .await;
    let told = scene.run(&no_claims.kubeconfig, &["explain", &pod]);
    assert!(told.contains("claims were not read"), "{told}");

    let mut bare = crate::harness::objects::pod(&scene.namespace, "bare", "unused");
    let spec = bare["spec"].as_object_mut().expect("a spec");
    spec.remove("resourceClaims");
    spec["containers"][0]
        .as_object_mut()
        .expect("a container")
        .remove("resources");
    plane.create(&[bare]).await;
    let told = scene.run(
        plane.kubeconfig(),
        &["explain", "pod/bare", "-n", &scene.namespace],
    );
    assert!(
        told.contains("it uses no device, so no taint affects it"),
        "{told}"
    );

    let gone = scene.run(
        plane.kubeconfig(),
        &["explain", &format!("{}/nobody", scene.namespace)],
    );
    assert!(gone.contains("not found"), "{gone}");
    assert!(gone.ends_with("[exit status: 1]"), "{gone}");
    let whole = json_of(&scene.output(plane.kubeconfig(), &["explain", &pod, "-o", "json"]));
    assert_ne!(
        whole["items"][0]["verdict"]["outcome"], "Unknown",
        "{whole:#}"
    );
    assert_eq!(whole["incomplete"], json!([]), "{whole:#}");
}
