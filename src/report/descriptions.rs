//! Descriptions of several rules.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::answer::{Answer, beside};
use super::description::RuleDescription;
use super::metadata::{Incomplete, Warning};
use super::rules::list_of;
use super::table::{Heading, Section, View};
use crate::naming::phrase::counted;

/// The descriptions of rules, one after the other. As data, one stands for itself, and several are a
/// List as kubectl prints it.
#[derive(Clone, Debug)]
pub struct RuleDescriptions {
    rules: Vec<RuleDescription>,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
}

impl RuleDescriptions {
    /// All of `rules`, in that order; what is odd or not known about several of them is told once.
    #[must_use]
    pub fn new(rules: Vec<RuleDescription>) -> Self {
        let mut seen = BTreeSet::new();
        let warnings = rules.iter().flat_map(|rule| &rule.warnings);
        let warnings = warnings.filter(|warning| seen.insert(warning.line()));
        let warnings = warnings.cloned().collect();
        let gaps = rules.iter().flat_map(|rule| &rule.incomplete);
        let incomplete = gaps
            .filter(|gap| seen.insert(gap.line()))
            .cloned()
            .collect();
        Self {
            rules,
            warnings,
            incomplete,
        }
    }
}

impl Serialize for RuleDescriptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [only] = self.rules.as_slice() {
            return only.serialize(serializer);
        }
        let items = self.rules.iter().map(serde_json::to_value);
        let items: Vec<Value> = items
            .collect::<Result<_, _>>()
            .map_err(serde::ser::Error::custom)?;
        list_of(&items).serialize(serializer)
    }
}

impl View for RuleDescriptions {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        sections.extend(self.rules.iter().flat_map(View::sections));
        sections
    }

    fn heading(&self) -> Heading {
        let title = match self.rules.as_slice() {
            [only] => format!("Rule {}", only.name),
            several => counted(several.len(), "rule"),
        };
        let observed = self.rules.first().map(|rule| rule.observed_at);
        let origin = observed.iter().map(|time| format!("as of {time}"));
        Heading {
            title,
            origin: origin.collect(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.rules.iter().flat_map(View::names).collect()
    }
}

impl Answer for RuleDescriptions {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }
}
