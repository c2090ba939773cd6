//! `plan`: which devices or nodes hurt least if they are taken out of service.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::guards;
use super::flags::output::PageArgs;
use super::flags::source::SourceArgs;
use super::flags::words::one_of;
use super::profile::{CommandProfile, NamespaceFilter, PODS_OF_EVERY_NAMESPACE};
use super::work::cluster_view::{ClusterView, Disruption, ReadState};
use super::work::hypothesis::Hypothesis;
use super::work::present::present;
use crate::assess::plan::search_problem;
use crate::assess::{AvailabilityFloor, Guard};
use crate::cluster::{self, Detail, NodeDetail};
use crate::completion::Values;
use crate::decide::choice::{
    Choice, ChoiceBasis, DeviceArguments, Purpose, UnmatchedNames, collapsed, refuse_unmatched,
};
use crate::decide::identity::identities;
use crate::decide::plan::{
    PlanRequest, PlanSize, PlanSpace, Spread, devices_of, drain_command, no_set, plan_space,
    plan_units, refuse_unread, shared_hardware_last,
};
use crate::engine::set_search::search;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, Effect};
use crate::report::PlanReport;
use crate::report::plan::{PlanFindings, RequestedPlan, SpreadOver, UnitKind};

/// Find the devices or nodes that cost least to drain
///
/// Changes nothing. From the devices that you select by arguments and flags, chooses a set so that the eviction of its
/// pods costs least. --count sets the number of devices in the set, --nodes the number of whole nodes, and --per-pool
/// the number of devices of each pool. With --nodes, the set has all devices of the chosen nodes, including devices
/// that you did not select. The report shows whether it is proven that no set costs less. If not, the report shows a
/// lower bound: no set can cost less than this bound.
///
/// Pods are evaluated as if the devices had a NoExecute taint. Two sets are compared in these steps; the first
/// difference decides:
///
/// 1. A set whose evictions violate no PodDisruptionBudget costs less than a set that violates one.
///
/// 2. If both sets violate none, a set in which the grace periods of all evicted pods are at most 10s costs less than
///    a set with a longer grace period.
///
/// 3. Then these numbers are compared in this order, and the set with the lower number costs less: hazards with
///    severity danger, hazards with severity warning, hazards with severity notice, evicted pods, devices that these
///    pods claim, and evicted pods without a controller. `help hazards` explains the hazards; the hazard
///    no-replacement is not counted.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("size").required(true).args(["count", "nodes", "per_pool"]))]
pub(super) struct PlanArgs {
    /// Devices to choose from, and the taint they would get
    ///
    /// As in `preview`: DRIVER, DRIVER/POOL/DEVICE with `*` for any, UUID, serial number or PCI address.
    /// Without TAINT, assumes a taint that only wildcard tolerations (without a key) match. The plan assumes
    /// effect NoExecute.
    #[arg(value_name = "DEVICE|TAINT", add = Values::DevicesThenTaint)]
    targets: Vec<String>,

    /// Choose this many devices
    #[arg(long, value_name = "N", help_heading = "Plan")]
    count: Option<usize>,

    /// Choose this many nodes, each with all of its devices
    ///
    /// A node is considered if at least one of its devices is selected. All devices of a chosen node would be drained,
    /// including devices that are not selected, such as those of another driver.
    #[arg(long, value_name = "N", help_heading = "Plan")]
    nodes: Option<usize>,

    /// Choose this many devices of each pool
    #[arg(long, value_name = "N", help_heading = "Plan")]
    per_pool: Option<usize>,

    /// Keep devices available: 'devices.available>=4'
    ///
    /// LIMIT must be true after the devices of the plan are tainted. devices.available counts the available
    /// devices of all DeviceClasses that the selected devices belong to. A device is available if a claim without
    /// tolerations can get it: it has no taint with effect NoSchedule or NoExecute, and it is free or, if
    /// claims can share it, has capacity left. In 'devices.available>=20%', the percentage refers to
    /// all devices of these classes.
    #[arg(long, value_name = "LIMIT", help_heading = "Plan")]
    keep_available: Option<String>,

    /// Devices that must not be chosen; repeatable
    ///
    /// With --nodes, a node that has such a device is not chosen.
    #[arg(long, value_name = "DEVICE", help_heading = "Plan", add = Values::Devices)]
    exclude: Vec<String>,

    /// Spread evenly over zones or nodes: zone or node
    ///
    /// Spreads the chosen devices, or with --nodes the chosen nodes, as evenly as possible. The zone is the label
    /// topology.kubernetes.io/zone of the node. With `zone`, devices and nodes without a known zone are not chosen;
    /// with `node`, devices without a known node are not chosen. Cannot be combined with --per-pool; `node` cannot be
    /// combined with --nodes.
    #[arg(long, hide_possible_values = true, value_name = "OVER", value_parser = one_of(&Spread::ALL), help_heading = "Plan")]
    spread: Option<Spread>,

    #[command(flatten)]
    filters: DeviceFilterArgs,

    /// Exit with code 4 if this is true of the plan: 'pods.evicted>20'
    ///
    /// The exit code is also 4 if this may be true because the value is unknown. Repeatable; for the list of
    /// signals, such as pods.evicted: `help guards`.
    #[arg(long, value_name = "GUARD", help_heading = "Guards")]
    abort_if: Vec<String>,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: PageArgs,
}

const EXAMPLES: &str = "\
Examples:
  # The two devices of this driver that cost least to drain
  kubectl devicetaint plan gpu.example.com --count 2

  # Two nodes, spread over zones, so that at least 4 devices stay available
  kubectl devicetaint plan gpu.example.com --nodes 2 --spread zone \\
    --keep-available 'devices.available>=4'

  # One device of each pool except pool node-7, as a plan file
  kubectl devicetaint plan gpu.example.com --per-pool 1 \\
    --exclude 'gpu.example.com/node-7/*' -o json > plan.json";

/// The plan request, before anything was read from a cluster.
struct Question {
    request: PlanRequest,
    choice: Choice,
    excluded: Option<Choice>,
    guards: Vec<Guard>,
}

/// The chosen plan.
struct ChosenPlan {
    view: ClusterView<Disruption>,
    report: PlanReport,
    /// The command that drains the chosen units.
    drain: String,
}

impl PlanArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::reading(cluster::Purpose::Plan)
            .with_namespace(NamespaceFilter::Meaningless(PODS_OF_EVERY_NAMESPACE))
    }
}

pub(super) async fn run(args: PlanArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let question = args.question()?;
    let ChosenPlan {
        view,
        report,
        drain,
    } = chosen(&question, &args, context).await?;
    let wanted = args.output.wanted();
    // Saved files are no cluster to drain.
    let drain = view.live().map(|_| drain);
    let status = present(&report, &view.into_view_warnings(), wanted, context)?;
    if let Some(drain) = drain.filter(|_| wanted.format.is_for_people()) {
        context.printer.note(&format!("next: {drain}"));
    }
    Ok(status)
}

impl PlanArgs {
    /// The request; finds all errors that can be found without a cluster.
    fn question(&self) -> Result<Question, Failure> {
        let sizes = [
            self.count.map(PlanSize::Devices),
            self.nodes.map(PlanSize::Nodes),
            self.per_pool.map(PlanSize::PerPool),
        ];
        // clap requires exactly one of them.
        let size = sizes.into_iter().flatten().next();
        let size = size.ok_or_else(|| {
            Failure::usage("the size of the plan is missing: set --count, --nodes or --per-pool")
        })?;
        let keeps = self.keep_available.as_deref().map(|text| {
            text.parse::<AvailabilityFloor>().map_err(|error| {
                let hint = error.hint();
                Failure::usage(error).hint(hint)
            })
        });
        let request = PlanRequest {
            size,
            spread: self.spread,
            keeps: keeps.transpose()?,
        };
        request.check()?;
        let typed = DeviceArguments {
            arguments: self.targets.clone(),
            filters: self.filters.filters(),
            ..DeviceArguments::default()
        };
        Ok(Question {
            request,
            choice: Choice::parse(&typed, Purpose::Plan)?,
            excluded: self.excluded()?,
            guards: guards::parse(&self.abort_if)?,
        })
    }

    fn excluded(&self) -> Result<Option<Choice>, Failure> {
        if self.exclude.is_empty() {
            return Ok(None);
        }
        let typed = DeviceArguments {
            arguments: self.exclude.clone(),
            ..DeviceArguments::default()
        };
        let choice =
            Choice::parse(&typed, Purpose::Plan).map_err(|failure| failure.context("--exclude"))?;
        match &choice.taint {
            Some(taint) => Err(Failure::usage(format!(
                "--exclude {:?} is a taint, not a device",
                taint.to_string()
            ))),
            None => Ok(Some(choice)),
        }
    }
}

/// The choice with effect NoExecute, since a drain evicts the pods regardless of the given effect.
fn evicting(choice: &Choice) -> Choice {
    let mut choice = choice.clone();
    if let Some(taint) = &mut choice.taint {
        taint.effect = Effect::NoExecute;
    }
    choice
}

/// A choice of devices by name, with the taint of `choice`.
fn of_devices(devices: impl IntoIterator<Item = DeviceId>, choice: &Choice) -> Choice {
    let selectors = devices.into_iter().map(DeviceSelector::from);
    Choice {
        by: ChoiceBasis::Selectors(selectors.collect()),
        taint: choice.taint.clone(),
    }
}

/// Reads the required data, and computes the plan.
async fn chosen(
    question: &Question,
    args: &PlanArgs,
    context: &Context,
) -> Result<ChosenPlan, Failure> {
    let view = ClusterView::open_for_impact(&args.source.source(), context, Detail::Terms).await?;
    refuse_unread(&view.reading)?;
    let (view, space) = Box::pin(space(question, view, context)).await?;
    for note in &space.notes {
        context.printer.note(note);
    }
    let choice = evicting(&question.choice);
    let all = of_devices(devices_of(&space.units), &choice);
    let proposed = proposed(&all, &view)?;
    let view = view.with_pods_for(&proposed, &question.guards).await?;
    // Pods were read after the first check, and the cost of a set is counted from them.
    refuse_unread(&view.reading)?;
    let impact = view.impact(&proposed);
    let problem = search_problem(&space.units, space.limits.clone(), &impact, &view.basis());
    let result = search(&problem);
    let Some(best) = &result.best else {
        return Err(no_set(&question.request, &space, &result));
    };
    let findings = PlanFindings {
        units: &space.units,
        problem: &problem,
        result: &result,
        requested: requested(question, &space),
        allocatable: space.allocatable.as_ref().map(|found| found.devices.len()),
    };
    let nodes: BTreeMap<String, String> = impact
        .devices
        .iter()
        .filter_map(|device| Some((device.id.to_string(), device.node?.to_string())))
        .collect();
    let places = findings.in_order(best);
    let units = places.iter().filter_map(|place| space.units.get(*place));
    let devices = units.flat_map(|unit| unit.devices.clone());
    let named = of_devices(devices, &choice);
    // The plan file holds what identifies the hardware of each device, also where whole pools are assessed.
    let hardware = identities(&self::proposed(&named, &view)?, view.snapshot());
    let set = set(question, named, &view);
    let proposed = self::proposed(&set, &view)?;
    let assessed = view.report(&proposed, &question.guards);
    let assessed = assessed.with_identities(&hardware);
    let units = places.iter().filter_map(|place| space.units.get(*place));
    let drain = drain_command(question.request.size, units);
    let report = PlanReport::new(findings, best, assessed, &nodes);
    Ok(ChosenPlan {
        view,
        report,
        drain,
    })
}

/// The candidate units with the requested limits.
async fn space(
    question: &Question,
    view: ClusterView,
    context: &Context,
) -> Result<(ClusterView, PlanSpace), Failure> {
    let choice = evicting(&question.choice);
    let (mut view, candidates) = Box::pin(devices(&choice, view, context)).await?;
    let mut excluded = BTreeSet::new();
    if let Some(choice) = &question.excluded {
        let found;
        (view, found) = Box::pin(devices(choice, view, context)).await?;
        excluded = found;
    }
    if question.request.spread.is_some() || question.request.keeps.is_some() {
        view = view.with_places(NodeDetail::Metadata).await?;
    }
    // The warning about the taint is printed once, for the candidates.
    let warning = question.choice.warning();
    view.reading.warnings.extend(warning);
    let size = question.request.size;
    let units = plan_units(
        size,
        &candidates,
        &excluded,
        view.snapshot(),
        &view.semantics,
    )?;
    let units = shared_hardware_last(units, view.snapshot());
    let space = plan_space(&question.request, units, &view.device_basis())?;
    Ok((view, space))
}

/// The devices of a choice.
async fn devices(
    choice: &Choice,
    view: ClusterView,
    context: &Context,
) -> Result<(ClusterView, BTreeSet<DeviceId>), Failure> {
    let warnings = view.reading.warnings.clone();
    // Refused below: a device that does not exist yet cannot be chosen.
    let later = UnmatchedNames::Allowed;
    let Hypothesis {
        mut view, proposed, ..
    } = Hypothesis::new(view, choice, &[], later, context).await?;
    refuse_unmatched(&proposed, &view.reading, &view.semantics)?;
    view.reading.warnings = warnings;
    let devices = view.selected(&proposed).devices;
    Ok((view, devices))
}

/// The proposed taints of a choice of devices by name.
fn proposed(
    choice: &Choice,
    view: &ClusterView<impl ReadState>,
) -> Result<Vec<crate::engine::ProposedTaint>, Failure> {
    choice.proposed(&[], |name| view.rule(name), view.snapshot(), view.now)
}

/// The devices of the set as the assessment names them: nodes by their pools, if all devices of the
/// pools are in the set.
fn set(question: &Question, choice: Choice, view: &ClusterView<Disruption>) -> Choice {
    match (question.request.size, choice.by) {
        (PlanSize::Nodes(_), ChoiceBasis::Selectors(selectors)) => {
            let selectors = collapsed(selectors, &view.reading, &view.semantics);
            Choice {
                by: ChoiceBasis::Selectors(selectors),
                taint: choice.taint,
            }
        }
        (PlanSize::Devices(_) | PlanSize::Nodes(_) | PlanSize::PerPool(_), by) => Choice {
            by,
            taint: choice.taint,
        },
    }
}

/// The request, as reports show it.
fn requested(question: &Question, space: &PlanSpace) -> RequestedPlan {
    let request = &question.request;
    let (unit_kind, pool_unit_count) = match request.size {
        PlanSize::Devices(_) => (UnitKind::Device, None),
        PlanSize::Nodes(_) => (UnitKind::Node, None),
        PlanSize::PerPool(number) => (UnitKind::Device, Some(number)),
    };
    RequestedPlan {
        unit_kind,
        unit_count: space.limits.count,
        pool_unit_count,
        spread_over: request.spread.map(|spread| match spread {
            Spread::Zone => SpreadOver::Zone,
            Spread::Node => SpreadOver::Node,
        }),
        keep_available: request
            .keeps
            .as_ref()
            .map(|floor| floor.expression().to_owned()),
        candidate_unit_count: space.units.len(),
    }
}
