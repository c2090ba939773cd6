//! Rules that are meant by the hardware that they taint: what it takes to know which.

use super::connect::Live;
use super::look::Look;
use super::meant::{meant, time_of};
use crate::commands::context::Context;
use crate::decide::{Chooser, Meant, RulesOn, RulesTyped, Version};
use crate::error::Failure;

/// Which rules are meant in what was looked at, with what it takes to know that: words that are no names of
/// rules may be numbers of hardware.
pub(crate) async fn chosen_in(
    typed: &RulesTyped<'_>,
    look: Look,
    context: &Context,
) -> Result<(Look, Chooser), Failure> {
    let chooser = typed.chooser()?;
    if let Some(chooser) = chooser {
        let is_missing = |meant: Meant| !meant.missing.is_empty();
        let rules = look.rules();
        let may_be_hardware = rules.is_ok_and(|rules| is_missing(chooser.meant(rules, look.now)));
        if !may_be_hardware || typed.words().is_empty() {
            return Ok((look, chooser));
        }
    }
    // On the heap: it reads a list, and is part of what several commands do.
    let look = Box::pin(look.with_attributes(typed.kinds())).await?;
    let RulesOn { chooser, notes } = typed.find(&look.reading, &look.semantics)?;
    for note in notes {
        context.printer.note(&note);
    }
    Ok((look, chooser))
}

/// The rules that are meant on a cluster that was not looked at: devices are read only where names do not
/// say which they are.
pub(crate) async fn meant_on(
    typed: &RulesTyped<'_>,
    live: &Live,
    version: Version,
    context: &Context,
) -> Result<(Chooser, Meant), Failure> {
    let rules = live.rules()?;
    let mut by_name = None;
    if let Some(chooser) = typed.chooser()? {
        let now = time_of(&chooser, live)?;
        let found = meant(&chooser, &rules, now, context).await?;
        if found.missing.is_empty() || typed.words().is_empty() {
            return Ok((chooser, found));
        }
        by_name = Some((chooser, found));
    }
    let look = Box::pin(Look::of(live.clone(), version)).await;
    let look = match (look, by_name) {
        (Ok(look), _) => look,
        // Names are what they are, also to those who may not look at devices.
        (Err(_), Some(found)) => return Ok(found),
        (Err(failure), None) => return Err(failure),
    };
    let (_, chooser) = Box::pin(chosen_in(typed, look, context)).await?;
    let now = time_of(&chooser, live)?;
    let found = meant(&chooser, &rules, now, context).await?;
    Ok((chooser, found))
}
