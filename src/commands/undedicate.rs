//! `undedicate`: the end of a dedication.

use serde_json::Value;

use super::context::Context;
use super::work::changer::{ChangeArgs, Lines, Recorder, stopped};
use super::work::connect::{connect, failed};
use super::work::dedication::{DedicationObjects, with_policies};
use super::work::pipeline::{ask, introduce};
use crate::cluster::{ClusterError, Removal};
use crate::decide::approval::Question;
use crate::decide::change_log::RuleGoal;
use crate::decide::dedication::{KINDS, Terms, full_name, is_of};
use crate::error::{ExitStatus, Failure};
use crate::model::Kind;
use crate::naming::phrase::counted;

/// End a dedication: remove its taint, then its admission policies
///
/// Removes all rules and admission policies with the label devicetaint.dev/dedication=NAME, which `dedicate` sets.
/// Claims and claim templates keep the toleration that was added to them. If the command is interrupted, run it again:
/// it removes what is left.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct UndedicateArgs {
    /// Name of the dedication
    #[arg(value_name = "NAME")]
    name: String,

    /// Do not ask for confirmation
    ///
    /// If stdin is not a terminal, required for everything that needs confirmation.
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    #[command(flatten)]
    change: ChangeArgs,
}

const EXAMPLES: &str = "\
Examples:
  # What would be removed
  kubectl devicetaint undedicate research --dry-run=server

  # End the dedication
  kubectl devicetaint undedicate research";

impl UndedicateArgs {
    fn approve(&self, found: &[(Kind, Value)], context: &Context) -> Result<(), Failure> {
        let objects = counted(found.len(), "object");
        let action = format!("End dedication {}: remove {objects}", self.name);
        if self.yes {
            context.printer.note(&action);
            return Ok(());
        }
        let names = found
            .iter()
            .map(|(kind, object)| format!("  {}", full_name(*kind, object)));
        introduce(&names.collect::<Vec<_>>(), context);
        ask(&Question::yes(action), self.change.dry_run, context).map(drop)
    }
}

pub(super) async fn run(args: UndedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    Terms::check_name(&args.name)?;
    let live = connect(context).await?;
    let objects = DedicationObjects {
        live: with_policies(&live).await?,
        dedication: &args.name,
        recorder: Recorder::new(args.change.dry_run, Lines::Printed, context),
    };
    let mut labelled = Vec::new();
    // The taint goes first: without policies, any claim that tolerates it could use the devices.
    for kind in KINDS.into_iter().rev() {
        match objects.list(kind).await {
            Ok(listed) => labelled.extend(listed.into_iter().map(|object| (kind, object))),
            Err(ClusterError::NotServed { .. }) => {}
            Err(error) => return Err(failed(error).detail("nothing was changed")),
        }
    }
    labelled.retain(|(_, object)| is_of(object, &args.name));
    if labelled.is_empty() {
        let failure = format!("dedication {} not found", args.name);
        return Err(Failure::new(ExitStatus::Failed, failure));
    }
    args.approve(&labelled, context)?;
    remove(&objects, &labelled)
        .await
        .map_err(|failure| stopped(failure, context))?;
    Ok(ExitStatus::Success)
}

async fn remove(objects: &DedicationObjects<'_>, found: &[(Kind, Value)]) -> Result<(), Failure> {
    let goals = found.iter();
    objects
        .recorder
        .context
        .log
        .plan(goals.map(|(kind, object)| (full_name(*kind, object), RuleGoal::Deleted)));
    let mut held = None;
    for (kind, object) in found {
        let is_rule = *kind == Kind::DeviceTaintRule;
        if let Some(rule) = held.as_ref().filter(|_| !is_rule) {
            return Err(Failure::new(
                ExitStatus::TryAgain,
                format!("{rule} still taints devices until its finalizers are removed"),
            ));
        }
        match objects.delete(*kind, object).await? {
            Removal::Requested | Removal::Leaving if is_rule => {
                held = Some(full_name(*kind, object));
            }
            Removal::Requested | Removal::Leaving | Removal::Deleted | Removal::Gone => {}
        }
    }
    Ok(())
}
