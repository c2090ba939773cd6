//! Attributes, capacities and counters of devices.

use super::kinds::{Notes, Reader};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Kind, Reading};
use crate::wire::Detail;

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
    reading.gaps.extend(notes.gaps);
    reading.known.extend(notes.known);
    reading.resource_versions.extend(notes.resource_versions);
    for warning in notes.warnings {
        if !reading.warnings.contains(&warning) {
            reading.warnings.push(warning);
        }
    }
    Ok(reading)
}
