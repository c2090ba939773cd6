//! Metadata of the plugin from its Cargo.toml, and released platforms.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

/// The end of the domain in which nothing can ever be (RFC 2606): what stands in Cargo.toml until the
/// project has an address.
const NOWHERE: &str = ".example";

/// The package of the plugin.
const PROGRAM: &str = "kubectl-devicetaint";

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
        let metadata: Metadata = serde_json::from_value(metadata(root)?)?;
        let mut packages = metadata.packages.into_iter();
        // The engine is a package of the same workspace.
        let package = packages
            .find(|package| package.name == PROGRAM)
            .with_context(|| format!("no package {PROGRAM}"))?;
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

fn metadata(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1", "--no-deps"])
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

/// A platform as Go's world and Rust's call it.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// The operating system as krew and container images call it.
    pub os: &'static str,
    /// The processor as they call it.
    pub arch: &'static str,
    /// Name of both in Rust.
    pub target: &'static str,
}

/// All of them, in the order in which every file names them.
///
/// Linux is musl: a static program runs on every distribution, and in a container without any.
pub const PLATFORMS: &[Platform] = &[
    platform("linux", "amd64", "x86_64-unknown-linux-musl"),
    platform("linux", "arm64", "aarch64-unknown-linux-musl"),
    platform("darwin", "amd64", "x86_64-apple-darwin"),
    platform("darwin", "arm64", "aarch64-apple-darwin"),
    platform("windows", "amd64", "x86_64-pc-windows-msvc"),
    platform("windows", "arm64", "aarch64-pc-windows-msvc"),
];

const fn platform(os: &'static str, arch: &'static str, target: &'static str) -> Platform {
    Platform { os, arch, target }
}

impl Platform {
    /// The one that Rust calls `target`.
    pub fn of_target(target: &str) -> Result<&'static Self> {
        let found = PLATFORMS.iter().find(|platform| platform.target == target);
        found.with_context(|| {
            let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.target).collect();
            format!("{target} is not released; what is: {}", known.join(", "))
        })
    }

    /// `linux-amd64`: how archives and release data name it.
    pub fn name(&self) -> String {
        format!("{}-{}", self.os, self.arch)
    }

    /// File name of the program.
    pub fn program(&self, name: &str) -> String {
        match self.os {
            "windows" => format!("{name}.exe"),
            _ => name.to_owned(),
        }
    }

    /// The archive of a version of the project.
    ///
    /// Named after Rust's target, so that cargo-binstall can find it by a template.
    pub fn archive(&self, name: &str, version: &str) -> String {
        let suffix = match self.os {
            "windows" => "zip",
            _ => "tar.gz",
        };
        format!("{name}-{version}-{}.{suffix}", self.target)
    }
}
