//! Kinds that only some answers use.

use super::kinds::{Notes, Outcome, Reader};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::Reading;
use crate::wire::{Detail, Fact};

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
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    reader.all::<T>().await
}

/// The reading with their outcome.
pub(super) fn with<T: Fact>(mut reading: Reading, outcome: Outcome<T>) -> Reading {
    let mut notes = Notes::default();
    *T::all(&mut reading.snapshot) = notes.take(T::KIND, outcome);
    reading.known.extend(notes.known);
    reading.warnings.extend(notes.warnings);
    reading.gaps.extend(notes.gaps);
    reading.resource_versions.extend(notes.resource_versions);
    reading
}
