//! Waiting for what rules do: the clock and the reads around [`Settle`], which decides.
//!
//! ```text
//! Look ─▶ Eyes (one list and one watch of each kind) ─▶ Settle ─▶ until when, read again, or over
//! ```

use std::time::Duration;

use tokio::time::Instant;

use super::connect::Live;
use super::eyes::Eyes;
use super::look::Look;
use super::released::note_not_released;
use crate::commands::context::Context;
use crate::decide::{released, standing};
use crate::engine::Semantics;
use crate::engine::settle::{Freshness, Goal, Patience, Settle, Shortfall, WaitStep};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Uid};
use crate::output::Account;
use crate::report::glance::Glance;
use crate::report::happening::Happening;
use crate::report::metadata::Warning as Oddity;
use crate::report::staying::StayingPod;
use crate::report::wait::{Left, LeftReason, WaitReport, goal_name};

/// What is waited for, and what to say to whoever leaves.
pub(crate) struct Wait<'a> {
    pub(crate) goal: Goal,
    /// The rules that are waited for, as they are when the wait begins.
    pub(crate) rules: &'a [DeviceTaintRule],
    /// The pods that were to be evicted when that was decided; none where nothing was decided here.
    pub(crate) expected: Vec<Uid>,
    pub(crate) patience: Patience,
    /// What to do for whoever leaves while the rules are as they were seen last.
    pub(crate) advice: &'a dyn Fn(&[DeviceTaintRule]) -> Vec<String>,
}

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// What was waited for is the case.
    Met,
    /// The time is over, or more time would change nothing; what remains.
    TimedOut(Vec<Left>),
    /// It is the case as far as the API goes; these pods were deleted by force, and their nodes were not seen to
    /// release what they held.
    NotReleased(Vec<Left>),
}

/// A wait that is over.
#[derive(Debug)]
pub(crate) struct Waited {
    pub(crate) ending: Ending,
    /// Number of pods to evict that were seen.
    pub(crate) pods: usize,
    /// Who uses the devices and stays.
    pub(crate) staying: Vec<StayingPod>,
    /// How long it lasted.
    pub(crate) took: Duration,
}

impl Waited {
    /// What machines are told of it.
    pub(crate) fn report(&self, wait: &Wait<'_>) -> WaitReport {
        let left = match &self.ending {
            Ending::Met => None,
            Ending::TimedOut(left) | Ending::NotReleased(left) => Some(left.clone()),
        };
        WaitReport {
            waited_seconds: self.took.as_secs(),
            pods: self.pods,
            staying: self.staying.clone(),
            ..WaitReport::new(wait.goal, wait.names(), left)
        }
    }
}

impl Wait<'_> {
    /// Waits for everybody to go whom the rules evict, from the state on that `look` shows.
    ///
    /// # Errors
    ///
    /// When that cannot come true any more, and when the cluster cannot be asked any more.
    pub(crate) async fn for_pods(&self, look: Look, context: &Context) -> Result<Waited, Failure> {
        let semantics = look.semantics;
        let eyes = Eyes::on_pods(look, self.rules, self.goal)?;
        if self.patience.is_too_short_to_settle() {
            let text = standing::cannot_settle(self.patience);
            context.printer.warn(&text);
        }
        self.wait(eyes, &semantics, context).await
    }

    /// Waits for something about the rules themselves.
    ///
    /// # Errors
    ///
    /// As [`Wait::for_pods`].
    pub(crate) async fn for_rules(
        &self,
        live: &Live,
        context: &Context,
    ) -> Result<Waited, Failure> {
        let eyes = Eyes::on_rules(live.clone(), self.names(), self.goal).await?;
        // What rules themselves become is the same in every version that has them.
        self.wait(eyes, &Semantics::newest(), context).await
    }

    /// What the rules are called.
    pub(crate) fn names(&self) -> Vec<String> {
        self.rules
            .iter()
            .map(|rule| rule.name.to_string())
            .collect()
    }

    async fn wait(
        &self,
        mut eyes: Eyes,
        semantics: &Semantics,
        context: &Context,
    ) -> Result<Waited, Failure> {
        let began = Instant::now();
        let settle = Settle::new(self.goal, self.rules, self.patience, semantics);
        let mut settle = settle.expecting(self.expected.iter().cloned());
        let mut progress = Account::new(&context.printer);
        let mut freshness = Freshness::Kept;
        let mut warned = false;
        let mut told = None;
        let mut noted = 0;
        loop {
            let glance = eyes.look(freshness, &mut settle, began).await?;
            for odd in eyes.oddities() {
                context.printer.warn(&Oddity::from(odd).line());
            }
            context.ledger.advise((self.advice)(&glance.rules));
            if glance.shows_progress() {
                context.ledger.left(&glance.line);
                if self.goal.is_about_pods() {
                    progress.say(&glance.state, &glance.line);
                }
                self.tell(&glance, &mut told, context);
            }
            // Nobody else has seen it, and the rule may be all that is left of this wait.
            if glance.not_released.len() > noted {
                noted = glance.not_released.len();
                note_not_released(&glance, eyes.rules(), context).await;
            }
            if !warned && let Some(short) = self.shortfall(&glance, began) {
                context
                    .printer
                    .warn(&standing::cannot_be_met(&short, self.patience));
                warned = true;
            }
            let over = |ending| {
                let waited = Waited {
                    ending,
                    pods: glance.pods,
                    staying: glance.staying.clone(),
                    took: began.elapsed(),
                };
                let wait = waited.report(self);
                context.happens(Happening::WaitEnded { wait });
                waited
            };
            match glance.step {
                // What an earlier wait has seen is still so: the API shows as free what may be held.
                WaitStep::Met if self.goal.is_about_pods() => {
                    let noted = released::left(&glance.rules);
                    let is_free = noted.is_empty();
                    let noted = Ending::NotReleased(noted);
                    return Ok(over(if is_free { Ending::Met } else { noted }));
                }
                WaitStep::Met => return Ok(over(Ending::Met)),
                WaitStep::TimedOut | WaitStep::ComesBack => {
                    return Ok(over(Ending::TimedOut(glance.left.clone())));
                }
                WaitStep::NotSeenReleased => {
                    return Ok(over(Ending::NotReleased(glance.left.clone())));
                }
                WaitStep::ReadAgain => freshness = Freshness::Read,
                WaitStep::WaitUntil(until) => {
                    freshness = Freshness::Kept;
                    eyes.rest(until.saturating_sub(began.elapsed())).await?;
                }
                WaitStep::Never(never) => {
                    return Err(standing::ended(&never, self.rules, &glance.rules));
                }
            }
        }
    }

    /// Tells as an event how far it is, whenever that is another than was `told` last.
    fn tell(&self, glance: &Glance, told: &mut Option<String>, context: &Context) {
        let state = if self.goal.is_about_pods() {
            &glance.state
        } else {
            &glance.line
        };
        if context.journal().is_none() || told.as_ref() == Some(state) {
            return;
        }
        context.happens(Happening::Progress {
            goal: goal_name(self.goal).to_owned(),
            rules: self.names(),
            pods: glance.pods,
            pods_left: glance.pods_left,
            message: glance.line.clone(),
        });
        *told = Some(state.clone());
    }

    fn shortfall(&self, glance: &Glance, began: Instant) -> Option<Shortfall> {
        let rest = Patience {
            timeout: self.patience.timeout.saturating_sub(began.elapsed()),
            ..self.patience
        };
        rest.shortfall(glance.last_due?, glance.now)
    }
}

/// The time is over, or more time would change nothing, and this is left.
pub(crate) fn timed_out(timeout: Duration, left: &[Left]) -> Failure {
    let comes_back = |left: &Left| left.reason == LeftReason::ComesBack;
    let text = if left.iter().any(comes_back) {
        "the wait cannot succeed: evicted pods are replaced and evicted again".to_owned()
    } else {
        format!("timed out after {}s", timeout.as_secs_f64())
    };
    let failure = Failure::new(ExitStatus::TimedOut, text);
    left.iter().fold(failure, |failure, left| {
        failure.detail(format!("left: {}", left.message))
    })
}
