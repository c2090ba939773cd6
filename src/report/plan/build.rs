//! Construction of a plan from what the search found.

use std::collections::BTreeMap;

use super::cost::Cost;
use super::digest::{DigestInput, digest};
use super::view::{Optimality, PlanReport, PlanUnit, RequestedPlan, RunnerUp};
use crate::assess;
use crate::engine::set_search::{FoundSet, SearchProblem, SearchResult};
use crate::report::ImpactReport;
use crate::report::answer::Answer;
use crate::report::metadata::{API_VERSION, Incomplete, Warning};

/// What a plan is written from.
pub struct PlanFindings<'f> {
    /// The units that there were to choose from.
    pub units: &'f [assess::PlanUnit],
    /// What was searched.
    pub problem: &'f SearchProblem,
    /// What was found.
    pub result: &'f SearchResult,
    /// What was asked for.
    pub requested: RequestedPlan,
    /// How many devices can be allocated now, of which some have to stay; absent where none have to.
    pub allocatable: Option<usize>,
}

impl PlanFindings<'_> {
    /// Places of the units of a set, those that cost least by themselves first.
    #[must_use]
    pub fn in_order(&self, set: &FoundSet) -> Vec<usize> {
        let mut units = set.units.clone();
        // By place where they cost the same, which is by name.
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
    /// The plan of the `best` set, of which `impact` is the assessment; `nodes` are those of devices.
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
        let spare = best
            .units
            .iter()
            .filter_map(|place| findings.units.get(*place));
        let spare = spare.map(|unit| unit.spare).fold(0, usize::saturating_add);
        let mut plan = Self {
            api_version: API_VERSION.to_owned(),
            kind: "PlanReport".to_owned(),
            metadata: impact.metadata.clone(),
            digest: String::new(),
            planned_units: findings.units(best, nodes),
            requested_plan: findings.requested,
            cost: best.cost.into(),
            optimality,
            // Of a set that was found there is a bound; without one the cost would be said to be proven.
            lower_bound: result.lower_bound.unwrap_or_default().into(),
            runner_up,
            allocatable_device_count: findings.allocatable.map(|now| now.saturating_sub(spare)),
            summary: impact.summary.clone(),
            affected_pods: impact.affected_pods.clone(),
            selected_devices: impact.selected_devices.clone(),
            budgets: impact.budgets.clone(),
            workloads: impact.workloads.clone(),
            replacements: impact.replacements.clone(),
            siblings: impact.siblings.clone(),
            guard_results: impact.guard_results.clone(),
            warnings: impact.warnings.clone(),
            incomplete: impact.incomplete.clone(),
            impact,
        };
        plan.digest = digest(&DigestInput {
            metadata: &plan.metadata,
            units: &plan.planned_units,
            devices: &plan.selected_devices,
            pods: &plan.affected_pods,
        });
        plan
    }
}

impl Answer for PlanReport {
    fn subject(&self) -> &'static str {
        "plan"
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn mentions(&self, warning: &Warning) -> bool {
        self.impact.mentions(warning)
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn refusal(&self) -> Option<String> {
        self.impact.refusal()
    }
}
