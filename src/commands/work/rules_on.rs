//! Rules that are meant by the hardware that they taint: what it takes to know which.

use super::cluster_view::ClusterView;
use super::connect::Live;
use super::resolve_rules::{selected_rules, time_of};
use crate::cluster::Detail;
use crate::commands::context::Context;
use crate::decide::{Chooser, RuleWords, RulesOnDevices, SelectedRules};
use crate::error::Failure;

/// Which rules are meant in what was looked at, with what it takes to know that: words that are no names of
/// rules may be numbers of hardware.
pub(crate) async fn chosen_in(
    typed: &RuleWords<'_>,
    view: ClusterView,
    context: &Context,
) -> Result<(ClusterView, Chooser), Failure> {
    let chooser = typed.chooser()?;
    if let Some(chooser) = chooser {
        let is_missing = |meant: SelectedRules| !meant.missing.is_empty();
        let rules = view.rules();
        let may_be_hardware = rules.is_ok_and(|rules| is_missing(chooser.select(rules, view.now)));
        if !may_be_hardware || typed.words().is_empty() {
            return Ok((view, chooser));
        }
    }
    // On the heap: it reads a list, and is part of what several commands do.
    let view = Box::pin(view.with_attributes(&[])).await?;
    let RulesOnDevices { chooser, notes } = typed.find(&view.reading, &view.semantics)?;
    for note in notes {
        context.printer.note(&note);
    }
    Ok((view, chooser))
}

/// The rules that are meant on a cluster that was not looked at: devices are read only where names do not
/// say which they are.
pub(crate) async fn meant_on(
    typed: &RuleWords<'_>,
    live: &Live,
    context: &Context,
) -> Result<(Chooser, SelectedRules), Failure> {
    let rules = live.rules()?;
    let mut by_name = None;
    if let Some(chooser) = typed.chooser()? {
        let now = time_of(&chooser, live)?;
        let found = selected_rules(&chooser, &rules, now, context).await?;
        if found.missing.is_empty() || typed.words().is_empty() {
            return Ok((chooser, found));
        }
        by_name = Some((chooser, found));
    }
    let view = Box::pin(ClusterView::of(live.clone(), Detail::Names)).await;
    let view = match (view, by_name) {
        (Ok(view), _) => view,
        // Names of rules are what they are, also to those who may not look at devices.
        (Err(failure), Some((chooser, found))) => {
            typed.refuse_unread(&found.rules, &failure)?;
            return Ok((chooser, found));
        }
        (Err(failure), None) => return Err(failure),
    };
    let (_, chooser) = Box::pin(chosen_in(typed, view, context)).await?;
    let now = time_of(&chooser, live)?;
    let found = selected_rules(&chooser, &rules, now, context).await?;
    Ok((chooser, found))
}
