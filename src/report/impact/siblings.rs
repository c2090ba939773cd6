//! Devices in use on the hardware of selected ones, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess;
use crate::report::reference::ObjectReference;

/// A device in use on the hardware of a selected one: another partition of it, or the same device where
/// it is shared. Its users would stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sibling {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The selected devices on the same hardware, itself where it is shared.
    pub shares_hardware_with: Vec<String>,
    /// The claims that hold it and whose users would stay.
    pub claims: Vec<ObjectReference>,
    /// The pods for which these claims are reserved.
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
