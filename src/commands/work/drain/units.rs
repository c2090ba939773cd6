//! Units of a drain, one after the other.
//!
//! Two tasks run concurrently: pods are evicted as `decide::drain` decides, and a wait observes the devices until no
//! claim holds them. The wait is needed for the end: a force-deleted pod is gone from the API, although its device may
//! not be released, and only a watch shows that.

use std::cell::RefCell;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::act::PodLines;
use super::look::look;
use super::prepare::PreparedDrain;
use crate::cluster::Detail;
use crate::commands::context::Context;
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::commands::work::resolve_rules::by_name;
use crate::commands::work::stopped::stopped;
use crate::commands::work::wait::{LastLook, ProgressLine, Wait, WaitEnd, WaitResult};
use crate::decide::drain::{
    DrainLimits, DrainRun, DrainStep, IdleWait, SETTLE, UnitEnd, UnitResult, interrupted,
    rules_as_made,
};
use crate::decide::{AddStep, RuleDraft};
use crate::engine::settle::{AdminAccess, Goal, Patience};
use crate::error::Failure;
use crate::model::DeviceTaintRule;
use crate::report::blocker::Blocker;

/// Longest time between two reads of a unit.
const LOOK: Duration = Duration::from_secs(1);

/// A drain whose devices are tainted.
pub(crate) struct UnitDrain<'a> {
    pub(crate) prepared: &'a PreparedDrain,
    pub(crate) limits: DrainLimits,
    pub(crate) mutation: &'a MutationContext,
    pub(crate) context: &'a Context,
    /// Start of the drain.
    pub(crate) began: Instant,
}

/// The wait that runs beside the evictions.
#[derive(Default)]
struct BesideWait {
    /// Its result, once it has one.
    result: RefCell<Option<Result<WaitResult, Failure>>>,
    last_look: RefCell<LastLook>,
}

impl UnitDrain<'_> {
    /// Drains the units in order, until one of them is not idle in time.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be read, or refuses a change.
    pub(crate) async fn drain(
        &self,
        changer: &mut Changer<'_>,
    ) -> Result<Vec<UnitResult>, Failure> {
        let name = &self.prepared.terms.name;
        self.context.ledger.advise(interrupted(name));
        // The scheduler may still place pods whose device it chose before it observed the taints.
        sleep(SETTLE).await;
        let mut run = DrainRun::new(self.limits, self.prepared.is_resumed());
        let mut results = Vec::new();
        for (unit, steps) in self.prepared.units.iter().zip(&self.prepared.steps) {
            run.begin_unit(self.began.elapsed());
            let ended = Box::pin(self.unit(&unit.name, steps, &mut run, changer)).await;
            let result = ended.map_err(|failure| stopped(failure, self.context))?;
            changer.note(result.line());
            let goes_on = result.may_others_start();
            results.push(result);
            if !goes_on {
                break;
            }
        }
        Ok(results)
    }

    /// Drains a unit.
    async fn unit(
        &self,
        unit: &str,
        steps: &[AddStep],
        run: &mut DrainRun,
        changer: &mut Changer<'_>,
    ) -> Result<UnitResult, Failure> {
        let result = |end, evicted, staying| UnitResult {
            unit: unit.to_owned(),
            end,
            evicted,
            staying,
        };
        let drafts: Vec<&RuleDraft> = steps.iter().map(AddStep::draft).collect();
        let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
        let found = by_name(&names, self.mutation.rules()?)
            .await
            .map_err(failed)?;
        let rules = match rules_as_made(&drafts, &found) {
            Ok(rules) => rules,
            Err(why) => return Ok(result(UnitEnd::Changed(why), 0, 0)),
        };
        let live = self.mutation.live()?.clone();
        let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
        let beside = BesideWait::default();
        let drain = self.prepared.terms.name.clone();
        let waited = rules.clone();
        let wait = Wait {
            goal: Goal::Idle(AdminAccess::Ignored),
            rules: &waited,
            expected: Vec::new(),
            patience: Patience {
                settle: SETTLE,
                // The unit has its own timeout: the wait must not end before it.
                timeout: self.limits.timeout.saturating_mul(2),
            },
            advice: &|_| interrupted(&drain),
            progress_line: ProgressLine::Hidden,
            last_look: Some(&beside.last_look),
        };
        let waiting = async {
            let waited = Box::pin(wait.for_pods(view, self.context)).await;
            beside.result.replace(Some(waited));
            // Its result is read between two steps, so that no eviction goes without its response.
            pending().await
        };
        let (end, staying) = tokio::select! {
            end = Box::pin(self.evict_all(rules, run, &beside, changer)) => end?,
            end = waiting => end,
        };
        Ok(result(end, run.evicted(), staying))
    }

    /// Evicts the pods of a unit, and returns its end and the number of pods that stay.
    async fn evict_all(
        &self,
        mut rules: Vec<DeviceTaintRule>,
        run: &mut DrainRun,
        beside: &BesideWait,
        changer: &mut Changer<'_>,
    ) -> Result<(UnitEnd, usize), Failure> {
        let mut lines = PodLines::default();
        loop {
            let facts = Box::pin(look(self.mutation.live()?, &rules, beside.observed())).await?;
            // The wait ends if a rule was changed, which the facts report as an end of the unit.
            if facts.change.is_none() {
                beside.refuse_failed()?;
            }
            self.show_evicted(&facts, &mut lines);
            let pods = facts.pods.len();
            let left = format!("pods on the devices of the current unit: {pods}");
            self.context.ledger.left(&left);
            if let Some(hint) = run.hint(&facts, self.began.elapsed()) {
                changer.note(hint);
            }
            match run.next(&facts, self.began.elapsed()) {
                DrainStep::Evict(uid) => {
                    if let Some(pod) = facts.pods.iter().find(|pod| pod.uid == uid) {
                        let reply = self.evict(pod, &mut lines).await?;
                        run.replied(pod, &reply, self.began.elapsed());
                    }
                }
                DrainStep::Restart(owner) => self.restart(&owner, &facts, &rules, run).await?,
                DrainStep::Raise => self.raise(&mut rules, changer).await?,
                DrainStep::Wait => sleep(LOOK).await,
                DrainStep::Finished(end) => return Ok((end, pods)),
            }
        }
    }
}

impl BesideWait {
    /// Observations so far.
    fn observed(&self) -> IdleWait {
        let last = self.last_look.borrow();
        let mut observed = IdleWait {
            is_idle: false,
            left: messages(&last.left),
            terminating: last
                .left
                .iter()
                .flat_map(|left| left.leaving.clone())
                .collect(),
            unreleased: messages(&last.unreleased),
        };
        if let Some(Ok(waited)) = &*self.result.borrow() {
            match &waited.ending {
                WaitEnd::Met => observed.is_idle = true,
                WaitEnd::NotReleased(left) => observed.unreleased = messages(left),
                WaitEnd::TimedOut(_) => {}
            }
        }
        observed
    }

    /// Fails if the wait has failed.
    fn refuse_failed(&self) -> Result<(), Failure> {
        let mut result = self.result.borrow_mut();
        match result.take() {
            Some(Err(failure)) => Err(failure),
            other => {
                *result = other;
                Ok(())
            }
        }
    }
}

fn messages(left: &[Blocker]) -> Vec<String> {
    left.iter().map(|left| left.message.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::blocker::BlockerReason;

    #[test]
    fn only_a_wait_that_was_met_makes_a_unit_idle() {
        let blocker = Blocker {
            reason: BlockerReason::ForceDeleted,
            namespace: None,
            name: None,
            node: None,
            uid: None,
            since_time: None,
            until_time: None,
            message: "it was force-deleted".to_owned(),
            leaving: Vec::new(),
        };
        let waited = |ending| {
            Ok(WaitResult {
                ending,
                pods: 0,
                staying: Vec::new(),
                warnings: Vec::new(),
                misses_force_deletions: false,
                took: Duration::ZERO,
            })
        };
        for (result, idle, unreleased) in [
            (None, false, 0),
            (Some(waited(WaitEnd::Met)), true, 0),
            (
                Some(waited(WaitEnd::TimedOut(vec![blocker.clone()]))),
                false,
                0,
            ),
            (Some(waited(WaitEnd::NotReleased(vec![blocker]))), false, 1),
        ] {
            let beside = BesideWait::default();
            beside.result.replace(result);
            let observed = beside.observed();
            let found = (observed.is_idle, observed.unreleased.len());
            assert_eq!(found, (idle, unreleased));
            assert!(beside.refuse_failed().is_ok());
            assert_eq!(beside.observed().is_idle, idle, "the next look sees it");
        }
        let beside = BesideWait::default();
        beside.result.replace(Some(Err(Failure::refused("denied"))));
        assert!(!beside.observed().is_idle);
        assert!(beside.refuse_failed().is_err());
    }
}
