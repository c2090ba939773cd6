//! The command line as a whole.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::context::{Context, Surroundings};
use super::flags::connection::ConnectionArgs;
use super::flags::output::GlobalArgs;
use super::{
    add, deescalate, describe, devices, escalate, help, list, preview, remove, signal, snapshot,
    wait,
};
use crate::error::{ExitStatus, Failure};
use crate::output::Printer;

/// Taint DRA devices safely: see who will be hit, when, and how badly
///
/// A DeviceTaintRule with effect NoExecute evicts every pod that uses a selected device, at once and
/// past every disruption budget. This plugin says which pods that would be before anything happens,
/// with the same rules as the device-taint-eviction controller.
///
/// kubectl accepts flags only after the plugin's name: `kubectl devicetaint --context prod devices`.
#[derive(Debug, Parser)]
#[command(name = "kubectl-devicetaint", version, disable_help_subcommand = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: GlobalArgs,

    #[command(flatten)]
    connection: ConnectionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Who would be evicted if this device were tainted NoExecute?
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0

  # The same from a saved dump, as JSON
  kubectl devicetaint snapshot -o cluster.json.gz
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0 --from cluster.json.gz -o json

  # Which devices are there, and who uses them?
  kubectl devicetaint devices --node node-7";

#[derive(Debug, Subcommand)]
enum Command {
    Preview(preview::PreviewArgs),
    #[command(alias = "create")]
    Add(add::AddArgs),
    Escalate(escalate::EscalateArgs),
    Deescalate(deescalate::DeescalateArgs),
    Remove(remove::RemoveArgs),
    #[command(alias = "get")]
    List(list::ListArgs),
    Describe(describe::DescribeArgs),
    Wait(wait::WaitArgs),
    Devices(devices::DevicesArgs),
    Snapshot(snapshot::SnapshotArgs),
    Help(help::HelpArgs),
}

/// Runs the program and says how it ended; failures are printed already.
///
/// `arguments` begins with the name the program was called by.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let surroundings = Surroundings::look();
    let cli = match parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return explain(&error, &surroundings.plain_printer()),
    };
    let context = Context::new(&surroundings, &cli.global, cli.connection);
    match dispatch(cli.command, &context).await {
        Ok(status) => status,
        Err(failure) => {
            failure.print(&context.printer);
            failure.status()
        }
    }
}

impl Command {
    /// Whether it takes care of signals itself, since it has to ask the cluster for something then.
    fn tidies_up(&self) -> bool {
        match self {
            Self::Preview(args) => args.publishes(),
            Self::Add(_)
            | Self::Escalate(_)
            | Self::Deescalate(_)
            | Self::Remove(_)
            | Self::List(_)
            | Self::Describe(_)
            | Self::Wait(_)
            | Self::Devices(_)
            | Self::Snapshot(_)
            | Self::Help(_) => false,
        }
    }
}

async fn dispatch(command: Command, context: &Context) -> Result<ExitStatus, Failure> {
    if command.tidies_up() {
        run_command(command, context).await
    } else {
        signal::stoppable(run_command(command, context), context).await
    }
}

async fn run_command(command: Command, context: &Context) -> Result<ExitStatus, Failure> {
    match command {
        Command::Preview(args) => preview::run(args, context).await,
        Command::Add(args) => add::run(args, context).await,
        Command::Escalate(args) => escalate::run(args, context).await,
        Command::Deescalate(args) => deescalate::run(args, context).await,
        Command::Remove(args) => remove::run(args, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Describe(args) => describe::run(args, context).await,
        Command::Wait(args) => wait::run(args, context).await,
        Command::Devices(args) => devices::run(args, context).await,
        Command::Snapshot(args) => snapshot::run(args, context).await,
        Command::Help(args) => help::run(&args, definition(None), context),
    }
}

/// The definition of the command line, named as the user called the program.
fn definition(called: Option<&OsString>) -> clap::Command {
    let by_kubectl = called
        .and_then(|name| Path::new(name).file_stem())
        .is_none_or(|stem| stem.to_string_lossy().starts_with("kubectl-"));
    let name = if by_kubectl {
        "kubectl devicetaint"
    } else {
        "kubectl-devicetaint"
    };
    Cli::command().bin_name(name)
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = definition(arguments.first()).try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

/// Prints what clap has to say: help and version as results, mistakes as messages.
fn explain(error: &clap::Error, printer: &Printer<'_>) -> ExitStatus {
    let text = error.render().to_string();
    if error.use_stderr() {
        printer.block(&text);
        return ExitStatus::Usage;
    }
    match printer.emit(&text) {
        Ok(()) => ExitStatus::Success,
        Err(_) => ExitStatus::Failed,
    }
}
