//! `version`: version of the program, its schemas, and the server's version and kinds.

use std::sync::LazyLock;

use jiff::Timestamp;

use super::context::Context;
use super::work::cluster_view::ViewWarnings;
use super::work::connect::{connect_client, failed};
use super::work::present::{formats, present};
use crate::assess::defects;
use crate::cluster::{ServedKinds, served_kinds};
use crate::decide::version::{newer_version, older_version, release_of};
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{Kind, Warning};
use crate::render::Format;
use crate::report::VersionReport;
use crate::report::version::{Build, Resource, Server, ServerRelease};

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

    /// Output format: json or yaml
    #[arg(short, long, hide_possible_values = true, value_parser = formats(&[Format::Json, Format::Yaml]), value_name = "FORMAT", help_heading = "Output")]
    output: Option<Format>,
}

const EXAMPLES: &str = "\
Examples:
  # Does this server serve DeviceTaintRules, and in which API version?
  kubectl devicetaint version

  # For a bug report
  kubectl devicetaint version -o yaml

  # Without a cluster
  kubectl devicetaint version --client";

pub(super) async fn run(args: VersionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let own = VersionReport::new(build());
    let format = args.output.unwrap_or_default();
    let show = |report: &VersionReport| present(report, &ViewWarnings::default(), format, context);
    if args.client {
        return show(&own);
    }
    match server(context).await {
        Ok(server) => show(&own.with_server(server, context.cluster().as_ref())),
        // A partial answer helps a user who looks for the error.
        Err(failure) => {
            show(&own)?;
            Err(failure)
        }
    }
}

/// The program's own facts.
fn build() -> Build {
    let seconds = option_env!("DEVICETAINT_TIME").and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("DEVICETAINT_BUILT_FROM").map(str::to_owned),
        modified: option_env!("DEVICETAINT_CHANGED") == Some("true"),
        commit_date: time.map(|time| time.strftime("%Y-%m-%d").to_string()),
        target: option_env!("DEVICETAINT_TARGET")
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Text that `--version` prints after the name.
pub(super) fn line() -> &'static str {
    static LINE: LazyLock<String> = LazyLock::new(|| build().line());
    &LINE
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
