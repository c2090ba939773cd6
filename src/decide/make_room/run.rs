//! Steps from the first eviction until the pod is scheduled.
//!
//! Takes facts and the time since the start, and gives the next step. A pod is evicted once: an eviction that the server
//! accepted is not sent again, and a pod that is terminating is not evicted.

use std::collections::BTreeSet;
use std::time::Duration;

use super::candidates::explain_pod;
use super::plan::RoomPlan;
use crate::decide::drain::{EvictionReply, RefusedEvictions, rule_change};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceTaintRule, NamespacedName, NodeName, Pod, ResourceClaim, Snapshot, Uid,
};
use crate::naming::phrase::few;

/// Progress of the waiting pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodProgress {
    /// It has no node; the message of the scheduler, if there is one.
    Pending(Option<String>),
    /// It has this node.
    Scheduled(NodeName),
    /// It is gone, or another pod has its name.
    Gone,
}

/// Facts of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomFacts {
    /// Progress of the waiting pod.
    pub progress: PodProgress,
    /// Devices that its claims hold.
    pub devices: BTreeSet<DeviceId>,
    /// Pods of the plan that hold devices, each with whether it is terminating.
    pub remaining: Vec<(NamespacedName, Uid, bool)>,
    /// Claims that got a device of the plan meanwhile, in words.
    pub competitors: Vec<String>,
    /// Change of a rule by another user or program, in words.
    pub interference: Option<String>,
}

/// The cluster at one look.
#[derive(Clone, Copy, Debug)]
pub struct RoomView<'a> {
    /// The cluster, with the pods that use the devices.
    pub snapshot: &'a Snapshot,
    /// The waiting pod; absent where it is gone.
    pub pod: Option<&'a Pod>,
    /// Its UID.
    pub uid: &'a Uid,
    /// Its claims that wait for devices, by name.
    pub claims: &'a [NamespacedName],
    /// The rules that were made.
    pub rules: &'a [DeviceTaintRule],
    /// Claims that held devices before the first eviction.
    pub before: &'a BTreeSet<Uid>,
}

/// The claims that hold devices.
pub fn allocated(snapshot: &Snapshot) -> BTreeSet<Uid> {
    let claims = snapshot.claims.iter();
    let allocated = claims.filter(|claim| claim.allocation.is_some());
    allocated.map(|claim| claim.uid.clone()).collect()
}

/// Progress of the pod with this UID, where `pod` is the one that has its name now.
pub fn progress(pod: Option<&Pod>, uid: &Uid) -> PodProgress {
    let Some(pod) = pod.filter(|pod| pod.uid == *uid) else {
        return PodProgress::Gone;
    };
    match &pod.node {
        Some(node) => PodProgress::Scheduled(node.clone()),
        // The scheduler skips pods that are terminating, so this one never gets a node.
        None if pod.deletion.is_some() => PodProgress::Gone,
        None => PodProgress::Pending(pod.has_no_place().map(str::to_owned)),
    }
}

impl RoomFacts {
    /// The facts of a look.
    pub fn new(plan: &RoomPlan, view: &RoomView<'_>) -> Self {
        let own = |claim: &&ResourceClaim| view.claims.contains(&claim.name);
        let claims = view.snapshot.claims.iter();
        let results = |claim: &ResourceClaim| -> BTreeSet<DeviceId> {
            let held = claim.exclusive_results();
            held.map(|result| result.device.clone()).collect()
        };
        // A claim that held a device before may hold it until its pods have left.
        let others = claims
            .clone()
            .filter(|claim| !own(claim) && !view.before.contains(&claim.uid));
        let competitors = others.filter_map(|claim| {
            let held = results(claim);
            let taken = held.intersection(&plan.set.devices).next()?;
            Some(format!("claim {} got {taken}", claim.name))
        });
        Self {
            progress: progress(view.pod, view.uid),
            devices: claims.clone().filter(own).flat_map(results).collect(),
            remaining: remaining(plan, view.snapshot),
            competitors: competitors.collect(),
            interference: rule_change(view.rules, &view.snapshot.rules),
        }
    }

    /// True if the claims were read before the pod was scheduled, and the pod after it: the next look has its devices.
    pub fn precedes_scheduling(&self) -> bool {
        matches!(self.progress, PodProgress::Scheduled(_)) && self.devices.is_empty()
    }
}

/// The pods of the plan that a claim with one of their devices is reserved for.
fn remaining(plan: &RoomPlan, snapshot: &Snapshot) -> Vec<(NamespacedName, Uid, bool)> {
    let holds = |claim: &&ResourceClaim| {
        let mut results = claim.exclusive_results();
        results.any(|result| plan.held.contains(&result.device))
    };
    let holding = snapshot.claims.iter().filter(holds);
    let users: BTreeSet<&Uid> = holding
        .flat_map(|claim| claim.reserved_for.iter().map(|one| &one.uid))
        .collect();
    let left = plan.pods.iter().filter(|pod| users.contains(&pod.uid));
    left.map(|pod| {
        let found = snapshot.pods.iter().find(|found| found.uid == pod.uid);
        // A pod that is gone while its claim is still reserved for it needs no eviction.
        let is_leaving = found.is_none_or(|pod| pod.deletion.is_some());
        (pod.name.clone(), pod.uid.clone(), is_leaving)
    })
    .collect()
}

/// Next step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomStep {
    /// Evict this pod through the Eviction API.
    Evict(Uid),
    /// Delete this pod.
    Delete(Uid),
    /// Wait.
    Wait,
    /// End the run.
    Finished(RoomEnd),
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomEnd {
    /// The pod has a node, and these devices.
    Scheduled(NodeName, BTreeSet<DeviceId>),
    /// Other claims got the devices.
    Lost(Vec<String>),
    /// The time is over, with what the run still waited for.
    TimedOut(Vec<String>),
    /// The pod is gone.
    Gone,
    /// Another user or program changed a rule.
    Interfered(String),
}

/// The run of one command.
#[derive(Clone, Debug)]
pub struct RoomRun {
    timeout: Duration,
    force: bool,
    accepted: BTreeSet<Uid>,
    refused: RefusedEvictions,
}

impl RoomRun {
    /// A run before its first step. With `force`, pods are deleted whose evictions stay refused.
    pub fn new(timeout: Duration, force: bool) -> Self {
        Self {
            timeout,
            force,
            accepted: BTreeSet::new(),
            refused: RefusedEvictions::default(),
        }
    }

    /// The next step, `elapsed` after the start.
    pub fn next(&self, facts: &RoomFacts, elapsed: Duration) -> RoomStep {
        // The goal comes first: a pod that is scheduled after the timeout, or despite a competitor, has its devices.
        match &facts.progress {
            PodProgress::Scheduled(node) => {
                let end = RoomEnd::Scheduled(node.clone(), facts.devices.clone());
                return RoomStep::Finished(end);
            }
            PodProgress::Gone => return RoomStep::Finished(RoomEnd::Gone),
            PodProgress::Pending(_) => {}
        }
        if !facts.competitors.is_empty() {
            return RoomStep::Finished(RoomEnd::Lost(facts.competitors.clone()));
        }
        if let Some(why) = &facts.interference {
            return RoomStep::Finished(RoomEnd::Interfered(why.clone()));
        }
        if elapsed >= self.timeout {
            return RoomStep::Finished(RoomEnd::TimedOut(self.left(facts)));
        }
        for (_, uid, is_leaving) in &facts.remaining {
            if *is_leaving || self.accepted.contains(uid) {
                continue;
            }
            match self.refused.get(uid) {
                None => return RoomStep::Evict(uid.clone()),
                Some(refusal) if elapsed < refusal.retry_at => {}
                Some(refusal) if self.force && refusal.is_old(elapsed) => {
                    return RoomStep::Delete(uid.clone());
                }
                Some(_) => return RoomStep::Evict(uid.clone()),
            }
        }
        RoomStep::Wait
    }

    /// Notes the reply to an eviction or a deletion of the pod with this UID.
    pub fn replied(&mut self, uid: &Uid, reply: EvictionReply, elapsed: Duration) {
        match reply {
            EvictionReply::Accepted | EvictionReply::Gone => {
                self.refused.remove(uid);
                self.accepted.insert(uid.clone());
            }
            // A pod that is terminating by the next look is not evicted again.
            EvictionReply::Refused(message) | EvictionReply::Unknown(message) => {
                self.refused.refuse(uid, message, elapsed);
            }
        }
    }

    /// Objects that the run waits for, a line each.
    pub fn left(&self, facts: &RoomFacts) -> Vec<String> {
        let pods = facts.remaining.iter().map(|(name, uid, is_leaving)| {
            match (is_leaving, self.refused.get(uid)) {
                (true, _) => format!("pod {name} is terminating"),
                (false, Some(refusal)) => format!("pod {name} is not evicted: {}", refusal.message),
                (false, None) => format!("pod {name} is not terminating yet"),
            }
        });
        let message = match &facts.progress {
            PodProgress::Pending(message) => message.as_ref(),
            PodProgress::Scheduled(_) | PodProgress::Gone => None,
        };
        let message = message.map(|message| format!("scheduler message: {message}"));
        pods.chain(message).collect()
    }
}

impl RoomEnd {
    /// Result of the command for this pod: the message of its success.
    ///
    /// # Errors
    ///
    /// The pod is not scheduled: exit code 5 where other claims got the devices or the time is over, else 1.
    pub fn result(&self, pod: &NamespacedName) -> Result<String, Failure> {
        let failure = |status, message: String| Err(Failure::new(status, message));
        match self {
            Self::Scheduled(node, devices) => {
                let scheduled = format!("pod {pod} is scheduled on node {node}");
                // Devices that the scheduler freed by preemption may be unknown yet.
                Ok(match devices.is_empty() {
                    true => scheduled,
                    false => format!("{scheduled} with {}", few(devices)),
                })
            }
            Self::Lost(competitors) => {
                let message = format!("another claim got the devices that pod {pod} needs");
                Err(Failure::new(ExitStatus::TimedOut, message).with_details(competitors))
            }
            Self::TimedOut(left) => {
                let message = format!("pod {pod} was not scheduled in time");
                let failure = Failure::new(ExitStatus::TimedOut, message).with_details(left);
                let explain = explain_pod(pod);
                Err(failure.hint(format!("to see why it is pending: `{explain}`")))
            }
            Self::Gone => failure(
                ExitStatus::Failed,
                format!("pod {pod} was deleted meanwhile"),
            ),
            Self::Interfered(why) => failure(
                ExitStatus::Failed,
                format!("{why} meanwhile, so the devices are no longer kept for pod {pod}"),
            ),
        }
    }
}

/// Result of a command whose work is `done` so, and whose rules were `removed` then, perhaps after a signal that came
/// meanwhile. Rules that are left come first: they keep devices from all pods.
///
/// # Errors
///
/// The failure of the removal, of the work, or the signal, by `interrupted`.
pub fn with_removal(
    done: Result<ExitStatus, Failure>,
    removed: Result<Option<ExitStatus>, Failure>,
    interrupted: impl FnOnce(ExitStatus) -> Failure,
) -> Result<ExitStatus, Failure> {
    match (done, removed) {
        (done, Ok(None)) => done,
        (Ok(_), Ok(Some(signal))) => Err(interrupted(signal)),
        (Err(first), Ok(Some(signal))) => Err(first.ending(signal)),
        (Ok(_), Err(failure)) => Err(failure),
        (Err(first), Err(second)) => Err(second.detail(first.to_string())),
    }
}
