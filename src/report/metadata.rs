//! Metadata of reports: source, cluster, time and gaps.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Time;
use crate::assess::{Basis, ReportCompleteness};
use crate::model;

/// Version of every report's schema; within it, fields and codes are only added.
pub const API_VERSION: &str = "kubectl-devicetaint/v1alpha1";

/// Where a report is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// What was read: a live cluster or saved files.
    pub source: Source,
    /// Name of the kubeconfig context; null for files.
    pub context: Option<String>,
    /// The server's own version, such as `v1.37.0`; null when it is not known.
    pub server_version: Option<String>,
    /// The Kubernetes version whose behaviour was applied, such as `1.37`.
    pub semantics: String,
    /// The instant for which the question was answered: the server's clock, or the files' time.
    pub observed_at: Time,
    /// The state of each list that was read, by the resource's plural; opaque.
    pub resource_versions: BTreeMap<String, String>,
}

impl Metadata {
    /// The metadata of a report.
    #[must_use]
    pub fn new(basis: &Basis<'_>) -> Self {
        let reading = basis.reading;
        let (source, name, server_version) = match &reading.source {
            model::Source::Cluster {
                context,
                server_version,
            } => (Source::Cluster, context.clone(), server_version.clone()),
            model::Source::Files => (Source::Files, None, None),
        };
        Self {
            source,
            context: name,
            server_version,
            semantics: basis.semantics.version.to_string(),
            observed_at: Time(basis.now),
            resource_versions: reading.resource_versions.clone(),
        }
    }
}

impl Metadata {
    /// Where the report is from and of when, a fact each.
    #[must_use]
    pub fn origin(&self) -> Vec<String> {
        let read = match (self.source, &self.context) {
            (Source::Files, _) => "Saved files".to_owned(),
            (Source::Cluster, None) => "A live cluster".to_owned(),
            (Source::Cluster, Some(context)) => format!("Context {context}"),
        };
        let server = self.server_version.as_deref().unwrap_or("not known");
        let server = match self.source {
            Source::Files => format!("as Kubernetes {} does", self.semantics),
            Source::Cluster => format!("server {server}, as Kubernetes {} does", self.semantics),
        };
        vec![read, server, format!("as of {}", self.observed_at)]
    }
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Source {
    /// A live cluster.
    Cluster,
    /// Saved files.
    Files,
}

/// Something odd that did not keep the question from being answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What kind of oddity, such as `empty-selector`; stable.
    pub code: String,
    /// What was found, naming the object.
    pub message: String,
    /// What to do about it; null when there is nothing to do.
    pub fix: Option<String>,
}

impl From<&model::Warning> for Warning {
    fn from(warning: &model::Warning) -> Self {
        Self {
            code: warning.code.to_owned(),
            message: warning.message.clone(),
            fix: warning.fix.clone(),
        }
    }
}

impl Warning {
    /// The warning in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.fix {
            Some(fix) => format!("{}; {fix}", self.message),
            None => self.message.clone(),
        }
    }
}

/// A part of the answer that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incomplete {
    /// What could not be read or evaluated, such as `pods`.
    pub what: String,
    /// Why, and what that means for the answer.
    pub why: String,
    /// How far the answer depends on it.
    #[serde(default)]
    pub affects: Affects,
}

/// How far an answer depends on something that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Affects {
    /// Who is evicted: the numbers of pods are not known.
    #[default]
    Evictions,
    /// Only what is said beside it, such as other taints or events.
    Details,
}

impl Incomplete {
    /// What is missing from an answer.
    #[must_use]
    pub fn all(completeness: &ReportCompleteness<'_>) -> Vec<Self> {
        let view = |gap: &model::Gap| Self {
            what: gap.what.clone(),
            why: gap.why.clone(),
            affects: match completeness.affects(gap) {
                model::Affects::Evictions => Affects::Evictions,
                model::Affects::Details | model::Affects::Nothing => Affects::Details,
            },
        };
        completeness.gaps().map(view).collect()
    }

    /// The gap in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}", self.what, self.why)
    }
}

/// Views of several lists as one, in their order, each equal entry once.
#[must_use]
pub fn views<'a, M: Ord + 'a, V: From<&'a M>>(lists: &[&'a [M]]) -> Vec<V> {
    let mut seen = BTreeSet::new();
    let entries = lists.iter().copied().flatten();
    entries
        .filter(|entry| seen.insert(*entry))
        .map(V::from)
        .collect()
}
