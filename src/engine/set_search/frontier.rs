//! The cheapest ways to take each number of units from a region.
//!
//! Goes through the classes of a region once, and keeps for every partial set only what later classes can notice: how
//! many units are taken, and the counts of what is in common with classes that are still to come. Of partial sets that
//! look the same to those, the two cheapest are kept, the second for the runner-up.
//!
//! Exact, unless a region is cut: then the least promising partial sets are dropped, and the bound of the region is
//! what its pods cost by themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chain, Chains};
use super::classes::{Classes, UnitClass};
use super::cost::{Burden, Tier};
use super::problem::{Coupling, SearchProblem};
use super::regions::{Common, commons};

/// So many sets that look the same to what follows are kept: the cheapest, and one for the runner-up.
pub(super) const KEPT: usize = 2;

/// A way to take units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// How many units.
    pub(super) taken: usize,
    /// What it costs.
    pub(super) burden: Burden,
    /// Which units.
    pub(super) chain: Chain,
}

/// What can be taken from a region.
#[derive(Clone, Debug, Default)]
pub(super) struct Frontier {
    /// The cheapest ways, ascending by how many units are taken.
    pub(super) ways: Vec<Way>,
    /// What each number of units costs at least, ascending by it.
    pub(super) lower: Vec<(usize, Burden)>,
    /// Whether no way was dropped, so that the ways are the lower bound.
    pub(super) is_exact: bool,
}

/// How many partial sets of a region are kept at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontierWidth {
    /// Times the counts that are kept of each.
    pub(super) numbers: usize,
    /// At least, however many counts are kept.
    pub(super) narrowest: usize,
    /// All that may be kept from class to class, times the counts of each.
    pub(super) all: usize,
}

impl FrontierWidth {
    /// With so many counts of each.
    fn at(self, counts: usize) -> usize {
        let width = self.numbers.checked_div(counts.max(1)).unwrap_or_default();
        width.max(self.narrowest)
    }

    /// With more counts than these, even the narrowest search takes too long.
    fn hopeless(self) -> usize {
        self.all
            .checked_div(self.narrowest.max(1))
            .unwrap_or(self.all)
    }
}

/// What a search works on.
pub(super) struct Space<'s> {
    /// What is searched.
    pub(super) problem: &'s SearchProblem,
    /// Its classes.
    pub(super) classes: &'s Classes,
    /// No set of a worse tier.
    pub(super) tier: Tier,
}

/// A partial set, as later classes see it: units taken, and the counts of what is open.
type Key = Vec<usize>;

/// Partial sets that look the same, the cheapest first.
type Cheapest = Vec<(Burden, Chain)>;

/// The cheapest partial sets of each key.
type Labels = BTreeMap<Key, Cheapest>;

/// Where the number of a [`Key`] stands that is always there.
const TAKEN: usize = 0;

impl Space<'_> {
    /// What can be taken from a region; of more partial sets than the `width` allows, the least promising are dropped.
    pub(super) fn frontier(
        &self,
        region: &[usize],
        width: FrontierWidth,
        chains: &mut Chains,
    ) -> Frontier {
        let classes: Vec<(usize, &UnitClass)> = region
            .iter()
            .filter_map(|place| Some((*place, self.classes.all.get(*place)?)))
            .collect();
        let commons: Vec<Vec<Common>> = classes
            .iter()
            .map(|(_, class)| commons(class, self.classes))
            .collect();
        let mut last: BTreeMap<Common, usize> = BTreeMap::new();
        for (place, commons) in commons.iter().enumerate() {
            last.extend(commons.iter().map(|common| (*common, place)));
        }
        if Self::numbers(&commons, &last) > width.hopeless() {
            return Frontier {
                lower: self.separate(&classes),
                ..Frontier::default()
            };
        }
        let units = classes.iter().map(|(_, class)| class.members.len());
        let units = units.fold(0, usize::saturating_add);
        // A partial set goes on in as many ways as units of the next class can be taken.
        let options = units.min(self.problem.count.saturating_mul(classes.len()));
        let options = options.checked_div(classes.len()).unwrap_or(0).max(1);
        let mut labels: Labels = BTreeMap::from([(vec![0], vec![(Burden::NONE, None)])]);
        let mut open: Vec<Common> = Vec::new();
        let (mut is_exact, mut passed) = (true, 0_usize);
        for (place, ((number, class), commons)) in classes.iter().zip(&commons).enumerate() {
            for common in commons {
                if !open.contains(common) {
                    open.push(*common);
                    labels = with_count(labels);
                }
            }
            let ending: Vec<Common> = open
                .iter()
                .copied()
                .filter(|common| last.get(common) == Some(&place))
                .collect();
            let step = Step::new(self, *number, class, &open, &ending);
            let mut next = Labels::new();
            // From the most that is taken so far, for the same reason as in `Step::extend`.
            for (key, sets) in labels.iter().rev() {
                step.extend(key, sets, &mut next, chains);
            }
            labels = next;
            open.retain(|common| !ending.contains(common));
            passed = passed.saturating_add(class.members.len());
            // Long keys take as much time as many keys.
            let width = width.at(open.len().max(1).saturating_mul(options));
            if labels.len() > width {
                is_exact = false;
                let count = self.problem.count;
                let target = count.saturating_mul(passed).checked_div(units);
                labels = narrowed(labels, width, target.unwrap_or(count));
            }
        }
        let ways = ways(labels);
        let lower = if is_exact {
            exact(&ways)
        } else {
            self.separate(&classes)
        };
        Frontier {
            ways,
            lower,
            is_exact,
        }
    }

    /// How many counts are kept from class to class, all together.
    fn numbers(commons: &[Vec<Common>], last: &BTreeMap<Common, usize>) -> usize {
        let mut open: BTreeSet<Common> = BTreeSet::new();
        let mut numbers = 0_usize;
        for (place, commons) in commons.iter().enumerate() {
            open.extend(commons);
            numbers = numbers.saturating_add(open.len());
            open.retain(|common| last.get(common).is_some_and(|last| *last > place));
        }
        numbers
    }

    /// What each number of units costs at least: the cheapest, couplings and shared pods aside.
    fn separate(&self, classes: &[(usize, &UnitClass)]) -> Vec<(usize, Burden)> {
        let members = classes.iter().flat_map(|(_, class)| {
            let members = class.members.iter();
            members.map(|_| class.burden)
        });
        let mut burdens: Vec<Burden> = members.collect();
        burdens.sort_unstable();
        let mut sum = Burden::NONE;
        let mut lower = vec![(0, sum)];
        for (taken, burden) in (1..).zip(burdens.into_iter().take(self.problem.count)) {
            sum = sum.plus(burden);
            lower.push((taken, sum));
        }
        lower
    }
}

/// What becomes of partial sets with one more class.
//
// Places in keys are looked up once for the class, and not for each of thousands of partial sets.
struct Step<'s> {
    space: &'s Space<'s>,
    number: usize,
    class: &'s UnitClass,
    /// Where couplings are counted, and how many pods of each unit they count.
    counted: Vec<(CountedAt<'s>, usize)>,
    /// Where it is noted that a pod is lost, what that costs, and which couplings count it.
    shared: Vec<(usize, Burden, Vec<CountedAt<'s>>)>,
    /// The counts that no later class needs.
    ending: Vec<(usize, Ending<'s>)>,
    /// Where the counts are that later classes need.
    staying: Vec<usize>,
}

/// A coupling, and where it is counted.
type CountedAt<'s> = (usize, &'s Coupling);

/// What a count comes to at its end.
enum Ending<'s> {
    /// What a coupling adds.
    Penalty(&'s Coupling),
    /// Nothing: a pod was paid for when it was lost.
    Paid,
}

impl<'s> Step<'s> {
    fn new(
        space: &'s Space<'s>,
        number: usize,
        class: &'s UnitClass,
        open: &[Common],
        ending: &[Common],
    ) -> Self {
        let problem = space.problem;
        let place = |common: Common| {
            let place = open.iter().position(|found| *found == common)?;
            Some(place.saturating_add(TAKEN).saturating_add(1))
        };
        let coupling = |number: usize| {
            let coupling = problem.couplings.get(number)?;
            Some((place(Common::Coupling(number))?, coupling))
        };
        let counted = class
            .counted
            .iter()
            .filter_map(|(number, count)| Some((coupling(*number)?, *count)));
        let shared = class.shared.iter().filter_map(|pod| {
            let couplings = space
                .classes
                .couplings_of_pods
                .get(*pod)?
                .iter()
                .filter_map(|number| coupling(*number));
            let burden = problem.pods.get(*pod)?.burden;
            Some((place(Common::Pod(*pod))?, burden, couplings.collect()))
        });
        let ends = ending.iter().filter_map(|common| {
            let what = match common {
                Common::Coupling(number) => Ending::Penalty(problem.couplings.get(*number)?),
                Common::Pod(_) => Ending::Paid,
            };
            Some((place(*common)?, what))
        });
        let staying = open.iter().filter(|common| !ending.contains(common));
        Self {
            space,
            number,
            class,
            counted: counted.collect(),
            shared: shared.collect(),
            ending: ends.collect(),
            staying: staying.filter_map(|common| place(*common)).collect(),
        }
    }

    /// Adds what becomes of the `sets` of a key, with every number of units of the class.
    fn extend(
        &self,
        key: &[usize],
        sets: &[(Burden, Chain)],
        next: &mut Labels,
        chains: &mut Chains,
    ) {
        // From the most to none: of equal sets the one with the first names is found first, and kept.
        for taken in (0..=self.most(key)).rev() {
            let Some((key, more)) = self.after(key, taken) else {
                continue;
            };
            let kept = next.entry(key).or_default();
            for (burden, chain) in sets {
                let burden = burden.plus(more);
                let place = kept.partition_point(|(known, _)| *known <= burden);
                if place < KEPT {
                    let chain = chains.take(*chain, self.number, taken);
                    kept.insert(place, (burden, chain));
                    kept.truncate(KEPT);
                }
            }
        }
    }

    /// How many units of the class can be taken besides.
    fn most(&self, key: &[usize]) -> usize {
        let left = self.space.problem.count.saturating_sub(at(key, TAKEN));
        self.class.members.len().min(left)
    }

    /// What a partial set looks like with so many units of the class, and what these cost; nothing where that is no
    /// part of a set that is looked for.
    fn after(&self, key: &[usize], taken: usize) -> Option<(Key, Burden)> {
        let mut counts = key.to_vec();
        let mut burden = self.class.burden.times(taken);
        add(&mut counts, TAKEN, taken);
        for ((place, _), count) in &self.counted {
            add(&mut counts, *place, count.saturating_mul(taken));
        }
        for (place, own, couplings) in self.shared.iter().filter(|_| taken > 0) {
            // A pod is lost once, whichever of its units goes first.
            if at(&counts, *place) > 0 {
                continue;
            }
            add(&mut counts, *place, 1);
            burden = burden.plus(*own);
            for (place, _) in couplings {
                add(&mut counts, *place, 1);
            }
        }
        if self.space.tier.respects_budgets() {
            let own = self.counted.iter().map(|(coupling, _)| coupling);
            let mut touched = own.chain(self.shared.iter().flat_map(|(_, _, couplings)| couplings));
            if touched.any(|(place, coupling)| coupling.is_violated_by(at(&counts, *place))) {
                return None;
            }
        }
        for (place, ending) in &self.ending {
            let count = at(&counts, *place);
            match ending {
                Ending::Paid => {}
                Ending::Penalty(coupling) => burden = burden.plus(coupling.penalty(count)),
            }
        }
        let kept = self.staying.iter().map(|place| at(&counts, *place));
        let always = [at(&counts, TAKEN)];
        Some((always.into_iter().chain(kept).collect(), burden))
    }
}

fn at(key: &[usize], place: usize) -> usize {
    key.get(place).copied().unwrap_or_default()
}

fn add(key: &mut Key, place: usize, more: usize) {
    if let Some(count) = key.get_mut(place) {
        *count = count.saturating_add(more);
    }
}

/// The partial sets with one more count, of which there is nothing yet.
fn with_count(labels: Labels) -> Labels {
    labels
        .into_iter()
        .map(|(mut key, sets)| {
            key.push(0);
            (key, sets)
        })
        .collect()
}

/// The most promising of the partial sets: of each number of units the cheapest first, and of these the numbers
/// that are nearest to what is needed so far.
fn narrowed(labels: Labels, width: usize, target: usize) -> Labels {
    let mut by_taken: BTreeMap<usize, Vec<(Key, Cheapest)>> = BTreeMap::new();
    for (key, sets) in labels {
        let taken = key.first().copied().unwrap_or_default();
        by_taken.entry(taken).or_default().push((key, sets));
    }
    let mut ranked = Vec::new();
    for (taken, mut of_taken) in by_taken {
        of_taken.sort_by_key(|(_, sets)| sets.first().map(|(burden, _)| *burden));
        let distance = taken.abs_diff(target);
        for (rank, label) in of_taken.into_iter().enumerate() {
            ranked.push((rank, distance, label));
        }
    }
    ranked.sort_by_key(|(rank, distance, _)| (*rank, *distance));
    ranked.truncate(width);
    ranked.into_iter().map(|(_, _, label)| label).collect()
}

fn ways(labels: Labels) -> Vec<Way> {
    let mut ways = Vec::new();
    for (key, sets) in labels {
        for (burden, chain) in sets {
            ways.push(Way {
                taken: at(&key, TAKEN),
                burden,
                chain,
            });
        }
    }
    ways
}

/// The cheapest way of each number of units.
fn exact(ways: &[Way]) -> Vec<(usize, Burden)> {
    let mut least: BTreeMap<usize, Burden> = BTreeMap::new();
    for way in ways {
        let known = least.entry(way.taken).or_insert(way.burden);
        *known = way.burden.min(*known);
    }
    least.into_iter().collect()
}
