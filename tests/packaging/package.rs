//! The package for `cargo install`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::support::{files, root, target};

/// Size limit of the package that all users get who install from source.
const LARGEST: u64 = 2_000_000;

fn cargo_package(arguments: &[&str]) -> (String, String) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "package",
            "--locked",
            "--offline",
            "--no-verify",
            "--allow-dirty",
        ])
        .args(arguments)
        .arg("--target-dir")
        .arg(target().join("packaging/crate"))
        .current_dir(root());
    let output = cargo.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{stderr}");
    (stdout, stderr)
}

/// Names in the package.
fn packaged() -> BTreeSet<String> {
    cargo_package(&["--list"])
        .0
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn it_is_packaged_without_a_warning_and_small() {
    let (_, said) = cargo_package(&[]);
    // Tests and benchmarks stay at home on purpose.
    let warnings = said.lines().filter(|line| line.starts_with("warning: "));
    let warnings: Vec<&str> = warnings.filter(|line| !is_left_out(line)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    let packages = fs::read_dir(target().join("packaging/crate/package")).unwrap();
    let mut packages = packages.map(|entry| entry.unwrap().path());
    let package = packages
        .find(|path| path.extension().is_some_and(|name| name == "crate"))
        .unwrap();
    let size = fs::metadata(&package).unwrap().len();
    assert!(size <= LARGEST, "{size} bytes are more than {LARGEST}");
}

fn is_left_out(warning: &str) -> bool {
    let kinds = ["test", "benchmark"];
    kinds
        .iter()
        .any(|kind| warning.starts_with(&format!("warning: ignoring {kind} ")))
        && warning.contains("not included in the published package")
}

#[test]
fn what_the_program_is_built_from_is_in_the_package() {
    let packaged = packaged();
    for name in [
        "build.rs",
        "Cargo.lock",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "man/kubectl-devicetaint.1",
    ] {
        assert!(packaged.contains(name), "{name}");
    }
    let sources = files().into_iter().filter(|name| name.starts_with("src/"));
    for source in sources {
        // Files that only tests compile stay at home, as the tests themselves do.
        let is_of_tests = ["/tests/", "/tests.rs", "/live_tests/"];
        if is_of_tests.iter().any(|part| source.contains(part)) {
            continue;
        }
        assert!(packaged.contains(&source), "{source}");
        if source.contains("test") {
            continue;
        }
        let text = fs::read_to_string(root().join(&source)).unwrap_or_default();
        for included in included(&text) {
            let path = resolved(Path::new(&source).parent().unwrap(), &included);
            assert!(packaged.contains(&path), "{source} includes {path}");
        }
    }
}

/// Files that a source includes.
fn included(source: &str) -> Vec<String> {
    let parts = ["include_str!(\"", "include_bytes!(\""].map(|start| source.split(start).skip(1));
    let names = parts
        .into_iter()
        .flatten()
        .filter_map(|rest| rest.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn resolved(folder: &Path, name: &str) -> String {
    let mut path = folder.to_owned();
    for part in name.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}

#[test]
fn nothing_else_is_in_the_package() {
    let wanted = ["src/", "completions/", "man/", "schemas/", "examples/"];
    let files = [
        "build.rs",
        "Cargo.toml",
        "Cargo.toml.orig",
        "Cargo.lock",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        ".cargo_vcs_info.json",
    ];
    let others: Vec<String> = packaged()
        .into_iter()
        .filter(|name| !wanted.iter().any(|folder| name.starts_with(folder)))
        .filter(|name| !files.contains(&name.as_str()))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}
