//! How many pods may be away at a time.

use std::collections::BTreeMap;

use super::NamespacedName;

/// A `PodDisruptionBudget`, which the eviction API respects and the device-taint-eviction controller
/// does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Raised by every change of the spec.
    pub generation: i64,
    /// Which pods of the namespace it is about; absent means none, and an empty one means all.
    pub selector: Option<LabelSelector>,
    /// How many of them have to be there.
    pub min_available: Option<Amount>,
    /// How many of them may be away.
    pub max_unavailable: Option<Amount>,
    /// Which pods that are not ready may be evicted all the same.
    pub unhealthy_pod_eviction_policy: UnhealthyPodEvictionPolicy,
    /// What the disruption controller has counted; zeros before it has.
    pub status: BudgetStatus,
}

/// Which pods have these labels; all conditions have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Labels with their values.
    pub labels: BTreeMap<String, String>,
    /// Other conditions.
    pub expressions: Vec<LabelRequirement>,
}

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    /// Key of the label.
    pub key: String,
    /// What has to hold.
    pub operator: LabelOperator,
    /// For `In` and `NotIn`.
    pub values: Vec<String>,
}

/// What has to hold for a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// It has one of the values.
    In,
    /// It has none of the values, or is not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// From a newer API; selects nobody knows what.
    Unknown(String),
}

impl From<&str> for LabelOperator {
    fn from(text: &str) -> Self {
        match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// A number of pods, or a part of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Pods(i32),
    /// As it is written, such as `50%`.
    Part(String),
}

/// Which pods that are not ready may be evicted although the budget is used up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UnhealthyPodEvictionPolicy {
    /// Those of a budget whose other pods are enough; the default.
    #[default]
    IfHealthyBudget,
    /// All of them.
    AlwaysAllow,
    /// From a newer API; the eviction API then evicts no pod that is not ready.
    Unknown(String),
}

impl From<&str> for UnhealthyPodEvictionPolicy {
    fn from(text: &str) -> Self {
        match text {
            "" | "IfHealthyBudget" => Self::IfHealthyBudget,
            "AlwaysAllow" => Self::AlwaysAllow,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// What the disruption controller has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetStatus {
    /// How many more pods may be evicted now.
    pub disruptions_allowed: i32,
    /// Pods that are ready.
    pub current_healthy: i32,
    /// Pods that have to be ready.
    pub desired_healthy: i32,
    /// Pods that there should be.
    pub expected_pods: i32,
    /// The generation that was counted for; older than the budget's means that the counts are too.
    pub observed_generation: i64,
}
