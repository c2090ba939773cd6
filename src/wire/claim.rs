//! `ResourceClaim` as served by every version since `resource.k8s.io/v1beta2`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::capacity::quantities;
use super::context::Context;
use super::error::{FieldError, each};
use super::message::message;
use super::meta::ObjectMeta;
use super::node_selector::NodeSelector;
use super::nullable::unique;
use super::object::{Object, ToObject};
use super::quantity::Quantity;
use super::request::ResourceClaimSpec;
use super::taint::DeviceToleration;
use crate::model;

message! {
    /// Allocation of devices, and its consumers.
    pub struct ResourceClaim {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Requests.
        spec: optional ResourceClaimSpec = 2,
        /// Allocation and consumers.
        status: optional ResourceClaimStatus = 3,
    }

    /// Allocation and consumers.
    pub struct ResourceClaimStatus {
        /// The devices.
        allocation: optional AllocationResult = 1,
        /// Consumers.
        reserved_for: repeated ResourceClaimConsumerReference = 2,
    }

    /// Decision of the allocator.
    pub struct AllocationResult {
        /// The devices.
        devices: optional DeviceAllocationResult = 1,
        /// Nodes that can use them.
        node_selector: optional NodeSelector = 3,
    }

    /// The devices that were given.
    pub struct DeviceAllocationResult {
        /// One per device or share.
        results: repeated DeviceRequestAllocationResult = 1,
    }

    /// One device or share that was given.
    pub struct DeviceRequestAllocationResult {
        /// Request that it was allocated for.
        request: optional string = 1,
        /// Driver of the device.
        driver: optional string = 2,
        /// From which pool.
        pool: optional string = 3,
        /// Name of the device.
        device: optional string = 4,
        /// True if for administration.
        admin_access: optional bool = 5,
        /// Tolerations.
        tolerations: repeated DeviceToleration = 6,
        /// Share.
        #[prost(string, optional, tag = "9")]
        #[serde(rename = "shareID")]
        pub share_id: Option<String>,
        /// Consumed amounts of a shared device.
        #[prost(btree_map = "string, message", tag = "10")]
        #[serde(default, deserialize_with = "unique")]
        pub consumed_capacity: BTreeMap<String, Quantity>,
    }

    /// Consumer of a claim.
    pub struct ResourceClaimConsumerReference {
        /// Empty for the core group.
        api_group: optional string = 1,
        /// Resource, such as `pods`.
        resource: optional string = 3,
        /// The consumer's name.
        name: optional string = 4,
        /// The consumer's identity.
        uid: optional string = 5,
    }
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
