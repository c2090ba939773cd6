//! Devices known from claims alone, because their driver publishes nothing.
//!
//! A kubelet deletes the slices of a driver that has been away for half a minute. What claims hold stays allocated,
//! and pods go on running with it.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::{complete_pools, current_slices};
use super::hardware::Hardware;
use super::termination_blocker::{DriverPresence, Publishers};
use crate::model::{DeviceId, DriverName, NodeName, Reading, ResourceSlice, Snapshot};

/// Devices of one driver on one node of which nothing is published, since the driver publishes nothing there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnpublishedDevices {
    /// The node.
    pub node: NodeName,
    /// The driver.
    pub driver: DriverName,
    /// The devices that claims hold, by name.
    pub devices: Vec<DeviceId>,
}

/// Those of `devices`, each with its node, that are not published since their driver is away.
#[must_use]
pub fn away<'a>(
    reading: &Reading,
    devices: impl IntoIterator<Item = (&'a DeviceId, &'a NodeName)>,
) -> Vec<UnpublishedDevices> {
    let devices: BTreeSet<(&DeviceId, &NodeName)> = devices.into_iter().collect();
    let nodes = devices.iter().map(|(_, node)| (*node).clone()).collect();
    let publishers = Publishers::of(reading, &nodes);
    let mut found: BTreeMap<(&NodeName, &DriverName), Vec<DeviceId>> = BTreeMap::new();
    for (device, node) in &devices {
        match publishers.presence(node, &device.driver) {
            DriverPresence::Gone { .. } => {
                let key = (*node, &device.driver);
                found.entry(key).or_default().push((*device).clone());
            }
            DriverPresence::Published | DriverPresence::Unknown => {}
        }
    }
    let away =
        |((node, driver), devices): ((&NodeName, &DriverName), Vec<DeviceId>)| UnpublishedDevices {
            node: node.clone(),
            driver: driver.clone(),
            devices,
        };
    found.into_iter().map(away).collect()
}

/// Those of `devices` that are not published, and of whose pool other devices may be unknown, too. A driver that publishes the
/// whole pool without a device has removed or renamed it, and shows all others.
#[must_use]
pub fn in_unknown_pools<'a>(
    devices: impl IntoIterator<Item = &'a DeviceId>,
    slices: &[ResourceSlice],
) -> BTreeSet<&'a DeviceId> {
    let complete = complete_pools(slices);
    let devices = devices.into_iter();
    let mut unknown: BTreeSet<&DeviceId> = devices
        .filter(|id| !complete.contains(&(&id.driver, &id.pool)))
        .collect();
    if !unknown.is_empty() {
        for slice in current_slices(slices) {
            for device in &slice.devices {
                unknown.remove(&slice.id_of(device));
            }
        }
    }
    unknown
}

/// For each of `devices` the devices of other drivers on its node that claims hold and of which nothing is published, or
/// was as far as `hardware` knows: each of them may be the same hardware. Devices of which there are none are left out.
///
/// A device without a number has nothing by which it could be another driver's, and is left out, too. Without
/// `hardware`, attributes are decoded of these devices alone, and only where there is anything unpublished.
#[must_use]
pub fn may_be_same_hardware<'a>(
    snapshot: &Snapshot,
    devices: impl IntoIterator<Item = &'a DeviceId>,
    hardware: Option<&Hardware>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let asked: BTreeSet<&DeviceId> = devices.into_iter().collect();
    let places = places_of(snapshot, &asked);
    let mut unpublished = held_beside(snapshot, &places);
    if unpublished.is_empty() {
        return BTreeMap::new();
    }
    let pools: BTreeSet<_> = unpublished
        .keys()
        .map(|id| (&id.driver, &id.pool))
        .collect();
    for slice in current_slices(&snapshot.slices) {
        if pools.contains(&(&slice.driver, &slice.pool.name)) {
            for device in &slice.devices {
                unpublished.remove(&slice.id_of(device));
            }
        }
    }
    unpublished.retain(|device, _| hardware.is_none_or(|hardware| !hardware.knows(device)));
    if unpublished.is_empty() {
        return BTreeMap::new();
    }
    let decoded = hardware
        .is_none()
        .then(|| Hardware::among(&snapshot.slices, &asked));
    let numbers = hardware.or(decoded.as_ref());
    let has_number = |id: &DeviceId| numbers.is_some_and(|numbers| numbers.has_number(id));
    let possible = places.into_iter().filter_map(|(device, node)| {
        let here = unpublished.iter().filter(|(_, at)| **at == node);
        let of_others = here.filter(|(held, _)| held.driver != device.driver);
        let others: BTreeSet<DeviceId> = of_others.map(|(held, _)| (*held).clone()).collect();
        (!others.is_empty() && has_number(&device)).then_some((device, others))
    });
    possible.collect()
}

/// The published ones of these devices, each with its node.
fn places_of<'s>(
    snapshot: &'s Snapshot,
    asked: &BTreeSet<&DeviceId>,
) -> Vec<(DeviceId, &'s NodeName)> {
    let pools: BTreeSet<_> = asked.iter().map(|id| (&id.driver, &id.pool)).collect();
    let mut places = Vec::new();
    for slice in current_slices(&snapshot.slices) {
        if !pools.contains(&(&slice.driver, &slice.pool.name)) {
            continue;
        }
        for device in &slice.devices {
            let id = slice.id_of(device);
            if let Some(node) = slice.node_of(device).filter(|_| asked.contains(&id)) {
                places.push((id, node));
            }
        }
    }
    places
}

/// The devices that claims hold, and not for administration alone, on the nodes of `places`, of other drivers than one
/// of those there; each with its node, as far as the allocation names it.
fn held_beside<'s>(
    snapshot: &'s Snapshot,
    places: &[(DeviceId, &NodeName)],
) -> BTreeMap<&'s DeviceId, &'s NodeName> {
    let mut drivers: BTreeMap<&NodeName, BTreeSet<&DriverName>> = BTreeMap::new();
    for (device, node) in places {
        drivers.entry(*node).or_default().insert(&device.driver);
    }
    let is_beside = |node: &NodeName, held: &DeviceId| {
        let here = drivers.get(node).into_iter().flatten();
        here.into_iter().any(|driver| **driver != held.driver)
    };
    let allocations = snapshot
        .claims
        .iter()
        .filter_map(|claim| claim.allocation.as_ref());
    let held = allocations.flat_map(|allocation| {
        let results = allocation.results.iter().filter(|one| !one.admin_access);
        results.filter_map(|one| Some((&one.device, allocation.node.as_ref()?)))
    });
    held.filter(|(device, node)| is_beside(node, device))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{DEVICE, claim_on_node, pod, published, slice_of};
    use crate::model::{Allocation, ResourceSlice};

    fn numbered(driver: &str, name: &str, uuid: Option<&str>) -> ResourceSlice {
        let attributes = uuid.map(|uuid| ("uuid", uuid));
        slice_of(driver, vec![published(name, attributes.as_slice())])
    }

    #[test]
    fn what_is_held_and_not_published_may_be_any_numbered_hardware_of_the_node() {
        let held = claim_on_node(&pod("ml", "embed"));
        let gpu = DEVICE.clone();
        let card = |uuid| Snapshot {
            slices: vec![numbered("vfio.example.com", "card0", uuid)],
            claims: vec![held.clone()],
            ..Snapshot::default()
        };
        let ask = |snapshot: &Snapshot, earlier: &Hardware| {
            let hardware = Hardware::of(&snapshot.slices).with_earlier(earlier);
            let slice = snapshot.slices.last().expect("a slice");
            let card = slice.id_of(&slice.devices[0]);
            let possible = may_be_same_hardware(snapshot, [&card], Some(&hardware));
            if *earlier == Hardware::default() {
                let anew = may_be_same_hardware(snapshot, [&card], None);
                assert_eq!(anew, possible, "decoded for the question");
            }
            possible.into_values().flatten().collect::<Vec<_>>()
        };
        let nothing = Hardware::default();
        let snapshot = card(Some("A"));
        assert_eq!(ask(&snapshot, &nothing), std::slice::from_ref(&gpu));
        assert_eq!(
            ask(&card(None), &nothing),
            [],
            "no number to have in common"
        );
        let mut elsewhere = snapshot.clone();
        let other = |allocation: &mut Allocation| allocation.node = Some("node-8".into());
        elsewhere.claims[0].allocation.as_mut().map(other);
        assert_eq!(ask(&elsewhere, &nothing), []);
        let mut monitor = snapshot.clone();
        let results = monitor.claims[0]
            .allocation
            .as_mut()
            .map(|it| &mut it.results);
        results
            .into_iter()
            .flatten()
            .for_each(|one| one.admin_access = true);
        assert_eq!(ask(&monitor, &nothing), []);
        // The driver is back, or was there a moment ago: then it is known what it is.
        let own = numbered(gpu.driver.as_str(), gpu.device.as_str(), Some("B"));
        assert_eq!(
            ask(&snapshot, &Hardware::of(std::slice::from_ref(&own))),
            []
        );
        let mut both = snapshot;
        both.slices.insert(0, own);
        assert_eq!(ask(&both, &nothing), []);
    }
}
