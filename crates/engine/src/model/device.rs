//! Devices, as drivers publish them in slices.

use std::sync::Arc;

use litemap::LiteMap;

use super::ids::{DeviceId, DeviceName, DriverName, NodeName, ObjectName, PoolName};
use super::lazy::Lazy;
use super::taint::Taint;
use super::terms::{DeviceTerms, SliceTerms};

/// Part of a pool, as one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSlice {
    /// The object's name; says nothing about its pool.
    pub name: ObjectName,
    /// Driver that publishes the slice.
    pub driver: DriverName,
    /// Pool that the slice is part of.
    pub pool: Pool,
    /// Nodes that can use its devices.
    pub nodes: SliceNodes,
    /// The devices, in the driver's order.
    pub devices: Vec<Device>,
    /// Facts for the allocator; absent where they were not read.
    pub terms: Option<Box<SliceTerms>>,
}

impl ResourceSlice {
    /// The full name of one of this slice's devices.
    pub fn id_of(&self, device: &Device) -> DeviceId {
        DeviceId {
            driver: self.driver.clone(),
            pool: self.pool.name.clone(),
            device: device.name.clone(),
        }
    }

    /// The one node that can use `device`, or `None` when there are several or it is not said.
    pub fn node_of<'a>(&'a self, device: &'a Device) -> Option<&'a NodeName> {
        match &self.nodes {
            SliceNodes::One(node) | SliceNodes::Selected(node) => Some(node),
            SliceNodes::PerDevice => device.node.as_ref(),
            SliceNodes::Several => None,
        }
    }
}

/// A pool as one of its slices describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Unique within the driver.
    pub name: PoolName,
    /// Raised whenever the driver replaces the pool's slices; only slices of the highest one count.
    pub generation: i64,
    /// Number of slices that make this generation of the pool complete.
    pub slice_count: i64,
}

/// Nodes that can use the devices of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceNodes {
    /// Exactly this one (`spec.nodeName`).
    One(NodeName),
    /// Each device says for itself (`spec.perDeviceNodeSelection`).
    PerDevice,
    /// Those that a selector chooses which asks for the name of this node, or for that as host name, and for nothing
    /// else. A scheduler compares labels and not this.
    Selected(NodeName),
    /// All of them, or those that another selector chooses.
    Several,
}

/// One device of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Unique within the pool, unless the driver is at fault.
    pub name: DeviceName,
    /// The node that can use it, when the slice leaves that to each device.
    pub node: Option<NodeName>,
    /// Taints that the driver set, in its order.
    pub taints: Vec<Taint>,
    /// Attributes by name, for selection by expression; names without a domain are the driver's.
    //
    // A sorted list and no tree: the API allows 32 attributes and capacities for a device, and there are thousands
    // of devices.
    pub attributes: Lazy<LiteMap<Arc<str>, AttributeValue>>,
    /// Capacities by name, each as the quantity is written.
    pub capacity: Lazy<LiteMap<Arc<str>, Arc<str>>>,
    /// True if several claims may share the device (consumable capacity).
    pub allow_multiple_allocations: bool,
    /// Other limits of its use; absent where there are none, or where they were not read.
    //
    // Boxed, since most devices have none.
    pub terms: Option<Box<DeviceTerms>>,
}

/// Value of a device attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// A number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    String(Arc<str>),
    /// A semantic version.
    Version(Arc<str>),
    /// Several numbers (behind a feature gate up to 1.37).
    Ints(Vec<i64>),
    /// Several truth values (behind a feature gate up to 1.37).
    Bools(Vec<bool>),
    /// Several texts (behind a feature gate up to 1.37).
    Strings(Vec<Arc<str>>),
    /// Several semantic versions (behind a feature gate up to 1.37).
    Versions(Vec<Arc<str>>),
    /// A type that this plugin does not know; an expression that asks for it cannot be evaluated.
    Unknown,
}
