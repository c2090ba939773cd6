//! The Argo Workflow.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::scene::Scene;
use super::schema::{closed, errors, example, names, references};
use super::tools::go_module;
use crate::harness::Reference;

const MODULE: &str = "github.com/argoproj/argo-workflows/v3@v3.7.0";

fn workflow() -> Value {
    let [workflow] = &example("argo-workflow.yaml")[..] else {
        panic!("one document");
    };
    workflow.clone()
}

#[test]
fn workflow_follows_argos_schema_and_refers_to_what_there_is() {
    let file = go_module(MODULE).join("api/jsonschema/schema.json");
    let text = std::fs::read_to_string(file).expect("Argo's schema");
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let mut schema = json!({
        "definitions": whole["definitions"],
        "$ref": "#/definitions/io.argoproj.workflow.v1alpha1.Workflow",
    });
    closed(&mut schema);
    let workflow = workflow();
    assert_eq!(errors(&schema, &workflow), Vec::<String>::new());
    let mut broken = workflow.clone();
    broken["spec"]["templates"][0]["stepz"] = json!([]);
    assert!(
        !errors(&schema, &broken).is_empty(),
        "the schema notices mistakes"
    );
    assert_eq!(dangling(&workflow), Vec::<String>::new());
    broken = workflow;
    broken["spec"]["templates"][0]["steps"][0][0]["template"] = json!("nowhere");
    assert!(!dangling(&broken).is_empty());
}

/// References to what is not there, which Argo finds only when it comes to them.
fn dangling(workflow: &Value) -> Vec<String> {
    let spec = &workflow["spec"];
    let templates = names(&spec["templates"]);
    let parameters = names(&spec["arguments"]["parameters"]);
    let mut wrong = Vec::new();
    for template in spec["templates"].as_array().expect("templates") {
        let inputs = &template["inputs"];
        let mut known: BTreeSet<String> = ["item".to_owned()].into();
        let add = |known: &mut BTreeSet<String>, prefix: &str, names: BTreeSet<String>| {
            known.extend(names.iter().map(|name| format!("{prefix}.{name}")));
        };
        add(&mut known, "workflow.parameters", parameters.clone());
        add(
            &mut known,
            "inputs.parameters",
            names(&inputs["parameters"]),
        );
        add(&mut known, "inputs.artifacts", names(&inputs["artifacts"]));
        for step in template["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|group| group.as_array().expect("a group").iter())
        {
            let (name, called) = (step["name"].as_str(), step["template"].as_str());
            let (name, called) = (name.expect("a name"), called.expect("a template"));
            if !templates.contains(called) {
                wrong.push(format!("no template {called}"));
                continue;
            }
            let all = spec["templates"].as_array().expect("templates");
            let called = all
                .iter()
                .find(|it| it["name"] == called)
                .expect("it is there");
            for kind in ["parameters", "artifacts"] {
                let given = names(&step["arguments"][kind]);
                let taken = names(&called["inputs"][kind]);
                if given != taken {
                    wrong.push(format!(
                        "step {name} gives {given:?}, and {taken:?} are taken"
                    ));
                }
                let outputs = names(&called["outputs"][kind]);
                add(&mut known, &format!("steps.{name}.outputs.{kind}"), outputs);
            }
        }
        let used = references(template, "{{", "}}");
        wrong.extend(used.difference(&known).cloned());
    }
    wrong
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

#[test]
fn steps_stop_at_the_guard_and_are_tried_again_without_a_server() {
    let scene = Scene::new();
    let (script, mut variables) = step(&scene, "plan");
    variables.insert("GUARD".to_owned(), "pods.evicted>=0".to_owned());
    scene.run("sh", &script, &variables).ended(4);
    let config = scene
        .read("config")
        .replace(scene.world.plane.server(), "https://127.0.0.1:1");
    std::fs::write(scene.path("away"), config).expect("a kubeconfig");
    variables.insert(
        "KUBECONFIG".to_owned(),
        scene.path("away").display().to_string(),
    );
    scene.run("sh", &script, &variables).ended(75);
    let workflow = workflow();
    let templates = workflow["spec"]["templates"].as_array().expect("templates");
    let retried: Vec<_> = templates
        .iter()
        .filter_map(|it| it["retryStrategy"]["expression"].as_str())
        .collect();
    assert_eq!(retried, [r#"lastRetry.exitCode == "75""#; 3]);
}

#[test]
fn plan_is_approved_before_anything_is_drained() {
    let workflow = workflow();
    let templates = workflow["spec"]["templates"].as_array().expect("templates");
    let steps = templates[0]["steps"].as_array().expect("steps");
    let called: Vec<&str> = steps
        .iter()
        .filter_map(|group| group[0]["template"].as_str())
        .collect();
    assert_eq!(called, ["plan", "approval", "drain", "update", "restore"]);
    let approval = templates.iter().find(|it| it["name"] == "approval");
    assert!(approval.is_some_and(|it| it["suspend"].is_object()));
}
