//! What hosts read of a repository: workflows, dependabot, and forms for issues.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::source::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parsed(path: &str) -> Value {
    serde_yaml::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file that names an action of GitHub's, the example for users too.
fn workflows() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join(".github/workflows")).unwrap();
    let own = folder.map(|entry| entry.unwrap().path());
    let example = root().join("examples/engines/github-actions.yml");
    own.chain([example]).collect()
}

/// A tag can be moved to other code; a digest cannot. The version says to people which release it is.
#[test]
fn actions_are_pinned_by_digest_with_their_version() {
    let mut digests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in workflows() {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some((_, used)) = line.split_once("uses: ") else {
                continue;
            };
            let place = format!("{}: {line}", file.display());
            let (action, pin) = used.split_once('@').unwrap_or_else(|| panic!("{place}"));
            let (digest, version) = pin
                .split_once(" # v")
                .unwrap_or_else(|| panic!("{place}: no digest with a version"));
            let is_digest = digest.len() == 40 && digest.chars().all(|it| it.is_ascii_hexdigit());
            let numbers: Vec<&str> = version.split('.').collect();
            let is_version =
                numbers.len() == 3 && numbers.iter().all(|it| it.parse::<u32>().is_ok());
            assert!(is_digest && is_version, "{place}");
            digests
                .entry(action.to_owned())
                .or_default()
                .insert(pin.to_owned());
        }
    }
    assert!(digests.len() >= 7, "{digests:?}");
    let differing: Vec<_> = digests.iter().filter(|(_, pins)| pins.len() > 1).collect();
    assert!(
        differing.is_empty(),
        "one action, one release: {differing:?}"
    );
}

/// Folders of the repository with a file of this name, as dependabot writes them.
fn folders_with(name: &str) -> BTreeSet<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(root()).output().expect("git runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let paths = text.lines().map(Path::new);
    let named = paths.filter(|path| path.file_name().is_some_and(|it| it == name));
    let folders = named.filter_map(Path::parent);
    folders
        .map(|folder| format!("/{}", folder.display()))
        .collect()
}

#[test]
fn dependabot_covers_every_manifest_but_those_of_older_releases() {
    let dependabot = parsed(".github/dependabot.yml");
    assert_eq!(dependabot["version"], 2);
    let covered = |ecosystem: &str| -> BTreeSet<String> {
        let updates = dependabot["updates"].as_array().unwrap();
        let mut updates = updates.iter();
        let update = updates
            .find(|update| update["package-ecosystem"] == ecosystem)
            .unwrap_or_else(|| panic!("{ecosystem}"));
        let folders = update["directories"].as_array().unwrap();
        folders
            .iter()
            .map(|it| it.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(covered("cargo"), folders_with("Cargo.toml"));
    assert_eq!(covered("github-actions"), BTreeSet::from(["/".to_owned()]));
    let mut modules = folders_with("go.mod");
    let is_older = |folder: &String| folder.contains("/versions/") || folder.contains("/releases/");
    modules.retain(|folder| !is_older(folder));
    assert_eq!(covered("gomod"), modules);
}
