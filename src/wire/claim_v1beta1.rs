//! Requests of a `ResourceClaim` as served by `resource.k8s.io/v1beta1`.
//!
//! Served since 1.32, and what the control plane of 1.33 reads. Differs from v1 in that a request that
//! asks for exactly one thing says so itself, and not under `exactly`, with other protobuf numbers. Drop
//! this file when the oldest supported Kubernetes no longer serves it (see `model::kind`).

use super::capacity::CapacityRequirements;
use super::class::DeviceSelector;
use super::message::message;
use super::request::{self, DerivedAttribute};
use super::taint::DeviceToleration;

message! {
    /// `DeviceRequest`: exactly this, or the first of the alternatives.
    pub struct DeviceRequest {
        /// Unique within the claim.
        name: optional string = 1,
        /// The class.
        device_class_name: optional string = 2,
        /// All have to hold.
        selectors: repeated DeviceSelector = 3,
        /// Such as `ExactCount`.
        allocation_mode: optional string = 4,
        /// How many.
        count: optional int64 = 5,
        /// Whether for administration.
        admin_access: optional bool = 6,
        /// Or the first of these.
        first_available: repeated DeviceSubRequest = 7,
        /// What is put up with.
        tolerations: repeated DeviceToleration = 8,
        /// How much of a device.
        capacity: optional CapacityRequirements = 9,
        /// Attributes that the scheduler works out.
        derived_attributes: repeated DerivedAttribute = 10,
    }

    /// `DeviceSubRequest`.
    pub struct DeviceSubRequest {
        /// Unique within the request.
        name: optional string = 1,
        /// The class.
        device_class_name: optional string = 2,
        /// All have to hold.
        selectors: repeated DeviceSelector = 3,
        /// Such as `ExactCount`.
        allocation_mode: optional string = 4,
        /// How many.
        count: optional int64 = 5,
        /// What is put up with.
        tolerations: repeated DeviceToleration = 7,
        /// How much of a device.
        capacity: optional CapacityRequirements = 8,
        /// Attributes that the scheduler works out.
        derived_attributes: repeated DerivedAttribute = 9,
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
