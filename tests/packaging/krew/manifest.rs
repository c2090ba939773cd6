//! A manifest, and what is checked of it before anything is installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::selector::{Selector, platforms};

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
    #[serde(default)]
    version: String,
    homepage: Option<String>,
    #[serde(default)]
    short_description: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    caveats: String,
    #[serde(default)]
    platforms: Vec<Platform>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    #[serde(default)]
    pub uri: String,
    #[serde(default)]
    pub sha256: String,
    #[serde(default)]
    pub bin: String,
    pub files: Option<Vec<FileOperation>>,
    pub selector: Option<Selector>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileOperation {
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub to: String,
}

/// Names that Windows takes for devices.
const NO_FILES: [&str; 22] = [
    "CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8",
    "COM9", "LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9",
];

type Checked = Result<(), String>;

fn check(fine: bool, refusal: impl FnOnce() -> String) -> Checked {
    if fine { Ok(()) } else { Err(refusal()) }
}

fn is_safe(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let is_device = NO_FILES
        .iter()
        .any(|device| device.eq_ignore_ascii_case(name));
    !name.is_empty() && name.chars().all(is_word) && !is_device
}

/// The three numbers of a version; what follows a `-` would make it an unfinished one.
fn is_released_version(version: &str) -> bool {
    let Some(version) = version.strip_prefix('v') else {
        return false;
    };
    let is_number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<&str> = version.split('.').collect();
    parts.len() == 3 && parts.into_iter().all(is_number)
}

/// A line may be longer if it is one word, such as an address.
fn fits(text: &str, length: usize) -> bool {
    let mut lines = text.lines();
    lines.all(|line| line.chars().count() <= length || !line.trim().contains(' '))
}

impl Plugin {
    /// Reads and checks the manifest in a file.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        let plugin: Self = serde_yaml::from_str(&text).map_err(|error| error.to_string())?;
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        check(extension == "yaml", || {
            format!("extension {extension:?} instead of \"yaml\"")
        })?;
        plugin.check(&file.file_stem().unwrap().to_string_lossy())?;
        Ok(plugin)
    }

    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    pub fn version(&self) -> &str {
        &self.spec.version
    }

    pub fn platforms(&self) -> &[Platform] {
        &self.spec.platforms
    }

    /// What krew says of a manifest that an index has under `name`.
    fn check(&self, name: &str) -> Checked {
        check(
            self.api_version == "krew.googlecontainertools.github.com/v1alpha2",
            || format!("apiVersion {:?} is not supported", self.api_version),
        )?;
        check(self.kind == "Plugin", || format!("kind {:?}", self.kind))?;
        check(is_safe(name), || {
            format!("the name {name:?} is not allowed")
        })?;
        check(self.metadata.name == name, || {
            format!("it should be named {name:?}, not {:?}", self.metadata.name)
        })?;
        self.spec.check_words()?;
        check(!self.spec.platforms.is_empty(), || "no platform".into())?;
        check(is_released_version(&self.spec.version), || {
            format!("version {:?} is not that of a release", self.spec.version)
        })?;
        for platform in &self.spec.platforms {
            platform
                .check()
                .map_err(|refusal| format!("{}: {refusal}", platform.uri))?;
        }
        self.check_coverage()
    }

    /// No platform twice, none that krew does not know, and all that are promised.
    fn check_coverage(&self) -> Checked {
        let mut covered = BTreeSet::new();
        for platform in &self.spec.platforms {
            let selector = platform.selector.as_ref().ok_or("no selector")?;
            let matching = platforms().filter(|(os, arch)| selector.matches(os, arch));
            let matching: Vec<_> = matching.collect();
            check(!matching.is_empty(), || {
                format!("{} is for no platform that krew knows", platform.uri)
            })?;
            for (os, arch) in matching {
                check(covered.insert((os, arch)), || {
                    format!("two for {os}/{arch}")
                })?;
                let is_program = platform.bin.ends_with(".exe") == (os == "windows");
                check(is_program, || {
                    format!("{} cannot be run on {os}", platform.bin)
                })?;
            }
        }
        for os in ["linux", "darwin", "windows"] {
            for arch in ["amd64", "arm64"] {
                check(covered.contains(&(os, arch)), || {
                    format!("nothing for {os}/{arch}")
                })?;
            }
        }
        Ok(())
    }
}

impl Spec {
    /// What people read, by the rules of the index and of those who look after it.
    fn check_words(&self) -> Checked {
        let short = self.short_description.as_str();
        check(!short.is_empty(), || "no short description".into())?;
        check(!short.contains(['\r', '\n']), || {
            "line breaks in the short description".into()
        })?;
        check(short.chars().count() <= 50, || {
            "the short description is longer than 50 characters".into()
        })?;
        for word in ["kubernetes", "kubectl", "plugin"] {
            check(!short.to_lowercase().contains(word), || {
                format!("{word:?} goes without saying")
            })?;
        }
        check(!short.ends_with('.'), || {
            "a full stop after the short description".into()
        })?;
        check(self.homepage.is_some(), || "no homepage".into())?;
        check(!self.description.is_empty(), || "no description".into())?;
        check(fits(&self.description, 80), || {
            "a line of the description is longer than 80".into()
        })?;
        check(fits(&self.caveats, 80), || {
            "a line of the caveats is longer than 80".into()
        })?;
        check(self.caveats.lines().count() <= 4, || "long caveats".into())?;
        let lists_usage =
            self.description.contains("--") || self.description.to_lowercase().contains("usage");
        check(!lists_usage, || "the description lists usage".into())
    }
}

impl Platform {
    fn check(&self) -> Checked {
        check(!self.uri.is_empty(), || "`uri` has to be set".into())?;
        check(self.uri.starts_with("https://"), || {
            "`uri` is not https".into()
        })?;
        let is_archive = self.uri.ends_with(".tar.gz") || self.uri.ends_with(".zip");
        check(is_archive, || "neither .tar.gz nor .zip".into())?;
        check(!self.sha256.is_empty(), || "`sha256` has to be set".into())?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_checksum = self.sha256.len() == 64 && self.sha256.bytes().all(is_digit);
        check(is_checksum, || format!("`sha256` {} is none", self.sha256))?;
        check(!self.bin.is_empty(), || "`bin` has to be set".into())?;
        if let Some(files) = &self.files {
            check(!files.is_empty(), || "`files` is empty".into())?;
            for operation in files {
                check(!operation.from.is_empty(), || "`from` has to be set".into())?;
                check(!operation.to.is_empty(), || "`to` has to be set".into())?;
            }
        }
        let selector = self.selector.as_ref().ok_or("no selector")?;
        selector.check()
    }
}
