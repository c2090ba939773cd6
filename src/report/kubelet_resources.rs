//! What a kubelet gives to containers beside devices of DRA: devices of device plugins, and memory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{PinnedMemory, PluginDevices};

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginDevicesRow {
    /// Resource of the device plugin, such as `example.com/gpu`.
    pub resource: String,
    /// Device IDs of the device plugin.
    pub ids: Vec<String>,
    /// NUMA nodes of the devices, by number; empty if the device plugin reports none.
    pub numa_nodes: Vec<i64>,
}

/// Memory or huge pages of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRow {
    /// Type of the memory, such as `memory` or `hugepages-1Gi`.
    pub memory_type: String,
    /// Size in bytes.
    pub bytes: u64,
    /// NUMA nodes of the memory, by number.
    pub numa_nodes: Vec<i64>,
}

/// Resources that can be allocated to containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesRow {
    /// Devices of device plugins, one entry for each resource and set of NUMA nodes.
    pub plugin_devices: Vec<PluginDevicesRow>,
    /// CPU IDs.
    pub cpus: Vec<i64>,
    /// Memory.
    pub memory: Vec<MemoryRow>,
}

impl ResourcesRow {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plugin_devices.is_empty() && self.cpus.is_empty() && self.memory.is_empty()
    }
}

impl PluginDevicesRow {
    pub(super) fn fact(&self) -> PluginDevices {
        PluginDevices {
            resource: self.resource.clone(),
            ids: self.ids.clone(),
            numa_nodes: self.numa_nodes.clone(),
        }
    }
}

impl MemoryRow {
    pub(super) fn fact(&self) -> PinnedMemory {
        PinnedMemory {
            kind: self.memory_type.clone(),
            bytes: self.bytes,
            numa_nodes: self.numa_nodes.clone(),
        }
    }
}

/// The devices of each resource at each place, in order; the kubelet lists every device by itself.
pub(super) fn plugin_devices(devices: &[PluginDevices]) -> Vec<PluginDevicesRow> {
    let mut grouped: BTreeMap<(&str, &[i64]), Vec<String>> = BTreeMap::new();
    for devices in devices {
        let key = (devices.resource.as_str(), &devices.numa_nodes[..]);
        grouped
            .entry(key)
            .or_default()
            .extend(devices.ids.iter().cloned());
    }
    let row = |((resource, numa_nodes), mut ids): ((&str, &[i64]), Vec<String>)| {
        // The kubelet promises no order, and two answers have to be comparable.
        ids.sort();
        PluginDevicesRow {
            resource: resource.to_owned(),
            ids,
            numa_nodes: numa_nodes.to_vec(),
        }
    };
    grouped.into_iter().map(row).collect()
}

/// The memory, a row for each kind and place.
pub(super) fn memory(memory: &[PinnedMemory]) -> Vec<MemoryRow> {
    let row = |memory: &PinnedMemory| MemoryRow {
        memory_type: memory.kind.clone(),
        bytes: memory.bytes,
        numa_nodes: memory.numa_nodes.clone(),
    };
    memory.iter().map(row).collect()
}
