//! The jobs of GitHub and GitLab, which comment on a change of rules.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::scene::Scene;
use super::schema::example;
use super::tools::python_program;
use crate::cluster::rules::support::Run;

#[test]
fn they_follow_the_schemas_of_their_engines() {
    for (schema, file) in [
        ("vendor.github-workflows", "github-actions.yml"),
        ("vendor.gitlab-ci", "gitlab-ci.yml"),
    ] {
        let mut command = Command::new(python_program("check-jsonschema"));
        command.args(["--builtin-schema", schema]);
        if schema == "vendor.gitlab-ci" {
            command.args(["--data-transform", "gitlab-ci"]);
        }
        let file = format!("{}/examples/engines/{file}", env!("CARGO_MANIFEST_DIR"));
        let output = command.arg(&file).output().expect("check-jsonschema");
        Run::from(output).ended(0);
    }
}

/// A repository in which a change adds a rule, and a program that notes how it was called.
struct Change {
    scene: Scene,
    variables: BTreeMap<String, String>,
}

impl Change {
    /// `poster` is the program that posts comments.
    fn new(poster: &str) -> Self {
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
        std::fs::write(bin.join(poster), text).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(poster), mode).expect("it can be run");
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
fn github() -> [String; 2] {
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

fn of_github(guard: &str) -> Change {
    let change = Change::new("gh");
    let (config, folder) = (change.scene.read("config"), change.scene.path("."));
    let output = change.scene.path("output");
    change.with(&[
        ("BASE", "main"),
        ("CONTEXTS", "^prod-"),
        ("GUARD", guard),
        ("PULL_REQUEST", "7"),
        ("KUBECONFIG_TEXT", &config),
        ("RUNNER_TEMP", &folder.display().to_string()),
        ("GITHUB_OUTPUT", &output.display().to_string()),
    ])
}

#[test]
fn githubs_job_comments_whom_a_change_hits_in_every_cluster() {
    let [preview, comment] = github();
    for (guard, code, verdict) in [
        ("pods.evicted>20", 0, "Nothing speaks against it."),
        ("pods.evicted>1", 4, "A guard tripped"),
    ] {
        let change = of_github(guard);
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

#[test]
fn githubs_job_sees_rules_that_were_renamed_and_nothing_that_is_none() {
    let [preview, _] = github();
    let change = of_github("pods.evicted>20");
    change.git(&["checkout", "-q", "-b", "renamed"]);
    change.git(&["mv", "rules/maintenance.yaml", "rules/f\u{fc}r später.yaml"]);
    change.commit("rules/README.md", "what these rules are for");
    let change = change.with(&[("BASE", "change")]);
    change.run(&preview).ended(0);
    assert_eq!(change.scene.read("output"), "status=0\n");
    let report = change.scene.read("report.md");
    assert!(report.contains("train"), "{report}");
    // What cannot be compared is no reason to say nothing.
    let change = change.with(&[("BASE", "no-such-branch")]);
    assert_ne!(change.run(&preview).code, 0);
}

#[test]
fn githubs_job_says_nothing_of_a_change_without_rules_and_tries_again_without_a_server() {
    let [preview, comment] = github();
    let change = of_github("pods.evicted>20");
    change.git(&["checkout", "-q", "main"]);
    change.run(&preview).ended(0);
    assert!(!change.scene.path("output").exists());

    let change = of_github("pods.evicted>20");
    let server = change.scene.world.plane.server();
    let away = change
        .scene
        .read("config")
        .replace(server, "https://127.0.0.1:1");
    let change = change.with(&[("KUBECONFIG_TEXT", &away), ("STATUS", "75")]);
    change.run(&preview).ended(0);
    assert_eq!(change.scene.read("output"), "status=75\n");
    change.run(&comment).ended(75);
    assert!(
        change
            .scene
            .read("comment.md")
            .contains("There is no preview")
    );
}

fn gitlab() -> String {
    let job: &Value = &example("gitlab-ci.yml")[0]["devicetaint"];
    assert_eq!(job["retry"]["exit_codes"][0], 75);
    job["script"][0].as_str().expect("a script").to_owned()
}

#[test]
fn gitlabs_job_comments_whom_a_change_hits_in_every_cluster() {
    for (guard, server, code) in [
        ("pods.evicted>20", None, 0),
        ("pods.evicted>1", None, 4),
        ("pods.evicted>20", Some("https://127.0.0.1:1"), 75),
    ] {
        let change = Change::new("curl");
        let mut config = change.scene.read("config");
        if let Some(server) = server {
            config = config.replace(change.scene.world.plane.server(), server);
        }
        let file = change.scene.path("kubeconfig");
        std::fs::write(&file, config).expect("a kubeconfig");
        let change = change.with(&[
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "main"),
            ("CONTEXTS", "^prod-"),
            ("GUARD", guard),
            ("DEVICETAINT_KUBECONFIG", &file.display().to_string()),
            ("DEVICETAINT_TOKEN", "secret"),
            ("CI_API_V4_URL", "https://gitlab.example.com/api/v4"),
            ("CI_PROJECT_ID", "3"),
            ("CI_MERGE_REQUEST_IID", "5"),
        ]);
        change.run(&gitlab()).ended(code);
        if code == 75 {
            assert!(
                !change.scene.path("calls").exists(),
                "nothing to comment yet"
            );
            continue;
        }
        let told = change.scene.read("comment.md");
        for word in ["prod-eu", "prod-us", "train"] {
            assert!(told.contains(word), "{word}: {told}");
        }
        let calls = change.scene.read("calls");
        let address = "https://gitlab.example.com/api/v4/projects/3/merge_requests/5/notes";
        assert!(calls.contains(address), "{calls}");
    }
}
