//! `ResourceSlice` as served by `resource.k8s.io/v1` and `v1beta2`.

use std::borrow::Cow;

use serde::Deserialize;

use super::attribute::{AttributeEntry, CapacityEntry, attributes, capacity};
use super::context::Context;
use super::detail::Detail;
use super::error::{FieldError, each};
use super::nullable::{entries, or_default};
use super::object::{Object, ToObject};
use super::{DeviceTaint, ObjectMeta};
use crate::model;

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

/// What is published.
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
    /// The devices.
    #[prost(message, repeated, tag = "6")]
    #[serde(default, deserialize_with = "or_default")]
    pub devices: Vec<Device>,
    /// Whether each device says which nodes can use it.
    #[prost(bool, optional, tag = "7")]
    pub per_device_node_selection: Option<bool>,
}

/// A pool, as one of its slices describes it.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourcePool {
    /// Unique within the driver.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Raised when the slices are replaced.
    #[prost(int64, optional, tag = "2")]
    pub generation: Option<i64>,
    /// How many slices of this generation there will be.
    #[prost(int64, optional, tag = "3")]
    pub resource_slice_count: Option<i64>,
}

/// One device.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Unique within the pool.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
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
    /// The one node that can use it.
    #[prost(string, optional, tag = "5")]
    pub node_name: Option<String>,
    /// The driver's taints.
    #[prost(message, repeated, tag = "8")]
    #[serde(default, deserialize_with = "or_default")]
    pub taints: Vec<DeviceTaint>,
    /// Whether several claims can share it.
    #[prost(bool, optional, tag = "12")]
    pub allow_multiple_allocations: Option<bool>,
}

impl ResourceSlice {
    /// Drops what `detail` does not ask for.
    pub(super) fn with(mut self, detail: Detail) -> Self {
        let devices = self.spec.iter_mut().flat_map(|spec| &mut spec.devices);
        if detail == Detail::Names {
            for device in devices {
                device.attributes.clear();
                device.capacity.clear();
            }
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
        })))
    }
}

impl ResourceSliceSpec {
    fn nodes(&self, context: &mut Context) -> model::SliceNodes {
        match context.optional(self.node_name.as_deref()) {
            Some(node) => model::SliceNodes::One(node),
            None if self.per_device_node_selection == Some(true) => model::SliceNodes::PerDevice,
            None => model::SliceNodes::Several,
        }
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
        })
    }
}
