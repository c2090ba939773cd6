//! Devices, as drivers publish them in slices.

use super::ids::{DeviceId, DeviceName, DriverName, NodeName, ObjectName, PoolName};
use super::rule::Taint;
use litemap::LiteMap;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Part of a pool, as one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Unique within the driver.
    pub name: PoolName,
    /// Raised whenever the driver replaces the pool's slices; only slices of the highest one count.
    pub generation: i64,
    /// Number of slices that make this generation of the pool complete.
    pub slice_count: i64,
}

/// Nodes that can use the devices of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SliceNodes {
    /// Exactly this one (`spec.nodeName`).
    One(NodeName),
    /// Each device says for itself (`spec.perDeviceNodeSelection`).
    PerDevice,
    /// Those that a selector chooses which asks for the name of this node, or for that as host name, and for nothing
    /// else. A scheduler compares labels and not this.
    Selected(NodeName),
    /// All of them, or those that another selector chooses.
    #[default]
    Several,
}

/// One device of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// A type that this crate does not know; an expression that asks for it cannot be evaluated.
    Unknown,
}

/// Nodes that can use the devices of a slice, and their shared counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceTerms {
    /// True if every node can use them.
    pub all_nodes: bool,
    /// The nodes that can use them, where a selector says so.
    pub selector: Option<NodeSelector>,
    /// Counters that the devices of the pool share.
    pub counters: Vec<CounterSet>,
}

/// Limits on the use of one device, beside its taints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTerms {
    /// True if every node can use it, when the slice leaves that to each device.
    pub all_nodes: bool,
    /// The nodes that can use it, when the slice leaves that to each device.
    pub selector: Option<NodeSelector>,
    /// Counters of its pool that it consumes while it is in use.
    pub consumes: Vec<CounterUse>,
    /// In which portions its capacities are handed out, by the capacity's name.
    pub policies: BTreeMap<Arc<str>, CapacityPolicy>,
}

/// Counters of a pool, by name, each as the quantity is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSet {
    /// Unique within the pool.
    pub name: Arc<str>,
    /// Value of each counter.
    pub counters: BTreeMap<Arc<str>, Arc<str>>,
}

/// Use of one counter set by a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterUse {
    /// The set's name.
    pub set: Arc<str>,
    /// Consumption of each counter, as the quantity is written.
    pub counters: BTreeMap<Arc<str>, Arc<str>>,
    /// True if only devices of the same groups may be in use beside it (alpha in 1.37, off by default).
    pub has_groups: bool,
}

/// In which portions a capacity is handed out; quantities as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityPolicy {
    /// Portion for requests without one.
    pub default: Option<Arc<str>>,
    /// The portions that there are, ascending.
    pub values: Vec<Arc<str>>,
    /// The portions that there are, as a range.
    pub range: Option<CapacityRange>,
}

/// A range of portions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityRange {
    /// The smallest.
    pub min: Option<Arc<str>>,
    /// The largest.
    pub max: Option<Arc<str>>,
    /// By how much they differ.
    pub step: Option<Arc<str>>,
}

/// Nodes by their labels and fields: one of the terms has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelector {
    /// Each holds where all its requirements do, and never where it has none.
    pub terms: Vec<NodeTerm>,
}

/// Requirements that all have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTerm {
    /// About labels.
    pub labels: Vec<NodeRequirement>,
    /// About fields; `metadata.name` is the only one that there is.
    pub fields: Vec<NodeRequirement>,
}

/// A condition on one label or field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRequirement {
    /// The label's key or the field's path.
    pub key: Arc<str>,
    /// As it is spelled, such as `In`.
    pub operator: Arc<str>,
    /// Values that it is compared with.
    pub values: Vec<Arc<str>>,
}

/// A value, or the bytes that say what it is: they are decoded when the value is looked at first.
///
/// There are thousands of devices, and an answer looks at a few.
pub struct Lazy<T> {
    value: OnceLock<T>,
    kept: Option<Box<EncodedBytes<T>>>,
}

/// Bytes that are known to say what a value is.
#[derive(Clone)]
struct EncodedBytes<T> {
    bytes: Box<[u8]>,
    decode: fn(&[u8]) -> T,
}

impl<T> Lazy<T> {
    /// Result of `decode` on `bytes`, computed at the first use.
    pub fn of(bytes: &[u8], decode: fn(&[u8]) -> T) -> Self {
        Self {
            value: OnceLock::new(),
            kept: Some(Box::new(EncodedBytes {
                bytes: bytes.into(),
                decode,
            })),
        }
    }
}

impl<T> From<T> for Lazy<T> {
    fn from(value: T) -> Self {
        Self {
            value: value.into(),
            kept: None,
        }
    }
}

impl<T: Default> Default for Lazy<T> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T: Default> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let decoded = || self.kept.as_ref().map(|kept| (kept.decode)(&kept.bytes));
        // The bytes stay beside the value: only its owner could take them away, and readers borrow it. Without
        // bytes there is a value from the start, so that the default is never taken.
        self.value.get_or_init(|| decoded().unwrap_or_default())
    }
}

/// Tests make devices by hand.
#[cfg(test)]
impl<T: Default> std::ops::DerefMut for Lazy<T> {
    fn deref_mut(&mut self) -> &mut T {
        let _decoded = self.deref();
        self.kept = None;
        self.value.get_mut().expect("a value that was read")
    }
}

impl<'a, T: Default> IntoIterator for &'a Lazy<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.deref().into_iter()
    }
}

impl<T: Default + FromIterator<Item>, Item> FromIterator<Item> for Lazy<T> {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<T>())
    }
}

impl<T: Clone> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self {
            // With the bytes, so that copying a snapshot decodes nothing.
            value: self.value.clone(),
            kept: self.kept.clone(),
        }
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<T: Default + PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Default + Eq> Eq for Lazy<T> {}
