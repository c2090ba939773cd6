//! With any part of the API on the server, the answer is the same, or names the missing part.

use serde_json::Value;

use super::scene::{Scene, V1, Versions, json_of};
use crate::harness::{ControlPlane, Variant};

/// Names of the pods that a report would have evicted.
fn pods(report: &Value) -> Vec<&str> {
    let pods = report["affectedPods"].as_array().into_iter().flatten();
    pods.filter_map(|pod| pod["name"].as_str()).collect()
}

fn file(plane: &ControlPlane, name: &str) -> String {
    plane.folder().join(name).display().to_string()
}

#[tokio::test]
async fn devices_and_rules_are_read_in_every_version() {
    // Every version of either kind once; the pairs that are left are the second tier's.
    let pairs = [
        (Variant::only_v1beta2(), "v1beta2", "v1beta2"),
        (Variant::like_1_35(), "v1", "v1alpha3"),
        (Variant::serving("v1"), "v1", "v1"),
        (Variant::like_1_36(), "v1", "v1beta2"),
    ];
    let tried = if crate::IS_FULL { pairs.len() } else { 3 };
    for (variant, devices, rules) in pairs.into_iter().take(tried) {
        // Its own: the objects of a snapshot are counted.
        let plane = ControlPlane::start(&variant);
        let versions = Versions {
            devices,
            rules: Some(rules),
        };
        let scene = Scene::new(&plane, versions).await;
        let run = |arguments: &[&str]| scene.output(plane.kubeconfig(), arguments);

        let live = json_of(&run(&["preview", &scene.driver, "-o", "json"]));
        assert_eq!(pods(&live), ["train-0", "train-1"], "{variant:?} {live:#}");
        let tainted = scene.run(
            plane.kubeconfig(),
            &["devices", &scene.driver, "--tainted", "-o", "name"],
        );
        assert!(
            tainted.starts_with("DRIVER/DRIVER/gpu-1\n"),
            "{variant:?}: {tainted}"
        );
        // The server's own warnings are passed on, each once.
        let deprecated = usize::from(devices.contains("beta"));
        for kind in ["ResourceSlice", "ResourceClaim"] {
            let warning = format!("Warning: resource.k8s.io/{devices} {kind} is deprecated");
            assert_eq!(
                tainted.matches(&warning).count(),
                deprecated,
                "{variant:?}: {tainted}"
            );
        }
        let verbose = scene.run(plane.kubeconfig(), &["devices", &scene.driver, "-v"]);
        for resource in [
            format!("GET /apis/resource.k8s.io/{devices}/resourceslices"),
            format!("GET /apis/resource.k8s.io/{devices}/resourceclaims"),
            format!("GET /apis/resource.k8s.io/{rules}/devicetaintrules"),
        ] {
            assert!(verbose.contains(&resource), "{resource}: {verbose}");
        }

        let version = json_of(&run(&["version", "-o", "json"]));
        let served = |name: &str| {
            let resources = version["apiServer"]["resources"]
                .as_array()
                .into_iter()
                .flatten();
            let mut found = resources.filter(|it| it["name"] == name);
            found.next().map(|it| it["apiVersion"].clone())
        };
        assert_eq!(version["apiServer"]["version"], "v1.37.2", "{version:#}");
        assert_eq!(version["apiServer"]["servesRules"], true, "{version:#}");
        for (name, at) in [("resourceslices", devices), ("devicetaintrules", rules)] {
            assert_eq!(served(name), Some(format!("resource.k8s.io/{at}").into()));
        }
        assert!(is_valid_version(&version), "{version:#}");

        let saved = file(&plane, "saved.json");
        let text = scene.run(plane.kubeconfig(), &["snapshot", "-o", &saved]);
        assert!(text.contains("2 resourceclaims"), "{text}");
        let from = json_of(&run(&[
            "preview",
            &scene.driver,
            "-o",
            "json",
            "--from",
            &saved,
        ]));
        assert_eq!(pods(&from), pods(&live), "{variant:?}");
    }
}

#[tokio::test]
async fn without_rules_the_rest_is_known_and_the_missing_switch_is_named() {
    let plane = ControlPlane::of(&Variant::without_rules());
    let scene = Scene::new(plane, Versions { rules: None, ..V1 }).await;
    let text = scene.run(plane.kubeconfig(), &["preview", &scene.driver]);
    assert!(
        text.contains("train-0") && text.ends_with("[exit status: 0]"),
        "{text}"
    );
    assert!(text.contains("warning: "), "{text}");
    assert!(
        text.contains("DRADeviceTaintRules") || text.contains("runtime-config"),
        "{text}"
    );
    let text = scene.run(plane.kubeconfig(), &["snapshot", "-o", "/dev/null"]);
    assert!(text.contains("2 resourceclaims"), "{text}");
    let text = scene.run(plane.kubeconfig(), &["version"]);
    for part in [
        "Server: v1.37.2 at SERVER, treated like 1.37.2\n",
        "devicetaintrules        not served\n",
        "warning: the server does not serve devicetaintrules",
        "runtime-config",
        "[exit status: 0]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Commands that need a rule name the feature to switch on.
    for command in [
        &["add", &scene.driver, "example.com/k:NoSchedule", "--yes"][..],
        &["list"],
        &["describe", "x"],
    ] {
        let text = scene.run(plane.kubeconfig(), command);
        assert!(text.contains("runtime-config"), "{command:?}: {text}");
        assert!(text.ends_with("[exit status: 1]"), "{command:?}: {text}");
    }
}

#[tokio::test]
async fn without_the_api_group_there_is_nothing_to_say() {
    let plane = ControlPlane::of(&Variant::without_resource_group());
    let scene = Scene {
        plane,
        driver: "gpu.example.com".to_owned(),
        namespace: "nowhere".to_owned(),
    };
    for command in [
        &["preview", "gpu.example.com"][..],
        &["devices"],
        &["snapshot"],
    ] {
        let text = scene.run(plane.kubeconfig(), command);
        assert!(
            text.starts_with("error: ") && text.ends_with("[exit status: 1]"),
            "{text}"
        );
        assert!(text.contains("resource.k8s.io"), "{text}");
    }
    let text = scene.run(plane.kubeconfig(), &["version"]);
    for part in [
        "resourceslices          not served\n",
        "warning: the server does not serve resourceslices, so there are no devices to taint; ",
        "--runtime-config",
        "[exit status: 0]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// True if a report of `version` matches its schema.
fn is_valid_version(report: &Value) -> bool {
    let path = "schemas/version-report.v1alpha1.schema.json";
    let schema = std::fs::read_to_string(path).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    jsonschema::is_valid(&schema, report)
}

#[tokio::test]
async fn a_rule_that_nothing_reacts_to_is_told_with_the_gate_to_look_at() {
    let plane = ControlPlane::of(&Variant::rules_ignored().without_scheduler());
    let scene = Scene::new(plane, V1).await;
    let run = |arguments: &[&str]| scene.run(plane.kubeconfig(), arguments);
    let device = format!("{}/{}/gpu-0", scene.driver, scene.driver);
    let added = run(&["add", &device, "example.com/k", "--name", "quiet"]);
    assert!(added.ends_with("[exit status: 0]"), "{added}");
    let waited = run(&["wait", "quiet", "--for", "observed", "--timeout", "2s"]);
    assert!(waited.ends_with("[exit status: 5]"), "{waited}");
    for part in ["DRADeviceTaintRules", "device-taint-eviction-controller"] {
        assert!(waited.contains(part), "{part}: {waited}");
    }
    let described = run(&["describe", "quiet"]);
    assert!(described.contains("DRADeviceTaintRules"), "{described}");
}
