//! `--version` and `version`: what the program says about itself, and what it was built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use super::harness::devicetaint;

/// The platform differs from machine to machine.
fn anywhere(text: &str) -> String {
    let (before, rest) = text.split_once("unknown, ").expect("a platform");
    let (_, after) = rest.split_once(')').expect("a platform");
    format!("{before}unknown, PLATFORM){after}")
}

#[test]
fn version_is_one_line() {
    let run = devicetaint("--version");
    assert_snapshot!(anywhere(&run.shown()), @r"
    kubectl-devicetaint 0.1.0 (commit unknown, PLATFORM)
    [exit status: 0]
    ");
}

#[test]
fn version_of_the_client_asks_no_cluster() {
    let run = devicetaint("version --client --server https://127.0.0.1:1");
    assert_snapshot!(anywhere(&run.shown()), @r"
    kubectl-devicetaint 0.1.0 (commit unknown, PLATFORM)
    Supports Kubernetes 1.34 to 1.37; apiVersion of reports: devicetaint.dev/v1alpha1

    RELEASES                                      UPSTREAM            KNOWN DEFECT
    1.36.0 to 1.36.2                              kubernetes#139651   kube-scheduler can ignore rules, and any rule can make it panic
    1.34.0 to 1.37.1 (fix in 1.37.2 not tested)   kubernetes#141290   pods that use devices through extended resources are not evicted
    1.33 to 1.35                                  kubernetes#135686   if a claim's reservedFor has an outdated entry, a new rule does not evict the pods listed after this entry until those Pod objects change
    [exit status: 0]
    ");
}

#[test]
fn version_without_a_cluster_says_what_is_known_and_what_is_missing() {
    let run = devicetaint("version");
    assert_snapshot!(anywhere(&run.shown()), @r"
    kubectl-devicetaint 0.1.0 (commit unknown, PLATFORM)
    Supports Kubernetes 1.34 to 1.37; apiVersion of reports: devicetaint.dev/v1alpha1

    RELEASES                                      UPSTREAM            KNOWN DEFECT
    1.36.0 to 1.36.2                              kubernetes#139651   kube-scheduler can ignore rules, and any rule can make it panic
    1.34.0 to 1.37.1 (fix in 1.37.2 not tested)   kubernetes#141290   pods that use devices through extended resources are not evicted
    1.33 to 1.35                                  kubernetes#135686   if a claim's reservedFor has an outdated entry, a new rule does not evict the pods listed after this entry until those Pod objects change
    [stderr]
    error: no cluster is configured: no kubeconfig found
    hint: set a kubeconfig with --kubeconfig or KUBECONFIG
    hint: for only the version of the plugin: kubectl devicetaint version --client
    [exit status: 1]
    ");
}

#[test]
fn version_as_data_follows_its_schema_and_knows_every_release() {
    let json = devicetaint("version --client -o json").json();
    let schema = fs::read_to_string("schemas/version-report.v1alpha1.schema.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &json), "{json:#}");
    let client = &json["client"];
    assert_eq!(client["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(client["releases"].as_array().map(Vec::len), Some(6));
    let kinds = client["reports"].as_array().unwrap();
    // One is of what is read: policies.
    assert_eq!(kinds.len() + 1, fs::read_dir("schemas").unwrap().count());
    assert_eq!(json["apiServer"], Value::Null);
    let yaml = devicetaint("version --client -o yaml").stdout;
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).unwrap(), json);
}

/// The build script, built once, in a folder with room for what it looks at.
struct Script {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Script {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("build-script");
        let built = Command::new("rustc")
            .args(["--edition", "2024", "build.rs", "-o"])
            .arg(&program)
            .status();
        assert!(built.is_ok_and(|status| status.success()), "rustc");
        Self { folder, program }
    }

    /// What it notes in `package` when it is run for a profile with this folder.
    fn notes(&self, package: &Path, profile: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let output = Command::new(&self.program)
            .current_dir(package)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("TARGET", "some-platform")
            .env("OUT_DIR", format!("/target/{profile}/build/x/out"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let notes = text
            .lines()
            .filter_map(|line| line.strip_prefix("cargo::rustc-env="));
        notes.map(str::to_owned).collect()
    }

    fn git(&self, checkout: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(checkout)
            .env("HOME", self.folder.path())
            .env("GIT_COMMITTER_DATE", "2026-11-20T10:15:00Z")
            .env("GIT_AUTHOR_DATE", "2026-11-20T10:15:00Z")
            .output()
            .unwrap()
            .status;
        assert!(status.success(), "{arguments:?}");
    }
}

#[test]
fn builds_note_the_commit_and_its_time_and_nothing_of_the_machine() {
    let script = Script::new();
    let checkout = script.folder.path().join("checkout");
    fs::create_dir_all(checkout.join("src")).unwrap();
    fs::write(checkout.join("src/main.rs"), "fn main() {}").unwrap();
    script.git(&checkout, &["init", "-q"]);
    script.git(&checkout, &["add", "-A"]);
    script.git(&checkout, &["commit", "-q", "-m", "a"]);

    let noted = script.notes(&checkout, "release", &[]);
    let head = fs::read_dir(checkout.join(".git/refs/heads"))
        .unwrap()
        .next();
    let head = fs::read_to_string(head.unwrap().unwrap().path()).unwrap();
    let expected = [
        "DEVICETAINT_TARGET=some-platform".to_owned(),
        format!("DEVICETAINT_BUILT_FROM={}", head.trim()),
        "DEVICETAINT_CHANGED=false".to_owned(),
        "DEVICETAINT_TIME=1795169700".to_owned(),
    ];
    assert_eq!(noted, expected);
    assert_eq!(script.notes(&checkout, "release", &[]), noted, "twice");
    let epoch = script.notes(&checkout, "quick", &[("SOURCE_DATE_EPOCH", "1")]);
    assert_eq!(
        epoch[1..],
        [&expected[1], &expected[2], "DEVICETAINT_TIME=1"]
    );
    // A build for development is not another one with every commit.
    assert_eq!(script.notes(&checkout, "debug", &[]), expected[..1]);

    fs::write(checkout.join("src/main.rs"), "fn main() { }").unwrap();
    let changed = script.notes(&checkout, "release", &[]);
    assert_eq!(changed[2], "DEVICETAINT_CHANGED=true");
}

#[test]
fn packages_and_packers_say_which_commit_they_are_of() {
    let script = Script::new();
    let package = script.folder.path().join("package");
    fs::create_dir_all(&package).unwrap();
    assert_eq!(
        script.notes(&package, "release", &[]).len(),
        1,
        "nothing is known"
    );
    fs::write(
        package.join(".cargo_vcs_info.json"),
        "{\n  \"git\": {\n    \"sha1\": \"0123abcd\"\n  },\n  \"path_in_vcs\": \"\"\n}",
    )
    .unwrap();
    let noted = script.notes(&package, "release", &[]);
    assert_eq!(noted[1], "DEVICETAINT_BUILT_FROM=0123abcd");
    let given = script.notes(&package, "release", &[("DEVICETAINT_COMMIT", "4567")]);
    assert_eq!(given[1], "DEVICETAINT_BUILT_FROM=4567");
}
