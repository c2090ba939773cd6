//! Severity of hazards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of the impact on a pod, in ascending order.
///
/// It is based on known data only, so the real severity may be higher: `incomplete` lists the missing data,
/// and the bounds of the counts in `severities` show how many pods may have each severity.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Severity {
    /// No known hazard.
    #[default]
    Ok,
    /// Nothing is lost permanently, but the owner of the pod may need to know.
    Notice,
    /// The eviction costs something that is not restored automatically.
    Warning,
    /// The eviction breaks something beyond the pod itself, such as the availability of its workload.
    Danger,
}

impl Severity {
    /// Every severity, from the least to the worst.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Notice, Self::Warning, Self::Danger];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }

    /// A mark before a row, for users who see no colour.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Ok | Self::Notice => " ",
            Self::Warning => "!",
            Self::Danger => "‼",
        }
    }
}
