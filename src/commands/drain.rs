//! `drain`: evicts pods from devices, unit by unit.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::context::Context;
use super::drains::{self, StatusArgs};
use super::flags::change::ChangeArgs;
use super::flags::safety::SafetyArgs;
use super::profile::CommandProfile;
use super::work::changer::{Changer, Lines};
use super::work::drain::{DrainOrder, DrainRequest};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{ApprovalBasis, ImpactBasis, Pipeline};
use crate::cluster::Purpose;
use crate::completion::Values;
use crate::decide::drain::{DrainEnd, Inclusions, UnitKind, UnitLimits};
use crate::error::{ExitStatus, Failure};
use crate::naming::duration::parse_duration;
use crate::render::Format;

/// Drain devices or nodes one by one, within PodDisruptionBudgets
///
/// Taints all devices of the drain with devicetaint.dev/drain=NAME:NoSchedule, where NAME is the drain's name, so that no
/// replacement pod gets a device that is drained later.
/// Then drains one unit (a device, node or pool) after the other. Pods are evicted through the Eviction API, which respects
/// PodDisruptionBudgets. After each eviction, the workload's next pod is evicted only when the replacement is ready.
///
/// A unit is done when the workloads of its pods are ready again, and its stage is `idle` (no claim holds its
/// devices) or `held` (only pods that the drain does not remove still hold its devices). The drain does not remove
/// pods of DaemonSets, unless --include names them. Nor does it remove pods that use devices only with admin
/// access (adminAccess: true in their claims), such as monitors. Effect NoExecute (--force) can evict both
/// kinds of pods.
///
/// The drain is refused if --include does not name the class of a pod: pods of Jobs or of single-replica
/// StatefulSets, and pods that no known workload recreates. A pod that a controller recreates is allocated other devices,
/// or stays pending if there are none.
/// Without --accept-unplaceable, the drain begins only if other devices are available for the claims of all pods that
/// are recreated.
///
/// If all units are done, the exit code is 0. If a unit is not done within --timeout, the command names what remains
/// and exits with code 5; the taints stay. To continue the drain, run the same command again, also from another
/// machine. To undo the drain: `restore`. The subcommand `drain status` shows drains.
#[derive(clap::Args, Debug)]
#[command(subcommand_value_name = "SUBCOMMAND", after_help = EXAMPLES, mut_arg("abort_if", |arg| arg.long_help("Refuse if this is true, such as \
    'pods.evicted>20'\n\nEvaluated first for all pods of the drain: if true, the drain is refused. Evaluated again before \
    each unit, for the pods of this unit: if true, no further unit is drained, and the exit code is 5. A guard that \
    may be true, because its value is unknown, counts as true. Repeatable; for the list of signals, such as pods.evicted: \
    `help guards`.")))]
pub(super) struct DrainArgs {
    #[command(subcommand)]
    view: Option<ViewedCluster>,

    /// DRIVER/POOL/DEVICE, UUID, serial number or PCI address
    ///
    /// `*` as driver, pool or device matches any.
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

    /// Also select devices that use the same counter sets, such as the partitions of a GPU
    ///
    /// That is, devices that consume counters of the same counter set as a selected device, according to their
    /// ResourceSlices.
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Unit of the drain: device, node or pool
    ///
    /// Default: node with --node, else device. Selected devices that share hardware are one unit. Pools that
    /// share hardware are one unit, too.
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "UNIT",
        help_heading = "Drain"
    )]
    unit: Option<UnitArg>,

    /// Restart Deployments that start new pods before old ones stop, instead of evicting their pods
    ///
    /// That is, Deployments with maxSurge above 0 that have pods on the devices. A restart replaces all pods of the
    /// Deployment, also those on other devices, and does not respect budgets. Pods that are left are evicted.
    #[arg(long, help_heading = "Drain")]
    restart: bool,

    /// Evict remaining pods by NoExecute, ignoring budgets
    ///
    /// NoExecute is set after --grace, and evicts the pods that the Eviction API has not evicted by then.
    #[arg(long, help_heading = "Drain")]
    force: bool,

    /// With --force, how long evictions are tried before NoExecute is set, such as 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Drain", hide_short_help = true)]
    grace: Duration,

    /// How long a unit may take, such as 30m
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = parse_duration, help_heading = "Drain")]
    timeout: Duration,

    /// Classes of pods to evict, too: daemonsets, singletons, jobs, unmanaged; repeatable
    ///
    /// `singletons` are pods of single-replica StatefulSets. Pods of `jobs` are evicted although a Job may fail. No known
    /// workload recreates `unmanaged` pods.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        value_name = "CLASS",
        help_heading = "Pods"
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
    change: ChangeArgs,

    /// Output format: json or yaml
    ///
    /// Prints a DrainList at the end: the units of the drain with their stages.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml"], help_heading = "Output")]
    output: Option<String>,

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
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(match self.view {
            Some(ViewedCluster::Status(_)) => Purpose::DrainStatus,
            None => Purpose::Drain,
        })
    }
}

pub(super) async fn run(args: DrainArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let is_draining = !args.targets.is_empty() || !args.nodes.is_empty();
    match args.view {
        Some(_) if is_draining => Err(Failure::usage(
            "`drain status` only shows drains: omit devices and --node",
        )),
        Some(ViewedCluster::Status(args)) => drains::status(args, context).await,
        None => args.begin(context).await,
    }
}

impl DrainArgs {
    async fn begin(self, context: &Context) -> Result<ExitStatus, Failure> {
        let format = self
            .output
            .as_deref()
            .map(str::parse::<Format>)
            .transpose()?;
        let lines = match format {
            Some(_) => Lines::Left,
            None => Lines::Printed,
        };
        if self.targets.is_empty() && self.nodes.is_empty() {
            return Err(
                Failure::usage("no devices selected").hint("specify devices, or add --node NODE")
            );
        }
        let request = self.request()?;
        let choices = request.choices()?;
        let safety = self.safety.prepare()?;
        let change = self.change.change();
        let mutation = MutationContext::open(context).await?;
        let mutation = mutation.with_attributes().await?;
        let hints = request.node_hints(&mutation.view);
        let found = Box::pin(request.devices(choices, mutation, context)).await;
        let (mutation, devices) =
            found.map_err(|failure| hints.into_iter().fold(failure, Failure::hint))?;
        let view = &mutation.view;
        let prepared = request.prepare(&devices, view.rules()?, &view.device_basis())?;
        for (unit, why) in &prepared.skipped {
            context
                .printer
                .warn(&format!("unit {unit} is skipped: {why}"));
        }
        if prepared.runs.is_empty() {
            context.printer.note(&format!(
                "drain {}: no device, node or pool is left to drain",
                prepared.terms.name
            ));
            let skipped = DrainEnd {
                name: prepared.terms.name.clone(),
                skipped: prepared.skipped.clone(),
                ..DrainEnd::default()
            };
            let skipped = skipped.with_rules_among(mutation.view.rules()?);
            self.print(&prepared.terms.name, &mutation, format, context)
                .await?;
            return skipped.status();
        }
        let agreed = Box::pin(request.check(&prepared, &mutation)).await?;
        let proposal = request.proposal(&prepared, &agreed);
        let mut changer = Changer::new(&mutation.rules, change, context).with_lines(lines);
        let pipeline = Pipeline {
            basis: ApprovalBasis::Impact(ImpactBasis {
                mutation: &mutation,
                safety: &safety,
            }),
            dry_run: change.dry_run,
            context,
        };
        let order = DrainOrder {
            name: &prepared.terms.name,
            live: &mutation.live,
            semantics: mutation.view.semantics,
            limits: request.limits,
            restarts: agreed.restarts,
            units: prepared.count,
            skipped: prepared.skipped.clone(),
            leaves_partitions: agreed.leaves_partitions,
            workloads: agreed.workloads,
            context,
        };
        let mut ended = None;
        let apply = async |changer: &mut Changer<'_>| {
            request.taint(&prepared, &mutation, changer).await?;
            if change.dry_run.is_real() {
                let drained = order.drain(&prepared.runs, &mutation, &safety, changer);
                ended = Some(Box::pin(drained).await?);
            }
            Ok(())
        };
        let done = Box::pin(pipeline.run(&proposal, &mut changer, apply)).await;
        mutation.view.tell(&context.printer);
        let status = done.and_then(|()| {
            ended
                .as_ref()
                .map_or(Ok(ExitStatus::Success), DrainEnd::status)
        });
        // Printed after a failure, too: the report has the state in which the units were left.
        self.print(&prepared.terms.name, &mutation, format, context)
            .await?;
        status
    }

    /// The flags as a request.
    fn request(&self) -> Result<DrainRequest, Failure> {
        Ok(DrainRequest {
            targets: self.targets.clone(),
            nodes: self.nodes.clone(),
            with_partitions: self.with_partitions,
            kind: self.unit_kind(),
            name: self.name.clone(),
            reason: self.reason.clone(),
            limits: self.limits(),
            mode: self.change.change().mode(),
        })
    }

    fn unit_kind(&self) -> UnitKind {
        let default = if self.nodes.is_empty() {
            UnitKind::Device
        } else {
            UnitKind::Node
        };
        self.unit.map_or(default, UnitKind::from)
    }

    fn limits(&self) -> UnitLimits {
        UnitLimits {
            restarts: self.restart,
            included: Inclusions {
                single_replicas: self.include.contains(&IncludedClass::Singletons),
                jobs: self.include.contains(&IncludedClass::Jobs),
                unmanaged: self.include.contains(&IncludedClass::Unmanaged),
                daemon_sets: self.include.contains(&IncludedClass::Daemonsets),
            },
            force_after: self.force.then_some(self.grace),
            timeout: self.timeout,
            accepts_unplaceable: self.accept_unplaceable,
        }
    }

    /// Prints the units of the drain and their stages, if `-o` was given.
    async fn print(
        &self,
        name: &str,
        mutation: &MutationContext,
        format: Option<Format>,
        context: &Context,
    ) -> Result<(), Failure> {
        match format {
            Some(format) => drains::print(name, mutation, format, context).await,
            None => Ok(()),
        }
    }
}
