//! `ResourceClaim` as served by `resource.k8s.io/v1beta1`.
//!
//! Served since 1.32, and what the control plane of 1.33 reads. Differs from v1 in that a request that
//! asks for exactly one thing says so itself, and not under `exactly`, with other protobuf numbers. Drop
//! this file when the oldest supported Kubernetes no longer serves it (see `model::kind`).

use serde::Deserialize;

use super::capacity::CapacityRequirements;
use super::claim::{self, ResourceClaimStatus};
use super::class::DeviceSelector;
use super::meta::ObjectMeta;
use super::nullable::or_default;
use super::request::{self, DerivedAttribute, DeviceConstraint};
use super::taint::DeviceToleration;

/// Who holds which devices, and who asks for which.
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

/// `DeviceRequest`: exactly this, or the first of the alternatives.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceRequest {
    /// Unique within the claim.
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
    /// Whether for administration.
    #[prost(bool, optional, tag = "6")]
    pub admin_access: Option<bool>,
    /// Or the first of these.
    #[prost(message, repeated, tag = "7")]
    #[serde(default, deserialize_with = "or_default")]
    pub first_available: Vec<DeviceSubRequest>,
    /// What is put up with.
    #[prost(message, repeated, tag = "8")]
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// How much of a device.
    #[prost(message, optional, tag = "9")]
    pub capacity: Option<CapacityRequirements>,
    /// Attributes that the scheduler works out.
    #[prost(message, repeated, tag = "10")]
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
    #[prost(message, repeated, tag = "7")]
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// How much of a device.
    #[prost(message, optional, tag = "8")]
    pub capacity: Option<CapacityRequirements>,
    /// Attributes that the scheduler works out.
    #[prost(message, repeated, tag = "9")]
    #[serde(default, deserialize_with = "or_default")]
    pub derived_attributes: Vec<DerivedAttribute>,
}

impl From<ResourceClaim> for claim::ResourceClaim {
    fn from(claim: ResourceClaim) -> Self {
        Self {
            metadata: claim.metadata,
            spec: claim.spec.map(Into::into),
            status: claim.status,
        }
    }
}

impl From<ResourceClaimSpec> for request::ResourceClaimSpec {
    fn from(spec: ResourceClaimSpec) -> Self {
        Self {
            devices: spec.devices.map(|devices| request::DeviceClaim {
                requests: devices.requests.into_iter().map(Into::into).collect(),
                constraints: devices.constraints,
            }),
        }
    }
}

impl From<DeviceRequest> for request::DeviceRequest {
    fn from(request: DeviceRequest) -> Self {
        // v1beta1 has no field for the distinction: a request without alternatives is exact.
        let is_exact = request.device_class_name.is_some() || request.first_available.is_empty();
        Self {
            name: request.name,
            first_available: request
                .first_available
                .into_iter()
                .map(Into::into)
                .collect(),
            exactly: is_exact.then_some(request::ExactDeviceRequest {
                device_class_name: request.device_class_name,
                selectors: request.selectors,
                allocation_mode: request.allocation_mode,
                count: request.count,
                admin_access: request.admin_access,
                tolerations: request.tolerations,
                capacity: request.capacity,
                derived_attributes: request.derived_attributes,
            }),
        }
    }
}

impl From<DeviceSubRequest> for request::DeviceSubRequest {
    fn from(request: DeviceSubRequest) -> Self {
        Self {
            name: request.name,
            device_class_name: request.device_class_name,
            selectors: request.selectors,
            allocation_mode: request.allocation_mode,
            count: request.count,
            tolerations: request.tolerations,
            capacity: request.capacity,
            derived_attributes: request.derived_attributes,
        }
    }
}
