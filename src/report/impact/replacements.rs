//! Whether claims that lose their devices could be placed again, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess;
use crate::report::bounds::Bounds;
use crate::report::casing::pascal_case;

/// Whether the claims whose pods would be evicted could be placed again, with the taints in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replacements {
    /// Every claim through which a pod would lose a device, by namespace and name.
    pub claim_replacements: Vec<ClaimReplacement>,
    /// How many of these claims can be placed at the same time, at the most. An upper bound: constraints,
    /// counters, portions of capacity and that several devices have to be on one node are not looked at,
    /// and claims of which it is not known are counted in.
    pub max_placeable_claim_count: usize,
    /// What stays allocatable of the classes of the selected devices; null where that is not known.
    pub available: Option<AvailableDevices>,
}

/// Whether a claim could be placed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReplacement {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// Whether the scheduler's allocator could place it on some node, alone and with all other
    /// allocations as they are; null where that is not known.
    pub placeable: Option<bool>,
    /// Why that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// What it asks for, alternatives one by one.
    pub requests: Vec<RequestReplacement>,
    /// What it asks for that maxPlaceableClaimCount does not look at: Constraints, Counters, Capacity,
    /// AllDevices, SeveralDevices.
    pub not_modelled: Vec<String>,
}

/// How many devices could serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestReplacement {
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// How many devices it needs; null where it wants all of a node.
    pub needed_device_count: Option<i64>,
    /// Matching devices of its class that no taint excludes, and that are not allocated to other
    /// claims.
    pub available_device_count: usize,
    /// What is known of that number where it is not exact; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// What stays allocatable of the classes of the selected devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableDevices {
    /// The classes, by name.
    pub device_class_names: Vec<String>,
    /// Unallocated devices of these classes that claims without tolerations can get.
    pub available_device_count: usize,
    /// All devices of these classes.
    pub class_device_count: usize,
    /// What is known of these numbers where they are not exact; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

impl From<&assess::Replacements> for Replacements {
    fn from(replacements: &assess::Replacements) -> Self {
        Self {
            claim_replacements: replacements.claims.iter().map(Into::into).collect(),
            max_placeable_claim_count: replacements.at_most_together,
            available: replacements.available.as_ref().map(Into::into),
        }
    }
}

impl From<&assess::ClaimReplacement> for ClaimReplacement {
    fn from(claim: &assess::ClaimReplacement) -> Self {
        let beyond = claim.not_modelled.iter();
        Self {
            namespace: claim.name.namespace.to_string(),
            name: claim.name.name.to_string(),
            placeable: claim.placeable,
            unknown: claim.unknown.iter().map(ToString::to_string).collect(),
            requests: claim.requests.iter().map(Into::into).collect(),
            not_modelled: beyond.map(|beyond| pascal_case(beyond.as_str())).collect(),
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
