//! Are the workflows such as their host takes?

use std::fs;
use std::process::Command;

use super::support::{root, succeeded, tools};

/// Checks workflows as their host does.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

#[test]
fn workflows_are_valid() {
    let program = tools().join("bin/actionlint");
    if !program.is_file() {
        let mut go = Command::new("go");
        go.args(["install", ACTIONLINT])
            .env("GOBIN", tools().join("bin"))
            .env("GOFLAGS", "-mod=mod");
        succeeded(
            &go.output()
                .expect("these tests need Go 1.26 or newer (https://go.dev/dl)"),
        );
    }
    // The form of its scripts depends on installed programs.
    let mut actionlint = Command::new(program);
    actionlint
        .args(["-no-color", "-shellcheck=", "-pyflakes="])
        .arg("examples/engines/github-actions.yml")
        .current_dir(root());
    for file in fs::read_dir(root().join(".github/workflows")).unwrap() {
        actionlint.arg(file.unwrap().path());
    }
    succeeded(&actionlint.output().unwrap());
}
