//! The set of pods that is evicted, or why none would help.

use std::collections::BTreeSet;

use super::candidates::{CandidatePod, Movability};
use super::eligibility::WaitingPod;
use crate::assess::Basis;
use crate::assess::room::RoomCosts;
use crate::decide::proposal::Escalation;
use crate::engine::Impact;
use crate::engine::allocator::room::Tier;
use crate::engine::allocator::room::{RoomQuestion, RoomSearch, RoomSet, room};
use crate::engine::closed_nodes::ClosedNode;
use crate::model::{Controller, DeviceId, NamespacedName, NodeName, Pod, Uid};

/// At what price pods may be evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomLimits {
    /// Whether budgets may be violated.
    pub force: bool,
}

impl RoomLimits {
    /// The last tier of sets that may be chosen.
    #[must_use]
    pub fn most(self) -> Tier {
        if self.force {
            Tier::BudgetsViolated
        } else {
            Tier::WithinBudgets
        }
    }
}

/// What is chosen from.
#[derive(Clone, Copy, Debug)]
pub struct RoomInput<'a> {
    /// The pod that waits.
    pub waiting: &'a WaitingPod,
    /// The pods that use devices which could serve it.
    pub candidates: &'a [CandidatePod<'a>],
    /// What the taint for the waiting pod would do on these devices.
    pub impact: &'a Impact<'a>,
    /// Devices that are kept for other pods.
    pub reserved: &'a BTreeSet<DeviceId>,
    /// What was read.
    pub basis: &'a Basis<'a>,
}

/// A pod that is evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEviction {
    /// Its name.
    pub name: NamespacedName,
    /// Its UID.
    pub uid: Uid,
    /// Its node.
    pub node: Option<NodeName>,
    /// Its priority.
    pub priority: i32,
    /// How many seconds it gets to stop.
    pub grace_period_seconds: i64,
    /// What creates it again; absent for a bare pod.
    pub controller: Option<Controller>,
    /// Whether the Eviction API is asked first, since a budget is about it.
    pub has_budget: bool,
}

/// Pods, the devices that they leave, and what their eviction costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRoom {
    /// The devices.
    pub set: RoomSet,
    /// The pods that are evicted, by name.
    pub pods: Vec<PlannedEviction>,
}

impl PlannedRoom {
    /// The pod with that UID, if it is to be evicted.
    #[must_use]
    pub fn pod(&self, uid: &Uid) -> Option<&PlannedEviction> {
        self.pods.iter().find(|pod| pod.uid == *uid)
    }

    /// Whether a PodDisruptionBudget covers one of the pods.
    #[must_use]
    pub fn has_budgets(&self) -> bool {
        self.pods.iter().any(|pod| pod.has_budget)
    }

    /// Whether the rules get effect NoExecute after pods with budgets were evicted through the Eviction API; absent where
    /// they have it at once, because no pod has a budget.
    #[must_use]
    pub fn escalation(&self, limits: RoomLimits) -> Option<Escalation> {
        let all = self.pods.iter().all(|pod| pod.has_budget);
        self.has_budgets().then_some(match (all, limits.force) {
            (false, _) => Escalation::Certain,
            (true, true) => Escalation::IfRefused,
            (true, false) => Escalation::Never,
        })
    }
}

/// What is done for a pod that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomPlan {
    /// The set that costs least.
    pub chosen: PlannedRoom,
    /// The next best.
    pub runner_up: Option<PlannedRoom>,
    /// Whether no set costs less.
    pub is_proved: bool,
    /// What was left out, since it is not known.
    pub unknown: Vec<String>,
    /// Pods that are terminating already and hold devices which could serve.
    pub leaving: Vec<NamespacedName>,
    /// The nodes on which the pod is not scheduled.
    pub closed: Vec<ClosedNode>,
}

/// Why no set may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NothingHelps {
    /// The sets that would help with --force, the cheapest first.
    pub nearest: Vec<PlannedRoom>,
    /// How many pods may be evicted.
    pub evictable: usize,
    /// The pods that use devices which could serve, and stay, each with the reason.
    pub staying: Vec<(NamespacedName, super::candidates::Immovable)>,
    /// Whether it is known that nothing else helps.
    pub is_proved: bool,
    /// What was left out, since it is not known.
    pub unknown: Vec<String>,
    /// The nodes on which the pod is not scheduled.
    pub closed: Vec<ClosedNode>,
}

/// The set of pods to be evicted.
///
/// # Errors
///
/// No set may be chosen: the nearest ones.
pub fn plan(input: &RoomInput<'_>, limits: RoomLimits) -> Result<RoomPlan, Box<NothingHelps>> {
    let found = Searched::new(input, limits.most());
    if let Some(best) = &found.result.best {
        return Ok(RoomPlan {
            chosen: found.planned(best),
            runner_up: found
                .result
                .runner_up
                .as_ref()
                .map(|set| found.planned(set)),
            is_proved: found.result.is_proved,
            unknown: found.unknown(),
            leaving: leaving(input.candidates),
            closed: input.waiting.closed.clone(),
        });
    }
    let is_proved = found.result.is_proved;
    // Nothing of this search is done: it finds the sets that --force would allow, to be named by the refusal.
    let near = if limits.force {
        found
    } else {
        Searched::new(input, Tier::BudgetsViolated)
    };
    let sets = near.result.best.iter().chain(&near.result.runner_up);
    Err(Box::new(NothingHelps {
        nearest: sets.map(|set| near.planned(set)).collect(),
        evictable: near.pods.len(),
        staying: staying(input.candidates),
        // The first search proves that nothing is allowed, the second that nothing else would help.
        is_proved: is_proved && near.result.is_proved,
        unknown: near.unknown(),
        closed: input.waiting.closed.clone(),
    }))
}

/// The pods that were terminating already.
fn leaving(candidates: &[CandidatePod<'_>]) -> Vec<NamespacedName> {
    let leaving = candidates
        .iter()
        .filter(|candidate| candidate.movability == Movability::Leaving);
    leaving
        .map(|candidate| candidate.pod.name.clone())
        .collect()
}

fn staying(candidates: &[CandidatePod<'_>]) -> Vec<(NamespacedName, super::candidates::Immovable)> {
    let staying = candidates.iter().filter_map(|candidate| {
        let name = candidate.pod.name.clone();
        match &candidate.movability {
            Movability::Stays(why) => Some((name, *why)),
            Movability::Evictable | Movability::Leaving => None,
        }
    });
    staying.collect()
}

/// A search, with the pods that its sets name by their places.
struct Searched<'a> {
    pods: Vec<&'a CandidatePod<'a>>,
    result: RoomSearch,
}

impl<'a> Searched<'a> {
    fn new(input: &RoomInput<'a>, most: Tier) -> Self {
        let is_evictable =
            |candidate: &&CandidatePod<'_>| candidate.movability == Movability::Evictable;
        let pods: Vec<&CandidatePod<'a>> = input.candidates.iter().filter(is_evictable).collect();
        let evictable: Vec<Uid> = pods.iter().map(|it| it.pod.uid.clone()).collect();
        let leaving = input
            .candidates
            .iter()
            .filter(|candidate| candidate.movability == Movability::Leaving);
        let leaving: BTreeSet<Uid> = leaving.map(|it| it.pod.uid.clone()).collect();
        let costs = RoomCosts::new(&evictable, input.impact, input.basis);
        let question = RoomQuestion {
            waiting: input.waiting.question(input.basis),
            evictable: &evictable,
            leaving: &leaving,
            reserved: input.reserved,
        };
        let result = room(&question, most, &|set| costs.of(set));
        Self { pods, result }
    }

    fn planned(&self, set: &RoomSet) -> PlannedRoom {
        let mut pods: Vec<PlannedEviction> = set
            .evicted
            .iter()
            .filter_map(|place| self.pods.get(*place))
            .map(|candidate| planned(candidate))
            .collect();
        pods.sort_by(|left, right| left.name.cmp(&right.name));
        PlannedRoom {
            set: set.clone(),
            pods,
        }
    }

    fn unknown(&self) -> Vec<String> {
        let unknown = self.result.unknown.iter();
        unknown.map(ToString::to_string).collect()
    }
}

fn planned(candidate: &CandidatePod<'_>) -> PlannedEviction {
    let Pod {
        name,
        uid,
        node,
        priority,
        grace_period_seconds,
        controller,
        ..
    } = candidate.pod;
    PlannedEviction {
        name: name.clone(),
        uid: uid.clone(),
        node: node.clone(),
        priority: *priority,
        grace_period_seconds: *grace_period_seconds,
        controller: controller.clone(),
        has_budget: candidate.has_budget,
    }
}
