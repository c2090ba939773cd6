//! Units, pods and couplings of a search.

use std::collections::BTreeSet;

use super::cost::{Burden, SetCost, Tier};

/// What is chosen from, and what a set of it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchProblem {
    /// What can be taken, each wholly or not at all.
    pub units: Vec<SearchUnit>,
    /// The pods that units evict.
    pub pods: Vec<SearchPod>,
    /// What several pods have in common, so that the loss of one makes that of another worse.
    pub couplings: Vec<Coupling>,
    /// How many units are taken.
    pub count: usize,
}

/// Something that can be taken wholly or not at all: a device, or all devices of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchUnit {
    /// Places of the pods that it evicts, each once; another unit may evict them too.
    pub pods: Vec<usize>,
    /// The least tier of a set with it, its pods aside.
    pub tier: Tier,
}

/// A pod that is evicted when one of its units is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPod {
    /// What its loss does by itself.
    pub burden: Burden,
    /// The least tier of a set that evicts it.
    pub tier: Tier,
    /// Places of the couplings that count it, each once.
    pub couplings: Vec<usize>,
}

/// What several pods have in common: a budget, a workload, a group, a Job, or hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coupling {
    /// What it adds to the burden if so many of its pods are lost; beyond the end, as the last.
    pub penalties: Vec<Burden>,
    /// So many pods may be lost before a budget is violated; absent where it is no budget.
    pub within_budget: Option<usize>,
}

impl Coupling {
    /// What it adds to the burden if so many of its pods are lost.
    #[must_use]
    pub fn penalty(&self, lost: usize) -> Burden {
        let known = self.penalties.get(lost).or(self.penalties.last());
        known.copied().unwrap_or_default()
    }

    /// Whether the loss of so many pods violates a budget.
    #[must_use]
    pub fn is_violated_by(&self, lost: usize) -> bool {
        self.within_budget.is_some_and(|within| lost > within)
    }
}

impl SearchProblem {
    /// The least tier of a set with this unit.
    #[must_use]
    pub fn tier_of(&self, unit: &SearchUnit) -> Tier {
        let pods = unit.pods.iter().filter_map(|place| self.pods.get(*place));
        pods.map(|pod| pod.tier).fold(unit.tier, Tier::max)
    }

    /// What the set of the units at these places costs.
    #[must_use]
    pub fn cost(&self, set: &[usize]) -> SetCost {
        let units = || set.iter().filter_map(|place| self.units.get(*place));
        let mut cost = SetCost {
            tier: units().map(|unit| unit.tier).max().unwrap_or_default(),
            burden: Burden::NONE,
        };
        let lost: BTreeSet<usize> = units().flat_map(|unit| unit.pods.iter().copied()).collect();
        let mut counts = vec![0_usize; self.couplings.len()];
        for pod in lost.iter().filter_map(|place| self.pods.get(*place)) {
            cost.tier = cost.tier.max(pod.tier);
            cost.burden = cost.burden.plus(pod.burden);
            for coupling in &pod.couplings {
                if let Some(count) = counts.get_mut(*coupling) {
                    *count = count.saturating_add(1);
                }
            }
        }
        for (coupling, lost) in self.couplings.iter().zip(counts) {
            cost.burden = cost.burden.plus(coupling.penalty(lost));
            if coupling.is_violated_by(lost) {
                cost.tier = cost.tier.max(Tier::BudgetsViolated);
            }
        }
        cost
    }
}
