//! `drain`: evicts pods from devices, unit by unit; `drain status`: the units of drains and their stages.

use std::collections::BTreeSet;

use clap::Subcommand;
use tokio::time::Instant;

use super::context::Context;
use super::work::changer::{
    Changer, Recorder, RehearsalArgs, ReportArgs, recorder, reported, stopped,
};
use super::work::cluster_view::ClusterView;
use super::work::connect::{connect, failed, refuse_missing, try_evictions};
use super::work::drain::{UnitDrain, object_version};
use super::work::mutation_context::MutationContext;
use super::work::pipeline::{Pipeline, read_limits};
use super::work::present::{OutputArgs, present};
use crate::assess::DeviceBasis;
use crate::cluster::{
    AccessQuery, Detail, NodeDetail, Permission, Purpose, WriteAnswer, WriteMode, restart,
};
use crate::completion::Values;
use crate::decide::approval::SafetyLimits;
use crate::decide::change_log::DryRun;
use crate::decide::choice::{self, Choice, ChoiceBasis, DeviceArguments, refuse_unmatched};
use crate::decide::drain::{
    CheckedDrain, DrainOptions, PreparedDrain, UnitResult, as_evicting, drain_status, drain_units,
    no_such_drain, selectors_as_evicting, unit_statuses,
};
use crate::decide::{Existing, Terms};
use crate::engine;
use crate::error::{ExitStatus, Failure};
use crate::model::{Affects, DeviceId, DeviceTaintRule, Kind};
use crate::naming::Subject;
use crate::report::DrainList;
use crate::report::metadata::{Incomplete, Metadata};

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
    safety: SafetyLimits,
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
        Some(ViewedCluster::Status(args)) => status(args, context).await,
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
        let (nodes, targets) = self.nodes_and_devices();
        let choices = self.choices(&nodes, &targets)?;
        let safety = read_limits(&self.safety)?;
        let mutation = MutationContext::open(&self.change.source()?, context).await?;
        let devices = Box::pin(devices(choices, &targets, mutation, context));
        let (mutation, devices) = devices.await?;
        let (view, options) = (&mutation.view, &self.options);
        let basis = view.device_basis();
        let prepared = PreparedDrain::new(&devices, &nodes, options, view.rules()?, &basis)?;
        let checked = Box::pin(self.check(&prepared, &mutation)).await?;
        let proposal = prepared.proposal(&checked, &options.limits);
        let mut changer = Changer::new(mutation.writable_rules(), recorder);
        let pipeline = Pipeline {
            mutation: &mutation,
            safety: &safety,
            context,
        };
        let units = UnitDrain {
            prepared: &prepared,
            limits: &options.limits,
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

    /// The nodes of `--node` and `node/NAME`, and the other targets.
    fn nodes_and_devices(&self) -> (BTreeSet<String>, Vec<String>) {
        let (named, targets) = match Subject::nodes(&self.targets) {
            Some(nodes) => (nodes, Vec::new()),
            None => (Vec::new(), self.targets.clone()),
        };
        let nodes = named.into_iter().chain(self.nodes.iter().cloned());
        (nodes.collect(), targets)
    }

    /// The selected devices: one choice for each node, or one for all devices.
    fn choices(
        &self,
        nodes: &BTreeSet<String>,
        targets: &[String],
    ) -> Result<Vec<Choice>, Failure> {
        let parse = |node: Option<&String>| {
            let arguments = DeviceArguments {
                node: node.cloned(),
                with_partitions: self.options.with_partitions,
                arguments: targets.to_vec(),
                ..DeviceArguments::default()
            };
            Choice::parse(&arguments, choice::Purpose::Choose)
        };
        if nodes.is_empty() {
            return Ok(vec![parse(None)?]);
        }
        nodes.iter().map(|node| parse(Some(node))).collect()
    }

    /// Refuses a drain that cannot succeed, or that the user may not carry out, before anything is tainted.
    async fn check(
        &self,
        prepared: &PreparedDrain,
        mutation: &MutationContext,
    ) -> Result<CheckedDrain, Failure> {
        // A dry run by this plugin sends nothing that could change anything.
        let is_sent = self.change.dry_run() != DryRun::Client;
        if is_sent {
            refuse_missing_permissions(mutation).await?;
        }
        let proposed = prepared.as_evicting(mutation.view.now);
        let view = mutation.view.clone();
        let view = Box::pin(view.with_pods_for(&proposed, &[])).await?;
        // Also whether nodes are cordoned.
        let view = view.with_places(NodeDetail::Whole).await?;
        let checked = prepared.check(&self.options.limits, &view.basis())?;
        if is_sent {
            check_evictions(&checked, mutation).await?;
        }
        Ok(checked)
    }
}

/// The devices of the choices; `targets` were typed for them.
async fn devices(
    choices: Vec<Choice>,
    targets: &[String],
    mutation: MutationContext,
    context: &Context,
) -> Result<(MutationContext, BTreeSet<DeviceId>), Failure> {
    let mut mutation = mutation;
    let mut devices = BTreeSet::new();
    for choice in choices {
        let (now, choice) = Box::pin(mutation.resolved(&choice, context)).await?;
        mutation = now;
        let view = &mutation.view;
        let ChoiceBasis::Selectors(selectors) = choice.by else {
            continue;
        };
        let proposed = selectors_as_evicting(selectors, "", view.now);
        refuse_unmatched(&proposed, &view.reading, &view.semantics)
            .map_err(|failure| with_node_hints(failure, targets, view.device_basis()))?;
        devices.extend(view.selected(&proposed).devices);
    }
    Ok((mutation, devices))
}

/// The failure with the flags for targets that are names of nodes.
fn with_node_hints(failure: Failure, targets: &[String], basis: DeviceBasis<'_>) -> Failure {
    let inventory = engine::devices(&basis.reading.snapshot, basis.semantics);
    let nodes: BTreeSet<&str> = inventory
        .iter()
        .filter_map(|state| Some(state.node?.as_str()))
        .collect();
    let named = targets.iter().filter(|it| nodes.contains(it.as_str()));
    named.fold(failure, |failure, node| {
        failure.hint(format!("to drain node {node}: --node {node}"))
    })
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

/// Asks for the permissions to change rules, and to list pods: without the list, replacements are not found.
async fn refuse_missing_permissions(mutation: &MutationContext) -> Result<(), Failure> {
    // `get` for a response that is lost.
    let rules = ["create", "get", "patch"].map(|verb| Permission::new(verb, Kind::DeviceTaintRule));
    let permissions = rules
        .into_iter()
        .chain([Permission::new("list", Kind::Pod)]);
    let queries = permissions.map(|permission| AccessQuery {
        permission,
        namespace: None,
    });
    refuse_missing(queries, Purpose::Drain, &mutation.live()?.client).await
}

/// Tries an eviction in each namespace, and the restart of each Deployment, by requests that are not carried out.
async fn check_evictions(
    checked: &CheckedDrain,
    mutation: &MutationContext,
) -> Result<(), Failure> {
    let client = &mutation.live()?.client;
    let unchanged = |failure: Failure| failure.detail("nothing was changed");
    let pods = checked.leaving.iter();
    try_evictions(pods.map(|pod| (&pod.name, &pod.uid)), client).await?;
    for (uid, state) in &checked.restarts {
        let on = object_version(uid, state);
        let at = mutation.view.now;
        let tried = restart(client, &state.owner, &on, at, WriteMode::DryRun).await;
        match tried.map_err(|error| unchanged(failed(error)))? {
            WriteAnswer::Accepted | WriteAnswer::Outdated => {}
            WriteAnswer::Refused(message) => {
                let owner = state.describe();
                let text = format!("{owner} cannot be restarted: {message}");
                return Err(unchanged(Failure::refused(text)));
            }
            WriteAnswer::Unknown(error) => return Err(unchanged(failed(error))),
        }
    }
    Ok(())
}

/// Show the units of drains, and the pods on their devices
///
/// A unit is a device, node or pool. The column STAGE shows how far its drain is:
///
/// `waiting`: an earlier unit of the drain is not done yet. New pods are kept off the devices.
///
/// `draining`: pods have to leave the devices. If no `drain` command is running, run the same command again.
///
/// `idle`: no claim holds the devices. Claims with admin access are ignored.
///
/// `held`: only claims hold the devices that the drain does not release, such as those of DaemonSets.
///
/// Force-deleted pods are not known here, although their devices may still be in use: run `podresources check` on the
/// node.
#[derive(clap::Args, Debug)]
pub(super) struct StatusArgs {
    /// Names of drains; default: all
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn status(args: StatusArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
    let mut units = drain_units(view.rules()?);
    for name in &args.names {
        if !units.iter().any(|unit| unit.drain == *name) {
            return Err(no_such_drain(name, &units));
        }
    }
    units.retain(|unit| args.names.is_empty() || args.names.contains(&unit.drain));
    let rules: Vec<DeviceTaintRule> = units.iter().flat_map(|unit| unit.rules.clone()).collect();
    let proposed = as_evicting(&rules, view.now);
    let view = Box::pin(view.with_pods_of(&proposed)).await?;
    let basis = view.basis();
    let gaps = view.reading.gaps.iter().map(|gap| Incomplete {
        missing: gap.what.clone(),
        message: gap.why.clone(),
        affects: Affects::Details,
    });
    let statuses = unit_statuses(&units, &basis);
    let list = DrainList::new(statuses, Metadata::new(&basis), gaps.collect());
    present(&list, view.view_warnings(), args.output.output, context)
}
