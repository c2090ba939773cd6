//! The pods of a unit in the order in which they are evicted.
//!
//! The tiers are those of the Rescheduler: no budget violated and a short grace period, then no budget violated, then
//! any. Within a tier pods that are not ready go first, since their loss costs nothing, then as the kubelet ranks
//! pods: by quality of service and by priority.

use super::pod_class::PodClass;
use crate::model::{NamespacedName, Pod, QosClass};

/// Longest grace period that counts as short, as for hazards.
const SHORT_GRACE_SECONDS: i64 = 10;

/// Rank of the harm that the eviction of a pod does; least first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Harm {
    class: PodClass,
    tier: u8,
    is_ready: bool,
    quality: u8,
    priority: i32,
    name: NamespacedName,
}

/// Answer of the budgets of a pod to its eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetState {
    /// All of them allow it, or there are none.
    Allows,
    /// One of them refuses it.
    Refuses,
}

impl Harm {
    /// Of the eviction of `pod`.
    pub fn of(pod: &Pod, class: PodClass, budgets: BudgetState) -> Self {
        let tier = match budgets {
            BudgetState::Allows if pod.grace_period_seconds <= SHORT_GRACE_SECONDS => 0,
            BudgetState::Allows => 1,
            BudgetState::Refuses => 2,
        };
        let quality = match pod.qos_class {
            Some(QosClass::BestEffort) => 0,
            Some(QosClass::Burstable) => 1,
            Some(QosClass::Guaranteed | QosClass::Unknown(_)) | None => 2,
        };
        Self {
            class,
            tier,
            is_ready: pod.is_ready,
            quality,
            priority: pod.priority,
            name: pod.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::pod;

    fn change(name: &str, change: impl Fn(&mut Pod)) -> Pod {
        let mut pod = pod("team-a", name);
        pod.grace_period_seconds = 10;
        change(&mut pod);
        pod
    }

    #[test]
    fn the_least_harmful_eviction_comes_first() {
        let plain = |_: &mut Pod| {};
        let ordered = [
            Harm::of(
                &change("z", |pod| pod.is_ready = false),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("y", |pod| pod.qos_class = Some(QosClass::BestEffort)),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("w", plain),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("x", plain),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("v", |pod| pod.priority = 1),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("u", |pod| pod.qos_class = Some(QosClass::Guaranteed)),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("t", |pod| pod.grace_period_seconds = 11),
                PodClass::Replicated,
                BudgetState::Allows,
            ),
            Harm::of(
                &change("s", |pod| pod.is_ready = false),
                PodClass::Replicated,
                BudgetState::Refuses,
            ),
            Harm::of(
                &change("a", plain),
                PodClass::Singleton,
                BudgetState::Allows,
            ),
            Harm::of(&change("a", plain), PodClass::Job, BudgetState::Allows),
            Harm::of(
                &change("a", plain),
                PodClass::Unmanaged,
                BudgetState::Allows,
            ),
        ];
        assert!(ordered.is_sorted());
        for pair in ordered.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
