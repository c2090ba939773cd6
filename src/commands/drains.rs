//! `drain status`: every drain, its units, and what holds their devices.

use super::context::Context;
use super::flags::output::PageArgs;
use super::work::cluster_view::ClusterView;
use super::work::connect::connect;
use super::work::mutation_context::MutationContext;
use super::work::present::present;
use crate::cluster::Detail;
use crate::decide::drain::{DrainState, PublishedHardware, drains};
use crate::error::{ExitStatus, Failure};
use crate::model::Gap;
use crate::render::{Format, Page, render};
use crate::report::DrainList;
use crate::report::drain_state::reported;
use crate::report::metadata::{Affects, Incomplete, Metadata};

/// Show how far each drain is, and what still holds its devices
///
/// A drain consists of units: devices, nodes or pools that are drained one after the other. The column STAGE shows
/// how far the drain of a unit is:
///
/// `waiting`: the drain of the unit has not begun. New pods are blocked.
///
/// `draining`: the drain of the unit has begun, and has not ended. If no `drain` command is running, the drain was
/// interrupted: run the same command again.
///
/// `idle`: the drain of the unit is complete, and no claim holds its devices.
///
/// `held`: the drain of the unit is complete, but when it ended, pods that the drain does not evict, such as
/// those of DaemonSets or with adminAccess: true, still used devices of the unit. Or the unit was `idle`, and a claim
/// now holds its hardware again.
///
/// `blocked`: the drain of the unit has ended without success, for example because pods could not be evicted, or
/// workloads did not become ready again. A unit is also `blocked` if its node has devices that the drain selects but
/// has not tainted. To continue, run the same `drain` command again.
///
/// `reversed`: a rule of the unit was removed, or no longer blocks new pods, or the value of its taint was changed.
/// For example, `restore` or another user did this.
#[derive(clap::Args, Debug)]
pub(super) struct StatusArgs {
    /// Names of drains; default: all
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    output: PageArgs,
}

pub(super) async fn status(args: StatusArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
    let mut found = drains(view.rules()?);
    for name in &args.names {
        if !found.iter().any(|drain| drain.name == *name) {
            let names: Vec<&str> = found.iter().map(|drain| drain.name.as_str()).collect();
            let failure = Failure::new(ExitStatus::Failed, format!("no drain {name:?}"));
            return Err(match names.as_slice() {
                [] => failure.detail("there are no drains"),
                names => failure.hint(format!("name one of the drains: {}", names.join(", "))),
            });
        }
    }
    if !args.names.is_empty() {
        found.retain(|drain| args.names.contains(&drain.name));
    }
    present(
        &list(&found, &view),
        view.view_warnings(),
        args.output.wanted(),
        context,
    )
}

/// Prints the units of a drain and their stages, as JSON or YAML.
pub(super) async fn print(
    name: &str,
    mutation: &MutationContext,
    format: Format,
    context: &Context,
) -> Result<(), Failure> {
    let view = mutation.view.again().await?;
    let mut found = drains(view.rules()?);
    found.retain(|drain| drain.name == name);
    let page = Page {
        format,
        width: None,
        height: None,
    };
    context.accounted();
    Ok(context.printer.emit(&render(&list(&found, &view), page)?)?)
}

fn list(found: &[DrainState], view: &ClusterView) -> DrainList {
    let basis = view.device_basis();
    let published = PublishedHardware::of(&basis);
    let drains = found
        .iter()
        .map(|drain| reported(drain, &published, &basis));
    let gaps = view.reading.gaps.iter().map(|gap: &Gap| Incomplete {
        missing: gap.what.clone(),
        message: gap.why.clone(),
        affects: Affects::Details,
    });
    DrainList::new(drains.collect(), Metadata::new(&basis), gaps.collect())
}
