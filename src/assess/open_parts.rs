//! Warnings that pods can still be scheduled to the hardware of selected devices: to partitions, or by device plugins.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Impact;
use crate::model::{DeviceId, Node, NodeName, Warning};
use crate::naming::phrase::{counted, few};

/// The warning about devices whose partitions are `open`, as [`open_parts`](crate::engine::open_parts::open_parts) has
/// found them; absent where there are none.
pub fn open_parts_warning(open: &BTreeMap<DeviceId, BTreeSet<DeviceId>>) -> Option<Warning> {
    let devices: Vec<String> = open.keys().map(ToString::to_string).collect();
    let (first, rest) = devices.split_first()?;
    let parts: BTreeSet<&DeviceId> = open.values().flatten().collect();
    let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let wholes = match rest {
        [] => first.clone(),
        _ => counted(devices.len(), "selected device"),
    };
    let have = if parts.len() == 1 { "has" } else { "have" };
    Some(Warning {
        code: "partitions-not-tainted",
        message: format!(
            "{} of {wholes} {have} no taint of effect NoSchedule or NoExecute ({}), so new pods can be scheduled to the same hardware",
            counted(parts.len(), "partition"),
            few(&names)
        ),
        fix: Some(
            "to include them, use `add`, `preview` or `drain` with --with-partitions, or escalate their rules if they have any".to_owned(),
        ),
    })
}

/// The selected devices on whose nodes a device plugin may offer the same hardware, each with the resources.
///
/// Taken for the same hardware are resources that have a word of the driver's name in theirs, such as `nvidia.com/gpu` of
/// `gpu.nvidia.com`; others, such as `rdma/hca`, are beside any driver.
///
/// Upstream: `shouldDelegateResourceToDRA` in `pkg/scheduler/framework/plugins/noderesources/fit.go`: what a node has
/// allocatable is a device plugin's, also where a DeviceClass serves this resource on other nodes.
pub fn device_plugins<'a>(
    impact: &Impact<'_>,
    nodes: &'a [Node],
) -> BTreeMap<DeviceId, (&'a NodeName, Vec<&'a str>)> {
    let nodes: BTreeMap<&NodeName, &Node> = nodes.iter().map(|node| (&node.name, node)).collect();
    let offered = impact.devices.iter().filter_map(|device| {
        let node = nodes.get(device.node?)?;
        let resources = node.extended_resources.iter().map(String::as_str);
        let same: Vec<&str> = resources
            .filter(|name| is_of_driver(name, device.id.driver.as_str()))
            .collect();
        (!same.is_empty()).then(|| (device.id.clone(), (&node.name, same)))
    });
    offered.collect()
}

/// True if a word of the driver's name, beside its top-level domain, is in that of the resource.
fn is_of_driver(resource: &str, driver: &str) -> bool {
    let mut words = driver.rsplit('.').skip(1);
    words.any(|word| word.len() > 2 && resource.contains(word))
}

/// The warning about what [`device_plugins`] has found; absent where that is nothing.
pub fn device_plugin_warning(
    found: &BTreeMap<DeviceId, (&NodeName, Vec<&str>)>,
) -> Option<Warning> {
    let nodes: BTreeMap<&NodeName, &Vec<&str>> =
        found.values().map(|(node, names)| (*node, names)).collect();
    let (first, _) = nodes.first_key_value()?;
    let offered = nodes
        .iter()
        .map(|(node, names)| format!("{node}: {}", names.join(", ")));
    Some(Warning {
        code: "device-plugin-too",
        message: format!(
            "a device plugin may offer the same hardware ({}): pods that use it have no claim, so no taint evicts them or keeps them off",
            few(&offered.collect::<Vec<String>>())
        ),
        fix: Some(format!(
            "to list the pods of a node, use `kubectl get pods --all-namespaces --field-selector spec.nodeName={first}`"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::device;

    #[test]
    fn a_resource_is_of_the_driver_if_its_name_has_one_of_its_words() {
        for (resource, driver, expected) in [
            ("nvidia.com/gpu", "gpu.nvidia.com", true),
            ("nvidia.com/mig-1g.10gb", "gpu.nvidia.com", true),
            ("volcano.sh/vgpu-number", "gpu.nvidia.com", true),
            ("habana.ai/gaudi", "gaudi.intel.com", true),
            ("rdma/hca_shared", "gpu.nvidia.com", false),
            ("smarter-devices/fuse", "gpu.nvidia.com", false),
            ("amd.com/gpu", "dra.net", false),
        ] {
            assert_eq!(is_of_driver(resource, driver), expected, "{resource}");
        }
    }

    #[test]
    fn partitions_that_stay_schedulable_are_named() {
        let parts = |names: &[&str]| names.iter().map(|name| device(name)).collect();
        let open = BTreeMap::from([(device("gpu-0"), parts(&["half-0", "half-1"]))]);
        let warning = open_parts_warning(&open).unwrap();
        assert_eq!(
            warning.message,
            "2 partitions of gpu.example.com/node-7/gpu-0 have no taint of effect NoSchedule or NoExecute \
             (gpu.example.com/node-7/half-0, gpu.example.com/node-7/half-1), so new pods can be scheduled to the same hardware"
        );
        assert_eq!(open_parts_warning(&BTreeMap::new()), None);
    }
}
