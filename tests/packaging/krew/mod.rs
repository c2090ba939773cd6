//! krew: the manifest of its index, and its installation of an archive.
//!
//! krew's own validator cannot be had as a Go module where these tests run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::support::{entries, root, sha256, unpack};

/// A manifest.
pub struct Plugin(Value);

pub struct Platform {
    pub uri: String,
    pub sha256: String,
    pub bin: String,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

impl Plugin {
    /// Reads and checks the manifest in a file.
    pub fn read(file: &Path) -> Self {
        let plugin: Value = serde_yaml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let spec = &plugin["spec"];
        let fields =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(fields(&plugin), ["apiVersion", "kind", "metadata", "spec"]);
        let known = [
            "caveats",
            "description",
            "homepage",
            "platforms",
            "shortDescription",
            "version",
        ];
        assert_eq!(fields(spec), known);
        let api = "krew.googlecontainertools.github.com/v1alpha2";
        assert_eq!(
            (&plugin["apiVersion"], &plugin["kind"]),
            (&json!(api), &json!("Plugin"))
        );
        assert_eq!(plugin["metadata"], json!({"name": "devicetaint"}));
        assert!(text(&spec["version"]).starts_with('v'));
        assert!(text(&spec["shortDescription"]).chars().count() <= 50);
        let mut covered = Vec::new();
        for platform in spec["platforms"].as_array().unwrap() {
            assert_eq!(fields(platform), ["bin", "selector", "sha256", "uri"]);
            let labels = &platform["selector"]["matchLabels"];
            covered.push([text(&labels["os"]), text(&labels["arch"])]);
            assert_eq!(
                text(&platform["bin"]).ends_with(".exe"),
                labels["os"] == "windows"
            );
            assert!(text(&platform["uri"]).starts_with("https://"));
            assert_eq!(text(&platform["sha256"]).len(), 64);
        }
        covered.sort_unstable();
        let all = ["darwin", "linux", "windows"];
        let all = all.map(|os| [[os, "amd64"], [os, "arm64"]]).concat();
        assert_eq!(covered, all);
        Self(plugin)
    }

    pub fn version(&self) -> String {
        text(&self.0["spec"]["version"])
    }

    pub fn platforms(&self) -> Vec<Platform> {
        let platforms = self.0["spec"]["platforms"].as_array().unwrap().iter();
        let platforms = platforms.map(|platform| Platform {
            uri: text(&platform["uri"]),
            sha256: text(&platform["sha256"]),
            bin: text(&platform["bin"]),
        });
        platforms.collect()
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
