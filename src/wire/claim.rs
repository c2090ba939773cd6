//! `ResourceClaim` as served by every version since `resource.k8s.io/v1beta1`.
//!
//! The versions differ in the spec alone, see [`claim_v1beta1`](super::claim_v1beta1); it is needed only
//! where a replacement is asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::capacity::quantities;
use super::context::Context;
use super::error::{FieldError, each};
use super::meta::ObjectMeta;
use super::node_selector::NodeSelector;
use super::nullable::{or_default, unique};
use super::object::{Object, ToObject};
use super::quantity::Quantity;
use super::request::ResourceClaimSpec;
use super::taint::DeviceToleration;
use super::time::Time;
use crate::model;

/// Who holds which devices.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaim {
    /// Who it is.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// What is asked for.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<ResourceClaimSpec>,
    /// What was given.
    #[prost(message, optional, tag = "3")]
    pub status: Option<ResourceClaimStatus>,
}

/// What was given, and to whom.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// The devices.
    #[prost(message, optional, tag = "1")]
    pub allocation: Option<AllocationResult>,
    /// Who may use them.
    #[prost(message, repeated, tag = "2")]
    #[serde(default, deserialize_with = "or_default")]
    pub reserved_for: Vec<ResourceClaimConsumerReference>,
}

/// What the allocator decided.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct AllocationResult {
    /// The devices.
    #[prost(message, optional, tag = "1")]
    pub devices: Option<DeviceAllocationResult>,
    /// Which nodes can use them.
    #[prost(message, optional, tag = "3")]
    pub node_selector: Option<NodeSelector>,
    /// When; behind a feature gate.
    #[prost(message, optional, tag = "5")]
    pub allocation_timestamp: Option<Time>,
}

/// The devices that were given.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceAllocationResult {
    /// One per device or share.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub results: Vec<DeviceRequestAllocationResult>,
}

/// One device or share that was given.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceRequestAllocationResult {
    /// What it was given for.
    #[prost(string, optional, tag = "1")]
    pub request: Option<String>,
    /// Whose device.
    #[prost(string, optional, tag = "2")]
    pub driver: Option<String>,
    /// From which pool.
    #[prost(string, optional, tag = "3")]
    pub pool: Option<String>,
    /// Which one.
    #[prost(string, optional, tag = "4")]
    pub device: Option<String>,
    /// Whether for administration.
    #[prost(bool, optional, tag = "5")]
    pub admin_access: Option<bool>,
    /// What is put up with.
    #[prost(message, repeated, tag = "6")]
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// Which share.
    #[prost(string, optional, tag = "9")]
    #[serde(rename = "shareID")]
    pub share_id: Option<String>,
    /// How much of a shared device.
    #[prost(btree_map = "string, message", tag = "10")]
    #[serde(default, deserialize_with = "unique")]
    pub consumed_capacity: BTreeMap<String, Quantity>,
}

/// Who may use a claim.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimConsumerReference {
    /// Empty for the core group.
    #[prost(string, optional, tag = "1")]
    pub api_group: Option<String>,
    /// Such as `pods`.
    #[prost(string, optional, tag = "3")]
    pub resource: Option<String>,
    /// The consumer's name.
    #[prost(string, optional, tag = "4")]
    pub name: Option<String>,
    /// The consumer's identity.
    #[prost(string, optional, tag = "5")]
    pub uid: Option<String>,
}

impl ToObject for ResourceClaim {
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        self.metadata.as_ref().map(Cow::Borrowed)
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let status = self.status.as_ref();
        let allocation = status.and_then(|status| status.allocation.as_ref());
        let reserved_for = status.map_or(&[][..], |status| &status.reserved_for);
        Ok(Some(Object::ResourceClaim(model::ResourceClaim {
            name: metadata.namespaced_name(context)?,
            uid: metadata.required_uid()?,
            controller: metadata.controller(context),
            spec: self.spec.as_ref().map(|spec| {
                let spec = spec.to_model(context);
                context.share(spec)
            }),
            allocation: allocation
                .map(|allocation| allocation.to_model(context))
                .transpose()
                .map_err(|error| error.under("status.allocation"))?,
            reserved_for: reserved_for
                .iter()
                .map(|consumer| consumer.to_model(context))
                .collect(),
        })))
    }
}

impl AllocationResult {
    fn to_model(&self, context: &mut Context) -> Result<model::Allocation, FieldError> {
        context.saw(Time::instant(self.allocation_timestamp));
        let results = self
            .devices
            .as_ref()
            .map_or(&[][..], |devices| &devices.results);
        Ok(model::Allocation {
            results: each(results, "devices.results", |result| {
                result.to_model(context)
            })?,
            node: self
                .node_selector
                .as_ref()
                .and_then(NodeSelector::only_node),
        })
    }
}

impl DeviceRequestAllocationResult {
    fn to_model(&self, context: &mut Context) -> Result<model::AllocationResult, FieldError> {
        Ok(model::AllocationResult {
            request: context.intern(self.request.as_deref().unwrap_or_default()),
            device: model::DeviceId {
                driver: context.required(self.driver.as_deref(), "driver")?,
                pool: context.required(self.pool.as_deref(), "pool")?,
                device: context.required(self.device.as_deref(), "device")?,
            },
            admin_access: self.admin_access.unwrap_or_default(),
            share_id: self.share_id.clone(),
            tolerations: self
                .tolerations
                .iter()
                .map(|toleration| toleration.to_model(context))
                .collect(),
            // Boxed, since few results share a device and an inline map would grow every result in the cluster.
            consumed_capacity: (!self.consumed_capacity.is_empty())
                .then(|| Box::new(quantities(&self.consumed_capacity, context))),
        })
    }
}

impl ResourceClaimConsumerReference {
    fn to_model(&self, context: &mut Context) -> model::ConsumerReference {
        model::ConsumerReference {
            api_group: context.intern(self.api_group.as_deref().unwrap_or_default()),
            resource: context.intern(self.resource.as_deref().unwrap_or_default()),
            name: context.intern(self.name.as_deref().unwrap_or_default()),
            uid: context.intern(self.uid.as_deref().unwrap_or_default()),
        }
    }
}
