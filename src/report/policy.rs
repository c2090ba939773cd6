//! Policy files, and violations of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metadata::API_VERSION;
use crate::assess::Guard;
use crate::model::DeviceSelector;

/// What a team has agreed on: a file that is given with --policy.
///
/// Several files add up, together with what is given on the command line: each can forbid more, and
/// none can allow what another forbids.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceTaintPolicy {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// What the file is.
    #[schemars(extend("const" = "DeviceTaintPolicy"))]
    pub kind: String,
    /// Limits as --abort-if takes them, such as `pods.evicted>20`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub guards: Vec<Guard>,
    /// What a rule has to say about itself before it is made or made to do more.
    #[serde(default)]
    pub require: Vec<Requirement>,
    /// The devices that no rule may select, whatever its effect.
    #[serde(default)]
    pub never_taint: Vec<Protected>,
}

/// What a rule has to say about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub enum Requirement {
    /// Why the devices are tainted: `--reason`.
    Reason,
    /// Ticket reference: `--ticket`.
    Ticket,
    /// One of the two.
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
    /// DRIVER/POOL/DEVICE with * for any, or the name of a driver.
    #[schemars(with = "String")]
    pub device: DeviceSelector,
    /// Why; part of the error of a refused command.
    #[serde(default)]
    pub message: Option<String>,
}

/// A violation of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// The policy's file.
    pub policy: String,
    /// Code of the violation, such as `ProtectedDevice`; stable.
    pub reason: String,
    /// The violation, with the name of the rule.
    pub message: String,
}

impl Violation {
    /// The violation in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("policy {}: {}", self.policy, self.message)
    }
}
