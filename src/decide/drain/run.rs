//! The next step of a drain.
//!
//! Takes the facts about the current unit and the elapsed time, and decides what to do next. Pods are evicted one after the
//! other within a workload: the next one only when as many of its pods are ready as at the first look. Workloads do not
//! wait for each other: a budget that covers several of them refuses what is too much. Pods whose loss does harm come
//! last.
//!
//! ```text
//! facts, elapsed ─▶ next ─▶ Evict | Restart | Raise | Wait | Finished(Idle | Held | Blocked | Changed)
//! ```
//!
//! Without `--force`, only the Eviction API removes a pod, so that budgets hold. Data that could not be read makes a unit
//! neither idle nor held.

use super::facts::{IdleWait, IncludedClass, PodClass, UnitFacts, UnitPod};
use super::start::RestartProgress;
use crate::error::{ExitStatus, Failure};
use crate::model::Uid;
use crate::naming::duration::parse_duration;
use crate::naming::phrase::{counted, few};
use crate::naming::shell::word;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time for which devices must be idle, and for the scheduler to observe taints.
pub const SETTLE: Duration = Duration::from_secs(5);
/// Limits of a drain.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DrainLimits {
    /// Restart Deployments with maxSurge above 0 instead of evicting their pods
    ///
    /// A restart replaces all pods of the Deployment, also those on other devices, and does not respect budgets.
    #[arg(long, help_heading = "Drain")]
    pub restart: bool,

    /// Evict remaining pods by NoExecute, ignoring budgets
    #[arg(long, help_heading = "Drain")]
    pub force: bool,

    /// With --force, time before NoExecute is set, such as 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration, help_heading = "Drain", hide_short_help = true)]
    pub grace: Duration,

    /// How long a unit may take, such as 30m
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = parse_duration, help_heading = "Drain")]
    pub timeout: Duration,

    /// Also evict pods of a class: daemonsets, singletons, jobs, unmanaged
    ///
    /// `singletons` are pods of single-replica StatefulSets. No known workload recreates `unmanaged` pods. Repeatable.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        value_name = "CLASS",
        help_heading = "Drain"
    )]
    pub include: Vec<IncludedClass>,

    /// Proceed even if replacements may stay pending without a device
    #[arg(long, help_heading = "Safety", hide_short_help = true)]
    pub accept_unplaceable: bool,
}

impl DrainLimits {
    /// Time after which the rest is evicted by NoExecute.
    pub fn force_after(&self) -> Option<Duration> {
        self.force.then_some(self.grace)
    }
}

/// Next step of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainStep {
    /// Ask the Eviction API to evict the pod with this UID.
    Evict(Uid),
    /// Restart the Deployment with this UID.
    Restart(Uid),
    /// Give the rules of the unit effect NoExecute.
    Raise,
    /// Observe the unit again.
    Wait,
    /// The unit has ended.
    Finished(UnitEnd),
}

/// Result of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitEnd {
    /// No claim holds its devices, admin access aside.
    Idle,
    /// Pods hold its devices that the drain does not evict, or were force-deleted and may still use them.
    Held(Vec<String>),
    /// It is not idle in time, for these reasons.
    Blocked(Vec<String>),
    /// Another user or run has changed its rules.
    Changed(String),
}

/// A run of a drain: what it remembers between looks. All durations are since it began.
#[derive(Clone, Debug, Default)]
pub struct DrainRun {
    limits: DrainLimits,
    /// True if an earlier run may have evicted pods, so that the number of ready pods before the drain is unknown.
    is_resumed: bool,
    /// Start of the current unit.
    began: Duration,
    /// Evicted pods of the current unit.
    evicted: BTreeSet<Uid>,
    refused: RefusedEvictions,
    /// Last eviction from each workload.
    disrupted: BTreeMap<Uid, Duration>,
    /// Ready pods of each workload before its first eviction.
    before: BTreeMap<Uid, i32>,
    /// Workloads that were ready at the last two looks, the newer last.
    ready: [BTreeSet<Uid>; 2],
    /// Deployments that cannot be restarted.
    not_restarted: BTreeSet<Uid>,
    /// Since when no pod is left to evict.
    empty_since: Option<Duration>,
    is_hint_given: bool,
}

impl DrainRun {
    /// A run that has not looked yet.
    pub fn new(limits: DrainLimits, is_resumed: bool) -> Self {
        Self {
            limits,
            is_resumed,
            ..Self::default()
        }
    }

    /// Notes that the next unit begins.
    pub fn begin_unit(&mut self, elapsed: Duration) {
        self.began = elapsed;
        self.evicted.clear();
        self.refused.clear();
        self.empty_since = None;
    }

    /// Number of pods of the current unit that this run has evicted.
    pub fn evicted(&self) -> usize {
        self.evicted.len()
    }

    /// Notes the reply to the eviction of a pod.
    pub fn replied(&mut self, pod: &UnitPod, reply: &EvictionReply, elapsed: Duration) {
        match reply {
            // A lost reply counts as an eviction: waiting for the workload is right in both cases.
            EvictionReply::Accepted | EvictionReply::Unknown(_) => {
                let workload = pod.workload.clone();
                self.disrupted.extend(workload.map(|uid| (uid, elapsed)));
                self.evicted.insert(pod.uid.clone());
                self.refused.remove(&pod.uid);
            }
            EvictionReply::Gone => self.refused.remove(&pod.uid),
            EvictionReply::Refused(message) => {
                self.refused.refuse(&pod.uid, message.clone(), elapsed);
            }
        }
    }

    /// Notes that a Deployment was restarted, or may have been.
    pub fn restarted(&mut self, owner: &Uid, elapsed: Duration) {
        self.disrupted.insert(owner.clone(), elapsed);
    }

    /// Notes that a Deployment cannot be restarted: its pods are evicted.
    pub fn cannot_restart(&mut self, owner: &Uid) {
        self.not_restarted.insert(owner.clone());
    }

    /// The next step.
    pub fn next(&mut self, facts: &UnitFacts, elapsed: Duration) -> DrainStep {
        // First of all: without its rules, nothing keeps new pods off the devices, and evictions are in vain.
        if let Some(why) = &facts.change {
            return DrainStep::Finished(UnitEnd::Changed(why.clone()));
        }
        let in_unit = elapsed.saturating_sub(self.began);
        let is_over = in_unit >= self.limits.timeout;
        if !facts.unread.is_empty() {
            return wait_or_block(is_over, facts.unread.clone());
        }
        self.note(facts, elapsed);
        let included = &self.limits.include.clone()[..];
        let leaves = |pod: &&UnitPod| pod.is_terminating || pod.is_evicted(included);
        let leaving: Vec<&UnitPod> = facts.pods.iter().filter(leaves).collect();
        if leaving.is_empty() {
            return self.without_evictions(facts, is_over, elapsed);
        }
        self.empty_since = None;
        let staying = leaving.iter().copied();
        let staying: Vec<&UnitPod> = staying.filter(|pod| !pod.is_terminating).collect();
        // Before the timeout, so that `--force` still applies if both are due at once.
        let force_after = self.limits.force_after();
        let is_due = force_after.is_some_and(|after| in_unit >= after);
        if is_due && !facts.is_raised && !staying.is_empty() {
            return DrainStep::Raise;
        }
        if is_over {
            return DrainStep::Finished(UnitEnd::Blocked(self.reasons(facts, &leaving, elapsed)));
        }
        // The eviction controller evicts them.
        if facts.is_raised {
            return DrainStep::Wait;
        }
        let mut restarts = staying.iter().filter_map(|pod| self.restart_of(facts, pod));
        if let Some((owner, _)) =
            restarts.find(|(_, progress)| *progress == RestartProgress::NotBegun)
        {
            return DrainStep::Restart(owner.clone());
        }
        // One pod a step: each reply changes what the budgets allow. A refused eviction does not delay the others.
        let open = staying
            .into_iter()
            .filter(|pod| self.obstacle(facts, &leaving, pod, elapsed).is_none());
        let retry_at = |pod: &&UnitPod| self.refused.get(&pod.uid).map(|refused| refused.retry_at);
        match open.min_by_key(retry_at) {
            Some(pod) if retry_at(&pod).is_none_or(|at| at <= elapsed) => {
                DrainStep::Evict(pod.uid.clone())
            }
            Some(_) | None => DrainStep::Wait,
        }
    }

    /// The one hint, once an eviction has been refused for long: the Deployment whose replacements could start first.
    pub fn hint(&mut self, facts: &UnitFacts, elapsed: Duration) -> Option<String> {
        if self.is_hint_given || self.limits.restart {
            return None;
        }
        let is_old = |pod: &&UnitPod| {
            let refused = self.refused.get(&pod.uid);
            refused.is_some_and(|refused| refused.is_old(elapsed))
        };
        let mut pods = facts.pods.iter().filter(is_old);
        let (pod, owner) = pods.find_map(|pod| {
            let owner = facts.restarts.get(pod.workload.as_ref()?)?;
            Some((pod, owner))
        })?;
        self.is_hint_given = true;
        let name = &pod.name;
        Some(format!(
            "the eviction of pod {name} has been refused for 1m; --restart restarts {}, which starts new pods first",
            owner.describe()
        ))
    }

    fn note(&mut self, facts: &UnitFacts, elapsed: Duration) {
        // These pods leave without an eviction by this run, also by effect NoExecute.
        let included = &self.limits.include.clone()[..];
        let leaves =
            |pod: &&UnitPod| pod.is_terminating || facts.is_raised && pod.is_evicted(included);
        let leaving = facts.pods.iter().filter(leaves);
        for uid in leaving.filter_map(|pod| pod.workload.clone()) {
            self.disrupted.entry(uid).or_insert(elapsed);
        }
        for (uid, workload) in &facts.workloads {
            // Once a pod of the workload was evicted, the number from before is kept.
            if !self.is_resumed
                && !self.disrupted.contains_key(uid)
                && let Some(ready) = workload.ready
            {
                self.before.insert(uid.clone(), ready);
            }
        }
        let is_ready = |uid: &Uid| {
            let workload = facts.workloads.get(uid);
            workload.is_none_or(|workload| workload.is_ready(self.before.get(uid).copied()))
        };
        let ready = facts.workloads.keys().filter(|uid| is_ready(uid));
        let ready = ready.cloned().collect();
        self.ready.swap(0, 1);
        self.ready[1] = ready;
    }

    /// The Deployment that is restarted instead of evicting the pod, with its progress.
    fn restart_of<'a>(
        &self,
        facts: &'a UnitFacts,
        pod: &UnitPod,
    ) -> Option<(&'a Uid, RestartProgress)> {
        let (owner, state) = facts.restarts.get_key_value(pod.workload.as_ref()?)?;
        let is_restarted = self.limits.restart && !self.not_restarted.contains(owner);
        is_restarted.then_some((owner, state.progress))
    }

    /// Reason why the pod is not evicted yet; absent if it can be.
    fn obstacle(
        &self,
        facts: &UnitFacts,
        leaving: &[&UnitPod],
        pod: &UnitPod,
        elapsed: Duration,
    ) -> Option<String> {
        if let Some((owner, RestartProgress::NotBegun | RestartProgress::Ongoing)) =
            self.restart_of(facts, pod)
        {
            let owner = facts.restarts.get(owner)?.describe();
            return Some(format!("waits for the rollout of {owner}"));
        }
        let is_last = |pod: &UnitPod| pod.class != PodClass::Replicated;
        let mut others = leaving.iter().copied();
        if is_last(pod)
            && let Some(other) = others.find(|other| !is_last(other))
        {
            return Some(format!("is evicted after pod {}", other.name));
        }
        let uid = pod.workload.as_ref()?;
        // Its workload may still count it as ready.
        let mut others = leaving.iter().filter(|other| other.is_terminating);
        if let Some(other) = others.find(|other| other.workload.as_ref() == Some(uid)) {
            return Some(format!("is evicted after pod {}", other.name));
        }
        let workload = facts.workloads.get(uid)?;
        (!self.is_whole(uid, elapsed)).then(|| format!("waits for {}", workload.describe()))
    }

    /// True if the workload may lose its next pod.
    fn is_whole(&self, uid: &Uid, elapsed: Duration) -> bool {
        let since = match self.disrupted.get(uid) {
            Some(since) => *since,
            None if self.is_resumed => self.began,
            None => return true,
        };
        // The counts of a workload are written after its pod is gone: one look may be too early.
        let is_ready = self.ready.iter().all(|ready| ready.contains(uid));
        let is_accepted = self.limits.accept_unplaceable && elapsed.saturating_sub(since) >= LONG;
        is_ready || is_accepted
    }

    /// The next step if no pod is left to evict.
    fn without_evictions(
        &mut self,
        facts: &UnitFacts,
        is_over: bool,
        elapsed: Duration,
    ) -> DrainStep {
        let since = *self.empty_since.get_or_insert(elapsed);
        let is_settled = elapsed.saturating_sub(since) >= SETTLE;
        let IdleWait { is_idle, .. } = facts.wait;
        if (is_idle || is_settled) && !facts.wait.unreleased.is_empty() {
            let lines = facts.wait.unreleased.clone();
            return DrainStep::Finished(UnitEnd::Held(lines));
        }
        if is_idle {
            return DrainStep::Finished(UnitEnd::Idle);
        }
        let included = &self.limits.include.clone()[..];
        let held = facts.pods.iter().filter(|pod| pod.holds(included));
        let held: Vec<String> = held
            .map(|pod| format!("{} ({})", pod.name, pod.class.reason()))
            .collect();
        if !held.is_empty() && is_settled {
            return DrainStep::Finished(UnitEnd::Held(held));
        }
        let left = match facts.wait.left.is_empty() {
            true => vec!["no claim holds the devices, but for less than 5s".to_owned()],
            false => facts.wait.left.clone(),
        };
        wait_or_block(is_over, left)
    }

    /// Reasons why the unit is not idle, a line for each.
    fn reasons(&self, facts: &UnitFacts, leaving: &[&UnitPod], elapsed: Duration) -> Vec<String> {
        let pods = leaving.iter().map(|pod| {
            let name = &pod.name;
            let terminating = facts.wait.terminating.get(name);
            if pod.is_terminating {
                return terminating.map_or_else(
                    || format!("pod {name} is terminating"),
                    |why| format!("pod {name}: {why}"),
                );
            }
            match self.refused.get(&pod.uid) {
                _ if facts.is_raised => format!("pod {name} is not evicted yet by its taint"),
                Some(refused) => refusal_line(pod, &refused.message),
                None => match self.obstacle(facts, leaving, pod, elapsed) {
                    Some(why) => format!("pod {name} {why}"),
                    None => format!("pod {name} was not evicted yet"),
                },
            }
        });
        pods.chain(facts.wait.unreleased.iter().cloned()).collect()
    }
}

fn wait_or_block(is_over: bool, reasons: Vec<String>) -> DrainStep {
    match is_over {
        true => DrainStep::Finished(UnitEnd::Blocked(reasons)),
        false => DrainStep::Wait,
    }
}

/// Refusal of the eviction of a pod, in a line.
pub fn refusal_line(pod: &UnitPod, message: &str) -> String {
    let name = &pod.name;
    let budgets = few(pod.budgets.iter().map(|it| &it.name));
    match budgets.is_empty() {
        true => format!("pod {name}: {message}"),
        false => format!("pod {name}: budget {budgets} allows no eviction"),
    }
}

/// A unit that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitResult {
    /// Its name.
    pub unit: String,
    /// Its end.
    pub end: UnitEnd,
    /// Pods that this run evicted from it.
    pub evicted: usize,
    /// Pods that stay.
    pub staying: usize,
}

impl UnitResult {
    /// The result as a line.
    pub fn line(&self) -> String {
        let Self { unit, .. } = self;
        match &self.end {
            UnitEnd::Idle => {
                let evicted = counted(self.evicted, "pod");
                match self.staying {
                    0 => format!("{unit} idle ({evicted} evicted)"),
                    staying => format!("{unit} idle ({evicted} evicted, staying: {staying})"),
                }
            }
            UnitEnd::Held(reasons) => format!("{unit} held: {}", few(reasons)),
            UnitEnd::Blocked(_) => format!("{unit} is not idle"),
            UnitEnd::Changed(why) => format!("{unit} is no longer drained: {why}"),
        }
    }

    /// True if the drain goes on with the next unit.
    pub fn may_others_start(&self) -> bool {
        match self.end {
            UnitEnd::Idle | UnitEnd::Held(_) => true,
            UnitEnd::Blocked(_) | UnitEnd::Changed(_) => false,
        }
    }

    fn failure(&self) -> Option<Failure> {
        let Self { unit, .. } = self;
        let (text, reasons) = match &self.end {
            UnitEnd::Idle => return None,
            UnitEnd::Held(reasons) => (format!("{unit} is held"), reasons),
            UnitEnd::Blocked(reasons) => (format!("{unit} is not idle"), reasons),
            UnitEnd::Changed(_) => return Some(Failure::new(ExitStatus::Failed, self.line())),
        };
        let failure = Failure::new(ExitStatus::TimedOut, text);
        Some(match self.may_others_start() {
            // Its line has the reasons.
            true => failure.detail("the taints stay"),
            false => failure
                .with_details(reasons)
                .detail("the taints stay")
                .hint("to continue: run the same command again"),
        })
    }
}

/// Exit status of a drain whose units ended so.
///
/// # Errors
///
/// The last unit that is not idle: its rules were changed, it is held, or it is not idle in time.
pub fn drain_status(results: &[UnitResult]) -> Result<ExitStatus, Failure> {
    match results.iter().rev().find_map(UnitResult::failure) {
        Some(failure) => Err(failure),
        None => Ok(ExitStatus::Success),
    }
}

/// Ways to continue or undo an interrupted drain.
pub fn interrupted(name: &str) -> Vec<String> {
    vec![
        "to continue: run the same command again".to_owned(),
        format!(
            "to undo the drain: kubectl devicetaint restore {}",
            word(name)
        ),
    ]
}

/// Delay before the first retry of a refused eviction.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay between retries, as `kubectl drain` waits each time.
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Time after which an eviction counts as refused for long.
pub const LONG: Duration = Duration::from_secs(60);

/// Response of the Eviction API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionReply {
    /// The pod is terminating.
    Accepted,
    /// The pod no longer exists, or another pod has its name.
    Gone,
    /// The eviction is refused: the server's message.
    Refused(String),
    /// It is unknown whether the pod was evicted.
    Unknown(String),
}

/// A refused eviction. All durations are since the run began.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The server's message.
    pub message: String,
    /// The time from which on it is tried again.
    pub retry_at: Duration,
    since: Duration,
    wait: Duration,
}

impl Refusal {
    /// True if the eviction has been refused for a minute.
    pub fn is_old(&self, elapsed: Duration) -> bool {
        elapsed.saturating_sub(self.since) >= LONG
    }
}

/// Refused evictions by the UID of the pod.
#[derive(Clone, Debug, Default)]
pub struct RefusedEvictions(BTreeMap<Uid, Refusal>);

impl RefusedEvictions {
    /// Notes that an eviction was refused; each retry waits longer than the one before.
    pub fn refuse(&mut self, uid: &Uid, message: String, elapsed: Duration) {
        let before = self.0.get(uid);
        let wait = before.map_or(FIRST_RETRY, |refused| {
            refused.wait.saturating_mul(2).min(LONGEST_RETRY)
        });
        let refusal = Refusal {
            message,
            retry_at: elapsed.saturating_add(wait),
            since: before.map_or(elapsed, |refused| refused.since),
            wait,
        };
        self.0.insert(uid.clone(), refusal);
    }

    /// The last refusal of the pod's eviction, if it was refused.
    pub fn get(&self, uid: &Uid) -> Option<&Refusal> {
        self.0.get(uid)
    }

    /// Notes that the pod's eviction is not refused any more.
    pub fn remove(&mut self, uid: &Uid) {
        self.0.remove(uid);
    }

    /// Forgets all refusals.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ends: &[UnitEnd]) -> ExitStatus {
        let results = ends.iter().map(|end| UnitResult {
            unit: "node-1".to_owned(),
            end: end.clone(),
            evicted: 1,
            staying: 0,
        });
        match drain_status(&results.collect::<Vec<_>>()) {
            Ok(status) => status,
            Err(failure) => failure.status(),
        }
    }

    #[test]
    fn only_a_drain_whose_units_are_all_idle_succeeds() {
        let why = || vec!["pod team-a/web-0 was force-deleted".to_owned()];
        let held = UnitEnd::Held(why());
        let blocked = UnitEnd::Blocked(why());
        let changed = UnitEnd::Changed("rule a was removed".to_owned());
        for (ends, expected) in [
            (vec![], ExitStatus::Success),
            (vec![UnitEnd::Idle, UnitEnd::Idle], ExitStatus::Success),
            (vec![held, UnitEnd::Idle], ExitStatus::TimedOut),
            (vec![UnitEnd::Idle, blocked], ExitStatus::TimedOut),
            (vec![UnitEnd::Idle, changed], ExitStatus::Failed),
        ] {
            assert_eq!(status(&ends), expected, "{ends:?}");
        }
    }
}
