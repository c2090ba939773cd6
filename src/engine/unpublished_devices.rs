//! Devices known from claims alone, because their driver publishes nothing.
//!
//! A kubelet deletes the slices of a driver that has been away for half a minute. What claims hold stays allocated,
//! and pods go on running with it.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashSet;

use super::devices::{complete_pools, current_slices, pool_slices};
use super::hardware::Hardware;
use super::termination_blocker::{DriverPresence, Publishers};
use crate::model::{DeviceId, DriverName, NodeName, PoolName, Reading, ResourceSlice, Snapshot};

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

/// The pools of `devices` of which slices are there, but not all: other devices of them may be unknown.
#[must_use]
pub fn incomplete_pools<'a>(
    devices: impl IntoIterator<Item = &'a DeviceId>,
    slices: &[ResourceSlice],
) -> BTreeSet<(&'a DriverName, &'a PoolName)> {
    let present = pool_slices(slices);
    let pools = devices.into_iter().map(|id| (&id.driver, &id.pool));
    pools
        .filter(|pool| present.get(pool).is_some_and(|found| !found.is_complete))
        .collect()
}

/// For each of `devices` the devices that claims hold and that are not published, nor were as far as `hardware` knows,
/// and that may be the same hardware: those of other drivers on its node, and those of its own pool, which its driver may
/// have renamed. Devices of which there are none are left out.
///
/// Nothing shows which devices share the hardware of one that is not published itself: any of its pool may, such as its
/// partitions. If a claim holds that one, it is in use in any case.
///
/// A device without a number has nothing by which it could be another driver's. Without `hardware`, attributes are
/// decoded of these devices alone, and only where there is anything unpublished.
#[must_use]
pub fn may_be_same_hardware<'a>(
    snapshot: &Snapshot,
    devices: impl IntoIterator<Item = &'a DeviceId>,
    hardware: Option<&Hardware>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let asked: BTreeSet<&DeviceId> = devices.into_iter().collect();
    let places = places_of(snapshot, &asked);
    let places = with_hidden(places, &asked);
    let mut unpublished = held_beside(snapshot, &places);
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
        if unpublished.contains_key(&device) {
            return None;
        }
        let is_numbered = has_number(&device);
        let may_be_it = |(held, at): &(&&DeviceId, &Option<&NodeName>)| {
            if held.driver == device.driver {
                held.pool == device.pool
            } else {
                is_numbered && node.is_some() && **at == node
            }
        };
        let others: BTreeSet<DeviceId> = unpublished
            .iter()
            .filter(may_be_it)
            .map(|(held, _)| (*held).clone())
            .collect();
        (!others.is_empty()).then_some((device, others))
    });
    possible.collect()
}

/// The published ones of these devices, each with its node if it is local to one.
fn places_of<'s>(
    snapshot: &'s Snapshot,
    asked: &BTreeSet<&DeviceId>,
) -> Vec<(DeviceId, Option<&'s NodeName>)> {
    let pools: BTreeSet<_> = asked.iter().map(|id| (&id.driver, &id.pool)).collect();
    let mut places = Vec::new();
    for slice in current_slices(&snapshot.slices) {
        if !pools.contains(&(&slice.driver, &slice.pool.name)) {
            continue;
        }
        for device in &slice.devices {
            let id = slice.id_of(device);
            if asked.contains(&id) {
                places.push((id, slice.node_of(device)));
            }
        }
    }
    places
}

/// The `places` of published devices, with those of the devices that are not published, whose node is not known.
fn with_hidden<'s>(
    mut places: Vec<(DeviceId, Option<&'s NodeName>)>,
    asked: &BTreeSet<&DeviceId>,
) -> Vec<(DeviceId, Option<&'s NodeName>)> {
    let published: HashSet<&DeviceId> = places.iter().map(|(id, _)| id).collect();
    let hidden = asked.iter().filter(|id| !published.contains(**id));
    let hidden: Vec<_> = hidden.map(|id| ((*id).clone(), None)).collect();
    places.extend(hidden);
    places
}

/// The devices that claims hold, and not for administration alone, and that are not published: of the pools of `places`,
/// and on their nodes of other drivers than one of those there; each with its node, as far as the allocation names it.
fn held_beside<'s>(
    snapshot: &'s Snapshot,
    places: &[(DeviceId, Option<&NodeName>)],
) -> BTreeMap<&'s DeviceId, Option<&'s NodeName>> {
    let mut drivers: BTreeMap<&NodeName, BTreeSet<&DriverName>> = BTreeMap::new();
    let mut pools: HashSet<(&DriverName, &PoolName)> = HashSet::default();
    for (device, node) in places {
        pools.insert((&device.driver, &device.pool));
        if let Some(node) = node {
            drivers.entry(*node).or_default().insert(&device.driver);
        }
    }
    let is_beside = |node: Option<&NodeName>, held: &DeviceId| {
        let here = node
            .and_then(|node| drivers.get(node))
            .into_iter()
            .flatten();
        pools.contains(&(&held.driver, &held.pool))
            || here.into_iter().any(|driver| **driver != held.driver)
    };
    let allocations = snapshot
        .claims
        .iter()
        .filter_map(|claim| claim.allocation.as_ref());
    let held = allocations.flat_map(|allocation| {
        let results = allocation.results.iter().filter(|one| !one.admin_access);
        results.map(|one| (&one.device, allocation.node.as_ref()))
    });
    let held: Vec<_> = held
        .filter(|(device, node)| is_beside(*node, device))
        .collect();
    let pools: HashSet<_> = held.iter().map(|(id, _)| (&id.driver, &id.pool)).collect();
    // Hashed by reference: most devices of a cluster may be held, and nearly all of them are published.
    let current = current_slices(&snapshot.slices).into_iter();
    let current = current.filter(|slice| pools.contains(&(&slice.driver, &slice.pool.name)));
    let published: HashSet<_> = current
        .flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.map(|device| (&slice.driver, &slice.pool.name, &device.name))
        })
        .collect();
    let is_published = |id: &DeviceId| published.contains(&(&id.driver, &id.pool, &id.device));
    held.into_iter()
        .filter(|(id, _)| !is_published(id))
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
    fn pools_are_incomplete_while_slices_are_missing_and_not_where_there_are_none() {
        let ids = [DEVICE.clone()];
        let pools = |slices: &[ResourceSlice]| incomplete_pools(&ids, slices).len();
        let whole = numbered(DEVICE.driver.as_str(), "gpu-0", None);
        let mut half = whole.clone();
        half.pool.slice_count = 2;
        let mut newer = half.clone();
        newer.pool.generation = newer.pool.generation.saturating_add(1);
        assert_eq!(pools(std::slice::from_ref(&whole)), 0);
        assert_eq!(pools(&[half]), 1);
        assert_eq!(pools(&[whole, newer]), 1, "of the newest generation");
        assert_eq!(pools(&[]), 0);
    }

    #[test]
    fn what_is_held_and_not_published_may_be_any_other_device_of_its_pool() {
        let held = claim_on_node(&pod("ml", "embed"));
        let gone = DEVICE.clone();
        let driver = gone.driver.as_str();
        let of = |name: &str| DeviceId {
            device: name.into(),
            ..gone.clone()
        };
        let ask = |slices: &[ResourceSlice], asked: &DeviceId, earlier: &Hardware| {
            let snapshot = Snapshot {
                slices: slices.to_vec(),
                claims: vec![held.clone()],
                ..Snapshot::default()
            };
            let hardware = Hardware::of(slices).with_earlier(earlier);
            let known = may_be_same_hardware(&snapshot, [asked], Some(&hardware));
            if *earlier == Hardware::default() {
                assert_eq!(known, may_be_same_hardware(&snapshot, [asked], None));
            }
            known.into_values().flatten().collect::<Vec<_>>()
        };
        let nothing = Hardware::default();
        let renamed = [numbered(driver, "gpu-a", Some("A"))];
        let only_gone = std::slice::from_ref(&gone);
        assert_eq!(ask(&renamed, &of("gpu-a"), &nothing), only_gone);
        let unnumbered = [numbered(driver, "gpu-a", None)];
        assert_eq!(ask(&unnumbered, &of("gpu-a"), &nothing), only_gone);
        // Seen before it got the other name, it is known which hardware it was.
        let before = Hardware::of(&[numbered(driver, gone.device.as_str(), Some("B"))]);
        assert_eq!(ask(&renamed, &of("gpu-a"), &before), []);
        let mut of_pool = numbered(driver, "gpu-a", Some("A"));
        of_pool.pool.name = "other".into();
        let other_pool = of_pool.id_of(&of_pool.devices[0]);
        assert_eq!(ask(&[of_pool], &other_pool, &nothing), []);
        let both = [
            numbered(driver, "gpu-a", Some("A")),
            numbered(driver, gone.device.as_str(), Some("B")),
        ];
        assert_eq!(ask(&both, &of("gpu-a"), &nothing), []);
        // Its driver publishes nothing: whether it is a partition of the other is unknown.
        assert_eq!(ask(&[], &of("card-0"), &nothing), only_gone);
        assert_eq!(ask(&[], &gone, &nothing), [], "it is in use itself");
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
