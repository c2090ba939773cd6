//! Versions of the program, of the Kubernetes behaviour it knows, and of the server.

use super::metadata::{API_VERSION, Answer, Cluster, Incomplete, Metadata, Warning};
use super::table::{Column, Section, Table, View};
use super::taint::pascal_case;
use crate::assess::defects::{releases, upstream};
use crate::engine::{Defect, Presence, Semantics};
use crate::model;
use crate::model::Minor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of letters that tell a commit from others.
const SHORT: usize = 12;

/// Report of `version`: this program and the server.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "VersionReport"))]
    pub kind: String,
    /// The server; context and server are null if no server was contacted, or none responded.
    pub metadata: Metadata,
    /// This program.
    pub client: Client,
    /// The server; null if no server was contacted, or none responded.
    pub api_server: Option<Server>,
}

/// This program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Source of the build.
    #[serde(flatten)]
    pub build: Build,
    /// The oldest supported version of Kubernetes, such as `1.35`.
    pub oldest_kubernetes: String,
    /// The newest supported version of Kubernetes; later versions are treated like this version.
    pub newest_kubernetes: String,
    /// Kinds of reports, each with the version of its schema.
    pub reports: Vec<ReportVersion>,
    /// Known defects of Kubernetes releases that affect taints, the worst first.
    #[serde(default)]
    pub known_defects: Vec<KnownDefect>,
}

/// Source that the program was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// The program's version.
    pub version: String,
    /// The commit of the source of the build; null for a development build, or if unknown.
    pub commit: Option<String>,
    /// True if the source of the build differs from the commit; false if the commit is null.
    pub modified: bool,
    /// Date of the commit, or the date set by the builder, as YYYY-MM-DD in UTC; null if unknown.
    pub commit_date: Option<String>,
    /// Platform for which the program was built, such as x86_64-unknown-linux-musl.
    pub target: String,
}

/// A report and the version of its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportVersion {
    /// The report's kind.
    pub kind: String,
    /// Version of the schema of the report.
    pub api_version: String,
}

/// A server, with the data that it reports about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// The server, as its URL.
    pub server: String,
    /// The version of the server, such as `v1.37.0`; null if unknown.
    pub version: Option<String>,
    /// The Kubernetes version whose behavior the plugin assumes for the server. If the server's version is unknown,
    /// this is the newest supported version. Null if the server is older than 1.34.
    pub semantics: Option<String>,
    /// True if the server serves DeviceTaintRules; otherwise only taints of drivers apply.
    pub serves_rules: bool,
    /// Resources of the API group resource.k8s.io that this program uses, each with the API version that is
    /// used.
    pub resources: Vec<Resource>,
    /// Known defects of Kubernetes, and whether the server has each of them.
    #[serde(default)]
    pub defects: Vec<ServerDefect>,
    /// Warnings about the server.
    pub warnings: Vec<Warning>,
}

/// A resource of the API group resource.k8s.io.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Name of the resource, such as `resourceslices`.
    pub name: String,
    /// The API version that is used; null if the server serves none that this program supports.
    pub api_version: Option<String>,
}

impl Build {
    /// All of it in one line, after the program's name.
    pub fn line(&self) -> String {
        let Some(commit) = &self.commit else {
            return format!("{} (commit unknown, {})", self.version, self.target);
        };
        let short: String = commit.chars().take(SHORT).collect();
        let changed = if self.modified { " with changes" } else { "" };
        let date: String = self
            .commit_date
            .iter()
            .map(|date| format!(", {date}"))
            .collect();
        let Self {
            version, target, ..
        } = self;
        format!("{version} (commit {short}{changed}{date}, {target})")
    }
}

impl VersionReport {
    /// On this program alone; `kinds` are the reports that it prints.
    pub fn new(build: Build, kinds: &[String]) -> Self {
        let reports = kinds.iter().map(|kind| ReportVersion {
            kind: kind.clone(),
            api_version: API_VERSION.to_owned(),
        });
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "VersionReport".to_owned(),
            metadata: Metadata::default(),
            client: Client {
                build,
                oldest_kubernetes: Semantics::OLDEST.to_string(),
                newest_kubernetes: Semantics::NEWEST.to_string(),
                reports: reports.collect(),
                known_defects: known(),
            },
            api_server: None,
        }
    }

    /// On the server too.
    #[must_use]
    pub fn with_server(self, server: Server, cluster: Option<&Cluster>) -> Self {
        Self {
            metadata: Metadata::of_cluster(cluster),
            api_server: Some(server),
            ..self
        }
    }
}

/// Release that a server reports.
#[derive(Clone, Debug, Default)]
pub struct ServerRelease {
    /// The version as the server reports it, such as `v1.37.0`; absent if it is unknown.
    pub git_version: Option<String>,
    /// The minor version that decides its behaviour; absent if it is unknown.
    pub minor: Option<Minor>,
}

impl Server {
    /// A server at this address with these resources, and with these `findings` about it.
    pub fn new(
        address: String,
        release: ServerRelease,
        resources: Vec<Resource>,
        findings: &[model::Warning],
    ) -> Self {
        let ServerRelease { git_version, minor } = release;
        let semantics = match minor {
            Some(minor) => Semantics::of(minor),
            // As every command treats a server of unknown version.
            None => Some(Semantics::assumed()),
        };
        let is_rule = |it: &&Resource| it.name == model::Kind::DeviceTaintRule.plural();
        let rules = resources.iter().find(is_rule);
        Self {
            server: address,
            version: git_version,
            semantics: semantics.map(|it| it.version.to_string()),
            serves_rules: rules.is_some_and(|it| it.api_version.is_some()),
            defects: of_server(minor),
            warnings: findings.iter().map(Warning::from).collect(),
            resources,
        }
    }

    fn sentence(&self) -> String {
        let version = self.version.as_deref().unwrap_or("unknown version");
        let semantics = match &self.semantics {
            Some(semantics) => format!("treated like {semantics}"),
            None => "a version without device taints".to_owned(),
        };
        format!("Server: {version} at {}, {semantics}", self.server)
    }

    fn table(&self) -> Table {
        let row = |it: &Resource| {
            let version = it
                .api_version
                .clone()
                .unwrap_or_else(|| "not served".to_owned());
            vec![it.name.clone(), version]
        };
        Table {
            columns: vec![Column::text("RESOURCE"), Column::text("API")],
            rows: self.resources.iter().map(row).collect(),
        }
    }
}

impl View for VersionReport {
    fn sections(&self) -> Vec<Section> {
        let client = &self.client;
        let mut sections = vec![Section::sentences(vec![
            format!("kubectl-devicetaint {}", client.build.line()),
            format!(
                "Supports Kubernetes {} to {}; apiVersion of reports: {API_VERSION}",
                client.oldest_kubernetes, client.newest_kubernetes
            ),
        ])];
        if let Some(server) = &self.api_server {
            sections.push(Section::sentences(vec![server.sentence()]));
            sections.push(Section::table(server.table()));
        }
        let here = self
            .api_server
            .as_ref()
            .map(|server| server.defects.as_slice());
        sections.push(Section::table(table(here)));
        sections
    }

    fn names(&self) -> Vec<String> {
        vec![self.client.build.version.clone()]
    }
}

impl Answer for VersionReport {
    fn warnings(&self) -> &[Warning] {
        self.api_server
            .as_ref()
            .map_or(&[], |server| server.warnings.as_slice())
    }

    fn incomplete(&self) -> &[Incomplete] {
        &[]
    }
}

/// A known defect of Kubernetes releases that affects taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownDefect {
    /// Name of the defect; stable.
    pub defect: String,
    /// Description of the defect.
    pub message: String,
    /// The first release with the defect.
    pub introduced_in: String,
    /// The first release without the defect.
    pub fixed_in: String,
    /// Kubernetes issue, such as `kubernetes#139651`.
    pub upstream: String,
}

/// Known defect of servers, and its presence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDefect {
    /// Name of the defect, as in knownDefects.
    pub defect: String,
    /// Presence of the defect in the server.
    pub presence: DefectPresence,
}

/// Presence of a defect in a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefectPresence {
    /// The server has the defect.
    Present,
    /// The server does not have the defect.
    Absent,
    /// Unknown from the server's version alone.
    Unknown,
}

impl From<Presence> for DefectPresence {
    fn from(presence: Presence) -> Self {
        match presence {
            Presence::Present => Self::Present,
            Presence::Absent => Self::Absent,
            Presence::NotKnown => Self::Unknown,
        }
    }
}

impl DefectPresence {
    fn word(self) -> &'static str {
        match self {
            Self::Present => "yes",
            Self::Absent => "no",
            Self::Unknown => "not known",
        }
    }
}

/// All that are known.
pub fn known() -> Vec<KnownDefect> {
    let view = |defect: Defect| KnownDefect {
        defect: pascal_case(defect.code()),
        message: defect.meaning().to_owned(),
        introduced_in: defect.since().to_string(),
        fixed_in: defect.repair().to_string(),
        upstream: upstream(defect),
    };
    Defect::ALL.into_iter().map(view).collect()
}

/// Known defects, with their presence in a server of this version.
pub fn of_server(version: Option<Minor>) -> Vec<ServerDefect> {
    let view = |defect: Defect| ServerDefect {
        defect: pascal_case(defect.code()),
        presence: defect.presence(version).into(),
    };
    Defect::ALL.into_iter().map(view).collect()
}

/// The table of all defects; with their presence `here`, where a server is known.
pub(super) fn table(here: Option<&[ServerDefect]>) -> Table {
    let mut columns = vec![
        Column::text("RELEASES"),
        Column::text("UPSTREAM"),
        Column::prose("KNOWN DEFECT"),
    ];
    if here.is_some() {
        columns.insert(2, Column::text("HERE"));
    }
    let row = |defect: Defect| {
        let mut row = vec![
            releases(defect),
            upstream(defect),
            defect.meaning().to_owned(),
        ];
        if let Some(here) = here {
            let found = here
                .iter()
                .find(|found| found.defect == pascal_case(defect.code()));
            let presence = found.map_or(DefectPresence::Unknown, |found| found.presence);
            row.insert(2, presence.word().to_owned());
        }
        row
    };
    Table {
        columns,
        rows: Defect::ALL.into_iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str, api_version: Option<&str>) -> Resource {
        Resource {
            name: name.to_owned(),
            api_version: api_version.map(str::to_owned),
        }
    }

    #[test]
    fn a_server_serves_rules_only_at_a_version_that_is_known() {
        let server = |rules: Option<&str>, minor: u32| {
            let version = Minor { minor, patch: None };
            Server::new(
                "https://prod".to_owned(),
                ServerRelease {
                    git_version: None,
                    minor: Some(version),
                },
                vec![resource("devicetaintrules", rules)],
                &[],
            )
        };
        assert!(server(Some("resource.k8s.io/v1"), 37).serves_rules);
        assert!(!server(None, 37).serves_rules);
        assert_eq!(server(None, 40).semantics.as_deref(), Some("1.40"));
        assert_eq!(server(None, 32).semantics, None);
        let shown = server(None, 32).sentence();
        assert!(shown.contains("without device taints"), "{shown}");
    }

    #[test]
    fn what_is_missing_stands_beside_what_is_served() {
        let served = resource("resourceslices", Some("resource.k8s.io/v1"));
        let missing = resource("devicetaintrules", None);
        let server = Server::new(
            String::new(),
            ServerRelease::default(),
            vec![served, missing],
            &[],
        );
        let rows = server.table().rows;
        assert_eq!(rows[0], ["resourceslices", "resource.k8s.io/v1"]);
        assert_eq!(rows[1], ["devicetaintrules", "not served"]);
    }
}
