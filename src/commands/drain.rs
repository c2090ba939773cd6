//! `drain`: evicts pods from devices, unit by unit.

use clap::Subcommand;
use tokio::time::Instant;

use super::context::Context;
use super::drains::{self, StatusArgs};
use super::flags::change::{RehearsalArgs, ReportArgs, SafetyArgs};
use super::work::changer::{Changer, Recorder, recorder, reported, stopped};
use super::work::drain::{DrainRequest, PreparedDrain, UnitDrain};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::Pipeline;
use crate::cluster::Purpose;
use crate::completion::Values;
use crate::decide::drain::{DrainOptions, UnitResult, drain_status};
use crate::decide::{Existing, Terms};
use crate::error::{ExitStatus, Failure};
use crate::naming::Subject;

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

    #[command(flatten)]
    options: DrainOptions,

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
            let format = args.report.output;
            let recorder = recorder(args.change.dry_run(), format, context);
            reported(Box::pin(args.begin(recorder, context)), format, context).await
        }
    }
}

impl DrainArgs {
    async fn begin(
        &self,
        recorder: Recorder<'_>,
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let request = self.request();
        let choices = request.choices()?;
        let safety = self.safety.prepare()?;
        let mutation = MutationContext::open(&self.change.source()?, context).await?;
        let (mutation, devices) = Box::pin(request.devices(choices, mutation, context)).await?;
        let view = &mutation.view;
        let prepared = request.prepare(&devices, view.rules()?, &view.device_basis())?;
        let checked = Box::pin(request.check(&prepared, &mutation)).await?;
        let proposal = request.proposal(&prepared, &checked);
        let mut changer = Changer::new(mutation.writable_rules(), recorder);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            context,
        };
        let units = UnitDrain {
            prepared: &prepared,
            limits: &self.options.limits,
            mutation: &mutation,
            context,
            began: Instant::now(),
        };
        let mut results: Vec<UnitResult> = Vec::new();
        let apply = async |changer: &Changer<'_>| {
            taint(&prepared, &mutation, changer).await?;
            if changer.dry_run().is_real() {
                results = Box::pin(units.drain(changer)).await?;
            }
            Ok(())
        };
        let done = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        mutation.view.tell(&context.printer);
        done.and_then(|()| drain_status(&results))
    }

    /// The flags as a request.
    fn request(&self) -> DrainRequest<'_> {
        let (mut nodes, targets) = match Subject::nodes(&self.targets) {
            Some(nodes) => (nodes, Vec::new()),
            None => (Vec::new(), self.targets.clone()),
        };
        nodes.extend(self.nodes.iter().cloned());
        DrainRequest {
            targets,
            nodes,
            options: &self.options,
            dry_run: self.change.dry_run(),
        }
    }
}

/// Taints all units, before the first pod is evicted.
async fn taint(
    prepared: &PreparedDrain,
    mutation: &MutationContext,
    changer: &Changer<'_>,
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
