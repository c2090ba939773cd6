//! Severity of hazards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of the impact on a pod, in ascending order.
///
/// It is based on known data only, a lower bound; counts of severities show whether there may be
/// more.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Severity {
    /// Nothing but what an eviction always is, or none at all.
    #[default]
    Ok,
    /// Worth knowing.
    Notice,
    /// It costs something that does not come back by itself.
    Warning,
    /// Something breaks for others than the pod.
    Danger,
}

impl Severity {
    /// Every severity, from the least to the worst.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Notice, Self::Warning, Self::Danger];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }

    /// A mark before a row: one that stands out for those who see no colour.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Ok | Self::Notice => " ",
            Self::Warning => "!",
            Self::Danger => "‼",
        }
    }
}
