//! `preview --publish`, through the real kubectl: the controller's own verdict beside ours.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Variant, block_on, driver_name,
    objects::{allocation, bound, claim, pod, reserved, slice},
    text, wait_for,
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

#[test]
fn several_devices_are_published_as_several_rules() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(device_in_use(plane, &driver));
    let line = format!(
        "{driver}/node-{driver}/gpu-0 {driver}/node-{driver}/gpu-1 --publish --cleanup -o json"
    );
    let report: Value = serde_json::from_str(&text(&preview(plane, &line))).expect("JSON");
    let agrees: Vec<_> = report["publishedRules"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|rule| &rule["agrees"])
        .collect();
    assert_eq!(agrees, [true, true]);
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

    interrupting_removes_the_rules(&plane, &driver);
}

/// On the same server, where there is time to interrupt.
#[cfg(unix)]
fn interrupting_removes_the_rules(plane: &ControlPlane, driver: &str) {
    let plugin = plane
        .command(PLUGIN)
        .args(["preview", driver, "--publish", "--cleanup"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin starts");
    block_on(wait_for("the rule is there", DEADLINE, async || {
        (!rules_of(plane, driver).is_empty()).then_some(())
    }));
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &plugin.id().to_string()])
        .status();
    assert!(signalled.expect("kill can be run").success());
    let output = plugin.wait_with_output().expect("the plugin ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(rules_of(plane, driver), Vec::<Value>::new());
}

#[cfg(not(unix))]
fn interrupting_removes_the_rules(_: &ControlPlane, _: &str) {}

#[test]
fn what_cannot_be_published_is_said_before_anything_is_created() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(device_in_use(plane, &driver));
    for (name, arguments, code, message) in [
        (
            "files",
            "--from cluster.yaml --publish",
            2,
            "cannot be used with",
        ),
        ("cleanup alone", "--cleanup", 2, "--publish"),
        (
            "an effect that evicts no pods",
            "a:NoSchedule --publish",
            2,
            "NoSchedule evicts no pods",
        ),
        (
            "a version of which evictions are not predicted",
            "--kubernetes 1.34 --publish",
            2,
            "it needs Kubernetes 1.35 or later",
        ),
        (
            "a guard",
            "--abort-if pods.evicted>0 --publish",
            4,
            "guard tripped",
        ),
    ] {
        let output = preview(plane, &format!("{driver} {arguments}"));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{name}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(message),
            "{name}: {}",
            stderr(&output)
        );
    }
    assert_eq!(rules_of(plane, &driver), Vec::<Value>::new());
}

#[test]
fn rule_that_somebody_escalated_is_left_alone() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(device_in_use(plane, &driver));
    text(&preview(plane, &format!("{driver} --publish")));
    let [rule] = rules_of(plane, &driver).try_into().expect("one rule stays");
    let name = rule["metadata"]["name"].as_str().expect("a name");
    let patch = r#"{"spec":{"taint":{"effect":"NoSchedule"}}}"#;
    text(&plane.kubectl(&[
        "patch",
        "devicetaintrule",
        name,
        "--type=merge",
        "-p",
        patch,
    ]));

    let output = preview(plane, &format!("{driver} --publish --cleanup"));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not the rule that --publish creates for this preview"));
    assert_eq!(rules_of(plane, &driver).len(), 1);
}

#[test]
fn missing_permission_to_create_is_named() {
    let plane = ControlPlane::shared();
    let driver = driver_name();
    block_on(device_in_use(plane, &driver));
    let read = json!({
        "apiGroups": ["resource.k8s.io"], "verbs": ["get", "list"],
        "resources": ["resourceslices", "resourceclaims", "devicetaintrules", "deviceclasses"],
    });
    let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
    let user = block_on(plane.kubeconfig_for(&[read, pods]));
    let kubeconfig = user.kubeconfig.display().to_string();
    let output = preview(
        plane,
        &format!("{driver} --publish --kubeconfig {kubeconfig}"),
    );
    assert_eq!(output.status.code(), Some(1));
    let denied = "cannot create devicetaintrules";
    assert!(stderr(&output).contains(denied), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(!said.contains("stay"), "nothing was made: {said}");
}
