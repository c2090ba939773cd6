//! Release data: the one file behind everything that package managers read; and checksums.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::project::{PLATFORMS, Platform, Project};

/// The file, from the root of the repository.
pub const FILE: &str = "packaging/release.json";

/// Placeholder of a checksum. No archive has it: an installation by it is refused.
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The newest release.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Without `v`.
    pub version: String,
    /// SHA-256 of every archive, by the platform's name.
    archives: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// Nothing before the first release.
    released: Option<Release>,
}

impl Release {
    /// The one that the repository at `root` knows; nothing before the first.
    pub fn read(root: &Path) -> Result<Option<Self>> {
        let text = std::fs::read_to_string(root.join(FILE)).context(FILE)?;
        let data: Data = serde_json::from_str(&text).context(FILE)?;
        Ok(data.released)
    }

    /// The one that the archives in `folder` are: all of them, or an error.
    pub fn of_archives(project: &Project, folder: &Path) -> Result<Self> {
        let mut archives = BTreeMap::new();
        for platform in PLATFORMS {
            let archive = platform.archive(&project.name, &project.version);
            archives.insert(platform.name(), sha256_of(&folder.join(archive))?);
        }
        Ok(Self {
            version: project.version.clone(),
            archives,
        })
    }

    /// Writes it down.
    pub fn write(&self, root: &Path) -> Result<()> {
        let data = Data {
            released: Some(self.clone()),
        };
        let text = serde_json::to_string_pretty(&data)? + "\n";
        std::fs::write(root.join(FILE), text).context(FILE)
    }
}

/// The version that files name: the newest that was released, or the one that will be first.
pub fn version<'a>(project: &'a Project, release: &'a Option<Release>) -> &'a str {
    release
        .as_ref()
        .map_or(&project.version, |release| &release.version)
}

/// The checksum of a platform's archive, zeros before the first release.
pub fn checksum<'a>(release: &'a Option<Release>, platform: &Platform) -> &'a str {
    release
        .as_ref()
        .and_then(|release| release.archives.get(&platform.name()))
        .map_or(NONE, String::as_str)
}

/// As text, also where YAML would take digits alone for a number.
pub fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// The first lines of every generated file, behind the `#` of its comments.
pub fn header(release: &Option<Release>) -> String {
    let mut text =
        "# Written by packaging/ from packaging/release.json; see packaging/README.md.\n"
            .to_owned();
    if release.is_none() {
        text += "# Nothing was released yet: the checksums are zeros, which no archive has.\n";
    }
    text
}

/// The list of checksums, as `sha256sum --check` reads it.
const SUMS: &str = "SHA256SUMS";

/// Of a file, as people compare it.
fn sha256_of(path: &Path) -> Result<String> {
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let digest = Sha256::digest(content);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the checksums of all files in the folder, by name.
pub fn write_sums(folder: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.starts_with(SUMS) {
            names.push(name);
        }
    }
    names.sort();
    let mut text = String::new();
    for name in names {
        text += &format!("{}  {name}\n", sha256_of(&folder.join(&name))?);
    }
    let path = folder.join(SUMS);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
