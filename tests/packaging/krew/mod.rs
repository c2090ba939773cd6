//! krew: would its index take the manifest, and would krew install from it?
//!
//! krew's own validator cannot be had as a Go module where these tests run, so that its checks are
//! here, read in its sources (`internal/index/validation`, `cmd/validate-krew-manifest`,
//! `internal/download`, `internal/installation` of krew 0.4.5), with those of its index that people make.

mod install;
mod manifest;
mod selector;

use std::fs;

use super::support::root;

pub use install::install;
pub use manifest::Plugin;

/// What krew would be asked to take, under the name that it has in an index.
pub fn committed() -> String {
    fs::read_to_string(root().join("krew-manifest.yaml")).unwrap()
}

#[test]
fn the_manifest_is_one_that_the_index_takes() {
    // In an index its name has to be that of the plugin.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("devicetaint.yaml");
    fs::copy(root().join("krew-manifest.yaml"), &file).unwrap();
    Plugin::read(&file).unwrap();
}

/// `kubectl krew index add NAME ADDRESS` wants a folder of manifests at the top, and nothing else in it.
#[test]
fn the_repository_is_an_index() {
    let folder = root().join("plugins");
    let files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files, [folder.join("devicetaint.yaml")]);
    Plugin::read(&files[0]).unwrap();
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), committed());
}

#[test]
fn checksums_are_zeros_until_something_is_released_and_never_after() {
    let data = fs::read_to_string(root().join("packaging/release.json")).unwrap();
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let plugin = Plugin::read(&root().join("plugins/devicetaint.yaml")).unwrap();
    for platform in plugin.platforms() {
        let is_zero = platform.sha256.bytes().all(|byte| byte == b'0');
        assert_eq!(is_zero, data["released"].is_null(), "{}", platform.uri);
    }
    let says_so = committed().contains("Nothing was released yet");
    assert_eq!(says_so, data["released"].is_null());
}
