//! `ResourceSlice` without attributes and capacities, which are most of its bytes.
//!
//! Only the rules of Kubernetes 1.33 and 1.34 select by them. For live reads, which are protobuf: a
//! decoder that does not know a field passes over it.

use super::slice::{self, ResourcePool};
use super::{DeviceTaint, ObjectMeta};

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
    #[prost(message, repeated, tag = "6")]
    devices: Vec<Device>,
    #[prost(bool, optional, tag = "7")]
    per_device_node_selection: Option<bool>,
}

/// What is left of [`slice::Device`].
#[derive(Clone, PartialEq, prost::Message)]
struct Device {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "5")]
    node_name: Option<String>,
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
            node_selector: None,
            all_nodes: None,
            shared_counters: Vec::new(),
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
            consumes_counters: Vec::new(),
            node_selector: None,
            all_nodes: None,
            node_name: device.node_name,
            taints: device.taints,
            allow_multiple_allocations: device.allow_multiple_allocations,
        }
    }
}
