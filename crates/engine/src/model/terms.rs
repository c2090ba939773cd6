//! Facts for the allocator beside names and taints; read only for reports that use them.

use std::collections::BTreeMap;
use std::sync::Arc;

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
