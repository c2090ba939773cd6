//! Released platforms.

use anyhow::{Context, Result};

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
pub const ALL: &[Platform] = &[
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
        let found = ALL.iter().find(|platform| platform.target == target);
        found.with_context(|| {
            let known: Vec<&str> = ALL.iter().map(|platform| platform.target).collect();
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
