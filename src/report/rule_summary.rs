//! What a rule does, as data beside the rules themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use crate::engine::rule_lifecycle::EvictionStatus;

/// What a rule does, as data: the columns DEVICES, PODS and EVICTING.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleSummary {
    /// The rule's name.
    pub rule: String,
    /// Published devices that it selects; null where that is not known.
    pub published_device_count: Option<usize>,
    /// Pods that it evicts, or would with effect NoExecute; null where that is not known.
    pub evicted_pod_count: Option<usize>,
    /// Pods on its devices that are terminating already; null where pods are not known.
    pub terminating_pod_count: Option<usize>,
    /// Pods that use its devices and are not evicted by it; null where pods are not known.
    pub not_evicted_pod_count: Option<usize>,
    /// Pods that use the hardware of the devices through partitions; null if pods are unknown.
    pub partition_pod_count: Option<usize>,
    /// Eviction status by the controller's condition.
    pub evicting: Evicting,
    /// Bounds of the counts that are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// Eviction status of a rule by the controller's condition, and whether it is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Evicting {
    /// There is no condition.
    Unknown,
    /// Pods are being evicted.
    InProgress,
    /// No pod is being evicted.
    Idle,
    /// The condition is of an earlier generation of the rule.
    Outdated,
    /// The condition says that pods are being evicted, but none is left.
    NoPodsLeft,
}

impl From<EvictionStatus> for Evicting {
    fn from(evicting: EvictionStatus) -> Self {
        match evicting {
            EvictionStatus::Unknown => Self::Unknown,
            EvictionStatus::Yes => Self::InProgress,
            EvictionStatus::No => Self::Idle,
            EvictionStatus::Outdated => Self::Outdated,
            EvictionStatus::Leftover => Self::NoPodsLeft,
        }
    }
}
