//! Values from a newer API are kept, with a warning.

use serde_json::{Value, json};

use crate::model::{AttributeValue, ClaimSource, DeviceTaintRule, Operator};
use crate::wire::{Documents, Object};

/// The fact that an object states, and the codes and texts of its warnings.
fn decode(object: &Value) -> (Object, Vec<String>) {
    let mut documents = Documents::new();
    documents
        .decode_json(&object.to_string())
        .expect("an object");
    let mut decoded = documents.finish();
    let warnings = decoded.warnings.iter();
    let warnings = warnings
        .map(|warning| format!("{}: {}", warning.code, warning.message))
        .collect();
    (decoded.items.remove(0).object, warnings)
}

fn rule(selector: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "rule"},
        "spec": {"deviceSelector": selector, "taint": {"key": "a", "effect": "NoExecuteLater"}},
    })
}

#[test]
fn unknown_selector_field_is_kept_by_name() {
    let (object, warnings) = decode(&rule(
        &json!({"all": true, "driver": "gpu.example.com", "node": {"a": [1]}}),
    ));
    let Object::DeviceTaintRule(DeviceTaintRule {
        selector: Some(selector),
        ..
    }) = object
    else {
        panic!("not a rule with a selector");
    };
    assert_eq!(selector.unknown_fields, ["all", "node"]);
    assert_eq!(
        selector.driver.as_ref().map(|driver| driver.as_str()),
        Some("gpu.example.com")
    );
    let told = "unknown-selector-field: DeviceTaintRule rule has the unknown field `spec.deviceSelector.all`";
    assert!(
        warnings.iter().any(|warning| warning.starts_with(told)),
        "{warnings:?}"
    );
}

#[test]
fn absent_and_empty_selectors_are_told_apart() {
    let (object, _) = decode(&rule(&Value::Null));
    assert!(matches!(
        object,
        Object::DeviceTaintRule(DeviceTaintRule { selector: None, .. })
    ));
    let (object, _) = decode(&rule(&json!({})));
    assert!(matches!(
        object,
        Object::DeviceTaintRule(DeviceTaintRule {
            selector: Some(_),
            ..
        })
    ));
}

#[test]
fn empty_text_in_a_selector_is_no_wildcard() {
    let (object, _) = decode(&rule(&json!({"driver": ""})));
    let Object::DeviceTaintRule(DeviceTaintRule {
        selector: Some(selector),
        ..
    }) = object
    else {
        panic!("not a rule with a selector");
    };
    assert!(selector.driver.is_some());
}

#[test]
fn unknown_operator_is_kept() {
    let (object, warnings) = decode(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "ml", "uid": "1"},
        "status": {"allocation": {"devices": {"results": [{
            "driver": "d", "pool": "p", "device": "x", "request": "r",
            "tolerations": [{"operator": "Matches", "effect": ""}],
        }]}}},
    }));
    let Object::ResourceClaim(claim) = object else {
        panic!("not a claim");
    };
    let toleration = &claim.allocation.expect("an allocation").results[0].tolerations[0];
    assert_eq!(toleration.operator, Operator::Unknown("Matches".to_owned()));
    assert_eq!(toleration.effect, None);
    assert_eq!(
        warnings,
        [
            "unknown-operator: ResourceClaim ml/claim has a toleration with the unknown operator `Matches`"
        ]
    );
}

#[test]
fn unknown_values_of_a_pod_are_kept() {
    let (object, warnings) = decode(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0", "namespace": "ml", "uid": "1"},
        "spec": {"resourceClaims": [{"name": "gpu"}]},
        "status": {"phase": "Paused", "qosClass": "Gold"},
    }));
    let Object::Pod(pod) = object else {
        panic!("not a pod");
    };
    assert_eq!(pod.claims[0].source, ClaimSource::Unknown);
    assert_eq!(pod.phase.as_str(), "Paused");
    let codes: Vec<_> = warnings
        .iter()
        .filter_map(|warning| warning.split(':').next())
        .collect();
    assert_eq!(
        codes,
        ["unknown-claim-source", "unknown-phase", "unknown-qos-class"]
    );
}

#[test]
fn a_pod_that_has_a_node_keeps_what_decides_where_its_replacement_can_be_scheduled() {
    let (object, warnings) = decode(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0", "namespace": "ml", "uid": "1"},
        "spec": {
            "nodeName": "node-7", "nodeSelector": {"zone": "a"},
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "reserved", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
            ],
        },
    }));
    let Object::Pod(pod) = object else {
        panic!("not a pod");
    };
    let scheduling = pod.scheduling.expect("what the scheduler has to heed");
    assert_eq!(scheduling.nodes.len(), 1);
    let keys = scheduling.tolerations.iter().map(|it| it.key.as_str());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["reserved", "node.kubernetes.io/not-ready"]
    );
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn attribute_of_an_unknown_type_is_kept() {
    let (object, warnings) = decode(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "slice"},
        "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [
            {"name": "x", "attributes": {"tensor": {"matrix": [[1]]}, "model": {"string": "H"}}},
        ]},
    }));
    let Object::ResourceSlice(slice) = object else {
        panic!("not a slice");
    };
    let attributes = &slice.devices[0].attributes;
    assert_eq!(attributes.get("tensor"), Some(&AttributeValue::Unknown));
    assert_eq!(
        attributes.get("model"),
        Some(&AttributeValue::String("H".into()))
    );
    assert_eq!(
        warnings,
        [
            "unknown-attribute-type: ResourceSlice slice has the attribute of an unknown type `tensor`"
        ]
    );
}
