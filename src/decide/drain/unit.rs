//! Units of a drain: the devices that are taken out of service together.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::DeviceState;
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
    /// The node, DRIVER/POOL or DRIVER/POOL/DEVICE.
    pub name: String,
    /// The devices to drain.
    pub devices: BTreeSet<DeviceId>,
}

/// The units of `devices`, by name.
///
/// # Errors
///
/// Units are nodes, and a device is not local to a node: several nodes may use it, or it is not published.
pub fn units(
    devices: &BTreeSet<DeviceId>,
    inventory: &[DeviceState<'_>],
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
        let text = format!("cannot tell the node of {}", few(&elsewhere));
        return Err(Failure::new(ExitStatus::Failed, text)
            .hint("use --unit device or --unit pool")
            .detail("nothing was changed"));
    }
    let units = units.into_iter();
    Ok(units
        .map(|(name, devices)| Unit { name, devices })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::device_state;
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
            let units = units(&devices, &inventory, kind).unwrap().into_iter();
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
        let refused = units(&devices, &inventory, UnitKind::Node).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot tell the node of gpu.example.com/fabric/port-0"
        );
        assert!(units(&devices, &inventory, UnitKind::Pool).is_ok());
    }
}
