//! `undedicate`: the end of a dedication.

use serde_json::Value;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::profile::{CommandProfile, NamespaceFilter, OF_A_DEDICATION};
use super::work::connect::{connect, failed};
use super::work::consent::{ask, introduce};
use super::work::dedication_objects::{DedicationObjects, DedicationWriter, name};
use super::work::stopped::stopped;
use crate::cluster::{Purpose, Removal, WriteMode};
use crate::decide::Question;
use crate::decide::choice::no_such_dedication;
use crate::decide::dedication::{ObjectKind, Terms, is_of};
use crate::decide::ledger::RuleGoal;
use crate::error::{ExitStatus, Failure};
use crate::model::{RuleMetadata, Taint};
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
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Undedicate)
            .with_namespace(NamespaceFilter::Meaningless(OF_A_DEDICATION))
    }

    fn approve(&self, found: &[(ObjectKind, Value)], context: &Context) -> Result<(), Failure> {
        let action = format!(
            "End dedication {}: remove {}",
            self.name,
            counted(found.len(), "object")
        );
        if self.yes {
            context.printer.note(&action);
            return Ok(());
        }
        let names = found
            .iter()
            .map(|(kind, object)| format!("  {}", kind.full_name(name(object))));
        introduce(&names.collect::<Vec<_>>(), context);
        let dry_run = self.change.change().dry_run;
        ask(&Question::Yes { action }, dry_run, context).map(drop)
    }
}

pub(super) async fn run(args: UndedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    Terms::check_name(&args.name)?;
    let live = connect(context).await?;
    let rules = live.rules()?.list().await.map_err(failed)?.objects;
    let objects = DedicationObjects::of(&live).await?;
    let mut found = Vec::new();
    // The taint goes first: without policies, any claim that tolerates it could use the devices.
    for kind in ObjectKind::ALL.into_iter().rev() {
        let labelled = objects.labelled(kind, &args.name).await;
        let labelled = labelled.map_err(|error| failed(error).detail("nothing was changed"))?;
        found.extend(labelled.into_iter().map(|object| (kind, object)));
    }
    if found.is_empty() {
        let labels = rules.iter().map(|rule| &rule.fact.metadata.labels);
        let known = labels.filter_map(|labels| labels.get(RuleMetadata::DEDICATION).cloned());
        return Err(no_such_dedication(&args.name, known));
    }
    for rule in &rules {
        let is_tainting = rule.fact.taint.dedication() == Some(&args.name);
        if is_tainting && !is_of(&rule.object, &args.name) {
            context.printer.warn(&format!(
                "rule {} taints devices with {}={}, but lacks the label of the dedication, and stays",
                rule.fact.name,
                Taint::DEDICATED,
                args.name
            ));
        }
    }
    args.approve(&found, context)?;
    let writer = DedicationWriter {
        objects: &objects,
        dedication: &args.name,
        change: args.change.change(),
        prints_lines: true,
        context,
    };
    // A dry run finds what would stop the removal halfway, such as a missing permission.
    if writer.change.mode() == Some(WriteMode::Store) {
        for (kind, object) in &found {
            let tried = objects.delete(*kind, object, &args.name, WriteMode::DryRun);
            tried
                .await
                .map_err(|error| failed(error).detail("nothing was changed"))?;
        }
    }
    remove(&writer, &found)
        .await
        .map_err(|failure| stopped(failure, context))?;
    Ok(ExitStatus::Success)
}

async fn remove(
    writer: &DedicationWriter<'_>,
    found: &[(ObjectKind, Value)],
) -> Result<(), Failure> {
    let goals = found.iter().map(|(kind, object)| {
        let full_name = kind.full_name(name(object));
        (full_name, RuleGoal::Deleted)
    });
    writer.plan(goals);
    let mut held = None;
    for (kind, object) in found {
        if let Some(rule) = held.filter(|_| *kind != ObjectKind::Rule) {
            return Err(Failure::new(
                ExitStatus::TryAgain,
                format!(
                    "rule {} still taints its devices until its finalizers are removed, so the policies stay",
                    name(rule)
                ),
            ));
        }
        match writer.delete(*kind, object).await? {
            Removal::Requested | Removal::Leaving if *kind == ObjectKind::Rule => {
                held = Some(object);
            }
            Removal::Requested | Removal::Leaving | Removal::Deleted | Removal::Gone => {}
        }
    }
    Ok(())
}
