//! Devices, who holds them, and what taints them: everything but the pods.

use std::collections::BTreeSet;

use futures::join;

use super::disruption_inputs::EarlyInputs;
use super::kinds::{Notes, Outcome, Reader};
use super::list::List;
use super::pods::read_pods;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{
    DeviceId, DeviceTaintRule, Kind, Reading, ResourceClaim, ResourceSlice, Snapshot, Source,
};
use crate::wire::Detail;

/// Reads what a preview of the devices that `selects` chooses needs.
///
/// # Errors
///
/// As [`read_devices`] and [`read_pods`].
pub async fn read_for_preview(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let reading = read_devices(client, served, detail).await?;
    read_pods(client, served, reading, selects).await
}

/// Data that is read at the same time as the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMore {
    /// Devices alone.
    No,
    /// Inputs of a report about evictions, whatever is evicted.
    EarlyInputs,
    /// The same with all pods that have claims, since most of them are expected to be concerned.
    EarlyInputsAndPods,
}

/// Reads devices as [`read_devices`], and beside them what is asked for `more`.
///
/// # Errors
///
/// As [`read_devices`].
pub async fn read_devices_and(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
    more: ReadMore,
) -> Result<(Reading, Option<EarlyInputs>), ClusterError> {
    let early = async {
        let with_pods = match more {
            ReadMore::No => return None,
            ReadMore::EarlyInputs => false,
            ReadMore::EarlyInputsAndPods => true,
        };
        Some(EarlyInputs::read(client, served, BTreeSet::new(), with_pods).await)
    };
    let (reading, early) = join!(read_devices(client, served, detail), early);
    Ok((reading?, early))
}

/// Reads all slices, claims and rules, side by side.
///
/// Data that the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_devices(
    client: &ApiClient,
    served: &ServedKinds,
    detail: Detail,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail,
    };
    read_with(&reader, reader.all()).await
}

/// As [`read_devices`], with rules that are read otherwise.
///
/// # Errors
///
/// As [`read_devices`], and as the `rules`.
pub(in crate::cluster) async fn read_devices_beside(
    client: &ApiClient,
    served: &ServedKinds,
    rules: impl Future<Output = Result<List<DeviceTaintRule>, ClusterError>>,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    read_with(&reader, async { Ok(Outcome::Read(rules.await?)) }).await
}

/// Reads slices and claims beside the `rules`.
async fn read_with(
    reader: &Reader<'_>,
    rules: impl Future<Output = Result<Outcome<DeviceTaintRule>, ClusterError>>,
) -> Result<Reading, ClusterError> {
    let Reader { client, served, .. } = *reader;
    let (slices, claims, rules) = join!(
        reader.all::<ResourceSlice>(),
        reader.all::<ResourceClaim>(),
        rules,
    );
    let (slices, claims, rules) = (slices?, claims?, rules?);
    let claims = match (&slices, claims) {
        // Slices or claims alone allow a partial answer; without both there is nothing to report.
        (Outcome::Denied(_), Outcome::Denied(error)) => return Err(error),
        (_, claims) => claims,
    };
    let mut notes = Notes {
        warnings: served.findings.clone(),
        ..Notes::default()
    };
    let snapshot = Snapshot {
        slices: notes.take(Kind::ResourceSlice, slices),
        claims: notes.take(Kind::ResourceClaim, claims),
        rules: notes.take(Kind::DeviceTaintRule, rules),
        ..Snapshot::default()
    };
    Ok(reading_of(client, served, snapshot, notes))
}

/// A reading of the cluster that `client` asks.
pub(in crate::cluster) fn reading_of(
    client: &ApiClient,
    served: &ServedKinds,
    snapshot: Snapshot,
    notes: Notes,
) -> Reading {
    Reading {
        snapshot,
        source: Source::Cluster {
            context: client.context().map(str::to_owned),
            server: Some(client.server().url.clone()),
            server_version: served.git_version.clone(),
        },
        // The server's clock, because deadlines count from times that its components wrote.
        observed_at: client.server_time(),
        is_time_guessed: false,
        version: served.version,
        known: notes.known,
        resource_versions: notes.resource_versions,
        warnings: notes.warnings,
        gaps: notes.gaps,
    }
}
