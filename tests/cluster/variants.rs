//! Does every variant start, and serve what it says?

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, driver_name,
    objects::{allocation, bound, claim, pod, reserved, rule, slice},
    random_suffix, text, wait_for,
};

const RULES: &str = "devicetaintrules";
const SLICES: &str = "resourceslices";

/// The versions of the group, each with what there is of slices and rules.
fn served(plane: &ControlPlane) -> BTreeMap<String, BTreeSet<String>> {
    let raw = |path: &str| -> Value {
        serde_json::from_str(&text(&plane.kubectl(&["get", "--raw", path])))
            .expect("discovery is JSON")
    };
    let groups = raw("/apis");
    let group = groups["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|group| group["name"] == "resource.k8s.io");
    let versions = group
        .and_then(|group| group["versions"].as_array())
        .into_iter()
        .flatten();
    let names = versions.filter_map(|version| version["version"].as_str());
    names
        .map(|version| {
            let list = raw(&format!("/apis/resource.k8s.io/{version}"));
            let resources = list["resources"].as_array().into_iter().flatten();
            let names = resources.filter_map(|resource| resource["name"].as_str());
            let known = names.filter(|name| [RULES, SLICES].contains(name));
            (version.to_owned(), known.map(str::to_owned).collect())
        })
        .collect()
}

#[test]
fn every_variant_serves_what_it_says() {
    const BOTH: &[&str] = &[SLICES, RULES];
    for (variant, expected) in [
        (
            Variant::unconfigured()
                .without_controllers()
                .without_scheduler(),
            vec![("v1", BOTH)],
        ),
        (Variant::only_v1beta2(), vec![("v1beta2", BOTH)]),
        (
            Variant::like_1_35(),
            vec![("v1", &[SLICES]), ("v1alpha3", &[RULES])],
        ),
        (
            Variant::like_1_36(),
            vec![("v1", &[SLICES]), ("v1beta2", BOTH)],
        ),
        (Variant::without_rules(), vec![("v1", &[SLICES])]),
        (Variant::without_resource_group(), vec![]),
    ] {
        let plane = ControlPlane::of(&variant);
        let expected: BTreeMap<String, BTreeSet<String>> = expected
            .into_iter()
            .map(|(version, names)| {
                (
                    version.to_owned(),
                    names.iter().map(|name| (*name).to_owned()).collect(),
                )
            })
            .collect();
        assert_eq!(served(plane), expected, "{variant:?}");
    }
}

#[test]
fn the_shared_control_plane_serves_all_versions() {
    let served = served(ControlPlane::shared());
    let with_rules: Vec<_> = served
        .iter()
        .filter(|(_, names)| names.contains(RULES))
        .map(|(version, _)| version)
        .collect();
    assert_eq!(with_rules, ["v1", "v1alpha3", "v1beta2"]);
    let with_slices: Vec<_> = served
        .iter()
        .filter(|(_, names)| names.contains(SLICES))
        .map(|(version, _)| version)
        .collect();
    assert_eq!(with_slices, ["v1", "v1beta1", "v1beta2"]);
}

#[tokio::test]
async fn taints_are_dropped_from_slices_when_both_gates_are_off() {
    let plane = ControlPlane::of(
        &Variant::taints_ignored()
            .without_controllers()
            .without_scheduler(),
    );
    let created = plane.create(&[tainted_slice(&driver_name())]).await;
    let device = &created[0]["spec"]["devices"][0];
    assert!(
        device["name"] == "gpu-0" && device["taints"].is_null(),
        "{device}"
    );
}

/// A slice whose only device evicts.
fn tainted_slice(driver: &str) -> Value {
    let mut result = slice(driver, "node", &["gpu-0"]);
    result["spec"]["devices"][0]["taints"] =
        json!([{"key": "example.com/broken", "effect": "NoExecute"}]);
    result
}

#[tokio::test]
async fn rules_are_ignored_but_taints_of_slices_are_not_when_the_gate_is_off() {
    let plane = ControlPlane::of(&Variant::rules_ignored().without_scheduler());
    let namespace = plane.namespace().await;
    let (by_rule, by_slice) = (driver_name(), driver_name());
    let name = format!("rule-{}", random_suffix());
    let in_use = |driver: &str, name: &str| {
        let claim = claim(&namespace, name, driver);
        reserved(claim, allocation(driver, "node", "gpu-0"), name)
    };
    plane
        .create(&[
            slice(&by_rule, "node", &["gpu-0"]),
            rule(&name, &by_rule, "NoExecute"),
            bound(pod(&namespace, "stays", "stays"), "node"),
            in_use(&by_rule, "stays"),
        ])
        .await;
    plane
        .create(&[
            tainted_slice(&by_slice),
            bound(pod(&namespace, "leaves", "leaves"), "node"),
            in_use(&by_slice, "leaves"),
        ])
        .await;

    let terminating = async |name: &str| {
        let pod = plane
            .get(&Reference::pod(&namespace, name))
            .await
            .expect("a bound pod is never gone");
        pod["metadata"]["deletionTimestamp"].is_string()
    };
    wait_for("the slice's taint evicts", DEADLINE, async || {
        terminating("leaves").await.then_some(())
    })
    .await;
    // The controller that evicted the younger pod has seen the older one as well.
    assert!(!terminating("stays").await);
    let rule = plane
        .get(&Reference::rule(&name))
        .await
        .expect("the rule is there");
    assert!(rule["status"]["conditions"].is_null(), "{rule}");
}
