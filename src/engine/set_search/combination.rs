//! One number of units from each region, exactly.
//!
//! Regions are independent but for how many units they give. So the cheapest
//! set is found region by region, with the two cheapest ways for each number of units so far.

use std::collections::BTreeMap;

use super::chain::{Chain, Chains};
use super::cost::Burden;
use super::frontier::{Frontier, KEPT, Way};

/// Units of one class that have nothing in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainClass {
    /// What each costs; first, since classes are taken by it.
    pub(super) burden: Burden,
    /// The class.
    pub(super) class: usize,
    /// How many there are.
    pub(super) size: usize,
}

/// What a set is put together from.
pub(super) struct Parts<'p> {
    /// Of regions with something in common.
    pub(super) frontiers: &'p [Frontier],
    /// All others, the cheapest first.
    pub(super) plain: &'p [PlainClass],
    /// How many units are taken.
    pub(super) count: usize,
}

/// The cheapest ways so far, by units taken.
type Labels = BTreeMap<usize, Vec<(Burden, Chain)>>;

impl Parts<'_> {
    /// How many steps the exact combination takes, about.
    pub(super) fn steps(&self) -> usize {
        let all = self.count.saturating_add(1);
        let (mut states, mut steps) = (1_usize, 0_usize);
        let plain = self.plain.iter().map(|class| class.size.min(self.count));
        let regions = self.frontiers.iter().map(|frontier| frontier.ways.len());
        for ways in regions.chain(plain) {
            steps = steps.saturating_add(states.saturating_mul(ways));
            // Where only one way is left to take, as many partial sets go on as came.
            states = states.saturating_mul(ways.max(1)).min(all);
        }
        steps
    }

    /// The cheapest set and the next one, as far as there are any.
    pub(super) fn cheapest(&self, chains: &mut Chains) -> Vec<Way> {
        let mut labels: Labels = BTreeMap::from([(0, vec![(Burden::NONE, None)])]);
        for frontier in self.frontiers {
            labels = self.with_ways(&labels, &frontier.ways, chains);
        }
        self.filled(labels, chains)
    }

    fn with_ways(&self, labels: &Labels, ways: &[Way], chains: &mut Chains) -> Labels {
        let mut next = Labels::new();
        // From the most that is taken so far: of equal sets the one with the first regions is kept.
        for (taken, sets) in labels.iter().rev() {
            for way in ways {
                let taken = taken.saturating_add(way.taken);
                if taken > self.count {
                    continue;
                }
                let kept = next.entry(taken).or_default();
                for (burden, chain) in sets {
                    keep(
                        kept,
                        burden.plus(way.burden),
                        |chains: &mut Chains| chains.join(*chain, way.chain),
                        chains,
                    );
                }
            }
        }
        next
    }

    /// The partial sets with as many of the plain classes as are missing: the cheapest, and the next one.
    fn filled(&self, labels: Labels, chains: &mut Chains) -> Vec<Way> {
        let mut found: Vec<(Burden, Chain)> = Vec::new();
        for (taken, sets) in labels {
            let missing = self.count.saturating_sub(taken);
            for filling in fillings(self.plain, missing) {
                for (burden, chain) in &sets {
                    let more = filling.iter().fold(Burden::NONE, |sum, (class, taken)| {
                        sum.plus(class.burden.times(*taken))
                    });
                    keep(
                        &mut found,
                        burden.plus(more),
                        |chains: &mut Chains| {
                            let mut chain = *chain;
                            for (class, taken) in &filling {
                                chain = chains.take(chain, class.class, *taken);
                            }
                            chain
                        },
                        chains,
                    );
                }
            }
        }
        let ways = found.into_iter().map(|(burden, chain)| Way {
            taken: self.count,
            burden,
            chain,
        });
        ways.collect()
    }
}

/// Keeps a set if it is one of the cheapest; of equal ones those that came first.
fn keep(
    kept: &mut Vec<(Burden, Chain)>,
    burden: Burden,
    chain: impl FnOnce(&mut Chains) -> Chain,
    chains: &mut Chains,
) {
    let place = kept.partition_point(|(known, _)| *known <= burden);
    if place < KEPT {
        kept.insert(place, (burden, chain(chains)));
        kept.truncate(KEPT);
    }
}

/// So many units of classes that have nothing in common, which stand in the order of what they cost: the cheapest
/// ones, and what comes next if one of them is exchanged for one of another class.
fn fillings(plain: &[PlainClass], missing: usize) -> Vec<Vec<(PlainClass, usize)>> {
    let mut left = missing;
    let mut best = Vec::new();
    for class in plain {
        let taken = class.size.min(left);
        left = left.saturating_sub(taken);
        best.push((*class, taken));
    }
    if left > 0 {
        return Vec::new();
    }
    let used = || {
        best.iter()
            .enumerate()
            .rev()
            .filter(|(_, (_, taken))| *taken > 0)
    };
    let open = || {
        best.iter()
            .enumerate()
            .filter(|(_, (class, taken))| *taken < class.size)
    };
    // The dearest two that are used and the cheapest two that are left are enough: one of them may be the same class.
    let exchanges = used().take(2).flat_map(|(from, (given, _))| {
        let others = open().filter(move |(to, _)| *to != from).take(1);
        others.map(move |(to, (got, _))| (got.burden.minus(given.burden), from, to))
    });
    let mut fillings = Vec::new();
    if let Some((_, from, to)) = exchanges.min() {
        let mut next = best.clone();
        if let Some((_, taken)) = next.get_mut(from) {
            *taken = taken.saturating_sub(1);
        }
        if let Some((_, taken)) = next.get_mut(to) {
            *taken = taken.saturating_add(1);
        }
        fillings.push(next);
    }
    fillings.insert(0, best);
    fillings
}
