//! `restore`: undo a drain.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::profile::CommandProfile;
use super::remove::{self, RemoveArgs};
use super::work::changer::Changer;
use super::work::cluster_view::ClusterView;
use super::work::connect::{Live, connect, failed};
use super::work::consent::{ask, introduce};
use super::work::pipeline::asking;
use super::work::record::record;
use crate::cluster::{Detail, Purpose, WriteMode, read_named_workloads, read_nodes, user_name};
use crate::completion::Values;
use crate::decide::blast_radius::{RemovalApproval, restoration};
use crate::decide::drain::{
    PublishedHardware, RecordedWorkloads, RestorationRecord, RestoreTarget, Restorer, UnitProgress,
    UnitState, Withdrawal, asked_lines, devices_of, drains, kept_back, left_to_allocate,
    left_to_be_ready, not_ready, ready_line, recorded_names, recorded_workloads, removed_taints,
    requesters, restorable, restoration_record, restored_by, restored_part, reversal_patch,
    under_new_names, untainted_of_unit, withdraw,
};
use crate::decide::effect::still_exists;
use crate::decide::ledger::RuleGoal;
use crate::decide::others::others;
use crate::engine::rule_lifecycle::release;
use crate::engine::{self, ProposedTaint, nodes_of};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, Reading, Source};
use crate::naming::duration::parse_duration;
use crate::naming::phrase::{counted, few};
use crate::output::StatusLine;

/// How often devices and workloads are checked.
const INTERVAL: Duration = Duration::from_secs(2);

/// Undo a drain: make its devices schedulable again
///
/// Removes only rules that `drain` created: all rules of a drain, or those of one of its nodes, pools or devices.
///
/// Then waits until the devices can be allocated, and after that until each workload that had pods on the devices has
/// as many ready pods as before the drain. After --timeout, the command exits with code 5, and names the cause, such as
/// a taint of the driver, a cordoned node, or a workload that is not ready. If only rules outside this drain still prevent the
/// allocation, the wait ends at once, also with exit code 5.
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

    /// Include rules of other users, programs and requesters (see --requester); implies --yes
    ///
    /// Without this flag, rules that other requesters still need are kept. Rules that another user created or changed are
    /// removed only after a confirmation, even with --yes; if stdin is not a terminal, the command is refused.
    #[arg(long, help_heading = "Safety")]
    others: bool,

    /// Remove this requester from the drain; rules that other requesters need are kept
    ///
    /// A requester is a user, team or program that needs the devices out of service, as set by `drain --requester`.
    /// Default: your user name. If the drain has requesters, and your user name is none of them, --requester
    /// or --others is required.
    #[arg(long, value_name = "NAME", help_heading = "Drain")]
    requester: Option<String>,

    /// How long to wait until devices can be allocated and workloads are ready
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Wait")]
    timeout: Duration,

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
        CommandProfile::changing(Purpose::Restore)
    }
}

pub(super) async fn run(args: RestoreArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let view = Box::pin(ClusterView::of(live.clone(), Detail::Names)).await?;
    let known = drains(view.rules()?);
    let target = RestoreTarget { name: &args.target };
    let (drain, units) = restorable(target, &known)?;
    let rules: Vec<&DeviceTaintRule> = units.iter().flat_map(|unit| &unit.rules).collect();
    // The user is compared with requesters only. Without any, the request is not needed.
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
    let restoration = restoration_record(&known, &drain, &withdrawal);
    let owners = args.owners(&withdrawal, &rules, &live).await;
    let has_others = !owners.is_empty();
    let slices = &view.snapshot().slices;
    let lines = units.iter().map(|unit| {
        let left = untainted_of_unit(unit, &drain, &known, slices);
        unit_line(unit, left)
    });
    let lines = lines.collect();
    let what = restored_part(&args.target, &drain);
    args.agree(&action(&what, &withdrawal), lines, owners, context)?;
    let stored = live.rules()?;
    let mut changer = Changer::new(&stored, args.change.change(), context).by(user);
    keep(&withdrawal, &drain, &mut changer).await?;
    if withdrawal.removed.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let restored = withdrawal.removed_rules_of(units);
    let taints = removed_taints(&restored, view.now);
    let devices: BTreeSet<DeviceId> = restored
        .iter()
        .flat_map(|unit| devices_of(unit, &view.device_basis()))
        .collect();
    let removed: Vec<DeviceTaintRule> = restored.into_iter().flat_map(|unit| unit.rules).collect();
    let workloads = recorded_workloads(&removed);
    let names = withdrawal.removed;
    let is_real = args.change.change().dry_run.is_real();
    let timeout = args.timeout;
    // Who agreed to rules of others is not asked again.
    let agreed = RemoveArgs::agreed(names, args.others || has_others, args.change);
    let status = Box::pin(remove::run(agreed, context)).await?;
    if !is_real {
        return Ok(status);
    }
    note_restored(&restoration, &live, context).await;
    let renamed = Box::pin(renamed(&live, &view, &removed, &devices)).await?;
    let wait = Restored {
        live: &live,
        source: view.reading.source.clone(),
        began: Instant::now(),
        timeout,
        context,
    };
    for (was, now) in &renamed {
        context
            .printer
            .note(&format!("device {was} is now published as {now}"));
    }
    let (taints, devices) = under_new_names(taints, devices, &renamed);
    Box::pin(wait.until_allocatable(view, &taints, &devices)).await?;
    Box::pin(wait.until_ready(&workloads)).await?;
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
            .map(|(rule, _)| (rule.name.to_string(), RuleGoal::Changed)),
    );
    for (rule, patch) in &withdrawal.kept {
        changer.patch(rule, patch, still_exists).await?;
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
    /// Who else made or changed the rules that are removed, one line each.
    async fn owners(
        &self,
        withdrawal: &Withdrawal,
        rules: &[&DeviceTaintRule],
        live: &Live,
    ) -> Vec<String> {
        let removed = rules.iter().filter(|rule| withdrawal.removes(rule));
        let removed: Vec<DeviceTaintRule> = removed.map(|rule| (*rule).clone()).collect();
        let user = asking(&removed, &live.client).await;
        others(&removed, user.as_deref())
    }

    fn agree(
        &self,
        action: &str,
        units: Vec<String>,
        owners: Vec<String>,
        context: &Context,
    ) -> Result<(), Failure> {
        let agreed = RemovalApproval {
            yes: self.yes,
            others: self.others,
        };
        let dry_run = self.change.change().dry_run;
        let is_refused = dry_run.is_real() && !context.interactive;
        let lines = asked_lines(units, &owners, is_refused);
        let Some(question) = restoration(action.to_owned(), owners, agreed) else {
            context.printer.note(action);
            return Ok(());
        };
        introduce(&lines, context);
        ask(&question, dry_run, context).map(drop)
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

/// The `devices` of removed `rules` that drivers publish under other names now.
async fn renamed(
    live: &Live,
    view: &ClusterView,
    rules: &[DeviceTaintRule],
    devices: &BTreeSet<DeviceId>,
) -> Result<BTreeMap<DeviceId, DeviceId>, Failure> {
    let inventory = engine::devices(view.snapshot(), &view.semantics).devices;
    let published = inventory.iter().filter(|state| state.published);
    let published: BTreeSet<&DeviceId> = published.map(|state| &state.id).collect();
    // Attributes are needed for this alone, and seldom.
    if devices.iter().all(|device| published.contains(device)) {
        return Ok(BTreeMap::new());
    }
    let view = Box::pin(ClusterView::of(live.clone(), Detail::Attributes)).await?;
    Ok(PublishedHardware::of(&view.device_basis()).renamed(rules))
}

/// How far the unit is, for the question.
fn unit_line(unit: &UnitState, untainted: Option<String>) -> String {
    let stage = match &unit.progress {
        UnitProgress::Draining => "pods are being evicted, possibly by another run",
        UnitProgress::Waiting => "not started",
        UnitProgress::Blocked => "blocked",
        UnitProgress::Idle => "was idle when its drain ended",
        UnitProgress::Held => "drained, except for pods that the drain does not evict",
        UnitProgress::Reversed(why) => why,
    };
    // Pods may run on these devices, whatever the stage was.
    let left = untainted.map_or_else(String::new, |line| format!("; {line}"));
    format!("  unit {}: {stage}{left}", unit.name)
}

/// What is done to `what`, as a question without its mark.
fn action(what: &str, withdrawal: &Withdrawal) -> String {
    if withdrawal.removed.is_empty() {
        return format!(
            "Remove one requester from {what}: all rules stay, since other requesters need them"
        );
    }
    let removed = counted(withdrawal.removed.len(), "rule");
    format!("Restore {what}: remove {removed}")
}

/// Wait until the devices can be allocated again, and the workloads are ready.
struct Restored<'a> {
    live: &'a Live,
    source: Source,
    began: Instant,
    timeout: Duration,
    context: &'a Context,
}

impl Restored<'_> {
    /// Waits until nothing keeps the `devices` from being allocated; `taints` are those that were removed. Only taints
    /// of other rules are not waited for: those are not undone here.
    async fn until_allocatable(
        &self,
        mut view: ClusterView,
        taints: &[ProposedTaint],
        devices: &BTreeSet<DeviceId>,
    ) -> Result<(), Failure> {
        let mut progress = StatusLine::new(&self.context.printer);
        loop {
            view = Box::pin(view.again()).await?;
            let tainted = view.tainted_devices(taints);
            let nodes = read_nodes(&self.live.client, &self.live.served, &nodes_of(&tainted)).await;
            // The state of a node that cannot be read is unknown. The rules are removed already, so this is
            // no failure.
            let nodes = nodes.as_deref().ok();
            let released = release(&tainted, view.snapshot(), nodes);
            let left = left_to_allocate(kept_back(&released, devices), self.is_over())?;
            if left.is_empty() {
                return Ok(());
            }
            self.wait(&left, &mut progress).await;
        }
    }

    /// Waits until the workloads that had pods on the devices are ready as before the drain.
    async fn until_ready(&self, workloads: &RecordedWorkloads) -> Result<(), Failure> {
        if workloads.is_empty() {
            return Ok(());
        }
        let names = recorded_names(workloads);
        let mut progress = StatusLine::new(&self.context.printer);
        loop {
            let Live { client, served } = self.live;
            let nothing = Reading::nothing_of(self.source.clone());
            let read = read_named_workloads(client, served, nothing, &names).await;
            let reading = read.map_err(failed)?;
            let left = left_to_be_ready(not_ready(workloads, &reading), self.is_over())?;
            if left.is_empty() {
                self.context.printer.note(&ready_line(workloads, &reading));
                return Ok(());
            }
            self.wait(&left, &mut progress).await;
        }
    }

    /// Asked after the reading, so that the state is read once even if no time is left.
    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.timeout
    }

    /// Shows what is `left`, and waits until it is read again.
    async fn wait(&self, left: &[String], progress: &mut StatusLine<'_>) {
        let line = left.join("; ");
        progress.say(&line, &line);
        self.context.ledger.left(&line);
        tokio::time::sleep(INTERVAL).await;
    }
}
