//! Devices, who holds them, and what taints them: everything but the pods.

use futures::join;

use super::kinds::{Notes, Outcome, Reader};
use super::read_pods;
use crate::cluster::{ApiClient, ClusterError, Served};
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
    served: &Served,
    detail: Detail,
    selects: impl Fn(&DeviceId) -> bool,
) -> Result<Reading, ClusterError> {
    let reading = read_devices(client, served, detail).await?;
    read_pods(client, served, reading, selects).await
}

/// Reads all slices, claims and rules, side by side, and classes if a rule refers to one.
///
/// What the user may not read, or the server does not have, is a gap in the reading.
///
/// # Errors
///
/// When neither slices nor claims can be read, or any list not completely.
pub async fn read_devices(
    client: &ApiClient,
    served: &Served,
    detail: Detail,
) -> Result<Reading, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail,
    };
    let (slices, claims, rules) = join!(
        reader.all::<ResourceSlice>(),
        reader.all::<ResourceClaim>(),
        reader.all::<DeviceTaintRule>(),
    );
    let (slices, claims, rules) = (slices?, claims?, rules?);
    let claims = match (&slices, claims) {
        (Outcome::Denied(_), Outcome::Denied(error)) => return Err(error),
        (_, claims) => claims,
    };
    let mut notes = Notes {
        warnings: served.findings.clone(),
        ..Notes::default()
    };
    let mut snapshot = Snapshot {
        slices: notes.take(Kind::ResourceSlice, slices),
        claims: notes.take(Kind::ResourceClaim, claims),
        rules: notes.take(Kind::DeviceTaintRule, rules),
        ..Snapshot::default()
    };
    if snapshot.rules.iter().any(refers_to_class) {
        let classes = reader.all().await?;
        snapshot.classes = notes.take(Kind::DeviceClass, classes);
    }
    Ok(Reading {
        snapshot,
        source: Source::Cluster {
            context: client.context().map(str::to_owned),
            server_version: served.git_version.clone(),
        },
        observed_at: client.server_time(),
        version: served.version,
        known: notes.known,
        resource_versions: notes.resource_versions,
        warnings: notes.warnings,
        gaps: notes.gaps,
    })
}

fn refers_to_class(rule: &DeviceTaintRule) -> bool {
    let selector = rule.selector.as_ref();
    selector.is_some_and(|selector| selector.device_class.is_some())
}
