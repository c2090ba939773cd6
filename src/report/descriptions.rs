//! Descriptions of several rules.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::description::RuleDescription;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use super::metadata::{Answer, beside};
use super::table::{Heading, Section, View};
use crate::naming::phrase::counted;

/// Report of `describe` for several rules.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RuleDescriptionList")]
struct DescriptionList<'a> {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// Kind of the report.
    #[schemars(extend("const" = "RuleDescriptionList"))]
    kind: &'static str,
    /// The cluster, and the data that was read.
    metadata: Metadata,
    /// The descriptions, in the order of the arguments.
    items: &'a [RuleDescription],
    /// Warnings that do not prevent the report; each entry once.
    warnings: &'a [Warning],
    /// Data that could not be read; each entry once.
    incomplete: &'a [Incomplete],
}

/// The descriptions of rules, one after the other. As data, a single one is no list.
#[derive(Clone, Debug)]
pub struct RuleDescriptions {
    rules: Vec<RuleDescription>,
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
}

/// The schema is that of several.
impl JsonSchema for RuleDescriptions {
    fn schema_name() -> Cow<'static, str> {
        DescriptionList::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DescriptionList::json_schema(generator)
    }
}

impl RuleDescriptions {
    /// All of `rules`, in that order; warnings and gaps of several of them are printed once.
    pub fn new(rules: Vec<RuleDescription>) -> Self {
        let mut seen = BTreeSet::new();
        let warnings = rules.iter().flat_map(|rule| &rule.warnings);
        // By the line: rules that were read together share most gaps, and equal lines are printed once.
        let warnings = warnings
            .filter(|warning| seen.insert(warning.line()))
            .cloned()
            .collect();
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
        // As `kubectl get`: one object is printed as itself, and only several as a list.
        if let [only] = self.rules.as_slice() {
            return only.serialize(serializer);
        }
        let first = self.rules.first();
        let list = DescriptionList {
            api_version: API_VERSION,
            kind: "RuleDescriptionList",
            metadata: first.map_or_else(Metadata::default, |rule| rule.metadata.clone()),
            items: &self.rules,
            warnings: &self.warnings,
            incomplete: &self.incomplete,
        };
        list.serialize(serializer)
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
        let observed = self.rules.first().map(|rule| rule.metadata.observed());
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
