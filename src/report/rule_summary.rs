//! What a rule does, as data beside the rules themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use crate::engine::rule_lifecycle::EvictionStatus;

/// Counts and eviction status of a rule: the columns DEVICES, PODS and EVICTING of `list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleSummary {
    /// The rule's name.
    pub rule: String,
    /// Published devices that the rule selects; null if unknown.
    pub published_device_count: Option<usize>,
    /// Pods that the rule evicts and that are not terminating yet; with effect None, pods that it would evict
    /// with NoExecute. Null if unknown.
    pub evicted_pod_count: Option<usize>,
    /// Pods that use devices of the rule and are already terminating; null if pods are unknown.
    pub terminating_pod_count: Option<usize>,
    /// Pods that use devices of the rule and stay, such as pods that tolerate its taint; terminating and ended pods
    /// are not counted. Null if pods are unknown.
    pub not_evicted_pod_count: Option<usize>,
    /// Pods that use the hardware of the rule's devices through other devices, such as partitions; null if
    /// pods are unknown.
    pub partition_pod_count: Option<usize>,
    /// Eviction status of the rule, according to its condition EvictionInProgress.
    pub evicting: Evicting,
    /// For each count in this object that is null: its bounds. Absent if no count is null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// Eviction status of a rule, according to its condition EvictionInProgress, and whether the condition is
/// current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Evicting {
    /// The rule has no condition, or one whose status is neither True nor False.
    Unknown,
    /// Pods are being evicted.
    InProgress,
    /// No pod is being evicted.
    Idle,
    /// The condition is of an earlier generation of the rule.
    Outdated,
    /// The condition reports pending evictions, but no pod is left.
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
