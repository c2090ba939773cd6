//! From facts of many files to one snapshot: duplicates, what is present and what is missing.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use jiff::Timestamp;
use memchr::memchr;
use serde_json::Value;

use super::sources::InputError;
use crate::cluster::read::everything::Saved;
use crate::model::{Gap, Kind, Minor, Need, Saving, Snapshot, Warning};
use crate::naming::keys;
use crate::wire::{Item, ListMeta, TypeMeta};

/// Puts facts together; of two states of one object, the newer counts.
#[derive(Debug, Default)]
pub(crate) struct SnapshotBuilder {
    items: Vec<Item>,
    places: BTreeMap<(Kind, String), usize>,
    /// Warnings, in the order in which they were met.
    pub(crate) warnings: Vec<Warning>,
}

impl SnapshotBuilder {
    /// Adds a fact.
    pub(crate) fn add(&mut self, item: Item) {
        match self.places.entry((item.object.kind(), item.object.name())) {
            Entry::Vacant(place) => {
                place.insert(self.items.len());
                self.items.push(item);
            }
            Entry::Occupied(place) => {
                let known = &mut self.items[*place.get()];
                if !is_same_state(known, &item) {
                    self.warnings.push(duplicate(known, &item));
                }
                if is_newer(&item.resource_version, &known.resource_version) {
                    *known = item;
                }
            }
        }
    }

    /// The facts by kind, and the objects that are kept as they are written, in the order in which they
    /// were met.
    pub(crate) fn finish(self) -> (Snapshot, Vec<SerializedObject>) {
        let mut snapshot = Snapshot::default();
        let mut written = Vec::new();
        for item in self.items {
            if let Some(object) = item.written {
                written.push(SerializedObject {
                    name: item.object.name(),
                    object: *object,
                });
            }
            item.object.add_to(&mut snapshot);
        }
        (snapshot, written)
    }
}

/// An object as it is written, with all its fields.
#[derive(Debug)]
pub(crate) struct SerializedObject {
    /// With the namespace, where there is one.
    pub(crate) name: String,
    pub(crate) object: Value,
}

/// True if two objects of one name are the same version: then either will do, without a
/// warning. Folders that programs make hold many such pairs.
fn is_same_state(one: &Item, other: &Item) -> bool {
    // Manifests that were never applied have no resourceVersion, so only their facts can be compared.
    if one.resource_version.is_empty() && other.resource_version.is_empty() {
        return one.object == other.object;
    }
    one.resource_version == other.resource_version
}

/// Resource versions are opaque by contract and growing numbers in practice (and by contract since
/// 1.35); of two that are no numbers, neither is newer.
fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version > than,
        (Ok(_), Err(_)) => true,
        (Err(_), _) => false,
    }
}

fn duplicate(known: &Item, other: &Item) -> Warning {
    let (known, other, which) = (&known.resource_version, &other.resource_version, known);
    let used = if is_newer(other, known) { other } else { known };
    Warning {
        code: "duplicate-object",
        message: format!(
            "{} {} occurs twice, with resourceVersion {} and {}; the one with {} is used",
            which.object.kind(),
            which.object.name(),
            shown(known),
            shown(other),
            shown(used),
        ),
        fix: Some("remove the other one from the input".to_owned()),
    }
}

fn shown(version: &str) -> &str {
    if version.is_empty() {
        "<none>"
    } else {
        version
    }
}

/// Gaps of every answer, because a required kind was nowhere in the input. Optional
/// kinds are requested by their users: see [`Reading::without`].
///
/// [`Reading::without`]: crate::model::Reading::without
pub(crate) fn gaps(present: &BTreeSet<Kind>) -> Vec<Gap> {
    Kind::ALL
        .into_iter()
        .filter(|kind| !present.contains(kind))
        .filter(|kind| match kind.need() {
            Need::Always | Need::WhereServed => true,
            Need::Optional => false,
        })
        // `kubectl get a,b -o json` puts all objects into one list, which says nothing about a kind
        // of which there is none: either it has no objects, or the user was not allowed to list it.
        .map(Gap::not_in_input)
        .collect()
}

/// Gap where claims are reserved for pods that are not there: only the pods of some namespaces
/// were saved, as by a must-gather. The cluster may have lost such a pod only a moment ago.
pub(crate) fn missing_pods(snapshot: &Snapshot) -> Option<Gap> {
    let known: BTreeSet<_> = snapshot.pods.iter().map(|pod| &pod.uid).collect();
    let missing: BTreeSet<String> = snapshot
        .claims
        .iter()
        .flat_map(|claim| {
            let consumers = claim.reserved_for.iter();
            let pods = consumers.filter(|consumer| &*consumer.resource == Kind::Pod.plural());
            let missing = pods.filter(|consumer| !known.contains(&consumer.uid));
            missing.map(|consumer| format!("{}/{}", claim.name.namespace, consumer.name))
        })
        .collect();
    let first = missing.first()?;
    let reason = format!(
        "pods that the input lacks and for which claims are reserved: {} (first: {first})",
        missing.len()
    );
    Some(Gap::of(Kind::Pod, &reason))
}

/// Time when the cluster was read, in RFC 3339.
const OBSERVED_AT: &str = keys::in_group!("observed-at");
/// The kinds that were asked for, separated by commas: there may be none of some of them.
const KINDS: &str = keys::in_group!("kinds");
/// The server's own version, such as `v1.37.0`.
const SERVER_VERSION: &str = keys::in_group!("server-version");

/// Annotations of a saved list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) observed_at: Option<Timestamp>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) version: Option<Minor>,
    /// The version as it is written.
    pub(crate) server_version: Option<String>,
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
pub(crate) fn annotations(saved: &Saved, notes: &SavedNotes) -> BTreeMap<&'static str, String> {
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
pub(crate) fn notes(file: &str, metadata: &ListMeta) -> Result<Notes, InputError> {
    let wrong = |annotation, value: &str, expected| {
        let value = value.escape_debug();
        InputError::unusable(format!(
            "cannot read {file}: annotation {annotation}: `{value}` is not {expected}"
        ))
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
pub(crate) fn version_of(found: &BTreeMap<TypeMeta, usize>) -> Option<Minor> {
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

/// Fields with a time that had passed when the object was read. Deletions and expiries may be in the future.
const PAST: [&[u8]; 20] = [
    b"acquireTime",
    b"allocationTimestamp",
    b"completionTime",
    b"creationTimestamp",
    b"eventTime",
    b"finishedAt",
    b"firstTimestamp",
    b"lastHeartbeatTime",
    b"lastObservedTime",
    b"lastProbeTime",
    b"lastScheduleTime",
    b"lastSuccessfulTime",
    b"lastTimestamp",
    b"lastTransitionTime",
    b"lastUpdateTime",
    b"renewTime",
    b"startTime",
    b"startedAt",
    b"time",
    b"timeAdded",
];
/// Most bytes of a field with its time.
const LONGEST: usize = 96;

/// Newest time of the text so far.
#[derive(Debug, Default)]
pub(crate) struct NewestTime {
    newest: Option<Timestamp>,
    /// The newest time as it is written: times in UTC are ordered as their text is.
    written: Vec<u8>,
    /// Text before the next `Z`.
    pending: Vec<u8>,
}

impl NewestTime {
    /// The newest time.
    pub(crate) fn get(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Looks at more text, which need not end at the end of a line.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        // All times of Kubernetes are in UTC, and end with a digit and this letter.
        while let Some(end) = memchr(b'Z', rest) {
            let before = rest[..end].last().or(self.pending.last());
            if before.is_some_and(u8::is_ascii_digit) {
                self.keep(&rest[..end]);
                self.look();
            }
            self.pending.clear();
            rest = &rest[end..][1..];
        }
        self.keep(rest);
    }

    /// Gives a reader on whose text this looks.
    pub(crate) fn of<R: Read>(&mut self, reader: R) -> impl Read {
        Watched {
            newest: self,
            reader,
        }
    }

    fn keep(&mut self, text: &[u8]) {
        let text = &text[text.len().saturating_sub(LONGEST)..];
        self.pending.extend_from_slice(text);
        let excess = self.pending.len().saturating_sub(LONGEST);
        self.pending.drain(..excess);
    }

    /// Takes the pending text for a field of the past with its time, if it ends with one.
    fn look(&mut self) {
        let is_of_time = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b':' | b'.' | b'T');
        let (before, time) = split_behind(&self.pending, |byte| !is_of_time(byte));
        if time <= self.written.as_slice() {
            return;
        }
        let before = without_quote(before).trim_ascii_end();
        let Some(before) = before.strip_suffix(b":") else {
            return;
        };
        // A key within a string of JSON has a backslash before its quotes, and one of an annotation has a domain.
        let (before, key) = split_behind(without_quote(before), |byte| !byte.is_ascii_alphabetic());
        let begins = before
            .last()
            .is_none_or(|byte| b" \n\t\"'{,".contains(byte));
        let parsed = std::str::from_utf8(time).map(|time| format!("{time}Z").parse());
        if PAST.contains(&key)
            && begins
            && let Ok(Ok(parsed)) = parsed
        {
            self.newest = Some(parsed);
            self.written = time.to_vec();
        }
    }
}

/// The text up to its last byte that `ends`, and the text behind it.
fn split_behind(text: &[u8], ends: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let begin = text.iter().rposition(ends);
    text.split_at(begin.map_or(0, |place| place.saturating_add(1)))
}

fn without_quote(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\"")
        .or(text.strip_suffix(b"'"))
        .unwrap_or(text)
}

/// A reader on whose text a [`NewestTime`] looks.
struct Watched<'a, R> {
    newest: &'a mut NewestTime,
    reader: R,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.newest.add(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Documents;

    fn warnings(pods: &[(&str, &str)]) -> usize {
        let mut gathering = SnapshotBuilder::default();
        for (version, node) in pods {
            let pod = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"ml","uid":"1","resourceVersion":"{version}"}},
                "spec":{{"nodeName":"{node}","resourceClaims":[{{"name":"gpu","resourceClaimName":"gpu"}}]}}}}"#
            );
            let mut documents = Documents::new();
            documents.decode_json(&pod).expect("a pod");
            for item in documents.finish().items {
                gathering.add(item);
            }
        }
        gathering.warnings.len()
    }

    #[test]
    fn one_state_of_an_object_may_occur_any_number_of_times() {
        for (name, pods, expected) in [
            ("same state", &[("7", "n"), ("7", "n"), ("7", "n")][..], 0),
            ("no states, same content", &[("", "n"), ("", "n")], 0),
            ("no states, other content", &[("", "n"), ("", "m")], 1),
            ("another state", &[("7", "n"), ("8", "n")], 1),
            ("one without a state", &[("7", "n"), ("", "n")], 1),
        ] {
            assert_eq!(warnings(pods), expected, "{name}");
        }
    }

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

    #[test]
    fn newest_time_of_the_past_is_found_however_the_text_is_cut() {
        let old = r#""startedAt":"2026-01-01T00:00:00Z""#;
        for (field, newest) in [
            (r#""lastHeartbeatTime":"2026-01-02T00:00:00Z""#, true),
            ("- lastTransitionTime: 2026-01-02T00:00:00Z\n", true),
            (r#"{time: "2026-01-02T00:00:00.000000Z"}"#, true),
            ("eventTime: '2026-01-02T00:00:00Z'", true),
            (r#""deletionTimestamp": "2026-01-02T00:00:00Z""#, false),
            (r#""example.com/renewTime": "2026-01-02T00:00:00Z""#, false),
            (r#""a": "{\"renewTime\":\"2026-01-02T00:00:00Z\"}""#, false),
            (r#""renewTime": "2026-99-02T00:00:00Z""#, false),
        ] {
            let expected = if newest { "2026-01-02" } else { "2026-01-01" };
            let text = format!("{field}, {old}");
            for cut in 0..text.len() {
                let mut found = NewestTime::default();
                found.add(&text.as_bytes()[..cut]);
                let rest = io::copy(&mut found.of(&text.as_bytes()[cut..]), &mut io::sink());
                rest.expect("memory");
                let found = found.get().expect("a time").to_string();
                assert!(found.starts_with(expected), "{field} at {cut}: {found}");
            }
        }
    }
}
