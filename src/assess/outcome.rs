//! Outcome of a pod, at a moment.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Verdict;

/// Outcome of a pod.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Outcome {
    /// The pod would be evicted at once.
    EvictedNow,
    /// The pod would be evicted when its toleration ends, or at the taint's timeAdded if that is in the
    /// future.
    EvictedLater,
    /// The pod uses a selected device and tolerates the proposed taints forever. An existing taint may still
    /// evict it: see `causes`.
    Tolerates,
    /// The pod is already terminating.
    Terminating,
    /// The pod refers to a claim with a selected device, but no proposed taint evicts it, for a reason other
    /// than a toleration: see `notes`. An existing taint may still evict it: see `causes`.
    NotEvicted,
}

impl Outcome {
    /// The outcome as it is spelled in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EvictedNow => "EvictedNow",
            Self::EvictedLater => "EvictedLater",
            Self::Tolerates => "Tolerates",
            Self::Terminating => "Terminating",
            Self::NotEvicted => "NotEvicted",
        }
    }

    /// True if a considered taint evicts the pod, now or later.
    pub fn is_evicted(self) -> bool {
        match self {
            Self::EvictedNow | Self::EvictedLater => true,
            Self::Tolerates | Self::Terminating | Self::NotEvicted => false,
        }
    }

    /// Outcome of the verdict at the moment `now`; overdue evictions happen at once.
    pub fn of(verdict: &Verdict, now: Timestamp) -> Self {
        match verdict {
            Verdict::Evicted { at } if *at <= now => Self::EvictedNow,
            Verdict::Evicted { .. } => Self::EvictedLater,
            Verdict::Tolerates => Self::Tolerates,
            Verdict::Terminating => Self::Terminating,
            Verdict::NotEvicted(_) => Self::NotEvicted,
        }
    }
}
