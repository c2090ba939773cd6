//! PodDisruptionBudgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::NamespacedName;
use super::pod::Pod;
use super::three_valued;

/// A `PodDisruptionBudget`, which the eviction API respects and the device-taint-eviction controller
/// does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Raised by every change of the spec.
    pub generation: i64,
    /// Selected pods of the namespace; absent selects none, an empty selector all.
    pub selector: Option<LabelSelector>,
    /// Pods that have to be available.
    pub min_available: Option<Amount>,
    /// Pods that may be unavailable.
    pub max_unavailable: Option<Amount>,
    /// Policy for the eviction of pods that are not ready.
    pub unhealthy_pod_eviction_policy: UnhealthyPodEvictionPolicy,
    /// Counts of the disruption controller; zeros until it has counted.
    pub status: BudgetStatus,
}

/// Selector of pods by labels; all conditions have to hold.
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
    /// Operator of the condition.
    pub operator: LabelOperator,
    /// For `In` and `NotIn`.
    pub values: Vec<String>,
}

/// Operator of a condition on a label.
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
    /// Operator of a newer API; its selection is unknown.
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
    /// Number of pods.
    Pods(i32),
    /// As it is written, such as `50%`.
    Part(String),
}

/// Policy for the eviction of pods that are not ready when the budget is used up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UnhealthyPodEvictionPolicy {
    /// Those of a budget whose other pods are enough; the default.
    #[default]
    IfHealthyBudget,
    /// All of them.
    AlwaysAllow,
    /// Policy of a newer API; the pods that it allows are unknown.
    Unknown(String),
}

impl From<&str> for UnhealthyPodEvictionPolicy {
    fn from(text: &str) -> Self {
        match text {
            // The API server does not fill in the default.
            "" | "IfHealthyBudget" => Self::IfHealthyBudget,
            "AlwaysAllow" => Self::AlwaysAllow,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Counts of the disruption controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetStatus {
    /// Pods that may still be evicted now.
    pub disruptions_allowed: i32,
    /// Pods that are ready.
    pub current_healthy: i32,
    /// Pods that have to be ready.
    pub desired_healthy: i32,
    /// Pods that there should be.
    pub expected_pods: i32,
    /// The generation that was counted for; older than the budget's means that the counts are too.
    pub observed_generation: i64,
    /// Reason why the controller could not count, which allows nothing: the message of a condition `DisruptionAllowed`
    /// with reason `SyncFailed`. Absent where all is well.
    pub failure: Option<String>,
}

impl PodDisruptionBudget {
    /// True if the status is about the budget as it is now; until then the eviction API refuses.
    pub fn is_counted(&self) -> bool {
        self.status.observed_generation >= self.generation
    }

    /// True if it covers pods of this namespace with these labels, sorted by key; unknown
    /// where the selector has an operator of a newer API.
    ///
    /// Upstream: `getPodDisruptionBudgets` in `pkg/registry/core/pod/storage/eviction.go`.
    pub fn covers(&self, pod: &Pod) -> Option<bool> {
        if self.name.namespace != pod.name.namespace {
            return Some(false);
        }
        match &self.selector {
            Some(selector) => selector.matches(&pod.labels),
            None => Some(false),
        }
    }
}

impl LabelSelector {
    /// True if an object with these labels is selected; unknown where an operator is unknown and
    /// nothing else says no.
    ///
    /// Upstream: `labels.Requirement.Matches`.
    pub fn matches(&self, labels: &[(Arc<str>, Arc<str>)]) -> Option<bool> {
        let value = |key: &str| {
            labels
                .iter()
                .find(|(name, _)| **name == *key)
                .map(|(_, value)| &**value)
        };
        let labels = self.labels.iter();
        let labels = labels.map(|(key, wanted)| Some(value(key) == Some(wanted)));
        let requirements = self.expressions.iter();
        let requirements = requirements.map(|it| it.holds(value(&it.key)));
        three_valued::all(labels.chain(requirements))
    }
}

impl LabelRequirement {
    /// True if it holds for a label with that value, or for one that is not there.
    fn holds(&self, value: Option<&str>) -> Option<bool> {
        let among = || value.is_some_and(|value| self.values.iter().any(|wanted| wanted == value));
        match &self.operator {
            LabelOperator::In => Some(among()),
            // As upstream, a label that is missing satisfies `NotIn`.
            LabelOperator::NotIn => Some(!among()),
            LabelOperator::Exists => Some(value.is_some()),
            LabelOperator::DoesNotExist => Some(value.is_none()),
            LabelOperator::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Vec<(Arc<str>, Arc<str>)> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect()
    }

    fn requirement(operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            labels: BTreeMap::new(),
            expressions: vec![LabelRequirement {
                key: "app".to_owned(),
                operator: operator.into(),
                values: values.iter().map(|&value| value.to_owned()).collect(),
            }],
        }
    }

    #[test]
    fn each_operator_means_what_it_means_in_kubernetes() {
        let (a, b, none) = (
            labels(&[("app", "a")]),
            labels(&[("app", "b"), ("x", "a")]),
            [],
        );
        let (yes, no) = (Some(true), Some(false));
        for (selector, of_a, of_b, of_none) in [
            (requirement("In", &["a", "c"]), yes, no, no),
            // A missing label has none of the values.
            (requirement("NotIn", &["a", "c"]), no, yes, yes),
            (requirement("Exists", &[]), yes, yes, no),
            (requirement("DoesNotExist", &[]), no, no, yes),
            (requirement("Sounds", &["a"]), None, None, None),
            (LabelSelector::default(), yes, yes, yes),
        ] {
            assert_eq!(selector.matches(&a), of_a, "{selector:?}");
            assert_eq!(selector.matches(&b), of_b, "{selector:?}");
            assert_eq!(selector.matches(&none), of_none, "{selector:?}");
        }
    }

    #[test]
    fn all_conditions_have_to_hold_and_one_that_does_not_settles_it() {
        let mut selector = requirement("Sounds", &[]);
        selector.labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
        assert_eq!(selector.matches(&labels(&[("tier", "tin")])), Some(false));
        assert_eq!(selector.matches(&labels(&[("tier", "gold")])), None);
        selector.expressions = requirement("Exists", &[]).expressions;
        assert_eq!(selector.matches(&labels(&[("tier", "gold")])), Some(false));
        let both = labels(&[("app", ""), ("tier", "gold")]);
        assert_eq!(selector.matches(&both), Some(true));
    }
}
