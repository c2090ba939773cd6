//! Waiting for what rules do: the clock and the reads around [`Settle`], which decides.
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
use super::unreleased_devices::{ReleaseRecords, clear_ended};
use crate::commands::context::Context;
use crate::decide::choice::rules_without_published_devices;
use crate::decide::identity::{ChangedIdentity, NotedHardware, changed_identities};
use crate::decide::rules_on::RuleWords;
use crate::decide::wait_advice::{EvictionsLeft, UnreleasedLine};
use crate::decide::{in_use_elsewhere, unreleased_devices, wait_advice};
use crate::engine::Semantics;
use crate::engine::settle::{Freshness, Goal, Patience, Settle, Shortfall, WaitStep};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, NodeName, Uid, Warning};
use crate::output::StatusLine;
use crate::report::blocker::Blocker;
use crate::report::command_event::EventDetail;
use crate::report::metadata::Warning as Oddity;
use crate::report::unevicted_pods::{NotEvictedPod, staying_elsewhere};
use crate::report::wait::WaitReport;
use crate::report::wait_progress::WaitProgress;

/// What is waited for, and what to say to whoever leaves.
pub(crate) struct Wait<'a> {
    pub(crate) goal: Goal,
    /// The rules that are waited for, as they are when the wait begins.
    pub(crate) rules: &'a [DeviceTaintRule],
    /// The pods that were to be evicted when that was decided; none where nothing was decided here.
    pub(crate) expected: Vec<Uid>,
    pub(crate) patience: Patience,
    /// The next steps to print if the command is interrupted: by the rules as last observed, and what is left of the
    /// evictions.
    pub(crate) advice: &'a dyn Fn(&[DeviceTaintRule], EvictionsLeft) -> Vec<String>,
    pub(crate) progress_line: ProgressLine,
    /// The last look, for work that shows it by itself.
    pub(crate) last_look: Option<&'a RefCell<LastLook>>,
}

/// What a wait has seen last.
#[derive(Debug, Default)]
pub(crate) struct LastLook {
    /// How often it has looked.
    pub(crate) looks: usize,
    /// What is left, the first of it.
    pub(crate) left: Vec<Blocker>,
    /// The pods of which it is not known whether their nodes have released the devices.
    pub(crate) unreleased: Vec<Blocker>,
}

/// Whether a wait shows its progress, and says what is left when the command is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressLine {
    Shown,
    /// The wait is part of work that shows a progress of its own.
    Hidden,
}

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum WaitEnd {
    /// What was waited for is the case.
    Met,
    /// The time is over; what remains.
    TimedOut(Vec<Blocker>),
    /// It is the case as far as the API goes; these pods were deleted by force, and their nodes were not seen to
    /// release what they held.
    NotReleased(Vec<Blocker>),
}

impl WaitEnd {
    /// What the API had not shown to be released, of a wait that did not time out.
    pub(crate) fn not_released(&self) -> Option<Vec<Blocker>> {
        match self {
            Self::TimedOut(_) => None,
            Self::Met => Some(Vec::new()),
            Self::NotReleased(left) => Some(left.clone()),
        }
    }

    /// How a wait ends of which the kubelet of this node still holds what is `left`, and of which the API had not shown
    /// that `not_released` was: what the kubelet has released was released.
    pub(crate) fn verified(
        left: Vec<Blocker>,
        not_released: Vec<Blocker>,
        node: Option<&NodeName>,
    ) -> Self {
        let is_elsewhere = |left: &Blocker| left.node.as_deref() != node.map(NodeName::as_str);
        let elsewhere: Vec<Blocker> = not_released.into_iter().filter(is_elsewhere).collect();
        if !left.is_empty() {
            Self::TimedOut(left)
        } else if elsewhere.is_empty() {
            Self::Met
        } else {
            Self::NotReleased(elsewhere)
        }
    }
}

/// What is known about the hardware of the rules when a wait for pods or idle devices begins.
#[derive(Default)]
struct BesideWait {
    /// Rules that record a device of the same hardware: it is idle when all of it is, whichever rule records that a
    /// part of it is not.
    recorded: Vec<DeviceTaintRule>,
    /// What the wait cannot see.
    warnings: Vec<Oddity>,
    /// The rules whose device names stand for other hardware.
    changed: Vec<ChangedIdentity>,
}

/// A wait that is over.
#[derive(Debug)]
pub(crate) struct WaitResult {
    pub(crate) ending: WaitEnd,
    /// Number of pods to evict that were seen.
    pub(crate) pods: usize,
    /// Who uses the devices and stays.
    pub(crate) staying: Vec<NotEvictedPod>,
    /// What the result does not cover.
    pub(crate) warnings: Vec<Oddity>,
    /// Whether the end of some pods could not be seen: it is unknown whether they were force-deleted.
    pub(crate) misses_force_deletions: bool,
    /// Other rules that recorded unreleased devices of the same hardware when it began, with these records alone.
    pub(crate) recorded: Vec<DeviceTaintRule>,
    /// How long it lasted.
    pub(crate) took: Duration,
}

impl WaitResult {
    /// As it ended once the kubelet of `node` was asked.
    pub(crate) fn verified(self, ending: WaitEnd, node: Option<&NodeName>, took: Duration) -> Self {
        // A pod that the API showed before the kubelet was asked may be gone by now.
        let staying = match (&ending, node) {
            (WaitEnd::Met, Some(node)) => staying_elsewhere(self.staying, node),
            (WaitEnd::Met | WaitEnd::TimedOut(_) | WaitEnd::NotReleased(_), _) => self.staying,
        };
        Self {
            ending,
            staying,
            took,
            ..self
        }
    }

    /// What machines are told of it.
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
    /// The warnings about the hardware of the rules, which are printed, and the view with what they are made from.
    ///
    /// # Errors
    ///
    /// As [`RuleWords::refuse_moved_hardware`].
    pub(crate) async fn identities(
        &self,
        view: ClusterView,
        typed: &RuleWords<'_>,
        context: &Context,
    ) -> Result<(ClusterView, Vec<Oddity>), Failure> {
        let view = view.with_identities_of(self.rules).await?;
        let identities = view.identity_warnings(self.rules);
        let names: Vec<&str> = self.rules.iter().map(|rule| rule.name.as_str()).collect();
        let changed = changed_identities(self.rules, &view.reading, &view.semantics);
        typed.refuse_moved_hardware(&names, &changed)?;
        let identities: Vec<Oddity> = identities.iter().map(Oddity::from).collect();
        for warning in &identities {
            context.printer.warn(&warning.line());
        }
        Ok((view, identities))
    }

    /// The warnings about pods that use the hardware of the rules' devices as other devices, which are printed: a wait for
    /// evictions does not wait for them, and they are not evicted.
    pub(crate) fn other_users(&self, view: &ClusterView, context: &Context) -> Vec<Oddity> {
        if self.goal != Goal::Evicted {
            return Vec::new();
        }
        let (snapshot, semantics) = (view.snapshot(), &view.semantics);
        let partitions = in_use_elsewhere::partition_warnings(self.rules, snapshot, semantics);
        let elsewhere = in_use_elsewhere::warnings(self.rules, snapshot, semantics);
        let found = partitions.iter().chain(&elsewhere);
        let found: Vec<Oddity> = found.map(Oddity::from).collect();
        for warning in &found {
            context.printer.warn(&warning.line());
        }
        found
    }

    /// The warnings about the hardware of the rules that were none `before` the wait, which are printed: pods on renamed
    /// devices are not evicted, and a wait for evictions does not follow them. `reread` reads the cluster again.
    pub(crate) async fn renamed_since(
        &self,
        ending: &WaitEnd,
        before: &[Oddity],
        reread: impl Future<Output = Result<ClusterView, Failure>>,
        context: &Context,
    ) -> Vec<Oddity> {
        let is_noted = self
            .rules
            .iter()
            .any(|rule| NotedHardware::on(rule).is_some());
        if !is_noted || self.goal != Goal::Evicted || !matches!(ending, WaitEnd::Met) {
            return Vec::new();
        }
        let looked = async { reread.await?.with_identities_of(self.rules).await };
        let found = match Box::pin(looked).await {
            Ok(view) => view.identity_warnings(self.rules),
            Err(failure) => vec![Warning {
                code: "identity-unknown",
                message: format!(
                    "cannot tell whether devices of the rules have new names: {failure}"
                ),
                fix: None,
            }],
        };
        let found = found.iter().map(Oddity::from);
        let new: Vec<Oddity> = found.filter(|one| !before.contains(one)).collect();
        for warning in &new {
            context.printer.warn(&warning.line());
        }
        new
    }

    /// Waits until the evicted pods have ended or the devices are idle, as the goal says, starting from `view`.
    ///
    /// # Errors
    ///
    /// When that cannot come true any more, and when the cluster cannot be asked any more.
    pub(crate) async fn for_pods(
        &self,
        view: ClusterView,
        context: &Context,
    ) -> Result<WaitResult, Failure> {
        let semantics = view.semantics;
        let changed = changed_identities(self.rules, &view.reading, &semantics);
        let recorded = match self.goal {
            Goal::Idle | Goal::Evicted => {
                unreleased_devices::on_same_hardware(self.rules, view.snapshot(), &semantics)
            }
            Goal::Observed | Goal::Deleted => Vec::new(),
        };
        let unpublished = match self.goal {
            Goal::Idle => rules_without_published_devices(self.rules, &view.reading, &semantics),
            Goal::Evicted | Goal::Observed | Goal::Deleted => None,
        };
        let beside = BesideWait {
            recorded,
            warnings: unpublished.iter().map(Oddity::from).collect(),
            changed,
        };
        for warning in &beside.warnings {
            context.printer.warn(&warning.line());
        }
        let observer = RuleObserver::on_pods(view, self.rules, self.goal)?;
        // Only a warning: what the wait is for has begun, and is refused earlier where it has not.
        if self.patience.is_too_short_to_settle() {
            let text = wait_advice::cannot_settle(self.patience);
            context.printer.warn(&text);
        }
        self.wait(observer, &semantics, &beside, context).await
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
        // What rules themselves become is the same in every version that has them.
        self.wait(
            observer,
            &Semantics::newest(),
            &BesideWait::default(),
            context,
        )
        .await
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
        mut observer: RuleObserver,
        semantics: &Semantics,
        beside: &BesideWait,
        context: &Context,
    ) -> Result<WaitResult, Failure> {
        let recorded = &beside.recorded[..];
        let began = Instant::now();
        let mut settle = Settle::new(self.goal, self.rules, self.patience, semantics)
            .expecting(self.expected.iter().cloned());
        // Its end would take away the progress of the work that this wait is part of.
        let mut status = match self.progress_line {
            ProgressLine::Shown => Some(StatusLine::new(&context.printer)),
            ProgressLine::Hidden => None,
        };
        let mut freshness = Freshness::Kept;
        let mut warned = false;
        let mut noted = 0;
        let mut cleared = BTreeSet::new();
        let mut last_state = String::new();
        loop {
            let progress = observer.view(freshness, &mut settle, began).await?;
            for odd in observer.oddities() {
                context.printer.warn(&Oddity::from(odd).line());
            }
            context
                .ledger
                .advise((self.advice)(&progress.rules, progress.evictions_left()));
            if progress.shows_progress() {
                last_state.clone_from(&progress.state);
                if let Some(status) = &mut status {
                    // Whoever interrupts the wait reads it later, and times have passed.
                    let left = format!("when last observed: {}", progress.line);
                    context.ledger.left(&left);
                    if self.goal.is_about_pods() {
                        status.say(&progress.state, &progress.line);
                    }
                }
            }
            // Nobody else has seen it, and the rule may be all that is left of this wait.
            if progress.not_released.len() > noted {
                noted = progress.not_released.len();
                let pods = &progress.not_released;
                let records = ReleaseRecords {
                    waited: &progress.rules,
                    rules: observer.rules(),
                    context,
                };
                records.note(pods, observer.hardware(), progress.now).await;
            }
            let has_ended = |pod: &str| settle.has_ended(&pod.into());
            // Once it is noted: whoever reads it may end the wait. What an earlier wait has seen is still so.
            if let Some(last) = self.last_look {
                let looks = last.borrow().looks.saturating_add(1);
                let seen = progress.not_released.iter().map(Blocker::not_released);
                last.replace(LastLook {
                    looks,
                    left: progress.left.clone(),
                    unreleased: seen
                        .chain(recorded_only(&progress, recorded, has_ended))
                        .collect(),
                });
            }
            let with_ended = unreleased_devices::with_ended(&progress.rules, has_ended);
            let new: Vec<String> = with_ended
                .into_iter()
                .filter(|name| cleared.insert(name.clone()))
                .collect();
            if !new.is_empty() {
                clear_ended(&new, has_ended, observer.rules(), context).await;
            }
            // A drain has a timeout of its own.
            let is_own = self.progress_line == ProgressLine::Shown;
            if is_own
                && !warned
                && let Some(short) = self.shortfall(&progress, began)
            {
                context
                    .printer
                    .warn(&wait_advice::cannot_be_met(&short, self.patience));
                warned = true;
            }
            let misses_force_deletions = observer.misses_force_deletions();
            let over = |ending| {
                let unseen = misses_force_deletions.then(undetected_force_deletions);
                WaitResult {
                    ending,
                    pods: progress.pods,
                    staying: progress.staying.clone(),
                    warnings: beside.warnings.iter().cloned().chain(unseen).collect(),
                    misses_force_deletions,
                    recorded: beside.recorded.clone(),
                    took: began.elapsed(),
                }
            };
            match progress.step {
                // What an earlier wait has seen is still so: the API shows as free what may be held.
                WaitStep::Met if self.goal.is_about_pods() => {
                    let noted = recorded_blockers(&progress.rules, recorded, has_ended);
                    return Ok(over(if noted.is_empty() {
                        WaitEnd::Met
                    } else {
                        WaitEnd::NotReleased(noted)
                    }));
                }
                WaitStep::Met => return Ok(over(WaitEnd::Met)),
                WaitStep::TimedOut => {
                    // With the wait the only one ends that would see how they go.
                    let pods = settle.stuck();
                    let records = ReleaseRecords {
                        waited: &progress.rules,
                        rules: observer.rules(),
                        context,
                    };
                    let hardware = observer.hardware();
                    records.note(&pods, hardware, progress.now).await;
                    let mut left = progress.left.clone();
                    if self.goal.is_about_pods() {
                        // Pods that are there are among what is left already.
                        let is_told = |uid: &str| {
                            has_ended(uid) || pods.iter().any(|pod| pod.uid.as_str() == uid)
                        };
                        left.extend(recorded_only(&progress, recorded, is_told));
                    }
                    return Ok(over(WaitEnd::TimedOut(left)));
                }
                WaitStep::NotSeenReleased => {
                    let mut left = progress.left.clone();
                    left.extend(recorded_only(&progress, recorded, has_ended));
                    return Ok(over(WaitEnd::NotReleased(left)));
                }
                WaitStep::ReadAgain => freshness = Freshness::Read,
                WaitStep::WaitUntil(until) => {
                    freshness = Freshness::Kept;
                    observer.rest(until.saturating_sub(began.elapsed())).await?;
                }
                WaitStep::Never(never) => {
                    // Reasons and deadlines of the look before are those of a rule that is different now.
                    // If nothing was observed before it, nothing is left that is known.
                    let is_known = !last_state.is_empty() && status.is_some();
                    if self.goal.is_about_pods() && is_known {
                        let state = format!("when last observed: {last_state}");
                        context.ledger.left(&state);
                    }
                    return Err(wait_advice::ended(
                        &never,
                        self.rules,
                        &progress.rules,
                        &beside.changed,
                    ));
                }
            }
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

/// What earlier waits have recorded on these `rules`, and on others as they were when the wait began, but for pods whose end
/// was not observed then, and of which `is_settled` accepts the UID.
fn recorded_blockers(
    rules: &[DeviceTaintRule],
    others: &[DeviceTaintRule],
    is_settled: impl Fn(&str) -> bool,
) -> Vec<Blocker> {
    let recording = [rules, others].concat();
    let recorded = unreleased_devices::left(&recording).into_iter();
    recorded
        .filter(|one| !one.noted.is_ended(&is_settled))
        .map(|one| Blocker::from(&one))
        .collect()
}

/// What [`recorded_blockers`] finds of pods that this wait has not seen itself.
fn recorded_only(
    progress: &WaitProgress,
    others: &[DeviceTaintRule],
    is_settled: impl Fn(&str) -> bool,
) -> Vec<Blocker> {
    let seen = progress.not_released.iter().map(|pod| pod.uid.as_str());
    let seen: BTreeSet<&str> = seen.collect();
    let mut recorded = recorded_blockers(&progress.rules, others, is_settled);
    recorded.retain(|left| left.uid.as_deref().is_none_or(|uid| !seen.contains(uid)));
    recorded
}

/// A wait that has seen pods deleted by force: `left` names them.
pub(crate) fn not_seen_released(left: &[Blocker]) -> Failure {
    let lines = left.iter().map(|left| UnreleasedLine {
        message: &left.message,
        node: left.node.as_deref(),
    });
    wait_advice::not_seen_released(&lines.collect::<Vec<_>>())
}

/// The time is over, and this is left.
pub(crate) fn timed_out(timeout: Duration, left: &[Blocker]) -> Failure {
    let text = format!("timed out after {}s", timeout.as_secs_f64());
    let failure = Failure::new(ExitStatus::TimedOut, text);
    left.iter().fold(failure, |failure, left| {
        failure.detail(format!("left: {}", left.message))
    })
}

/// The failure of a kubelet that was silent until the time of the wait was over, as that of the wait; any other as it is.
pub(crate) fn with_silent_kubelet(failure: Failure, timeout: Duration) -> Failure {
    if failure.status() != ExitStatus::TimedOut {
        return failure;
    }
    let late = timed_out(timeout, &[Blocker::silent(&failure.to_string())]);
    failure.hints().iter().cloned().fold(late, Failure::hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kubelet_has_released_is_released_and_what_is_open_elsewhere_stays_open() {
        let on = |node: &str| Blocker {
            node: Some(node.to_owned()),
            ..Blocker::silent("left")
        };
        let node = NodeName::from("node-7");
        let ended = |left, open| WaitEnd::verified(left, open, Some(&node));
        assert!(matches!(
            ended(vec![on("node-7")], Vec::new()),
            WaitEnd::TimedOut(_)
        ));
        assert!(matches!(
            ended(Vec::new(), vec![on("node-7")]),
            WaitEnd::Met
        ));
        let WaitEnd::NotReleased(open) = ended(Vec::new(), vec![on("node-7"), on("node-8")]) else {
            panic!("node-8 is not asked");
        };
        assert_eq!(open, [on("node-8")]);
    }

    #[test]
    fn a_wait_that_a_silent_kubelet_has_used_up_has_timed_out() {
        let silent = Failure::new(
            ExitStatus::TimedOut,
            "the kubelet did not respond within 6s",
        )
        .hint("check the kubelet's log: journalctl -u kubelet");
        let failure = with_silent_kubelet(silent, Duration::from_secs(6));
        assert_eq!(failure.status(), ExitStatus::TimedOut);
        assert_eq!(failure.to_string(), "timed out after 6s");
        assert_eq!(
            failure.details(),
            ["left: the kubelet did not respond within 6s"]
        );
        assert_eq!(
            failure.hints(),
            ["check the kubelet's log: journalctl -u kubelet"]
        );
        let other = Failure::new(ExitStatus::TryAgain, "the kubelet is unavailable");
        let other = with_silent_kubelet(other, Duration::from_secs(6));
        assert_eq!(other.status(), ExitStatus::TryAgain);
    }
}
