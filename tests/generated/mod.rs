//! Files in the repository that are made from the code, compared with its present output.
//!
//! `UPDATE_GENERATED=1 cargo test --test all generated` writes them again.

mod badges;
mod man;
mod manual;
mod recording;
mod regions;
mod versions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use kubectl_devicetaint::assess::{Hazard, Signal};
use kubectl_devicetaint::cluster::{Purpose, Role};
use kubectl_devicetaint::error::ExitStatus;
use kubectl_devicetaint::report::schema;
use kubectl_devicetaint::report::taint::pascal_case;
use regions::filled;

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
        "{path} is out of date; write it anew: UPDATE_GENERATED=1 cargo test --test all generated"
    );
}

#[test]
fn schemas_are_those_of_the_report_types() {
    let mut names = Vec::new();
    for (name, schema) in schema::files() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        assert_current(&format!("schemas/{name}"), &text);
        names.push(name.to_owned());
    }
    names.sort();
    assert_only("schemas", &names);
}

/// Text above a role.
const ROLE: &str = "\
# What NAME needs, generated from the table of the program's requests: see docs/src/permissions.md.
# kubectl create clusterrolebinding NAME --clusterrole=kubectl-devicetaint-NAME --group=GROUP
";

/// `react` in a cluster, above its role.
const REACT: &str = include_str!("react.yaml");

#[test]
fn roles_are_the_union_of_what_the_commands_ask_for() {
    let others = ["kustomization.yaml", "policy.yaml", "react.yaml"];
    let mut names = others.map(str::to_owned).to_vec();
    let react = REACT.to_owned() + &Purpose::React.cluster_role();
    assert_current("manifests/react.yaml", &react);
    for role in Role::ALL {
        let text = ROLE.replace("NAME", role.name()) + &role.cluster_role();
        let name = format!("{}.yaml", role.name());
        assert_current(&format!("manifests/{name}"), &text);
        names.push(name);
    }
    names.sort();
    assert_only("manifests", &names);
}

/// Scripts by their shell; the last is the one that kubectl calls.
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

#[test]
fn pages_of_commands_are_those_of_the_command_line() {
    let pages = manual::pages();
    for (name, text) in &pages {
        assert_current(&format!("docs/src/commands/{name}"), text);
    }
    let mut names: Vec<String> = pages.into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_only("docs/src/commands", &names);
}

/// Makes the region of that name in a page of the book.
fn assert_region(page: &str, name: &str, content: &str) {
    let path = format!("docs/src/{page}");
    let text = fs::read_to_string(folder(&path)).unwrap();
    assert_current(&path, &filled(&text, name, content));
}

/// A table of codes with their meanings.
fn table<const N: usize>(head: &str, rows: [(String, &str); N]) -> String {
    let rows = rows.map(|(code, meaning)| format!("| `{code}` | {} |\n", manual::text(meaning)));
    format!("| {head} | meaning |\n|---|---|\n{}", rows.concat())
}

/// The hazards with their names in text and in JSON.
fn hazards() -> String {
    let rows = Hazard::ALL.map(|hazard| {
        let (code, meaning) = (hazard.code(), manual::text(hazard.meaning()));
        let (name, severity) = (pascal_case(code), hazard.severity().as_str());
        format!("| `{code}` | `{name}` | {severity} | {meaning} |\n")
    });
    format!(
        "| hazard | in JSON and YAML | severity | meaning |\n|---|---|---|---|\n{}",
        rows.concat()
    )
}

#[test]
fn tables_of_the_book_are_those_of_the_program() {
    assert_region("SUMMARY.md", "commands", &manual::contents());
    assert_region("commands.md", "commands", &manual::table());
    let codes = ExitStatus::ALL.map(|status| (status.code().to_string(), status.meaning()));
    assert_region("exit-codes.md", "exit-codes", &table("code", codes));
    assert_region("hazards.md", "hazards", &hazards());
    let signals = Signal::ALL.map(|signal| (signal.name().to_owned(), signal.meaning()));
    assert_region("guards.md", "signals", &table("signal", signals));
    assert_region("versions.md", "behavior", &versions::table());
}

#[test]
fn the_recording_shows_what_the_program_prints() {
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-devicetaint"));
    assert_current("docs/src/recording.svg", &recording::made(program));
}

#[test]
fn badges_are_true() {
    let badges = badges::made();
    for (name, picture) in &badges {
        assert_current(&format!("docs/src/badges/{name}"), picture);
    }
    let names: Vec<String> = badges.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_only("docs/src/badges", &names);
}
