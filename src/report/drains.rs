//! Drains of a cluster: the stages of their units.

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{Answer, beside};
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use super::table::{Column, Section, Table, Tone, View};
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
        let rows = self.items.iter().map(|unit| {
            let pods = unit.pods.as_ref();
            let age = unit.age_seconds.map(SignedDuration::from_secs);
            vec![
                unit.drain.clone(),
                unit.unit.clone(),
                unit.stage.map_or(UNKNOWN, UnitStage::as_str).to_owned(),
                pods.map_or_else(unknown, |pods| pods.len().to_string()),
                age.map_or_else(unknown, human_duration),
                pods.map_or_else(unknown, |pods| few(pods)),
            ]
        });
        Table {
            columns: vec![
                Column::text("DRAIN"),
                Column::long("UNIT"),
                Column::text("STAGE"),
                Column::number("PODS"),
                Column::text("AGE"),
                Column::prose("USED-BY").wide(),
            ],
            rows: rows.collect(),
        }
    }
}

impl View for DrainList {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        if !self.items.is_empty() {
            sections.push(Section::table(self.table()));
        }
        sections
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
}

impl Answer for DrainList {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn says_what_is_not_known(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
