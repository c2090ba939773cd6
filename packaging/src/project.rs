//! Metadata of the plugin from its Cargo.toml.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::platform;

/// The end of the domain in which nothing can ever be (RFC 2606): what stands in Cargo.toml until the
/// project has an address.
const NOWHERE: &str = ".example";

/// The plugin, and where it is.
pub struct Project {
    /// The folder of the repository.
    pub root: PathBuf,
    /// `kubectl-devicetaint`: package, program and prefix of all archives.
    pub name: String,
    /// Without `v`.
    pub version: String,
    /// One line.
    pub description: String,
    /// As SPDX writes it.
    pub license: String,
    /// Repository of the sources and releases.
    pub repository: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
}

impl Project {
    /// The one in the folder `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let metadata: Metadata = serde_json::from_value(metadata(root, &["--no-deps"])?)?;
        let [package] = <[Package; 1]>::try_from(metadata.packages)
            .map_err(|packages| anyhow::anyhow!("{} packages instead of one", packages.len()))?;
        let need = |field: Option<String>, name: &str| {
            field.with_context(|| format!("Cargo.toml has no {name}"))
        };
        Ok(Self {
            root: root.to_owned(),
            name: package.name,
            version: package.version,
            description: need(package.description, "description")?,
            license: need(package.license, "license")?,
            repository: need(package.repository, "repository")?,
        })
    }

    /// Address of a file of a release.
    pub fn download(&self, version: &str, file: &str) -> String {
        format!("{}/releases/download/v{version}/{file}", self.repository)
    }

    /// Metadata of Cargo about all packages of the program on the released platforms.
    pub fn dependencies(&self) -> Result<Value> {
        let targets = platform::ALL.iter().map(|platform| platform.target);
        let arguments: Vec<&str> = targets
            .flat_map(|target| ["--filter-platform", target])
            .collect();
        metadata(&self.root, &arguments)
    }

    /// Refuses to release under the address that stands for none.
    pub fn check_address(&self) -> Result<()> {
        let host = self.repository.split('/').nth(2).unwrap_or_default();
        ensure!(
            !host.ends_with(NOWHERE),
            "{} is not a place from which anything can be downloaded: set `repository` in Cargo.toml first",
            self.repository
        );
        Ok(())
    }
}

fn metadata(root: &Path, arguments: &[&str]) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}
