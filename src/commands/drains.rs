//! `drain status`: the units of drains, their stages and the pods on their devices.

use super::context::Context;
use super::work::cluster_view::ClusterView;
use super::work::connect::connect;
use super::work::present::{OutputArgs, present};
use crate::cluster::Detail;
use crate::decide::drain::{as_evicting, drain_units, no_such_drain, unit_statuses};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::report::DrainList;
use crate::report::metadata::{Affects, Incomplete, Metadata};

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
