//! Devices close to one another, such as on the same PCIe root.
//!
//! Devices behind the same PCIe root of a node, or in the same NVLink domain, are different hardware that is used
//! together: what is done to the root or the domain is done to all. As far as drivers publish attributes for it.

use std::collections::BTreeMap;

use super::devices::current_slices;
use super::hardware::texts;
use crate::model::{Device, DeviceId, ResourceSlice};

/// What devices have in common that are close to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerRelation {
    /// The PCIe root, on one node.
    PcieRoot,
    /// The NVLink domain, on whichever nodes.
    NvlinkDomain,
}

impl PeerRelation {
    fn of_attribute(name: &str) -> Option<Self> {
        match name.rsplit('/').next().unwrap_or(name) {
            "pcieRoot" => Some(Self::PcieRoot),
            "nvlinkDomain" | "nvLinkDomain" | "cliqueID" | "cliqueId" => Some(Self::NvlinkDomain),
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PcieRoot => "PCIe root",
            Self::NvlinkDomain => "NVLink domain",
        }
    }
}

/// The devices that have the same PCIe root or NVLink domain as this one, each group by what they have in common;
/// without the device itself.
#[must_use]
pub fn peers(
    slices: &[ResourceSlice],
    device: &DeviceId,
) -> BTreeMap<(PeerRelation, String), Vec<DeviceId>> {
    let slices = current_slices(slices);
    let all = || {
        slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.map(move |device| (*slice, device))
        })
    };
    let own = all().find(|(slice, one)| slice.id_of(one) == *device);
    let Some((slice, found)) = own else {
        return BTreeMap::new();
    };
    let node = slice.node_of(found);
    let mut groups: BTreeMap<(PeerRelation, String), Vec<DeviceId>> = BTreeMap::new();
    for key in keys(found) {
        let close = all().filter(|(slice, one)| {
            let is_there = match key.0 {
                // Machines name their roots alike: the same name on another node is another root.
                PeerRelation::PcieRoot => node.is_some() && slice.node_of(one) == node,
                PeerRelation::NvlinkDomain => true,
            };
            is_there && keys(one).contains(&key)
        });
        let mut others: Vec<DeviceId> = close.map(|(slice, one)| slice.id_of(one)).collect();
        others.retain(|other| other != device);
        others.sort();
        if !others.is_empty() {
            groups.insert(key, others);
        }
    }
    groups
}

fn keys(device: &Device) -> Vec<(PeerRelation, String)> {
    let attributes = device.attributes.iter();
    let keys = attributes.filter_map(|(name, value)| {
        let nearness = PeerRelation::of_attribute(name)?;
        let value = texts(value).into_iter().find(|value| !value.is_empty())?;
        Some((nearness, value))
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NodeName;
    use crate::report::testing;

    fn slice(node: &str, devices: &[(&str, &[(&str, &str)])]) -> ResourceSlice {
        let devices = devices.iter();
        let devices = devices.map(|(name, attributes)| testing::published(name, attributes));
        let mut slice = testing::slice(devices.collect());
        slice.name = node.into();
        slice.pool.name = node.into();
        slice.nodes = crate::model::SliceNodes::One(NodeName::from(node));
        slice
    }

    #[test]
    fn devices_are_close_by_their_root_on_one_node_and_by_their_domain_anywhere() {
        let root = ("resource.kubernetes.io/pcieRoot", "pci0000:00");
        let domain = ("nvlinkDomain", "a");
        let slices = [
            slice(
                "m",
                &[
                    ("gpu-0", &[root, domain]),
                    ("gpu-1", &[root]),
                    ("gpu-2", &[]),
                ],
            ),
            slice("n", &[("gpu-0", &[root, domain])]),
        ];
        let first = slices[0].id_of(&slices[0].devices[0]);
        let found = peers(&slices, &first)
            .into_iter()
            .map(|((nearness, value), devices)| {
                let names: Vec<String> = devices
                    .iter()
                    .map(|id| format!("{}/{}", id.pool, id.device))
                    .collect();
                format!("{} {value}: {}", nearness.as_str(), names.join(", "))
            });
        let found: Vec<String> = found.collect();
        assert_eq!(
            found,
            ["PCIe root pci0000:00: m/gpu-1", "NVLink domain a: n/gpu-0"]
        );
        let alone = slices[0].id_of(&slices[0].devices[2]);
        assert!(peers(&slices, &alone).is_empty());
    }
}
