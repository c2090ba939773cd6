//! Versions of the program, of the Kubernetes behaviour it knows, and of the server.

use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, Cluster, Incomplete, Metadata, Warning};
use super::table::{Column, Section, Table, View};
use super::taint::pascal_case;
use crate::assess::defects::{releases, upstream};
use crate::engine::{Defect, Presence, Semantics};
use crate::model::{self, Minor};

/// Number of letters that tell a commit from others.
const SHORT: usize = 12;

/// Report of `version`: this program and the server.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Known defects of Kubernetes releases that affect taints, the worst first.
    pub known_defects: Vec<KnownDefect>,
}

/// This program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Source of the build.
    #[serde(flatten)]
    pub build: Build,
    /// The oldest supported version of Kubernetes, such as `1.35`.
    pub oldest_kubernetes: String,
    /// The newest supported version of Kubernetes; later versions are treated like this version.
    pub newest_kubernetes: String,
}

/// Source that the program was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

/// A server, with the data that it reports about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// The minor version that decides its behavior; absent if it is unknown.
    #[serde(skip)]
    minor: Option<Minor>,
    /// Warnings about the server.
    pub warnings: Vec<Warning>,
}

/// A resource of the API group resource.k8s.io.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// On this program alone.
    pub fn new(build: Build) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "VersionReport".to_owned(),
            metadata: Metadata::default(),
            client: Client {
                build,
                oldest_kubernetes: Semantics::OLDEST.to_string(),
                newest_kubernetes: Semantics::NEWEST.to_string(),
            },
            api_server: None,
            known_defects: known(None),
        }
    }

    /// On the server too.
    #[must_use]
    pub fn with_server(self, server: Server, cluster: Option<&Cluster>) -> Self {
        Self {
            metadata: Metadata::of_cluster(cluster),
            known_defects: known(server.minor),
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
            minor,
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
        Table::of(&self.resources)
            .column(Column::text("RESOURCE"), |it| it.name.clone())
            .column(Column::text("API"), |it| {
                it.api_version
                    .clone()
                    .unwrap_or_else(|| "not served".to_owned())
            })
            .table()
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
        let here = |found: &KnownDefect| match found.present {
            Some(_) => "yes",
            None => "not known",
        };
        let defects = self.known_defects.iter();
        let defects = Table::of(defects.filter(|found| found.present != Some(false)))
            .column(Column::text("RELEASES"), |found| found.releases.clone())
            .column(Column::text("UPSTREAM"), |found| found.upstream.clone());
        let defects = match &self.api_server {
            Some(_) => defects.column(Column::text("HERE"), |found| here(found).to_owned()),
            None => defects,
        };
        let defects = defects.column(Column::prose("KNOWN DEFECT"), |found| found.message.clone());
        sections.push(Section::table(defects.table()));
        sections
    }

    fn names(&self) -> Vec<String> {
        vec![self.client.build.version.clone()]
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        let server = self.api_server.as_ref();
        (server.map_or(&[], |server| &server.warnings), &[])
    }
}

/// A known defect of Kubernetes releases that affects taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownDefect {
    /// Name of the defect; stable.
    pub defect: String,
    /// Description of the defect.
    pub message: String,
    /// The releases with the defect, such as `1.36.0 to 1.36.2`.
    pub releases: String,
    /// Kubernetes issue, such as `kubernetes#139651`.
    pub upstream: String,
    /// True if the server has the defect; null if unknown, or without a server.
    pub present: Option<bool>,
}

/// All that are known, with their presence in a server of this version.
fn known(server: Option<Minor>) -> Vec<KnownDefect> {
    let view = |defect: Defect| KnownDefect {
        defect: pascal_case(defect.code()),
        message: defect.meaning().to_owned(),
        releases: releases(defect),
        upstream: upstream(defect),
        present: match defect.presence(server) {
            Presence::Present => Some(true),
            Presence::Absent => Some(false),
            Presence::NotKnown => None,
        },
    };
    Defect::ALL.into_iter().map(view).collect()
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
