//! `ResourceSlice` as served by `resource.k8s.io/v1` and `v1beta2`.

use std::borrow::Cow;

use super::attribute::{AttributeEntry, CapacityEntry, attributes, capacity, policies};
use super::context::Context;
use super::counter::{CounterSet, DeviceCounterConsumption};
use super::detail::Detail;
use super::error::{FieldError, each};
use super::message::{Part, message};
use super::meta::ObjectMeta;
use super::node_selector::NodeSelector;
use super::nullable::{entries, or_default};
use super::object::{Object, ToObject};
use super::taint::DeviceTaint;
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
        #[prost(message, repeated, tag = "2")]
        #[serde(default, deserialize_with = "entries")]
        #[cfg_attr(test, serde(serialize_with = "super::testing::attributes"))]
        pub attributes: Vec<AttributeEntry>,
        /// Its sizes.
        #[prost(message, repeated, tag = "3")]
        #[serde(default, deserialize_with = "entries")]
        #[cfg_attr(test, serde(serialize_with = "super::testing::capacity"))]
        pub capacity: Vec<CapacityEntry>,
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
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        self.metadata.as_ref().map(Cow::Borrowed)
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
