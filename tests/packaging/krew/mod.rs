//! krew: the manifest of its index, and its installation of an archive.
//!
//! krew's own validator cannot be had as a Go module where these tests run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::support::{entries, root, sha256, unpack};

/// A manifest, with the fields that this plugin has.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plugin {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    version: String,
    #[serde(rename = "homepage")]
    _homepage: String,
    short_description: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "caveats")]
    _caveats: String,
    platforms: Vec<Platform>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    pub uri: String,
    pub sha256: String,
    pub bin: String,
    selector: Selector,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: Labels,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    os: String,
    arch: String,
}

impl Plugin {
    /// Reads and checks the manifest in a file.
    pub fn read(file: &Path) -> Self {
        let plugin: Self = serde_yaml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let api = "krew.googlecontainertools.github.com/v1alpha2";
        assert_eq!(
            (plugin.api_version.as_str(), plugin.kind.as_str()),
            (api, "Plugin")
        );
        assert_eq!(plugin.metadata.name, "devicetaint");
        assert!(plugin.spec.version.starts_with('v'));
        assert!(plugin.spec.short_description.chars().count() <= 50);
        let mut covered: Vec<(&str, &str)> = Vec::new();
        for platform in plugin.platforms() {
            let Labels { os, arch } = &platform.selector.match_labels;
            covered.push((os, arch));
            assert_eq!(platform.bin.ends_with(".exe"), os == "windows");
            assert!(platform.uri.starts_with("https://"));
            assert_eq!(platform.sha256.len(), 64);
        }
        covered.sort_unstable();
        let all = ["darwin", "linux", "windows"];
        let all = all.map(|os| [(os, "amd64"), (os, "arm64")]).concat();
        assert_eq!(covered, all);
        plugin
    }

    pub fn version(&self) -> &str {
        &self.spec.version
    }

    pub fn platforms(&self) -> &[Platform] {
        &self.spec.platforms
    }
}

/// Installs one platform below krew's folder from a downloaded archive, and returns the path of the link to
/// the program.
pub fn install(plugin: &Plugin, platform: &Platform, archive: &Path, krew: &Path) -> PathBuf {
    assert_eq!(sha256(archive), platform.sha256);
    // From a zip krew makes no folder that is not an entry.
    let mut folders = vec![String::new()];
    for entry in entries(archive) {
        let name = entry.name;
        assert!(!name.contains("..") && !name.starts_with('/'), "{name}");
        let parent = name.trim_end_matches('/').rsplit_once('/');
        let parent = parent.map_or("", |(parent, _)| parent);
        let is_zip = archive.extension().is_some_and(|ending| ending == "zip");
        let is_there = folders.iter().any(|known| known == parent);
        assert!(is_there || !is_zip, "{name}");
        folders.extend(name.strip_suffix('/').map(str::to_owned));
    }
    let store = krew.join("store/devicetaint").join(plugin.version());
    fs::create_dir_all(&store).unwrap();
    unpack(archive, &store);
    assert!(store.join("LICENSE").is_file());
    let program = store.join(&platform.bin);
    let mode = fs::metadata(&program).unwrap().permissions().mode();
    assert!(mode & 0o111 != 0 || platform.bin.ends_with(".exe"));
    fs::create_dir_all(krew.join("bin")).unwrap();
    let link = krew.join("bin").join(&platform.bin);
    symlink(&program, &link).unwrap();
    link
}

/// `kubectl krew index add NAME ADDRESS` wants a folder of manifests at the top, and nothing else in it.
#[test]
fn the_repository_is_an_index() {
    let folder = root().join("plugins");
    let files = fs::read_dir(&folder).unwrap();
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files, [folder.join("devicetaint.yaml")]);
    Plugin::read(&files[0]);
    let committed = fs::read_to_string(root().join("krew-manifest.yaml")).unwrap();
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), committed);
}

#[test]
fn checksums_are_zeros_until_something_is_released_and_never_after() {
    let data = fs::read_to_string(root().join("packaging/release.json")).unwrap();
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let plugin = Plugin::read(&root().join("plugins/devicetaint.yaml"));
    for platform in plugin.platforms() {
        let is_zero = platform.sha256.bytes().all(|byte| byte == b'0');
        assert_eq!(is_zero, data["released"].is_null(), "{}", platform.uri);
    }
}
