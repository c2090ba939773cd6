//! Release data: the one file behind everything that package managers read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::checksum;
use super::platform::{self, Platform};
use super::project::Project;

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
        for platform in platform::ALL {
            let archive = platform.archive(&project.name, &project.version);
            archives.insert(platform.name(), checksum::of_file(&folder.join(archive))?);
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
