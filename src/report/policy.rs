//! Violations of policies, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decide::policy::PolicyViolation;

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

impl From<&PolicyViolation> for Violation {
    fn from(found: &PolicyViolation) -> Self {
        Self {
            policy: found.policy.clone(),
            reason: found.reason.as_str().to_owned(),
            message: found.message.clone(),
        }
    }
}
