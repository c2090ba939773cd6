//! Devices known from claims alone, because their driver publishes nothing.
//!
//! A kubelet deletes the slices of a driver that has been away for half a minute. What claims hold stays allocated,
//! and pods go on running with it.

use std::collections::{BTreeMap, BTreeSet};

use super::termination_blocker::{DriverPresence, Publishers};
use crate::model::{DeviceId, DriverName, NodeName, Reading};

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
