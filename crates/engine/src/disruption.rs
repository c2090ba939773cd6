//! PodDisruptionBudgets that the evictions would violate.
//!
//! Eviction by taint asks no budget: every pod goes. What is found here is what the eviction API would
//! have answered at each pod's turn, had it been asked. Owners make new pods for those that go, so
//! that a budget goes on expecting as many; none of the new ones counts as ready meanwhile.
//!
//! Upstream: `pkg/registry/core/pod/storage/eviction.go` for the answers, and `updatePdbStatus` in
//! `pkg/controller/disruption/disruption.go` for what is left after each pod.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::impact::{Impact, Verdict};
use crate::model::{
    Affects, Gap, Kind, Namespace, Phase, Pod, PodDisruptionBudget, UnhealthyPodEvictionPolicy,
};

/// Answers of the budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disruption<'a> {
    /// Every budget that covers a pod which is evicted, by namespace and name.
    pub budgets: Vec<BudgetImpact<'a>>,
    /// Facts that could not be evaluated.
    pub gaps: Vec<Gap>,
}

/// A budget, and the pods that it covers and that are evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetImpact<'a> {
    /// The budget.
    pub budget: &'a PodDisruptionBudget,
    /// In the order in which they are evicted. Those that go at the same moment may go in any order;
    /// here they stand by namespace and name.
    pub pods: Vec<(&'a Pod, BudgetAnswer)>,
}

/// Answer of the eviction API for one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BudgetAnswer {
    /// It is not asked about pods that do not run.
    NotAsked,
    /// The pod may go.
    Allowed,
    /// The pod has to stay.
    Refused,
    /// Another budget covers the pod too, which the API refuses to decide.
    Ambiguous,
}

/// Rest of a budget while pods go.
struct BudgetBalance<'a> {
    impact: BudgetImpact<'a>,
    allowed: i32,
    healthy: i32,
}

/// Answers of the `budgets`, which are all that there are, to the evictions of `impact`.
pub fn disruption<'a>(
    impact: &Impact<'a>,
    budgets: &'a [PodDisruptionBudget],
    now: Timestamp,
) -> Disruption<'a> {
    disruption_of(in_order(impact, now), budgets)
}

/// The answers of `budgets`, which are all that there are, to the evictions of `pods` in this order.
pub fn disruption_of<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    budgets: impl IntoIterator<Item = &'a PodDisruptionBudget>,
) -> Disruption<'a> {
    let mut accounts: BTreeMap<&Namespace, Vec<BudgetBalance<'a>>> = BTreeMap::new();
    for budget in budgets {
        let namespace = &budget.name.namespace;
        accounts
            .entry(namespace)
            .or_default()
            .push(BudgetBalance::open(budget));
    }
    let mut gaps = Vec::new();
    for pod in pods {
        let mut covering = Vec::new();
        for account in accounts.get_mut(&pod.name.namespace).into_iter().flatten() {
            match account.impact.budget.covers(pod) {
                Some(true) => covering.push(account),
                Some(false) => {}
                None => gaps.push(unknown(account.impact.budget)),
            }
        }
        let is_shared = covering.len() > 1;
        for account in covering {
            account.take(pod, is_shared);
        }
    }
    gaps.sort();
    gaps.dedup();
    let touched = accounts
        .into_values()
        .flatten()
        .map(|account| account.impact);
    let mut budgets: Vec<_> = touched.filter(|impact| !impact.pods.is_empty()).collect();
    budgets.sort_by(|left, right| left.budget.name.cmp(&right.budget.name));
    Disruption { budgets, gaps }
}

/// Numbers of ready pods of `budget` that the eviction API would refuse if none, one, two and up to so many were lost,
/// one after the other and before any are replaced.
pub fn refusals(budget: &PodDisruptionBudget, lost: usize) -> Vec<usize> {
    let mut balance = BudgetBalance::open(budget);
    let mut refused = 0_usize;
    let mut refusals = vec![refused];
    for _ in 0..lost {
        refused = refused.saturating_add(usize::from(!balance.has_room()));
        refusals.push(refused);
        balance.lose_one();
    }
    refusals
}

/// True if the eviction API would let the pod, which `budget` covers, go before any other.
pub fn allows_first(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    BudgetBalance::open(budget).allows(pod)
}

/// True if the Eviction API checks budgets before it evicts the pod.
///
/// Upstream: `canIgnorePDB`.
pub fn is_subject_to_budgets(pod: &Pod) -> bool {
    match pod.phase {
        Phase::Pending | Phase::Succeeded | Phase::Failed => false,
        Phase::Running | Phase::Unknown(_) => true,
    }
}

/// The pods that are evicted, the earliest first; what is overdue goes now.
fn in_order<'a>(impact: &Impact<'a>, now: Timestamp) -> Vec<&'a Pod> {
    let mut evicted: Vec<(Timestamp, &Pod)> = impact
        .pods
        .iter()
        .filter_map(|pod| match pod.verdict {
            Verdict::Evicted { at } => Some((at.max(now), pod.pod)),
            Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => None,
        })
        .collect();
    evicted.sort_by(|(left, a), (right, b)| (left, &a.name, &a.uid).cmp(&(right, &b.name, &b.uid)));
    evicted.into_iter().map(|(_, pod)| pod).collect()
}

impl<'a> BudgetBalance<'a> {
    fn open(budget: &'a PodDisruptionBudget) -> Self {
        Self {
            impact: BudgetImpact {
                budget,
                pods: Vec::new(),
            },
            allowed: budget.status.disruptions_allowed,
            healthy: budget.status.current_healthy,
        }
    }

    /// Answers for one pod, which then goes, whatever the answer.
    fn take(&mut self, pod: &'a Pod, is_shared: bool) {
        let answer = match pod.phase {
            // Upstream (`canIgnorePDB`) lets these go before it looks for budgets, also where there are two.
            Phase::Pending | Phase::Succeeded | Phase::Failed => BudgetAnswer::NotAsked,
            Phase::Running | Phase::Unknown(_) if is_shared => BudgetAnswer::Ambiguous,
            Phase::Running | Phase::Unknown(_) if self.allows(pod) => BudgetAnswer::Allowed,
            Phase::Running | Phase::Unknown(_) => BudgetAnswer::Refused,
        };
        self.impact.pods.push((pod, answer));
        if pod.is_ready {
            self.lose_one();
        }
    }

    fn allows(&self, pod: &Pod) -> bool {
        let budget = self.impact.budget;
        let desired = budget.status.desired_healthy;
        let is_spare = match budget.unhealthy_pod_eviction_policy {
            UnhealthyPodEvictionPolicy::AlwaysAllow => true,
            // `desired > 0` is part of upstream's rule: a budget that has counted nothing spares no pod.
            UnhealthyPodEvictionPolicy::IfHealthyBudget => desired > 0 && self.healthy >= desired,
            // An unknown policy allows nothing.
            UnhealthyPodEvictionPolicy::Unknown(_) => false,
        };
        (!pod.is_ready && is_spare) || self.has_room()
    }

    /// True if a pod that is ready may go.
    fn has_room(&self) -> bool {
        self.impact.budget.is_counted() && self.allowed > 0
    }

    /// Counts again once a pod that was ready is gone.
    fn lose_one(&mut self) {
        self.healthy = self.healthy.saturating_sub(1);
        let status = &self.impact.budget.status;
        // Where the controller expects no pods or fails to count them, it allows nothing, however many are healthy.
        self.allowed = if status.expected_pods > 0 && status.failure.is_none() {
            self.healthy.saturating_sub(status.desired_healthy).max(0)
        } else {
            0
        };
    }
}

impl BudgetImpact<'_> {
    /// Number of its pods with this answer.
    pub fn count(&self, answer: BudgetAnswer) -> usize {
        let mut found = 0_usize;
        for (_, given) in &self.pods {
            found = found.saturating_add(usize::from(*given == answer));
        }
        found
    }

    /// True if a pod goes that had to stay, or for which the API has no answer.
    pub fn is_violated(&self) -> bool {
        let bad = |answer: &BudgetAnswer| match answer {
            BudgetAnswer::Refused | BudgetAnswer::Ambiguous => true,
            BudgetAnswer::NotAsked | BudgetAnswer::Allowed => false,
        };
        self.pods.iter().any(|(_, answer)| bad(answer))
    }
}

fn unknown(budget: &PodDisruptionBudget) -> Gap {
    Gap {
        what: Kind::PodDisruptionBudget.plural().to_owned(),
        why: format!(
            "the selector of {} has an unknown operator, so the pods that it covers are unknown",
            budget.name
        ),
        affects: Affects::Details,
    }
}
