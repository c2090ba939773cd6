//! `--version` and `version`: what the program says about itself, and what it was built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::harness::devicetaint;

#[test]
fn version_as_data_follows_its_schema() {
    let json = devicetaint("version --client -o json").json();
    let schema = fs::read_to_string("schemas/version-report.v1alpha1.schema.json").unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &json), "{json:#}");
    let client = &json["client"];
    assert_eq!(client["version"], env!("CARGO_PKG_VERSION"));
    let kinds = client["reports"].as_array().unwrap();
    assert_eq!(kinds.len(), fs::read_dir("schemas").unwrap().count());
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
