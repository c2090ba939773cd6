//! Effects for a limited time: the clock, the looks and the changes around [`decide::timed_effect`](crate::decide::timed_effect).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep, sleep_until};

use super::changer::Changer;
use super::mutation_context::MutationContext;
use crate::commands::clock::Clock;
use crate::commands::context::Context;
use crate::decide::effect::{Revert, way_back};
use crate::decide::ledger::RuleGoal;
use crate::decide::timed_effect::{
    EffectTerm, TimedRule, TimedRules, announcement, ending, joined, not_restored,
};
use crate::decide::{Proposal, RulePatch};
use crate::error::Failure;
use crate::naming::age::human_duration;
use crate::output::StatusLine;

/// How often is looked whether somebody else has changed the rules.
const INTERVAL: Duration = Duration::from_secs(10);
/// Within which a server has carried out a change that was sent, and whose answer nobody waits for.
const IN_FLIGHT: Duration = Duration::from_millis(500);
/// How long is waited before the effect is given back again, first and at most.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];

/// The effect that a command has raised, until it is given back.
pub(crate) struct TimedEffect<'a> {
    mutation: &'a MutationContext,
    rules: TimedRules,
    until: Timestamp,
    clock: Clock,
    ends: Instant,
    /// How long giving it back is tried.
    timeout: Duration,
}

impl<'a> TimedEffect<'a> {
    /// The term of what is proposed, from now on by the server's clock.
    pub(crate) fn begin(
        proposal: &Proposal,
        term: EffectTerm,
        timeout: Duration,
        mutation: &'a MutationContext,
        context: &Context,
    ) -> Self {
        let now = mutation.live.client.server_time();
        let now = now.unwrap_or(mutation.view.now);
        let until = term.until(now);
        let rules = proposal.changed().into_iter();
        let began = Instant::now();
        Self {
            mutation,
            rules: TimedRules::new(
                rules
                    .map(|rule| TimedRule::new(&rule, until, context.run.clone()))
                    .collect(),
            ),
            until,
            clock: Clock::set(now),
            // Of what is typed, nothing is so long that it could not be added.
            ends: began.checked_add(term.length()).unwrap_or(began),
            timeout,
        }
    }

    /// When it is given back.
    pub(crate) fn until(&self) -> Timestamp {
        self.until
    }

    /// Waits until its time is over, or no rule has it any more.
    pub(crate) async fn hold(&mut self, changer: &mut Changer<'_>) {
        if self.rules.held.is_empty() {
            return;
        }
        changer.note(announcement(&self.names(), self.until));
        let ends = self.ends;
        // A server that does not answer must not make it late.
        tokio::select! {
            () = sleep_until(ends) => {}
            () = self.watch(changer.context()) => {}
        }
    }

    async fn watch(&mut self, context: &Context) {
        let mut status = StatusLine::new(&context.printer);
        loop {
            sleep(INTERVAL).await;
            self.look().await;
            if self.rules.is_over() {
                return;
            }
            let rest = self.until.duration_since(self.now());
            let rest = human_duration(rest.max(SignedDuration::ZERO));
            let text = format!("effect NoSchedule for another {rest}");
            status.say("", &text);
        }
    }

    /// Looks at the rules once, and leaves out those that somebody else has changed.
    async fn look(&mut self) {
        for rule in self.rules.held.clone() {
            let name = rule.before.name.as_str();
            // What cannot be read now is looked at again in the end.
            let Ok(found) = self.mutation.rules.get(name).await else {
                continue;
            };
            let now = self.now();
            let found = found.as_ref().map(|stored| &stored.fact);
            self.rules.observe(&rule, found, now);
        }
    }

    fn now(&self) -> Timestamp {
        let now = self.mutation.live.client.server_time();
        now.unwrap_or_else(|| self.clock.now())
    }

    fn names(&self) -> Vec<String> {
        let rules = self.rules.held.iter();
        rules.map(|rule| rule.before.name.to_string()).collect()
    }

    /// Waits until what a stopped command has sent last is there: it is looked for next.
    pub(crate) async fn settle(&self) {
        sleep(IN_FLIGHT).await;
    }

    /// Gives every rule the effect back that it had, unless somebody else has changed it meanwhile.
    ///
    /// # Errors
    ///
    /// When a rule was left as it was found, or could not be changed; the others are given back all the same.
    pub(crate) async fn give_back(&mut self, changer: &mut Changer<'_>) -> Result<(), Failure> {
        let ledger = &changer.context().ledger;
        let names = self.names().into_iter();
        ledger.plan(names.map(|name| (name, RuleGoal::Reverted)));
        ledger.advise(self.rules.held.iter().map(|rule| way_back(&rule.before)));
        let began = Instant::now();
        let mut failed: Option<Failure> = None;
        let mut open = Vec::new();
        for (rule, back) in std::mem::take(&mut self.rules.left) {
            match ending(&rule.before, &back) {
                Ok(line) => changer.note(line),
                Err(failure) => failed = Some(joined(failed.take(), failure)),
            }
        }
        for rule in std::mem::take(&mut self.rules.held) {
            let back = self.restore(&rule, began, changer).await;
            if back.is_err() {
                open.push(way_back(&rule.before));
            }
            match back.and_then(|back| ending(&rule.before, &back)) {
                Ok(line) => changer.note(line),
                Err(failure) => failed = Some(joined(failed.take(), failure)),
            }
        }
        ledger.advise(open);
        failed.map_or(Ok(()), Err)
    }

    /// Gives one rule its effect back, again and again where something is in the way that passes.
    async fn restore(
        &self,
        rule: &TimedRule,
        began: Instant,
        changer: &mut Changer<'_>,
    ) -> Result<Revert, Failure> {
        let [mut pause, longest] = PAUSES;
        loop {
            let semantics = &self.mutation.view.semantics;
            let patch = RulePatch::effect(&rule.before.taint.effect, semantics, Some(self.now()));
            let tried = changer.try_give_back(&rule.before, &patch, |found| rule.found(found));
            let error = match tried.await {
                Ok(back) => return Ok(back),
                Err(error) => error,
            };
            let rest = self.timeout.saturating_sub(began.elapsed());
            if !error.retryability().is_tried_for(rest) {
                let failure = changer.failed(rule.before.name.as_str(), error);
                return Err(not_restored(failure, &rule.before));
            }
            changer.context().printer.note(&format!(
                "rule {}: cannot restore effect {} yet: {error}; trying again",
                rule.before.name, rule.before.taint.effect
            ));
            sleep(pause.min(rest)).await;
            pause = pause.saturating_mul(2).min(longest);
        }
    }
}
