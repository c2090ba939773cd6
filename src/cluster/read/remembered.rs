//! Reading at once what a server is remembered to have, a round trip earlier than asking it first.

use futures::join;

use super::devices::read_devices;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::discovery::{forget, git_version, remembered};
use crate::cluster::error::ClusterError;
use crate::model::{Reading, Source};
use crate::wire::Detail;

/// As [`read_devices`] with [`discover`](crate::cluster::discover) before it, where enough is remembered
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
) -> Result<Option<(ServedKinds, Reading)>, ClusterError> {
    // At the newest version rules do not select by attributes; only the question may ask for more.
    let Some(served) = remembered(client) else {
        return Ok(None);
    };
    let (told, read) = join!(git_version(client), read_devices(client, &served, detail));
    match read {
        Ok(reading) => {
            let served = served.at(told?);
            Ok(Some((served.clone(), told_by(reading, served))))
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
