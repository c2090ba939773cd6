//! Construction of a plan from the search result.

use std::collections::BTreeMap;

use super::cost::Cost;
use super::view::{Optimality, PlanReport, PlanUnit, RequestedPlan, RunnerUp};
use crate::assess;
use crate::engine::set_search::{FoundSet, SearchProblem, SearchResult};
use crate::report::answer::Answer;
use crate::report::impact::view::ImpactReport;
use crate::report::metadata::{API_VERSION, Incomplete, Warning};

/// Data from which a plan is built.
pub struct PlanFindings<'f> {
    /// The candidate units.
    pub units: &'f [assess::PlanUnit],
    /// The search problem.
    pub problem: &'f SearchProblem,
    /// The search result.
    pub result: &'f SearchResult,
    /// The request.
    pub requested: RequestedPlan,
}

impl PlanFindings<'_> {
    /// Indices of the units of a set, the cheapest first.
    #[must_use]
    pub fn in_order(&self, set: &FoundSet) -> Vec<usize> {
        let mut units = set.units.clone();
        // Units of equal cost by index, which is the order of their names.
        units.sort_by_key(|place| (self.problem.cost(&[*place]), *place));
        units
    }

    fn units(&self, set: &FoundSet, nodes: &BTreeMap<String, String>) -> Vec<PlanUnit> {
        let units = self.in_order(set).into_iter().filter_map(|place| {
            let unit = self.units.get(place)?;
            let devices: Vec<String> = unit.devices.iter().map(ToString::to_string).collect();
            let alone = Cost::from(self.problem.cost(&[place]));
            Some(PlanUnit {
                unit: unit.name.clone(),
                node: devices
                    .first()
                    .and_then(|device| nodes.get(device))
                    .cloned(),
                evicted_pod_count: alone.evicted_pod_count,
                devices,
            })
        });
        units.collect()
    }
}

impl PlanReport {
    /// The plan of the `best` set with its assessment `impact`; `nodes` maps devices to nodes.
    #[must_use]
    pub fn new(
        findings: PlanFindings<'_>,
        best: &FoundSet,
        impact: ImpactReport,
        nodes: &BTreeMap<String, String>,
    ) -> Self {
        let result = findings.result;
        let optimality = if result.is_optimal() {
            Optimality::Optimal
        } else {
            Optimality::Bounded
        };
        let runner_up = result.runner_up.as_ref().map(|set| RunnerUp {
            planned_units: findings.units(set, nodes),
            cost: set.cost.into(),
        });
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PlanReport".to_owned(),
            metadata: impact.metadata.clone(),
            planned_units: findings.units(best, nodes),
            requested_plan: findings.requested,
            cost: best.cost.into(),
            optimality,
            // The search gives a bound for every set that it finds; the default, zero, never claims too much.
            lower_bound: result.lower_bound.unwrap_or_default().into(),
            runner_up,
            summary: impact.summary.clone(),
            affected_pods: impact.affected_pods.clone(),
            selected_devices: impact.selected_devices.clone(),
            budgets: impact.budgets.clone(),
            workloads: impact.workloads.clone(),
            replacements: impact.replacements.clone(),
            siblings: impact.siblings.clone(),
            warnings: impact.warnings.clone(),
            incomplete: impact.incomplete.clone(),
            impact,
        }
    }
}

impl Answer for PlanReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn mentions(&self, warning: &Warning) -> bool {
        self.impact.mentions(warning)
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }
}
