//! Choice of the units that cost least: greedily, then one pass of swaps.
//!
//! The choice need not be the cheapest of all: swaps exchange single units only.

use std::collections::{BTreeMap, BTreeSet};

use super::cost::{EvictionCost, EvictionCosts};

/// Pods that the drain of a unit evicts, and what the unit costs besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitEvictions {
    /// Indices of the pods, each once; another unit may evict them too.
    pub(super) pods: Vec<usize>,
    /// Cost that the unit adds to that of its pods.
    pub(super) own: EvictionCost,
}

/// Chooses `count` of the `units` by index, of equal ones the first; `costs` are those of their pods.
pub(super) fn choose(units: &[UnitEvictions], count: usize, costs: &EvictionCosts) -> Vec<usize> {
    let mut selection = Selection::new(units, costs);
    let greedy = (0..count).map_while(|_| selection.choose_cheapest());
    let mut chosen: Vec<usize> = greedy.collect();
    // A unit that was the cheapest at its turn may not be the cheapest beside units that were chosen later.
    for unit in &mut chosen {
        selection.set(*unit, false);
        *unit = selection.choose_cheapest().unwrap_or(*unit);
    }
    chosen
}

/// Chosen units, with what each of the others would add to their cost.
//
// Only units that have pods or shared losses in common with a unit are evaluated again when that unit is chosen: the
// others of 40,000 would add the same as before.
struct Selection<'s> {
    units: &'s [UnitEvictions],
    costs: &'s EvictionCosts,
    is_chosen: Vec<bool>,
    /// For each pod, the units that evict it.
    units_of_pod: Vec<Vec<usize>>,
    /// For each shared loss, the units that lose its pods, with the number of these.
    units_of_shared: Vec<BTreeMap<usize, usize>>,
    /// For each pod, the number of chosen units that evict it.
    evictions: Vec<usize>,
    /// For each shared loss, its lost pods.
    lost: Vec<usize>,
    /// For each unit, the cost that it would add.
    added: Vec<EvictionCost>,
    /// Units that are not chosen, the cheapest first.
    open: BTreeSet<(EvictionCost, usize)>,
}

impl<'s> Selection<'s> {
    fn new(units: &'s [UnitEvictions], costs: &'s EvictionCosts) -> Self {
        let mut units_of_pod = vec![Vec::new(); costs.pods.len()];
        let mut units_of_shared = vec![BTreeMap::new(); costs.shared.len()];
        for (index, unit) in units.iter().enumerate() {
            for pod in &unit.pods {
                units_of_pod[*pod].push(index);
                for shared in &costs.pods[*pod].shared {
                    increase(units_of_shared[*shared].entry(index).or_default());
                }
            }
        }
        let mut selection = Self {
            units,
            costs,
            is_chosen: vec![false; units.len()],
            units_of_pod,
            units_of_shared,
            evictions: vec![0; costs.pods.len()],
            lost: vec![0; costs.shared.len()],
            added: vec![EvictionCost::default(); units.len()],
            open: BTreeSet::new(),
        };
        for unit in 0..units.len() {
            selection.evaluate(unit);
        }
        selection
    }

    fn choose_cheapest(&mut self) -> Option<usize> {
        let (_, unit) = *self.open.first()?;
        self.set(unit, true);
        Some(unit)
    }

    /// Adds the unit to the chosen ones, or removes it.
    fn set(&mut self, unit: usize, is_chosen: bool) {
        let step: fn(&mut usize) = if is_chosen { increase } else { decrease };
        let mut stale = BTreeSet::from([unit]);
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        for pod in &self.units[unit].pods {
            // The first unit that evicts the pod is chosen, or the last one is removed.
            let is_first = self.evictions[*pod] == usize::from(!is_chosen);
            step(&mut self.evictions[*pod]);
            if is_first {
                stale.extend(&self.units_of_pod[*pod]);
                for shared in &self.costs.pods[*pod].shared {
                    before.entry(*shared).or_insert(self.lost[*shared]);
                    step(&mut self.lost[*shared]);
                }
            }
        }
        for (shared, before) in before {
            let units = &self.units_of_shared[shared];
            let widest = units.values().copied().max().unwrap_or_default();
            if !self.costs.shared[shared].is_linear(before, self.lost[shared], widest) {
                stale.extend(units.keys());
            }
        }
        self.is_chosen[unit] = is_chosen;
        for unit in stale {
            self.evaluate(unit);
        }
    }

    /// Evaluates again what the unit would add.
    fn evaluate(&mut self, unit: usize) {
        self.open.remove(&(self.added[unit], unit));
        self.added[unit] = self.added_by(unit);
        if !self.is_chosen[unit] {
            self.open.insert((self.added[unit], unit));
        }
    }

    fn added_by(&self, unit: usize) -> EvictionCost {
        let unit = &self.units[unit];
        let mut cost = unit.own;
        let mut more: BTreeMap<usize, usize> = BTreeMap::new();
        let pods = unit.pods.iter().filter(|pod| self.evictions[**pod] == 0);
        for pod in pods.map(|pod| &self.costs.pods[*pod]) {
            cost = cost.plus(pod.alone);
            for shared in &pod.shared {
                increase(more.entry(*shared).or_default());
            }
        }
        for (shared, more) in more {
            let (loss, lost) = (self.costs.shared[shared], self.lost[shared]);
            let after = loss.cost(lost.saturating_add(more));
            cost = cost.plus(after.beyond(loss.cost(lost)));
        }
        cost
    }
}

fn increase(number: &mut usize) {
    *number = number.saturating_add(1);
}

fn decrease(number: &mut usize) {
    *number = number.saturating_sub(1);
}
