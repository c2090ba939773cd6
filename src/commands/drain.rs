//! `drain`: evicts pods from devices, unit by unit.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use tokio::time::Instant;

use super::context::Context;
use super::drains::{self, StatusArgs};
use super::flags::change::{RehearsalArgs, ReportArgs, SafetyArgs};
use super::work::change_summary::accounted;
use super::work::changer::Changer;
use super::work::drain::{DrainRequest, PreparedDrain, UnitDrain};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{ApprovalBasis, ImpactBasis, Pipeline};
use super::work::stopped::stopped;
use crate::cluster::Purpose;
use crate::completion::Values;
use crate::decide::drain::{DrainLimits, Inclusions, UnitKind, UnitResult, drain_status};
use crate::decide::{Existing, Terms};
use crate::error::{ExitStatus, Failure};
use crate::naming::Subject;
use crate::naming::duration::parse_duration;
use crate::render::Format;

/// Drain devices or nodes one by one, within PodDisruptionBudgets
///
/// Taints all devices with devicetaint.dev/drain=NAME:NoSchedule, then drains one unit (a device, node or pool) after
/// the other through the Eviction API. A workload's next pod waits until as many of its pods are ready as before.
///
/// A unit is `idle` when no claim has held its devices for 5s; admin access is ignored. A unit is `held` if only pods hold
/// its devices that stay (pods of DaemonSets, and pods that tolerate the taint), or if a pod was force-deleted.
///
/// The drain is refused if --include does not name the class of a pod, or if devices may be missing for recreated pods
/// (--accept-unplaceable).
///
/// If a unit is held, or not idle within --timeout, the exit code is 5; the taints stay. To continue, run the same
/// command again; to undo the drain: `restore`.
#[derive(clap::Args, Debug)]
#[command(subcommand_value_name = "SUBCOMMAND", after_help = EXAMPLES)]
pub(super) struct DrainArgs {
    #[command(subcommand)]
    view: Option<ViewedCluster>,

    /// DRIVER/POOL/DEVICE or hardware ID (see `help selectors`)
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    targets: Vec<String>,

    /// All devices of this node; repeatable
    #[arg(
        long = "node",
        value_name = "NODE",
        value_delimiter = ',',
        help_heading = "Devices",
        add = Values::Nodes
    )]
    nodes: Vec<String>,

    /// Also select devices that share counters, such as partitions
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Unit: device, node or pool; default: node with --node, else device
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "UNIT",
        help_heading = "Drain"
    )]
    unit: Option<UnitArg>,

    /// Restart Deployments instead of evicting their pods
    ///
    /// Only Deployments with maxSurge above 0. A restart replaces all pods of the Deployment, also those on other devices,
    /// and does not respect budgets.
    #[arg(long, help_heading = "Drain")]
    restart: bool,

    /// Evict remaining pods by NoExecute, ignoring budgets
    #[arg(long, help_heading = "Drain")]
    force: bool,

    /// With --force, time before NoExecute is set, such as 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Drain", hide_short_help = true)]
    grace: Duration,

    /// How long a unit may take, such as 30m
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = parse_duration, help_heading = "Drain")]
    timeout: Duration,

    /// Also evict: daemonsets, singletons, jobs, unmanaged
    ///
    /// `singletons` are pods of single-replica StatefulSets. No known workload recreates `unmanaged` pods. Repeatable.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        value_name = "CLASS",
        help_heading = "Drain"
    )]
    include: Vec<IncludedClass>,

    /// Proceed even if replacements may stay pending without a device
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    accept_unplaceable: bool,

    /// Name of the drain; default: derived from nodes or devices
    #[arg(long, help_heading = "Drain", hide_short_help = true)]
    name: Option<String>,

    /// Why the devices are drained
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    reason: Option<String>,

    #[command(flatten)]
    change: RehearsalArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// Flags of `kubectl drain` that have no effect here: pods of DaemonSets and emptyDir volumes keep no unit from being
    /// drained.
    #[arg(long = "ignore-daemonsets", aliases = ["delete-emptydir-data", "delete-local-data"], hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    _of_kubectl: Vec<bool>,

    #[command(flatten)]
    safety: SafetyArgs,
}

/// Subcommands that change nothing.
#[derive(Debug, Subcommand)]
enum ViewedCluster {
    Status(StatusArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitArg {
    /// Each device by itself
    Device,
    /// All devices of a node
    Node,
    /// All devices of a pool
    Pool,
}

/// Classes of pods that are evicted only if they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IncludedClass {
    /// Pods of DaemonSets
    Daemonsets,
    /// Pods of single-replica StatefulSets
    Singletons,
    /// Pods of Jobs
    Jobs,
    /// Pods that no known workload recreates
    Unmanaged,
}

impl From<UnitArg> for UnitKind {
    fn from(typed: UnitArg) -> Self {
        match typed {
            UnitArg::Device => Self::Device,
            UnitArg::Node => Self::Node,
            UnitArg::Pool => Self::Pool,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  # Preview the drain of two nodes
  kubectl devicetaint drain --node node-7 --node node-8 --dry-run

  # Drain one node after the other, then restore the devices
  kubectl devicetaint drain --node node-7 --node node-8 --name firmware
  kubectl devicetaint restore firmware";

impl DrainArgs {
    /// Purpose of the connection.
    pub(super) fn purpose(&self) -> Purpose {
        match self.view {
            Some(ViewedCluster::Status(_)) => Purpose::DrainStatus,
            None => Purpose::Drain,
        }
    }
}

pub(super) async fn run(args: DrainArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let is_draining = !args.targets.is_empty() || !args.nodes.is_empty();
    match args.view {
        Some(_) if is_draining => Err(Failure::usage(
            "`drain status` only shows drains: omit devices and --node",
        )),
        Some(ViewedCluster::Status(args)) => drains::status(args, context).await,
        None if !is_draining => {
            Err(Failure::usage("no devices selected").hint("specify devices, or add --node NODE"))
        }
        None => {
            let (format, dry_run) = (args.report.format()?, args.change.change().dry_run);
            let work = Box::pin(args.begin(format, context));
            accounted(work, format, dry_run, context).await
        }
    }
}

impl DrainArgs {
    async fn begin(
        &self,
        format: Option<Format>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let request = self.request();
        let choices = request.choices()?;
        let safety = self.safety.prepare()?;
        let change = self.change.change();
        let mutation = MutationContext::open(&self.change.source()?, context).await?;
        let (mutation, devices) = Box::pin(request.devices(choices, mutation, context)).await?;
        let view = &mutation.view;
        let prepared = request.prepare(&devices, view.rules()?, &view.device_basis())?;
        let checked = Box::pin(request.check(&prepared, &mutation)).await?;
        let proposal = request.proposal(&prepared, &checked);
        let lines = self.report.lines();
        let mut changer =
            Changer::new(mutation.writable_rules(), change, context).with_lines(lines);
        let pipeline = Pipeline {
            basis: ApprovalBasis::Impact(ImpactBasis {
                mutation: &mutation,
                safety: &safety,
            }),
            dry_run: change.dry_run,
            context,
        };
        let units = UnitDrain {
            prepared: &prepared,
            limits: request.limits,
            mutation: &mutation,
            context,
            began: Instant::now(),
        };
        let mut results: Vec<UnitResult> = Vec::new();
        let apply = async |changer: &mut Changer<'_>| {
            taint(&prepared, &mutation, changer).await?;
            if change.dry_run.is_real() {
                results = Box::pin(units.drain(changer)).await?;
            }
            Ok(())
        };
        let done = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        let ended = done.and_then(|()| drain_status(&results));
        changer.present(format, &ended)?;
        mutation.view.tell(&context.printer);
        ended
    }

    /// The flags as a request.
    fn request(&self) -> DrainRequest {
        let (mut nodes, targets) = match Subject::nodes(&self.targets) {
            Some(nodes) => (nodes, Vec::new()),
            None => (Vec::new(), self.targets.clone()),
        };
        nodes.extend(self.nodes.iter().cloned());
        let default = match nodes.is_empty() {
            true => UnitKind::Device,
            false => UnitKind::Node,
        };
        DrainRequest {
            targets,
            nodes,
            with_partitions: self.with_partitions,
            kind: self.unit.map_or(default, UnitKind::from),
            name: self.name.clone(),
            reason: self.reason.clone(),
            limits: DrainLimits {
                restarts: self.restart,
                included: Inclusions {
                    singletons: self.include.contains(&IncludedClass::Singletons),
                    jobs: self.include.contains(&IncludedClass::Jobs),
                    unmanaged: self.include.contains(&IncludedClass::Unmanaged),
                    daemon_sets: self.include.contains(&IncludedClass::Daemonsets),
                },
                force_after: self.force.then_some(self.grace),
                timeout: self.timeout,
                accepts_unplaceable: self.accept_unplaceable,
            },
            mode: self.change.change().mode(),
        }
    }
}

/// Taints all units, before the first pod is evicted.
async fn taint(
    prepared: &PreparedDrain,
    mutation: &MutationContext,
    changer: &mut Changer<'_>,
) -> Result<(), Failure> {
    let terms = Terms {
        existing: Existing::Kept,
        semantics: &mutation.view.semantics,
        now: mutation.view.now,
    };
    for step in prepared.all_steps() {
        let made = changer.take(step, &terms).await;
        made.map_err(|failure| stopped(failure, changer.context()))?;
    }
    Ok(())
}
