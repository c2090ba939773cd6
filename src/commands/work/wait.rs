//! Waits for evictions: the clock and the reads around [`Settle`], which decides.
//!
//! ```text
//! ClusterView ─▶ Observer (one list and one watch of each kind) ─▶ Settle ─▶ until when, read again, or over
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::cluster_view::ClusterView;
use super::connect::Live;
use super::observer::RuleObserver;
use crate::commands::context::Context;
use crate::decide::choice::rules_without_published_devices;
use crate::decide::pending_evictions;
use crate::engine::settle::{Freshness, Goal, Patience, Settle, Shortfall, WaitStep};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Uid, Warning};
use crate::naming::duration::parse_duration;
use crate::output::StatusLine;
use crate::report::blocker::Blocker;
use crate::report::metadata::Warning as Oddity;
use crate::report::remaining_pods::NotEvictedPod;
use crate::report::wait::{WaitProgress, WaitReport};

/// Time for which the API must show zero pods to evict.
const SETTLE: Duration = Duration::from_secs(10);

/// Flags of waiting for the evictions that were begun.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Wait")]
pub(crate) struct WaitingArgs {
    /// Wait until all evicted pods have ended
    ///
    /// If --timeout is too short for the last eviction, for example because of a long tolerationSeconds, the
    /// command is refused before anything is changed.
    #[arg(long)]
    pub(crate) wait: bool,

    /// With --wait, how long to wait, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Duration,
}

impl WaitingArgs {
    /// Time limit of the wait, if there is one.
    pub(crate) fn patience(&self) -> Option<Patience> {
        self.wait.then_some(Patience {
            timeout: self.timeout,
            settle: SETTLE,
        })
    }
}

/// Goal of a wait, and the message for an interruption.
pub(crate) struct Wait<'a> {
    pub(crate) goal: Goal,
    /// The rules that are waited for, as they are when the wait begins.
    pub(crate) rules: &'a [DeviceTaintRule],
    /// The pods that were to be evicted when that was decided; none where nothing was decided here.
    pub(crate) expected: Vec<Uid>,
    pub(crate) patience: Patience,
    /// The next steps to print if the command is interrupted: by the rules as last observed, and what is left of the
    /// evictions.
    pub(crate) advice: &'a dyn Fn(&[DeviceTaintRule]) -> Vec<String>,
    pub(crate) progress_line: ProgressLine,
    /// The last look, for work that shows it by itself.
    pub(crate) last_look: Option<&'a RefCell<LastLook>>,
}

/// Last observation of a wait.
#[derive(Debug, Default)]
pub(crate) struct LastLook {
    /// The first obstacles that remain.
    pub(crate) left: Vec<Blocker>,
    /// The pods of which it is not known whether their nodes have released the devices.
    pub(crate) unreleased: Vec<Blocker>,
}

/// Selects if a wait shows its progress, and says what is left when the command is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressLine {
    Shown,
    /// The wait is part of work that shows a progress of its own.
    Hidden,
}

/// End of a wait.
#[derive(Debug)]
pub(crate) enum WaitEnd {
    /// The goal is reached.
    Met,
    /// Timeout, with the remaining blockers.
    TimedOut(Vec<Blocker>),
    /// Met as far as the API goes; these pods were deleted by force, and their nodes were not seen to release
    /// their devices.
    NotReleased(Vec<Blocker>),
}

/// A wait that is over.
#[derive(Debug)]
pub(crate) struct WaitResult {
    pub(crate) ending: WaitEnd,
    /// Number of pods to evict that were seen.
    pub(crate) pods: usize,
    /// Pods that use the devices and stay.
    pub(crate) staying: Vec<NotEvictedPod>,
    /// Limits of the result.
    pub(crate) warnings: Vec<Oddity>,
    /// True if the end of some pods could not be seen: it is unknown whether they were force-deleted.
    pub(crate) misses_force_deletions: bool,
    /// Duration of the wait.
    pub(crate) took: Duration,
}

impl WaitResult {
    /// The result as data.
    pub(crate) fn report(&self, wait: &Wait<'_>) -> WaitReport {
        let left = match &self.ending {
            WaitEnd::Met => None,
            WaitEnd::TimedOut(left) | WaitEnd::NotReleased(left) => Some(left.clone()),
        };
        WaitReport {
            waited_seconds: self.took.as_secs(),
            seen_pod_count: self.pods,
            not_evicted_pods: self.staying.clone(),
            warnings: self.warnings.clone(),
            ..WaitReport::new(wait.goal, wait.names(), left)
        }
    }
}

/// The warning in reports that pods may have been force-deleted during the wait; text has it when it becomes known.
fn undetected_force_deletions() -> Oddity {
    Oddity::from(&Warning {
        code: "force-deletions-not-detected",
        message: "force-deleted pods were detected only if they were stuck in Terminating, because pods could not be watched"
            .to_owned(),
        fix: None,
    })
}

impl Wait<'_> {
    /// Waits until the evicted pods have ended or the devices are idle, by the goal, starting from `view`.
    ///
    /// # Errors
    ///
    /// When the goal cannot be reached any more, and when the cluster cannot be read any more.
    pub(crate) async fn for_pods(
        &self,
        view: ClusterView,
        context: &Context,
    ) -> Result<WaitResult, Failure> {
        let unpublished = match self.goal {
            Goal::Idle(_) => {
                rules_without_published_devices(self.rules, &view.reading, &view.semantics)
            }
            Goal::Evicted | Goal::Observed | Goal::Deleted => None,
        };
        let warnings: Vec<Oddity> = unpublished.iter().map(Oddity::from).collect();
        for warning in &warnings {
            context.printer.warn(&warning.line());
        }
        let observer = RuleObserver::on_pods(view, self.rules, self.goal)?;
        // Only a warning: the evictions have begun, and the command is refused earlier where they have not.
        if self.patience.is_too_short_to_settle() {
            let text = pending_evictions::cannot_settle(self.patience);
            context.printer.warn(&text);
        }
        self.wait(observer, &warnings, context).await
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
    ) -> Result<WaitResult, Failure> {
        let observer = RuleObserver::on_rules(live.clone(), self.names(), self.goal).await?;
        self.wait(observer, &[], context).await
    }

    /// Names of the rules.
    pub(crate) fn names(&self) -> Vec<String> {
        self.rules
            .iter()
            .map(|rule| rule.name.to_string())
            .collect()
    }

    async fn wait(
        &self,
        mut observer: RuleObserver,
        warnings: &[Oddity],
        context: &Context,
    ) -> Result<WaitResult, Failure> {
        let began = Instant::now();
        let mut settle = Settle::new(self.goal, self.rules, self.patience)
            .expecting(self.expected.iter().cloned());
        // A wait that is part of other work has neither a progress nor a timeout of its own.
        let is_own = self.progress_line == ProgressLine::Shown;
        // Its end would take away the progress of that work.
        let mut status = is_own.then(|| StatusLine::new(&context.printer));
        let mut freshness = Freshness::Kept;
        let mut warned = !is_own;
        let mut last_state = String::new();
        loop {
            let progress = observer.view(freshness, &mut settle, began).await?;
            for odd in observer.oddities() {
                context.printer.warn(&Oddity::from(odd).line());
            }
            context.log.advise((self.advice)(&progress.rules));
            if progress.shows_progress() {
                last_state.clone_from(&progress.state);
                if let Some(status) = &mut status {
                    self.show(&progress, status, context);
                }
            }
            let is_own = self.progress_line == ProgressLine::Shown;
            if let Some(last) = self.last_look {
                let unreleased = progress.not_released.iter().map(Blocker::not_released);
                last.replace(LastLook {
                    left: progress.left.clone(),
                    unreleased: unreleased.collect(),
                });
            }
            // A drain has a timeout of its own.
            if is_own
                && !warned
                && let Some(short) = self.shortfall(&progress, began)
            {
                let text = pending_evictions::cannot_be_met(&short, self.patience);
                context.printer.warn(&text);
                warned = true;
            }
            let ending = match progress.step {
                WaitStep::Met => WaitEnd::Met,
                WaitStep::TimedOut => WaitEnd::TimedOut(progress.left),
                WaitStep::NotSeenReleased => WaitEnd::NotReleased(progress.left),
                WaitStep::ReadAgain => {
                    freshness = Freshness::Read;
                    continue;
                }
                WaitStep::WaitUntil(until) => {
                    freshness = Freshness::Kept;
                    observer.rest(until.saturating_sub(began.elapsed())).await?;
                    continue;
                }
                WaitStep::Never(never) => {
                    // Reasons and deadlines of the look before are those of a rule that is different now.
                    // If nothing was observed before it, nothing is left that is known.
                    if self.goal.is_about_pods() && is_own && !last_state.is_empty() {
                        let state = format!("when last observed: {last_state}");
                        context.log.left(&state);
                    }
                    return Err(pending_evictions::ended(
                        &never,
                        self.rules,
                        &progress.rules,
                    ));
                }
            };
            let misses_force_deletions = observer.misses_force_deletions();
            let unseen = misses_force_deletions.then(undetected_force_deletions);
            return Ok(WaitResult {
                ending,
                pods: progress.pods,
                staying: progress.staying,
                warnings: warnings.iter().cloned().chain(unseen).collect(),
                misses_force_deletions,
                took: began.elapsed(),
            });
        }
    }

    /// Shows the progress, and keeps it for an interruption.
    fn show(&self, progress: &WaitProgress, status: &mut StatusLine<'_>, context: &Context) {
        // An interruption prints it later, and times have passed.
        let left = format!("when last observed: {}", progress.line);
        context.log.left(&left);
        if self.goal.is_about_pods() {
            status.say(&progress.state, &progress.line);
        }
    }

    fn shortfall(&self, progress: &WaitProgress, began: Instant) -> Option<Shortfall> {
        let rest = Patience {
            timeout: self.patience.timeout.saturating_sub(began.elapsed()),
            ..self.patience
        };
        rest.shortfall(progress.last_due?, progress.now)
    }
}

/// A wait that has seen pods deleted by force: `left` names them.
pub(crate) fn not_seen_released(left: &[Blocker]) -> Failure {
    let failure = Failure::new(
        ExitStatus::TimedOut,
        "pods are gone whose nodes may not have released the devices",
    );
    let failure = with_left(failure, left);
    let nodes: BTreeSet<&str> = left
        .iter()
        .filter_map(|left| left.node.as_deref())
        .collect();
    nodes.into_iter().fold(failure, |failure, node| {
        failure.hint(format!(
            "to check with the kubelet, run on the node: kubectl devicetaint podresources check --node {node}"
        ))
    })
}

fn with_left(failure: Failure, left: &[Blocker]) -> Failure {
    left.iter().fold(failure, |failure, left| {
        failure.detail(format!("left: {}", left.message))
    })
}

/// The time is over, and this is left.
pub(crate) fn timed_out(timeout: Duration, left: &[Blocker]) -> Failure {
    let text = format!("timed out after {}s", timeout.as_secs_f64());
    with_left(Failure::new(ExitStatus::TimedOut, text), left)
}
