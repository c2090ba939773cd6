//! Actions of workflows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::source::root;

/// Every file that names an action of GitHub's, the example for users too.
fn workflows() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join(".github/workflows")).unwrap();
    let own = folder.map(|entry| entry.unwrap().path());
    let example = root().join("examples/engines/github-actions.yml");
    own.chain([example]).collect()
}

/// A tag can be moved to other code; a digest cannot. The version tells the reader the release.
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
