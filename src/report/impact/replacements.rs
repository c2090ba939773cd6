//! Reallocation of claims that lose their devices, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess;
use crate::report::metadata::Bounds;

/// Reallocation of the claims of evicted pods, with the taints in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replacements {
    /// Every claim through which a pod would lose a device, ordered by namespace and name.
    pub claim_replacements: Vec<ClaimReplacement>,
    /// Available devices in the DeviceClasses of the selected devices; null if unknown.
    pub available: Option<AvailableDevices>,
}

/// Reallocation of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReplacement {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// True if the scheduler's allocator could reallocate this claim on at least one node if no other
    /// allocation changed; null if unknown.
    pub placeable: Option<bool>,
    /// Reasons why `placeable` is null; absent if `placeable` is not null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The requests of the claim; each subrequest of a request with firstAvailable has an entry of its own.
    pub requests: Vec<RequestReplacement>,
}

/// Number of devices that could serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestReplacement {
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// Devices that the request needs; null if it requests all devices of a node.
    pub needed_device_count: Option<i64>,
    /// Devices that the request could get: they match the request, the request tolerates their taints, and no
    /// other claim holds them. Devices on a node count only if the node is not cordoned, and if the node selector
    /// and node affinity of the claim's pods allow the node.
    pub available_device_count: usize,
    /// Bounds of availableDeviceCount if it is not exact; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// Devices that remain available in the DeviceClasses of the selected devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableDevices {
    /// Names of the DeviceClasses of the selected devices, in alphabetical order.
    pub device_class_names: Vec<String>,
    /// Devices that claims without tolerations could still get with the proposed taints in place, counted in the
    /// DeviceClasses of the selected devices. Includes shareable devices with capacity left.
    pub available_device_count: usize,
    /// All devices in the DeviceClasses of the selected devices, available or not.
    pub class_device_count: usize,
    /// Bounds of the counts in this object that are not exact; absent if all are exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

impl From<&assess::Replacements> for Replacements {
    fn from(replacements: &assess::Replacements) -> Self {
        Self {
            claim_replacements: replacements.claims.iter().map(Into::into).collect(),
            available: replacements.available.as_ref().map(Into::into),
        }
    }
}

impl From<&assess::ClaimReplacement> for ClaimReplacement {
    fn from(claim: &assess::ClaimReplacement) -> Self {
        Self {
            namespace: claim.name.namespace.to_string(),
            name: claim.name.name.to_string(),
            placeable: claim.placeable,
            unknown: claim.unknown.iter().map(ToString::to_string).collect(),
            requests: claim.requests.iter().map(Into::into).collect(),
        }
    }
}

impl From<&assess::RequestReplacement> for RequestReplacement {
    fn from(request: &assess::RequestReplacement) -> Self {
        Self {
            request: request.request.clone(),
            needed_device_count: request.needs,
            available_device_count: request.devices.counted(),
            bounds: Bounds::of(&[("availableDeviceCount", request.devices)]),
        }
    }
}

impl From<&assess::AvailableDevices> for AvailableDevices {
    fn from(available: &assess::AvailableDevices) -> Self {
        Self {
            device_class_names: available.classes.clone(),
            available_device_count: available.devices.counted(),
            class_device_count: available.of.counted(),
            bounds: Bounds::of(&[
                ("availableDeviceCount", available.devices),
                ("classDeviceCount", available.of),
            ]),
        }
    }
}
