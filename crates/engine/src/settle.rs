//! End conditions of waits.
//!
//! Takes the facts of one moment and the time waited, and says what is left and what to do next. Reads nothing and
//! knows no clock: the caller brings both, so that every way in which a wait can end is a function that a test calls.
//!
//! ```text
//! facts, elapsed ─▶ observe ─▶ Met | WaitUntil(elapsed) | ReadAgain | TimedOut | NotSeenReleased | Never(why)
//! ```
//!
//! A rule has evicted all its pods when the controller says so about the rule as it is, no pod is left that it evicts,
//! not even a terminating one, and it stays so for the settle time, in which the scheduler may still place pods whose
//! device it chose before it knew the taint. Facts that were only kept current are not believed at the end: then
//! everything is read once more.
//!
//! Devices are idle when no claim holds them or other names of the same hardware; who holds them may end by itself, so
//! that the rule need not evict, but has to keep new pods off.
//!
//! A pod that was at work when it was seen last, and is gone, was deleted by force: the API shows its devices as free,
//! and its node was not seen to release them. A wait that has seen that is not met; see [`super::holders`].
//!
//! Upstream: KEP-5055 on the scheduler's race, `updateRule` in `device_taint_eviction.go` on the
//! condition, which says nothing about pods that terminate.

use std::time::Duration;

use foldhash::{HashSet, HashSetExt};
use jiff::Timestamp;

use super::holders::{ForcedDeletions, PodObservation, UnreleasedPod};
use super::holders::{HoldingClaim, UnevictedPod};
use super::rule_lifecycle::{EvictionStatus, PendingEviction, blocks};
use crate::model::{
    Affects, DeviceTaintRule, Effect, Gap, Kind, ObjectName, Pod, ResourceClaim, Uid,
};

/// Goal of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All pods are gone that the rules evict.
    Evicted,
    /// The controller has judged the rules as they are now.
    Observed,
    /// The rules are gone.
    Deleted,
    /// No claim holds the rules' devices.
    Idle(AdminAccess),
}

/// Weight of a claim with admin access, which takes a device from no other claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAccess {
    /// It does: a monitor keeps hardware from being pulled.
    Counted,
    /// It does not: pods are drained.
    Ignored,
}

impl Goal {
    /// True if pods and claims have to be looked at, and not the rules alone.
    pub fn is_about_pods(self) -> bool {
        match self {
            Self::Evicted | Self::Idle(_) => true,
            Self::Observed | Self::Deleted => false,
        }
    }
}

/// Limits of a wait: its timeout, and the time for which no pod may be left before that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time for which no pod may be left; only evictions have to settle.
    pub settle: Duration,
    /// When the wait is given up, counted from its beginning.
    pub timeout: Duration,
}

impl Patience {
    /// Shortfall of this wait where the `last` eviction is due then; `None` if it may be over in time: no pod may be
    /// left for the settle time after that. An eviction that is due at `now` takes no known time.
    ///
    /// A caller of a wait that cannot end well has to know it before the first pod is evicted.
    pub fn shortfall(&self, last: Timestamp, now: Timestamp) -> Option<Shortfall> {
        let until_last = last.duration_since(now);
        if !until_last.is_positive() {
            return None;
        }
        let until_last = until_last.unsigned_abs();
        let needed = until_last.saturating_add(self.settle);
        (needed > self.timeout).then_some(Shortfall {
            last,
            until_last,
            needed,
        })
    }

    /// True if the settle time is longer than the wait, so that an eviction cannot settle.
    pub fn is_too_short_to_settle(&self) -> bool {
        self.settle > self.timeout
    }
}

/// A wait cannot be met in its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// When the last pod is due to be evicted.
    pub last: Timestamp,
    /// Time from the question until then.
    pub until_last: Duration,
    /// The shortest wait that can be met.
    pub needed: Duration,
}

/// Certainty that the facts are those of this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// They were read for this look.
    Read,
    /// They were read earlier and kept current by what the server tells; a connection may have died
    /// silently.
    Kept,
}

/// Facts of one moment.
#[derive(Clone, Copy, Debug)]
pub struct WaitFacts<'a> {
    /// All rules that are there, or at least those that are waited for.
    pub rules: &'a [DeviceTaintRule],
    /// The pods that the rules evict and that are still there, terminating ones included.
    pub left: &'a [PendingEviction<'a>],
    /// The pods that are there, as far as any were read: who is not left and is there nevertheless is
    /// not gone, but spared, since a rule was deleted or eased.
    pub pods: &'a [Pod],
    /// The claims that are there.
    pub claims: &'a [ResourceClaim],
    /// Claims that hold the devices, where that is waited for.
    pub holders: &'a [HoldingClaim<'a>],
    /// The pods that use the devices and are not left to go.
    pub staying: &'a [UnevictedPod<'a>],
    /// Pods that were told to be gone since the look before, as they were last.
    pub departed: &'a [Pod],
    /// Facts that could not be read: waiting does not change that.
    pub unread: &'a [Gap],
    /// Certainty of these facts.
    pub freshness: Freshness,
}

/// Next step of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// The goal is reached.
    Met,
    /// Look again when something changes, at the latest when the wait has lasted this long.
    WaitUntil(Duration),
    /// It seems to be the case; read everything afresh to be sure.
    ReadAgain,
    /// The time is over.
    TimedOut,
    /// It is the case as far as the API goes, and nodes were not seen to release what the API shows as free:
    /// waiting does not change that.
    NotSeenReleased,
    /// It cannot come true any more.
    Never(UnreachableGoal),
}

/// Why a wait cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreachableGoal {
    /// The rule is not there any more.
    Gone(ObjectName),
    /// The rule was deleted, and there is another one of its name.
    Replaced(ObjectName),
    /// The rule selects other devices than when the wait began, or has another taint.
    Changed(ObjectName),
    /// The rule has an effect that evicts no pods.
    Harmless {
        /// The rule.
        rule: ObjectName,
        /// The effect that it has.
        effect: Effect,
    },
    /// The rule keeps no new pods off, so that a device is idle for a moment at most.
    BlocksNoPods {
        /// The rule.
        rule: ObjectName,
        /// The effect that it has.
        effect: Effect,
    },
    /// The remaining pods cannot be determined from what may be read.
    Unknowable(Vec<Gap>),
}

/// Something that keeps a wait from being met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenCondition<'a> {
    /// A pod is still there.
    Pod(&'a PendingEviction<'a>),
    /// The controller's word about a rule is not that it is done.
    Unsettled {
        /// The rule as it is now.
        rule: &'a DeviceTaintRule,
        /// Meaning of its condition.
        evicting: EvictionStatus,
    },
    /// The controller has not judged the rule as it is now.
    Unobserved(&'a DeviceTaintRule),
    /// The rule is still there.
    Present(&'a DeviceTaintRule),
    /// A claim holds a device.
    Held(&'a HoldingClaim<'a>),
    /// A pod was deleted by force, and its node was not seen to release what it held.
    NotReleased(UnreleasedPod),
    /// No pod is left, but not for long enough yet.
    Settling {
        /// Time for which it has to stay so, from when on no pod was left.
        settle: Duration,
    },
}

/// True if the rule still puts the same taint on the same devices, whatever its effect is.
fn is_about_the_same(before: &DeviceTaintRule, now: &DeviceTaintRule) -> bool {
    let taint = |rule: &DeviceTaintRule| (rule.taint.key.clone(), rule.taint.value.clone());
    before.selector == now.selector && taint(before) == taint(now)
}

/// Result of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Next step.
    pub step: WaitStep,
    /// Open conditions, pods first; empty when there is nothing to wait for any more.
    pub open: Vec<OpenCondition<'a>>,
    /// Number of pods that were to go, as far as was ever seen.
    pub all: usize,
    /// Number of them that exist, and are not to go any more.
    pub spared: usize,
    /// Number of them that exist and have ended: they run nothing, and are not to be evicted.
    pub ended: usize,
    /// Goal of the wait.
    pub goal: Goal,
}

/// A wait for some rules.
#[derive(Clone, Debug)]
pub struct Settle {
    goal: Goal,
    patience: Patience,
    /// The rules as they were when the wait began.
    subjects: Vec<DeviceTaintRule>,
    seen: HashSet<Uid>,
    departures: ForcedDeletions,
    quiet_since: Option<Duration>,
}

impl Settle {
    /// A wait for `rules`, as they are when it begins.
    pub fn new(goal: Goal, rules: &[DeviceTaintRule], patience: Patience) -> Self {
        Self {
            goal,
            patience,
            subjects: rules.to_vec(),
            seen: HashSet::new(),
            departures: ForcedDeletions::default(),
            quiet_since: None,
        }
    }

    /// Judges `facts` for the wait after it has lasted for `elapsed`.
    ///
    /// Must be told of every look, in the order of time: at each of them in the settle time, no pod may be left.
    pub fn observe<'a>(&mut self, facts: &WaitFacts<'a>, elapsed: Duration) -> Observation<'a> {
        let left: HashSet<&Uid> = facts.left.iter().map(|left| &left.pod.uid).collect();
        self.seen.extend(left.iter().map(|uid| (*uid).clone()));
        // Before anything is decided: what a watch says of a pod that is gone it says once.
        if self.goal.is_about_pods() {
            let observation = PodObservation {
                pods: facts.pods,
                claims: facts.claims,
                left: facts.left,
                holders: facts.holders,
                staying: facts.staying,
                departed: facts.departed,
            };
            self.departures.see(&observation, &self.seen);
        }
        let others = facts
            .pods
            .iter()
            .filter(|pod| self.seen.contains(&pod.uid) && !left.contains(&pod.uid));
        // A claim is no longer reserved for a pod that has ended or is gone, and may show that before the pod is read again.
        let is_reserved_for = |uid: &Uid| {
            let mut consumers = facts.claims.iter().flat_map(|claim| &claim.reserved_for);
            consumers.any(|consumer| consumer.uid == *uid)
        };
        let there = others.filter(|pod| pod.phase.is_terminal() || is_reserved_for(&pod.uid));
        let (ended, spared): (Vec<_>, Vec<_>) = there.partition(|pod| pod.phase.is_terminal());
        let (step, open) = match self.never(facts) {
            Some(never) => (WaitStep::Never(never), Vec::new()),
            None => self.next(facts, elapsed),
        };
        Observation {
            step,
            open,
            all: self.seen.len(),
            spared: spared.len(),
            ended: ended.len(),
            goal: self.goal,
        }
    }

    /// Also waits for these pods, which were to be evicted before the wait began: those that are gone
    /// by the first look are gone too.
    #[must_use]
    pub fn expecting(mut self, pods: impl IntoIterator<Item = Uid>) -> Self {
        self.seen.extend(pods);
        self
    }

    /// Next step where the goal can still be met, given what is open.
    fn next<'a>(
        &mut self,
        facts: &WaitFacts<'a>,
        elapsed: Duration,
    ) -> (WaitStep, Vec<OpenCondition<'a>>) {
        let mut open = self.open(facts);
        let mut step = self.step(&open, facts.freshness, elapsed);
        if open.is_empty() && matches!(step, WaitStep::WaitUntil(_) | WaitStep::TimedOut) {
            let settle = self.patience.settle;
            open.push(OpenCondition::Settling { settle });
        }
        let not_released = self.departures.not_released();
        if step == WaitStep::Met && !not_released.is_empty() {
            step = WaitStep::NotSeenReleased;
        }
        open.extend(not_released.into_iter().map(OpenCondition::NotReleased));
        (step, open)
    }

    fn step(
        &mut self,
        open: &[OpenCondition<'_>],
        freshness: Freshness,
        elapsed: Duration,
    ) -> WaitStep {
        let over = elapsed >= self.patience.timeout;
        if !open.is_empty() {
            self.quiet_since = None;
            return if over {
                WaitStep::TimedOut
            } else {
                WaitStep::WaitUntil(self.patience.timeout)
            };
        }
        let since = *self.quiet_since.get_or_insert(elapsed);
        let settled = since.saturating_add(self.settle());
        // Before the time is asked about: what is met in the last moment is met.
        if elapsed >= settled {
            return match freshness {
                Freshness::Read => WaitStep::Met,
                Freshness::Kept => WaitStep::ReadAgain,
            };
        }
        if over {
            WaitStep::TimedOut
        } else {
            WaitStep::WaitUntil(settled.min(self.patience.timeout))
        }
    }

    /// Time for which it has to stay so: what the controller has seen, and what is gone, stays so.
    fn settle(&self) -> Duration {
        match self.goal {
            Goal::Evicted | Goal::Idle(_) => self.patience.settle,
            Goal::Observed | Goal::Deleted => Duration::ZERO,
        }
    }

    /// Why the wait cannot be met, if so.
    fn never(&self, facts: &WaitFacts<'_>) -> Option<UnreachableGoal> {
        let waits_for_being = match self.goal {
            Goal::Deleted => return None,
            // The controller's observation is in the rules alone: pods that cannot be read hide nothing of it.
            Goal::Observed => false,
            Goal::Evicted | Goal::Idle(_) => true,
        };
        for subject in &self.subjects {
            let name = &subject.name;
            let Some(rule) = find(facts.rules, name) else {
                return Some(UnreachableGoal::Gone(name.clone()));
            };
            if rule.uid != subject.uid {
                return Some(UnreachableGoal::Replaced(name.clone()));
            }
            // The user did not ask about devices that are idle then, and their evictions were not previewed.
            if waits_for_being && !is_about_the_same(subject, rule) {
                return Some(UnreachableGoal::Changed(name.clone()));
            }
            if let Some(never) = self.is_too_weak(rule) {
                return Some(never);
            }
        }
        let hides = facts.unread.iter().filter(|gap| self.hides(gap));
        let hidden: Vec<Gap> = hides.filter(|_| waits_for_being).cloned().collect();
        (!hidden.is_empty()).then_some(UnreachableGoal::Unknowable(hidden))
    }

    /// Reason for which the rule does not do what is waited for. A lowered effect has to be told apart from a slow
    /// eviction.
    fn is_too_weak(&self, rule: &DeviceTaintRule) -> Option<UnreachableGoal> {
        let (name, effect) = (rule.name.clone(), rule.taint.effect.clone());
        match self.goal {
            Goal::Evicted if effect != Effect::NoExecute => {
                Some(UnreachableGoal::Harmless { rule: name, effect })
            }
            Goal::Idle(_) if !blocks(&effect) => {
                Some(UnreachableGoal::BlocksNoPods { rule: name, effect })
            }
            Goal::Evicted | Goal::Idle(_) | Goal::Observed | Goal::Deleted => None,
        }
    }

    /// Obstacles of the goal, the settle time aside.
    fn open<'a>(&self, facts: &WaitFacts<'a>) -> Vec<OpenCondition<'a>> {
        let subjects = self.subjects.iter();
        let present = subjects.filter_map(|subject| {
            let rule = find(facts.rules, &subject.name)?;
            Some((rule, rule.uid == subject.uid))
        });
        match self.goal {
            Goal::Deleted => present
                .filter(|(_, same)| *same)
                .map(|(rule, _)| OpenCondition::Present(rule))
                .collect(),
            Goal::Observed => present
                .filter(|(rule, _)| !is_observed(rule))
                .map(|(rule, _)| OpenCondition::Unobserved(rule))
                .collect(),
            Goal::Idle(_) => facts.holders.iter().map(OpenCondition::Held).collect(),
            Goal::Evicted => {
                let pods = facts.left.iter().map(OpenCondition::Pod);
                let unsettled = present.filter_map(|(rule, _)| unsettled(rule, facts));
                pods.chain(unsettled).collect()
            }
        }
    }

    /// True if the gap may hide what is waited for. The slices alone tell the devices that share counters with these.
    fn hides(&self, gap: &Gap) -> bool {
        let hides_partitions =
            matches!(self.goal, Goal::Idle(_)) && gap.kind() == Some(Kind::ResourceSlice);
        hides_partitions || gap.affects == Affects::Evictions
    }
}

/// The controller's word about a rule, unless it is that it is done.
fn unsettled<'a>(rule: &'a DeviceTaintRule, facts: &WaitFacts<'a>) -> Option<OpenCondition<'a>> {
    let evicting = EvictionStatus::of(rule, facts.left.len());
    match evicting {
        EvictionStatus::No => None,
        EvictionStatus::Yes
        | EvictionStatus::Unknown
        | EvictionStatus::Outdated
        | EvictionStatus::Leftover => Some(OpenCondition::Unsettled { rule, evicting }),
    }
}

fn find<'a>(rules: &'a [DeviceTaintRule], name: &ObjectName) -> Option<&'a DeviceTaintRule> {
    rules.iter().find(|rule| rule.name == *name)
}

/// True if the rule's condition is about the rule as it is now, whatever it says.
pub fn is_observed(rule: &DeviceTaintRule) -> bool {
    let condition = rule.condition.as_ref();
    condition.is_some_and(|condition| condition.observed_generation == rule.generation)
}
