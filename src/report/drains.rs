//! Drains of a cluster: the stages of their units, and the claims and pods that hold their devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, beside};
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use super::reference::ObjectReference;
use super::table::{Column, NONE, Section, Table, Tone, View, optional};
use super::time::Time;
use crate::decide::drain::UnitStage;
use crate::model::UNKNOWN;
use crate::naming::phrase::few;

/// Report of `drain` and `drain status`: the drains, ordered by name.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainList {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "DrainList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The drains.
    pub items: Vec<Drain>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
}

/// A drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// Name of the drain: a label of its rules, and the value of their taint.
    pub name: String,
    /// User that started the drain; null if not recorded.
    pub created_by: Option<String>,
    /// Why the devices are drained: the text given with --reason; several texts are separated by `; `. Null
    /// if not recorded.
    #[serde(default)]
    pub reason: Option<String>,
    /// The units of the drain that have rules, or whose reversal is recorded on the rules of the other units. Ordered by
    /// name.
    pub units: Vec<DrainUnit>,
    /// Number of units that are missing in `units`, because all of their rules were removed; null if unknown.
    #[serde(default)]
    pub removed_unit_count: Option<usize>,
}

/// A unit of a drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainUnit {
    /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
    pub name: String,
    /// Stage of the unit.
    pub unit_stage: UnitStage,
    /// When the stage was recorded on the unit's rules; null if unknown.
    #[serde(default)]
    pub unit_stage_time: Option<Time>,
    /// Facts about the unit as text, such as the change that reversed it, or that a claim holds a device
    /// again; empty if there are none.
    pub messages: Vec<String>,
    /// User or program that last changed one of the unit's rules; for a unit in stage Reversed, the user or program
    /// that reversed it. Null if not recorded.
    pub changed_by: Option<String>,
    /// Names of the rules of the unit.
    pub rules: Vec<String>,
    /// The devices of the unit, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// The claims that hold the devices of the unit; null if unknown.
    pub claims: Option<Vec<ObjectReference>>,
    /// The pods and PodGroups for which the claims in `claims` are reserved; null if unknown.
    pub holding_pods: Option<Vec<ObjectReference>>,
}

impl DrainList {
    /// The report on these drains.
    #[must_use]
    pub fn new(drains: Vec<Drain>, metadata: Metadata, incomplete: Vec<Incomplete>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DrainList".to_owned(),
            metadata,
            items: drains,
            warnings: Vec::new(),
            incomplete,
        }
    }

    fn table(&self) -> Table {
        let rows = self.items.iter().flat_map(|drain| {
            let units = drain.units.iter();
            units.map(|unit| {
                vec![
                    drain.name.clone(),
                    unit.name.clone(),
                    unit.unit_stage.as_str().to_owned(),
                    unit.devices.len().to_string(),
                    unit.pods(),
                    optional(unit.changed_by.as_deref().or(drain.created_by.as_deref())),
                ]
            })
        });
        Table {
            columns: vec![
                Column::text("DRAIN"),
                Column::long("UNIT"),
                Column::text("STAGE"),
                Column::number("DEVICES"),
                Column::prose("HELD-BY"),
                Column::text("BY"),
            ],
            rows: rows.collect(),
        }
    }

    fn messages(&self) -> Vec<String> {
        let units = self.items.iter().flat_map(|drain| {
            // Several drains may have a unit of one name.
            let of = match self.items.len() {
                1 => String::new(),
                _ => format!("drain {}, ", drain.name),
            };
            drain.units.iter().flat_map(move |unit| {
                let name = format!("{of}{}", unit.name);
                let messages = unit.messages.iter();
                messages.map(move |message| format!("{name}: {message}"))
            })
        });
        let drains = self.items.iter().filter_map(Drain::notes);
        let removed = self.items.iter().filter_map(Drain::removed);
        drains.chain(units).chain(removed).collect()
    }
}

impl Drain {
    /// That units are missing, if so.
    fn removed(&self) -> Option<String> {
        let count = self.removed_unit_count.filter(|count| *count > 0)?;
        let (units, their) = match count {
            1 => ("1 more unit has".to_owned(), "its"),
            _ => (format!("{count} more units have"), "their"),
        };
        Some(format!(
            "drain {}: {units} no rule any more: {their} rules were removed, so new pods can use {their} devices",
            self.name
        ))
    }

    /// The reason, if one is recorded.
    fn notes(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(format!("drain {}: {reason}", self.name))
    }
}

impl DrainUnit {
    /// The pods that hold the devices, else the claims, in words.
    fn pods(&self) -> String {
        match (&self.holding_pods, &self.claims) {
            (None, _) | (_, None) => UNKNOWN.to_owned(),
            (Some(pods), _) if !pods.is_empty() => few(&names(pods)),
            (Some(_), Some(claims)) if !claims.is_empty() => few(&names(claims)),
            (Some(_), Some(_)) => NONE.to_owned(),
        }
    }
}

fn names(objects: &[ObjectReference]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

impl View for DrainList {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        if !self.items.is_empty() {
            sections.push(Section::table(self.table()));
            sections.push(Section::sentences(self.messages()));
        }
        sections
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| one.name.clone()).collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[
            (UNKNOWN, Tone::Doubtful),
            ("blocked", Tone::Doubtful),
            ("reversed", Tone::Doubtful),
        ]
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
