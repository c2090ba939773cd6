//! The Tekton tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::scene::Scene;
use super::schema::{closed, errors, example, names, references};
use super::tools::go_module;

const MODULE: &str = "github.com/tektoncd/pipeline@v1.0.0";

/// The schema by which an API server takes or refuses a Task.
fn schema() -> Value {
    let file = go_module(MODULE).join("config/300-crds/300-task.yaml");
    let text = std::fs::read_to_string(file).expect("Tekton's CustomResourceDefinition");
    let definition: Value = serde_yaml::from_str(&text).expect("YAML");
    let versions = definition["spec"]["versions"].as_array().expect("versions");
    let version = versions.iter().find(|it| it["name"] == "v1").expect("v1");
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    assert!(
        schema["properties"]["spec"]["properties"]["steps"].is_object(),
        "it is a whole schema"
    );
    closed(&mut schema);
    // What every object has, the API server knows by itself.
    schema["properties"]["metadata"] = json!({"type": "object"});
    schema
}

#[test]
fn they_follow_tektons_schema_and_refer_to_what_there_is() {
    let schema = schema();
    for task in example("tekton-tasks.yaml") {
        assert_eq!(errors(&schema, &task), Vec::<String>::new());
        let mut broken = task.clone();
        broken["spec"]["steps"][0]["scripts"] = json!("true");
        assert!(
            !errors(&schema, &broken).is_empty(),
            "the schema notices mistakes"
        );
        let spec = &task["spec"];
        let mut known = BTreeSet::new();
        for (list, end) in [
            ("params", ""),
            ("workspaces", ".path"),
            ("results", ".path"),
        ] {
            let names = names(&spec[list]).into_iter();
            known.extend(names.map(|name| format!("{list}.{name}{end}")));
        }
        let used = references(&spec["steps"], "$(", ")");
        let used = used.into_iter().filter(|it| {
            ["params.", "workspaces.", "results."]
                .iter()
                .any(|begin| it.starts_with(begin))
        });
        let used: BTreeSet<String> = used.collect();
        assert!(!used.is_empty());
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

/// The step of a task and its variables, as Tekton would fill them in.
fn step(scene: &Scene, task: usize, params: &[(&str, &str)]) -> (String, BTreeMap<String, String>) {
    let task = &example("tekton-tasks.yaml")[task];
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for param in task["spec"]["params"].as_array().expect("params") {
        if let (Some(name), Some(value)) = (param["name"].as_str(), param["default"].as_str()) {
            values.insert(format!("params.{name}"), value.to_owned());
        }
    }
    for (name, value) in params {
        values.insert(format!("params.{name}"), (*value).to_owned());
    }
    let place = |name: &str| scene.path(name).display().to_string();
    values.insert("params.device".to_owned(), scene.device());
    values.insert("params.taint".to_owned(), scene.taint());
    values.insert("workspaces.work.path".to_owned(), place("."));
    values.insert("workspaces.kubeconfig.path".to_owned(), place("."));
    for result in ["digest", "changed"] {
        values.insert(format!("results.{result}.path"), place(result));
    }
    let step = &task["spec"]["steps"][0];
    let variables = step["env"].as_array().expect("variables").iter();
    let variables = variables.map(|variable| {
        let (name, value) = (variable["name"].as_str(), variable["value"].as_str());
        let value = values
            .iter()
            .fold(value.expect("a value").to_owned(), |text, (name, value)| {
                text.replace(&format!("$({name})"), value)
            });
        (name.expect("a name").to_owned(), value)
    });
    let script = step["script"].as_str().expect("a script");
    // Nobody waits here.
    (
        script.replace("in 10 20 40 80", "in 0"),
        variables.collect(),
    )
}

#[test]
fn their_steps_evict_those_who_were_approved_and_say_what_was_changed() {
    let scene = Scene::new();
    let context = ("context", "prod-us");
    let (script, variables) = step(&scene, 0, &[context]);
    scene.run("sh", &script, &variables).ended(0);
    let digest = scene.read("digest");
    assert!(
        digest.starts_with("sha256:") && !digest.ends_with('\n'),
        "{digest}"
    );
    assert!(
        scene.read("report.md").contains("| train"),
        "a table in Markdown"
    );

    let params = [context, ("digest", &digest), ("timeout", "60s")];
    let (script, variables) = step(&scene, 1, &params);
    scene
        .while_evicted(|| scene.run("sh", &script, &variables))
        .ended(0);
    assert_eq!(scene.read("changed"), "true");
    assert_eq!(scene.effects(), ["NoExecute"]);
    scene.run("sh", &script, &variables).ended(0);
    assert_eq!(scene.read("changed"), "false");

    let other = [context, ("digest", "sha256:0")];
    let (script, variables) = step(&scene, 1, &other);
    scene.run("sh", &script, &variables).ended(1);
}

#[test]
fn their_steps_try_again_as_long_as_that_helps() {
    let scene = Scene::new();
    let (script, variables) = step(&scene, 0, &[("context", "prod-us")]);
    let bin = scene.path("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let count = scene.path("count");
    let fake = |code: i32| {
        let text = format!("#!/bin/sh\necho x >> {}\nexit {code}\n", count.display());
        let program = bin.join("kubectl-devicetaint");
        std::fs::write(&program, text).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(program, mode).expect("it can be run");
        let _ = std::fs::remove_file(&count);
        let run = scene.run_with("sh", &script, &variables, &[&bin]);
        (run.code, scene.read("count").lines().count())
    };
    assert_eq!(fake(75), (75, 2));
    assert_eq!(fake(4), (4, 1));
    assert_eq!(fake(6), (6, 1));
}
