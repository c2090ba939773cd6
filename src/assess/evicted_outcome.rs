//! What became of a pod that was evicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::UNKNOWN;

/// Outcome of an evicted pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EvictedOutcome {
    /// The pod is terminating.
    Terminating,
    /// A replacement is running.
    CreatedAgain,
    /// Replacements were created and evicted too.
    EvictedAgain,
    /// A replacement exists and is not running yet.
    Pending,
    /// The pod is not recreated yet: its workload has fewer pods than desired.
    Missing,
    /// The pod is not recreated, because its workload now desires fewer pods, for example 0.
    ScaledDown,
    /// Nothing recreates the pod: it was a bare pod, or its Job failed.
    NotCreatedAgain,
    /// Nothing recreates the pod, because its Job is complete.
    JobComplete,
    /// Unknown, because data is missing.
    Unknown,
}

impl EvictedOutcome {
    /// Whether what made the pod makes others.
    #[must_use]
    pub fn is_of_a_workload_that_goes_on(self) -> bool {
        match self {
            Self::CreatedAgain | Self::EvictedAgain | Self::Pending | Self::Missing => true,
            Self::Terminating
            | Self::ScaledDown
            | Self::NotCreatedAgain
            | Self::JobComplete
            | Self::Unknown => false,
        }
    }

    /// The outcome in words.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Terminating => "terminating",
            Self::CreatedAgain => "recreated, running",
            Self::EvictedAgain => "recreated, and evicted again",
            Self::JobComplete => "its Job is complete",
            Self::Pending => "recreated, pending",
            Self::Missing => "not recreated yet",
            Self::ScaledDown => "its workload desires fewer pods now",
            Self::NotCreatedAgain => "not recreated",
            Self::Unknown => UNKNOWN,
        }
    }
}
