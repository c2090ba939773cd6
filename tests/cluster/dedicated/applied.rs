//! The team's manifests, applied again and again in its own namespace.

use serde_json::{Value, json};

use super::stage::{claim, dedicate, end, kubectl, plane, stage, user};
use crate::cluster::rules::support::World;
use crate::harness::Reference;

/// The manifests of a team: claims of every shape, one without requests, and a template.
fn manifests(world: &World<'_>, prefix: &str) -> Vec<Value> {
    let own = json!([{"key": "example.com/x", "operator": "Exists", "effect": "NoSchedule"}]);
    let named = |name: &str, tolerations: Value| {
        let name = format!("{prefix}-{name}");
        claim(world, &world.namespace, &name, tolerations)
    };
    let mut first = named("first", Value::Null);
    first["spec"]["devices"]["requests"] = json!([
        {"name": "plain", "exactly": {"deviceClassName": world.driver}},
        {"name": "first", "firstAvailable": [
            {"name": "x", "deviceClassName": world.driver},
            {"name": "y", "deviceClassName": world.driver, "tolerations": own},
        ]},
    ]);
    let mut empty = named("empty", Value::Null);
    empty["spec"] = json!({"devices": {}});
    let mut old = named("old", Value::Null);
    old["apiVersion"] = json!("resource.k8s.io/v1beta1");
    old["spec"]["devices"]["requests"] = json!([{"name": "a", "deviceClassName": world.driver}]);
    let mut template = named("template", own.clone());
    template["spec"] = json!({"spec": template["spec"]});
    template["kind"] = json!("ResourceClaimTemplate");
    let written = json!([{"key": "devicetaint.dev/dedicated", "value": world.namespace, "effect": "NoSchedule"}]);
    vec![
        named("plain", Value::Null),
        named("own", own),
        named("written", written),
        first,
        empty,
        old,
        template,
    ]
}

/// All tolerations of dedications in an object.
fn added(object: &Value) -> usize {
    object["spec"]
        .to_string()
        .matches("devicetaint.dev/dedicated")
        .count()
}

#[tokio::test]
async fn every_manifest_of_the_team_can_be_applied_twice() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let user = user().await;
    let kubectl = |verb: &[&str], manifest: &Value| kubectl(&user, verb, manifest);
    let before = manifests(&world, "before").remove(0);
    kubectl(&["apply"], &before).expect("a claim");
    dedicate(&world, "GPU0", &format!("--to {group}"));

    let client_side: &[&str] = &["apply"];
    let server_side: &[&str] = &["apply", "--server-side"];
    for (prefix, first, again) in [
        ("client", client_side, client_side),
        ("server", server_side, server_side),
        ("replace", &["create", "--save-config"], &["replace"]),
    ] {
        for manifest in manifests(&world, prefix) {
            let reference = Reference::of(&manifest);
            kubectl(first, &manifest).expect(prefix);
            let made = plane().get(&reference).await.expect("it was created");
            for _ in 0..2 {
                kubectl(again, &manifest).expect(prefix);
            }
            let now = plane().get(&reference).await.expect("it is there");
            assert_eq!(now["spec"], made["spec"], "{prefix}");
            let requests = match manifest["metadata"]["name"].as_str() {
                Some(name) if name.ends_with("-empty") => 0,
                Some(name) if name.ends_with("-first") => 3,
                _ => 1,
            };
            assert_eq!(added(&now), requests, "{prefix}: {now:#}");
        }
    }
    // Nothing is added to stored objects, and other changes are refused as ever.
    kubectl(&["apply"], &before).expect("the same claim");
    let stored = plane().get(&Reference::of(&before)).await.expect("a claim");
    assert_eq!(added(&stored), 0, "{stored:#}");
    let mut changed = manifests(&world, "client").remove(0);
    changed["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] =
        json!([{"key": "example.com/x", "operator": "Exists"}]);
    let refused = kubectl(&["apply"], &changed).expect_err("a changed spec");
    assert!(refused.contains("immutable"), "{refused}");
    end(&world, &group);
}

#[tokio::test]
async fn a_namespace_of_two_dedications_keeps_both_tolerations() {
    let (world, _shared) = stage().await;
    let group = world.namespace.clone();
    let names = [format!("{group}-a"), format!("{group}-b")];
    for (name, device) in names.iter().zip(["GPU0", "GPU1"]) {
        dedicate(&world, device, &format!("--to {group} --name {name}"));
    }
    let manifest = claim(&world, &group, "both", Value::Null);
    let user = user().await;
    for _ in 0..2 {
        kubectl(&user, &["apply"], &manifest).expect("it is applied");
        let stored = plane()
            .get(&Reference::of(&manifest))
            .await
            .expect("a claim");
        assert_eq!(added(&stored), 2, "{stored:#}");
    }
    for name in &names {
        end(&world, name);
    }
}
