//! What is there to say of everything that was asked about?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::SingleChange;
use super::step::{Step, lines};
use super::verdict::ExplainedVerdict;
use super::waiting::{BlameCode, WaitingRequest};
use crate::model::Gap;
use crate::report::answer::Answer;
use crate::report::knowledge::Knowledge;
use crate::report::metadata::{API_VERSION, Basis, Incomplete, Metadata, Warning, views};
use crate::report::table::{Section, Shown, View};

/// Why it is so: pods, devices and rules, link by link.
///
/// Within one apiVersion, fields are only added: readers have to ignore those they do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Version of this schema.
    #[schemars(extend("const" = "kubectl-devicetaint/v1alpha1"))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "Explanation"))]
    pub kind: String,
    /// Where the report is from.
    pub metadata: Metadata,
    /// What was asked about, in the order of the question.
    pub subjects: Vec<Explained>,
    /// Oddities that do not keep the question from being answered.
    pub warnings: Vec<Warning>,
    /// What could not be read or evaluated.
    pub incomplete: Vec<Incomplete>,
}

/// What was explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A pod.
    Pod,
    /// A device.
    Device,
    /// A rule.
    Rule,
}

/// One pod, device or rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// What it is.
    pub subject: SubjectKind,
    /// What it is called, as `-o name` prints it.
    pub name: String,
    /// What is the case, in one sentence.
    pub answer: String,
    /// What becomes of the pod; null for devices and rules.
    pub verdict: Option<ExplainedVerdict>,
    /// What keeps a pod that waits for devices; null for all others.
    pub blame: Option<BlameCode>,
    /// How that comes about.
    pub steps: Vec<Step>,
    /// Single changes each of which would alter that, those first that decide whether the pod is
    /// evicted; for pods only.
    pub changes: Vec<SingleChange>,
    /// What there is for each request of a pod that waits for devices; empty for all others.
    pub requests: Vec<WaitingRequest>,
}

impl Explanation {
    /// The report; `gaps` are what the engine could not evaluate.
    #[must_use]
    pub fn new(subjects: Vec<Explained>, gaps: &[Gap], basis: &Basis<'_>) -> Self {
        let read = basis.reading.gaps.iter();
        let knowledge = Knowledge::new(read.chain(gaps), basis.semantics);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "Explanation".to_owned(),
            metadata: Metadata::new(basis),
            subjects,
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&knowledge),
        }
    }
}

impl Explained {
    fn sections(&self) -> Vec<Section> {
        let headline = format!("{}: {}", self.name, self.answer);
        let changes: Vec<Step> = self.changes.iter().map(SingleChange::step).collect();
        vec![
            Section::sentences(vec![headline]),
            Section::chain(lines(&self.steps, 0)),
            Section::chain(lines(&changes, 0))
                .titled("What would alter that, one by one".to_owned()),
        ]
    }
}

impl View for Explanation {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> =
            self.subjects.iter().flat_map(Explained::sections).collect();
        let warnings = self.warnings.iter().map(Warning::line).collect();
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        sections.push(Section::list("Warnings", warnings).shown(Shown::Document));
        sections.push(Section::list("Incomplete", incomplete));
        sections
    }

    fn names(&self) -> Vec<String> {
        self.subjects.iter().map(|one| one.name.clone()).collect()
    }
}

impl Answer for Explanation {
    fn subject(&self) -> &'static str {
        "explanation"
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn is_empty(&self) -> bool {
        self.subjects.is_empty()
    }
}
