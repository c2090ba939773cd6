//! `version`: version of the program, its schemas, and the server's version and kinds.

use clap::ValueEnum;

use super::built;
use super::context::Context;
use super::profile::{CommandProfile, NamespaceFilter};
use super::work::cluster_view::ViewWarnings;
use super::work::connect::{connect_client, failed};
use super::work::output_request::OutputRequest;
use super::work::present::present;
use crate::assess::defects;
use crate::cluster::{ServedKinds, served_kinds};
use crate::decide::Strictness;
use crate::decide::version::{newer_version, older_version, release_of};
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{Kind, Warning};
use crate::render::Format;
use crate::report::VersionReport;
use crate::report::version::{Resource, Server, ServerRelease};

/// Show the versions of the plugin and the server
///
/// For the plugin, shows its build, the supported versions of Kubernetes with their known defects, and the API
/// version of its reports. -o json and yaml also show how each supported version of Kubernetes treats device taints,
/// and the name of each kind of report, such as ImpactReport. For the server, shows its version, and the API version
/// of each resource.k8s.io resource that it serves.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct VersionArgs {
    /// Show only the versions of the plugin, without contacting a cluster
    #[arg(long)]
    client: bool,

    /// Output format
    #[arg(
        short,
        long,
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Plain text
    Text,
    /// A VersionReport
    Json,
    /// A VersionReport
    Yaml,
}

const EXAMPLES: &str = "\
Examples:
  # Does this server serve DeviceTaintRules, and in which API version?
  kubectl devicetaint version

  # For a bug report
  kubectl devicetaint version -o yaml

  # Without a cluster
  kubectl devicetaint version --client";

impl VersionArgs {
    /// True if a cluster is asked.
    fn asks(&self) -> bool {
        !self.client
    }

    fn wanted(&self) -> OutputRequest {
        OutputRequest {
            format: match self.output {
                Output::Text => Format::Table,
                Output::Json => Format::Json,
                Output::Yaml => Format::Yaml,
            },
            strictness: Strictness::Lenient,
        }
    }
}

impl VersionArgs {
    /// Purpose of the connection, and who handles signals.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile {
            namespace: NamespaceFilter::Meaningless("the version is the same in all namespaces"),
            ..CommandProfile::without_cluster()
        }
    }
}

pub(super) async fn run(args: VersionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let own = VersionReport::new(built::build());
    let show =
        |report: &VersionReport| present(report, &ViewWarnings::default(), args.wanted(), context);
    if !args.asks() {
        return show(&own);
    }
    match server(context).await {
        Ok(server) => show(&own.with_server(server, context.cluster().as_ref())),
        // A partial answer helps a user who looks for the error.
        Err(failure) => {
            show(&own)?;
            Err(failure
                .hint("for only the version of the plugin: kubectl devicetaint version --client"))
        }
    }
}

/// Version and kinds of the server.
async fn server(context: &Context) -> Result<Server, Failure> {
    let client = connect_client(context).await?;
    let served = Box::pin(served_kinds(&client)).await.map_err(failed)?;
    let resources = Kind::ALL
        .into_iter()
        .filter(|kind| kind.group() == Kind::DeviceTaintRule.group())
        .map(|kind| Resource {
            name: kind.plural().to_owned(),
            api_version: served
                .version_of(kind)
                .map(|version| version.api_version.to_owned()),
        });
    Ok(Server::new(
        client.server().url.clone(),
        ServerRelease {
            git_version: served.git_version.clone(),
            minor: served.version,
        },
        resources.collect(),
        &findings(&served),
    ))
}

/// Missing or unusual properties of a server.
fn findings(served: &ServedKinds) -> Vec<Warning> {
    let semantics = served.version.and_then(Semantics::of);
    let newer = semantics.as_ref().and_then(newer_version);
    let older = semantics.as_ref().and_then(older_version);
    let version = served.version_of(Kind::DeviceTaintRule);
    let release = release_of(served.version, None, version.map(|it| it.api_version));
    let defect = version.and_then(|_| defects::of_rules(release));
    let findings = served.findings.iter().cloned();
    findings.chain(newer).chain(older).chain(defect).collect()
}
