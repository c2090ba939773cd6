//! A set that is put together unit by unit, the cheapest at each step.
//!
//! For problems that are too large or too tangled to search: not the best set, but one that keeps the limits, and that
//! the lower bound says how far from the best it may be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::classes::Pass;
use super::cost::Burden;
use super::problem::{SearchProblem, SearchUnit};

/// What one more unit costs: whether it violates a budget, and what it adds.
type Price = (bool, Burden);

/// A set while it grows.
struct Growing<'p> {
    problem: &'p SearchProblem,
    pass: Pass,
    taken: Vec<bool>,
    units: Vec<usize>,
    lost: Vec<bool>,
    counts: Vec<usize>,
    of_domains: Vec<usize>,
    spare: usize,
    /// The units that evict each pod.
    users: Vec<Vec<usize>>,
}

/// Units with what they cost when that was last asked, the cheapest first.
type Queue = BinaryHeap<Reverse<(Price, usize)>>;

/// A set that keeps the limits, if one is found so.
pub(super) fn greedy(problem: &SearchProblem, pass: Pass) -> Option<Vec<usize>> {
    let mut growing = Growing::new(problem, pass);
    let units = problem.units.iter().enumerate();
    let allowed = units.filter(|(_, unit)| problem.tier_of(unit) <= pass.tier);
    let mut queue: Queue = allowed
        .map(|(place, unit)| Reverse((growing.price(unit), place)))
        .collect();
    // First what every domain needs, so that what is left is free to go anywhere.
    let rest = growing.grow(&mut queue, |growing, domain| {
        let limits = growing.problem.limits.domains.get(domain);
        let count = growing.of_domains.get(domain).copied().unwrap_or_default();
        limits.is_some_and(|limits| count < limits.least)
    });
    let mut queue: Queue = rest.into_iter().map(Reverse).collect();
    growing.grow(&mut queue, |growing, domain| {
        let limits = growing.problem.limits.domains.get(domain);
        let count = growing.of_domains.get(domain).copied().unwrap_or_default();
        limits.is_none_or(|limits| count < limits.most)
    });
    growing.units.sort_unstable();
    (problem.allows(&growing.units)).then_some(growing.units)
}

impl<'p> Growing<'p> {
    fn new(problem: &'p SearchProblem, pass: Pass) -> Self {
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
            pass,
            taken: vec![false; problem.units.len()],
            units: Vec::new(),
            lost: vec![false; problem.pods.len()],
            counts: vec![0; problem.couplings.len()],
            of_domains: vec![0; problem.limits.domains.len()],
            spare: 0,
            users,
        }
    }

    /// Takes units of the domains that are `open` until there are enough; gives back those of others.
    fn grow(
        &mut self,
        queue: &mut Queue,
        open: impl Fn(&Self, usize) -> bool,
    ) -> Vec<(Price, usize)> {
        let mut others = Vec::new();
        while let Some(Reverse((price, place))) = queue.pop() {
            let Some(unit) = self.problem.units.get(place) else {
                continue;
            };
            let is_taken = self.taken.get(place).copied().unwrap_or(true);
            if is_taken || self.units.len() >= self.problem.limits.count {
                continue;
            }
            if !open(self, unit.domain) {
                others.push((price, place));
                continue;
            }
            let now = self.price(unit);
            if now > price {
                // Others were taken since, and it may no longer be the cheapest.
                queue.push(Reverse((now, place)));
                continue;
            }
            let spare = self.spare.saturating_add(unit.spare);
            let keeps_spare = self.problem.limits.spare.is_none_or(|most| spare <= most);
            let (violates, _) = now;
            // Neither gets better as more units are taken.
            if !keeps_spare || (violates && self.pass.tier.respects_budgets()) {
                continue;
            }
            self.take(place, unit, queue);
        }
        others
    }

    fn take(&mut self, place: usize, unit: &SearchUnit, queue: &mut Queue) {
        for (coupling, more) in self.counted(unit) {
            if let Some(count) = self.counts.get_mut(coupling) {
                *count = count.saturating_add(more);
            }
        }
        self.spare = self.spare.saturating_add(unit.spare);
        self.units.push(place);
        if let Some(taken) = self.taken.get_mut(place) {
            *taken = true;
        }
        if let Some(count) = self.of_domains.get_mut(unit.domain) {
            *count = count.saturating_add(1);
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
                && self.problem.tier_of(unit) <= self.pass.tier
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
