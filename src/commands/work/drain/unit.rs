//! One unit, from its first eviction until it is done.
//!
//! Two tasks run concurrently: pods are evicted as `decide::drain` decides, and a wait observes the devices until no
//! claim holds them. The result of the wait decides: a force-deleted pod is gone from the API, although its device may
//! not be released.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::pending;

use tokio::time::Instant;

use super::look::UnitObserver;
use super::order::DrainOrder;
use crate::cluster::{Detail, EvictionAnswer, WriteMode, evict};
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::failed;
use crate::commands::work::wait::{ProgressLine, Wait, WaitEnd, WaitResult};
use crate::decide::drain::{
    EvictionReply, RuleState, Unit, UnitEnd, UnitFacts, UnitPod, UnitRun, UnitStep, interrupted,
};
use crate::decide::{RulePatch, escalate};
use crate::engine::settle::{Goal, Patience};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, NamespacedName};
use crate::report::blocker::Blocker;

/// Result of the wait that runs beside the evictions.
type Idleness = RefCell<Option<Result<WaitResult, Failure>>>;

/// One unit that is being drained.
pub(super) struct UnitDrain<'a> {
    pub(super) order: &'a DrainOrder<'a>,
    pub(super) unit: &'a Unit,
    /// Its rules, as last patched by this run.
    pub(super) rules: Vec<DeviceTaintRule>,
}

impl UnitDrain<'_> {
    /// Drains the unit, and returns the result.
    ///
    /// # Errors
    ///
    /// When the cluster cannot be read, or does not permit the user to evict.
    pub(super) async fn drain(
        &mut self,
        run: UnitRun,
        changer: &mut Changer<'_>,
    ) -> Result<UnitEnd, Failure> {
        let order = self.order;
        let live = order.live.clone();
        let view = Box::pin(ClusterView::of_for(live, order.version, Detail::Attributes)).await?;
        let rules = self.rules.clone();
        let name = order.name.to_owned();
        let wait = Wait {
            goal: Goal::Idle,
            rules: &rules,
            expected: Vec::new(),
            patience: Patience {
                settle: order.settle,
                // The unit has its own timeout and its own messages: the wait must not end before it.
                timeout: order.limits.timeout.saturating_mul(2),
            },
            advice: &|_| interrupted(&name),
            progress_line: ProgressLine::Hidden,
        };
        let idleness = Idleness::default();
        let waiting = async {
            let waited = Box::pin(wait.for_pods(view, order.context)).await;
            idleness.replace(Some(waited));
            pending().await
        };
        let evicting = Box::pin(self.evict_all(run, &idleness, changer));
        tokio::select! {
            end = evicting => end,
            end = waiting => end,
        }
    }

    async fn evict_all(
        &mut self,
        mut run: UnitRun,
        idleness: &Idleness,
        changer: &mut Changer<'_>,
    ) -> Result<UnitEnd, Failure> {
        let order = self.order;
        let began = Instant::now();
        let mut observer = UnitObserver {
            live: order.live,
            version: order.version,
            unit: self.unit,
            run: order.context.run.as_deref(),
            seen: BTreeMap::new(),
        };
        let mut told = BTreeMap::new();
        loop {
            let mut facts = Box::pin(observer.facts(&self.rules)).await?;
            if let Some(end) = is_idle(idleness, &mut facts)? {
                return Ok(end);
            }
            match run.next(&facts, began.elapsed()) {
                UnitStep::Evict(name, uid) => {
                    let Some(pod) = facts.pods.iter().find(|pod| pod.uid == uid) else {
                        continue;
                    };
                    let reply = self.evict(pod).await?;
                    self.tell(&name, &reply, &mut told);
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
                    self.raise(changer).await?;
                    run.raised();
                }
                UnitStep::WaitUntil(until) => {
                    tokio::time::sleep(until.saturating_sub(began.elapsed())).await;
                }
                UnitStep::Finished(end) => return Ok(end),
            }
        }
    }

    async fn evict(&self, pod: &UnitPod) -> Result<EvictionReply, Failure> {
        let client = &self.order.live.client;
        let answer = evict(client, &pod.name, &pod.uid, WriteMode::Store).await;
        Ok(match answer.map_err(failed)? {
            EvictionAnswer::Accepted => EvictionReply::Accepted,
            EvictionAnswer::Gone => EvictionReply::Gone,
            EvictionAnswer::Refused(message) => EvictionReply::Refused(message),
            EvictionAnswer::Unknown(error) => {
                let text = format!(
                    "whether pod {} was evicted is unknown: {error}; looking again",
                    pod.name
                );
                self.order.context.printer.warn(&text);
                EvictionReply::Unknown
            }
        })
    }

    /// Prints the result of an eviction; a repeated refusal with an unchanged message once.
    fn tell(
        &self,
        pod: &NamespacedName,
        reply: &EvictionReply,
        told: &mut BTreeMap<NamespacedName, String>,
    ) {
        let printer = &self.order.context.printer;
        let unit = &self.unit.name;
        match reply {
            EvictionReply::Accepted => printer.note(&format!("unit {unit}: evicted pod {pod}")),
            EvictionReply::Refused(message) if told.get(pod) != Some(message) => {
                printer.note(&format!(
                    "unit {unit}: eviction of pod {pod} refused, will retry ({message})"
                ));
                told.insert(pod.clone(), message.clone());
            }
            EvictionReply::Refused(_) | EvictionReply::Gone | EvictionReply::Unknown => {}
        }
    }

    /// Gives the rules effect NoExecute, which was confirmed before the drain started.
    async fn raise(&mut self, changer: &mut Changer<'_>) -> Result<(), Failure> {
        let order = self.order;
        order.context.printer.note(&format!(
            "unit {}: evicting the remaining pods by effect NoExecute",
            self.unit.name
        ));
        let to = Effect::NoExecute;
        for rule in self.rules.iter_mut().filter(|rule| rule.taint.effect != to) {
            let patch = RulePatch::effect(&to, &order.semantics, order.live.client.server_time());
            let again = |found: Option<&DeviceTaintRule>| {
                found.is_some_and(|found| escalate(std::slice::from_ref(found), &to).is_ok())
            };
            if let Some(stored) = changer.patch(rule, &patch, again).await? {
                *rule = stored.fact;
            }
        }
        Ok(())
    }
}

/// Notes whether the wait has found the devices idle; returns the result of the unit if the wait has found that devices
/// may not be released.
fn is_idle(idleness: &Idleness, facts: &mut UnitFacts) -> Result<Option<UnitEnd>, Failure> {
    let waited = idleness.borrow_mut().take();
    match waited {
        None => Ok(None),
        // The wait ends if a rule was changed, which the facts report with a better message.
        Some(Err(failure)) => match facts.rules {
            RuleState::AsMade => Err(failure),
            RuleState::Reversed(_) | RuleState::TakenOver(_) => Ok(None),
        },
        Some(Ok(waited)) => {
            let end = match &waited.ending {
                WaitEnd::Met => {
                    facts.is_idle = true;
                    None
                }
                WaitEnd::TimedOut(_) => None,
                WaitEnd::NotReleased(left) => Some(UnitEnd::Blocked(messages(left))),
            };
            // This cannot change any more: the taints block new pods.
            idleness.replace(Some(Ok(waited)));
            Ok(end)
        }
    }
}

fn messages(left: &[Blocker]) -> Vec<String> {
    left.iter().map(|left| left.message.clone()).collect()
}
