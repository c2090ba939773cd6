//! What claims ask for, as every version since `resource.k8s.io/v1beta2` writes it.

use serde::Deserialize;

use super::capacity::{CapacityRequirements, quantities};
use super::class::DeviceSelector;
use super::context::Context;
use super::nullable::or_default;
use super::taint::DeviceToleration;
use crate::model;

/// `ResourceClaimSpec`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct ResourceClaimSpec {
    /// What is asked for.
    #[prost(message, optional, tag = "1")]
    pub devices: Option<DeviceClaim>,
}

/// `DeviceClaim`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct DeviceClaim {
    /// All have to be served.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub requests: Vec<DeviceRequest>,
    /// What has to hold between the devices.
    #[prost(message, repeated, tag = "2")]
    #[serde(default, deserialize_with = "or_default")]
    pub constraints: Vec<DeviceConstraint>,
}

/// `DeviceConstraint`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceConstraint {
    /// For which requests.
    #[prost(string, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub requests: Vec<String>,
    /// An attribute that has to be the same.
    #[prost(string, optional, tag = "2")]
    pub match_attribute: Option<String>,
    /// An attribute that has to differ.
    #[prost(string, optional, tag = "3")]
    pub distinct_attribute: Option<String>,
}

/// `DeviceRequest`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceRequest {
    /// Unique within the claim.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// What is asked for.
    #[prost(message, optional, tag = "2")]
    pub exactly: Option<ExactDeviceRequest>,
    /// Or the first of these.
    #[prost(message, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub first_available: Vec<DeviceSubRequest>,
}

/// `ExactDeviceRequest`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ExactDeviceRequest {
    /// The class.
    #[prost(string, optional, tag = "1")]
    pub device_class_name: Option<String>,
    /// All have to hold.
    #[prost(message, repeated, tag = "2")]
    #[serde(default, deserialize_with = "or_default")]
    pub selectors: Vec<DeviceSelector>,
    /// Such as `ExactCount`.
    #[prost(string, optional, tag = "3")]
    pub allocation_mode: Option<String>,
    /// How many.
    #[prost(int64, optional, tag = "4")]
    pub count: Option<i64>,
    /// Whether for administration.
    #[prost(bool, optional, tag = "5")]
    pub admin_access: Option<bool>,
    /// What is put up with.
    #[prost(message, repeated, tag = "6")]
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// How much of a device.
    #[prost(message, optional, tag = "7")]
    pub capacity: Option<CapacityRequirements>,
    /// Attributes that the scheduler works out; alpha in 1.37.
    #[prost(message, repeated, tag = "8")]
    #[serde(default, deserialize_with = "or_default")]
    pub derived_attributes: Vec<DerivedAttribute>,
}

/// `DeviceSubRequest`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceSubRequest {
    /// Unique within the request.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// The class.
    #[prost(string, optional, tag = "2")]
    pub device_class_name: Option<String>,
    /// All have to hold.
    #[prost(message, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub selectors: Vec<DeviceSelector>,
    /// Such as `ExactCount`.
    #[prost(string, optional, tag = "4")]
    pub allocation_mode: Option<String>,
    /// How many.
    #[prost(int64, optional, tag = "5")]
    pub count: Option<i64>,
    /// What is put up with.
    #[prost(message, repeated, tag = "6")]
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// How much of a device.
    #[prost(message, optional, tag = "7")]
    pub capacity: Option<CapacityRequirements>,
    /// Attributes that the scheduler works out; alpha in 1.37.
    #[prost(message, repeated, tag = "8")]
    #[serde(default, deserialize_with = "or_default")]
    pub derived_attributes: Vec<DerivedAttribute>,
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
        // What is odd about a toleration is told where it is in force: in the allocation result.
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
