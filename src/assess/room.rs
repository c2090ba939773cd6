//! Cost of evicting pods for a claim that waits.
//!
//! Takes the pods that may be evicted and the budgets. Gives for every set of them a [`RoomCost`]. Budgets are taken as
//! the Eviction API would answer if the pods of the set were evicted one after the other, before any is replaced.

use crate::engine::allocator::room::{RoomCost, RoomTier};
use crate::engine::disruption::disruption_of;
use crate::model::{Pod, PodDisruptionBudget};

/// Grace periods up to this number of seconds are short.
///
/// Source: the design of the Rescheduler (`rescheduling-for-critical-pods.md`), "Evicting pods".
const SHORT_GRACE: i64 = 10;

/// A pod that may be evicted.
#[derive(Clone, Copy, Debug)]
pub struct EvictablePod<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Grace period of its eviction, in seconds.
    pub grace_period_seconds: i64,
    /// Devices that its claims hold.
    pub devices: usize,
}

/// Costs of evicting sets of pods.
#[derive(Clone, Debug)]
pub struct RoomCosts<'a> {
    pods: Vec<EvictablePod<'a>>,
    /// Budgets that cover one of the pods, or may cover one.
    budgets: Vec<&'a PodDisruptionBudget>,
}

impl<'a> RoomCosts<'a> {
    /// Costs of evicting `pods`, where `budgets` are all that there are.
    pub fn new(pods: Vec<EvictablePod<'a>>, budgets: &'a [PodDisruptionBudget]) -> Self {
        let covers = |budget: &&PodDisruptionBudget| {
            let mut pods = pods.iter();
            pods.any(|it| budget.covers(it.pod) != Some(false))
        };
        Self {
            budgets: budgets.iter().filter(covers).collect(),
            pods,
        }
    }

    /// The cost of evicting the pods with these indices.
    pub fn of(&self, set: &[usize]) -> RoomCost {
        let pods = || set.iter().filter_map(|index| self.pods.get(*index));
        let grace = pods().map(|it| it.grace_period_seconds).max();
        let grace_period_seconds = grace.unwrap_or_default();
        RoomCost {
            tier: if !self.violated(set).is_empty() {
                RoomTier::BudgetsViolated
            } else if grace_period_seconds <= SHORT_GRACE {
                RoomTier::ShortGrace
            } else {
                RoomTier::WithinBudgets
            },
            pods: set.len(),
            highest_priority: pods().map(|it| it.pod.priority).max().unwrap_or(i32::MIN),
            devices: pods().map(|it| it.devices).sum(),
            grace_period_seconds,
        }
    }

    /// The budgets that refuse an eviction of the pods with these indices, or may refuse it.
    pub fn violated(&self, set: &[usize]) -> Vec<&'a PodDisruptionBudget> {
        let pods = set.iter().filter_map(|index| self.pods.get(*index));
        let pods: Vec<&Pod> = pods.map(|it| it.pod).collect();
        let found = disruption_of(pods.iter().copied(), self.budgets.iter().copied());
        let refusing = found.budgets.iter().filter(|impact| impact.is_violated());
        let unknown = self.budgets.iter().copied().filter(|budget| {
            let mut pods = pods.iter();
            pods.any(|pod| budget.covers(pod).is_none())
        });
        refusing
            .map(|impact| impact.budget)
            .chain(unknown)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{budget, pod};
    use crate::model::Uid;

    #[test]
    fn budgets_and_grace_periods_decide_the_tier_of_a_set() {
        let pods: Vec<Pod> = [(1, 5), (2, 10), (3, 11), (4, 5)]
            .map(|(priority, grace)| {
                let mut pod = pod("team-a", &format!("web-{priority}"));
                pod.uid = Uid::from(format!("uid-{priority}").as_str());
                pod.priority = priority;
                pod.grace_period_seconds = grace;
                pod
            })
            .into();
        let budget = |allowed| budget("team-a", 4 - allowed, 4, 4);
        let tier = |budgets: &[PodDisruptionBudget], set: &[usize]| {
            let evictable = pods.iter().map(|pod| EvictablePod {
                pod,
                grace_period_seconds: pod.grace_period_seconds,
                devices: 1,
            });
            RoomCosts::new(evictable.collect(), budgets).of(set).tier
        };
        assert_eq!(tier(&[], &[]), RoomTier::ShortGrace);
        assert_eq!(tier(&[], &[0, 1]), RoomTier::ShortGrace);
        assert_eq!(tier(&[], &[0, 2]), RoomTier::WithinBudgets);
        assert_eq!(tier(&[budget(1)], &[0]), RoomTier::ShortGrace);
        assert_eq!(tier(&[budget(1)], &[0, 1]), RoomTier::BudgetsViolated);
        // The Eviction API refuses a pod of two budgets, and an operator that is unknown may select the pod.
        let two = [budget(1), budget(1)];
        assert_eq!(tier(&two, &[0]), RoomTier::BudgetsViolated);
    }
}
