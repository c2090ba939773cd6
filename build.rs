//! Which commit is this built from, when is that of, and for what?
//!
//! The commit is, first of these that is known: `DEVICETAINT_COMMIT`, what cargo noted in the package
//! (`.cargo_vcs_info.json`), and the checkout's. Its time is `SOURCE_DATE_EPOCH`, else the commit's. No
//! clock is read and no path is noted, so that two builds of one source are the same.
//!
//! Builds for development note no commit: each one would build everything anew.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "cargo talks to build scripts through environment and standard output"
)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A commit as it is noted.
struct Commit {
    id: String,
    /// Whether what is built differs from it.
    changed: bool,
    /// Seconds since 1970, if they are known.
    time: Option<String>,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEVICETAINT_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    note(
        "DEVICETAINT_TARGET",
        &variable("TARGET").unwrap_or_default(),
    );
    let commit = if is_for_development() {
        given()
    } else {
        given().or_else(packaged).or_else(checked_out)
    };
    let Some(commit) = commit else {
        return;
    };
    note("DEVICETAINT_BUILT_FROM", &commit.id);
    note("DEVICETAINT_CHANGED", &commit.changed.to_string());
    if let Some(time) = variable("SOURCE_DATE_EPOCH").or(commit.time) {
        note("DEVICETAINT_TIME", &time);
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn note(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}

/// Whether this is cargo's own profile for development, which tests use too.
fn is_for_development() -> bool {
    // TARGET-FOLDER/PROFILE/build/PACKAGE/out
    let folder = variable("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&folder).ancestors().nth(3);
    profile.is_some_and(|folder| folder.ends_with("debug"))
}

/// The commit that a packager names.
fn given() -> Option<Commit> {
    Some(Commit {
        id: variable("DEVICETAINT_COMMIT")?,
        changed: false,
        time: None,
    })
}

/// The commit that cargo noted when it made the package.
fn packaged() -> Option<Commit> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    Some(Commit {
        id: rest.split('"').nth(1)?.to_owned(),
        changed: text.contains("\"dirty\": true"),
        time: None,
    })
}

/// The commit of the checkout that this is, if it is one.
fn checked_out() -> Option<Commit> {
    // A package in a folder of another checkout is no part of that.
    if !Path::new(".git").exists() {
        return None;
    }
    let id = git(&["rev-parse", "HEAD"])?;
    for watched in ["logs/HEAD", "index"] {
        let file = git(&["rev-parse", "--git-path", watched])?;
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    for watched in ["Cargo.toml", "Cargo.lock", "completions", "src"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let built = ["Cargo.toml", "Cargo.lock", "build.rs", "completions", "src"];
    let status = [&["status", "--porcelain", "--"][..], &built].concat();
    Some(Commit {
        id,
        changed: !git(&status)?.is_empty(),
        time: git(&["show", "--no-patch", "--format=%ct", "HEAD"]),
    })
}

/// What git prints; nothing where it fails or is not there.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
