//! Devices in use on the hardware of selected ones, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assess;

/// A device in use on the hardware of a selected one: another partition of it, or the same device where
/// it is shared. Its users would stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sibling {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The selected devices beside which it is, itself where it is shared.
    pub beside: Vec<String>,
    /// The claims that hold it and whose users would stay, as NAMESPACE/NAME.
    pub claims: Vec<String>,
    /// The pods for which these claims are reserved, as NAMESPACE/NAME.
    pub pods: Vec<String>,
}

impl From<&assess::Sibling> for Sibling {
    fn from(sibling: &assess::Sibling) -> Self {
        Self {
            device: sibling.device.clone(),
            beside: sibling.beside.clone(),
            claims: sibling.claims.clone(),
            pods: sibling.pods.clone(),
        }
    }
}
