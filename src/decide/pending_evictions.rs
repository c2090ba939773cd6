//! Pods that rules still have to evict, or had to before the rules were changed.

use super::conflict::differences;
use crate::engine;
use crate::engine::allocator::sharing_counters;
use crate::engine::holders::{HoldingClaim, UnevictedPod, holders, staying};
use crate::engine::rule_lifecycle::{PendingEviction, TerminationFacts, blocks, pending_evictions};
use crate::engine::settle::{
    AdminAccess, Freshness, Goal, Observation, Patience, Settle, Shortfall, UnreachableGoal,
    WaitFacts,
};
use crate::engine::{Impact, ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, Effect, Pod, Reading, Snapshot};
use crate::naming::duration::exact_duration;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;

/// Returns the devices that have to become idle: those that `taints` select, and those that share counters with them.
pub fn awaited_devices(
    snapshot: &Snapshot,
    taints: &[ProposedTaint],
    semantics: &Semantics,
) -> BTreeSet<DeviceId> {
    let mut devices = engine::selection(snapshot, taints, semantics).devices;
    devices.extend(sharing_counters(snapshot, &devices));
    devices
}

/// Rules as they were when they evicted last, over all looks of a wait.
#[derive(Debug)]
pub struct Evictors {
    goal: Goal,
    last: Vec<DeviceTaintRule>,
}

impl Evictors {
    /// None were seen yet.
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            last: Vec::new(),
        }
    }

    /// True if the rule does what is waited for: for idle devices it is enough that it keeps new pods off.
    fn counts(&self, rule: &DeviceTaintRule) -> bool {
        match self.goal {
            Goal::Idle(_) => blocks(&rule.taint.effect),
            Goal::Evicted | Goal::Observed | Goal::Deleted => evicts(rule),
        }
    }

    /// Notes the rules as they are now, and gives the taints that pods leave for.
    pub fn see(&mut self, rules: &[DeviceTaintRule], now: Timestamp) -> EvictionTaints {
        let mut last: Vec<DeviceTaintRule> = rules
            .iter()
            .filter(|rule| self.counts(rule))
            .cloned()
            .collect();
        let proposed = last.iter().map(|rule| taint(rule, now)).collect();
        // A rule that no longer evicts is kept as it was: pods that it evicted are still terminating.
        let earlier: Vec<DeviceTaintRule> = self
            .last
            .iter()
            .filter(|rule| last.iter().all(|newer| newer.name != rule.name))
            .cloned()
            .collect();
        let eased = earlier.iter().map(|rule| taint(rule, now)).collect();
        last.extend(earlier);
        self.last = last;
        EvictionTaints { proposed, eased }
    }
}

fn evicts(rule: &DeviceTaintRule) -> bool {
    rule.taint.effect == Effect::NoExecute
}

fn taint(rule: &DeviceTaintRule, now: Timestamp) -> ProposedTaint {
    ProposedTaint::of_changed_rule(rule, &rule.taint.effect, now)
}

/// The taints that pods leave for.
#[derive(Debug)]
pub struct EvictionTaints {
    /// Those of rules that evict.
    proposed: Vec<ProposedTaint>,
    /// Those of rules that evicted once, and are gone by now or do less, as they were then.
    eased: Vec<ProposedTaint>,
}

impl EvictionTaints {
    /// All of them, for the caller that reads the pods they can hit.
    pub fn all(&self) -> Vec<ProposedTaint> {
        [&self.proposed[..], &self.eased].concat()
    }
}

/// Input of a verdict about the pods.
pub struct EvictionEvidence<'a> {
    /// Objects that were read.
    pub reading: &'a Reading,
    /// The rules that are waited for, as they are.
    pub rules: &'a [DeviceTaintRule],
    /// Taints for which the pods leave.
    pub taints: &'a EvictionTaints,
    /// Behaviour of the cluster.
    pub semantics: &'a Semantics,
    /// Goal of the wait.
    pub goal: Goal,
    /// Devices that shared counters with the awaited ones at an earlier look, where idle devices are waited for: a driver
    /// that is away publishes no counters.
    pub beside: &'a BTreeSet<DeviceId>,
    /// Pods that were told to be gone since the look before, as they were last.
    pub departed: &'a [Pod],
    /// Tells if it was read just now or kept current.
    pub freshness: Freshness,
    /// When it was.
    pub now: Timestamp,
}

/// Progress of a wait.
pub struct RunningWait<'a> {
    /// Observations so far.
    pub settle: &'a mut Settle,
    /// For how long it has waited.
    pub waited: Duration,
}

/// Pods that the taints evict, and that they evicted before the rules were changed.
pub struct Impacts<'a> {
    now: Impact<'a>,
    before: Impact<'a>,
}

impl<'a> EvictionEvidence<'a> {
    /// Pods that the taints evict.
    pub fn impacts(&self) -> Impacts<'a> {
        let of = |taints| {
            let snapshot = &self.reading.snapshot;
            engine::preview(snapshot, taints, self.now, self.semantics)
        };
        Impacts {
            now: of(&self.taints.proposed),
            before: of(&self.taints.eased),
        }
    }

    /// The pods with idle devices to come that were deleted, by the rules or not, as far as `around` shows.
    pub fn leaving(&self, around: &TerminationFacts<'_>) -> Vec<PendingEviction<'a>> {
        let holders = self.holders(around).into_iter();
        holders.flat_map(|holder| holder.leaving).collect()
    }

    /// Claims that hold the devices by any name, where that is waited for.
    fn holders(&self, around: &TerminationFacts<'_>) -> Vec<HoldingClaim<'a>> {
        match self.goal {
            Goal::Evicted | Goal::Observed | Goal::Deleted => Vec::new(),
            Goal::Idle(admin_access) => {
                let snapshot = &self.reading.snapshot;
                let taints = self.taints.all();
                let mut devices = awaited_devices(snapshot, &taints, self.semantics);
                devices.extend(self.beside.iter().cloned());
                let is_counted = admin_access == AdminAccess::Counted;
                let held = holders(snapshot, &devices).into_iter();
                let held = held.filter(|claim| is_counted || !claim.has_admin_access());
                held.map(|claim| claim.with_leaving(around, self.now))
                    .collect()
            }
        }
    }

    /// Shows the wait which pods are left, and hands its conclusion to `told`, with the pods that stay.
    pub fn evaluate<T>(
        &self,
        impacts: &Impacts<'a>,
        around: &TerminationFacts<'_>,
        wait: RunningWait<'_>,
        told: impl FnOnce(Observation<'_>, WaitFacts<'_>, &[UnevictedPod<'_>]) -> T,
    ) -> T {
        let left = impacts.left(around, self.now);
        let holders = self.holders(around);
        let staying = staying(&impacts.now, &left);
        let facts = WaitFacts {
            rules: self.rules,
            left: &left,
            pods: &self.reading.snapshot.pods,
            claims: &self.reading.snapshot.claims,
            holders: &holders,
            staying: &staying,
            departed: self.departed,
            unread: &self.reading.gaps,
            freshness: self.freshness,
        };
        let RunningWait { settle, waited } = wait;
        told(settle.observe(&facts, waited), facts, &staying)
    }
}

impl<'a> Impacts<'a> {
    /// The pods that are evicted and still there, with those that are terminating because of what was
    /// the case before: they are not gone only because the rule is, or does less.
    pub fn left(&self, around: &TerminationFacts<'_>, now: Timestamp) -> Vec<PendingEviction<'a>> {
        let mut left = pending_evictions(&self.now, around, now);
        let terminating: Vec<_> = pending_evictions(&self.before, around, now)
            .into_iter()
            .filter(|other| other.obstacle.is_terminating())
            .filter(|other| left.iter().all(|known| known.pod.uid != other.pod.uid))
            .collect();
        left.extend(terminating);
        left
    }
}

/// Commands to go on waiting for the evictions of the rules called `names`, and to stop them, by the rules as they were
/// when last `seen`: nothing where none of them evicts.
pub fn ways_on(names: &[String], seen: &[DeviceTaintRule]) -> Vec<String> {
    let evicts = |name: &&String| {
        let mut seen = seen.iter();
        seen.any(|rule| rule.name.as_str() == *name && evicts(rule))
    };
    let evicting: Vec<&str> = names.iter().filter(evicts).map(String::as_str).collect();
    if evicting.is_empty() {
        return Vec::new();
    }
    let rules = evicting.join(" ");
    vec![
        format!("to keep waiting: kubectl devicetaint wait {rules} --for evicted"),
        format!("to stop the evictions: kubectl devicetaint deescalate {rules} --to NoSchedule"),
    ]
}

/// Failure of a wait that cannot be met any more; `before` and `seen` are the rules at its start and now.
pub fn ended(
    never: &UnreachableGoal,
    before: &[DeviceTaintRule],
    seen: &[DeviceTaintRule],
) -> Failure {
    let failed = |text: String| Failure::new(ExitStatus::Failed, text);
    let again = "to wait for the rule as it is now, run the same command again";
    match never {
        UnreachableGoal::Gone(name) => failed(format!("rule {name} was deleted during the wait")),
        UnreachableGoal::Replaced(name) | UnreachableGoal::Changed(name) => {
            let was = before.iter().find(|rule| rule.name == *name);
            let now = seen.iter().find(|rule| rule.name == *name);
            let lines = was.zip(now).map(|(was, now)| differences(was, now));
            let failure = failed(format!("rule {name} was changed during the wait"));
            let lines = lines.into_iter().flatten();
            lines.fold(failure, Failure::detail).hint(again)
        }
        UnreachableGoal::Harmless { rule, effect } => failed(format!(
            "rule {rule} has effect {effect}, which evicts no pods"
        )),
        UnreachableGoal::BlocksNoPods { rule, effect } => failed(format!(
            "rule {rule} has effect {effect}, which does not block new pods"
        )),
        UnreachableGoal::Unknowable(gaps) => {
            let gaps = gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why));
            gaps.fold(
                failed("cannot tell when the wait is over".to_owned()),
                Failure::detail,
            )
        }
    }
}

/// Refuses a change that is waited for where the wait is over before the `last` eviction is due: it
/// could only end badly, which is said before the first pod is evicted.
///
/// # Errors
///
/// When the time is too short.
pub fn refuse_too_short(
    last: Option<Timestamp>,
    patience: Patience,
    now: Timestamp,
) -> Result<(), Failure> {
    // The settle time alone can exceed the timeout, also without any eviction.
    if patience.is_too_short_to_settle() {
        let text = format!("{}; nothing was changed", cannot_settle(patience));
        return Err(Failure::refused(text).hint("use a longer --timeout"));
    }
    let shortfall = last.and_then(|last| patience.shortfall(last, now));
    shortfall.map_or(Ok(()), |short| Err(too_short(&short, patience)))
}

/// A change whose evictions cannot be over in the time that may be waited; nothing was changed yet.
pub fn too_short(shortfall: &Shortfall, patience: Patience) -> Failure {
    Failure::refused(format!(
        "{}; nothing was changed",
        cannot_be_met(shortfall, patience)
    ))
    // A minute more than is needed, for pods to end and for the time until the command is pasted.
    .hint(format!(
        "use a longer timeout, such as --timeout {}m, or omit --wait",
        shortfall.needed.as_secs().div_ceil(60).saturating_add(1)
    ))
}

/// Statement that a wait cannot be met, in one line.
pub fn cannot_be_met(shortfall: &Shortfall, patience: Patience) -> String {
    format!(
        "the last eviction is due in {}, at {}, and the result must last {}s: --timeout {}s is too \
        short",
        exact_duration(
            shortfall
                .until_last
                .try_into()
                .unwrap_or(jiff::SignedDuration::MAX)
        ),
        shortfall.last,
        patience.settle.as_secs_f64(),
        patience.timeout.as_secs_f64(),
    )
}

/// Statement that a wait is over before anything can settle, in one line.
pub fn cannot_settle(patience: Patience) -> String {
    format!(
        "--timeout ({}s) must be longer than the {}s that the result must last",
        patience.timeout.as_secs_f64(),
        patience.settle.as_secs_f64(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule};
    use crate::engine::termination_blocker::Publishers;
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn now() -> Timestamp {
        "2026-11-21T01:00:00Z".parse().unwrap()
    }

    fn names(taints: &[ProposedTaint]) -> Vec<String> {
        let rules = taints.iter().filter_map(|taint| taint.rule.as_ref());
        rules.map(ToString::to_string).collect()
    }

    #[test]
    fn rules_that_evicted_once_are_remembered_as_they_were() {
        let mut evictors = Evictors::new(Goal::Evicted);
        evictors.see(&[named("a", "NoExecute"), named("b", "NoExecute")], now());
        // One does less, the other is gone.
        let taints = evictors.see(&[named("a", "NoSchedule")], now());
        assert_eq!(names(&taints.proposed), [""; 0]);
        assert_eq!(names(&taints.eased), ["a", "b"]);
        assert!(
            taints
                .eased
                .iter()
                .all(|it| it.taint.effect == Effect::NoExecute)
        );
        assert_eq!(names(&taints.all()), ["a", "b"]);
        // However often is looked.
        assert_eq!(names(&evictors.see(&[], now()).eased), ["a", "b"]);
    }

    /// Result of `told` for a wait for `rules` in a cluster whose nodes and drivers are well.
    fn with_evidence<T>(
        reading: &Reading,
        rules: &[DeviceTaintRule],
        goal: Goal,
        told: impl FnOnce(&EvictionEvidence<'_>, &TerminationFacts<'_>) -> T,
    ) -> T {
        let semantics = crate::engine::testing::semantics(37);
        let evidence = EvictionEvidence {
            reading,
            rules,
            taints: &Evictors::new(goal).see(rules, now()),
            semantics: &semantics,
            goal,
            beside: &BTreeSet::new(),
            departed: &[],
            freshness: Freshness::Read,
            now: now(),
        };
        let around = TerminationFacts {
            claims: &reading.snapshot.claims,
            nodes: &BTreeMap::new(),
            publishers: &Publishers::of(reading, &BTreeSet::new()),
        };
        told(&evidence, &around)
    }

    #[test]
    fn a_monitor_keeps_hardware_from_being_pulled_and_not_from_being_drained() {
        use crate::engine::testing::{claim_in_use, pod, published, reading, slice};
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        reading.snapshot.claims = ["dcgm", "web"]
            .map(|name| claim_in_use(&pod("ml", name)))
            .into();
        let allocation = reading.snapshot.claims[0].allocation.as_mut();
        allocation.expect("an allocation").results[0].admin_access = true;
        let rules = [rule("NoSchedule")];
        let holding = |admin_access| {
            let goal = Goal::Idle(admin_access);
            with_evidence(&reading, &rules, goal, |evidence, around| {
                evidence.holders(around).len()
            })
        };
        assert_eq!(holding(AdminAccess::Counted), 2);
        assert_eq!(holding(AdminAccess::Ignored), 1);
    }

    #[test]
    fn a_rule_that_does_less_is_remembered_beside_one_that_still_evicts() {
        let mut evictors = Evictors::new(Goal::Evicted);
        evictors.see(&[named("a", "NoExecute"), named("b", "NoExecute")], now());
        let taints = evictors.see(&[named("a", "NoExecute"), named("b", "None")], now());
        assert_eq!(names(&taints.proposed), ["a"]);
        assert_eq!(names(&taints.eased), ["b"]);
    }

    #[test]
    fn pods_are_left_while_they_are_evicted_or_terminate_because_they_were() {
        use crate::engine::testing::{evicted, impact, pod, reading};
        use crate::engine::{PodImpact, Verdict};

        let mut leaving = pod("ml", "leaving");
        leaving.deletion = Some(crate::engine::testing::deletion(now(), Some(30)));
        let (due, spared) = (pod("ml", "due"), pod("ml", "spared"));
        let reading = reading();
        let left = |now_evicted: Vec<PodImpact<'_>>, before: Vec<PodImpact<'_>>| -> Vec<String> {
            let around = TerminationFacts {
                claims: &[],
                nodes: &BTreeMap::new(),
                publishers: &Publishers::of(&reading, &BTreeSet::new()),
            };
            let impacts = Impacts {
                now: impact(now_evicted),
                before: impact(before),
            };
            let left = impacts.left(&around, now()).into_iter();
            left.map(|one| one.pod.name.name.to_string()).collect()
        };
        let terminating = || PodImpact {
            verdict: Verdict::Terminating,
            ..evicted(&leaving, 0)
        };
        assert_eq!(left(vec![evicted(&due, 0)], Vec::new()), ["due"]);
        // Pods that the rule no longer evicts stay, and those that it had evicted still leave.
        let before = vec![evicted(&spared, 0), terminating()];
        assert_eq!(left(Vec::new(), before), ["leaving"]);
        assert_eq!(left(vec![terminating()], vec![terminating()]), ["leaving"]);
    }

    #[test]
    fn a_change_whose_wait_cannot_succeed_is_refused_before_anything_is_changed() {
        let at = |seconds: i64| crate::report::testing::after(seconds);
        let patience = |settle, timeout| Patience {
            settle: Duration::from_secs(settle),
            timeout: Duration::from_secs(timeout),
        };
        let refused = |last: Option<i64>, patience| {
            let outcome = refuse_too_short(last.map(at), patience, at(0));
            outcome.err().map(|failure| failure.status())
        };
        let no = Some(crate::error::ExitStatus::Refused);
        assert_eq!(refused(None, patience(5, 60)), None);
        assert_eq!(refused(None, patience(61, 60)), no);
        assert_eq!(refused(Some(55), patience(5, 60)), None);
        assert_eq!(refused(Some(56), patience(5, 60)), no);
    }
}
