//! `plan`: the devices or nodes that cost least to drain.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::Source;
use super::work::present::{OutputArgs, present};
use crate::assess::plan::proposed_taints;
use crate::assess::{self, PlanUnit};
use crate::cluster::NodeDetail;
use crate::completion::Values;
use crate::decide::choice::{self, Choice, DeviceArguments, refuse_unmatched};
use crate::decide::drain::{IncludedClass, drain_replacements, leaving, pods_of, unplaced};
use crate::decide::plan::{PlanSize, drain_command, drain_taint, plan_units, refuse_unread};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceId;
use crate::report::PlanReport;

/// Find the devices or nodes that cost least to drain
///
/// Changes nothing. Chooses from the devices that arguments and flags select: --count single devices, or --nodes whole
/// nodes, with all of their devices. The last line is the command that drains the chosen ones.
///
/// These numbers are compared in this order, and the first difference decides: violated PodDisruptionBudgets, hazards
/// of severity danger, hazards of severity warning, evicted pods, and devices that are not free after the drain.
/// `help hazards` explains the hazards; no-replacement and sibling-in-use are shown, but not compared. A cost that is
/// unknown is higher than any known cost. Pods that tolerate the taint of a drain (devicetaint.dev/drain) stay.
///
/// The choice is made unit by unit, and each choice is checked once more at the end. In rare cases, another set
/// costs less.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("size").required(true).args(["count", "nodes"]))]
pub(super) struct PlanArgs {
    /// Devices to choose from: DRIVER, DRIVER/POOL/DEVICE or hardware ID
    ///
    /// `*` as driver, pool or device matches any.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    devices: Vec<String>,

    /// Choose this many devices
    #[arg(long, value_name = "N", help_heading = "Plan")]
    count: Option<NonZeroUsize>,

    /// Choose this many nodes, each with all of its devices
    ///
    /// A node is considered if at least one of its devices is selected. All devices of a chosen node would be drained,
    /// including devices that are not selected, such as those of another driver.
    #[arg(long, value_name = "N", help_heading = "Plan")]
    nodes: Option<NonZeroUsize>,

    /// Devices that must not be chosen; repeatable
    ///
    /// With --nodes, a node that has such a device is not chosen.
    #[arg(long, value_name = "DEVICE", help_heading = "Plan", add = Values::Devices)]
    exclude: Vec<String>,

    /// Omit the header line, and the command
    #[arg(long, help_heading = "Output")]
    no_headers: bool,

    #[command(flatten)]
    filters: DeviceArguments,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # The two devices of this driver that cost least to drain
  kubectl devicetaint plan gpu.example.com --count 2

  # Two nodes, neither of which is node-7
  kubectl devicetaint plan gpu.example.com --nodes 2 --exclude 'gpu.example.com/node-7/*'

  # Drain the devices of a plan
  kubectl devicetaint drain $(kubectl devicetaint plan gpu.example.com --count 2 -o name)";

impl PlanArgs {
    /// The number of devices or nodes; clap requires exactly one of them.
    fn size(&self) -> Result<PlanSize, Failure> {
        let devices = self.count.map(|number| PlanSize::Devices(number.get()));
        let nodes = self.nodes.map(|number| PlanSize::Nodes(number.get()));
        let missing = || Failure::usage("the size of the plan is missing: set --count or --nodes");
        devices.or(nodes).ok_or_else(missing)
    }

    /// The devices that must not be chosen.
    fn excluded(&self) -> Result<Option<Choice>, Failure> {
        if self.exclude.is_empty() {
            return Ok(None);
        }
        let excluded = parse(&DeviceArguments::default().with(&self.exclude));
        let excluded = excluded.map_err(|failure| failure.context("--exclude"))?;
        Ok(Some(excluded))
    }
}

pub(super) async fn run(args: PlanArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let size = args.size()?;
    let choice = parse(&args.filters.with(&args.devices))?;
    let excluded = args.excluded()?;
    let view = ClusterView::open_for_impact(&args.source, context, &choice).await?;
    refuse_unread(&view.reading)?;
    let (mut view, candidates) = Box::pin(devices(view, &choice, context)).await?;
    let mut without = BTreeSet::new();
    if let Some(excluded) = &excluded {
        (view, without) = Box::pin(devices(view, excluded, context)).await?;
    }
    let (snapshot, semantics) = (view.snapshot(), &view.semantics);
    let units = plan_units(size, &candidates, &without, snapshot, semantics)?;
    let taint = drain_taint();
    let proposed = proposed_taints(&units, &taint, view.now);
    let view = view.with_pods_for(&proposed, &[]).await?;
    // Pods were read after the first check, and costs are counted from them.
    refuse_unread(&view.reading)?;
    let basis = view.basis();
    let plan = assess::plan::plan(&units, size.number(), &taint, &basis);
    let chosen = |unit: &&PlanUnit| {
        let mut planned = plan.planned_units.iter();
        planned.any(|planned| planned.unit == unit.name)
    };
    let proposed = proposed_taints(units.iter().filter(chosen), &taint, view.now);
    let mut planned = plan.planned_units.iter();
    let view = match planned.any(|unit| unit.evicted_pod_count > 0) {
        true => view.with_places(NodeDetail::Whole).await?,
        false => view,
    };
    let impact = view.impact(&proposed);
    let pods = pods_of(&impact, &view.basis());
    let leaving = leaving(&impact, &pods, &IncludedClass::ALL_RECREATED);
    let replacements = drain_replacements(&leaving, &proposed, false, &view.basis());
    let drain = drain_command(size, &plan, &pods, &unplaced(&replacements));
    let report = PlanReport::new(plan, drain, &view.basis());
    let page = args.output.page(args.no_headers);
    present(&report, &view.into_view_warnings(), page, context)
}

/// Understands arguments that name devices, and no taint: plans are made for the taint of a drain.
fn parse(typed: &DeviceArguments) -> Result<Choice, Failure> {
    Ok(Choice {
        taint: Some(drain_taint()),
        ..Choice::parse(typed, choice::Purpose::Choose)?
    })
}

/// The devices of a choice that exist.
async fn devices(
    view: ClusterView,
    choice: &Choice,
    context: &Context,
) -> Result<(ClusterView, BTreeSet<DeviceId>), Failure> {
    let (view, proposed) = view.proposed(choice, &[], context).await?;
    refuse_unmatched(&proposed, &view.reading, &view.semantics)?;
    let devices = view.selected(&proposed).devices;
    Ok((view, devices))
}
