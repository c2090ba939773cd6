//! Device requests of claims, as every version since `resource.k8s.io/v1beta2` writes them.

use serde::Deserialize;

use super::capacity::{CapacityRequirements, quantities};
use super::class::DeviceSelector;
use super::context::Context;
use super::message::message;
use super::taint::DeviceToleration;
use crate::model;

message! {
    /// `ResourceClaimSpec`.
    pub struct ResourceClaimSpec {
        /// Requested devices.
        devices: optional DeviceClaim = 1,
    }

    /// `DeviceClaim`.
    pub struct DeviceClaim {
        /// All have to be served.
        requests: repeated DeviceRequest = 1,
        /// Constraints between the devices.
        constraints: repeated DeviceConstraint = 2,
    }

    /// `DeviceConstraint`.
    pub struct DeviceConstraint {
        /// For which requests.
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
        /// Or the first of these.
        first_available: repeated DeviceSubRequest = 3,
    }

    /// `ExactDeviceRequest`.
    pub struct ExactDeviceRequest {
        /// The class.
        device_class_name: optional string = 1,
        /// All have to hold.
        selectors: repeated DeviceSelector = 2,
        /// Allocation mode, such as `ExactCount`.
        allocation_mode: optional string = 3,
        /// Number of devices.
        count: optional int64 = 4,
        /// True if for administration.
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
        /// All have to hold.
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
        let requests = self
            .requests
            .iter()
            .map(|name| context.intern(name))
            .collect();
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
                        let name = context.intern(one.name.as_deref().unwrap_or_default());
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
            name: context.intern(self.name.as_deref().unwrap_or_default()),
            kind,
        }
    }
}

impl DeviceSubRequest {
    /// An alternative asks for what a request can ask for, but administration.
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
        let expressions = self
            .selectors
            .iter()
            .filter_map(|one| one.cel.as_ref())
            .map(|cel| cel.expression.as_deref().unwrap_or_default());
        let requests = self.capacity.as_ref().map(|capacity| &capacity.requests);
        // Warnings about a toleration are given where it is in force: in the allocation result.
        let mut unheard = Context::default();
        model::RequestTerms {
            class: context.intern(self.device_class_name.as_deref().unwrap_or_default()),
            expressions: expressions.map(|text| context.intern(text)).collect(),
            amount: match self.allocation_mode.as_deref().unwrap_or_default() {
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
