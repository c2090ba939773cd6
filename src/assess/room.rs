//! What the eviction of pods for a claim that waits costs.
//!
//! Takes what a NoExecute taint on the devices in question would do, and the pods that may be evicted. Gives for every set
//! of them a [`RoomCost`]. Budgets are taken as the Eviction API would answer if the pods of the set were evicted one after
//! the other, before any is replaced. Requests of CPU and memory are not read: of equal sets the one is
//! smaller whose pods claim fewer devices.

use foldhash::HashMap;

use super::basis::Basis;
use super::plan::pod_problem;
use crate::engine::Impact;
use crate::engine::allocator::room::RoomCost;
use crate::engine::set_search::{SearchProblem, Tier};
use crate::model::Uid;

/// What the eviction of each set of pods costs.
#[derive(Clone, Debug)]
pub struct RoomCosts {
    /// The evicted pods of the impact, in its order, with what couples them.
    problem: SearchProblem,
    /// For each pod that may be evicted, its place in the problem and its priority; absent for one that the taint does not
    /// evict.
    pods: Vec<Option<EvictedPod>>,
}

#[derive(Clone, Copy, Debug)]
struct EvictedPod {
    place: usize,
    priority: i32,
}

impl RoomCosts {
    /// The costs of evicting `evictable` pods, where `impact` is that of a NoExecute taint on all devices in question.
    #[must_use]
    pub fn new(evictable: &[Uid], impact: &Impact<'_>, basis: &Basis<'_>) -> Self {
        let evicted = impact.pods.iter().filter(|pod| pod.is_evicted());
        let places: HashMap<&Uid, EvictedPod> = evicted
            .enumerate()
            .map(|(place, found)| {
                let priority = found.pod.priority;
                (&found.pod.uid, EvictedPod { place, priority })
            })
            .collect();
        let pods = evictable.iter().map(|uid| places.get(uid).copied());
        Self {
            pods: pods.collect(),
            problem: pod_problem(impact, basis),
        }
    }

    /// The cost of evicting the pods at these places among those that may be evicted. A pod that is not known to be
    /// evicted makes the tier unknown.
    #[must_use]
    pub fn of(&self, set: &[usize]) -> RoomCost {
        let mut cost = RoomCost {
            pods: set.len(),
            ..RoomCost::NONE
        };
        let mut places = Vec::with_capacity(set.len());
        for pod in set {
            let Some(Some(pod)) = self.pods.get(*pod) else {
                cost.tier = Tier::Unknown;
                continue;
            };
            places.push(pod.place);
            cost.highest_priority = cost.highest_priority.max(pod.priority);
            cost.priorities = cost.priorities.saturating_add(i64::from(pod.priority));
        }
        let found = self.problem.cost(&places);
        cost.tier = cost.tier.max(found.tier);
        cost.devices = usize::try_from(found.burden.devices).unwrap_or_default();
        cost.unmanaged = usize::try_from(found.burden.unmanaged).unwrap_or_default();
        cost
    }
}
