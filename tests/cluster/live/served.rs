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
        let plane = ControlPlane::of(&variant);
        let versions = Versions {
            devices,
            rules: Some(rules),
        };
        let scene = Scene::new(plane, versions).await;
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
        let saved = file(plane, &format!("{}.json", scene.driver));
        let text = scene.run(plane.kubeconfig(), &["snapshot", "-o", &saved]);
        assert!(text.contains(" resourceclaims"), "{text}");
        let line = format!("preview {} -o json --from {saved}", scene.driver);
        let from = json_of(&run(&line.split(' ').collect::<Vec<_>>()));
        assert_eq!(pods(&from), pods(&live), "{variant:?}");
    }
}

#[tokio::test]
async fn a_rule_that_nothing_reacts_to_is_told_with_the_gate_to_look_at() {
    let plane = ControlPlane::of(&Variant::rules_ignored());
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
