//! All units of a drain.

use super::board::Board;
use super::order::{DrainOrder, DrainRun, SETTLE};
use super::unit::UnitDrain;
use crate::assess::Guard;
use crate::cluster::user_name;
use crate::commands::work::changer::{Changer, Lines};
use crate::commands::work::connect::failed;
use crate::commands::work::consent::SafetyLimits;
use crate::commands::work::dry_run::WriteRequest;
use crate::commands::work::mutation_context::MutationContext;
use crate::commands::work::resolve_rules::by_name;
use crate::commands::work::stopped::stopped;
use crate::decide::drain::{
    BeforeUnit, DrainEnd, DrainSize, UnitEnd, UnitProgress, before_unit, begun_run, both_records,
    completion_patch, interrupted, missing_rule, recording_patch, reversal_to_record, ring,
    rules_of, rules_of_unit, settled_in,
};
use crate::decide::effect::still_exists;
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::report::change::DryRun;

impl DrainOrder<'_> {
    /// Drains the units in order, until one of them cannot be drained.
    ///
    /// # Errors
    ///
    /// When a unit cannot start, and when the cluster cannot be read. Progress is recorded on the rules.
    pub(crate) async fn drain(
        &self,
        units: &[DrainRun],
        mutation: &MutationContext,
        safety: &SafetyLimits,
        changer: &mut Changer<'_>,
    ) -> Result<DrainEnd, Failure> {
        let end = DrainEnd {
            name: self.name.to_owned(),
            waiting: units.iter().map(|run| run.unit.name.clone()).collect(),
            skipped: self.skipped.clone(),
            leaves_partitions: self.leaves_partitions,
            ..DrainEnd::default()
        };
        self.context.ledger.advise(interrupted(self.name));
        self.complete(units, mutation).await?;
        self.settle(units, mutation).await?;
        let board = Board::new(end, self.context);
        let drained = async {
            for (index, run) in units.iter().enumerate() {
                // The confirmed report is from the start: later units may have changed since.
                if index > 0 {
                    self.check(run, mutation, safety).await?;
                }
                board.begin(&run.unit.name);
                if !self.one(run, &board, mutation, changer).await? {
                    break;
                }
            }
            Ok::<(), Failure>(())
        };
        tokio::select! {
            // The first unit begins before it is looked at which ones wait.
            biased;
            drained = Box::pin(drained) => drained?,
            () = Box::pin(self.watch_waiting(units, &board, mutation)) => {}
        }
        let mut end = board.end();
        // A unit that has ended may have been reversed while the others were drained.
        let found = mutation.rules.list().await;
        let found = found.map_err(|error| error.to_string()).map(|found| {
            let rules = found.objects.into_iter().map(|stored| stored.fact);
            rules.collect::<Vec<_>>()
        });
        end.observe(found.as_deref().map_err(String::clone));
        Ok(end)
    }

    /// Drains a unit; whether others may follow.
    async fn one(
        &self,
        run: &DrainRun,
        board: &Board<'_>,
        mutation: &MutationContext,
        changer: &mut Changer<'_>,
    ) -> Result<bool, Failure> {
        let name = &run.unit.name;
        let over = Box::pin(self.drain_unit(run, board, mutation, changer)).await;
        let over = over.map_err(|failure| stopped(failure, self.context))?;
        let goes_on = over.may_others_start();
        let line = DrainEnd::line(name, &over);
        board.finish(name, over);
        self.context.printer.note(&line);
        Ok(goes_on)
    }

    /// Records on the rules that all of them exist, and the workloads that have pods on the devices.
    async fn complete(
        &self,
        units: &[DrainRun],
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let mut changer = self.recorder(mutation).await;
        let now = self.live.client.server_time();
        for run in units {
            let rules = by_name(&run.rules, &mutation.rules).await.map_err(failed)?;
            let size = DrainSize {
                units: self.units,
                rules: run.rules.len(),
            };
            let found = self.workloads.get(&run.unit.name).cloned();
            let found = found.unwrap_or_default();
            for (rule, next) in ring(&rules) {
                let waiting = UnitProgress::Waiting.patch(now);
                let patch = completion_patch(rule, size, next, waiting);
                let recorded = recording_patch(rule, &rules, &found);
                if let Some(patch) = both_records(patch, recorded) {
                    changer.patch(rule, &patch, still_exists).await?;
                }
            }
        }
        Ok(())
    }

    /// Records on all rules that are left that those of a unit were removed: why, unless another user has recorded more.
    async fn reversed(
        &self,
        unit: &str,
        why: String,
        mutation: &MutationContext,
    ) -> Result<String, Failure> {
        let mut changer = self.recorder(mutation).await;
        let rules = mutation.rules.list().await.map_err(failed)?.objects;
        let rules: Vec<DeviceTaintRule> = rules.into_iter().map(|stored| stored.fact).collect();
        let rules = rules_of(&rules, self.name);
        let (why, patches) = reversal_to_record(&rules, unit, why);
        for (rule, patch) in patches {
            changer.patch(rule, &patch, still_exists).await?;
        }
        Ok(why)
    }

    /// What changes annotations of rules that only this program reads: not printed as changes.
    async fn recorder<'a>(&self, mutation: &'a MutationContext) -> Changer<'a>
    where
        Self: 'a,
    {
        let change = WriteRequest {
            dry_run: DryRun::None,
        };
        let user = user_name(&self.live.client).await;
        let changer = Changer::new(&mutation.rules, change, self.context);
        changer.with_lines(Lines::Left).by(user)
    }

    /// Waits until the scheduler has observed the taints of all units.
    async fn settle(&self, units: &[DrainRun], mutation: &MutationContext) -> Result<(), Failure> {
        let names: Vec<String> = units.iter().flat_map(|run| run.rules.clone()).collect();
        let rules = by_name(&names, &mutation.rules).await.map_err(failed)?;
        let now = self.live.client.server_time().unwrap_or(mutation.view.now);
        let rest = settled_in(&rules, now, SETTLE);
        if !rest.is_zero() {
            self.context.printer.note(&format!(
                "waiting {}s for the scheduler to see the taints",
                rest.as_secs()
            ));
            tokio::time::sleep(rest).await;
        }
        Ok(())
    }

    /// Evaluates guards for a unit before it starts.
    async fn check(
        &self,
        run: &DrainRun,
        mutation: &MutationContext,
        safety: &SafetyLimits,
    ) -> Result<(), Failure> {
        match self.refusal(run, mutation, &safety.guards).await? {
            Some(refusal) => {
                let unit = &run.unit.name;
                // Not "refused", which says that nothing was changed.
                let failure = Failure::new(
                    ExitStatus::TimedOut,
                    format!("{refusal}; unit {unit} was not started"),
                );
                let advice = interrupted(self.name).into_iter();
                Err(advice.fold(failure, Failure::hint))
            }
            None => Ok(()),
        }
    }

    /// Why guards refuse to start a unit, if they do.
    async fn refusal(
        &self,
        run: &DrainRun,
        mutation: &MutationContext,
        guards: &[Guard],
    ) -> Result<Option<String>, Failure> {
        let mutation = mutation.again().await?;
        let rules = by_name(&run.rules, &mutation.rules).await.map_err(failed)?;
        let proposed: Vec<ProposedTaint> = rules
            .iter()
            .map(|rule| ProposedTaint::of_changed_rule(rule, &Effect::NoExecute, mutation.view.now))
            .collect();
        let report = mutation.report(&proposed, guards).await?;
        Ok(report.assessment.tripped())
    }

    async fn drain_unit(
        &self,
        run: &DrainRun,
        board: &Board<'_>,
        mutation: &MutationContext,
        changer: &mut Changer<'_>,
    ) -> Result<UnitEnd, Failure> {
        let rules = by_name(&run.rules, &mutation.rules).await.map_err(failed)?;
        match before_unit(&run.rules, &rules) {
            BeforeUnit::Begins => {}
            BeforeUnit::Missing(why) => {
                let why = self.reversed(&run.unit.name, why, mutation).await?;
                return Ok(UnitEnd::Reversed(why));
            }
            BeforeUnit::Weakened(why) => return Ok(UnitEnd::Reversed(why)),
        }
        let rules = self.note(rules, &UnitProgress::Draining, mutation).await?;
        let restarted = self.restarts.owners.keys().cloned().collect();
        let unit_run = begun_run(self.limits, &run.progress, &rules, restarted);
        let mut unit = UnitDrain {
            order: self,
            unit: &run.unit,
            board,
            changer,
            rules,
        };
        let end = Box::pin(unit.drain(unit_run)).await?;
        // A rule that was weakened says so itself.
        let left = by_name(&run.rules, &mutation.rules).await.map_err(failed)?;
        let end = match (end, missing_rule(&run.rules, &left)) {
            (UnitEnd::Reversed(why), Some(_)) => {
                UnitEnd::Reversed(self.reversed(&run.unit.name, why, mutation).await?)
            }
            (end, _) => end,
        };
        if let Some(progress) = end.progress() {
            // Read again, since the wait may have recorded unreleased devices on them.
            let rules = mutation.rules.list().await.map_err(failed)?.objects;
            let rules: Vec<DeviceTaintRule> = rules.into_iter().map(|stored| stored.fact).collect();
            let rules = rules_of_unit(&rules, self.name, &run.unit.name);
            self.note(rules, &progress, mutation).await?;
        }
        Ok(end)
    }

    /// Records the stage of the unit on its rules, and returns the patched rules.
    async fn note(
        &self,
        rules: Vec<DeviceTaintRule>,
        progress: &UnitProgress,
        mutation: &MutationContext,
    ) -> Result<Vec<DeviceTaintRule>, Failure> {
        let mut changer = self.recorder(mutation).await;
        let mut patch = progress.patch(self.live.client.server_time());
        // By this, a run that goes on notices that another one has taken over.
        let run = self.context.run.clone();
        let run = run.map(|run| (RuleMetadata::DRAIN_RUN.to_owned(), run));
        patch.annotations.extend(run);
        let mut noted = Vec::new();
        for rule in rules {
            let stored = changer.patch(&rule, &patch, still_exists).await?;
            noted.push(stored.map_or(rule, |stored| stored.fact));
        }
        Ok(noted)
    }
}
