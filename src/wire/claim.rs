//! Claims, their templates and device classes, as every version since `resource.k8s.io/v1beta2` serves them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::{FieldError, each};
use super::message::message;
use super::meta::ObjectMeta;
use super::object::{Context, Object, ToObject};
use super::rule::DeviceToleration;
use super::slice::{CapacityRequirements, NodeSelector, quantities};
use super::time::Quantity;
use super::unambiguous::unique;
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
        /// Results, one for each device or share.
        results: repeated DeviceRequestAllocationResult = 1,
    }

    /// One device or share that was given.
    pub struct DeviceRequestAllocationResult {
        /// Request that it was allocated for.
        request: optional string = 1,
        /// Driver of the device.
        driver: optional string = 2,
        /// Pool of the device.
        pool: optional string = 3,
        /// Name of the device.
        device: optional string = 4,
        /// True for admin access.
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
    fn metadata(&self) -> Option<&ObjectMeta> {
        self.metadata.as_ref()
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
            request: context.intern(self.request()),
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
            api_group: context.intern(self.api_group()),
            resource: context.intern(self.resource()),
            name: context.intern(self.name()),
            uid: context.intern(self.uid()),
        }
    }
}

/// [`ResourceClaim`] without its spec, which plays no part once devices are allocated: only the search for a
/// replacement needs it. For live reads, which are protobuf: a decoder that does not know a field passes over it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WithoutSpec {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "3")]
    status: Option<ResourceClaimStatus>,
}

impl From<WithoutSpec> for ResourceClaim {
    fn from(claim: WithoutSpec) -> Self {
        Self {
            metadata: claim.metadata,
            // `None` means not read, which differs from a claim that requests nothing.
            spec: None,
            status: claim.status,
        }
    }
}

message! {
    /// `ResourceClaimSpec`.
    pub struct ResourceClaimSpec {
        /// Requested devices.
        devices: optional DeviceClaim = 1,
    }

    /// `DeviceClaim`.
    pub struct DeviceClaim {
        /// Requests, all of which have to be served.
        requests: repeated DeviceRequest = 1,
        /// Constraints between the devices.
        constraints: repeated DeviceConstraint = 2,
    }

    /// `DeviceConstraint`.
    pub struct DeviceConstraint {
        /// Requests that it is about; empty means all.
        requests: repeated string = 1,
        /// An attribute that has to be the same.
        match_attribute: optional string = 2,
        /// An attribute that has to differ.
        distinct_attribute: optional string = 3,
    }

    /// `DeviceRequest`.
    pub struct DeviceRequest {
        /// Unique within the claim.
        name: optional string = 1,
        /// Requested devices.
        exactly: optional ExactDeviceRequest = 2,
        /// Alternatives, of which the first that can be served is taken.
        first_available: repeated DeviceSubRequest = 3,
    }

    /// `ExactDeviceRequest`.
    pub struct ExactDeviceRequest {
        /// The class.
        device_class_name: optional string = 1,
        /// Selectors, all of which have to hold.
        selectors: repeated DeviceSelector = 2,
        /// Allocation mode, such as `ExactCount`.
        allocation_mode: optional string = 3,
        /// Number of devices.
        count: optional int64 = 4,
        /// True for admin access.
        admin_access: optional bool = 5,
        /// Tolerations.
        tolerations: repeated DeviceToleration = 6,
        /// Requested capacity of a device.
        capacity: optional CapacityRequirements = 7,
        /// Attributes that the scheduler works out; alpha in 1.37.
        derived_attributes: repeated DerivedAttribute = 8,
    }

    /// `DeviceSubRequest`.
    pub struct DeviceSubRequest {
        /// Unique within the request.
        name: optional string = 1,
        /// The class.
        device_class_name: optional string = 2,
        /// Selectors, all of which have to hold.
        selectors: repeated DeviceSelector = 3,
        /// Allocation mode, such as `ExactCount`.
        allocation_mode: optional string = 4,
        /// Number of devices.
        count: optional int64 = 5,
        /// Tolerations.
        tolerations: repeated DeviceToleration = 6,
        /// Requested capacity of a device.
        capacity: optional CapacityRequirements = 7,
        /// Attributes that the scheduler works out; alpha in 1.37.
        derived_attributes: repeated DerivedAttribute = 8,
    }
}

/// `DeviceDerivedAttribute`, of which only its presence matters.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct DerivedAttribute {}

impl ResourceClaimSpec {
    pub(super) fn to_model(&self, context: &mut Context) -> model::ClaimSpec {
        let none = DeviceClaim::default();
        let devices = self.devices.as_ref().unwrap_or(&none);
        let constraints = devices.constraints.iter();
        model::ClaimSpec {
            requests: devices
                .requests
                .iter()
                .map(|request| request.to_model(context))
                .collect(),
            constraints: constraints.map(|one| one.to_model(context)).collect(),
        }
    }
}

impl DeviceConstraint {
    fn to_model(&self, context: &mut Context) -> model::DeviceConstraint {
        let requests = context.intern_all(&self.requests);
        let rule = match (&self.match_attribute, &self.distinct_attribute) {
            (Some(name), _) => model::ConstraintRule::Same(context.intern(name)),
            (None, Some(name)) => model::ConstraintRule::Distinct(context.intern(name)),
            (None, None) => model::ConstraintRule::Unknown,
        };
        model::DeviceConstraint { requests, rule }
    }
}

impl DeviceRequest {
    fn to_model(&self, context: &mut Context) -> model::DeviceRequest {
        let kind = if !self.first_available.is_empty() {
            let alternatives = self.first_available.iter();
            model::RequestKind::FirstAvailable(
                alternatives
                    .map(|one| {
                        let name = context.intern(one.name());
                        (name, one.as_exact().to_model(context))
                    })
                    .collect(),
            )
        } else if let Some(exactly) = &self.exactly {
            model::RequestKind::Exactly(exactly.to_model(context))
        } else {
            model::RequestKind::Unknown
        };
        model::DeviceRequest {
            name: context.intern(self.name()),
            kind,
        }
    }
}

impl DeviceSubRequest {
    /// The alternative as a request: it can ask for the same, except for admin access.
    fn as_exact(&self) -> ExactDeviceRequest {
        ExactDeviceRequest {
            device_class_name: self.device_class_name.clone(),
            selectors: self.selectors.clone(),
            allocation_mode: self.allocation_mode.clone(),
            count: self.count,
            admin_access: None,
            tolerations: self.tolerations.clone(),
            capacity: self.capacity.clone(),
            derived_attributes: self.derived_attributes.clone(),
        }
    }
}

impl ExactDeviceRequest {
    fn to_model(&self, context: &mut Context) -> model::RequestTerms {
        let requests = self.capacity.as_ref().map(|capacity| &capacity.requests);
        // Warnings about a toleration are given where it is in force: in the allocation result.
        let mut unheard = Context::default();
        model::RequestTerms {
            class: context.intern(self.device_class_name()),
            expressions: expressions(&self.selectors)
                .map(|text| context.intern(text))
                .collect(),
            amount: match self.allocation_mode() {
                // As the API server defaults them; a file need not have been there.
                "" | "ExactCount" => model::DeviceAmount::Exactly(self.count.unwrap_or(1)),
                "All" => model::DeviceAmount::All,
                other => model::DeviceAmount::Unknown(context.intern(other)),
            },
            admin_access: self.admin_access.unwrap_or_default(),
            tolerations: self
                .tolerations
                .iter()
                .map(|toleration| toleration.to_model(&mut unheard))
                .collect(),
            capacity: requests
                .map(|requests| quantities(requests, context))
                .unwrap_or_default(),
            // Terms that cannot be evaluated: whether a device meets them is unknown, not true.
            is_more: !self.derived_attributes.is_empty()
                || self.selectors.iter().any(|one| one.cel.is_none()),
        }
    }
}

message! {
    /// Template of the claims of pods that are still to come.
    pub struct ResourceClaimTemplate {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Template of each claim.
        spec: optional ResourceClaimTemplateSpec = 2,
    }

    /// Template of a claim.
    pub struct ResourceClaimTemplateSpec {
        /// Spec of the claim.
        spec: optional ResourceClaimSpec = 2,
    }
}

impl ToObject for ResourceClaimTemplate {
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
            .and_then(|spec| spec.spec.as_ref())
            .map(|spec| spec.to_model(context))
            .unwrap_or_default();
        let template = model::ResourceClaimTemplate {
            name: metadata.namespaced_name(context)?,
            spec: context.share(spec),
        };
        Ok(Some(Object::ResourceClaimTemplate(template)))
    }
}

message! {
    /// A choice of devices that claims can name.
    pub struct DeviceClass {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Devices.
        spec: optional DeviceClassSpec = 2,
    }

    /// Devices of a class.
    pub struct DeviceClassSpec {
        /// Selectors, all of which have to hold.
        selectors: repeated DeviceSelector = 1,
        /// The extended resource that the devices serve; since 1.34.
        extended_resource_name: optional string = 4,
    }

    /// A condition on a device.
    pub struct DeviceSelector {
        /// Condition in CEL, the only kind that there is.
        cel: optional CelDeviceSelector = 1,
    }

    /// A condition on a device, as an expression.
    pub struct CelDeviceSelector {
        /// Expression in the Common Expression Language (CEL).
        expression: optional string = 1,
    }
}

/// The expressions of those selectors that have one; upstream skips the others too.
fn expressions(selectors: &[DeviceSelector]) -> impl Iterator<Item = &str> {
    let conditions = selectors.iter().filter_map(|it| it.cel.as_ref());
    // An empty expression is kept: it does not compile, which differs from having no condition.
    conditions.map(CelDeviceSelector::expression)
}

impl ToObject for DeviceClass {
    fn metadata(&self) -> Option<&ObjectMeta> {
        self.metadata.as_ref()
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self.spec.as_ref();
        let selectors = spec.map_or(&[][..], |spec| &spec.selectors);
        let extended = spec.and_then(|spec| spec.extended_resource_name.clone());
        Ok(Some(Object::DeviceClass(model::DeviceClass {
            name: metadata.object_name(context)?,
            expressions: expressions(selectors).map(str::to_owned).collect(),
            extended_resource: extended.filter(|name| !name.is_empty()),
        })))
    }
}
