//! Time and Kubernetes version of saved files.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::error::InputError;
use crate::cluster::read::everything::Saved;
use crate::model::{Kind, Minor, Saving, in_group};
use crate::wire::{ListMeta, TypeMeta};

/// Time when the cluster was read, in RFC 3339.
const OBSERVED_AT: &str = in_group!("observed-at");
/// The kinds that were asked for, separated by commas: there may be none of some of them.
const KINDS: &str = in_group!("kinds");
/// The server's own version, such as `v1.37.0`.
const SERVER_VERSION: &str = in_group!("server-version");

/// Annotations of a saved list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) struct Notes {
    pub(in crate::cluster) observed_at: Option<Timestamp>,
    pub(in crate::cluster) kinds: Vec<Kind>,
    pub(in crate::cluster) version: Option<Minor>,
    /// The version as it is written.
    pub(in crate::cluster) server_version: Option<String>,
}

/// Metadata of a saved list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedNotes {
    /// Time when the cluster was read, by the server's clock.
    pub observed_at: Option<Timestamp>,
    /// The server's own version, such as `v1.37.0`.
    pub server_version: Option<String>,
}

/// Annotations of a list that holds `saved`: what [`notes`] reads.
pub(in crate::cluster) fn annotations(
    saved: &Saved,
    notes: &SavedNotes,
) -> BTreeMap<&'static str, String> {
    let mut annotations = BTreeMap::new();
    if let Some(time) = notes.observed_at {
        annotations.insert(OBSERVED_AT, time.to_string());
    }
    // A version that could not be read back would make the whole file unreadable.
    if let Some(version) = &notes.server_version
        && Minor::parse(version).is_some()
    {
        annotations.insert(SERVER_VERSION, version.clone());
    }
    // A kind that the server does not have is known completely, all the same.
    let known: Vec<&str> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.saving() == Saving::Always)
        .filter(|kind| !saved.gaps.iter().any(|gap| gap.what == kind.plural()))
        .map(Kind::as_str)
        .collect();
    annotations.insert(KINDS, known.join(","));
    annotations
}

/// Reads the annotations of a list in `file`.
pub(in crate::cluster) fn notes(file: &str, metadata: &ListMeta) -> Result<Notes, InputError> {
    let wrong = |annotation, value: &str, expected| InputError::Annotation {
        file: file.to_owned(),
        annotation,
        value: value.escape_debug().to_string(),
        expected,
    };
    let value = |name| metadata.annotations.get(name).map(String::as_str);
    let mut notes = Notes::default();
    if let Some(text) = value(OBSERVED_AT) {
        let time = text.parse();
        notes.observed_at = Some(time.map_err(|_| wrong(OBSERVED_AT, text, "a time"))?);
    }
    if let Some(text) = value(SERVER_VERSION) {
        let version = Minor::parse(text);
        notes.version =
            Some(version.ok_or_else(|| wrong(SERVER_VERSION, text, "a version such as v1.37.0"))?);
        notes.server_version = Some(text.to_owned());
    }
    // A newer plugin may save kinds that this one does not know.
    notes.kinds = value(KINDS)
        .unwrap_or_default()
        .split(',')
        .filter_map(|name| parse_kind(name.trim()))
        .collect();
    Ok(notes)
}

fn parse_kind(name: &str) -> Option<Kind> {
    Kind::ALL
        .into_iter()
        .find(|kind| name == kind.as_str() || name.eq_ignore_ascii_case(kind.plural()))
}

/// The Kubernetes version that the API versions of the objects show, if they show one.
///
/// Only rules do. kubectl prints objects at the newest version that the server offers unless it is
/// told otherwise, and no minor version offers another newest one for rules than the following:
/// 1.34 and 1.35 have v1alpha3 alone, which does not tell them apart; 1.36 prefers v1beta2; 1.37
/// prefers v1. Slices, claims and classes are at v1 from 1.34 on.
pub(in crate::cluster) fn version_of(found: &BTreeMap<TypeMeta, usize>) -> Option<Minor> {
    let has = |api_version: &str| {
        found.keys().any(|found| {
            found.kind == Kind::DeviceTaintRule.as_str() && found.api_version == api_version
        })
    };
    let minor = |minor| Some(Minor { minor, patch: None });
    if has("resource.k8s.io/v1") {
        minor(37)
    } else if has("resource.k8s.io/v1beta2") && !has("resource.k8s.io/v1alpha3") {
        minor(36)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_pre_release_is_not_that_release_either() {
        let mut metadata = ListMeta::default();
        metadata
            .annotations
            .insert(SERVER_VERSION.to_owned(), "v1.37.2-rc.0".to_owned());
        let expected = Minor {
            minor: 37,
            patch: None,
        };
        let notes = notes("file", &metadata).expect("notes");
        assert_eq!(notes.version, Some(expected));
    }

    #[test]
    fn only_rules_show_a_version() {
        let found = |kinds: &[(&str, &str)]| {
            let of = |(api_version, kind): &(&str, &str)| TypeMeta {
                api_version: (*api_version).to_owned(),
                kind: (*kind).to_owned(),
            };
            kinds
                .iter()
                .map(|kind| (of(kind), 1))
                .collect::<BTreeMap<_, _>>()
        };
        for (kinds, minor) in [
            (&[("resource.k8s.io/v1", "DeviceTaintRule")][..], Some(37)),
            (&[("resource.k8s.io/v1beta2", "DeviceTaintRule")], Some(36)),
            (&[("resource.k8s.io/v1alpha3", "DeviceTaintRule")], None),
            (
                &[("resource.k8s.io/v1", "ResourceSlice"), ("v1", "Pod")],
                None,
            ),
        ] {
            let version = version_of(&found(kinds)).map(|version| version.minor);
            assert_eq!(version, minor, "{kinds:?}");
        }
    }

    #[test]
    fn kinds_may_be_noted_as_kinds_or_as_plurals() {
        let mut metadata = ListMeta::default();
        metadata
            .annotations
            .insert(KINDS.to_owned(), "Pod, resourceslices,Future".to_owned());
        let notes = notes("file", &metadata).expect("notes");
        assert_eq!(notes.kinds, [Kind::Pod, Kind::ResourceSlice]);
    }
}
