//! `plan`: which devices or nodes hurt least if they are taken out of service.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::output::PageArgs;
use super::flags::source::SourceArgs;
use super::profile::{CommandProfile, NamespaceFilter, PODS_OF_EVERY_NAMESPACE};
use super::work::cluster_view::{ClusterView, Disruption, ReadState};
use super::work::hypothesis::Hypothesis;
use super::work::present::present;
use crate::assess::PlanUnit;
use crate::assess::plan::search_problem;
use crate::cluster::{self, Detail};
use crate::completion::Values;
use crate::decide::choice::{
    Choice, ChoiceBasis, DeviceArguments, Purpose, UnmatchedNames, collapsed, refuse_unmatched,
};
use crate::decide::drain::{needed_inclusions, pods_of};
use crate::decide::plan::{
    PlanSize, devices_of, drain_command, plan_units, refuse_unread, shared_hardware_last,
};
use crate::engine::set_search::search;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, Effect};
use crate::report::PlanReport;
use crate::report::plan::{PlanFindings, RequestedPlan, UnitKind};

/// Find the devices or nodes that cost least to drain
///
/// Changes nothing. From the devices that you select by arguments and flags, chooses a set so that the eviction of its
/// pods costs least. --count sets the number of devices in the set, --nodes the number of whole nodes. With --nodes,
/// the set has all devices of the chosen nodes, including devices that you did not select. The report shows whether it is proven that no set costs less. If not, the report shows a
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
#[command(group = clap::ArgGroup::new("size").required(true).args(["count", "nodes"]))]
pub(super) struct PlanArgs {
    /// Devices to choose from, and the taint they would get
    ///
    /// As in `preview`: DRIVER, DRIVER/POOL/DEVICE with `*` for any, UUID, serial number or PCI address.
    /// Without TAINT, assumes a taint that only wildcard tolerations (without a key) match. The plan assumes
    /// effect NoExecute, whatever effect TAINT has.
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

    /// Devices that must not be chosen; repeatable
    ///
    /// With --nodes, a node that has such a device is not chosen.
    #[arg(long, value_name = "DEVICE", help_heading = "Plan", add = Values::Devices)]
    exclude: Vec<String>,

    #[command(flatten)]
    filters: DeviceFilterArgs,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: PageArgs,
}

const EXAMPLES: &str = "\
Examples:
  # The two devices of this driver that cost least to drain
  kubectl devicetaint plan gpu.example.com --count 2

  # Two nodes, neither of which is node-7
  kubectl devicetaint plan gpu.example.com --nodes 2 --exclude 'gpu.example.com/node-7/*'

  # Drain the devices of a plan
  kubectl devicetaint drain $(kubectl devicetaint plan gpu.example.com --count 2 -o name)";

/// The plan request, before anything was read from a cluster.
struct Question {
    size: PlanSize,
    choice: Choice,
    excluded: Option<Choice>,
}

/// The chosen plan.
struct ChosenPlan {
    view: ClusterView<Disruption>,
    report: PlanReport,
    /// The command that drains the set.
    drain: String,
}

impl PlanArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(cluster::Purpose::Plan)
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
    let status = present(&report, &view.into_view_warnings(), wanted, context)?;
    if wanted.format.is_for_people() {
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
        ];
        // clap requires exactly one of them.
        let size = sizes.into_iter().flatten().next();
        let size = size.ok_or_else(|| {
            Failure::usage("the size of the plan is missing: set --count or --nodes")
        })?;
        size.check()?;
        let typed = DeviceArguments {
            arguments: self.targets.clone(),
            filters: self.filters.filters(),
            ..DeviceArguments::default()
        };
        Ok(Question {
            size,
            choice: Choice::parse(&typed, Purpose::Plan)?,
            excluded: self.excluded()?,
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
    let (view, units) = Box::pin(candidates(question, view, context)).await?;
    let choice = evicting(&question.choice);
    let all = of_devices(devices_of(&units), &choice);
    let proposed = proposed(&all, &view)?;
    let view = view.with_pods_for(&proposed, &[]).await?;
    // Pods were read after the first check, and the cost of a set is counted from them.
    refuse_unread(&view.reading)?;
    let impact = view.impact(&proposed);
    let problem = search_problem(&units, question.size.number(), &impact, &view.basis());
    let result = search(&problem);
    let Some(best) = &result.best else {
        return Err(Failure::refused(
            "found no set: the search ended before all sets were compared",
        ));
    };
    let findings = PlanFindings {
        units: &units,
        problem: &problem,
        result: &result,
        requested: requested(question, units.len()),
    };
    let nodes: BTreeMap<String, String> = impact
        .devices
        .iter()
        .filter_map(|device| Some((device.id.to_string(), device.node?.to_string())))
        .collect();
    let places = findings.in_order(best);
    let chosen: Vec<&PlanUnit> = places
        .iter()
        .filter_map(|place| units.get(*place))
        .collect();
    let devices = chosen.iter().flat_map(|unit| unit.devices.clone());
    let named = of_devices(devices, &choice);
    let set = set(question, named, &view);
    let proposed = self::proposed(&set, &view)?;
    let inclusions = needed_inclusions(&pods_of(&view.impact(&proposed), &view.basis()));
    let names: Vec<String> = chosen.iter().map(|unit| unit.name.clone()).collect();
    let drain = drain_command(question.size, &names, &inclusions);
    let assessed = view.report(&proposed, &[]);
    let report = PlanReport::new(findings, best, assessed, &nodes);
    Ok(ChosenPlan {
        view,
        report,
        drain,
    })
}

/// The candidate units.
async fn candidates(
    question: &Question,
    view: ClusterView,
    context: &Context,
) -> Result<(ClusterView, Vec<PlanUnit>), Failure> {
    let choice = evicting(&question.choice);
    let (mut view, candidates) = Box::pin(devices(&choice, view, context)).await?;
    let mut excluded = BTreeSet::new();
    if let Some(choice) = &question.excluded {
        let found;
        (view, found) = Box::pin(devices(choice, view, context)).await?;
        excluded = found;
    }
    // The warning about the taint is printed once, for the candidates.
    let warning = question.choice.warning();
    view.reading.warnings.extend(warning);
    let units = plan_units(
        question.size,
        &candidates,
        &excluded,
        view.snapshot(),
        &view.semantics,
    )?;
    let units = shared_hardware_last(units, view.snapshot());
    Ok((view, units))
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
    match (question.size, choice.by) {
        (PlanSize::Nodes(_), ChoiceBasis::Selectors(selectors)) => {
            let selectors = collapsed(selectors, &view.reading, &view.semantics);
            Choice {
                by: ChoiceBasis::Selectors(selectors),
                taint: choice.taint,
            }
        }
        (PlanSize::Devices(_) | PlanSize::Nodes(_), by) => Choice {
            by,
            taint: choice.taint,
        },
    }
}

/// The request, as reports show it.
fn requested(question: &Question, candidates: usize) -> RequestedPlan {
    RequestedPlan {
        unit_kind: match question.size {
            PlanSize::Devices(_) => UnitKind::Device,
            PlanSize::Nodes(_) => UnitKind::Node,
        },
        unit_count: question.size.number(),
        candidate_unit_count: candidates,
    }
}
