//! The job of GitHub, which comments on a change of rules.

use std::collections::BTreeMap;

use serde_json::Value;

use super::examples::example;
use super::scene::Scene;

use crate::cluster::rules::support::Run;

/// A repository in which a change adds a rule, and a program that notes how it was called.
struct Change {
    scene: Scene,
    variables: BTreeMap<String, String>,
}

impl Change {
    fn new() -> Self {
        let scene = Scene::new();
        let change = Self {
            variables: BTreeMap::new(),
            scene,
        };
        change.git(&["init", "-q", "-b", "main"]);
        change.commit("README", "rules");
        change.git(&["checkout", "-q", "-b", "change"]);
        std::fs::create_dir(change.scene.path("rules")).expect("a folder");
        change.commit("rules/maintenance.yaml", &change.scene.manifest());
        let bin = change.scene.path("bin");
        std::fs::create_dir(&bin).expect("a folder");
        let calls = change.scene.path("calls");
        let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\n", calls.display());
        std::fs::write(bin.join("gh"), text).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("gh"), mode).expect("it can be run");
        change
    }

    fn with(mut self, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.variables.extend(variables);
        self
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = self.scene.command("git", &[]);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "x")
                .env(format!("GIT_{who}_EMAIL"), "x@example.com");
        }
        Run::from(git.args(arguments).output().expect("git")).ended(0);
    }

    fn commit(&self, file: &str, text: &str) {
        std::fs::write(self.scene.path(file), text).expect("a file");
        self.git(&["add", file]);
        self.git(&["commit", "-q", "-m", file]);
    }

    fn run(&self, script: &str) -> Run {
        let bin = self.scene.path("bin");
        self.scene
            .run_with("bash", script, &self.variables, &[&bin])
    }
}

/// The steps' scripts in the order in which they run.
fn steps() -> [String; 2] {
    let workflow = &example("github-actions.yml")[0];
    let steps = workflow["jobs"]["preview"]["steps"]
        .as_array()
        .expect("steps");
    let scripts: Vec<String> = steps
        .iter()
        .filter_map(|step| Some(step["run"].as_str()?.replace("in 10 20 40 0", "in 0 0")))
        .collect();
    scripts.try_into().expect("two scripts")
}

fn proposed_change(guard: &str) -> Change {
    let change = Change::new();
    let (config, folder) = (change.scene.read("config"), change.scene.path("."));
    let output = change.scene.path("output");
    change.with(&[
        ("BASE", "main"),
        ("CONTEXTS", "prod-eu prod-us"),
        ("GUARD", guard),
        ("PULL_REQUEST", "7"),
        ("KUBECONFIG_TEXT", &config),
        ("RUNNER_TEMP", &folder.display().to_string()),
        ("GITHUB_OUTPUT", &output.display().to_string()),
    ])
}

#[test]
fn job_comments_which_pods_a_change_evicts_in_every_cluster() {
    let [preview, comment] = steps();
    for (guard, code, verdict) in [
        ("pods.evicted>20", 0, "The impact is within the limits."),
        ("pods.evicted>0", 4, "A guard tripped"),
    ] {
        let change = proposed_change(guard);
        change.run(&preview).ended(0);
        assert_eq!(change.scene.read("output"), format!("status={code}\n"));
        let status = code.to_string();
        let change = change.with(&[("STATUS", &status)]);
        change.run(&comment).ended(code);
        let told = change.scene.read("comment.md");
        assert!(told.contains(verdict), "{told}");
        for word in ["prod-eu", "prod-us", "train"] {
            assert!(told.contains(word), "{word}: {told}");
        }
        let calls = change.scene.read("calls");
        assert!(calls.starts_with("pr\ncomment\n7\n"), "{calls}");
        assert!(change.scene.effects().is_empty(), "nothing is changed");
    }
}

/// A guard that trips in one cluster is worse than another cluster that cannot be reached.
#[test]
fn job_keeps_the_worst_code_of_the_clusters() {
    let [preview, _] = steps();
    for (guard, code) in [("pods.evicted>0", 4), ("pods.evicted>20", 75)] {
        let change = proposed_change(guard);
        let mut config: Value =
            serde_yaml::from_str(&change.scene.read("config")).expect("a kubeconfig");
        let mut away = config["clusters"][0].clone();
        away["name"] = "away".into();
        away["cluster"]["server"] = "https://127.0.0.1:1".into();
        config["clusters"]
            .as_array_mut()
            .expect("clusters")
            .push(away);
        let contexts = config["contexts"].as_array_mut().expect("contexts");
        let second = contexts.iter_mut().find(|it| it["name"] == "prod-us");
        second.expect("a context")["context"]["cluster"] = "away".into();
        let change = change.with(&[("KUBECONFIG_TEXT", &config.to_string())]);
        change.run(&preview).ended(0);
        assert_eq!(change.scene.read("output"), format!("status={code}\n"));
        let report = change.scene.read("report.md");
        assert!(report.contains("## prod-us (exit code 75)"), "{report}");
    }
}
