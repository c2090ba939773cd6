//! Steps and results of one unit, and responses to its evictions.

use std::time::Duration;

use super::state::UnitProgress;
use crate::model::{NamespacedName, Uid};

/// Next step of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitStep {
    /// Ask the Eviction API to evict this pod.
    Evict(NamespacedName, Uid),
    /// Restart the Deployment with this UID, which is among `restarts` of the facts.
    Restart(Uid),
    /// Give the rules of the unit effect NoExecute.
    RaiseEffect,
    /// Observe the unit again, at the latest after this elapsed time.
    WaitUntil(Duration),
    /// The unit has ended.
    Finished(UnitEnd),
}

/// Result of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitEnd {
    /// No claim holds its devices, and the workloads of its pods are ready, except for these, which are not waited for: a
    /// line each.
    Idle(Vec<String>),
    /// Only pods that the drain does not evict hold its devices.
    Held(Vec<String>),
    /// A pod was force-deleted, or its end was not seen: its node may not have released its devices; a line each.
    NotReleased(Vec<String>),
    /// Pods could not be evicted, or workloads are not ready, for these reasons.
    Blocked(Vec<String>),
    /// Another user or program has reversed it.
    Reversed(String),
    /// Another run has taken it over.
    TakenOver(String),
}

impl UnitEnd {
    /// The stage to record on its rules; none if another user or run has changed them.
    #[must_use]
    pub fn progress(&self) -> Option<UnitProgress> {
        match self {
            Self::Idle(_) => Some(UnitProgress::Idle),
            Self::Held(_) | Self::NotReleased(_) => Some(UnitProgress::Held),
            Self::Blocked(_) => Some(UnitProgress::Blocked),
            Self::Reversed(_) | Self::TakenOver(_) => None,
        }
    }

    /// Whether further units may start: not after one that is blocked, nor if another run drains the units.
    #[must_use]
    pub fn may_others_start(&self) -> bool {
        match self {
            Self::Idle(_) | Self::Held(_) | Self::Reversed(_) => true,
            Self::NotReleased(_) | Self::Blocked(_) | Self::TakenOver(_) => false,
        }
    }
}

/// Response of the Eviction API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionReply {
    /// The pod is terminating.
    Accepted,
    /// The pod no longer exists, or another pod has its name.
    Gone,
    /// A budget refuses the eviction: the server's message.
    Refused(String),
    /// It is unknown whether the pod was evicted.
    Unknown,
}

/// A refused eviction.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The response of the server.
    pub(super) message: String,
    /// Time since the unit began at which the eviction is tried again.
    pub(super) retry_at: Duration,
    /// How long is waited before it is tried again.
    pub(super) wait: Duration,
}
