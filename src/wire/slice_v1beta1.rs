//! `ResourceSlice` as served by `resource.k8s.io/v1beta1`.
//!
//! Served since 1.32, and what the control plane of 1.33 reads. Differs from v1 in that all of a
//! device but its name is nested under `basic`, with other protobuf numbers. Drop this file when
//! the oldest supported Kubernetes no longer serves it (see `model::kind`).

use serde::Deserialize;

use super::attribute::{AttributeEntry, CapacityEntry};
use super::counter::{CounterSet, DeviceCounterConsumption};
use super::meta::ObjectMeta;
use super::node_selector::NodeSelector;
use super::nullable::{entries, or_default};
use super::slice::{self, ResourcePool};
use super::taint::DeviceTaint;

/// Devices that a driver publishes.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceSlice {
    /// Who it is.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// What is published.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<ResourceSliceSpec>,
}

/// What is published; as in v1 but for the devices.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceSliceSpec {
    /// Who publishes.
    #[prost(string, optional, tag = "1")]
    pub driver: Option<String>,
    /// What the slice is part of.
    #[prost(message, optional, tag = "2")]
    pub pool: Option<ResourcePool>,
    /// The one node that can use the devices.
    #[prost(string, optional, tag = "3")]
    pub node_name: Option<String>,
    /// The nodes that can use them.
    #[prost(message, optional, tag = "4")]
    pub node_selector: Option<NodeSelector>,
    /// Whether all nodes can.
    #[prost(bool, optional, tag = "5")]
    pub all_nodes: Option<bool>,
    /// The devices.
    #[prost(message, repeated, tag = "6")]
    #[serde(default, deserialize_with = "or_default")]
    pub devices: Vec<Device>,
    /// Whether each device says which nodes can use it.
    #[prost(bool, optional, tag = "7")]
    pub per_device_node_selection: Option<bool>,
    /// What the devices of the pool draw from.
    #[prost(message, repeated, tag = "8")]
    #[serde(default, deserialize_with = "or_default")]
    pub shared_counters: Vec<CounterSet>,
}

/// One device.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Unique within the pool.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Everything else.
    #[prost(message, optional, tag = "2")]
    pub basic: Option<BasicDevice>,
}

/// All of a device but its name.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
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
    #[prost(message, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub consumes_counters: Vec<DeviceCounterConsumption>,
    /// The one node that can use it.
    #[prost(string, optional, tag = "4")]
    pub node_name: Option<String>,
    /// The nodes that can use it.
    #[prost(message, optional, tag = "5")]
    pub node_selector: Option<NodeSelector>,
    /// Whether all nodes can.
    #[prost(bool, optional, tag = "6")]
    pub all_nodes: Option<bool>,
    /// The driver's taints.
    #[prost(message, repeated, tag = "7")]
    #[serde(default, deserialize_with = "or_default")]
    pub taints: Vec<DeviceTaint>,
    /// Whether several claims can share it.
    #[prost(bool, optional, tag = "11")]
    pub allow_multiple_allocations: Option<bool>,
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

impl From<ResourceSlice> for slice::ResourceSlice {
    fn from(slice: ResourceSlice) -> Self {
        Self {
            metadata: slice.metadata,
            spec: slice.spec.map(|spec| slice::ResourceSliceSpec {
                driver: spec.driver,
                pool: spec.pool,
                node_name: spec.node_name,
                node_selector: spec.node_selector,
                all_nodes: spec.all_nodes,
                shared_counters: spec.shared_counters,
                devices: spec.devices.into_iter().map(Into::into).collect(),
                per_device_node_selection: spec.per_device_node_selection,
            }),
        }
    }
}
