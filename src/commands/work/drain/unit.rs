//! One unit, from its first eviction until it is done.
//!
//! Two tasks run concurrently: pods are evicted as `decide::drain` decides, and a wait observes the devices until no
//! claim holds them. The result of the wait decides: a force-deleted pod is gone from the API, although its device may
//! not be released.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::pending;

use tokio::time::Instant;

use super::board::Board;
use super::look::UnitObserver;
use super::order::{DrainOrder, SETTLE};
use crate::cluster::{Detail, EvictionAnswer, WriteMode, evict};
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::failed;
use crate::commands::work::wait::{LastLook, ProgressLine, Wait, WaitEnd, WaitResult};
use crate::decide::RulePatch;
use crate::decide::drain::{
    DrainProgress, DrainView, EvictionReply, RuleState, Unit, UnitEnd, UnitFacts, UnitPod, UnitRun,
    UnitStep, interrupted, recorded_workloads,
};
use crate::decide::effect::escalates_again;
use crate::engine::settle::{Goal, Patience};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, NamespacedName, Uid};
use crate::report::blocker::Blocker;

/// Result of the wait that runs beside the evictions.
type Idleness = RefCell<Option<Result<WaitResult, Failure>>>;

/// One unit that is being drained.
pub(super) struct UnitDrain<'a, 'b, 'c> {
    pub(super) order: &'a DrainOrder<'a>,
    pub(super) unit: &'a Unit,
    pub(super) board: &'a Board<'b>,
    /// Changes the effects of rules.
    pub(super) changer: &'a mut Changer<'c>,
    /// Its rules, as last patched by this run.
    pub(super) rules: Vec<DeviceTaintRule>,
}

/// What the wait that runs beside the evictions has found so far.
#[derive(Clone, Copy)]
struct IdleWait<'a> {
    /// Its result, once it has one.
    idleness: &'a Idleness,
    /// What it has seen last.
    last_look: &'a RefCell<LastLook>,
}

impl UnitDrain<'_, '_, '_> {
    /// Drains the unit, and returns the result.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be read, or does not permit the user to evict.
    pub(super) async fn drain(&mut self, run: UnitRun) -> Result<UnitEnd, Failure> {
        let order = self.order;
        let live = order.live.clone();
        let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
        let rules = self.rules.clone();
        let name = order.name.to_owned();
        let last_look = RefCell::new(LastLook::default());
        let wait = Wait {
            goal: Goal::Idle,
            rules: &rules,
            expected: Vec::new(),
            patience: Patience {
                settle: SETTLE,
                // The unit has its own timeout and its own messages: the wait must not end before it.
                timeout: order.limits.timeout.saturating_mul(2),
            },
            advice: &|_| interrupted(&name),
            progress_line: ProgressLine::Hidden,
            last_look: Some(&last_look),
        };
        let idleness = Idleness::default();
        let waiting = async {
            let waited = Box::pin(wait.for_pods(view, order.context)).await;
            idleness.replace(Some(waited));
            // The wait does not end the drain: its result is read between two steps, so that no eviction that was
            // sent goes without its response.
            pending().await
        };
        let idle_wait = IdleWait {
            idleness: &idleness,
            last_look: &last_look,
        };
        let evicting = Box::pin(self.evict_all(run, idle_wait));
        tokio::select! {
            end = evicting => end,
            end = waiting => end,
        }
    }

    async fn evict_all(
        &mut self,
        mut run: UnitRun,
        idle_wait: IdleWait<'_>,
    ) -> Result<UnitEnd, Failure> {
        let order = self.order;
        let began = Instant::now();
        let mut observer = UnitObserver {
            live: order.live,
            unit: self.unit,
            drain: order.name,
            run: order.context.run.as_deref(),
            seen: BTreeMap::new(),
            recorded: recorded_workloads(&self.rules),
        };
        let mut told = BTreeMap::new();
        loop {
            let mut facts = Box::pin(observer.facts(&self.rules)).await?;
            let earlier = self.board.unreleased_on(&self.unit.devices);
            if let Some(end) = is_idle(idle_wait.idleness, &earlier, &mut facts)? {
                return Ok(end);
            }
            add_last_look(&mut facts, &idle_wait.last_look.borrow());
            facts.unreleased.extend(earlier);
            self.board.observe(&facts.drain_rules);
            let step = run.next(&facts, began.elapsed());
            let view = DrainView {
                drain: order.name,
                units: &self.board.units,
                current: &self.unit.name,
                run: &run,
                facts: &facts,
                elapsed: began.elapsed(),
            };
            self.show(&view.progress(), &step);
            match step {
                UnitStep::Evict(_, uid) => {
                    let Some(pod) = facts.pods.iter().find(|pod| pod.uid == uid) else {
                        continue;
                    };
                    let reply = self.evict(pod).await?;
                    self.tell(pod, &reply, &mut told);
                    run.replied(pod, &reply, began.elapsed());
                }
                UnitStep::Restart(owner) => {
                    let Some(state) = facts.restarts.get(&owner) else {
                        continue;
                    };
                    let reply = self.restart(&owner, state).await?;
                    run.restarted(&owner, &reply, began.elapsed());
                }
                UnitStep::RaiseEffect => {
                    self.raise().await?;
                    run.raised();
                }
                UnitStep::WaitUntil(until) => {
                    tokio::time::sleep(until.saturating_sub(began.elapsed())).await;
                }
                UnitStep::Finished(end) => {
                    if run.needs_force(&facts) {
                        self.board.needs_force();
                    }
                    if let Some(pod) = run.unplaced_pod(&facts) {
                        self.board.unplaced(pod.clone());
                    }
                    return Ok(end);
                }
            }
        }
    }

    async fn evict(&self, pod: &UnitPod) -> Result<EvictionReply, Failure> {
        let client = &self.order.live.client;
        let answer = evict(client, &pod.name, &pod.uid, None, WriteMode::Store).await;
        Ok(match answer.map_err(failed)? {
            EvictionAnswer::Accepted => EvictionReply::Accepted,
            EvictionAnswer::Gone => EvictionReply::Gone,
            EvictionAnswer::Refused(message) => EvictionReply::Refused(message),
            EvictionAnswer::Unknown(error) => {
                let text = format!(
                    "cannot tell whether pod {} was evicted: {error}; checking again",
                    pod.name
                );
                self.order.context.printer.warn(&text);
                EvictionReply::Unknown
            }
        })
    }

    /// Shows how far the drain is.
    fn show(&self, progress: &DrainProgress, step: &UnitStep) {
        let context = self.order.context;
        let is_shown = match step {
            UnitStep::WaitUntil(_) => true,
            // What is about to be done has a line of its own: where lines follow each other, only what is waited for
            // is news.
            UnitStep::Evict(..) | UnitStep::Restart(_) | UnitStep::RaiseEffect => {
                context.printer.progress().is_seen()
            }
            UnitStep::Finished(_) => false,
        };
        if is_shown {
            self.board.show(progress);
        }
    }

    /// Prints the result of an eviction; a repeated refusal with an unchanged message once.
    fn tell(&self, pod: &UnitPod, reply: &EvictionReply, told: &mut BTreeMap<Uid, String>) {
        let unit = &self.unit.name;
        let name = &pod.name;
        let line = match reply {
            EvictionReply::Accepted => format!("evicted pod {name}"),
            // An eviction is retried every few seconds; a refusal that stays the same is printed once.
            EvictionReply::Refused(message) if told.get(&pod.uid) != Some(message) => {
                told.insert(pod.uid.clone(), message.clone());
                format!("eviction of pod {name} refused, will retry ({message})")
            }
            EvictionReply::Refused(_) | EvictionReply::Gone | EvictionReply::Unknown => return,
        };
        self.order
            .context
            .printer
            .note(&format!("unit {unit}: {line}"));
    }

    /// Gives the rules effect NoExecute, which was confirmed before the drain started.
    async fn raise(&mut self) -> Result<(), Failure> {
        let order = self.order;
        order.context.printer.note(&format!(
            "unit {}: evicting the remaining pods with effect NoExecute",
            self.unit.name
        ));
        let to = Effect::NoExecute;
        for rule in self.rules.iter_mut().filter(|rule| rule.taint.effect != to) {
            let patch = RulePatch::effect(&to, &order.semantics, order.live.client.server_time());
            let again = |found: Option<&DeviceTaintRule>| escalates_again(found, &to);
            if let Some(stored) = self.changer.patch(rule, &patch, again).await? {
                *rule = stored.fact;
            }
        }
        Ok(())
    }
}

/// Notes whether the wait has found the devices idle; returns the result of the unit if the wait has found that devices
/// may not be released, or if that was seen `earlier`, before the unit began.
fn is_idle(
    idleness: &Idleness,
    earlier: &[String],
    facts: &mut UnitFacts,
) -> Result<Option<UnitEnd>, Failure> {
    let waited = idleness.borrow_mut().take();
    match waited {
        None => Ok(None),
        // The wait ends if a rule was changed, which the facts report with a better message.
        Some(Err(failure)) => match facts.rules {
            RuleState::AsMade => Err(failure),
            RuleState::Reversed(_) | RuleState::EffectChanged(_) | RuleState::TakenOver(_) => {
                Ok(None)
            }
        },
        Some(Ok(waited)) => {
            let end = match &waited.ending {
                WaitEnd::Met if earlier.is_empty() => {
                    facts.is_idle = true;
                    None
                }
                WaitEnd::Met => Some(UnitEnd::NotReleased(earlier.to_vec())),
                WaitEnd::TimedOut(_) => None,
                WaitEnd::NotReleased(left) => Some(UnitEnd::NotReleased(
                    [&messages(left)[..], earlier].concat(),
                )),
            };
            // This cannot change any more: the taints block new pods.
            idleness.replace(Some(Ok(waited)));
            Ok(end)
        }
    }
}

/// Adds what the wait has seen last.
fn add_last_look(facts: &mut UnitFacts, last_look: &LastLook) {
    facts.not_idle = messages(&last_look.left);
    facts.terminating = terminating(&last_look.left);
    facts.wait_looks = last_look.looks;
    facts.unreleased = messages(&last_look.unreleased);
}

/// What keeps terminating pods, by pod.
fn terminating(left: &[Blocker]) -> BTreeMap<NamespacedName, String> {
    let leaving = left.iter().flat_map(|left| &left.leaving);
    leaving.cloned().collect()
}

fn messages(left: &[Blocker]) -> Vec<String> {
    left.iter().map(|left| left.message.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::blocker::BlockerReason;

    fn blocker() -> Blocker {
        Blocker {
            reason: BlockerReason::DriverDown,
            namespace: None,
            name: None,
            node: None,
            uid: None,
            since_time: None,
            until_time: None,
            message: "it was deleted by force".to_owned(),
            leaving: Vec::new(),
        }
    }

    fn waited(ending: WaitEnd) -> WaitResult {
        WaitResult {
            ending,
            pods: 0,
            staying: Vec::new(),
            warnings: Vec::new(),
            misses_force_deletions: false,
            took: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn devices_are_idle_only_when_the_wait_has_seen_that_and_blocked_where_they_are_not_released() {
        let unreleased = UnitEnd::NotReleased(vec!["it was deleted by force".to_owned()]);
        for (ending, idle, end) in [
            (None, false, None),
            (Some(WaitEnd::Met), true, None),
            (Some(WaitEnd::TimedOut(vec![blocker()])), false, None),
            (
                Some(WaitEnd::NotReleased(vec![blocker()])),
                false,
                Some(unreleased),
            ),
        ] {
            let has_ended = ending.is_some();
            let idleness = RefCell::new(ending.map(|ending| Ok(waited(ending))));
            let mut facts = UnitFacts::default();
            assert_eq!(
                is_idle(&idleness, &[], &mut facts).expect("no failure"),
                end
            );
            assert_eq!(facts.is_idle, idle);
            assert_eq!(
                idleness.borrow().is_some(),
                has_ended,
                "the next look sees it, too"
            );
        }
    }

    #[test]
    fn devices_of_which_a_pod_was_deleted_by_force_before_the_unit_began_are_not_idle() {
        let idleness = RefCell::new(Some(Ok(waited(WaitEnd::Met))));
        let earlier = ["it was deleted by force".to_owned()];
        let mut facts = UnitFacts::default();
        let end = is_idle(&idleness, &earlier, &mut facts).expect("no failure");
        assert_eq!(end, Some(UnitEnd::NotReleased(earlier.to_vec())));
        assert!(!facts.is_idle);
    }

    #[test]
    fn a_wait_that_failed_ends_the_unit_unless_its_rules_say_why() {
        let failed = |rules| {
            let idleness = RefCell::new(Some(Err(Failure::refused("the rule has changed"))));
            let mut facts = UnitFacts {
                rules,
                ..UnitFacts::default()
            };
            is_idle(&idleness, &[], &mut facts).is_err()
        };
        assert!(failed(RuleState::AsMade));
        let why = || "restored by eve".to_owned();
        assert!(!failed(RuleState::Reversed(why())));
        assert!(!failed(RuleState::EffectChanged(why())));
        assert!(!failed(RuleState::TakenOver(why())));
    }
}
