//! Devices of a `ResourceSlice` without attributes and capacities, which are most of its bytes.
//!
//! These are decoded on first use, for single devices, see
//! [`properties`](super::properties). For live reads, which are protobuf: a decoder that does not know a
//! field passes over it.

use super::counter::DeviceCounterConsumption;
use super::node_selector::NodeSelector;
use super::slice;
use super::taint::DeviceTaint;

/// Fields of [`slice::Device`] without those.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Device {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, repeated, tag = "4")]
    consumes_counters: Vec<DeviceCounterConsumption>,
    #[prost(string, optional, tag = "5")]
    node_name: Option<String>,
    #[prost(message, optional, tag = "6")]
    node_selector: Option<NodeSelector>,
    #[prost(bool, optional, tag = "7")]
    all_nodes: Option<bool>,
    #[prost(message, repeated, tag = "8")]
    taints: Vec<DeviceTaint>,
    #[prost(bool, optional, tag = "12")]
    allow_multiple_allocations: Option<bool>,
}

impl From<Device> for slice::Device {
    fn from(device: Device) -> Self {
        Self {
            name: device.name,
            attributes: Vec::new(),
            capacity: Vec::new(),
            consumes_counters: device.consumes_counters,
            node_selector: device.node_selector,
            all_nodes: device.all_nodes,
            node_name: device.node_name,
            taints: device.taints,
            allow_multiple_allocations: device.allow_multiple_allocations,
        }
    }
}
