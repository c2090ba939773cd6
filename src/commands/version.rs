//! `version`: what this program is, what it knows, and what the server has.

use clap::ValueEnum;

use super::built;
use super::context::Context;
use super::work::connect::{connect_client, failed};
use super::work::look::Aside;
use super::work::present::present;
use super::work::wanted::Wanted;
use crate::cluster::{Served, survey};
use crate::decide::risk::release_of;
use crate::decide::version::newer_version;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{Kind, Warning};
use crate::render::Format;
use crate::report::version::{Resource, Server};
use crate::report::{VersionReport, defects, schema};

/// Show the versions of this program and of the server
///
/// Of the program: what it was built from, which versions of Kubernetes it knows and how they behave
/// (with -o json or yaml), and the schemas of its reports. Of the server: its version, and which
/// resources of device taints it serves, at which version of the API.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct VersionArgs {
    /// This program alone: no cluster is asked
    #[arg(long)]
    client: bool,

    /// How it is printed
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
    /// For people
    Text,
    /// A VersionReport
    Json,
    /// A VersionReport
    Yaml,
}

const EXAMPLES: &str = "\
Examples:
  # Does this server serve rules, and at which version?
  kubectl devicetaint version

  # For a bug report
  kubectl devicetaint version -o yaml

  # Without a cluster
  kubectl devicetaint version --client";

impl VersionArgs {
    /// Whether a cluster is asked.
    fn asks(&self) -> bool {
        !self.client
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            format: match self.output {
                Output::Text => Format::Table,
                Output::Json => Format::Json,
                Output::Yaml => Format::Yaml,
            },
            strict: false,
        }
    }
}

pub(super) async fn run(args: VersionArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let own = VersionReport::new(built::build(), &schema::kinds());
    let show = |report: &VersionReport| present(report, &Aside::default(), args.wanted(), context);
    if !args.asks() {
        return show(&own);
    }
    match server(context).await {
        Ok(server) => show(&own.with_server(server)),
        // What is known is worth something to who asks what is wrong.
        Err(failure) => {
            show(&own)?;
            Err(failure.hint("for this program alone: kubectl devicetaint version --client"))
        }
    }
}

/// What the server is and has.
async fn server(context: &Context) -> Result<Server, Failure> {
    let client = connect_client(context).await?;
    let served = Box::pin(survey(&client)).await.map_err(failed)?;
    let resources = Kind::ALL
        .into_iter()
        .filter(|kind| kind.group() == Kind::DeviceTaintRule.group());
    let resources = resources.map(|kind| Resource {
        name: kind.plural().to_owned(),
        api_version: served
            .version_of(kind)
            .map(|version| version.api_version.to_owned()),
    });
    Ok(Server::new(
        client.server().url.clone(),
        (served.git_version.clone(), served.version),
        resources.collect(),
        &findings(&served),
    ))
}

/// What is missing or odd about a server.
fn findings(served: &Served) -> Vec<Warning> {
    let semantics = served.version.and_then(Semantics::of);
    let newer = semantics.as_ref().and_then(newer_version);
    let version = served.version_of(Kind::DeviceTaintRule);
    let release = release_of(served.version, None, version.map(|it| it.api_version));
    let defect = version.and_then(|_| defects::of_rules(release));
    let findings = served.findings.iter().cloned();
    findings.chain(newer).chain(defect).collect()
}
