//! Reads of selected rules, as far as the user may read them.

use jiff::Timestamp;

use super::cluster_view::ClusterView;
use super::connect::{Live, failed, server_time};
use crate::cluster::{ClusterError, Detail, Rules};
use crate::commands::context::Context;
use crate::decide::chooser::rules_named;
use crate::decide::{Chooser, RuleChoice, SelectedRules};
use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// Resolves the hardware IDs of the selection in `view`, with the attributes that this needs.
pub(crate) async fn resolved(
    choice: &RuleChoice,
    view: ClusterView,
) -> Result<(ClusterView, Chooser), Failure> {
    if let Some(chooser) = choice.without_hardware() {
        return Ok((view, chooser.clone()));
    }
    // On the heap: it reads a list, and is part of what several commands do.
    let view = Box::pin(view.with_attributes(&[])).await?;
    let chooser = choice.resolved(&view.reading, &view.semantics)?;
    Ok((view, chooser))
}

/// Reads the selected rules of a cluster of which nothing was read: devices are read only for hardware IDs.
pub(crate) async fn selected_on(
    choice: &RuleChoice,
    live: &Live,
    context: &Context,
) -> Result<(Chooser, SelectedRules), Failure> {
    let chooser = match choice.without_hardware() {
        Some(chooser) => chooser.clone(),
        None => {
            let view = Box::pin(ClusterView::of(live.clone(), Detail::Attributes)).await?;
            choice.resolved(&view.reading, &view.semantics)?
        }
    };
    let now = time_of(&chooser, live)?;
    let found = selected_rules(&chooser, &live.rules()?, now, context).await?;
    Ok((chooser, found))
}

/// Reads the rules that `chooser` may select, and selects at `now`.
///
/// All are listed. Who may not list them, or gets no list, can still name rules: those are read one by
/// one.
pub(crate) async fn selected_rules(
    chooser: &Chooser,
    rules: &Rules,
    now: Timestamp,
    context: &Context,
) -> Result<SelectedRules, Failure> {
    let listed = match rules.list().await {
        Ok(listed) => listed,
        Err(error) => return unlisted(chooser, rules, now, error).await,
    };
    let found = listed.objects.into_iter().map(|stored| stored.fact);
    let meant = chooser.select(&found.collect::<Vec<_>>(), now);
    // A rule that cannot be decoded may be the selected one.
    if !meant.missing.is_empty() || chooser.names().is_none() {
        for odd in listed.odd {
            context.printer.warn(&failed(odd).to_string());
        }
    }
    Ok(meant)
}

/// Selection without a list, for which `error` is the reason.
async fn unlisted(
    chooser: &Chooser,
    rules: &Rules,
    now: Timestamp,
    error: ClusterError,
) -> Result<SelectedRules, Failure> {
    let Some(names) = chooser.names() else {
        return Err(failed(error));
    };
    let found = by_name(&names, rules).await.map_err(failed)?;
    let meant = chooser.select(&found, now);
    // A rule of another name, which cannot be looked up, may taint the devices.
    let is_sure = matches!(chooser, Chooser::Names(_)) || meant.missing.is_empty();
    if is_sure {
        Ok(meant)
    } else {
        Err(failed(error))
    }
}

/// Those of the rules with these names that are there: one by one, or from the list for those who may
/// only list.
pub(crate) async fn by_name(
    names: &[String],
    rules: &Rules,
) -> Result<Vec<DeviceTaintRule>, ClusterError> {
    let mut found = Vec::new();
    for name in names {
        match rules.get(name).await {
            Ok(stored) => found.extend(stored.map(|stored| stored.fact)),
            Err(ClusterError::Forbidden { .. }) => {
                let all = rules.list().await?.objects.into_iter();
                return Ok(rules_named(names, all.map(|stored| stored.fact)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The server's clock, which decides what has expired; any time, where the server does not tell it and no
/// rule is selected by expiry.
fn time_of(chooser: &Chooser, live: &Live) -> Result<Timestamp, Failure> {
    match chooser {
        Chooser::Expired => server_time(live),
        Chooser::Names(_) | Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::All => {
            Ok(live.client.server_time().unwrap_or(Timestamp::UNIX_EPOCH))
        }
    }
}
