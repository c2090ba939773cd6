//! Reading at once what a server is remembered to have, a round trip earlier than asking it first.

use std::collections::BTreeSet;

use futures::join;

use super::devices::read_devices;
use super::disruption_inputs::EarlyInputs;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::discovery::{forget, git_version, remembered};
use crate::cluster::error::ClusterError;
use crate::model::{Reading, Source};
use crate::wire::Detail;

/// Whether more than devices is asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMore {
    /// Devices alone.
    No,
    /// What an answer about evictions needs whatever is evicted.
    EarlyInputs,
}

async fn read_early(
    client: &ApiClient,
    served: &ServedKinds,
    more: ReadMore,
) -> Option<EarlyInputs> {
    match more {
        ReadMore::No => None,
        ReadMore::EarlyInputs => Some(EarlyInputs::read(client, served, BTreeSet::new()).await),
    }
}

/// As [`read_devices`], and beside it what is asked for `more`.
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
    let devices = read_devices(client, served, detail);
    let (reading, early) = join!(devices, read_early(client, served, more));
    Ok((reading?, early))
}

/// As [`read_devices`] with `discover` before it, where enough is remembered
/// of the server; `None` where it is not, or is no longer so.
///
/// What is read is what the server has: it alone says what version it is, and it answers the lists. A
/// version of an API that it does not have any more shows by their absence.
///
/// # Errors
///
/// As [`read_devices`].
pub async fn read_remembered(
    client: &ApiClient,
    detail: Detail,
    more: ReadMore,
) -> Result<Option<(ServedKinds, Reading, Option<EarlyInputs>)>, ClusterError> {
    // At the newest version rules do not select by attributes; only the question may ask for more.
    let Some(served) = remembered(client) else {
        return Ok(None);
    };
    let (told, read, early) = join!(
        git_version(client),
        read_devices(client, &served, detail),
        read_early(client, &served, more),
    );
    match read {
        Ok(reading) => {
            let served = served.at(told?);
            Ok(Some((served.clone(), told_by(reading, served), early)))
        }
        Err(error) if is_contradiction(&error) => {
            forget(client);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether the server may have something else than is remembered.
fn is_contradiction(error: &ClusterError) -> bool {
    matches!(
        error,
        ClusterError::NotFound { .. }
            | ClusterError::NotServed { .. }
            | ClusterError::Foreign { .. }
            | ClusterError::Refused { .. }
            | ClusterError::Undecodable { .. }
    )
}

/// The reading with the version that was not known when it began.
fn told_by(reading: Reading, served: ServedKinds) -> Reading {
    let source = match reading.source {
        Source::Cluster {
            context, server, ..
        } => Source::Cluster {
            context,
            server,
            server_version: served.git_version,
        },
        Source::Files => Source::Files,
    };
    Reading {
        source,
        version: served.version,
        ..reading
    }
}
