//! Devices known from claims alone, because their driver publishes nothing.
//!
//! A kubelet deletes the slices of a driver that has been away for half a minute. What claims hold stays allocated,
//! and pods go on running with it.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::{complete_pools, current_slices, pool_slices};
use super::termination_blocker::{DriverPresence, Publishers};
use crate::model::{DeviceId, DriverName, NodeName, PoolName, Reading, ResourceSlice};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ResourceSlice;
    use crate::testing::{DEVICE, published, slice};

    #[test]
    fn pools_are_incomplete_while_slices_are_missing_and_not_where_there_are_none() {
        let ids = [DEVICE.clone()];
        let pools = |slices: &[ResourceSlice]| incomplete_pools(&ids, slices).len();
        let whole = slice(vec![published("gpu-0", &[])]);
        let mut half = whole.clone();
        half.pool.slice_count = 2;
        let mut newer = half.clone();
        newer.pool.generation = newer.pool.generation.saturating_add(1);
        assert_eq!(pools(std::slice::from_ref(&whole)), 0);
        assert_eq!(pools(&[half]), 1);
        assert_eq!(pools(&[whole, newer]), 1, "of the newest generation");
        assert_eq!(pools(&[]), 0);
    }
}
