//! The workflows: do they build what is packed, by the compiler that is promised, and do they call what there is?

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::support::{platforms, root};

fn workflows() -> Vec<(PathBuf, String)> {
    let folder = fs::read_dir(root().join(".github/workflows")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.clone(), fs::read_to_string(file).unwrap()))
        .collect()
}

fn release() -> (String, Value) {
    let text = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let value = serde_yaml::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn every_platform_that_is_packed_is_built() {
    let (_, workflow) = release();
    let matrix = workflow["jobs"]["build"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap();
    let built: BTreeSet<&str> = matrix
        .iter()
        .map(|entry| entry["target"].as_str().unwrap())
        .collect();
    let platforms = platforms();
    let packed: BTreeSet<&str> = platforms
        .iter()
        .map(|(_, target)| target.as_str())
        .collect();
    assert_eq!(built, packed);
}

#[test]
fn nothing_is_published_before_it_was_tested_built_and_packed() {
    let (_, workflow) = release();
    let needs = |job: &str| workflow["jobs"][job]["needs"].clone();
    assert_eq!(needs("publish"), "pack");
    assert_eq!(needs("pack"), serde_json::json!(["test", "build"]));
    assert_eq!(needs("test"), "prepare");
    assert_eq!(needs("build"), "prepare");
    // Only what publishes may write anything.
    assert_eq!(
        workflow["permissions"],
        serde_json::json!({"contents": "read"})
    );
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        assert_eq!(
            job.get("permissions").is_some(),
            name == "publish",
            "{name}"
        );
    }
    assert_eq!(
        workflow["jobs"]["publish"]["if"],
        "github.ref_type == 'tag'"
    );
}

#[test]
fn scripts_that_workflows_call_are_there() {
    for (file, text) in workflows() {
        let words = text.split(|letter: char| letter.is_whitespace() || "\"'()$;".contains(letter));
        for word in words.filter(|word| word.starts_with("packaging/") || *word == ".ci/run") {
            assert!(root().join(word).exists(), "{}: {word}", file.display());
        }
    }
}

#[test]
fn workflows_name_no_host_but_the_one_that_says_who_signs() {
    for (file, text) in workflows() {
        let addresses = text
            .split("://")
            .skip(1)
            .map(|rest| rest.split('/').next().unwrap());
        for host in addresses {
            let host = host.split_whitespace().next().unwrap_or(host);
            let is_variable = host.starts_with('$');
            let is_signer = host == "token.actions.githubusercontent.com";
            assert!(is_variable || is_signer, "{}: {host}", file.display());
        }
    }
}

/// The commands that people verify a release with are those that verified it before it was published.
#[test]
fn what_the_documentation_verifies_is_what_the_workflow_signs() {
    let (workflow, _) = release();
    let page = fs::read_to_string(root().join("docs/src/install.md")).unwrap();
    for part in [
        "cosign verify-blob --bundle SHA256SUMS.sigstore.json",
        "--certificate-oidc-issuer https://token.actions.githubusercontent.com",
        "gh attestation verify",
        "packaging/toolchain",
    ] {
        assert!(workflow.contains(part) && page.contains(part), "{part}");
    }
    assert!(page.contains("/.github/workflows/release.yml@refs/tags/v"));
}

#[test]
fn releases_are_built_by_a_compiler_that_can() {
    let toolchain = fs::read_to_string(root().join("packaging/toolchain")).unwrap();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let oldest = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .unwrap();
    let numbers = |version: &str| -> Vec<u32> {
        version
            .trim()
            .trim_matches('"')
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect()
    };
    assert_eq!(numbers(&toolchain).len(), 3, "one compiler, not a channel");
    assert!(numbers(&toolchain) >= numbers(oldest));
}
