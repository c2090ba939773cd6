//! `restore`: undo a drain.

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::profile::CommandProfile;
use super::remove::{self, RemoveArgs};
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect};
use super::work::consent::{ask, introduce};
use super::work::pipeline::asking;
use super::work::record::record;
use crate::cluster::{Detail, Purpose, WriteMode, user_name};
use crate::completion::Values;
use crate::decide::drain::{
    RestorationRecord, RestoreTarget, UnitProgress, UnitState, drains, restorable,
    restoration_record, restored_by, restored_part, reversal_patch,
};
use crate::decide::others::others;
use crate::decide::question::Question;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::phrase::counted;

/// Undo a drain: make its devices schedulable again
///
/// Removes only rules that `drain` created: all rules of a drain, or those of one of its nodes, pools or devices.
/// Asks for confirmation if another user or program created or changed one of these rules.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RestoreArgs {
    /// Name of the drain, or one of its nodes, pools (DRIVER/POOL) or devices (DRIVER/POOL/DEVICE)
    #[arg(value_name = "DRAIN|NODE|DEVICE", add = Values::Nodes)]
    target: String,

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
  kubectl devicetaint restore firmware --dry-run

  # One node of a drain
  kubectl devicetaint restore node-7";

impl RestoreArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Restore)
    }
}

pub(super) async fn run(args: RestoreArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let view = Box::pin(ClusterView::of(live.clone(), Detail::Names)).await?;
    let known = drains(view.rules()?);
    let target = RestoreTarget { name: &args.target };
    let (drain, units) = restorable(target, &known)?;
    let rules: Vec<DeviceTaintRule> = units.iter().flat_map(|unit| unit.rules.clone()).collect();
    let restoration = restoration_record(&known, &drain, &rules);
    let owners = owners(&rules, &live).await;
    let has_others = !owners.is_empty();
    let what = restored_part(&args.target, &drain);
    let action = format!("Restore {what}: remove {}", counted(rules.len(), "rule"));
    args.agree(action, &units, owners, context)?;
    let names = rules.iter().map(|rule| rule.name.to_string()).collect();
    let is_real = args.change.change().dry_run.is_real();
    // Who agreed to rules of others is not asked again.
    let agreed = RemoveArgs::agreed(names, has_others, args.change);
    let status = Box::pin(remove::run(agreed, context)).await?;
    if is_real {
        note_restored(&restoration, &live, context).await;
    }
    Ok(status)
}

/// Users and programs other than this user that made or changed the rules, one line each.
async fn owners(rules: &[DeviceTaintRule], live: &Live) -> Vec<String> {
    let user = asking(rules, &live.client).await;
    others(rules, user.as_deref())
}

impl RestoreArgs {
    /// Shows the units, and asks if others made or changed their rules.
    fn agree(
        &self,
        action: String,
        units: &[UnitState],
        owners: Vec<String>,
        context: &Context,
    ) -> Result<(), Failure> {
        if owners.is_empty() || self.yes {
            context.printer.note(&action);
            return Ok(());
        }
        let owners = owners.into_iter().map(|line| format!("  {line}"));
        let lines: Vec<String> = units.iter().map(unit_line).chain(owners).collect();
        introduce(&lines, context);
        let dry_run = self.change.change().dry_run;
        ask(&Question::Yes { action }, dry_run, context).map(drop)
    }
}

/// Records on the rules that are left who has restored the other units. Without that, the drain is only known to lack rules;
/// the units are restored in any case.
async fn note_restored(found: &RestorationRecord, live: &Live, context: &Context) {
    if found.units.is_empty() || found.rules.is_empty() {
        return;
    }
    let Ok(rules) = live.rules() else {
        return;
    };
    let why = restored_by(user_name(&live.client).await.as_deref());
    let wanted = |rule: &DeviceTaintRule| Some(reversal_patch(rule, &found.units, &why).body());
    for rule in &found.rules {
        if let Some(Err(error)) = record(rule, wanted, &rules, WriteMode::Store).await {
            let name = &rule.name;
            context.printer.warn(&format!(
                "cannot record on rule {name} which units were restored: {error}"
            ));
        }
    }
}

/// How far the unit is, for the question.
fn unit_line(unit: &UnitState) -> String {
    let stage = match &unit.progress {
        UnitProgress::Draining => "pods are being evicted, possibly by another run",
        UnitProgress::Waiting => "not started",
        UnitProgress::Blocked => "blocked",
        UnitProgress::Idle => "was idle when its drain ended",
        UnitProgress::Held => "drained, except for pods that the drain does not evict",
        UnitProgress::Reversed(why) => why,
    };
    format!("  unit {}: {stage}", unit.name)
}
