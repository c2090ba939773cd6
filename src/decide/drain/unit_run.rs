//! The next step of one unit.
//!
//! From the facts about the unit and the elapsed time, decides what to do next. Pods are evicted one after the
//! other within a workload: the next one only when the workload has as many ready pods as before. Workloads do not wait
//! for each other: a budget that covers several of them refuses what is too much. Pods whose loss does harm come last:
//! when the others are gone and replaced, and then side by side. A refused eviction is retried with a growing delay.
//!
//! Without `force` nothing but the Eviction API removes a pod, so that budgets hold. A unit is idle when no claim
//! holds its devices, and no pod that this run observes uses them. Data that could not be read makes it not idle.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::facts::{EvictionObstacle, RuleState, UnitFacts, UnitPod, WorkloadState, not_named};
use super::pod_class::{PodClass, Treatment};
use super::recorded_workloads::RecordedWorkloads;
use super::restart::RestartState;
use super::restart_run::{Departure, RestartReply, RestartRun};
use super::unit_limits::UnitLimits;
use super::unit_step::{EvictionReply, Refusal, UnitEnd, UnitStep};
use crate::model::{Kind, NamespacedName, Uid};

/// Delay before the first retry of a refused eviction.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay between retries, as `kubectl drain` waits each time.
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Longest time between two observations of a unit: a replacement that is ready is noticed so late.
const LOOK: Duration = Duration::from_secs(1);
/// Looks of the wait after which it has seen how the last pod went.
const LOOKS: usize = 2;

/// One unit while it is drained.
#[derive(Clone, Debug)]
pub struct UnitRun {
    limits: UnitLimits,
    /// Whether an earlier run has evicted pods: then the number of ready pods before the drain is what that run recorded,
    /// or unknown.
    is_resumed: bool,
    refused: BTreeMap<Uid, Refusal>,
    /// Workloads of pods that were evicted, also by taint.
    touched: BTreeSet<Uid>,
    /// Workloads whose pods are evicted last.
    last: BTreeSet<Uid>,
    /// Ready pods of each workload before its first eviction.
    before: BTreeMap<Uid, i32>,
    /// Workloads that an earlier run has recorded, and may have evicted all pods of.
    recorded: BTreeSet<Uid>,
    restarts: RestartRun,
    is_raised: bool,
    /// How often the wait had looked when only pods were left that the drain does not evict.
    held_at: Option<usize>,
}

impl UnitRun {
    /// A unit that starts.
    #[must_use]
    pub fn new(limits: UnitLimits) -> Self {
        Self {
            limits,
            is_resumed: false,
            refused: BTreeMap::new(),
            touched: BTreeSet::new(),
            last: BTreeSet::new(),
            before: BTreeMap::new(),
            recorded: BTreeSet::new(),
            restarts: RestartRun::default(),
            is_raised: false,
            held_at: None,
        }
    }

    /// A run that may also restart these owners.
    #[must_use]
    pub fn restarting(self, owners: BTreeSet<Uid>) -> Self {
        Self {
            restarts: RestartRun::of(owners),
            ..self
        }
    }

    /// A unit that an earlier run has started.
    #[must_use]
    pub fn resumed(limits: UnitLimits) -> Self {
        Self {
            is_resumed: true,
            ..Self::new(limits)
        }
    }

    /// A run that knows how many pods of these workloads were ready before the first run of the drain.
    #[must_use]
    pub fn recorded(mut self, workloads: &RecordedWorkloads) -> Self {
        let ready = workloads
            .iter()
            .filter_map(|(uid, workload)| Some((uid.clone(), workload.ready?)));
        self.before.extend(ready);
        // A pod of a DaemonSet stays pending until the drain is undone.
        let awaited = workloads.iter();
        let awaited = awaited.filter(|(_, workload)| workload.kind != Kind::DaemonSet);
        self.recorded.extend(awaited.map(|(uid, _)| uid.clone()));
        self
    }

    /// Its limits.
    pub(super) fn limits(&self) -> &UnitLimits {
        &self.limits
    }

    /// Whether all rules have effect NoExecute.
    pub(super) fn is_raised(&self) -> bool {
        self.is_raised
    }

    /// Whether effect NoExecute evicts the pod, without an eviction by this run.
    pub(super) fn is_left_to_taint(&self, pod: &UnitPod) -> bool {
        self.is_raised || pod.is_evicted_by_rule
    }

    /// Why the eviction of the pod was refused last, in the server's words.
    pub(super) fn refusal(&self, pod: &UnitPod) -> Option<&str> {
        let refused = self.refused.get(&pod.uid)?;
        Some(&refused.message)
    }

    /// Whether budgets refuse the evictions that are left, and `--force` was not chosen. It is no way out where a replacement
    /// waits for a device: more would wait.
    #[must_use]
    pub fn needs_force(&self, facts: &UnitFacts) -> bool {
        let is_refused = |pod: &UnitPod| {
            !pod.is_terminating
                && !self.is_left_to_taint(pod)
                && self.refused.contains_key(&pod.uid)
        };
        self.limits.force_after.is_none()
            && facts.pods.iter().any(is_refused)
            && !self.is_starved(facts)
    }

    /// The unschedulable pod that keeps the unit from being drained, if there is one and that is not accepted.
    #[must_use]
    pub fn unplaced_pod<'a>(&self, facts: &'a UnitFacts) -> Option<&'a NamespacedName> {
        let mut unplaced = facts.unschedulable.iter();
        let blocking = unplaced.find(|(uid, _)| self.lacks_device(facts, uid));
        let (_, pod) = blocking.filter(|_| !self.limits.accepts_unplaceable)?;
        Some(&pod.name)
    }

    /// Notes that all rules of the unit have effect NoExecute.
    pub fn raised(&mut self) {
        self.is_raised = true;
    }

    /// Notes the reply to the eviction of a pod, at `elapsed` since the start of the unit.
    pub fn replied(&mut self, pod: &UnitPod, reply: &EvictionReply, elapsed: Duration) {
        match reply {
            // A lost reply counts as an eviction: the workload is then waited for, which is right in both
            // cases.
            EvictionReply::Accepted | EvictionReply::Unknown => {
                self.touched.extend(pod.workload.clone());
                self.restarts.evicted(pod.workload.as_ref());
                self.refused.remove(&pod.uid);
            }
            EvictionReply::Gone => drop(self.refused.remove(&pod.uid)),
            EvictionReply::Refused(message) => {
                let before = self.refused.get(&pod.uid).map(|refused| refused.wait);
                let wait = before.map_or(FIRST_RETRY, |wait| {
                    wait.saturating_mul(2).min(LONGEST_RETRY)
                });
                let refusal = Refusal {
                    message: message.clone(),
                    retry_at: elapsed.saturating_add(wait),
                    wait,
                };
                self.refused.insert(pod.uid.clone(), refusal);
            }
        }
    }

    /// Notes the result of the restart of a Deployment, at `elapsed` since the start of the unit.
    pub fn restarted(&mut self, owner: &Uid, reply: &RestartReply, elapsed: Duration) {
        match reply {
            RestartReply::Accepted | RestartReply::Unknown => {
                self.touched.insert(owner.clone());
            }
            RestartReply::Changed | RestartReply::Refused => {}
        }
        self.restarts.replied(owner, reply, elapsed);
    }

    /// The next step, at `elapsed` since the start of the unit.
    pub fn next(&mut self, facts: &UnitFacts, elapsed: Duration) -> UnitStep {
        // First of all: without its rules, nothing keeps new pods off the devices, and every eviction would
        // be in vain.
        match &facts.rules {
            RuleState::AsMade => {}
            RuleState::Reversed(by) => {
                return UnitStep::Finished(UnitEnd::Reversed(by.clone()));
            }
            // Another effect was not confirmed with this run. A further run of the same command continues with it.
            RuleState::EffectChanged(why) => {
                return UnitStep::Finished(UnitEnd::Blocked(vec![why.clone()]));
            }
            RuleState::TakenOver(by) => {
                return UnitStep::Finished(UnitEnd::TakenOver(by.clone()));
            }
        }
        let is_over = elapsed >= self.limits.timeout;
        // Without this data, the pods that would be evicted, and those that are left, are unknown.
        if !facts.unread.is_empty() {
            let unread = facts.unread.iter();
            let reasons = unread.map(|what| format!("unknown: {what}")).collect();
            return self.wait_or_block(is_over, elapsed, reasons);
        }
        self.note(facts);
        self.restarts.note(facts, elapsed);
        let leaving: Vec<&UnitPod> = facts.pods.iter().filter(|pod| self.leaves(pod)).collect();
        if !leaving.is_empty() {
            self.held_at = None;
        }
        // Per pod: another user, or an earlier run, may have given some of the rules effect NoExecute.
        let stays = |pod: &&UnitPod| !pod.is_terminating && !self.is_left_to_taint(pod);
        let staying: Vec<&UnitPod> = leaving.iter().copied().filter(stays).collect();
        // Before the timeout counts, so that `--force` still applies if both are due at once.
        if self.must_raise(facts, &staying, elapsed) {
            return UnitStep::RaiseEffect;
        }
        if staying.is_empty() {
            return self.without_evictions(facts, &leaving, is_over, elapsed);
        }
        // A replacement has no device: each further eviction would add another pending pod, and a budget that counts
        // the pending pod never allows an eviction.
        if self.is_starved(facts) && self.limits.force_after.is_none() {
            return UnitStep::Finished(UnitEnd::Blocked(self.reasons(facts, &leaving)));
        }
        if !is_over && let Some(owner) = self.restart_candidate(facts, &staying, elapsed) {
            return UnitStep::Restart(owner);
        }
        // One pod a step: each reply changes what the budgets allow.
        if let Some(pod) = self.candidate(facts, &leaving, &staying) {
            let retry_at = self.refused.get(&pod.uid).map(|refused| refused.retry_at);
            if !is_over && retry_at.is_none_or(|at| at <= elapsed) {
                return UnitStep::Evict(pod.name.clone(), pod.uid.clone());
            }
        }
        self.wait_or_block(is_over, elapsed, self.reasons(facts, &leaving))
    }

    /// Notes the ready pods of workloads before the first of their pods is evicted.
    fn note(&mut self, facts: &UnitFacts) {
        let last = facts.pods.iter().filter(|pod| pod.class.is_last());
        self.last
            .extend(last.filter_map(|pod| pod.workload.clone()));
        if self.is_resumed {
            // An earlier run may have evicted pods of any of them, except of workloads whose pods no drain evicts.
            let included = self.limits.included;
            let pods = facts.pods.iter();
            let others = pods.filter(|pod| pod.class.treatment(included) != Treatment::Kept);
            let workloads = others.filter_map(|pod| pod.workload.clone());
            self.touched.extend(workloads);
        }
        // Recorded workloads without pods on the devices lost them in an earlier run, or while the unit waited for its turn.
        let pods = facts.pods.iter();
        let present: BTreeSet<&Uid> = pods.filter_map(|pod| pod.workload.as_ref()).collect();
        let recorded = self.recorded.iter();
        let lost = recorded.filter(|uid| !present.contains(uid)).cloned();
        self.touched.extend(lost);
        for (uid, workload) in &facts.workloads {
            // Once a pod of the workload was evicted, fewer are ready, so the number from before is kept.
            if !self.touched.contains(uid)
                && let Some(ready) = workload.ready
            {
                self.before.insert(uid.clone(), ready);
            }
        }
        let pods = facts.pods.iter();
        let pods = pods.filter(|pod| self.is_left_to_taint(pod) && self.leaves(pod));
        let workloads: Vec<Uid> = pods.filter_map(|pod| pod.workload.clone()).collect();
        self.touched.extend(workloads);
    }

    /// Whether the pod is evicted, or leaves already.
    pub(super) fn leaves(&self, pod: &UnitPod) -> bool {
        // A terminating pod leaves, regardless of the client that deleted it.
        pod.is_terminating
            || pod.class.treatment(self.limits.included) == Treatment::Evicted
            || self.is_left_to_taint(pod) && pod.only_taint_removes()
    }

    fn must_raise(&self, facts: &UnitFacts, staying: &[&UnitPod], elapsed: Duration) -> bool {
        let needs_taint = |pod: &UnitPod| pod.only_taint_removes() && !self.leaves(pod);
        if self.is_raised || staying.is_empty() && !facts.pods.iter().any(needs_taint) {
            return false;
        }
        let force_after = self.limits.force_after;
        force_after.is_some_and(|after| elapsed >= after)
    }

    /// The next owner to restart.
    fn restart_candidate(
        &self,
        facts: &UnitFacts,
        staying: &[&UnitPod],
        elapsed: Duration,
    ) -> Option<Uid> {
        // New pods would only add to those without a device.
        if self.unplaced_pod(facts).is_some() {
            return None;
        }
        staying
            .iter()
            .find_map(|pod| match self.departure(facts, pod) {
                Departure::Restart(owner) if self.restarts.is_due(owner, elapsed) => {
                    Some(owner.clone())
                }
                Departure::Restart(_) | Departure::Eviction | Departure::Waits(_) => None,
            })
    }

    /// How the pod leaves.
    pub(super) fn departure<'a>(&self, facts: &UnitFacts, pod: &'a UnitPod) -> Departure<'a> {
        match self.limits.restarts {
            true => self.restarts.departure(pod, facts),
            false => Departure::Eviction,
        }
    }

    /// The next pod to evict, whether its eviction was refused before or not.
    fn candidate<'a>(
        &self,
        facts: &UnitFacts,
        leaving: &[&'a UnitPod],
        staying: &[&'a UnitPod],
    ) -> Option<&'a UnitPod> {
        if self.unplaced_pod(facts).is_some() {
            return None;
        }
        let staying = staying.iter().copied();
        let open = staying.filter(|pod| self.departure(facts, pod) == Departure::Eviction);
        let mut first: Option<&UnitPod> = None;
        for pod in open {
            if self.obstacle(facts, leaving, pod).is_some() {
                continue;
            }
            let retry_at = |pod: &UnitPod| {
                let refused = self.refused.get(&pod.uid);
                refused.map_or(Duration::ZERO, |refused| refused.retry_at)
            };
            // A refused eviction does not delay the evictions after it.
            if first.is_none_or(|known| retry_at(pod) < retry_at(known)) {
                first = Some(pod);
            }
        }
        first
    }

    /// What has to happen before the pod is evicted.
    pub(super) fn obstacle<'a>(
        &'a self,
        facts: &'a UnitFacts,
        leaving: &[&'a UnitPod],
        pod: &UnitPod,
    ) -> Option<EvictionObstacle<'a>> {
        let mut others = leaving.iter().copied();
        let mut broken = self.broken(facts);
        let workload = pod.workload.as_ref();
        let same = |other: &UnitPod| other.is_terminating && other.workload.as_ref() == workload;
        // Pods that come last wait for all others and their replacements, and not for each other. Nothing replaces those
        // without a workload.
        let (other, broken) = if pod.class.is_last() {
            let first =
                |other: &&UnitPod| !other.class.is_last() || workload.is_some() && same(other);
            let is_awaited =
                |broken: &&Uid| !self.last.contains(*broken) || Some(*broken) == workload;
            (others.find(first), broken.find(is_awaited))
        } else {
            (
                others.find(|other| same(other)),
                broken.find(|broken| Some(*broken) == workload),
            )
        };
        let other = other.map(EvictionObstacle::Pod);
        other.or_else(|| broken.map(EvictionObstacle::Workload))
    }

    /// The workloads that lost pods to this drain and are not ready again.
    fn broken<'a>(&'a self, facts: &'a UnitFacts) -> impl Iterator<Item = &'a Uid> {
        let touched = self.touched.iter();
        touched.filter(|uid| !self.is_whole(facts, uid))
    }

    fn is_whole(&self, facts: &UnitFacts, uid: &Uid) -> bool {
        // Workloads were read: one that is missing was deleted.
        let Some(workload) = facts.workloads.get(uid) else {
            return true;
        };
        let is_accepted = self.limits.accepts_unplaceable && facts.unschedulable.contains_key(uid);
        if workload.has_ended || is_accepted {
            return true;
        }
        // As many may be ready meanwhile as are wanted, of which old ones go.
        !self.restarts.is_ongoing(uid, facts) && workload.is_ready_as(self.before.get(uid).copied())
    }

    /// The workloads with fewer ready pods than desired, each with the reason why the drain does not wait for it, if it is
    /// known.
    fn unready_workloads(&self, facts: &UnitFacts) -> Vec<String> {
        let short = facts.workloads.iter();
        let short = short.filter(|(_, state)| !state.is_complete());
        short
            .map(|(uid, state)| {
                let before = self.before.get(uid).copied();
                // Of a workload that lost no pod to the drain, the latest number is kept, and not that from before.
                let has_no_fewer = self.touched.contains(uid) && state.is_ready_as(before);
                let pending = facts.unschedulable.get(uid);
                let accepted = pending.filter(|_| self.limits.accepts_unplaceable);
                state.describe_accepted(has_no_fewer, accepted)
            })
            .collect()
    }

    /// Whether the workload was short of pods before the drain, and has as many ready pods as then: its unschedulable pod is
    /// no replacement.
    fn was_short(&self, facts: &UnitFacts, uid: &Uid) -> bool {
        let wanted = facts.workloads.get(uid).and_then(|state| state.wanted);
        let before = self.before.get(uid);
        let was_short = before
            .zip(wanted)
            .is_some_and(|(before, wanted)| *before < wanted);
        was_short && self.is_whole(facts, uid)
    }

    /// Whether an eviction was refused, and a replacement waits for a device that no pod of its owner releases. While a
    /// rollout is in progress, its new pods may wait for devices of its old ones.
    fn is_starved(&self, facts: &UnitFacts) -> bool {
        let mut unplaced = facts.unschedulable.keys();
        !self.refused.is_empty()
            && unplaced
                .any(|uid| self.lacks_device(facts, uid) && !self.restarts.is_ongoing(uid, facts))
    }

    /// Whether a replacement of the workload that is unschedulable counts: its pods were evicted, and it was not short before.
    fn lacks_device(&self, facts: &UnitFacts, uid: &Uid) -> bool {
        self.touched.contains(uid) && !self.was_short(facts, uid)
    }

    /// The next step if no pod is left to evict, or if the controller evicts the pods.
    fn without_evictions(
        &mut self,
        facts: &UnitFacts,
        leaving: &[&UnitPod],
        is_over: bool,
        elapsed: Duration,
    ) -> UnitStep {
        let is_left = !leaving.is_empty() || self.broken(facts).next().is_some();
        if is_left {
            return self.wait_or_block(is_over, elapsed, self.reasons(facts, leaving));
        }
        if facts.pods.is_empty() && facts.other_claims.is_empty() {
            return if facts.is_idle {
                UnitStep::Finished(facts.end(UnitEnd::Idle(self.unready_workloads(facts))))
            } else {
                self.wait_or_block(is_over, elapsed, facts.why_not_idle())
            };
        }
        let kept = |pod: &UnitPod| {
            pod.class.treatment(self.limits.included) == Treatment::Kept && !pod.is_terminating
        };
        // A claim of a pod that is not known may belong to one that has to leave, so the unit is not done.
        if facts.other_claims.is_empty() && facts.pods.iter().all(kept) {
            return self.held(facts, is_over, elapsed);
        }
        // Nothing that the drain does changes that, and pods of a workload do not end by themselves.
        let keeps_claim = facts
            .pods
            .iter()
            .any(|pod| pod.class == PodClass::KeepsClaim);
        self.wait_or_block(
            is_over || keeps_claim,
            elapsed,
            self.reasons(facts, leaving),
        )
    }

    /// The next step if all pods are left that the drain does not evict. A pod that was deleted by force is gone before
    /// its node has released the device, which only the wait tells: it has to have looked since.
    fn held(&mut self, facts: &UnitFacts, is_over: bool, elapsed: Duration) -> UnitStep {
        if !facts.unreleased.is_empty() {
            return UnitStep::Finished(UnitEnd::NotReleased(facts.unreleased.clone()));
        }
        // The first look after that may have begun before.
        let needed = self
            .held_at
            .get_or_insert(facts.wait_looks)
            .saturating_add(LOOKS);
        if facts.is_idle || facts.wait_looks >= needed {
            let pods = facts.pods.iter().map(|pod| pod.name.to_string());
            return UnitStep::Finished(facts.end(UnitEnd::Held(pods.collect())));
        }
        let why = "it is not known yet whether the devices of removed pods are released";
        self.wait_or_block(is_over, elapsed, vec![why.to_owned()])
    }

    fn wait_or_block(&self, is_over: bool, elapsed: Duration, reasons: Vec<String>) -> UnitStep {
        if is_over {
            return UnitStep::Finished(UnitEnd::Blocked(reasons));
        }
        let limit = match self.limits.force_after {
            // The next step may be due earlier than the timeout: NoExecute after `--grace`.
            Some(after) if !self.is_raised && after > elapsed => after.min(self.limits.timeout),
            Some(_) | None => self.limits.timeout,
        };
        UnitStep::WaitUntil(elapsed.saturating_add(LOOK).min(limit))
    }

    /// Why the unit is not done, one line for each reason.
    fn reasons(&self, facts: &UnitFacts, leaving: &[&UnitPod]) -> Vec<String> {
        let mut reasons = Vec::new();
        for pod in leaving {
            let name = &pod.name;
            reasons.push(match self.refused.get(&pod.uid) {
                _ if pod.is_terminating => match facts.terminating.get(name) {
                    Some(why) => format!("pod {name}: {why}"),
                    None => format!("pod {name} is terminating"),
                },
                // The controller does not ask budgets.
                _ if self.is_left_to_taint(pod) => {
                    format!("pod {name} will be evicted by the NoExecute taint")
                }
                Some(refused) => format!("pod {name}: {}", refused.message),
                None => self.why_it_stays(facts, pod),
            });
        }
        reasons.extend(self.broken_workloads(facts));
        if self.is_starved(facts) {
            let lines = facts.unschedulable_lines(|uid| self.lacks_device(facts, uid));
            reasons.extend(not_named(lines, &reasons));
        }
        for pod in &facts.pods {
            if let Treatment::Stays(why) = pod.class.treatment(self.limits.included)
                && !self.leaves(pod)
            {
                reasons.push(format!("pod {} {why}", pod.name));
            }
        }
        let claims = facts.other_claims.iter();
        reasons.extend(claims.map(|claim| format!("claim {claim} holds a device")));
        reasons.extend(facts.unreleased.iter().cloned());
        reasons
    }

    /// The workloads that are not ready again, one line each.
    pub(super) fn broken_workloads(&self, facts: &UnitFacts) -> Vec<String> {
        let lines = self.broken(facts).filter_map(|uid| {
            let workload = facts.workloads.get(uid);
            let ongoing = facts.restarts.get(uid).and_then(RestartState::ongoing);
            let line = ongoing.or_else(|| workload.map(WorkloadState::describe))?;
            Some(match facts.unschedulable.get(uid) {
                Some(pod) => format!("{line}; pod {pod}"),
                None => line,
            })
        });
        lines.collect()
    }

    /// Why the pod is not on its way out.
    fn why_it_stays(&self, facts: &UnitFacts, pod: &UnitPod) -> String {
        let name = &pod.name;
        match self.departure(facts, pod) {
            Departure::Waits(why) => format!("pod {name}: {why}"),
            Departure::Restart(_) => format!("the owner of pod {name} was not restarted yet"),
            Departure::Eviction => format!("pod {name} was not evicted yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::UnitProgress;
    use crate::decide::drain::pod_class::{Inclusions, PodClass};
    use crate::decide::drain::recorded_workloads::RecordedWorkload;
    use crate::decide::drain::restart::RestartProgress;
    use crate::decide::drain::testing::{limits, unit_pod, unschedulable};
    use crate::report::testing::pod as running;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn pod(name: &str, class: PodClass, workload: Option<&str>) -> UnitPod {
        UnitPod {
            workload: workload.map(Uid::from),
            ..unit_pod(&running("team-a", name), class)
        }
    }

    fn web(name: &str) -> UnitPod {
        pod(name, PodClass::Replicated, Some("web"))
    }

    fn ready(ready: i32) -> BTreeMap<Uid, WorkloadState> {
        let state = WorkloadState {
            name: "ReplicaSet team-a/web".to_owned(),
            ready: Some(ready),
            wanted: Some(3),
            has_ended: false,
        };
        BTreeMap::from([(Uid::from("web"), state)])
    }

    fn facts(pods: Vec<UnitPod>, workloads: BTreeMap<Uid, WorkloadState>) -> UnitFacts {
        UnitFacts {
            pods,
            workloads,
            ..UnitFacts::default()
        }
    }

    fn evicts(step: &UnitStep) -> Option<&str> {
        match step {
            UnitStep::Evict(name, _) => Some(name.name.as_str()),
            UnitStep::Restart(_)
            | UnitStep::RaiseEffect
            | UnitStep::WaitUntil(_)
            | UnitStep::Finished(_) => None,
        }
    }

    fn blocked(step: UnitStep) -> Vec<String> {
        let UnitStep::Finished(UnitEnd::Blocked(reasons)) = step else {
            panic!("{step:?}");
        };
        reasons
    }

    fn accept(run: &mut UnitRun, pod: &UnitPod) {
        run.replied(pod, &EvictionReply::Accepted, seconds(0));
    }

    #[test]
    fn the_next_pod_of_a_workload_leaves_when_it_is_whole_again() {
        let (one, two) = (web("web-1"), web("web-2"));
        let mut run = UnitRun::new(limits());
        let both = facts(vec![one.clone(), two.clone()], ready(3));
        assert_eq!(evicts(&run.next(&both, seconds(0))), Some("web-1"));
        accept(&mut run, &one);
        let mut leaving = one.clone();
        leaving.is_terminating = true;
        let step = run.next(&facts(vec![leaving, two.clone()], ready(3)), seconds(1));
        assert_eq!(step, UnitStep::WaitUntil(seconds(2)), "terminating");
        let step = run.next(&facts(vec![two.clone()], ready(2)), seconds(2));
        assert_eq!(step, UnitStep::WaitUntil(seconds(3)), "not whole");
        let step = run.next(&facts(vec![two], ready(3)), seconds(9));
        assert_eq!(evicts(&step), Some("web-2"));
    }

    #[test]
    fn whole_is_as_many_ready_pods_as_before_and_not_fewer() {
        let (one, two) = (web("web-1"), web("web-2"));
        let mut run = UnitRun::new(limits());
        let both = facts(vec![one.clone(), two.clone()], ready(2));
        assert_eq!(evicts(&run.next(&both, seconds(0))), Some("web-1"));
        accept(&mut run, &one);
        let one_fewer = facts(vec![two.clone()], ready(1));
        assert_eq!(evicts(&run.next(&one_fewer, seconds(1))), None);
        let as_before = facts(vec![two.clone()], ready(2));
        assert_eq!(evicts(&run.next(&as_before, seconds(1))), Some("web-2"));
        // After an interruption, the number of ready pods before the drain is unknown.
        let mut resumed = UnitRun::resumed(limits());
        assert_eq!(evicts(&resumed.next(&as_before, seconds(1))), None);
        let whole = facts(vec![two], ready(3));
        assert_eq!(evicts(&resumed.next(&whole, seconds(1))), Some("web-2"));
    }

    /// A run by taint that has raised the effect of the rules first, and waits.
    fn raised_at_once(at: &UnitFacts) -> UnitRun {
        let mut by_taint = UnitRun::new(UnitLimits {
            force_after: Some(Duration::ZERO),
            ..limits()
        });
        assert_eq!(by_taint.next(at, seconds(0)), UnitStep::RaiseEffect);
        by_taint.raised();
        assert_eq!(
            by_taint.next(at, seconds(0)),
            UnitStep::WaitUntil(seconds(1))
        );
        by_taint
    }

    #[test]
    fn only_pods_on_devices_of_raised_rules_are_left_to_the_taint() {
        let mut raised = web("web-1");
        raised.is_evicted_by_rule = true;
        let both = facts(vec![raised.clone(), web("web-2")], ready(3));
        let only_raised = facts(vec![raised], ready(3));
        let mut run = UnitRun::new(limits());
        // The workload of the pod that leaves by taint is not disrupted further before that.
        let step = run.next(&facts(vec![web("web-2")], ready(3)), seconds(0));
        assert_eq!(evicts(&step), Some("web-2"));
        let step = run.next(&both, seconds(0));
        assert_eq!(evicts(&step), Some("web-2"));
        let step = run.next(&only_raised, seconds(1));
        assert_eq!(step, UnitStep::WaitUntil(seconds(2)));
        assert_eq!(
            blocked(run.next(&only_raised, seconds(60))),
            ["pod team-a/web-1 will be evicted by the NoExecute taint"]
        );
        for (force_after, due) in [(Some(0), true), (Some(2), true), (Some(4), false)] {
            let limits = UnitLimits {
                force_after: force_after.map(seconds),
                ..limits()
            };
            let raises = |at| {
                let mut run = UnitRun::resumed(limits);
                run.next(at, seconds(3)) == UnitStep::RaiseEffect
            };
            assert_eq!(raises(&both), due, "{force_after:?}");
            assert!(!raises(&only_raised), "nothing is left to raise");
        }
    }

    #[test]
    fn a_refused_eviction_of_a_pod_that_its_rule_evicts_now_needs_no_force() {
        let mut pod = web("web-1");
        let mut run = UnitRun::new(limits());
        run.replied(&pod, &EvictionReply::Refused("no".to_owned()), seconds(0));
        assert!(run.needs_force(&facts(vec![pod.clone()], ready(3))));
        pod.is_evicted_by_rule = true;
        assert!(!run.needs_force(&facts(vec![pod], ready(3))));
    }

    #[test]
    fn a_pod_that_tolerates_no_schedule_only_leaves_by_taint_and_never_by_eviction() {
        let mut stays = pod("web", PodClass::TolerantForScheduler, Some("web"));
        let at = facts(vec![stays.clone()], ready(3));
        let tolerates = ["pod team-a/web tolerates the taint, and stays until it is deleted"];
        let mut run = UnitRun::new(limits());
        assert_eq!(run.next(&at, seconds(0)), UnitStep::WaitUntil(seconds(1)));
        assert_eq!(blocked(run.next(&at, seconds(60))), tolerates);
        let mut by_taint = raised_at_once(&at);
        assert_eq!(
            blocked(by_taint.next(&at, seconds(60))),
            ["pod team-a/web will be evicted by the NoExecute taint"]
        );
        // A replacement that the scheduler places despite NoExecute would be evicted again and again.
        stays.is_evicted_again = true;
        let at = facts(vec![stays], ready(3));
        let mut by_taint = UnitRun::new(by_taint.limits);
        assert_eq!(
            by_taint.next(&at, seconds(0)),
            UnitStep::WaitUntil(seconds(1))
        );
        assert_eq!(blocked(by_taint.next(&at, seconds(60))), tolerates);
    }

    #[test]
    fn a_unit_with_devices_that_no_rule_selects_is_not_done() {
        let line = "1 device of the node is not tainted".to_owned();
        let agent = pod("agent", PodClass::DaemonSet, None);
        for pods in [Vec::new(), vec![agent]] {
            let at = UnitFacts {
                is_idle: true,
                untainted: Some(line.clone()),
                ..facts(pods, ready(3))
            };
            let step = UnitRun::new(limits()).next(&at, seconds(0));
            assert_eq!(blocked(step), [&*line]);
        }
    }

    #[test]
    fn a_continued_drain_compares_with_the_recorded_number_of_ready_pods() {
        let recorded = |ready| {
            let workload = RecordedWorkload {
                kind: Kind::ReplicaSet,
                name: crate::report::testing::name("team-a", "web"),
                ready,
            };
            UnitRun::resumed(limits()).recorded(&[(Uid::from("web"), workload)].into())
        };
        // Of three pods, one was unschedulable before the drain.
        let mut short = facts(vec![web("web-2")], ready(2));
        short.unschedulable = [(Uid::from("web"), unschedulable("team-a/web-3"))].into();
        for (before, is_evicted) in [(Some(2), true), (Some(3), false), (None, false)] {
            let step = recorded(before).next(&short, seconds(0));
            assert_eq!(evicts(&step).is_some(), is_evicted, "{before:?}");
        }
        // After an eviction, the number from before the drain is needed again.
        let mut run = recorded(Some(2));
        accept(&mut run, &web("web-1"));
        short.workloads = ready(1);
        assert_eq!(evicts(&run.next(&short, seconds(1))), None);
        short.workloads = ready(2);
        assert_eq!(evicts(&run.next(&short, seconds(2))), Some("web-2"));
    }

    #[test]
    fn a_continued_drain_waits_for_recorded_workloads_without_pods_on_the_devices() {
        let workload = |kind| RecordedWorkload {
            kind,
            name: crate::report::testing::name("team-a", "web"),
            ready: Some(3),
        };
        let recorded = |run: UnitRun, kind| {
            let recorded = [(Uid::from("web"), workload(kind))].into();
            run.recorded(&recorded)
        };
        let run = |kind| recorded(UnitRun::resumed(limits()), kind);
        let idle = |count| UnitFacts {
            is_idle: true,
            ..facts(Vec::new(), ready(count))
        };
        let mut set = run(Kind::ReplicaSet);
        assert_eq!(
            set.next(&idle(2), seconds(0)),
            UnitStep::WaitUntil(seconds(1))
        );
        assert_eq!(
            blocked(set.next(&idle(2), seconds(60))),
            ["ReplicaSet team-a/web: 2 of 3 ready"]
        );
        let done = UnitStep::Finished(UnitEnd::Idle(Vec::new()));
        assert_eq!(set.next(&idle(3), seconds(2)), done);
        // It lost its pods while the unit waited for its turn.
        let mut waited = recorded(UnitRun::new(limits()), Kind::ReplicaSet);
        let waits = UnitStep::WaitUntil(seconds(1));
        assert_eq!(waited.next(&idle(2), seconds(0)), waits);
        // Its pod of this node is pending until the drain is undone.
        let short = vec!["ReplicaSet team-a/web: 2 of 3 ready".to_owned()];
        assert_eq!(
            run(Kind::DaemonSet).next(&idle(2), seconds(0)),
            UnitStep::Finished(UnitEnd::Idle(short))
        );
    }

    #[test]
    fn an_idle_unit_names_the_workloads_that_are_not_ready_and_why_it_does_not_wait_for_them() {
        let one = web("web-1");
        let idle = |count| UnitFacts {
            is_idle: true,
            unschedulable: [(Uid::from("web"), unschedulable("team-a/web-3"))].into(),
            ..facts(Vec::new(), ready(count))
        };
        let end = |limits: UnitLimits, before: i32, now: i32| {
            let mut run = UnitRun::new(limits);
            run.next(&facts(vec![one.clone()], ready(before)), seconds(0));
            accept(&mut run, &one);
            run.next(&idle(now), seconds(1))
        };
        let named = |line: &str| UnitStep::Finished(UnitEnd::Idle(vec![line.to_owned()]));
        let no_fewer =
            named("ReplicaSet team-a/web: 0 of 3 ready (no fewer than before the drain)");
        let accepting = UnitLimits {
            accepts_unplaceable: true,
            ..limits()
        };
        assert_eq!(end(limits(), 0, 0), no_fewer);
        assert_eq!(
            end(limits(), 1, 2),
            named("ReplicaSet team-a/web: 2 of 3 ready (no fewer than before the drain)")
        );
        assert_eq!(end(accepting, 0, 0), no_fewer);
        assert_eq!(
            end(accepting, 3, 2),
            named(
                "ReplicaSet team-a/web: 2 of 3 ready (replacements are pending, such as pod team-a/web-3; --accept-unplaceable accepts this)"
            )
        );
        let whole = UnitStep::Finished(UnitEnd::Idle(Vec::new()));
        assert_eq!(end(accepting, 3, 3), whole);
        // Of a pod that left by itself, no number from before the drain is known.
        let mut run = UnitRun::new(limits());
        run.next(&facts(Vec::new(), ready(3)), seconds(0));
        assert_eq!(
            run.next(&idle(2), seconds(1)),
            named("ReplicaSet team-a/web: 2 of 3 ready")
        );
    }

    #[test]
    fn a_continued_drain_does_not_wait_for_workloads_whose_pods_it_never_evicts() {
        let monitor = pod("monitor-1", PodClass::Monitor, Some("monitor"));
        let mut workloads = ready(3);
        let state = WorkloadState {
            name: "DaemonSet team-a/monitor".to_owned(),
            ready: Some(7),
            wanted: Some(8),
            has_ended: false,
        };
        workloads.insert("monitor".into(), state);
        let at = |pods| UnitFacts {
            unschedulable: [(Uid::from("monitor"), unschedulable("team-a/monitor-8"))].into(),
            ..facts(pods, workloads.clone())
        };
        let one = web("web-1");
        let mut run = UnitRun::resumed(limits());
        let step = run.next(&at(vec![one.clone(), monitor.clone()]), seconds(0));
        assert_eq!(evicts(&step), Some("web-1"));
        accept(&mut run, &one);
        let left = UnitFacts {
            is_idle: true,
            ..at(vec![monitor])
        };
        let step = run.next(&left, seconds(1));
        let held = UnitEnd::Held(vec!["team-a/monitor-1".to_owned()]);
        assert_eq!(step, UnitStep::Finished(held));
    }

    #[test]
    fn a_workload_that_ended_or_was_deleted_is_not_waited_for() {
        let one = web("web-1");
        let idle = |workloads| UnitFacts {
            is_idle: true,
            ..facts(Vec::new(), workloads)
        };
        let mut ended = ready(0);
        ended.get_mut(&Uid::from("web")).unwrap().has_ended = true;
        for (name, workloads, is_over) in [
            ("not whole", ready(2), false),
            ("whole", ready(3), true),
            ("ended", ended, true),
            ("deleted", BTreeMap::new(), true),
        ] {
            let mut run = UnitRun::new(limits());
            run.next(&facts(vec![one.clone()], ready(3)), seconds(0));
            accept(&mut run, &one);
            let step = run.next(&idle(workloads), seconds(1));
            assert_eq!(
                step == UnitStep::Finished(UnitEnd::Idle(Vec::new())),
                is_over,
                "{name}"
            );
        }
        let mut unknown = ready(3);
        unknown.get_mut(&Uid::from("web")).unwrap().ready = None;
        let mut run = UnitRun::new(limits());
        run.next(&facts(vec![one.clone()], ready(3)), seconds(0));
        accept(&mut run, &one);
        assert_eq!(
            run.next(&idle(unknown), seconds(1)),
            UnitStep::WaitUntil(seconds(2))
        );
    }

    #[test]
    fn other_workloads_do_not_wait_for_each_other_and_the_careful_ones_wait_for_all() {
        let all = Inclusions {
            single_replicas: true,
            jobs: true,
            unmanaged: true,
            daemon_sets: false,
        };
        let mut run = UnitRun::new(UnitLimits {
            included: all,
            ..limits()
        });
        let one = web("web-1");
        let other = pod("api-1", PodClass::Replicated, Some("api"));
        let bare = pod("bare", PodClass::Unmanaged, None);
        let db = pod("db-0", PodClass::SingleReplica, Some("db"));
        let train = pod("train-0", PodClass::Job, Some("train"));
        let pods = vec![one.clone(), other.clone(), db.clone(), bare.clone()];
        assert_eq!(
            evicts(&run.next(&facts(pods, ready(3)), seconds(0))),
            Some("web-1")
        );
        accept(&mut run, &one);
        let left = vec![other.clone(), db.clone(), bare.clone()];
        assert_eq!(
            evicts(&run.next(&facts(left, ready(2)), seconds(1))),
            Some("api-1")
        );
        accept(&mut run, &other);
        // Those whose loss hurts wait until the last of the others is gone and replaced.
        let mut leaving = other;
        leaving.is_terminating = true;
        let careful = vec![db.clone(), train.clone(), bare.clone()];
        let left = [vec![leaving], careful.clone()].concat();
        let step = run.next(&facts(left, ready(3)), seconds(1));
        assert_eq!(evicts(&step), None);
        let step = run.next(&facts(careful.clone(), ready(2)), seconds(1));
        assert_eq!(evicts(&step), None);
        let step = run.next(&facts(careful, ready(3)), seconds(1));
        assert_eq!(evicts(&step), Some("db-0"));
        accept(&mut run, &db);
        // Then they leave side by side, whatever is ready of each other.
        let mut leaving = db;
        leaving.is_terminating = true;
        let mut workloads = ready(3);
        let db = WorkloadState {
            name: "StatefulSet team-a/db".to_owned(),
            ready: Some(0),
            wanted: Some(1),
            has_ended: false,
        };
        workloads.insert("db".into(), db);
        let left = vec![leaving, train.clone(), bare.clone()];
        let step = run.next(&facts(left, workloads.clone()), seconds(1));
        assert_eq!(evicts(&step), Some("train-0"));
        accept(&mut run, &train);
        // But one pod of a workload after the other.
        let mut leaving = train;
        leaving.is_terminating = true;
        let second = pod("train-1", PodClass::Job, Some("train"));
        let left = vec![leaving, second, bare];
        let step = run.next(&facts(left, workloads.clone()), seconds(1));
        assert_eq!(evicts(&step), Some("bare"));
        // The unit is not done before all of them are ready again.
        let idle = UnitFacts {
            is_idle: true,
            ..facts(Vec::new(), workloads)
        };
        assert_eq!(run.next(&idle, seconds(1)), UnitStep::WaitUntil(seconds(2)));
    }

    #[test]
    fn a_refused_eviction_is_tried_again_ever_later_and_ends_with_the_time() {
        let one = web("web-1");
        let at = facts(vec![one.clone()], ready(3));
        let mut run = UnitRun::new(limits());
        let refused = EvictionReply::Refused("the budget needs 3".to_owned());
        let mut tries = Vec::new();
        for second in 0..60 {
            match run.next(&at, seconds(second)) {
                UnitStep::Evict(..) => {
                    tries.push(second);
                    run.replied(&one, &refused, seconds(second));
                }
                UnitStep::WaitUntil(until) => assert!(until > seconds(second)),
                step @ (UnitStep::Restart(_) | UnitStep::RaiseEffect | UnitStep::Finished(_)) => {
                    panic!("{step:?}")
                }
            }
        }
        assert_eq!(tries, [0, 1, 3, 7, 12, 17, 22, 27, 32, 37, 42, 47, 52, 57]);
        let reasons = blocked(run.next(&at, seconds(60)));
        assert_eq!(reasons, ["pod team-a/web-1: the budget needs 3"]);
    }

    #[test]
    fn force_is_needed_only_where_budgets_alone_refuse() {
        let one = web("web-1");
        let refused = EvictionReply::Refused("the budget needs 3".to_owned());
        let run = |limits: UnitLimits| {
            let mut run = UnitRun::new(limits);
            run.replied(&one, &refused, seconds(0));
            run
        };
        let at = facts(vec![one.clone()], ready(3));
        assert!(run(limits()).needs_force(&at));
        assert!(!UnitRun::new(limits()).needs_force(&at), "not refused");
        let forced = UnitLimits {
            force_after: Some(seconds(9)),
            ..limits()
        };
        assert!(!run(forced).needs_force(&at), "it is chosen");
        let mut raised = run(limits());
        raised.raised();
        assert!(!raised.needs_force(&at), "the controller evicts");
        let mut leaving = one.clone();
        leaving.is_terminating = true;
        let gone = facts(vec![leaving], ready(3));
        assert!(!run(limits()).needs_force(&gone), "it is on its way out");
        let mut starved = run(limits());
        accept(&mut starved, &web("web-2"));
        let mut waiting = at;
        waiting.workloads = ready(2);
        waiting.unschedulable = [(Uid::from("web"), unschedulable("team-a/web-3"))].into();
        assert!(
            !starved.needs_force(&waiting),
            "more would wait for a device"
        );
        let unplaced = |run: &UnitRun| run.unplaced_pod(&waiting).map(|pod| pod.to_string());
        assert_eq!(unplaced(&starved).as_deref(), Some("team-a/web-3"));
        let mut accepting = run(UnitLimits {
            accepts_unplaceable: true,
            ..limits()
        });
        accept(&mut accepting, &web("web-2"));
        assert_eq!(unplaced(&accepting), None, "it is accepted");
        assert_eq!(unplaced(&run(limits())), None, "nothing was evicted");
    }

    #[test]
    fn one_that_is_refused_does_not_keep_others_waiting() {
        let (one, other) = (
            web("web-1"),
            pod("api-1", PodClass::Replicated, Some("api")),
        );
        let at = facts(vec![one.clone(), other], ready(3));
        let mut run = UnitRun::new(limits());
        assert_eq!(evicts(&run.next(&at, seconds(0))), Some("web-1"));
        let refused = EvictionReply::Refused("no".to_owned());
        run.replied(&one, &refused, seconds(0));
        assert_eq!(evicts(&run.next(&at, seconds(0))), Some("api-1"));
    }

    #[test]
    fn a_refusal_beside_a_replacement_without_a_device_ends_the_unit() {
        let (one, two) = (web("web-1"), web("web-2"));
        let starved = |pods| UnitFacts {
            unschedulable: BTreeMap::from([(Uid::from("web"), unschedulable("team-a/web-3"))]),
            ..facts(pods, ready(2))
        };
        let refused = EvictionReply::Refused("no".to_owned());
        let begun = |limits| {
            let mut run = UnitRun::new(limits);
            run.next(&facts(vec![one.clone(), two.clone()], ready(3)), seconds(0));
            accept(&mut run, &one);
            run
        };
        let mut run = begun(limits());
        // Without a refusal it may find a device yet.
        let step = run.next(&starved(vec![two.clone()]), seconds(1));
        assert_eq!(step, UnitStep::WaitUntil(seconds(2)));
        run.replied(&two, &refused, seconds(1));
        let reasons = blocked(run.next(&starved(vec![two.clone()]), seconds(2)));
        assert_eq!(
            reasons,
            [
                "pod team-a/web-2: no",
                "ReplicaSet team-a/web: 2 of 3 ready; pod team-a/web-3 is unschedulable: no device"
            ]
        );
        // With --force, it continues until --grace has passed.
        let mut forced = begun(UnitLimits {
            force_after: Some(seconds(10)),
            ..limits()
        });
        forced.replied(&two, &refused, seconds(1));
        let step = forced.next(&starved(vec![two.clone()]), seconds(9));
        assert_eq!(step, UnitStep::WaitUntil(seconds(10)));
        let step = forced.next(&starved(vec![two.clone()]), seconds(10));
        assert_eq!(step, UnitStep::RaiseEffect);
        // Who accepts it loses the next pod as well.
        let mut accepting = begun(UnitLimits {
            accepts_unplaceable: true,
            ..limits()
        });
        let step = accepting.next(&starved(vec![two.clone()]), seconds(1));
        assert_eq!(evicts(&step), Some("web-2"));
        // Why it ends early is named, whoever accepts it.
        accepting.replied(&two, &refused, seconds(1));
        let reasons = blocked(accepting.next(&starved(vec![two.clone()]), seconds(2)));
        let why = "pod team-a/web-3 is unschedulable: no device";
        let named = reasons.iter().filter(|reason| reason.contains(why));
        assert_eq!(named.count(), 1, "{reasons:?}");
        // A pod of another workload that waits is none of this drain's.
        let mut unrelated = UnitRun::new(limits());
        let step = unrelated.next(&starved(vec![two]), seconds(0));
        assert_eq!(evicts(&step), Some("web-2"));
    }

    #[test]
    fn nothing_is_evicted_idle_or_done_while_something_is_unread() {
        let mut run = UnitRun::new(limits());
        let mut unread = facts(vec![web("web-1")], ready(3));
        unread.unread = vec!["pods".to_owned()];
        assert_eq!(
            run.next(&unread, seconds(0)),
            UnitStep::WaitUntil(seconds(1))
        );
        assert_eq!(blocked(run.next(&unread, seconds(60))), ["unknown: pods"]);
        let nothing = UnitFacts {
            is_idle: true,
            unread: vec!["claims".to_owned()],
            ..UnitFacts::default()
        };
        assert_eq!(
            run.next(&nothing, seconds(1)),
            UnitStep::WaitUntil(seconds(2))
        );
    }

    #[test]
    fn the_taint_evicts_only_where_that_was_asked_for() {
        let one = web("web-1");
        let at = facts(vec![one], ready(3));
        let mut by_taint = raised_at_once(&at);
        // What the Eviction API would say does not matter to the controller.
        let UnitStep::Finished(UnitEnd::Blocked(left)) = by_taint.next(&at, seconds(60)) else {
            panic!("the time is over");
        };
        assert_eq!(
            left,
            ["pod team-a/web-1 will be evicted by the NoExecute taint"]
        );
        // The workload has to be ready again nevertheless.
        let gone = UnitFacts {
            is_idle: true,
            ..facts(Vec::new(), ready(2))
        };
        assert_eq!(
            by_taint.next(&gone, seconds(3)),
            UnitStep::WaitUntil(seconds(4))
        );
        let mut forced = UnitRun::new(UnitLimits {
            force_after: Some(seconds(10)),
            ..limits()
        });
        assert_eq!(evicts(&forced.next(&at, seconds(9))), Some("web-1"));
        assert_eq!(forced.next(&at, seconds(10)), UnitStep::RaiseEffect);
        let mut unforced = UnitRun::new(limits());
        assert_eq!(evicts(&unforced.next(&at, seconds(59))), Some("web-1"));
        assert_eq!(blocked(unforced.next(&at, seconds(60))).len(), 1);
    }

    #[test]
    fn a_unit_is_idle_only_where_nothing_holds_its_devices() {
        let idle = || UnitFacts {
            is_idle: true,
            ..UnitFacts::default()
        };
        let next = |facts: UnitFacts| UnitRun::new(limits()).next(&facts, seconds(60));
        assert_eq!(next(idle()), UnitStep::Finished(UnitEnd::Idle(Vec::new())));
        assert_eq!(
            blocked(next(UnitFacts::default())),
            ["it is not yet known whether the devices are idle"]
        );
        let by_another_name = UnitFacts {
            not_idle: vec!["pod team-a/part uses gpu-0-part-0".to_owned()],
            ..UnitFacts::default()
        };
        assert_eq!(
            blocked(next(by_another_name)),
            ["pod team-a/part uses gpu-0-part-0"]
        );
        let held = UnitFacts {
            other_claims: vec![crate::report::testing::name("team-a", "kept")],
            ..idle()
        };
        assert_eq!(blocked(next(held)), ["claim team-a/kept holds a device"]);
        let agent = pod("agent", PodClass::DaemonSet, None);
        let kept = UnitFacts {
            pods: vec![agent.clone()],
            ..idle()
        };
        assert_eq!(
            next(kept.clone()),
            UnitStep::Finished(UnitEnd::Held(vec!["team-a/agent".to_owned()]))
        );
        // A pod that was deleted by force is gone before its device is released: the wait has to look first.
        let mut run = UnitRun::new(limits());
        let looked = |looks: usize, unreleased: &[&str]| UnitFacts {
            is_idle: false,
            wait_looks: looks,
            unreleased: unreleased.iter().map(|line| (*line).to_owned()).collect(),
            ..kept.clone()
        };
        let waits = |step| matches!(step, UnitStep::WaitUntil(_));
        assert!(waits(run.next(&looked(7, &[]), seconds(1))));
        assert!(
            waits(run.next(&looked(8, &[]), seconds(2))),
            "it had begun before"
        );
        let mut leaving = web("web-1");
        leaving.is_terminating = true;
        let mut again = looked(9, &[]);
        again.pods.push(leaving);
        assert!(waits(run.next(&again, seconds(3))));
        assert!(
            waits(run.next(&looked(9, &[]), seconds(4))),
            "another has gone since"
        );
        let forced = run
            .clone()
            .next(&looked(10, &["x was force-deleted"]), seconds(5));
        let lines = vec!["x was force-deleted".to_owned()];
        assert_eq!(forced, UnitStep::Finished(UnitEnd::NotReleased(lines)));
        let over = blocked(run.clone().next(&looked(10, &[]), seconds(60)));
        assert!(over[0].contains("not known yet"), "{over:?}");
        let held = run.next(&looked(11, &[]), seconds(6));
        assert!(
            matches!(held, UnitStep::Finished(UnitEnd::Held(_))),
            "{held:?}"
        );
        let both = UnitFacts {
            other_claims: vec![crate::report::testing::name("team-a", "kept")],
            ..kept
        };
        assert_eq!(blocked(next(both)), ["claim team-a/kept holds a device"]);
        let tolerant = UnitFacts {
            pods: vec![agent, pod("stays", PodClass::Tolerant, None)],
            ..idle()
        };
        let stays = "pod team-a/stays tolerates the taint, and stays until it is deleted";
        assert_eq!(blocked(next(tolerant.clone())), [stays]);
        let recorded = UnitFacts {
            unreleased: vec!["x was force-deleted".to_owned()],
            ..tolerant
        };
        assert_eq!(blocked(next(recorded)), [stays, "x was force-deleted"]);
        let keeps = UnitFacts {
            pods: vec![pod("web", PodClass::KeepsClaim, None)],
            ..idle()
        };
        let at_once = UnitRun::new(limits()).next(&keeps, seconds(0));
        assert_eq!(
            blocked(at_once),
            [
                "pod team-a/web uses a claim that its replacement would use too, with the same device (to release the device, scale the workload of the pod to 0)"
            ]
        );
        let mut leaving = pod("stays", PodClass::Tolerant, None);
        leaving.is_terminating = true;
        let terminating = UnitFacts {
            pods: vec![leaving],
            ..idle()
        };
        assert_eq!(
            blocked(next(terminating.clone())),
            ["pod team-a/stays is terminating"]
        );
        let name = crate::report::testing::name("team-a", "stays");
        let why = "terminating, its node is not ready".to_owned();
        let known = UnitFacts {
            terminating: [(name, why)].into(),
            ..terminating
        };
        assert_eq!(
            blocked(next(known)),
            ["pod team-a/stays: terminating, its node is not ready"]
        );
    }

    #[test]
    fn only_what_this_run_knows_is_noted() {
        let text = || "x".to_owned();
        for (end, expected) in [
            (UnitEnd::Idle(Vec::new()), Some(UnitProgress::Idle)),
            (UnitEnd::Held(vec![text()]), Some(UnitProgress::Held)),
            (UnitEnd::Blocked(vec![text()]), Some(UnitProgress::Blocked)),
            (UnitEnd::Reversed(text()), None),
            (UnitEnd::TakenOver(text()), None),
        ] {
            assert_eq!(end.progress(), expected);
        }
    }

    #[test]
    fn what_others_did_to_the_rules_ends_the_unit_at_once() {
        for (rules, expected) in [
            (
                RuleState::Reversed("bob".to_owned()),
                UnitEnd::Reversed("bob".to_owned()),
            ),
            (
                RuleState::TakenOver("bob".to_owned()),
                UnitEnd::TakenOver("bob".to_owned()),
            ),
            (
                RuleState::EffectChanged("rule r was set to effect NoExecute by bob".to_owned()),
                UnitEnd::Blocked(vec!["rule r was set to effect NoExecute by bob".to_owned()]),
            ),
        ] {
            let facts = UnitFacts {
                rules,
                is_idle: true,
                ..facts(vec![web("web-1")], ready(3))
            };
            let step = UnitRun::new(limits()).next(&facts, seconds(0));
            assert_eq!(step, UnitStep::Finished(expected));
        }
    }

    #[test]
    fn an_eviction_whose_answer_was_lost_counts_as_made() {
        let (one, two) = (web("web-1"), web("web-2"));
        let mut run = UnitRun::new(limits());
        run.next(&facts(vec![one.clone(), two.clone()], ready(3)), seconds(0));
        run.replied(&one, &EvictionReply::Unknown, seconds(0));
        let step = run.next(&facts(vec![two.clone()], ready(2)), seconds(1));
        assert_eq!(evicts(&step), None);
        // One that was gone has lost nothing to this drain.
        let mut run = UnitRun::new(limits());
        run.next(&facts(vec![one.clone(), two.clone()], ready(3)), seconds(0));
        run.replied(&one, &EvictionReply::Gone, seconds(0));
        let step = run.next(&facts(vec![two], ready(2)), seconds(1));
        assert_eq!(evicts(&step), Some("web-2"));
    }

    fn deployment(progress: RestartProgress) -> RestartState {
        RestartState {
            owner: crate::report::testing::name("team-a", "web"),
            resource_version: "7".to_owned(),
            replicas: 3,
            progress,
        }
    }

    fn restarting(pods: Vec<UnitPod>, progress: RestartProgress) -> UnitFacts {
        UnitFacts {
            restarts: [(Uid::from("web"), deployment(progress))].into(),
            ..facts(pods, ready(3))
        }
    }

    const ONGOING: RestartProgress = RestartProgress::Ongoing {
        updated: 2,
        available: 3,
        old: 1,
    };

    fn by_restart() -> UnitRun {
        let run = UnitRun::new(UnitLimits {
            restarts: true,
            ..limits()
        });
        run.restarting([Uid::from("web")].into())
    }

    #[test]
    fn an_owner_is_restarted_once_while_others_are_evicted_and_waited_for_until_it_is_whole() {
        let (one, two) = (web("web-1"), web("web-2"));
        let api = pod("api-1", PodClass::Replicated, Some("api"));
        let db = pod("db-0", PodClass::SingleReplica, None);
        let mut run = by_restart();
        run.limits.included.single_replicas = true;
        let pods = || vec![one.clone(), two.clone(), db.clone()];
        let with_api = [pods(), vec![api.clone()]].concat();
        let begun = restarting(with_api.clone(), RestartProgress::NotBegun);
        let uid = Uid::from("web");
        assert_eq!(run.next(&begun, seconds(0)), UnitStep::Restart(uid.clone()));
        run.restarted(&uid, &RestartReply::Accepted, seconds(0));
        let ongoing = restarting(with_api, ONGOING);
        assert_eq!(evicts(&run.next(&ongoing, seconds(1))), Some("api-1"));
        accept(&mut run, &api);
        // As many are ready as before, and old ones among them: the careful pods wait.
        let ongoing = restarting(pods(), ONGOING);
        let step = run.next(&ongoing, seconds(9));
        assert_eq!(step, UnitStep::WaitUntil(seconds(10)));
        let gone = |progress| UnitFacts {
            is_idle: true,
            ..restarting(vec![db.clone()], progress)
        };
        assert_eq!(evicts(&run.next(&gone(ONGOING), seconds(9))), None);
        let complete = run.next(&gone(RestartProgress::Complete), seconds(9));
        assert_eq!(evicts(&complete), Some("db-0"));
        // No unit is over before the rollout is.
        let mut run = by_restart();
        run.restarted(&uid, &RestartReply::Unknown, seconds(0));
        let empty = |progress| UnitFacts {
            is_idle: true,
            ..restarting(Vec::new(), progress)
        };
        let step = run.next(&empty(ONGOING), seconds(1));
        assert_eq!(step, UnitStep::WaitUntil(seconds(2)));
        let step = run.next(&empty(RestartProgress::Complete), seconds(1));
        assert_eq!(step, UnitStep::Finished(UnitEnd::Idle(Vec::new())));
    }

    #[test]
    fn a_restarted_owner_that_is_not_ready_in_time_blocks_the_unit() {
        let mut run = by_restart();
        run.restarted(&Uid::from("web"), &RestartReply::Accepted, seconds(0));
        let starved = UnitFacts {
            unschedulable: BTreeMap::from([(Uid::from("web"), unschedulable("team-a/web-3"))]),
            ..restarting(vec![web("web-1")], ONGOING)
        };
        let step = run.next(&starved, seconds(59));
        assert_eq!(step, UnitStep::WaitUntil(seconds(60)));
        assert_eq!(
            blocked(run.next(&starved, seconds(60))),
            [
                "pod team-a/web-1: Deployment team-a/web: restarted, 2 of 3 pods updated, 3 available, 1 old pod left",
                "Deployment team-a/web: restarted, 2 of 3 pods updated, 3 available, 1 old pod left; \
                 pod team-a/web-3 is unschedulable: no device"
            ]
        );
        // With force it is raised like any other.
        let mut forced = by_restart();
        forced.limits.force_after = Some(seconds(10));
        assert_eq!(forced.next(&starved, seconds(10)), UnitStep::RaiseEffect);
    }

    #[test]
    fn a_restart_that_was_not_made_is_tried_later_and_not_when_the_time_is_over() {
        let begun = restarting(vec![web("web-1")], RestartProgress::NotBegun);
        let uid = Uid::from("web");
        let mut run = by_restart();
        run.restarted(&uid, &RestartReply::Changed, seconds(1));
        assert_eq!(
            run.next(&begun, seconds(5)),
            UnitStep::WaitUntil(seconds(6))
        );
        let step = run.next(&begun, seconds(6));
        assert_eq!(step, UnitStep::Restart(uid.clone()));
        let reasons = blocked(run.next(&begun, seconds(60)));
        assert_eq!(
            reasons,
            ["the owner of pod team-a/web-1 was not restarted yet"]
        );
        run.restarted(&uid, &RestartReply::Refused, seconds(50));
        assert_eq!(evicts(&run.next(&begun, seconds(51))), Some("web-1"));
    }

    #[test]
    fn new_pods_of_a_rollout_that_wait_for_devices_of_old_ones_end_no_unit() {
        let (one, api) = (
            web("web-1"),
            pod("api-1", PodClass::Replicated, Some("api")),
        );
        let starved = |progress| UnitFacts {
            unschedulable: BTreeMap::from([(Uid::from("web"), unschedulable("team-a/web-3"))]),
            ..restarting(vec![one.clone(), api.clone()], progress)
        };
        let mut run = by_restart();
        run.restarted(&Uid::from("web"), &RestartReply::Accepted, seconds(0));
        let refused = EvictionReply::Refused("no".to_owned());
        run.replied(&api, &refused, seconds(0));
        let step = run.next(&starved(ONGOING), seconds(1));
        assert_eq!(step, UnitStep::WaitUntil(seconds(2)));
        let over = run.next(&starved(RestartProgress::Complete), seconds(1));
        assert!(matches!(over, UnitStep::Finished(UnitEnd::Blocked(_))));
    }

    #[test]
    fn no_owner_is_restarted_while_a_replacement_waits_for_a_device() {
        let one = web("web-1");
        let api = pod("api-1", PodClass::Replicated, Some("api"));
        let begun = UnitFacts {
            unschedulable: BTreeMap::from([(Uid::from("api"), unschedulable("team-a/api-3"))]),
            ..restarting(vec![one], RestartProgress::NotBegun)
        };
        let restart = UnitStep::Restart(Uid::from("web"));
        let mut unrelated = by_restart();
        assert_eq!(unrelated.next(&begun, seconds(0)), restart);
        let mut run = by_restart();
        accept(&mut run, &api);
        assert_eq!(
            run.next(&begun, seconds(0)),
            UnitStep::WaitUntil(seconds(1))
        );
        run.limits.accepts_unplaceable = true;
        assert_eq!(run.next(&begun, seconds(0)), restart);
    }

    #[test]
    fn a_pod_that_stays_after_a_complete_restart_is_evicted_once_reads_have_caught_up() {
        let mut run = by_restart();
        run.restarted(&Uid::from("web"), &RestartReply::Accepted, seconds(0));
        let complete = restarting(vec![web("web-1")], RestartProgress::Complete);
        assert_eq!(evicts(&run.next(&complete, seconds(1))), None);
        assert_eq!(evicts(&run.next(&complete, seconds(9))), Some("web-1"));
    }

    #[test]
    fn an_owner_of_which_a_pod_was_evicted_is_not_restarted_any_more() {
        let mut run = by_restart();
        let (one, two) = (web("web-1"), web("web-2"));
        accept(&mut run, &one);
        let begun = restarting(vec![two], RestartProgress::NotBegun);
        assert_eq!(evicts(&run.next(&begun, seconds(1))), Some("web-2"));
    }

    #[test]
    fn an_eviction_that_was_refused_and_then_accepted_needs_no_force() {
        let pod = web("web-1");
        let mut run = UnitRun::new(limits());
        run.replied(&pod, &EvictionReply::Refused("no".to_owned()), seconds(0));
        accept(&mut run, &pod);
        assert!(!run.needs_force(&facts(vec![pod], ready(3))));
    }

    #[test]
    fn a_workload_that_is_recorded_and_still_has_pods_counts_its_ready_pods_anew() {
        let workload = RecordedWorkload {
            kind: Kind::ReplicaSet,
            name: crate::report::testing::name("team-a", "web"),
            ready: Some(3),
        };
        let recorded = [(Uid::from("web"), workload)].into();
        let mut run = UnitRun::new(limits()).recorded(&recorded);
        // Fewer pods are ready since the unit waited for its turn; none of them was evicted by this drain.
        let (one, two) = (web("web-1"), web("web-2"));
        let both = facts(vec![one, two], ready(2));
        assert_eq!(evicts(&run.next(&both, seconds(0))), Some("web-1"));
    }

    #[test]
    fn an_unschedulable_pod_of_a_workload_that_was_whole_before_is_a_replacement() {
        let (one, two) = (web("web-1"), web("web-2"));
        let mut run = UnitRun::new(limits());
        let both = facts(vec![one.clone(), two.clone()], ready(3));
        assert_eq!(evicts(&run.next(&both, seconds(0))), Some("web-1"));
        accept(&mut run, &one);
        let pending = UnitFacts {
            unschedulable: BTreeMap::from([(Uid::from("web"), unschedulable("team-a/web-4"))]),
            ..facts(vec![two], ready(3))
        };
        assert!(run.unplaced_pod(&pending).is_some());
    }

    #[test]
    fn a_claim_that_replacements_keep_ends_the_unit_whoever_else_stays() {
        let stays = facts(
            vec![
                pod("web", PodClass::KeepsClaim, None),
                pod("agent", PodClass::DaemonSet, None),
            ],
            BTreeMap::new(),
        );
        let mut run = UnitRun::new(limits());
        assert!(!blocked(run.next(&stays, seconds(0))).is_empty());
    }

    #[test]
    fn the_next_look_is_no_later_than_the_grace_and_the_timeout() {
        let millis = Duration::from_millis;
        let waits = |grace, timeout, elapsed| {
            let run = UnitRun::new(UnitLimits {
                force_after: Some(grace),
                timeout,
                ..limits()
            });
            run.wait_or_block(false, elapsed, Vec::new())
        };
        for (grace, timeout, elapsed, expected) in [
            (millis(5_500), seconds(60), seconds(5), millis(5_500)),
            (millis(5_500), seconds(60), seconds(6), seconds(7)),
            (seconds(90), millis(5_500), seconds(5), millis(5_500)),
        ] {
            let step = waits(grace, timeout, elapsed);
            assert_eq!(step, UnitStep::WaitUntil(expected), "{grace:?} {elapsed:?}");
        }
        let mut raised = UnitRun::new(UnitLimits {
            force_after: Some(millis(5_500)),
            ..limits()
        });
        raised.raised();
        let step = raised.wait_or_block(false, seconds(5), Vec::new());
        assert_eq!(step, UnitStep::WaitUntil(seconds(6)));
    }
}
