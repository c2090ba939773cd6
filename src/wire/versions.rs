//! API versions of each kind, and the detail in which kinds are decoded.
//!
//! Read by file reading (can this object be read?) and by discovery (which version to ask for?). The
//! rows are those of the one table of kinds, `model::kind`; a new API version is a line there and, if it
//! differs, code beside the kind's.
//!
//! Upstream, for what is served without configuration: `pkg/controlplane/instance.go`.

use crate::model::Kind;
use crate::model::kind::for_each_kind;

/// Detail in which devices are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Name, node and taints.
    Names,
    /// Attributes and capacities too: for selection by expression or class.
    Attributes,
    /// The facts for the allocator too, and the requests of claims: for the question whether there is a
    /// replacement.
    Terms,
}

/// A version of one kind's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Kind that is served.
    pub kind: Kind,
    /// Group and version, as in objects.
    pub api_version: &'static str,
    /// First minor version of Kubernetes that has it.
    pub since: u32,
    /// First minor version that has it no longer, where that is known.
    pub until: Option<u32>,
}

macro_rules! versions {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident {
            versions: [ $($api_version:literal, $since:literal, $until:expr;)* ],
            $($columns:tt)*
        }
    )*) => {
        /// All versions that this plugin reads, by kind, the preferred one first.
        pub const VERSIONS: &[Version] = &[$($(Version {
            kind: Kind::$kind,
            api_version: $api_version,
            since: $since,
            until: $until,
        },)*)*];
    };
}

for_each_kind!(versions);

/// The versions of `kind`, the preferred one first.
pub fn versions_of(kind: Kind) -> impl Iterator<Item = &'static Version> {
    VERSIONS.iter().filter(move |version| version.kind == kind)
}

/// Meaning of an object's `apiVersion` and `kind` to this plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// One of the kinds that answers are made from.
    Read(&'static Version),
    /// A kind of the table, at a version that is not in it.
    UnknownVersion(Kind),
    /// Anything else.
    NotRead,
}

/// Finds the row for an object's `apiVersion` and `kind`.
pub(super) fn lookup(api_version: &str, kind: &str) -> Lookup {
    let mut same_group = None;
    for version in VERSIONS
        .iter()
        .filter(|version| version.kind.as_str() == kind)
    {
        if version.api_version == api_version {
            return Lookup::Read(version);
        }
        // In another group the same name is another kind, such as `Event` of events.k8s.io.
        if group(version.api_version) == group(api_version) {
            same_group = Some(version.kind);
        }
    }
    same_group.map_or(Lookup::NotRead, Lookup::UnknownVersion)
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
    fn every_kind_that_is_needed_has_a_version_that_is_served_by_default() {
        let needed = |kind: &Kind| kind.need() != crate::model::Need::Optional;
        for kind in Kind::ALL.into_iter().filter(needed) {
            // New beta APIs are off by default since Kubernetes 1.24, alpha APIs always were.
            let mut stable = versions_of(kind).map(|version| version.api_version);
            assert!(stable.any(|version| !version.contains("alpha") && !version.contains("beta")));
        }
    }

    #[test]
    fn every_version_is_one_of_the_kinds_group() {
        for version in VERSIONS {
            assert_eq!(group(version.api_version), version.kind.group());
        }
    }

    #[test]
    fn newer_versions_come_first() {
        for kind in Kind::ALL {
            let since: Vec<_> = versions_of(kind).map(|version| version.since).collect();
            assert!(since.is_sorted_by(|newer, older| newer > older), "{kind}");
        }
    }
}
