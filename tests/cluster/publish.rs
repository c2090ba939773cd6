//! `preview --publish`, through the real kubectl: the controller's own verdict beside ours.

use std::process::Output;

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, Variant, block_on, driver_name,
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

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
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

    // Again, for people, and with nothing left behind; the rule that is there is made anew.
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

/// The pod of an extended resource: 1.37.2 evicts it, and the plugin is told that this was an older
/// version, which does not.
#[test]
fn difference_from_the_controller_is_an_error_that_shows_both() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(async {
        let namespace = plane.namespace().await;
        let node = format!("node-{driver}");
        let mut extended = bound(pod(&namespace, "pod", "unused"), &node);
        let spec = extended["spec"].as_object_mut().expect("a pod has a spec");
        spec.remove("resourceClaims");
        let amount = json!({"example.com/gpu": "1"});
        spec["containers"][0]["resources"] = json!({"requests": amount, "limits": amount});
        extended["status"] = json!({"extendedResourceClaimStatus": {
            "resourceClaimName": "claim",
            "requestMappings": [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu"}],
        }});
        let mut claim = reserved(
            claim(&namespace, "claim", &driver),
            allocation(&driver, &node, "gpu-0"),
            "pod",
        );
        claim["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Pod", "name": "pod", "controller": true}]);
        plane
            .create(&[slice(&driver, &node, &["gpu-0"]), extended, claim])
            .await;
    });

    let line = format!("{driver} --publish --cleanup --kubernetes 1.37.1");
    let output = preview(plane, &line);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the controller's result differs from this preview"),
        "{}",
        stderr(&output)
    );
    let why = "kubernetes#141290 is fixed in this cluster";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    for part in [
        "0 pods would be evicted",
        "1 pod would be evicted",
        "the controller reports",
    ] {
        assert!(shown.contains(part), "{part} in:\n{shown}");
    }
    assert_eq!(rules_of(plane, &driver), Vec::<Value>::new());
}

#[test]
fn silence_of_the_controller_is_never_agreement() {
    let plane = ControlPlane::start(&Variant::rules_ignored().without_scheduler());
    let driver = driver_name();
    block_on(device_in_use(&plane, &driver));

    let output = preview(&plane, &format!("{driver} --publish --cleanup -o json"));
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no controller responded within 15s"),
        "{}",
        stderr(&output)
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let published = &report["publishedRules"][0];
    assert_eq!(
        (&published["condition"], &published["agrees"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(rules_of(&plane, &driver), Vec::<Value>::new());
}
