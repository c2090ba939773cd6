//! `ResourceSlice` without attributes and capacities, which are most of its bytes.
//!
//! They are decoded for those devices alone for which somebody asks, see
//! [`properties`](super::properties). For live reads, which are protobuf: a decoder that does not know a
//! field passes over it.

use super::counter::{CounterSet, DeviceCounterConsumption};
use super::meta::ObjectMeta;
use super::node_selector::NodeSelector;
use super::slice::{self, ResourcePool};
use super::taint::DeviceTaint;

/// As [`slice::ResourceSlice`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceSlice {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    spec: Option<ResourceSliceSpec>,
}

/// As [`slice::ResourceSliceSpec`] but for the devices.
#[derive(Clone, PartialEq, prost::Message)]
struct ResourceSliceSpec {
    #[prost(string, optional, tag = "1")]
    driver: Option<String>,
    #[prost(message, optional, tag = "2")]
    pool: Option<ResourcePool>,
    #[prost(string, optional, tag = "3")]
    node_name: Option<String>,
    #[prost(message, optional, tag = "4")]
    node_selector: Option<NodeSelector>,
    #[prost(bool, optional, tag = "5")]
    all_nodes: Option<bool>,
    #[prost(message, repeated, tag = "6")]
    devices: Vec<Device>,
    #[prost(bool, optional, tag = "7")]
    per_device_node_selection: Option<bool>,
    #[prost(message, repeated, tag = "8")]
    shared_counters: Vec<CounterSet>,
}

/// What is left of [`slice::Device`].
#[derive(Clone, PartialEq, prost::Message)]
struct Device {
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

impl From<ResourceSlice> for slice::ResourceSlice {
    fn from(slice: ResourceSlice) -> Self {
        Self {
            metadata: slice.metadata,
            spec: slice.spec.map(Into::into),
        }
    }
}

impl From<ResourceSliceSpec> for slice::ResourceSliceSpec {
    fn from(spec: ResourceSliceSpec) -> Self {
        Self {
            driver: spec.driver,
            pool: spec.pool,
            node_name: spec.node_name,
            devices: spec.devices.into_iter().map(Into::into).collect(),
            node_selector: spec.node_selector,
            all_nodes: spec.all_nodes,
            shared_counters: spec.shared_counters,
            per_device_node_selection: spec.per_device_node_selection,
        }
    }
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
