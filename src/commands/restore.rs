//! `restore`: undo a drain.

use super::context::Context;
use super::remove::{self, RemoveArgs};
use super::work::changer::{ChangeArgs, ReportArgs, reported};
use super::work::connect::{connect, failed};
use super::work::pipeline::{ask, asking, introduce};
use crate::completion::Values;
use crate::decide::approval::Question;
use crate::decide::drain::restorable;
use crate::decide::owner::others;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::phrase::{counted, few};

/// Undo drains: make their devices schedulable again
///
/// Removes the rules of a drain, or those of its units with this name. Asks for confirmation if another user or program
/// created or changed one of these rules.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RestoreArgs {
    /// Names of drains, or of their units: nodes, pools (DRIVER/POOL) or devices (DRIVER/POOL/DEVICE)
    #[arg(value_name = "DRAIN|NODE|POOL|DEVICE", required = true, add = Values::Nodes)]
    targets: Vec<String>,

    /// Do not ask for confirmation
    ///
    /// If stdin is not a terminal, required for everything that needs confirmation.
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "\
Examples:
  # What would be removed
  kubectl devicetaint restore firmware --dry-run

  # One node of a drain
  kubectl devicetaint restore node-7";

pub(super) async fn run(args: RestoreArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let format = args.report.output;
    context.log.set_dry_run(args.change.dry_run);
    reported(Box::pin(restore(args, context)), format, context).await
}

async fn restore(args: RestoreArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let listed = live.rules()?.list().await.map_err(failed)?.objects;
    let rules: Vec<DeviceTaintRule> = listed.into_iter().map(|stored| stored.fact).collect();
    let rules = restorable(&args.targets, &rules)?;
    let user = asking(&rules, &live.client).await;
    let owners = others(&rules, user.as_deref());
    let action = format!(
        "Restore {}: remove {}",
        few(&args.targets),
        counted(rules.len(), "rule")
    );
    if owners.is_empty() || args.yes {
        context.printer.note(&action);
    } else {
        let owners: Vec<String> = owners.iter().map(|line| format!("  {line}")).collect();
        introduce(&owners, context);
        ask(&Question::yes(action), args.change.dry_run, context)?;
    }
    let names = rules.iter().map(|rule| rule.name.to_string()).collect();
    // Rules of others were approved above.
    let agreed =
        RemoveArgs::agreed(names, !owners.is_empty(), args.change).with_report(args.report);
    Box::pin(remove::run(agreed, context)).await
}
