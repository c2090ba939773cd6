//! Violations of policies, as reports write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decide::policy::PolicyViolation;

/// A violation of a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// The file of the policy.
    pub policy: String,
    /// Code of the violation; stable. `ProtectedDevice`: a rule would select a device that no rule may
    /// select. `NotSaid`: a rule lacks the reason or the ticket that the policy requires.
    pub reason: String,
    /// The violation as text, with the name of the rule, or its devices if the rule does not exist yet.
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
