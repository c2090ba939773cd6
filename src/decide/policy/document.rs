//! What a policy file says.

use schemars::JsonSchema;

use crate::assess::Guard;
use crate::model::{API_VERSION, DeviceSelector};

/// A team's policy for taints: a file for --policy.
///
/// Several policies apply together, and together with the flags of the command line: each can forbid more,
/// and none can allow what another forbids.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceTaintPolicy {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the file.
    #[schemars(extend("const" = "DeviceTaintPolicy"))]
    pub kind: String,
    /// Guards, as for --abort-if, such as `pods.evicted>20`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub guards: Vec<Guard>,
    /// Fields that a rule must have before it is created, or before its effect is raised.
    #[serde(default)]
    pub require: Vec<Requirement>,
    /// Devices that no rule may select, regardless of its effect.
    #[serde(default)]
    pub never_taint: Vec<Protected>,
}

/// A field that a rule must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub enum Requirement {
    /// The reason for the taint, set with `--reason`.
    Reason,
    /// A ticket reference, set with `--ticket`.
    Ticket,
    /// A reason or a ticket reference.
    ReasonOrTicket,
}

impl Requirement {
    /// Every requirement.
    pub const ALL: [Self; 3] = [Self::Reason, Self::Ticket, Self::ReasonOrTicket];

    /// The requirement as it is written in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reason => "Reason",
            Self::Ticket => "Ticket",
            Self::ReasonOrTicket => "ReasonOrTicket",
        }
    }
}

/// Devices that no rule may select.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Protected {
    /// The devices, as DRIVER/POOL/DEVICE with * for any, or the name of a driver.
    #[schemars(with = "String")]
    pub device: DeviceSelector,
    /// Why the devices are protected; part of the error of a refused command.
    #[serde(default)]
    pub message: Option<String>,
}
