//! The stages from the taint until the pod is scheduled, one step at a time.
//!
//! ```text
//! tainted (NoSchedule) ─▶ evictions through the Eviction API ─▶ NoExecute for the others ─▶ scheduled ─▶ rules removed
//! ```
//!
//! Takes facts and the time since the start, and gives the next step. A pod is evicted once: what the server accepted is not
//! asked for again, nor is a pod that is terminating.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::tolerance::Mechanism;
use crate::decide::drain::EvictionReply;
use crate::model::{DeviceId, NamespacedName, NodeName, Uid};

/// How long is waited between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// How long is waited before an eviction that was refused is tried again, first and at most.
const RETRIES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];

/// How long the stages may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageLimits {
    /// All of them.
    pub timeout: Duration,
    /// After which pods that a budget keeps are evicted with effect NoExecute; absent where budgets are respected.
    pub force_after: Option<Duration>,
    /// How devices are kept.
    pub mechanism: Mechanism,
}

/// What became of the pod that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodProgress {
    /// It has no node; what the scheduler says of it, if it says something.
    Pending(Option<String>),
    /// It has this node.
    Scheduled(NodeName),
    /// It is gone, or another pod has its name.
    Gone,
}

/// A pod that is to leave, and has not left yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingPod {
    /// Its name.
    pub name: NamespacedName,
    /// Its UID.
    pub uid: Uid,
    /// Whether the Eviction API is asked first.
    pub has_budget: bool,
    /// Whether it is on its way out.
    pub is_terminating: bool,
}

/// Somebody else who got a device meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// The device.
    pub device: DeviceId,
    /// The claim that holds it.
    pub claim: NamespacedName,
    /// The pods that it is reserved for.
    pub pods: Vec<NamespacedName>,
}

impl Competitor {
    /// Who got which device, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let device = &self.device;
        match self.pods.as_slice() {
            [] => format!("claim {} got {device}", self.claim),
            pods => {
                let pods: Vec<String> = pods.iter().map(ToString::to_string).collect();
                let noun = if pods.len() == 1 { "pod" } else { "pods" };
                format!(
                    "{noun} {} got {device} (claim {})",
                    pods.join(", "),
                    self.claim
                )
            }
        }
    }
}

/// What is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFacts {
    /// What became of the pod.
    pub progress: PodProgress,
    /// The devices of its claims, once it has some.
    pub devices: BTreeSet<DeviceId>,
    /// The pods that are to leave and still hold a device.
    pub remaining: Vec<RemainingPod>,
    /// Who else got one of the devices.
    pub competitors: Vec<Competitor>,
    /// What somebody else did to the rules; absent while they are as they were made.
    pub reversed: Option<String>,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageStep {
    /// The Eviction API is asked for this pod.
    Evict(Uid),
    /// The rules get effect NoExecute where pods have to leave.
    Raise,
    /// The rules are removed before the pod is scheduled.
    Lift,
    /// Nothing, until so long after the start.
    WaitUntil(Duration),
    /// It is over.
    Finished(StageEnd),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageEnd {
    /// The pod has a node, and these devices.
    Scheduled(NodeName, BTreeSet<DeviceId>),
    /// Others got the devices.
    Lost(Vec<Competitor>),
    /// The time is over: what is left.
    TimedOut(Vec<String>),
    /// The pod is gone.
    Gone,
    /// Somebody else removed or changed a rule.
    Reversed(String),
}

/// When an eviction was refused last, and how.
#[derive(Clone, Debug)]
struct Refusal {
    message: String,
    pause: Duration,
    retry_at: Duration,
}

/// The stages of one run.
#[derive(Clone, Debug)]
pub struct StageRun {
    limits: StageLimits,
    accepted: BTreeSet<Uid>,
    refused: BTreeMap<Uid, Refusal>,
    is_raised: bool,
    is_lifted: bool,
}

impl StageRun {
    /// Before the first step, once the rules are there.
    #[must_use]
    pub fn new(limits: StageLimits) -> Self {
        Self {
            limits,
            accepted: BTreeSet::new(),
            refused: BTreeMap::new(),
            is_raised: false,
            is_lifted: false,
        }
    }

    /// The next step, so long after the start.
    #[must_use]
    pub fn next(&self, facts: &StageFacts, elapsed: Duration) -> StageStep {
        // The goal comes first: a pod that is scheduled after the timeout, or despite a competitor, has what
        // it needs.
        match &facts.progress {
            PodProgress::Scheduled(node) => {
                let end = StageEnd::Scheduled(node.clone(), facts.devices.clone());
                return StageStep::Finished(end);
            }
            PodProgress::Gone => return StageStep::Finished(StageEnd::Gone),
            PodProgress::Pending(_) => {}
        }
        if !facts.competitors.is_empty() {
            return StageStep::Finished(StageEnd::Lost(facts.competitors.clone()));
        }
        // After the rules were removed by this run, their absence is no interference.
        if let Some(why) = facts.reversed.as_ref().filter(|_| !self.is_lifted) {
            return StageStep::Finished(StageEnd::Reversed(why.clone()));
        }
        if elapsed >= self.limits.timeout {
            return StageStep::Finished(StageEnd::TimedOut(self.left(facts)));
        }
        if let Some(step) = self.eviction(facts, elapsed) {
            return step;
        }
        if self.lifts_now(facts) {
            return StageStep::Lift;
        }
        StageStep::WaitUntil(elapsed.saturating_add(LOOK).min(self.limits.timeout))
    }

    fn eviction(&self, facts: &StageFacts, elapsed: Duration) -> Option<StageStep> {
        if self.is_lifted {
            return None;
        }
        let staying = || facts.remaining.iter().filter(|pod| !pod.is_terminating);
        let is_forced = self
            .limits
            .force_after
            .is_some_and(|after| elapsed >= after);
        let by_api: Vec<&RemainingPod> = staying().filter(|pod| pod.has_budget).collect();
        let is_due = |pod: &&&RemainingPod| {
            let refusal = self.refused.get(&pod.uid);
            !self.accepted.contains(&pod.uid)
                && refusal.is_none_or(|refusal| elapsed >= refusal.retry_at)
        };
        // NoExecute evicts all pods on the device, also those that a budget protects. So the Eviction API
        // accepts these first.
        if !self.is_raised
            && (is_forced || by_api.iter().all(|pod| self.accepted.contains(&pod.uid)))
        {
            let is_needed = staying().any(|pod| !self.accepted.contains(&pod.uid));
            if is_needed {
                return Some(StageStep::Raise);
            }
        }
        // The controller evicts what is left, so the Eviction API is not called any more.
        if self.is_raised && is_forced {
            return None;
        }
        by_api
            .iter()
            .find(is_due)
            .map(|pod| StageStep::Evict(pod.uid.clone()))
    }

    /// Whether the taints are removed now, since priority decides who is scheduled.
    fn lifts_now(&self, facts: &StageFacts) -> bool {
        match self.limits.mechanism {
            Mechanism::Taint => false,
            Mechanism::PriorityAlone => !self.is_lifted && facts.remaining.is_empty(),
        }
    }

    /// What the server said to an eviction.
    pub fn replied(&mut self, uid: &Uid, reply: &EvictionReply, elapsed: Duration) {
        match reply {
            EvictionReply::Accepted | EvictionReply::Gone => {
                self.refused.remove(uid);
                self.accepted.insert(uid.clone());
            }
            EvictionReply::Refused(message) => self.refuse(uid, message.clone(), elapsed),
            // It is looked for again: a pod that is terminating by then is not asked for once more.
            EvictionReply::Unknown => {
                self.refuse(uid, "no valid response from the server".to_owned(), elapsed)
            }
        }
    }

    fn refuse(&mut self, uid: &Uid, message: String, elapsed: Duration) {
        let [first, longest] = RETRIES;
        let before = self.refused.get(uid);
        let pause = before.map_or(first, |refusal| {
            refusal.pause.saturating_mul(2).min(longest)
        });
        let refusal = Refusal {
            message,
            pause,
            retry_at: elapsed.saturating_add(pause),
        };
        self.refused.insert(uid.clone(), refusal);
    }

    /// The rules have effect NoExecute where pods have to leave.
    pub fn raised(&mut self) {
        self.is_raised = true;
    }

    /// The rules are removed, before the pod is scheduled.
    pub fn lifted(&mut self) {
        self.is_lifted = true;
    }

    /// What is waited for, a line each.
    #[must_use]
    pub fn left(&self, facts: &StageFacts) -> Vec<String> {
        let pods = facts.remaining.iter().map(|pod| {
            let refusal = self.refused.get(&pod.uid);
            match (pod.is_terminating, refusal) {
                (true, _) => format!("pod {} is terminating", pod.name),
                (false, Some(refusal)) => format!(
                    "the eviction of pod {} is not confirmed: {}",
                    pod.name, refusal.message
                ),
                (false, None) => format!("pod {} is not terminating yet", pod.name),
            }
        });
        let said = match &facts.progress {
            PodProgress::Pending(Some(said)) => Some(format!("scheduler message: {said}")),
            PodProgress::Pending(None) | PodProgress::Scheduled(_) | PodProgress::Gone => None,
        };
        pods.chain(said).collect()
    }
}
