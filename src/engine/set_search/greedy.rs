//! A set that is put together unit by unit, the cheapest at each step.
//!
//! For problems that are too large or too tangled to search: not the best set; the
//! lower bound says how far from the best it may be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::cost::{Burden, Tier};
use super::problem::{SearchProblem, SearchUnit};

/// What one more unit costs: whether it violates a budget, and what it adds.
type Price = (bool, Burden);

/// A set while it grows.
struct Growing<'p> {
    problem: &'p SearchProblem,
    tier: Tier,
    taken: Vec<bool>,
    units: Vec<usize>,
    lost: Vec<bool>,
    counts: Vec<usize>,
    /// The units that evict each pod.
    users: Vec<Vec<usize>>,
}

/// Units with what they cost when that was last asked, the cheapest first.
type Queue = BinaryHeap<Reverse<(Price, usize)>>;

/// A set, if one is found so.
pub(super) fn greedy(problem: &SearchProblem, tier: Tier) -> Option<Vec<usize>> {
    let mut growing = Growing::new(problem, tier);
    let units = problem.units.iter().enumerate();
    let allowed = units.filter(|(_, unit)| problem.tier_of(unit) <= tier);
    let mut queue: Queue = allowed
        .map(|(place, unit)| Reverse((growing.price(unit), place)))
        .collect();
    growing.grow(&mut queue);
    growing.units.sort_unstable();
    (growing.units.len() == problem.count).then_some(growing.units)
}

impl<'p> Growing<'p> {
    fn new(problem: &'p SearchProblem, tier: Tier) -> Self {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); problem.pods.len()];
        for (place, unit) in problem.units.iter().enumerate() {
            for pod in &unit.pods {
                if let Some(users) = users.get_mut(*pod) {
                    users.push(place);
                }
            }
        }
        Self {
            problem,
            tier,
            taken: vec![false; problem.units.len()],
            units: Vec::new(),
            lost: vec![false; problem.pods.len()],
            counts: vec![0; problem.couplings.len()],
            users,
        }
    }

    /// Takes units until there are enough.
    fn grow(&mut self, queue: &mut Queue) {
        while let Some(Reverse((price, place))) = queue.pop() {
            let Some(unit) = self.problem.units.get(place) else {
                continue;
            };
            let is_taken = self.taken.get(place).copied().unwrap_or(true);
            if is_taken || self.units.len() >= self.problem.count {
                continue;
            }
            let now = self.price(unit);
            if now > price {
                // Others were taken since, and it may no longer be the cheapest.
                queue.push(Reverse((now, place)));
                continue;
            }
            let (violates, _) = now;
            // It does not get better as more units are taken.
            if violates && self.tier.respects_budgets() {
                continue;
            }
            self.take(place, unit, queue);
        }
    }

    fn take(&mut self, place: usize, unit: &SearchUnit, queue: &mut Queue) {
        for (coupling, more) in self.counted(unit) {
            if let Some(count) = self.counts.get_mut(coupling) {
                *count = count.saturating_add(more);
            }
        }
        self.units.push(place);
        if let Some(taken) = self.taken.get_mut(place) {
            *taken = true;
        }
        for pod in &unit.pods {
            if let Some(lost) = self.lost.get_mut(*pod) {
                *lost = true;
            }
        }
        // Units that share a pod with it have become cheaper, which the queue does not know.
        let users = unit.pods.iter().filter_map(|pod| self.users.get(*pod));
        for user in users.filter(|users| users.len() > 1).flatten() {
            let is_taken = self.taken.get(*user).copied().unwrap_or(true);
            if let Some(unit) = self.problem.units.get(*user)
                && !is_taken
                && self.problem.tier_of(unit) <= self.tier
            {
                queue.push(Reverse((self.price(unit), *user)));
            }
        }
    }

    /// How many more pods each coupling counts with the unit.
    fn counted(&self, unit: &SearchUnit) -> BTreeMap<usize, usize> {
        let mut counted = BTreeMap::new();
        let pods = unit.pods.iter();
        let lost = pods.filter(|pod| self.lost.get(**pod) == Some(&false));
        for coupling in lost
            .filter_map(|pod| self.problem.pods.get(*pod))
            .flat_map(|pod| &pod.couplings)
        {
            let count: &mut usize = counted.entry(*coupling).or_default();
            *count = count.saturating_add(1);
        }
        counted
    }

    /// What the unit costs besides all that is taken.
    fn price(&self, unit: &SearchUnit) -> Price {
        let pods = unit.pods.iter();
        let lost = pods.filter(|pod| self.lost.get(**pod) == Some(&false));
        let own = lost.filter_map(|pod| self.problem.pods.get(*pod));
        let mut burden = own.map(|pod| pod.burden).fold(Burden::NONE, Burden::plus);
        let mut violates = false;
        for (place, more) in self.counted(unit) {
            let before = self.counts.get(place).copied().unwrap_or_default();
            let after = before.saturating_add(more);
            if let Some(coupling) = self.problem.couplings.get(place) {
                let more = coupling.penalty(after).minus(coupling.penalty(before));
                burden = burden.plus(more);
                violates |= coupling.is_violated_by(after);
            }
        }
        (violates, burden)
    }
}
