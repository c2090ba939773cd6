//! Devices of device plugins, which a kubelet gives to containers beside those of DRA.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::PluginDevices;

/// Devices of one resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginDevicesRow {
    /// Resource of the device plugin, such as `example.com/gpu`.
    pub resource: String,
    /// Device IDs of the device plugin.
    pub ids: Vec<String>,
}

/// Devices that can be allocated to containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesRow {
    /// Devices of device plugins, one entry for each resource.
    pub plugin_devices: Vec<PluginDevicesRow>,
}

impl ResourcesRow {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plugin_devices.is_empty()
    }
}

impl PluginDevicesRow {
    pub(super) fn fact(&self) -> PluginDevices {
        PluginDevices {
            resource: self.resource.clone(),
            ids: self.ids.clone(),
        }
    }
}

/// The devices of each resource, in order; the kubelet lists every device by itself.
pub(super) fn plugin_devices(devices: &[PluginDevices]) -> Vec<PluginDevicesRow> {
    let mut grouped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for devices in devices {
        grouped
            .entry(&devices.resource)
            .or_default()
            .extend(devices.ids.iter().cloned());
    }
    let row = |(resource, mut ids): (&str, Vec<String>)| {
        // The kubelet promises no order, and two answers have to be comparable.
        ids.sort();
        PluginDevicesRow {
            resource: resource.to_owned(),
            ids,
        }
    };
    grouped.into_iter().map(row).collect()
}
