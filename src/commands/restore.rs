//! `restore`: undo a drain.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::source::VersionArgs;
use super::remove::{self, RemoveArgs};
use super::work::changer::Changer;
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect};
use super::work::consent::{ask, introduce};
use crate::cluster::{read_nodes, user_name};
use crate::decide::Question;
use crate::decide::drain::{
    RestoreTarget, Restorer, UnitProgress, UnitState, Withdrawal, devices_of, drains, kept_back,
    requesters, restorable, withdraw,
};
use crate::engine::ProposedTaint;
use crate::engine::rule_lifecycle::release;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, NodeName};
use crate::naming::duration::parse_duration;
use crate::naming::phrase::{counted, few};
use crate::output::StatusLine;

/// How often the devices are checked.
const INTERVAL: Duration = Duration::from_secs(2);

/// Undo a drain: make its devices schedulable again
///
/// Removes exactly the rules that `drain` created: all rules of a drain, or those of one of its nodes, pools or
/// devices. Then waits until the devices can be allocated, and names what prevents it: a taint of the
/// driver, another rule, or a cordoned node.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RestoreArgs {
    /// Name of the drain, or a node, DRIVER/POOL or DRIVER/POOL/DEVICE of it
    #[arg(value_name = "DRAIN|NODE|DEVICE")]
    target: String,

    /// Do not ask for confirmation
    ///
    /// Required for what needs confirmation if stdin is not a terminal.
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    /// Include rules that another user or program changed, or that other requesters need
    #[arg(long, help_heading = "Safety")]
    others: bool,

    /// Withdraw this requester; rules that other requesters need stay
    ///
    /// Default: your user name, if it is a requester of the drain.
    #[arg(long, value_name = "NAME", help_heading = "Drain")]
    requester: Option<String>,

    /// How long to wait until the devices can be allocated
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration, help_heading = "Wait")]
    timeout: Duration,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # What would be removed
  kubectl devicetaint restore firmware --dry-run

  # One node of a drain
  kubectl devicetaint restore node-7";

pub(super) async fn run(args: RestoreArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let version = args.version.version();
    let view = Box::pin(ClusterView::of(live.clone(), version)).await?;
    let known = drains(view.rules()?);
    let target = RestoreTarget { name: &args.target };
    let (drain, units) = restorable(target, &known)?;
    let rules: Vec<&DeviceTaintRule> = units.iter().flat_map(|unit| &unit.rules).collect();
    let user = match rules.iter().any(|rule| !requesters(rule).is_empty()) {
        true => user_name(&live.client).await,
        false => None,
    };
    let restorer = Restorer {
        requester: args.requester.as_deref(),
        user: user.as_deref(),
        ignores_others: args.others,
    };
    let withdrawal = withdraw(&drain, &rules, &restorer)?;
    args.agree(&drain, &units, &withdrawal, context)?;
    let stored = live.rules()?;
    let mut changer = Changer::new(&stored, args.change.change(), context).by(user);
    keep(&withdrawal, &drain, &mut changer).await?;
    if withdrawal.removed.is_empty() {
        return Ok(ExitStatus::Success);
    }
    // Devices of rules that others need stay tainted, and are not waited for.
    let restored: Vec<UnitState> = units
        .into_iter()
        .map(|unit| {
            let is_removed = |rule: &DeviceTaintRule| {
                withdrawal
                    .removed
                    .iter()
                    .any(|name| *name == rule.name.as_str())
            };
            UnitState {
                rules: unit.rules.into_iter().filter(is_removed).collect(),
                ..unit
            }
        })
        .collect();
    let taints: Vec<ProposedTaint> = restored
        .iter()
        .flat_map(|unit| &unit.rules)
        .map(|rule| ProposedTaint {
            rule: None,
            ..ProposedTaint::of_rule(rule, view.now)
        })
        .collect();
    let devices: BTreeSet<DeviceId> = restored
        .iter()
        .flat_map(|unit| devices_of(unit, &view.basis()))
        .collect();
    let names = withdrawal.removed;
    let is_real = args.change.change().dry_run.is_real();
    let timeout = args.timeout;
    let agreed = RemoveArgs::agreed(names, args.others, args.change, args.version);
    let status = Box::pin(remove::run(agreed, context)).await?;
    if !is_real {
        return Ok(status);
    }
    let wait = Allocatable {
        view,
        taints,
        devices,
        timeout,
    };
    Box::pin(wait.wait(&live, context)).await?;
    Ok(status)
}

/// Records the withdrawal on the rules that other requesters need.
async fn keep(
    withdrawal: &Withdrawal,
    drain: &str,
    changer: &mut Changer<'_>,
) -> Result<(), Failure> {
    changer.plan(
        withdrawal
            .kept
            .iter()
            .map(|(rule, _)| rule.name.to_string()),
    );
    for (rule, patch) in &withdrawal.kept {
        changer.patch(rule, patch, |found| found.is_some()).await?;
    }
    if !withdrawal.others.is_empty() {
        let others: Vec<String> = withdrawal.others.iter().cloned().collect();
        changer.context().printer.note(&format!(
            "drain {drain} is still requested by {}: {} kept",
            few(&others),
            counted(withdrawal.kept.len(), "rule")
        ));
    }
    Ok(())
}

impl RestoreArgs {
    fn agree(
        &self,
        drain: &str,
        units: &[UnitState],
        withdrawal: &Withdrawal,
        context: &Context,
    ) -> Result<(), Failure> {
        let removed = counted(withdrawal.removed.len(), "rule");
        let action = if withdrawal.removed.is_empty() {
            format!("Withdraw from drain {drain}: remove no rule")
        } else {
            format!("Restore drain {drain}: remove {removed}")
        };
        if self.yes {
            context.printer.note(&action);
            return Ok(());
        }
        let lines = units.iter().map(|unit| {
            let stage = match &unit.progress {
                UnitProgress::Draining => "pods are being evicted, possibly by another run",
                UnitProgress::Waiting => "not started",
                UnitProgress::Blocked => "blocked",
                UnitProgress::Idle => "idle",
                UnitProgress::Held => "drained, except for pods that the drain does not evict",
                UnitProgress::Reversed(why) => why,
            };
            format!("  unit {}: {stage}", unit.name)
        });
        introduce(&lines.collect::<Vec<_>>(), context);
        let dry_run = self.change.change().dry_run;
        ask(&Question::Yes { action }, dry_run, context).map(drop)
    }
}

/// Wait until the devices can be allocated again.
struct Allocatable {
    view: ClusterView,
    /// The taints that were removed.
    taints: Vec<ProposedTaint>,
    devices: BTreeSet<DeviceId>,
    timeout: Duration,
}

impl Allocatable {
    async fn wait(self, live: &Live, context: &Context) -> Result<(), Failure> {
        let began = Instant::now();
        let mut progress = StatusLine::new(&context.printer);
        let mut view = self.view;
        loop {
            view = Box::pin(view.again()).await?;
            let impact = view.impact(&self.taints);
            let nodes = impact.devices.iter().filter_map(|device| device.node);
            let nodes: BTreeSet<NodeName> = nodes.cloned().collect();
            let nodes = read_nodes(&live.client, &live.served, &nodes).await;
            let nodes = nodes.as_deref().ok();
            let released = release(&impact, view.snapshot(), nodes);
            let kept = kept_back(&released, &self.devices);
            if kept.is_empty() {
                return Ok(());
            }
            let line = kept.join("; ");
            progress.say(&line, &line);
            if began.elapsed() >= self.timeout {
                drop(progress);
                let failure = Failure::new(
                    ExitStatus::TimedOut,
                    "the rules are removed, but devices cannot be allocated",
                );
                return Err(kept.into_iter().fold(failure, |failure, line| {
                    failure.detail(format!("left: {line}"))
                }));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
