//! All objects of one kind, and what it means when there are none to be had.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::lists::{List, Listing, Selection};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::{ServedKinds, how_to_serve};
use crate::cluster::error::ClusterError;
use crate::model::{Event, Gap, Kind, Need, Reading, Warning};
use crate::wire::{Detail, Fact, Version};

/// Outcome of a list.
pub(super) enum Outcome<T> {
    Read(List<T>),
    /// The server does not have the kind.
    Absent,
    /// The user may not read it.
    Denied(ClusterError),
}

impl<T> Outcome<T> {
    /// Distinguishes missing permissions and missing kinds from failures.
    pub(super) fn new(
        kind: Kind,
        result: Result<List<T>, ClusterError>,
    ) -> Result<Self, ClusterError> {
        match result {
            Ok(list) => Ok(Self::Read(list)),
            Err(error @ ClusterError::Forbidden { .. }) => Ok(Self::Denied(error)),
            // Discovery has not asked for a kind that has one version only.
            Err(ClusterError::NotFound { .. }) if kind.need() == Need::Optional => Ok(Self::Absent),
            Err(error) => Err(error),
        }
    }
}

/// Reads kinds of one cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) client: &'a ApiClient,
    pub(super) served: &'a ServedKinds,
    pub(super) detail: Detail,
}

impl<'a> Reader<'a> {
    /// Reads names alone, of devices.
    pub(super) fn new(client: &'a ApiClient, served: &'a ServedKinds) -> Self {
        let detail = Detail::Names;
        Self {
            client,
            served,
            detail,
        }
    }

    /// All facts of a kind.
    pub(super) async fn all<T: Fact>(&self) -> Result<Outcome<T>, ClusterError> {
        self.selected(Selection::All).await
    }

    /// The facts of a kind that the server selects.
    pub(super) async fn selected<T: Fact>(
        &self,
        selection: Selection,
    ) -> Result<Outcome<T>, ClusterError> {
        match self.listing(T::KIND, selection) {
            Some(listing) => Outcome::new(T::KIND, listing.facts(|_: &T| true).await),
            None => Ok(Outcome::Absent),
        }
    }

    /// The facts of a kind that the server selects, where an answer cannot do without them.
    pub(super) async fn required<T: Fact>(
        &self,
        selection: Selection,
    ) -> Result<List<T>, ClusterError> {
        let version = self.version::<T>()?;
        let listing = Listing::new(self.client, version, selection, self.detail);
        listing.facts(|_: &T| true).await
    }

    /// The version of a kind.
    ///
    /// # Errors
    ///
    /// When the server does not have the kind.
    pub(super) fn version<T: Fact>(&self) -> Result<&'static Version, ClusterError> {
        let version = self.served.version_of(T::KIND);
        version.ok_or_else(|| ClusterError::NotServed {
            server: Arc::clone(self.client.server()),
            kind: T::KIND,
            advice: how_to_serve(T::KIND, self.served.version),
        })
    }

    /// The list, unless the server does not have the kind.
    pub(super) fn listing(&self, kind: Kind, selection: Selection) -> Option<Listing<'a>> {
        let version = self.served.version_of(kind)?;
        Some(Listing::new(self.client, version, selection, self.detail))
    }
}

/// Warnings and gaps of the lists.
#[derive(Default)]
pub(crate) struct Notes {
    /// The kinds of which everything was read.
    pub(super) known: BTreeSet<Kind>,
    pub(super) warnings: Vec<Warning>,
    pub(super) gaps: Vec<Gap>,
    pub(super) resource_versions: BTreeMap<String, String>,
}

impl Notes {
    /// The objects, as far as there are any.
    pub(super) fn take<T>(&mut self, kind: Kind, outcome: Outcome<T>) -> Vec<T> {
        match outcome {
            Outcome::Read(list) => {
                let version = list.metadata.resource_version;
                self.known.insert(kind);
                self.resource_versions
                    .insert(kind.plural().to_owned(), version);
                self.warnings.extend(list.warnings);
                return list.items;
            }
            Outcome::Denied(error) => self.denied(kind, &error),
            Outcome::Absent => self.absent(kind),
        }
        Vec::new()
    }

    /// Adds them to those of a reading; the same warning is not repeated.
    pub(super) fn add_to(self, reading: &mut Reading) {
        reading.known.extend(self.known);
        reading.gaps.extend(self.gaps);
        reading.resource_versions.extend(self.resource_versions);
        for warning in self.warnings {
            if !reading.warnings.contains(&warning) {
                reading.warnings.push(warning);
            }
        }
    }

    /// The user may not read the kind.
    pub(super) fn denied(&mut self, kind: Kind, error: &ClusterError) {
        self.gaps.push(Gap::of(kind, &error.to_string()));
    }

    /// The server does not have the kind.
    pub(super) fn absent(&mut self, kind: Kind) {
        match kind.need() {
            // Then nothing of it can be missing, and discovery has told so.
            Need::WhereServed => {
                self.known.insert(kind);
            }
            // So it is with workloads of an API that has to be installed.
            Need::Optional if kind.is_workload() => {
                self.known.insert(kind);
            }
            Need::Always | Need::Optional => {
                self.gaps
                    .push(Gap::of(kind, "the server does not serve them"));
            }
        }
    }
}

/// Facts that answer one question beside those of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadResult<T> {
    /// The facts.
    pub facts: T,
    /// Warnings about the decoded objects, which can be used all the same.
    pub warnings: Vec<Warning>,
}

/// Adds to `reading` all objects of an optional kind, for a report that uses it.
///
/// Data that the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When the list cannot be read completely, unless permission is missing.
pub async fn read_optional<T: Fact>(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
) -> Result<Reading, ClusterError> {
    Ok(with(reading, all::<T>(client, served).await?))
}

/// All facts of a kind, or why there are none to be had.
pub(super) async fn all<T: Fact>(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<Outcome<T>, ClusterError> {
    Reader::new(client, served).all::<T>().await
}

/// The reading with their outcome.
pub(super) fn with<T: Fact>(mut reading: Reading, outcome: Outcome<T>) -> Reading {
    let mut notes = Notes::default();
    *T::all(&mut reading.snapshot) = notes.take(T::KIND, outcome);
    notes.add_to(&mut reading);
    reading
}

/// Reads all facts of one kind; none where the server does not have it, or the user may not read it.
///
/// For proposals only: an answer has to tell what is not known from what is not there.
///
/// # Errors
///
/// When the list cannot be read completely, unless permission is missing.
pub async fn read_names<T: Fact>(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<Vec<T>, ClusterError> {
    let reader = Reader::new(client, served);
    Ok(match reader.all::<T>().await? {
        Outcome::Read(list) => list.items,
        Outcome::Absent | Outcome::Denied(_) => Vec::new(),
    })
}

/// The reading with `kinds` read again, slices with all that they say of devices, and device classes.
///
/// Most commands do without: attributes are most of the bytes of a slice.
///
/// # Errors
///
/// When a list cannot be read completely.
pub async fn read_attributes(
    client: &ApiClient,
    served: &ServedKinds,
    mut reading: Reading,
    kinds: &[Kind],
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Attributes,
    };
    let mut notes = Notes::default();
    if kinds.contains(&Kind::ResourceSlice) {
        reading.snapshot.slices = notes.take(Kind::ResourceSlice, reader.all().await?);
    }
    if kinds.contains(&Kind::DeviceClass) {
        reading.snapshot.classes = notes.take(Kind::DeviceClass, reader.all().await?);
    }
    let is_new = |kind: Option<Kind>| kind.is_some_and(|kind| kinds.contains(&kind));
    // The second reading of a kind supersedes the gaps of the first.
    reading.gaps.retain(|gap| !is_new(gap.kind()));
    notes.add_to(&mut reading);
    Ok(reading)
}

/// The events about the rule called `name`, oldest first.
///
/// # Errors
///
/// As any read.
pub async fn rule_events(
    client: &ApiClient,
    served: &ServedKinds,
    name: &str,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let selector = format!("involvedObject.kind=DeviceTaintRule,involvedObject.name={name}");
    events(client, served, selector).await
}

/// Everything that was reported about evictions, in all namespaces, oldest first; the server forgets
/// after an hour.
///
/// The controller notes nothing on rules: these events are about pods, and do not say which rule they
/// are due to. All of them have one reason, whatever happened.
///
/// Upstream: `emitPodDeletionEvent` and `emitCancelPodDeletionEvent` in `device_taint_eviction.go`.
///
/// # Errors
///
/// As any read.
pub async fn eviction_events(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let selector = "involvedObject.kind=Pod,reason=DeviceTaintManagerEviction";
    events(client, served, selector.to_owned()).await
}

async fn events(
    client: &ApiClient,
    served: &ServedKinds,
    selector: String,
) -> Result<ReadResult<Vec<Event>>, ClusterError> {
    let reader = Reader::new(client, served);
    let mut events: List<Event> = reader.required(Selection::Fields(selector)).await?;
    events
        .items
        .sort_by(|left, right| (left.last, &left.reason).cmp(&(right.last, &right.reason)));
    Ok(ReadResult {
        facts: events.items,
        warnings: events.warnings,
    })
}
