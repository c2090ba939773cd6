//! The object and field a taint comes from.

use jiff::Timestamp;

use super::step::FieldReference;
use crate::engine::explain::{ExplainInput, Publication};
use crate::engine::{Origin, ProposedTaint};
use crate::model::{Device, DeviceId, ResourceSlice, Snapshot, Taint};
use crate::naming::age::human_duration;

/// Whose a taint is, in words, and where it stands; `place` is that of a driver's taint on its device.
pub(super) fn origin(
    origin: Origin<'_>,
    place: Option<usize>,
    publication: Publication<'_>,
    input: &ExplainInput<'_>,
) -> (String, Option<FieldReference>) {
    match origin {
        Origin::Proposed(number) => of_rule(input.taints.get(number), number, input),
        Origin::Rule(name) => (
            format!("rule {name}"),
            FieldReference::new("DeviceTaintRule", name, ".spec.taint"),
        ),
        Origin::ResourceSlice(slice) => {
            let device = match publication {
                Publication::Current(_, device) => Some(device),
                // Without a current slice there is no field that a path could name.
                Publication::Outdated(..) | Publication::Nowhere => None,
            };
            let path = device
                .zip(place)
                .map_or_else(String::new, |(device, taint)| {
                    format!(".spec.devices[{device}].taints[{taint}]")
                });
            (
                "the driver".to_owned(),
                FieldReference::new("ResourceSlice", slice, path),
            )
        }
    }
}

fn of_rule(
    taint: Option<&ProposedTaint>,
    number: usize,
    input: &ExplainInput<'_>,
) -> (String, Option<FieldReference>) {
    match taint.and_then(|taint| taint.rule.as_ref()) {
        Some(rule) => {
            let assumed = if number < input.assumed {
                ", as proposed"
            } else {
                ""
            };
            (
                format!("rule {rule}{assumed}"),
                FieldReference::new("DeviceTaintRule", rule, ".spec.taint"),
            )
        }
        None => ("a proposed rule".to_owned(), FieldReference::question()),
    }
}

/// Where a device is published, in the newest generation of its pool.
pub(super) fn published(id: &DeviceId, snapshot: &Snapshot) -> Option<FieldReference> {
    let (slice, place, _) = find(id, snapshot)?;
    let path = format!(".spec.devices[{place}]");
    FieldReference::new("ResourceSlice", &slice.name, path)
}

/// Where a taint that the driver has set stands on a device that it publishes.
pub(super) fn published_taint(
    id: &DeviceId,
    taint: &Taint,
    snapshot: &Snapshot,
) -> Option<FieldReference> {
    let (slice, place, device) = find(id, snapshot)?;
    let taint = device.taints.iter().position(|known| known == taint)?;
    let path = format!(".spec.devices[{place}].taints[{taint}]");
    FieldReference::new("ResourceSlice", &slice.name, path)
}

fn find<'a>(
    id: &DeviceId,
    snapshot: &'a Snapshot,
) -> Option<(&'a ResourceSlice, usize, &'a Device)> {
    let slices = snapshot
        .slices
        .iter()
        .filter(|slice| slice.driver == id.driver && slice.pool.name == id.pool);
    // Slices of an older generation may still be listed while the driver replaces them, and count for nothing.
    let newest = slices.clone().map(|slice| slice.pool.generation).max();
    let mut current = slices.filter(|slice| Some(slice.pool.generation) == newest);
    current.find_map(|slice| {
        let mut devices = slice.devices.iter().enumerate();
        let (place, device) = devices.find(|(_, device)| device.name == id.device)?;
        Some((slice, place, device))
    })
}

/// Since when a taint is there.
pub(super) fn since(taint: &Taint, now: Timestamp) -> String {
    match taint.time_added {
        Some(at) if at == now => "from now on".to_owned(),
        Some(at) => {
            let ago = human_duration(now.duration_since(at));
            format!("since {at} ({ago} ago)")
        }
        None => "since an unknown time".to_owned(),
    }
}
