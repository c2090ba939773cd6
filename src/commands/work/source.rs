//! Where the facts come from.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::{self, Detail, FileSource, InputError, Limits};
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Minor, Warning};

/// Where the cluster's state comes from, and how it is understood.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Files, folders or `-`; the cluster itself where there are none.
    pub(crate) from: Vec<PathBuf>,
    /// How the cluster behaves.
    pub(crate) version: Version,
    /// The time of the question, where files are asked.
    pub(crate) now: Option<Timestamp>,
}

/// How the cluster behaves, as far as that was said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    /// The version whose behaviour applies, whatever the source shows.
    pub(crate) kubernetes: Option<Minor>,
    /// Whether pod groups share claims there.
    pub(crate) pod_groups: bool,
}

impl Version {
    /// How a cluster of this version behaves, if no other is asked for.
    pub(crate) fn semantics(self, version: Option<Minor>) -> Result<Semantics, Failure> {
        let semantics = match self.kubernetes.or(version) {
            None => Semantics::newest(),
            Some(version) => Semantics::of(version).ok_or_else(|| {
                Failure::usage(format!(
                    "Kubernetes {version} has no device taints: they came with {}",
                    Semantics::OLDEST
                ))
            })?,
        };
        Ok(if self.pod_groups {
            semantics.with_pod_groups()
        } else {
            semantics
        })
    }
}

/// What has to be read of devices: rules that select by expression need their attributes.
pub(crate) fn detail(semantics: &Semantics) -> Detail {
    if semantics.selects_by_expression {
        Detail::Attributes
    } else {
        Detail::Names
    }
}

/// Says that `semantics` are those of an older version, where the version is newer than all that are
/// known.
pub(crate) fn newer_version(semantics: &Semantics) -> Option<Warning> {
    let (asked, newest) = (semantics.version, Semantics::NEWEST);
    (asked.minor > newest.minor).then(|| Warning {
        code: "newer-kubernetes",
        message: format!(
            "Kubernetes {asked} is newer than this plugin, which takes it to behave like {newest}"
        ),
        fix: Some("update the plugin, if there is a newer one".to_owned()),
    })
}

/// Reads manifests of rules.
pub(crate) fn rules(files: &[PathBuf]) -> Result<Vec<DeviceTaintRule>, Failure> {
    let sources = sources(files);
    cluster::read_rules(&sources, &mut io::stdin().lock(), &Limits::default()).map_err(unreadable)
}

/// Reads manifests of rules, each with the object as it is written.
pub(crate) fn manifests(files: &[PathBuf]) -> Result<Vec<(DeviceTaintRule, Value)>, Failure> {
    let sources = sources(files);
    let read = cluster::read_manifests(&sources, &mut io::stdin().lock(), &Limits::default());
    read.map_err(unreadable)
}

/// The files that were named.
pub(crate) fn sources(files: &[PathBuf]) -> Vec<FileSource> {
    files
        .iter()
        .map(|path| FileSource::from(path.as_path()))
        .collect()
}

/// A file that cannot be read, with what to do about it.
pub(crate) fn unreadable(error: InputError) -> Failure {
    let hint = error.hint();
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
