//! `preview --publish`: the controller's own preview, through rules with effect None.
//!
//! Creates a rule with effect None for every considered taint, waits until the controller has
//! written its own preview to it, and compares that with ours to the letter.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::changer::{Changer, Lines, Recorder};
use super::cluster_view::{ClusterView, ReadState};
use super::connect::failed;
use crate::cluster::{Rules, StoredRule};
use crate::commands::context::Context;
use crate::decide::change_log::{DryRun, held};
use crate::decide::publish::{
    ControllerAnswer, check_preview, previews, publication, removed_meanwhile, what_stays,
    with_what_is_left,
};
use crate::decide::{Existing, RuleDraft, Terms};
use crate::engine::{ProposedTaint, Semantics};
use crate::error::Failure;
use crate::report::ImpactReport;

/// Time limit for the controller.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// Interval of reading its answer.
const INTERVAL: Duration = Duration::from_millis(200);

/// Rules with effect None in one cluster.
pub(crate) struct Publication<'a> {
    rules: &'a Rules,
    drafts: Vec<RuleDraft>,
    semantics: Semantics,
    now: jiff::Timestamp,
}

/// Creates and deletes its rules without a line for each.
pub(crate) fn changer<'a>(rules: &'a Rules, context: &'a Context) -> Changer<'a> {
    let recorder = Recorder::new(DryRun::None, Lines::Left, context);
    Changer::new(Some(rules), recorder)
}

impl<'a> Publication<'a> {
    /// Prepares a rule for each of the `proposed` taints; creates none yet.
    pub(crate) fn new(
        rules: &'a Rules,
        proposed: &[ProposedTaint],
        view: &ClusterView<impl ReadState>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            rules,
            drafts: previews(proposed)?,
            semantics: view.semantics,
            now: view.now,
        })
    }

    /// The creation of the rules in words.
    pub(crate) fn action(&self) -> String {
        publication(self.drafts.len())
    }

    /// Creates the rules and waits for the controller; returns its messages, beside those of `report`.
    pub(crate) async fn ask(
        &self,
        report: &ImpactReport,
        changer: &Changer<'_>,
    ) -> Result<Vec<ControllerAnswer>, Failure> {
        for draft in self.drafts.clone() {
            self.create_anew(&draft, changer).await?;
        }
        // All rules are there by now, so that one limit is enough for all answers.
        let began = Instant::now();
        let mut answers = Vec::with_capacity(self.drafts.len());
        for (draft, taint) in self.drafts.iter().zip(&report.proposed_taints) {
            let expected = taint.controller_message.as_deref();
            answers.push(self.wait(draft, expected, began).await?);
        }
        Ok(answers)
    }

    /// The controller previews a rule once, so that an existing one gets no new message.
    async fn create_anew(&self, draft: &RuleDraft, changer: &Changer<'_>) -> Result<(), Failure> {
        self.remove(draft, changer).await?;
        let terms = Terms {
            existing: Existing::Kept,
            semantics: &self.semantics,
            now: self.now,
        };
        changer.create(draft, &terms).await.map(drop)
    }

    async fn wait(
        &self,
        draft: &RuleDraft,
        expected: Option<&str>,
        began: Instant,
    ) -> Result<ControllerAnswer, Failure> {
        loop {
            let stored = self.rules.get(&draft.name).await.map_err(failed)?;
            let Some(StoredRule { fact: rule, .. }) = stored else {
                return Err(removed_meanwhile(&draft.name));
            };
            let condition = rule.condition.as_ref();
            let answer = ControllerAnswer::new(&draft.name, rule.generation, condition, expected);
            if answer.condition.is_some() || began.elapsed() >= PATIENCE {
                return Ok(answer);
            }
            sleep(INTERVAL).await;
        }
    }

    /// Removes all rules, and lists those that cannot be removed.
    pub(crate) async fn clean_up(&self, changer: &Changer<'_>) -> Result<(), Failure> {
        // One that cannot be removed keeps no other from being removed.
        let mut first = Ok(());
        for draft in self.drafts.clone() {
            let removed = self.remove(&draft, changer).await;
            first = first.and(removed);
        }
        first.map_err(|failure| with_what_is_left(failure, &self.drafts))
    }

    /// Removes the rule of that name if there is one, and if it is an earlier preview.
    async fn remove(&self, draft: &RuleDraft, changer: &Changer<'_>) -> Result<(), Failure> {
        let found = self.rules.get(&draft.name).await.map_err(failed)?;
        let Some(StoredRule { fact: rule, .. }) = found else {
            return Ok(());
        };
        check_preview(&rule, draft)?;
        let removed = changer.delete(&rule).await?;
        // As long as a finalizer holds it, its name is taken.
        if removed.is_held() {
            return Err(held(&rule));
        }
        Ok(())
    }

    /// Warns on standard error that the rules stay, if any was created.
    pub(crate) fn tell_what_stays(&self, context: &Context) {
        if context.log.has_changed() {
            context.printer.note(&what_stays(&self.drafts));
        }
    }
}
