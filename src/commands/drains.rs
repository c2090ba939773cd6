//! `drain status`: every drain, its units, and what holds their devices.

use super::context::Context;
use super::flags::output::PageArgs;
use super::flags::source::VersionArgs;
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
/// The column STAGE shows how far a unit is:
///
/// `waiting`: no run has begun to drain the unit.
///
/// `draining`: a run has begun to drain the unit, but has not reached one of the following stages.
///
/// `idle`: the unit is done, and no claim holds its devices.
///
/// `held`: at the end of the unit's drain, pods of DaemonSets or pods with adminAccess: true still held its devices.
/// Or the unit was `idle`, and a claim now holds its hardware again.
///
/// `blocked`: the unit is not done, for example because pods could not be evicted, workloads are not ready again, or
/// the drain does not taint all devices of the node.
///
/// `reversed`: a rule of the unit was removed or no longer blocks new pods, for example because of `restore`, another
/// user, or --on-abort deescalate.
#[derive(clap::Args, Debug)]
pub(super) struct StatusArgs {
    /// Names of drains; default: all
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    output: PageArgs,

    #[command(flatten)]
    version: VersionArgs,
}

pub(super) async fn status(args: StatusArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let live = connect(context).await?;
    let view = Box::pin(ClusterView::of(
        live,
        args.version.version(),
        Detail::Attributes,
    ))
    .await?;
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
