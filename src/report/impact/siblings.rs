//! Devices in use on the hardware of selected ones, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess;
use crate::report::taint::ObjectReference;

/// A device in use on the same hardware as a selected device: a device that shares counters with it, such as a partition,
/// or the selected device itself if it is shared. The pods listed here would not be evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sibling {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Selected devices on the same hardware as `device`. Contains `device` itself if it is selected and several
    /// claims share it.
    pub shares_hardware_with: Vec<String>,
    /// Claims that hold the device and are reserved for pods that would not be evicted.
    pub claims: Vec<ObjectReference>,
    /// The pods for which the claims are reserved.
    pub pods: Vec<ObjectReference>,
}

impl From<&assess::Sibling> for Sibling {
    fn from(sibling: &assess::Sibling) -> Self {
        Self {
            device: sibling.device.clone(),
            shares_hardware_with: sibling.beside.clone(),
            claims: sibling.claims.iter().map(Into::into).collect(),
            pods: sibling.pods.iter().map(Into::into).collect(),
        }
    }
}
