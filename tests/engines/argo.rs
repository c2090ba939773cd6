//! The Argo Workflow.

use std::collections::BTreeMap;

use serde_json::Value;

use super::examples::example;
use super::scene::Scene;
use crate::harness::Reference;

fn workflow() -> Value {
    let [workflow] = &example("argo-workflow.yaml")[..] else {
        panic!("one document");
    };
    workflow.clone()
}

/// A template's script and its variables, as Argo would fill them in.
fn step(scene: &Scene, name: &str) -> (String, BTreeMap<String, String>) {
    let workflow = workflow();
    let spec = &workflow["spec"];
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for parameter in spec["arguments"]["parameters"]
        .as_array()
        .expect("parameters")
    {
        let (name, value) = (parameter["name"].as_str(), parameter["value"].as_str());
        let name = format!("workflow.parameters.{}", name.expect("a name"));
        values.insert(name, value.expect("a default").to_owned());
    }
    for (name, value) in [
        ("devices", scene.devices()),
        ("nodes", "1".to_owned()),
        ("drain", scene.drain()),
        (
            "update",
            format!("touch {}", scene.path("updated").display()),
        ),
        ("timeout", "60s".to_owned()),
    ] {
        values.insert(format!("workflow.parameters.{name}"), value);
    }
    let templates = spec["templates"].as_array().expect("templates");
    let template = templates
        .iter()
        .find(|it| it["name"] == name)
        .expect("a template");
    let filled = |text: &str| {
        let values = values.iter();
        values.fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{{{name}}}}}"), value)
        })
    };
    let variables = template["script"]["env"].as_array().expect("variables");
    let mut variables: BTreeMap<String, String> = variables
        .iter()
        .map(|variable| {
            let (name, value) = (variable["name"].as_str(), variable["value"].as_str());
            (
                name.expect("a name").to_owned(),
                filled(value.expect("a value")),
            )
        })
        .collect();
    // Only where it has one: the other steps talk to no cluster.
    if let Some(config) = variables.get_mut("KUBECONFIG") {
        *config = scene.path("config").display().to_string();
    }
    let source = template["script"]["source"].as_str().expect("a script");
    let work = scene.path("work").display().to_string();
    (source.replace("/work", &work), variables)
}

#[test]
fn nodes_are_drained_as_planned_and_approved_and_given_back() {
    let scene = Scene::new();
    let run = |name| {
        let (script, variables) = step(&scene, name);
        scene.run("sh", &script, &variables)
    };
    // Nothing creates the pod again, and no flag accepts this.
    run("plan").ended(4).saying("unmanaged");
    assert!(scene.effects().is_empty());
    scene.free();
    run("plan").ended(0);
    let devices = scene.read("work/devices");
    let expected = ["gpu-0", "gpu-1"].map(|name| scene.world.device(name));
    assert_eq!(devices.lines().collect::<Vec<_>>(), expected);
    assert!(!scene.read("work/summary").is_empty());
    assert!(scene.effects().is_empty(), "a plan changes nothing");

    // More than was approved: a pod got a device meanwhile.
    crate::harness::block_on(scene.world.pod("newcomer", "gpu-0"));
    run("drain").ended(4);
    assert!(scene.effects().is_empty());
    crate::harness::block_on(async {
        let (plane, namespace) = (scene.world.plane, &scene.world.namespace);
        plane.force_delete_pod(namespace, "newcomer").await;
        plane.delete(&Reference::claim(namespace, "newcomer")).await;
    });
    run("drain").ended(0);
    assert_eq!(scene.effects(), ["NoSchedule"], "the pool has one rule");
    // Tried again, as Argo does after code 75, it finds everything done.
    run("drain").ended(0);
    run("update").ended(0);
    assert!(scene.path("updated").exists());
    run("restore").ended(0);
    assert!(scene.effects().is_empty());
}
