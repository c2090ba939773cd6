//! `preview --publish`, through the real kubectl: the controller's own verdict beside ours.

use std::process::Output;

use serde_json::Value;

use crate::harness::{
    ControlPlane, block_on, driver_name,
    objects::{allocation, bound, claim, pod, reserved, slice},
    text,
};

/// One device of `driver` in use, and another that is free.
async fn device_in_use(plane: &ControlPlane, driver: &str) {
    let namespace = plane.namespace().await;
    let node = format!("node-{driver}");
    plane
        .create(&[
            slice(driver, &node, &["gpu-0", "gpu-1"]),
            bound(pod(&namespace, "pod", "claim"), &node),
            reserved(
                claim(&namespace, "claim", driver),
                allocation(driver, &node, "gpu-0"),
                "pod",
            ),
        ])
        .await;
}

/// `kubectl devicetaint preview …` with the words of `line`.
fn preview(plane: &ControlPlane, line: &str) -> Output {
    let words = line.split(' ');
    let arguments: Vec<&str> = ["devicetaint", "preview"]
        .into_iter()
        .chain(words)
        .collect();
    plane.kubectl(&arguments)
}

/// The rules that are left of the plugin's for `driver`.
fn rules_of(plane: &ControlPlane, driver: &str) -> Vec<Value> {
    let managed = "app.kubernetes.io/managed-by=kubectl-devicetaint";
    let output = plane.kubectl(&["get", "devicetaintrules", "-l", managed, "-o", "json"]);
    let list: Value = serde_json::from_str(&text(&output)).expect("JSON");
    let rules = list["items"].as_array().cloned().unwrap_or_default();
    rules
        .into_iter()
        .filter(|rule| rule["spec"]["deviceSelector"]["driver"] == *driver)
        .collect()
}

#[test]
fn published_preview_is_the_controllers_to_the_letter() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(device_in_use(plane, &driver));

    let line = format!("{driver} example.com/broken=yes:NoExecute --publish -o json");
    let report: Value = serde_json::from_str(&text(&preview(plane, &line))).expect("JSON");
    let published = &report["publishedRules"][0];
    assert_eq!(published["agrees"], true, "{published}");
    assert_eq!(
        published["condition"]["message"],
        report["proposedTaints"][0]["controllerMessage"]
    );
    assert_eq!(published["condition"]["observedGeneration"], 1);

    let [rule] = rules_of(plane, &driver).try_into().expect("one rule stays");
    assert_eq!(
        rule["spec"]["taint"]["effect"], "None",
        "it must not evict anybody"
    );
    assert_eq!(rule["spec"]["taint"]["value"], "yes");
    let name = published["rule"].as_str().expect("a name");
    assert_eq!(rule["metadata"]["name"], *name);
    let described = text(&plane.kubectl(&["describe", "devicetaintrule", name]));
    for part in [
        "EvictionInProgress",
        "1 pod would be evicted",
        "devicetaint.dev/batch",
    ] {
        assert!(described.contains(part), "{part} in:\n{described}");
    }
    assert!(text(&plane.kubectl(&["get", "devicetaintrule", name])).contains(name));

    // Again, as text, and with nothing left behind; the existing rule is created again.
    let line = format!("{driver} example.com/broken=yes:NoExecute --publish --cleanup");
    let shown = text(&preview(plane, &line));
    assert!(
        shown.contains(&format!(
            "{name}: the controller reports the same as this preview: 2 published devices"
        )),
        "{shown}"
    );
    assert_eq!(rules_of(plane, &driver), Vec::<Value>::new());
}
