//! Units of a drain, one after the other.
//!
//! Two tasks run concurrently: pods are evicted as `decide::drain` decides, and a wait observes the devices until no
//! claim holds them. The wait is needed for the end: a force-deleted pod is gone from the API, although its device may
//! not be released, and only a watch shows that.

use crate::cluster::{
    Detail, ObjectVersion, WriteAnswer, WriteMode, read_optional, read_workloads, restart,
};
use crate::commands::context::Context;
use crate::commands::work::changer::{Changer, stopped};
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::{Live, evict_pod, failed};
use crate::commands::work::mutation_context::{MutationContext, by_name};
use crate::commands::work::wait::{LastLook, ProgressLine, Wait, WaitEnd, WaitResult};
use crate::decide::drain::{
    DrainLimits, DrainRun, DrainStep, EvictionReply, IdleWait, PodClass, PreparedDrain,
    RestartState, SETTLE, UnitEnd, UnitFacts, UnitPod, UnitResult, as_evicting, interrupted,
    is_raised, pods_of, refusal_line, restart_states, rule_change, rules_as_made, tainted_since,
    unread, workload_states,
};
use crate::decide::proposal::escalates_again;
use crate::decide::{AddStep, RuleDraft, RulePatch};
use crate::engine::settle::{AdminAccess, Goal, Patience};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, NamespacedName, PodDisruptionBudget, Uid};
use crate::report::blocker::Blocker;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longest time between two reads of a unit.
const LOOK: Duration = Duration::from_secs(1);

/// A drain whose devices are tainted.
pub(crate) struct UnitDrain<'a> {
    pub(crate) prepared: &'a PreparedDrain,
    pub(crate) limits: &'a DrainLimits,
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
    pub(crate) async fn drain(&self, changer: &Changer<'_>) -> Result<Vec<UnitResult>, Failure> {
        let name = &self.prepared.terms.name;
        self.context.log.advise(interrupted(name));
        // The scheduler may still place pods whose device it chose before it observed the taints.
        sleep(SETTLE).await;
        let mut run = DrainRun::new(self.limits.clone(), self.prepared.is_resumed());
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
        changer: &Changer<'_>,
    ) -> Result<UnitResult, Failure> {
        let result = |end, evicted, staying| UnitResult {
            unit: unit.to_owned(),
            end,
            evicted,
            staying,
        };
        let drafts: Vec<&RuleDraft> = steps.iter().map(|step| &step.draft).collect();
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
        changer: &Changer<'_>,
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
            let holding = facts.pods.iter().filter(|pod| pod.class != PodClass::Admin);
            let left = format!(
                "pods on the devices of the current unit: {}",
                holding.count()
            );
            self.context.log.left(&left);
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

/// Lines about pods that were printed.
#[derive(Default)]
struct PodLines {
    /// Pods whose eviction was announced.
    begun: BTreeSet<Uid>,
    /// The refusal of each pod.
    refused: BTreeMap<Uid, String>,
    /// Pods that were evicted and were not gone yet.
    leaving: BTreeMap<Uid, NamespacedName>,
}

impl UnitDrain<'_> {
    /// Evicts a pod; a refusal that stays the same is printed once.
    async fn evict(&self, pod: &UnitPod, lines: &mut PodLines) -> Result<EvictionReply, Failure> {
        let printer = &self.context.printer;
        let name = &pod.name;
        if lines.begun.insert(pod.uid.clone()) {
            printer.note(&format!("evicting pod {name}"));
        }
        let client = &self.mutation.live()?.client;
        let reply = evict_pod(&self.context.log, client, name, &pod.uid, None).await?;
        match &reply {
            EvictionReply::Accepted => drop(lines.leaving.insert(pod.uid.clone(), name.clone())),
            EvictionReply::Gone => {}
            EvictionReply::Refused(message) => {
                let line = refusal_line(pod, message);
                if lines.refused.get(&pod.uid) != Some(&line) {
                    printer.note(&format!("{line}, trying again"));
                    lines.refused.insert(pod.uid.clone(), line);
                }
            }
            EvictionReply::Unknown(error) => printer.warn(&format!(
                "cannot tell whether pod {name} was evicted: {error}; checking again"
            )),
        }
        Ok(reply)
    }

    /// Restarts a Deployment, or notes that it cannot be.
    async fn restart(
        &self,
        owner: &Uid,
        facts: &UnitFacts,
        rules: &[DeviceTaintRule],
        run: &mut DrainRun,
    ) -> Result<(), Failure> {
        let (client, printer) = (&self.mutation.live()?.client, &self.context.printer);
        let Some(state) = facts.restarts.get(owner) else {
            return Ok(());
        };
        let name = state.describe();
        // Later looks recognize the restart by this time: it must not be before the taints.
        let Some(at) = client.server_time().max(tainted_since(rules)) else {
            printer.warn(&format!("{name} is not restarted: the time is unknown"));
            run.cannot_restart(owner);
            return Ok(());
        };
        let on = object_version(owner, state);
        let answer = restart(client, &state.owner, &on, at, WriteMode::Store).await;
        match answer.map_err(failed)? {
            WriteAnswer::Accepted => printer.note(&format!("restarted {name}")),
            // It is read again before the next try.
            WriteAnswer::Outdated => return Ok(()),
            WriteAnswer::Refused(message) => {
                printer.warn(&format!("{name} cannot be restarted: {message}"));
                run.cannot_restart(owner);
                return Ok(());
            }
            WriteAnswer::Unknown(error) => printer.warn(&format!(
                "cannot tell whether {name} was restarted: {error}; checking again"
            )),
        }
        run.restarted(owner, self.began.elapsed());
        Ok(())
    }

    /// Gives the rules effect NoExecute, which was approved before the drain began.
    async fn raise(
        &self,
        rules: &mut [DeviceTaintRule],
        changer: &Changer<'_>,
    ) -> Result<(), Failure> {
        let to = Effect::NoExecute;
        for rule in rules.iter_mut().filter(|rule| rule.taint.effect != to) {
            let now = self.mutation.live()?.client.server_time();
            let patch = RulePatch::effect(&to, &self.mutation.view.semantics, now);
            let again = |found: Option<&DeviceTaintRule>| escalates_again(found, &to);
            if let Some(stored) = changer.patch(rule, &patch, again).await? {
                *rule = stored.fact;
            }
        }
        Ok(())
    }

    /// Prints which evicted pods are gone.
    fn show_evicted(&self, facts: &UnitFacts, lines: &mut PodLines) {
        let there: BTreeSet<&Uid> = facts.pods.iter().map(|pod| &pod.uid).collect();
        lines.leaving.retain(|uid, name| {
            let is_there = there.contains(uid);
            if !is_there {
                // As `kubectl drain` prints it.
                let line = format!("pod/{} evicted", name.name);
                self.context.printer.note(&line);
            }
            is_there
        });
    }
}

/// The version of the Deployment that was decided on.
pub(crate) fn object_version(uid: &Uid, state: &RestartState) -> ObjectVersion {
    ObjectVersion {
        uid: uid.to_string(),
        resource_version: state.resource_version.clone(),
    }
}

/// Facts about a unit now; `made` are its rules as this run left them, and `wait` observes its devices.
async fn look(live: &Live, made: &[DeviceTaintRule], wait: IdleWait) -> Result<UnitFacts, Failure> {
    let view = ClusterView::of(live.clone(), Detail::Names).await?;
    let change = rule_change(made, view.rules()?);
    let proposed = as_evicting(made, view.now);
    let mut view = view.with_pods_of(&proposed).await?;
    let Live { client, served } = live;
    // Budgets decide the order of pods, and workloads show whether their pods are ready.
    let read = read_optional::<PodDisruptionBudget>(client, served, view.reading).await;
    let read = Box::pin(read_workloads(client, served, read.map_err(failed)?)).await;
    view.reading = read.map_err(failed)?;
    let pods = pods_of(&view.impact(&proposed), &view.basis());
    let reading = &view.reading;
    let (workloads, unknown) = workload_states(&reading.snapshot.pods, reading);
    Ok(UnitFacts {
        change,
        is_raised: is_raised(made),
        pods,
        workloads,
        restarts: restart_states(&reading.snapshot.pods, reading, tainted_since(made)),
        unread: unread(reading).into_iter().chain(unknown).collect(),
        wait,
    })
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
