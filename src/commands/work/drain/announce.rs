//! Comparison with the controller, before the first taint of a drain.

use std::collections::BTreeSet;
use std::future::Future;

use super::prepare::DrainRequest;
use super::prepared::Prepared;
use super::prepared::hypothetical;
use crate::commands::context::Context;
use crate::commands::work::mutation_context::MutationContext;
use crate::commands::work::publish::{Publication, changer};
use crate::decide::choice::collapsed;
use crate::decide::drain::{Announcement, compared};
use crate::decide::publish::{interrupted, with_failed_removal};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector};

impl DrainRequest {
    /// Publishes rules with effect None for the units, compares the controller's counts with those of this plugin, and
    /// removes the rules again, also when `signal` comes first.
    ///
    /// # Errors
    ///
    /// The controller counts other pods, the rules cannot be created or removed, or `signal` came.
    pub(crate) async fn announce(
        &self,
        prepared: &Prepared,
        mutation: &MutationContext,
        signal: impl Future<Output = ExitStatus>,
        context: &Context,
    ) -> Result<(), Failure> {
        let devices: BTreeSet<DeviceId> = prepared
            .units
            .iter()
            .flat_map(|unit| unit.devices.clone())
            .collect();
        let mut signal = std::pin::pin!(signal);
        // The controller counts once, perhaps before it has seen the newest pods: a difference is checked twice.
        for is_last in [false, true] {
            let mutation = mutation.again().await?;
            let view = &mutation.view;
            let selectors: Vec<DeviceSelector> =
                devices.iter().cloned().map(DeviceSelector::from).collect();
            let selectors = collapsed(selectors, &view.reading, &view.semantics);
            let proposed: Vec<ProposedTaint> = selectors
                .into_iter()
                .map(|selector| hypothetical(selector, view.now))
                .collect();
            let report = mutation.report(&proposed, &[]).await?;
            let mut publication = Publication::new(&mutation.rules, &proposed, view)?;
            let mut changer = changer(&mutation.rules, context);
            let answers = tokio::select! {
                answers = publication.ask(&report, &mut changer) => answers,
                status = &mut signal => Err(interrupted(status)),
            };
            // Before the answers are compared, so that no return below leaves a rule behind.
            let removed = publication.clean_up(&mut changer).await;
            let answers = match (answers, removed) {
                (Ok(answers), removed) => removed.map(|()| answers)?,
                (Err(failure), removed) => {
                    let failure = publication.with_possible(failure);
                    return Err(match removed {
                        Ok(()) => failure,
                        Err(removal) => with_failed_removal(failure, &removal),
                    });
                }
            };
            match compared(&answers, is_last)? {
                Announcement::Agrees => {
                    context
                        .printer
                        .note("the eviction controller counts the same pods as this plugin");
                    return Ok(());
                }
                Announcement::Differs(_) => {}
                Announcement::NotCompared(lines) => {
                    for line in lines {
                        context.printer.warn(&line);
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
