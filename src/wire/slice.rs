//! `ResourceSlice` as served by `resource.k8s.io/v1` and `v1beta2`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attribute::{DeviceAttribute, DeviceCapacity, attributes, capacity, policies};
use super::error::{FieldError, each};
use super::message::{Part, message};
use super::meta::ObjectMeta;
use super::object::{Context, Object, ToObject};
use super::rule::DeviceTaint;
use super::time::Quantity;
use super::unambiguous::{or_default, unique};
use super::versions::Detail;
use crate::model;

message! {
    /// Devices that a driver publishes.
    pub struct ResourceSlice<D = Device> {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Published devices.
        #[prost(message, optional, tag = "2")]
        pub spec: Option<ResourceSliceSpec<D>>,
    }

    /// Published devices.
    pub struct ResourceSliceSpec<D = Device> {
        /// Driver that publishes them.
        driver: optional string = 1,
        /// Pool that the slice is a part of.
        pool: optional ResourcePool = 2,
        /// The one node that can use the devices.
        node_name: optional string = 3,
        /// The nodes that can use them.
        node_selector: optional NodeSelector = 4,
        /// True if all nodes can use them.
        all_nodes: optional bool = 5,
        /// The devices.
        #[prost(message, repeated, tag = "6")]
        #[serde(default, deserialize_with = "or_default", bound(deserialize = "D: serde::Deserialize<'de>"))]
        pub devices: Vec<D>,
        /// True if each device says which nodes can use it.
        per_device_node_selection: optional bool = 7,
        /// Counters that the devices of the pool share.
        shared_counters: repeated CounterSet = 8,
    }

    /// A pool, as one of its slices describes it.
    pub struct ResourcePool {
        /// Unique within the driver.
        name: optional string = 1,
        /// Raised when the slices are replaced.
        generation: optional int64 = 2,
        /// Number of slices of this generation.
        resource_slice_count: optional int64 = 3,
    }

    /// One device.
    pub struct Device {
        /// Unique within the pool.
        name: optional string = 1,
        /// Its properties.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub attributes: BTreeMap<String, DeviceAttribute>,
        /// Its sizes.
        #[prost(btree_map = "string, message", tag = "3")]
        #[serde(default, deserialize_with = "unique")]
        pub capacity: BTreeMap<String, DeviceCapacity>,
        /// Consumption of the pool's counters.
        consumes_counters: repeated DeviceCounterConsumption = 4,
        /// The one node that can use it.
        node_name: optional string = 5,
        /// The nodes that can use it.
        node_selector: optional NodeSelector = 6,
        /// True if all nodes can use it.
        all_nodes: optional bool = 7,
        /// The driver's taints.
        taints: repeated DeviceTaint = 8,
        /// True if several claims can share it.
        allow_multiple_allocations: optional bool = 12,
    }
}

impl<D: Part> ResourceSlice<D> {
    /// The slice with its devices as v1 has them.
    pub(super) fn usual(self) -> ResourceSlice
    where
        Device: From<D>,
    {
        ResourceSlice {
            metadata: self.metadata,
            spec: self.spec.map(|spec| ResourceSliceSpec {
                driver: spec.driver,
                pool: spec.pool,
                node_name: spec.node_name,
                node_selector: spec.node_selector,
                all_nodes: spec.all_nodes,
                devices: spec.devices.into_iter().map(Device::from).collect(),
                per_device_node_selection: spec.per_device_node_selection,
                shared_counters: spec.shared_counters,
            }),
        }
    }
}

impl ResourceSlice {
    /// Drops what `detail` does not ask for.
    pub(super) fn with(mut self, detail: Detail) -> Self {
        match detail {
            Detail::Names => {
                if let Some(spec) = &mut self.spec {
                    // One that names a node says where the devices are.
                    let selector = spec.node_selector.take();
                    spec.node_selector = selector.filter(|it| it.named_node().is_some());
                    spec.all_nodes = None;
                }
                let specs = self.spec.iter_mut();
                for device in specs.flat_map(|spec| &mut spec.devices) {
                    device.attributes.clear();
                    device.capacity.clear();
                    device.node_selector = None;
                    device.all_nodes = None;
                }
            }
            Detail::Attributes | Detail::Terms => {}
        }
        self
    }
}

impl ToObject for ResourceSlice {
    fn metadata(&self) -> Option<&ObjectMeta> {
        self.metadata.as_ref()
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self
            .spec
            .as_ref()
            .ok_or_else(|| FieldError::missing("spec"))?;
        let pool = spec
            .pool
            .as_ref()
            .ok_or_else(|| FieldError::missing("spec.pool"))?;
        Ok(Some(Object::ResourceSlice(model::ResourceSlice {
            name: metadata.object_name(context)?,
            driver: context.required(spec.driver.as_deref(), "spec.driver")?,
            pool: model::Pool {
                name: context.required(pool.name.as_deref(), "spec.pool.name")?,
                generation: pool.generation.unwrap_or_default(),
                slice_count: pool.resource_slice_count.unwrap_or_default(),
            },
            nodes: spec.nodes(context),
            devices: each(&spec.devices, "spec.devices", |device| {
                device.to_model(context)
            })?,
            terms: spec.terms(context),
        })))
    }
}

impl ResourceSliceSpec {
    fn nodes(&self, context: &mut Context) -> model::SliceNodes {
        // The API server allows only one of these fields, so their order decides nothing.
        match context.optional(self.node_name.as_deref()) {
            Some(node) => model::SliceNodes::One(node),
            None if self.per_device_node_selection == Some(true) => model::SliceNodes::PerDevice,
            None => {
                let selector = self.node_selector.as_ref();
                let named = selector.and_then(NodeSelector::named_node);
                named.map_or(model::SliceNodes::Several, model::SliceNodes::Selected)
            }
        }
    }

    fn terms(&self, context: &mut Context) -> Option<Box<model::SliceTerms>> {
        let selector = self.node_selector.as_ref();
        let counters = self.shared_counters.iter();
        let terms = model::SliceTerms {
            all_nodes: self.all_nodes.unwrap_or_default(),
            selector: selector.map(|selector| selector.to_model(context)),
            counters: counters.map(|set| set.to_model(context)).collect(),
        };
        (terms != model::SliceTerms::default()).then(|| Box::new(terms))
    }
}

impl Device {
    fn to_model(&self, context: &mut Context) -> Result<model::Device, FieldError> {
        Ok(model::Device {
            taints: each(&self.taints, "taints", |taint| taint.to_model(context))?,
            name: context.required(self.name.as_deref(), "name")?,
            node: context.optional(self.node_name.as_deref()),
            attributes: attributes(&self.attributes, context),
            capacity: capacity(&self.capacity, context),
            allow_multiple_allocations: self.allow_multiple_allocations.unwrap_or_default(),
            terms: self.terms(context),
        })
    }

    fn terms(&self, context: &mut Context) -> Option<Box<model::DeviceTerms>> {
        let selector = self.node_selector.as_ref();
        let consumes = self.consumes_counters.iter();
        let terms = model::DeviceTerms {
            all_nodes: self.all_nodes.unwrap_or_default(),
            selector: selector.map(|selector| selector.to_model(context)),
            consumes: consumes.map(|one| one.to_model(context)).collect(),
            policies: policies(&self.capacity, context),
        };
        // Absent for most devices, of which a slice may have 128.
        (terms != model::DeviceTerms::default()).then(|| Box::new(terms))
    }
}

/// [`Device`] without attributes and capacities, which are most of its bytes. These are decoded on first use, for single
/// devices, see [`properties`](super::properties). For live reads, which are protobuf: a decoder that does not know a
/// field passes over it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BareDevice {
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

impl From<BareDevice> for Device {
    fn from(device: BareDevice) -> Self {
        Self {
            name: device.name,
            attributes: BTreeMap::new(),
            capacity: BTreeMap::new(),
            consumes_counters: device.consumes_counters,
            node_selector: device.node_selector,
            all_nodes: device.all_nodes,
            node_name: device.node_name,
            taints: device.taints,
            allow_multiple_allocations: device.allow_multiple_allocations,
        }
    }
}

message! {
    /// `CounterSet`.
    pub struct CounterSet {
        /// Unique within the pool.
        name: optional string = 1,
        /// Values by counter.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub counters: BTreeMap<String, Counter>,
    }

    /// `Counter`.
    pub struct Counter {
        /// Value.
        value: optional Quantity = 1,
    }

    /// `DeviceCounterConsumption`.
    pub struct DeviceCounterConsumption {
        /// The set.
        counter_set: optional string = 1,
        /// Consumption by counter.
        #[prost(btree_map = "string, message", tag = "2")]
        #[serde(default, deserialize_with = "unique")]
        pub counters: BTreeMap<String, Counter>,
        /// Groups of devices that may be in use beside it.
        compatibility_groups: repeated string = 3,
    }
}

impl CounterSet {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CounterSet {
        model::CounterSet {
            name: context.intern(self.name()),
            counters: counters(&self.counters, context),
        }
    }
}

impl DeviceCounterConsumption {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CounterUse {
        model::CounterUse {
            set: context.intern(self.counter_set()),
            counters: counters(&self.counters, context),
            has_groups: !self.compatibility_groups.is_empty(),
        }
    }
}

fn counters(
    counters: &BTreeMap<String, Counter>,
    context: &mut Context,
) -> BTreeMap<Arc<str>, Arc<str>> {
    counters
        .iter()
        .map(|(name, counter)| {
            let quantity = counter.value.as_ref();
            (
                context.intern(name),
                // As Go decodes it: an absent quantity is zero.
                context.intern(quantity.map_or("0", Quantity::as_written)),
            )
        })
        .collect()
}

message! {
    /// `CapacityRequestPolicy`.
    pub struct CapacityRequestPolicy {
        /// Portion for requests without one.
        default: optional Quantity = 1,
        /// The portions that there are.
        valid_values: repeated Quantity = 3,
        /// The portions that there are, as a range.
        valid_range: optional CapacityRequestPolicyRange = 4,
    }

    /// `CapacityRequestPolicyRange`.
    pub struct CapacityRequestPolicyRange {
        /// The smallest.
        min: optional Quantity = 1,
        /// The largest.
        max: optional Quantity = 2,
        /// By how much they differ.
        step: optional Quantity = 3,
    }

    /// `CapacityRequirements`.
    pub struct CapacityRequirements {
        /// Requested amounts.
        #[prost(btree_map = "string, message", tag = "1")]
        #[serde(default, deserialize_with = "unique")]
        pub requests: BTreeMap<String, Quantity>,
    }
}

/// Quantities by name.
pub(super) fn quantities(
    written: &BTreeMap<String, Quantity>,
    context: &mut Context,
) -> BTreeMap<Arc<str>, Arc<str>> {
    written
        .iter()
        .map(|(name, quantity)| (context.intern(name), context.intern(quantity.as_written())))
        .collect()
}

impl CapacityRequestPolicy {
    pub(super) fn to_model(&self, context: &mut Context) -> model::CapacityPolicy {
        let mut intern = |quantity: &Quantity| context.intern(quantity.as_written());
        model::CapacityPolicy {
            default: self.default.as_ref().map(&mut intern),
            values: self.valid_values.iter().map(&mut intern).collect(),
            range: self.valid_range.as_ref().map(|range| model::CapacityRange {
                min: range.min.as_ref().map(&mut intern),
                max: range.max.as_ref().map(&mut intern),
                step: range.step.as_ref().map(&mut intern),
            }),
        }
    }
}

message! {
    /// `core/v1` `NodeSelector`.
    pub struct NodeSelector {
        /// One has to hold.
        node_selector_terms: repeated NodeSelectorTerm = 1,
    }

    /// Requirements that all have to hold.
    pub struct NodeSelectorTerm {
        /// About labels.
        match_expressions: repeated NodeSelectorRequirement = 1,
        /// About fields.
        match_fields: repeated NodeSelectorRequirement = 2,
    }

    /// A condition on one label or field.
    pub struct NodeSelectorRequirement {
        /// Label or field.
        key: optional string = 1,
        /// Operator, such as `In`.
        operator: optional string = 2,
        /// Values that it is compared with.
        values: repeated string = 3,
    }
}

impl NodeSelector {
    /// The node that it names, if it names one and nothing else.
    ///
    /// Upstream: `createNodeSelector` of the allocator, for devices that are local to a node.
    pub(super) fn only_node(&self) -> Option<model::NodeName> {
        // Terms are alternatives: with a second one, other nodes may match as well.
        let [term] = &self.node_selector_terms[..] else {
            return None;
        };
        // All requirements of a term have to hold: a second one may exclude the named node.
        let ([], [field]) = (&term.match_expressions[..], &term.match_fields[..]) else {
            return None;
        };
        let is_name = field.key.as_deref() == Some("metadata.name");
        let is_in = field.operator.as_deref() == Some("In");
        match &field.values[..] {
            [node] if is_name && is_in => Some(node.as_str().into()),
            _ => None,
        }
    }

    /// The node that it names, by name or by host name, if it asks for nothing else. The label is the node's name
    /// unless it was changed.
    pub(super) fn named_node(&self) -> Option<model::NodeName> {
        const HOST_NAME: &str = "kubernetes.io/hostname";
        let [term] = &self.node_selector_terms[..] else {
            return None;
        };
        let ([label], []) = (&term.match_expressions[..], &term.match_fields[..]) else {
            return self.only_node();
        };
        let is_name = label.key.as_deref() == Some(HOST_NAME);
        let is_in = label.operator.as_deref() == Some("In");
        match &label.values[..] {
            [node] if is_name && is_in => Some(node.as_str().into()),
            _ => None,
        }
    }

    pub(super) fn to_model(&self, context: &mut Context) -> model::NodeSelector {
        let terms = self.node_selector_terms.iter();
        model::NodeSelector {
            terms: terms
                .map(|term| model::NodeTerm {
                    labels: requirements(&term.match_expressions, context),
                    fields: requirements(&term.match_fields, context),
                })
                .collect(),
        }
    }
}

fn requirements(
    all: &[NodeSelectorRequirement],
    context: &mut Context,
) -> Vec<model::NodeRequirement> {
    all.iter()
        .map(|one| model::NodeRequirement {
            key: context.intern(one.key()),
            operator: context.intern(one.operator()),
            values: context.intern_all(&one.values),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_that_asks_for_one_name_alone_names_that_node() {
        let named = |text: &str| {
            let selector: NodeSelector = serde_json::from_str(text).unwrap();
            selector.named_node().map(|node| node.to_string())
        };
        let of = |terms: &str| format!(r#"{{"nodeSelectorTerms": [{terms}]}}"#);
        let host = r#"{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}"#;
        let name = r#"{"key": "metadata.name", "operator": "In", "values": ["node-0"]}"#;
        let label = |requirement: &str| of(&format!(r#"{{"matchExpressions": [{requirement}]}}"#));
        assert_eq!(named(&label(host)).as_deref(), Some("node-0"));
        let field = of(&format!(r#"{{"matchFields": [{name}]}}"#));
        assert_eq!(named(&field).as_deref(), Some("node-0"));
        for other in [
            label(&host.replace("In", "NotIn")),
            label(&host.replace("hostname", "arch")),
            label(&host.replace(r#"["node-0"]"#, r#"["node-0", "node-1"]"#)),
            label(&format!("{host}, {}", host.replace("hostname", "arch"))),
            of(&format!(
                r#"{{"matchExpressions": [{host}]}}, {{"matchExpressions": [{host}]}}"#
            )),
            of(&format!(
                r#"{{"matchExpressions": [{host}], "matchFields": [{name}]}}"#
            )),
            of(""),
        ] {
            assert_eq!(named(&other), None, "{other}");
        }
    }
}
