//! Files in the repository that are made from the code, compared with what the code makes now.
//!
//! `UPDATE_GENERATED=1 cargo test --test generated` writes them anew.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

mod man;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubectl_devicetaint::report::schema;

/// A place in the repository.
fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Panics when `path` holds other files than `generated`, all of which are made.
fn assert_only(path: &str, generated: &[String]) {
    let mut found: Vec<String> = fs::read_dir(folder(path))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, generated, "{path} has a file too many");
}

fn assert_current(path: &str, generated: &str) {
    let file = folder(path);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&file, generated).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == generated,
        "{path} is out of date; write it anew: UPDATE_GENERATED=1 cargo test --test generated"
    );
}

#[test]
fn schemas_are_those_of_the_report_types() {
    for (name, schema) in schema::files() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        assert_current(&format!("schemas/{name}"), &text);
    }
}

/// Scripts by the shell that they are for; the last is what kubectl calls.
const SCRIPTS: [(&str, &str); 4] = [
    ("bash", "kubectl-devicetaint.bash"),
    ("fish", "kubectl-devicetaint.fish"),
    ("powershell", "kubectl-devicetaint.ps1"),
    ("zsh", "_kubectl-devicetaint"),
];

#[test]
fn completions_are_those_that_the_program_prints() {
    for (shell, name) in SCRIPTS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-devicetaint"));
        let output = command.args(["completion", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.is_empty(), "{shell}");
        assert_current(&format!("completions/{name}"), &text);
    }
    let mut names: Vec<String> = SCRIPTS.map(|(_, name)| name.to_owned()).to_vec();
    names.push("kubectl_complete-devicetaint".to_owned());
    names.sort();
    assert_only("completions", &names);
}

#[test]
fn man_pages_are_those_of_the_command_line() {
    let pages = man::pages();
    for (name, text) in &pages {
        assert_current(&format!("man/{name}"), text);
    }
    let mut names: Vec<String> = pages.into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_only("man", &names);
}
