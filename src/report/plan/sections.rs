//! Sections of a plan in tables and pages.

use super::cost::Cost;
use super::view::{Optimality, PlanReport, PlanUnit, UnitKind};
use crate::naming::phrase::{counted, few};
use crate::report::table::{Column, Heading, Section, Table, Tone, View, optional};

impl View for PlanReport {
    fn sections(&self) -> Vec<Section> {
        let units = Section::table(units(&self.planned_units)).titled("Units, in order".to_owned());
        let mut sections = vec![Section::sentences(vec![self.question()]), units];
        // The assessment of the set, as a preview shows it; the verdict of the plan comes last.
        sections.extend(self.impact.sections().into_iter().map(|section| Section {
            is_verdict: false,
            ..section
        }));
        let runner_up = self.runner_up.as_ref().map(|next| {
            let names: Vec<String> = next
                .planned_units
                .iter()
                .map(|unit| unit.unit.clone())
                .collect();
            vec![few(&names), next.cost.line()]
        });
        sections.push(Section::list("Runner-up", runner_up.unwrap_or_default()));
        sections.push(
            Section::sentences(self.verdict())
                .captioned("Plan")
                .verdict(),
        );
        sections
    }

    fn heading(&self) -> Heading {
        Heading {
            title: format!("Plan: {}", self.question()),
            origin: self.metadata.origin(),
        }
    }

    /// The devices, in the order of their units.
    fn names(&self) -> Vec<String> {
        let units = self.planned_units.iter();
        units.flat_map(|unit| unit.devices.clone()).collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        self.impact.tones()
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.impact.missing_from_names()
    }
}

impl PlanReport {
    /// The requested number of units.
    fn question(&self) -> String {
        let asked = &self.requested_plan;
        let unit = self.noun();
        let number = asked.unit_count;
        let of = counted(asked.candidate_unit_count, unit);
        format!("{number} of {of}")
    }

    fn noun(&self) -> &'static str {
        match self.requested_plan.unit_kind {
            UnitKind::Device => "device",
            UnitKind::Node => "node",
        }
    }

    /// The set, its cost, and whether it is optimal.
    fn verdict(&self) -> Vec<String> {
        let names: Vec<String> = self
            .planned_units
            .iter()
            .map(|unit| unit.unit.clone())
            .collect();
        let mut sentences = vec![
            format!("Plan: {}.", few(&names)),
            format!("Cost: {}.", self.cost.line()),
        ];
        sentences.push(self.proof(&self.lower_bound));
        sentences
    }

    fn proof(&self, bound: &Cost) -> String {
        match self.optimality {
            Optimality::Optimal if self.incomplete.is_empty() => {
                "Optimal: no other set costs less.".to_owned()
            }
            // What could not be read may make another set cost less.
            Optimality::Optimal => {
                let missing: Vec<&str> = self
                    .incomplete
                    .iter()
                    .map(|gap| gap.missing.as_str())
                    .collect();
                format!(
                    "According to the data that was read, no other set costs less; not read: {}.",
                    missing.join(", ")
                )
            }
            Optimality::Bounded => format!(
                "Not proven optimal: another set may cost less. Lower bound of the cost: {}.",
                bound.line()
            ),
        }
    }
}

fn units(units: &[PlanUnit]) -> Table {
    let row = |unit: &PlanUnit| {
        vec![
            unit.unit.clone(),
            optional(unit.node.as_deref()),
            unit.devices.len().to_string(),
            unit.evicted_pod_count.to_string(),
        ]
    };
    Table {
        columns: vec![
            Column::text("UNIT"),
            Column::text("NODE").leaves(2),
            Column::number("DEVICES").leaves(1),
            Column::number("PODS"),
        ],
        rows: units.iter().map(row).collect(),
    }
}
