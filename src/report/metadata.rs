//! Metadata of reports: cluster, source, time and gaps.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::taint::{Time, pascal_case};
use crate::assess::{DeviceBasis, ReportCompleteness};
use crate::model::{self, Affects};
use crate::naming::keys;

/// Version of every document that this program writes or reads; within it, fields and enumeration values are only added.
pub const API_VERSION: &str = keys::in_group!("v1alpha1");

/// Source of a report: the cluster, and the data that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Name of the kubeconfig context; null if none was used, or if `server` is null.
    pub context: Option<String>,
    /// The server, as its URL. Null if no cluster was read.
    pub server: Option<String>,
    /// The server's version, such as `v1.37.0`; null if unknown, or if `server` is null.
    pub server_version: Option<String>,
    /// Where the data was read from; absent in reports about what a command did (ChangeReport, WaitReport), and in
    /// a VersionReport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_source: Option<DataSource>,
    /// The Kubernetes version whose behavior was applied, such as `1.37`; absent if none was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantics: Option<String>,
    /// The time at which the cluster was as the report describes it; absent if `dataSource` is absent or Kubelet, or if
    /// the files of a DeviceList contain no time. For a cluster, this is the time of the server. For files (--from), it
    /// is the time given with --now. Without --now, it is the time at which `snapshot` saved the file or, for other
    /// files, the newest time in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_time: Option<Time>,
    /// The resourceVersion (an opaque string) of each list that was read; the key is the plural name of the
    /// resource. Absent if none is known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_versions: BTreeMap<String, String>,
}

impl Metadata {
    /// The metadata of a report on objects that were read.
    pub fn new(basis: &DeviceBasis<'_>) -> Self {
        let reading = basis.reading;
        let read = Self {
            data_source: Some(DataSource::Files),
            semantics: Some(basis.semantics.version.to_string()),
            // Files without any time have the epoch, where none is needed.
            observed_time: (basis.now != Timestamp::UNIX_EPOCH).then_some(Time(basis.now)),
            resource_versions: reading.resource_versions.clone(),
            ..Self::default()
        };
        match &reading.source {
            model::Source::Cluster {
                context,
                server,
                server_version,
            } => Self {
                context: context.clone(),
                server: server.clone(),
                server_version: server_version.clone(),
                data_source: Some(DataSource::Cluster),
                ..read
            },
            model::Source::Files => read,
        }
    }

    /// The metadata of a report on changes, in their cluster, if one was connected.
    pub fn of_cluster(cluster: Option<&Cluster>) -> Self {
        Self {
            context: cluster.and_then(|cluster| cluster.context.clone()),
            server: cluster.map(|cluster| cluster.server.clone()),
            server_version: cluster.and_then(|cluster| cluster.version.clone()),
            ..Self::default()
        }
    }

    /// The instant for which the question was answered, of a report on objects that were read.
    pub fn observed(&self) -> Time {
        self.observed_time.unwrap_or_default()
    }

    /// Where the report is from and of when, a fact each.
    pub fn origin(&self) -> Vec<String> {
        let (source, context) = (self.data_source, &self.context);
        let read = match (source, context) {
            (Some(DataSource::Files), _) => Some("Saved files".to_owned()),
            (Some(DataSource::Kubelet), _) => Some("A kubelet".to_owned()),
            (_, Some(context)) => Some(format!("Context {context}")),
            (Some(DataSource::Cluster), None) => Some("A live cluster".to_owned()),
            (None, None) => None,
        };
        let behaviour = self.semantics.as_ref();
        let behaviour = behaviour.map(|version| format!("results for Kubernetes {version}"));
        let observed = self.observed_time.map(|time| format!("as of {time}"));
        [read, behaviour, observed].into_iter().flatten().collect()
    }
}

/// A cluster, as people tell them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Name of the kubeconfig context; absent where none was used.
    pub context: Option<String>,
    /// The server, as its URL.
    pub server: String,
    /// The server's own version; absent where it is not known.
    pub version: Option<String>,
}

impl Cluster {
    /// Name in a question: the context, or else the server.
    pub fn name(&self) -> &str {
        self.context.as_deref().unwrap_or(&self.server)
    }

    /// The line above a question: `Cluster: CONTEXT (SERVER)`.
    pub fn line(&self) -> String {
        let server = &self.server;
        match &self.context {
            Some(context) => format!("Cluster: {context} ({server})"),
            None => format!("Cluster: {server}"),
        }
    }
}

/// Where data was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum DataSource {
    /// A live cluster.
    Cluster,
    /// Saved files.
    Files,
    /// The kubelet of a node, without a cluster.
    Kubelet,
}

/// A warning that does not prevent the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// Code of the warning, such as `EmptySelector`; stable.
    pub reason: String,
    /// The warning as text, with the name of the object if the warning is about a single object.
    pub message: String,
    /// Suggested fix; null if there is none.
    pub fix: Option<String>,
}

impl From<&model::Warning> for Warning {
    fn from(warning: &model::Warning) -> Self {
        Self {
            reason: pascal_case(warning.code),
            message: warning.message.clone(),
            fix: warning.fix.clone(),
        }
    }
}

impl Warning {
    /// The warning in one line.
    pub fn line(&self) -> String {
        match &self.fix {
            Some(fix) => format!("{}; {fix}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Data that is missing in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incomplete {
    /// Data that could not be read or evaluated, such as `pods`.
    pub missing: String,
    /// Reason why the data is missing, and the consequence for the report.
    pub message: String,
    /// Results that the missing data affects: Evictions or Details.
    pub affects: Affects,
}

impl From<&model::Gap> for Incomplete {
    fn from(gap: &model::Gap) -> Self {
        Self {
            missing: gap.what.clone(),
            message: gap.why.clone(),
            affects: gap.affects,
        }
    }
}

impl Incomplete {
    /// Missing data of an answer.
    pub fn all(completeness: &ReportCompleteness<'_>) -> Vec<Self> {
        completeness.gaps().map(Self::from).collect()
    }

    /// The gap in one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.missing, self.message)
    }
}

/// Views of several lists as one, in their order, each equal entry once.
pub fn views<'a, M: Ord + 'a, V: From<&'a M>>(lists: &[&'a [M]]) -> Vec<V> {
    // The same oddity may be found when objects are read and again when they are evaluated.
    let mut seen = BTreeSet::new();
    let entries = lists.iter().copied().flatten();
    entries
        .filter(|entry| seen.insert(*entry))
        .map(V::from)
        .collect()
}

/// The warnings about a snapshot and its gaps, a line each.
pub fn lines(warnings: &[model::Warning], gaps: &[model::Gap]) -> Vec<String> {
    let warnings = warnings.iter().map(|warning| Warning::from(warning).line());
    let completeness = ReportCompleteness::new(gaps);
    let gaps = Incomplete::all(&completeness).into_iter();
    warnings.chain(gaps.map(|gap| gap.line())).collect()
}
