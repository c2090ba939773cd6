//! Devices of a `ResourceSlice` as served by `resource.k8s.io/v1beta1`.
//!
//! Served since 1.32, and what the control plane of 1.33 reads. Differs from v1 in that all of a
//! device but its name is nested under `basic`, with other protobuf numbers. Drop this file when
//! the oldest supported Kubernetes no longer serves it (see `model::kind`).

use super::attribute::{AttributeEntry, CapacityEntry};
use super::counter::DeviceCounterConsumption;
use super::message::message;
use super::node_selector::NodeSelector;
use super::nullable::entries;
use super::slice;
use super::taint::DeviceTaint;

message! {
    /// One device.
    pub struct Device {
        /// Unique within the pool.
        name: optional string = 1,
        /// Everything else.
        basic: optional BasicDevice = 2,
    }

    /// All of a device but its name.
    pub struct BasicDevice {
        /// Its properties.
        #[prost(message, repeated, tag = "1")]
        #[serde(default, deserialize_with = "entries")]
        #[cfg_attr(test, serde(serialize_with = "super::testing::attributes"))]
        pub attributes: Vec<AttributeEntry>,
        /// Its sizes.
        #[prost(message, repeated, tag = "2")]
        #[serde(default, deserialize_with = "entries")]
        #[cfg_attr(test, serde(serialize_with = "super::testing::capacity"))]
        pub capacity: Vec<CapacityEntry>,
        /// What it takes of the pool's counters.
        consumes_counters: repeated DeviceCounterConsumption = 3,
        /// The one node that can use it.
        node_name: optional string = 4,
        /// The nodes that can use it.
        node_selector: optional NodeSelector = 5,
        /// Whether all nodes can.
        all_nodes: optional bool = 6,
        /// The driver's taints.
        taints: repeated DeviceTaint = 7,
        /// Whether several claims can share it.
        allow_multiple_allocations: optional bool = 11,
    }
}

impl From<Device> for slice::Device {
    fn from(device: Device) -> Self {
        let basic = device.basic.unwrap_or_default();
        Self {
            name: device.name,
            attributes: basic.attributes,
            capacity: basic.capacity,
            consumes_counters: basic.consumes_counters,
            node_name: basic.node_name,
            node_selector: basic.node_selector,
            all_nodes: basic.all_nodes,
            taints: basic.taints,
            allow_multiple_allocations: basic.allow_multiple_allocations,
        }
    }
}
