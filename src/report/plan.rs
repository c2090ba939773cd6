//! Plan: the devices or nodes that cost least to drain.

use schemars::JsonSchema;
use serde::Serialize;

use super::answer::Answer;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Column, Headers, Heading, Section, Table, View, first_of, optional};
use crate::assess::{self, Basis, Hazard, PlannedUnit};
use crate::model::UNKNOWN;

/// Report of `plan`: the devices or nodes that cost least to drain, and the evictions of their drain.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "PlanReport"))]
    pub kind: String,
    /// The cluster that the plan is for, and the time at which it was observed.
    pub metadata: Metadata,
    /// The plan.
    #[serde(flatten)]
    pub plan: assess::Plan,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated.
    pub incomplete: Vec<Incomplete>,
    /// Headers of the table; without them, it has no command, either.
    #[serde(skip)]
    headers: Headers,
    /// The command that drains the chosen units.
    #[serde(skip)]
    drain: String,
}

impl PlanReport {
    /// The report on a plan, which `drain` carries out.
    pub fn new(plan: assess::Plan, drain: String, basis: &Basis<'_>, headers: Headers) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PlanReport".to_owned(),
            metadata: Metadata::new(basis),
            warnings: views(&[&plan.warnings]),
            incomplete: plan.gaps.iter().map(Incomplete::from).collect(),
            plan,
            headers,
            drain,
        }
    }
}

impl Answer for PlanReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn says_what_is_not_known(&self) -> bool {
        false
    }
}

impl View for PlanReport {
    fn sections(&self) -> Vec<Section> {
        let units = table(&self.plan.planned_units);
        if self.headers == Headers::Left {
            return vec![Section::table(units.without_headers())];
        }
        let drain = Section::sentences(vec![self.drain.clone()]).verdict();
        vec![Section::table(units), drain]
    }

    fn heading(&self) -> Heading {
        Heading {
            title: "Plan".to_owned(),
            origin: self.metadata.origin(),
        }
    }

    /// The devices, in the order of their units.
    fn names(&self) -> Vec<String> {
        let units = self.plan.planned_units.iter();
        units.flat_map(|unit| unit.devices.clone()).collect()
    }
}

fn table(units: &[PlannedUnit]) -> Table {
    Table {
        columns: vec![
            Column::text("UNIT"),
            Column::text("NODE").leaves(1),
            Column::number("PODS"),
            Column::text("WORST RISK"),
            Column::text("BUDGETS"),
            Column::text("FREE AFTER"),
        ],
        rows: units.iter().map(cells).collect(),
    }
}

fn cells(unit: &PlannedUnit) -> Vec<String> {
    let code = |hazard: &Hazard| hazard.code().to_owned();
    let hazards = unit.hazards.as_ref();
    let hazards = hazards.map(|all| all.iter().map(code).collect::<Vec<String>>());
    let listed = |names: Option<&[String]>| names.map_or_else(|| UNKNOWN.to_owned(), first_of);
    vec![
        unit.unit.clone(),
        optional(unit.node.as_deref()),
        unit.evicted_pod_count.to_string(),
        listed(hazards.as_deref()),
        listed(unit.violated_budgets.as_deref()),
        format!("{} of {}", unit.free_device_count, unit.devices.len()),
    ]
}
