//! PodDisruptionBudgets that the evictions would violate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::disruption::{BudgetAnswer, BudgetImpact};
use crate::model::PodDisruptionBudget;
use crate::naming::phrase::counted;

/// A PodDisruptionBudget that matches evicted pods. Taint evictions ignore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// The budget's namespace.
    pub namespace: String,
    /// The budget's name.
    pub name: String,
    /// Disruptions that the budget allows now, as counted by the disruption controller.
    pub disruptions_allowed: i32,
    /// Healthy pods among those that the budget counts.
    pub current_healthy: i32,
    /// Healthy pods that the budget requires.
    pub desired_healthy: i32,
    /// All pods that the budget counts, healthy or not; with 0, the budget never allows a disruption.
    pub expected_pods: i32,
    /// Running pods that the budget matches and that would be evicted, now or later.
    pub evicted_pod_count: usize,
    /// Evicted pods whose eviction the Eviction API would have refused. The count assumes that pods are
    /// evicted in the order of their eviction times, and that pods with equal times are evicted in the order
    /// of their names.
    pub refused_pod_count: usize,
    /// Evicted pods that several PodDisruptionBudgets match; the Eviction API refuses to evict such pods.
    pub ambiguous_pod_count: usize,
    /// Why the budget allows no disruption now; null if it allows one.
    pub message: Option<String>,
}

impl Budget {
    pub(super) fn new(impact: &BudgetImpact<'_>) -> Self {
        let budget = impact.budget;
        let status = &budget.status;
        // The eviction API evicts pods that do not run without a look at budgets, so that they use up nothing.
        let asked = impact
            .pods
            .len()
            .saturating_sub(impact.count(BudgetAnswer::NotAsked));
        Self {
            namespace: budget.name.namespace.to_string(),
            name: budget.name.name.to_string(),
            disruptions_allowed: status.disruptions_allowed,
            current_healthy: status.current_healthy,
            desired_healthy: status.desired_healthy,
            expected_pods: status.expected_pods,
            evicted_pod_count: asked,
            refused_pod_count: impact.count(BudgetAnswer::Refused),
            ambiguous_pod_count: impact.count(BudgetAnswer::Ambiguous),
            message: message(budget),
        }
    }

    /// True if a pod is evicted, or may be, that it would have kept.
    pub fn is_violated(&self) -> bool {
        self.refused_pod_count > 0 || self.ambiguous_pod_count > 0
    }

    /// Allowed disruptions and evictions, in one line.
    pub fn line(&self) -> String {
        let allowed = usize::try_from(self.disruptions_allowed).unwrap_or_default();
        let name = format!("{}/{}", self.namespace, self.name);
        let evicted = self.evicted_pod_count;
        let text = format!(
            "{name} allows {}, {evicted} needed",
            counted(allowed, "disruption")
        );
        let others = (self.ambiguous_pod_count > 0).then_some(
            "another PodDisruptionBudget matches the same pods, so the Eviction API would return an error",
        );
        let reasons: Vec<&str> = self.message.as_deref().into_iter().chain(others).collect();
        if reasons.is_empty() {
            text
        } else {
            format!("{text}: {}", reasons.join("; "))
        }
    }
}

/// Reason why a budget allows no disruption; absent where it does.
///
/// Upstream: `checkAndDecrement` in `pkg/registry/core/pod/storage/eviction.go`.
fn message(budget: &PodDisruptionBudget) -> Option<String> {
    let status = &budget.status;
    // First, as upstream: numbers of an earlier generation are not those of the budget as it is.
    if !budget.is_counted() {
        return Some(
            "the disruption controller has not processed the latest generation of the budget"
                .to_owned(),
        );
    }
    if status.disruptions_allowed > 0 {
        return None;
    }
    if let Some(failure) = &status.failure {
        let why = match failure.as_str() {
            "" => String::new(),
            failure => format!(": {failure}"),
        };
        return Some(format!("its pods cannot be counted{why}"));
    }
    if status.expected_pods == 0 {
        return Some("its status.expectedPods is 0".to_owned());
    }
    Some(format!(
        "it needs {} and has {}",
        counted(
            usize::try_from(status.desired_healthy).unwrap_or_default(),
            "healthy pod"
        ),
        status.current_healthy
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Hazard;
    use crate::report::ImpactReport;
    use crate::report::impact::HazardCode;
    use crate::report::testing::{self, Example};

    fn budget(namespace: &str, desired: i32, healthy: i32) -> PodDisruptionBudget {
        testing::budget(namespace, desired, healthy, 2)
    }

    fn report(budgets: Vec<PodDisruptionBudget>) -> ImpactReport {
        let mut example = Example::new();
        example.reading.snapshot.budgets = budgets;
        example.report()
    }

    fn hazards<'a>(report: &'a ImpactReport, name: &str) -> &'a [HazardCode] {
        let mut pods = report.affected_pods.iter();
        &pods.find(|pod| pod.name == name).unwrap().hazards
    }

    #[test]
    fn each_pod_that_a_budget_would_have_kept_says_so() {
        // Two pods of team-a are evicted, train-0 at once and train-1 later.
        let report = report(vec![budget("team-a", 1, 2)]);
        assert_eq!(report.summary.violated_budget_count, 1);
        let found = &report.budgets[0];
        assert_eq!((found.evicted_pod_count, found.refused_pod_count), (2, 1));
        assert_eq!(found.line(), "team-a/budget allows 1 disruption, 2 needed");
        assert!(hazards(&report, "train-1").contains(&Hazard::PdbViolated.into()));
        assert!(!hazards(&report, "train-0").contains(&Hazard::PdbViolated.into()));
        assert!(!hazards(&report, "infer-0").contains(&Hazard::PdbViolated.into()));
        let pod = report
            .affected_pods
            .iter()
            .find(|pod| pod.name == "train-0");
        assert_eq!(pod.unwrap().budget_names, ["budget"]);
    }

    #[test]
    fn two_budgets_of_a_pod_are_both_named() {
        let mut other = budget("team-a", 0, 2);
        other.name = testing::name("team-a", "another");
        let report = report(vec![budget("team-a", 0, 2), other]);
        assert_eq!(report.summary.violated_budget_count, 2);
        let line = report.budgets[1].line();
        assert!(
            line.contains("another PodDisruptionBudget matches the same pods"),
            "{line}"
        );
        assert!(hazards(&report, "train-0").contains(&Hazard::PdbAmbiguous.into()));
        let pod = report
            .affected_pods
            .iter()
            .find(|pod| pod.name == "train-0");
        assert_eq!(pod.unwrap().budget_names, ["another", "budget"]);
    }

    #[test]
    fn budgets_that_were_not_read_are_told_where_somebody_is_evicted() {
        let mut example = Example::new();
        example
            .reading
            .known
            .remove(&crate::model::Kind::PodDisruptionBudget);
        let gaps = |report: &ImpactReport| {
            let gaps = report.incomplete.iter();
            gaps.filter(|gap| gap.missing == "poddisruptionbudgets")
                .count()
        };
        assert_eq!(gaps(&example.report()), 1);
        let violated = example.report().assessment.totals.budgets_violated;
        assert_eq!((violated.exact(), violated.least()), (None, 0));
        example.proposed.taint.effect = "NoSchedule".into();
        let mut impact = example.impact();
        impact.pods.clear();
        let semantics = testing::semantics(37);
        let basis = crate::assess::Basis::new(&example.reading, &semantics, testing::now());
        let nobody = ImpactReport::new(&impact, &basis, &crate::assess::Limits::default());
        assert_eq!(gaps(&nobody), 0);
        assert_eq!(nobody.assessment.totals.budgets_violated.exact(), Some(0));
    }
}
