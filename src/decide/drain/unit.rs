//! Units of a drain: the devices that are taken out of service together.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::DeviceState;
use crate::engine::hardware::Hardware;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceId;
use crate::naming::phrase::few;

/// Kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Each device by itself.
    Device,
    /// All devices of a node.
    Node,
    /// All devices of a pool.
    Pool,
}

/// Devices that are taken out of service together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The node, DRIVER/POOL or DRIVER/POOL/DEVICE; the first of them if units share hardware.
    pub name: String,
    /// The devices to drain.
    pub devices: BTreeSet<DeviceId>,
}

/// The units of `devices`, by name. A device is idle when all of its hardware is, so devices or pools that share
/// `hardware` are one unit: one after the other, none of them would become idle.
///
/// # Errors
///
/// Units are nodes, and a device is not local to a node: several nodes may use it, or it is not published.
pub fn units(
    devices: &BTreeSet<DeviceId>,
    inventory: &[DeviceState<'_>],
    hardware: &Hardware,
    kind: UnitKind,
) -> Result<Vec<Unit>, Failure> {
    let nodes: BTreeMap<&DeviceId, &str> = inventory
        .iter()
        .filter_map(|state| Some((&state.id, state.node?.as_str())))
        .collect();
    let name = |device: &DeviceId| match kind {
        UnitKind::Device => Some(device.to_string()),
        UnitKind::Node => nodes.get(device).map(|node| (*node).to_owned()),
        UnitKind::Pool => Some(format!("{}/{}", device.driver, device.pool)),
    };
    let mut units: BTreeMap<String, BTreeSet<DeviceId>> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for device in devices {
        match name(device) {
            Some(name) => drop(units.entry(name).or_default().insert(device.clone())),
            None => elsewhere.push(device.to_string()),
        }
    }
    if !elsewhere.is_empty() {
        let text = format!(
            "cannot drain by node: these devices have no node, or an unknown one: {}",
            few(&elsewhere)
        );
        return Err(Failure::new(ExitStatus::Failed, text)
            .hint("use --unit device or --unit pool")
            .detail("nothing was changed"));
    }
    let units = match kind {
        UnitKind::Device | UnitKind::Pool => joined_by_hardware(units, hardware),
        UnitKind::Node => units,
    };
    let units = units.into_iter();
    Ok(units
        .map(|(name, devices)| Unit { name, devices })
        .collect())
}

/// The units, those that share hardware as one by the first of their names.
fn joined_by_hardware(
    units: BTreeMap<String, BTreeSet<DeviceId>>,
    hardware: &Hardware,
) -> BTreeMap<String, BTreeSet<DeviceId>> {
    let mut joined: BTreeMap<String, BTreeSet<DeviceId>> = BTreeMap::new();
    let mut unit_of: BTreeMap<DeviceId, String> = BTreeMap::new();
    for (name, mut devices) in units {
        let same = hardware.closure(&devices);
        let known = same.iter().filter_map(|device| unit_of.get(device));
        let known: BTreeSet<String> = known.cloned().collect();
        // A pool may be the hardware of several units that had nothing in common before.
        let mut known = known.into_iter();
        let first = known.next().unwrap_or(name);
        devices.extend(known.filter_map(|other| joined.remove(&other)).flatten());
        unit_of.extend(devices.iter().map(|device| (device.clone(), first.clone())));
        joined.entry(first).or_default().extend(devices);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{device_state, drawing, published, slice, slice_of};
    use crate::model::NodeName;

    fn device(pool: &str, name: &str) -> DeviceId {
        DeviceId {
            driver: "gpu.example.com".into(),
            pool: pool.into(),
            device: name.into(),
        }
    }

    fn state<'a>(id: &DeviceId, node: Option<&'a NodeName>) -> DeviceState<'a> {
        DeviceState {
            node,
            ..device_state(id.clone())
        }
    }

    #[test]
    fn units_are_devices_nodes_or_pools_by_name() {
        let (one, two) = (NodeName::from("node-1"), NodeName::from("node-2"));
        let all = [device("p1", "a"), device("p1", "b"), device("p2", "a")];
        let inventory = [
            state(&all[0], Some(&two)),
            state(&all[1], Some(&one)),
            state(&all[2], Some(&one)),
        ];
        let devices: BTreeSet<DeviceId> = all.iter().cloned().collect();
        let names = |kind| -> Vec<(String, usize)> {
            let units = units(&devices, &inventory, &Hardware::default(), kind);
            let units = units.unwrap().into_iter();
            units.map(|unit| (unit.name, unit.devices.len())).collect()
        };
        let named = |name: &str, count| (name.to_owned(), count);
        assert_eq!(
            names(UnitKind::Node),
            [named("node-1", 2), named("node-2", 1)]
        );
        assert_eq!(
            names(UnitKind::Pool),
            [
                named("gpu.example.com/p1", 2),
                named("gpu.example.com/p2", 1)
            ]
        );
        assert_eq!(
            names(UnitKind::Device),
            [
                named("gpu.example.com/p1/a", 1),
                named("gpu.example.com/p1/b", 1),
                named("gpu.example.com/p2/a", 1)
            ]
        );
    }

    #[test]
    fn a_device_without_a_node_is_in_no_unit_of_nodes() {
        let shared = device("fabric", "port-0");
        let devices = BTreeSet::from([shared.clone()]);
        let inventory = [state(&shared, None)];
        let none = Hardware::default();
        let refused = units(&devices, &inventory, &none, UnitKind::Node).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot drain by node: these devices have no node, or an unknown one: gpu.example.com/fabric/port-0"
        );
        assert!(units(&devices, &inventory, &none, UnitKind::Pool).is_ok());
    }

    #[test]
    fn a_card_and_its_partitions_are_one_unit_and_so_are_pools_of_the_same_hardware() {
        let parted = [
            drawing("card-0", "40"),
            drawing("card-0-part-0", "10"),
            published("card-1", &[("uuid", "B")]),
        ];
        let other = slice_of("vfio.example.com", vec![published("x", &[("uuid", "B")])]);
        let slices = [slice(parted.into()), other];
        let hardware = Hardware::of(&slices);
        let devices = slices
            .iter()
            .flat_map(|slice| slice.devices.iter().map(|device| slice.id_of(device)));
        let devices: BTreeSet<DeviceId> = devices.collect();
        let names = |kind| -> Vec<(String, usize)> {
            let units = units(&devices, &[], &hardware, kind).unwrap().into_iter();
            units.map(|unit| (unit.name, unit.devices.len())).collect()
        };
        assert_eq!(
            names(UnitKind::Device),
            [
                ("gpu.example.com/node-7/card-0".to_owned(), 2),
                ("gpu.example.com/node-7/card-1".to_owned(), 2),
            ]
        );
        assert_eq!(
            names(UnitKind::Pool),
            [("gpu.example.com/node-7".to_owned(), 4)]
        );
    }

    #[test]
    fn a_unit_that_is_the_hardware_of_two_others_joins_them() {
        let slices = [
            slice(vec![
                published("a", &[("uuid", "A")]),
                published("b", &[("uuid", "B")]),
            ]),
            slice_of(
                "vfio.example.com",
                vec![published("x", &[("uuid", "A"), ("serial", "B2")])],
            ),
            slice_of("z.example.com", vec![published("y", &[("uuid", "B")])]),
        ];
        let hardware = Hardware::of(&slices);
        let id = |place: usize, device: usize| slices[place].id_of(&slices[place].devices[device]);
        let units = BTreeMap::from([
            ("1".to_owned(), BTreeSet::from([id(0, 0)])),
            ("2".to_owned(), BTreeSet::from([id(0, 1)])),
            ("3".to_owned(), BTreeSet::from([id(1, 0), id(2, 0)])),
        ]);
        let joined = joined_by_hardware(units, &hardware);
        assert_eq!(joined.keys().collect::<Vec<_>>(), ["1"]);
        assert_eq!(joined["1"].len(), 4);
    }
}
