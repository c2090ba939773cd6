//! The one table: which kind is served by which versions of its API, and since when.
//!
//! Read by file reading (can this object be read?) and by discovery (which version to ask for?).
//! A new API version is a row here and, if it differs, a file beside the kind's.
//!
//! Upstream: `zz_generated.prerelease-lifecycle.go` of each version, and for what is served without
//! configuration `pkg/controlplane/instance.go`.

use crate::model::Kind;

/// A version of one kind's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// What is served.
    pub kind: Kind,
    /// Group and version, as in objects.
    pub api_version: &'static str,
    /// First minor version of Kubernetes that has it.
    pub since: u32,
    /// First minor version that has it no longer, where that is known.
    pub until: Option<u32>,
    pub(super) shape: Shape,
}

/// How the objects of a version are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Slice,
    /// With devices nested under `basic`.
    SliceV1beta1,
    Claim,
    Rule,
    Class,
    Pod,
}

/// All versions that this plugin reads, by kind, the preferred one first.
#[rustfmt::skip] // One line per version.
pub const VERSIONS: &[Version] = &[
    row(Kind::ResourceSlice,   "resource.k8s.io/v1",       34, None,     Shape::Slice),
    row(Kind::ResourceSlice,   "resource.k8s.io/v1beta2",  33, Some(39), Shape::Slice),
    row(Kind::ResourceSlice,   "resource.k8s.io/v1beta1",  32, Some(38), Shape::SliceV1beta1),
    row(Kind::ResourceClaim,   "resource.k8s.io/v1",       34, None,     Shape::Claim),
    row(Kind::ResourceClaim,   "resource.k8s.io/v1beta2",  33, Some(39), Shape::Claim),
    row(Kind::ResourceClaim,   "resource.k8s.io/v1beta1",  32, Some(38), Shape::Claim),
    row(Kind::DeviceTaintRule, "resource.k8s.io/v1",       37, None,     Shape::Rule),
    row(Kind::DeviceTaintRule, "resource.k8s.io/v1beta2",  36, Some(42), Shape::Rule),
    row(Kind::DeviceTaintRule, "resource.k8s.io/v1alpha3", 33, Some(39), Shape::Rule),
    row(Kind::Pod,             "v1",                       0,  None,     Shape::Pod),
    row(Kind::DeviceClass,     "resource.k8s.io/v1",       34, None,     Shape::Class),
    row(Kind::DeviceClass,     "resource.k8s.io/v1beta2",  33, Some(39), Shape::Class),
    row(Kind::DeviceClass,     "resource.k8s.io/v1beta1",  32, Some(38), Shape::Class),
];

const fn row(
    kind: Kind,
    api_version: &'static str,
    since: u32,
    until: Option<u32>,
    shape: Shape,
) -> Version {
    Version {
        kind,
        api_version,
        since,
        until,
        shape,
    }
}

impl Version {
    /// Whether servers that have it offer it without configuration: new beta APIs are off by
    /// default since Kubernetes 1.24, alpha APIs always were.
    #[must_use]
    pub fn is_served_by_default(&self) -> bool {
        !self.api_version.contains("alpha") && !self.api_version.contains("beta")
    }
}

/// The versions of `kind`, the preferred one first.
pub fn versions_of(kind: Kind) -> impl Iterator<Item = &'static Version> {
    VERSIONS.iter().filter(move |version| version.kind == kind)
}

/// What an object's `apiVersion` and `kind` mean to this plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// One of the kinds that a preview is made from.
    Needed(&'static Version),
    /// Such a kind, at a version that is not in the table.
    UnknownVersion(Kind),
    /// Anything else.
    NotNeeded,
}

/// Finds the row for an object's `apiVersion` and `kind`.
pub(super) fn lookup(api_version: &str, kind: &str) -> Lookup {
    let mut same_group = None;
    for version in VERSIONS
        .iter()
        .filter(|version| version.kind.as_str() == kind)
    {
        if version.api_version == api_version {
            return Lookup::Needed(version);
        }
        if group(version.api_version) == group(api_version) {
            same_group = Some(version.kind);
        }
    }
    same_group.map_or(Lookup::NotNeeded, Lookup::UnknownVersion)
}

/// The API group of an `apiVersion`; empty for the core group.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The versions of `kind` in words.
pub(super) fn supported(kind: Kind) -> String {
    let names: Vec<_> = versions_of(kind)
        .map(|version| version.api_version)
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_version_that_is_served_by_default() {
        for kind in Kind::ALL {
            assert!(
                versions_of(kind).any(Version::is_served_by_default),
                "{kind}"
            );
        }
    }

    #[test]
    fn newer_versions_come_first() {
        for kind in Kind::ALL {
            let since: Vec<_> = versions_of(kind).map(|version| version.since).collect();
            assert!(since.is_sorted_by(|newer, older| newer > older), "{kind}");
        }
    }

    #[test]
    fn kind_of_another_group_is_not_needed() {
        for (api_version, kind, needed) in [
            ("v1", "Pod", true),
            ("resource.k8s.io/v1beta1", "ResourceSlice", true),
            ("resource.k8s.io/v1alpha3", "DeviceTaintRule", true),
            ("example.com/v1", "Pod", false),
            ("v1", "Node", false),
            ("metrics.k8s.io/v1beta1", "PodMetrics", false),
        ] {
            let found = matches!(lookup(api_version, kind), Lookup::Needed(_));
            assert_eq!(found, needed, "{api_version} {kind}");
        }
    }

    #[test]
    fn future_version_of_a_needed_kind_is_told_apart() {
        let found = lookup("resource.k8s.io/v2", "ResourceSlice");
        assert_eq!(found, Lookup::UnknownVersion(Kind::ResourceSlice));
    }
}
