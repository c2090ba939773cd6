//! Drains of a cluster: the stages of their units.

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Column, Section, Table, Tone, View, first_of, optional};
use crate::assess::{self, Basis, PlannedUnit};
use crate::decide::drain::{UnitStage, UnitStatus};
use crate::model::UNKNOWN;
use crate::naming::duration::human_duration;
use crate::naming::phrase::few;

/// Report of `drain status`: the units of the drains, ordered by the names of the drain and the unit.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainList {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "DrainList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The units.
    pub items: Vec<UnitStatus>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
}

impl DrainList {
    /// The report on these units.
    pub fn new(items: Vec<UnitStatus>, metadata: Metadata, incomplete: Vec<Incomplete>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DrainList".to_owned(),
            metadata,
            items,
            warnings: Vec::new(),
            incomplete,
        }
    }

    fn table(&self) -> Table {
        let unknown = || UNKNOWN.to_owned();
        let age = |unit: &UnitStatus| unit.age_seconds.map(SignedDuration::from_secs);
        Table::of(&self.items)
            .column(Column::text("DRAIN"), |unit| unit.drain.clone())
            .column(Column::long("UNIT"), |unit| unit.unit.clone())
            .column(Column::text("STAGE"), |unit| {
                unit.stage.map_or(UNKNOWN, UnitStage::as_str).to_owned()
            })
            .column(Column::number("PODS"), |unit| {
                let pods = unit.pods.as_ref();
                pods.map_or_else(unknown, |pods| pods.len().to_string())
            })
            .column(Column::text("AGE"), |unit| {
                age(unit).map_or_else(unknown, human_duration)
            })
            .column(Column::prose("USED-BY").wide(), |unit| {
                unit.pods.as_ref().map_or_else(unknown, few)
            })
            .table()
    }
}

impl View for DrainList {
    fn sections(&self) -> Vec<Section> {
        vec![Section::table(self.table())]
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.items.iter().map(|unit| unit.drain.clone()).collect();
        names.dedup();
        names
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[(UNKNOWN, Tone::Doubtful), ("held", Tone::Doubtful)]
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.incomplete.iter().map(Incomplete::line).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

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
    /// The command that drains the chosen units.
    #[serde(skip)]
    drain: String,
}

impl PlanReport {
    /// The report on a plan, which `drain` carries out.
    pub fn new(plan: assess::Plan, drain: String, basis: &Basis<'_>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PlanReport".to_owned(),
            metadata: Metadata::new(basis),
            warnings: views(&[&plan.warnings]),
            incomplete: plan.gaps.iter().map(Incomplete::from).collect(),
            plan,
            drain,
        }
    }
}

impl View for PlanReport {
    fn sections(&self) -> Vec<Section> {
        let units = Section::table(table(&self.plan.planned_units));
        let drain = Section::sentences(vec![self.drain.clone()]).verdict();
        vec![units, drain]
    }

    /// The devices, in the order of their units.
    fn names(&self) -> Vec<String> {
        let units = self.plan.planned_units.iter();
        units.flat_map(|unit| unit.devices.clone()).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }
}

fn table(units: &[PlannedUnit]) -> Table {
    let listed = |names: Option<&[String]>| names.map_or_else(|| UNKNOWN.to_owned(), first_of);
    let hazards = |unit: &PlannedUnit| -> Option<Vec<String>> {
        let hazards = unit.hazards.as_ref()?.iter();
        Some(hazards.map(|hazard| hazard.code().to_owned()).collect())
    };
    Table::of(units)
        .column(Column::text("UNIT"), |unit| unit.unit.clone())
        .column(Column::text("NODE"), |unit| optional(unit.node.as_deref()))
        .column(Column::number("PODS"), |unit| {
            unit.evicted_pod_count.to_string()
        })
        .column(Column::text("WORST RISK"), |unit| {
            listed(hazards(unit).as_deref())
        })
        .column(Column::text("BUDGETS"), |unit| {
            listed(unit.violated_budgets.as_deref())
        })
        .column(Column::text("FREE AFTER"), |unit| {
            format!("{} of {}", unit.free_device_count, unit.devices.len())
        })
        .table()
}
