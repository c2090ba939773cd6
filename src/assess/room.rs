//! What the eviction of pods for a claim that waits costs.
//!
//! Takes what a NoExecute taint on the devices in question would do, and the pods that may be evicted. Gives for every set
//! of them a [`RoomCost`]. Budgets are taken as the Eviction API would answer if the pods of the set were evicted one after
//! the other, before any is replaced. Requests of CPU and memory are not read: of equal sets the one is
//! smaller whose pods claim fewer devices.

use foldhash::HashMap;

use super::basis::Basis;
use super::evidence::LONG_GRACE_SECONDS;
use super::plan::EvictionCosts;
use crate::engine::allocator::room::{RoomCost, Tier};
use crate::engine::{Impact, PodImpact};
use crate::model::{NamespacedName, ResourceClaim, Uid};

/// What the eviction of each set of pods costs.
#[derive(Clone, Debug)]
pub struct RoomCosts {
    /// What the evictions of the impact mean for budgets.
    budgets: EvictionCosts,
    /// For each pod that may be evicted, its cost; absent for one that the taint does not evict.
    pods: Vec<Option<EvictedPod>>,
}

#[derive(Clone, Copy, Debug)]
struct EvictedPod {
    /// Its index among the evicted pods of the impact.
    index: usize,
    priority: i32,
    tier: Tier,
    devices: usize,
    is_unmanaged: bool,
}

impl RoomCosts {
    /// The costs of evicting `evictable` pods, where `impact` is that of a NoExecute taint on all devices in question.
    #[must_use]
    pub fn new(evictable: &[Uid], impact: &Impact<'_>, basis: &Basis<'_>) -> Self {
        let claims = basis.reading.snapshot.claims.iter();
        let claims = claims.map(|claim| (&claim.name, claim)).collect();
        let evicted = impact.pods.iter().filter(|pod| pod.is_evicted());
        let pods: HashMap<&Uid, EvictedPod> = evicted
            .enumerate()
            .map(|(index, found)| (&found.pod.uid, EvictedPod::new(index, found, &claims)))
            .collect();
        let pods = evictable.iter().map(|uid| pods.get(uid).copied());
        Self {
            pods: pods.collect(),
            budgets: EvictionCosts::of_budgets(impact, basis),
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
        let mut evicted = Vec::with_capacity(set.len());
        for pod in set {
            let Some(Some(pod)) = self.pods.get(*pod) else {
                cost.tier = Tier::Unknown;
                continue;
            };
            evicted.push(pod.index);
            cost.tier = cost.tier.max(pod.tier);
            cost.highest_priority = cost.highest_priority.max(pod.priority);
            cost.priorities = cost.priorities.saturating_add(i64::from(pod.priority));
            cost.devices = cost.devices.saturating_add(pod.devices);
            cost.unmanaged = cost.unmanaged.saturating_add(usize::from(pod.is_unmanaged));
        }
        let budgets = self.budgets.of(evicted);
        if budgets.unknown > 0 {
            cost.tier = Tier::Unknown;
        } else if budgets.violated_budgets > 0 {
            cost.tier = cost.tier.max(Tier::BudgetsViolated);
        }
        cost
    }
}

impl EvictedPod {
    fn new(
        index: usize,
        found: &PodImpact<'_>,
        claims: &HashMap<&NamespacedName, &ResourceClaim>,
    ) -> Self {
        let pod = found.pod;
        let used = found.claims.iter();
        let used = used.filter_map(|used| claims.get(used.claim)?.allocation.as_ref());
        let devices = used.map(|allocation| allocation.results.len());
        let is_long = !pod.phase.is_terminal() && pod.grace_period_seconds > LONG_GRACE_SECONDS;
        Self {
            index,
            priority: pod.priority,
            tier: if is_long {
                Tier::WithinBudgets
            } else {
                Tier::ShortGrace
            },
            devices: devices.fold(0, usize::saturating_add),
            is_unmanaged: pod.controller.is_none(),
        }
    }
}
