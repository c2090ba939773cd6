//! Dependencies allowed in the program on the released platforms.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::source::root;

const PLATFORMS: [&str; 6] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
];

/// Licences that ask for no more than to be named.
const LICENCES: [&str; 8] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that nothing may bring in, also not for tests, and why.
const BANNED: [(&str, &str); 2] = [
    ("openssl-sys", "rustls with ring needs no C library"),
    ("unsafe-libyaml", "unmaintained (RUSTSEC-2024-0449)"),
];

/// Packages of this repository.
const OWN: [&str; 2] = ["device-taint-engine", "kubectl-devicetaint"];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates of which the program has two versions, until those who ask for the older have moved.
const TWICE: [&str; 4] = ["base64", "getrandom", "syn", "windows-sys"];

/// A package, as Cargo knows it.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: String,
    source: Option<String>,
    /// True if it becomes part of the program, or builds it; others are for tests.
    is_part: bool,
}

static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| packages(&metadata()));

fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    for platform in PLATFORMS {
        cargo.args(["--filter-platform", platform]);
    }
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn packages(metadata: &Value) -> Vec<Package> {
    let parts = parts(&metadata["resolve"]);
    let listed = metadata["packages"].as_array().expect("a list").iter();
    let packages = listed.map(|package| Package {
        name: text(&package["name"]),
        version: text(&package["version"]),
        licence: text(&package["license"]),
        source: package["source"].as_str().map(str::to_owned),
        is_part: parts.contains(text(&package["id"]).as_str()),
    });
    packages.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// All dependencies of the program, direct or not.
fn parts(resolve: &Value) -> BTreeSet<&str> {
    let nodes = resolve["nodes"].as_array().expect("a list").iter();
    let nodes: BTreeMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let mut open = vec![resolve["root"].as_str().expect("the program")];
    let mut found: BTreeSet<&str> = open.iter().copied().collect();
    while let Some(package) = open.pop() {
        let needed = nodes[package]["deps"].as_array().expect("a list").iter();
        for dependency in needed.filter(|dependency| is_for_the_program(dependency)) {
            let package = dependency["pkg"].as_str().expect("a package");
            if found.insert(package) {
                open.push(package);
            }
        }
    }
    found
}

fn is_for_the_program(dependency: &Value) -> bool {
    let mut kinds = dependency["dep_kinds"].as_array().expect("a list").iter();
    kinds.any(|kind| kind["kind"] != "dev")
}

/// True if these licences give the right to it: an expression of SPDX, with `/` for `OR` as in older
/// manifests. `AND` is taken to bind last, which refuses rather too much.
fn is_licensed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let mut names = part
            .split(" OR ")
            .map(|name| name.trim_matches(['(', ')', ' ']));
        names.any(|name| LICENCES.contains(&name))
    })
}

#[test]
fn every_part_of_the_program_has_a_licence_that_asks_for_no_more_than_its_name() {
    let parts: Vec<&Package> = PACKAGES.iter().filter(|package| package.is_part).collect();
    assert!(parts.len() > 100, "{}", parts.len());
    let others: Vec<_> = parts
        .iter()
        .filter(|part| !is_licensed(&part.licence))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn nothing_comes_from_elsewhere_than_the_registry() {
    let others = PACKAGES.iter().filter(|package| {
        let source = package.source.as_deref();
        source != Some(REGISTRY) && !OWN.contains(&package.name.as_str())
    });
    let others: Vec<&Package> = others.collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn nothing_that_is_banned_comes_in_not_even_for_tests() {
    for (name, why) in BANNED {
        let found = PACKAGES.iter().any(|package| package.name == name);
        assert!(!found, "{name}: {why}");
    }
}

#[test]
fn no_crate_is_in_the_program_twice_that_is_not_known_to_be() {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in PACKAGES.iter().filter(|package| package.is_part) {
        let known = versions.entry(&package.name).or_default();
        known.insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let twice: Vec<&str> = versions.keys().copied().collect();
    assert_eq!(twice, TWICE, "{versions:#?}");
}

#[test]
fn a_dependency_names_the_version_that_it_needs() {
    let manifest = include_str!("../../Cargo.toml");
    let wildcard = ["\"*\"", "git = \"", "path = \"../"];
    let lines = manifest
        .lines()
        .filter(|line| !line.starts_with("[profile"))
        .filter(|line| wildcard.iter().any(|found| line.contains(found)));
    let lines: Vec<&str> = lines.collect();
    assert!(lines.is_empty(), "{lines:#?}");
}
