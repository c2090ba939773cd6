//! The search, tier by tier.

use super::chain::Chains;
use super::classes::Classes;
use super::combination::{Parts, PlainClass};
use super::cost::{Burden, SetCost, Tier};
use super::frontier::{Frontier, FrontierWidth, Space};
use super::greedy::greedy;
use super::hull;
use super::problem::SearchProblem;
use super::regions::{commons, regions};

/// How much is tried before a search is cut.
//
// Counted and not timed: the same input has to give the same answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Partial sets of all regions together, times the counts that are kept of each.
    pub(super) partial_sets: usize,
    /// Partial sets that are kept at a time in every region, however many regions there are.
    pub(super) narrowest: usize,
    /// Steps for an exact combination of the regions; beyond them hulls are used.
    pub(super) combination: usize,
}

impl Effort {
    /// What a command waits for: far less than a second, and exact for all but very tangled clusters.
    const USUAL: Self = Self {
        partial_sets: 2_000_000,
        narrowest: 24,
        combination: 4_000_000,
    };
}

/// A set of units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSet {
    /// Places of the units, ascending.
    pub units: Vec<usize>,
    /// What it costs.
    pub cost: SetCost,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// The cheapest set that was found; of equal ones always the same, and of units that stand for each other the first.
    pub best: Option<FoundSet>,
    /// The next set that is not the same but for units that stand for each other; absent where there is none, and
    /// where too many sets are left to say which.
    pub runner_up: Option<FoundSet>,
    /// What every set costs at least; absent where there is none.
    pub lower_bound: Option<SetCost>,
}

impl SearchResult {
    /// Whether no set is cheaper than the one that was found.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        match (&self.best, &self.lower_bound) {
            (Some(best), Some(bound)) => best.cost <= *bound,
            (Some(_), None) | (None, _) => false,
        }
    }
}

/// What one pass found: up to two sets, and what every set of its tier costs at least.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) sets: Vec<FoundSet>,
    pub(super) lower: Option<Burden>,
    /// Whether nothing was left out.
    pub(super) is_exact: bool,
}

/// The cheapest set of `problem`.
///
/// Costs about O(units log units) and a bounded number of steps beyond, however units are coupled.
#[must_use]
pub fn search(problem: &SearchProblem) -> SearchResult {
    let mut result = SearchResult::default();
    for tier in Tier::ALL {
        let Attempt {
            sets,
            lower,
            is_exact,
        } = solve(problem, tier, Effort::USUAL);
        // Of a worse tier there may be more sets, and none that is cheaper than what a gentler one may still have.
        if result.lower_bound.is_none() && result.best.is_none() {
            result.lower_bound = lower.map(|burden| SetCost { tier, burden });
        }
        for set in sets {
            match &result.best {
                None => result.best = Some(set),
                Some(best) if best.units != set.units => {
                    result.runner_up.get_or_insert(set);
                }
                Some(_) => {}
            }
        }
        // Of a search that was cut it cannot be said which set comes next.
        let is_done = result.runner_up.is_some() || !is_exact;
        if result.best.is_some() && is_done {
            break;
        }
    }
    result
}

/// The sets of one tier, with so much effort.
pub(super) fn solve(problem: &SearchProblem, tier: Tier, effort: Effort) -> Attempt {
    let classes = Classes::of(problem, tier);
    let count = problem.count;
    let mut chains = Chains::default();
    let mut plain: Vec<PlainClass> = Vec::new();
    let mut coupled: Vec<Vec<usize>> = Vec::new();
    for region in regions(&classes) {
        match region.as_slice() {
            [only] if is_plain(*only, &classes) => plain.extend(plain_class(*only, &classes)),
            _ => coupled.push(region),
        }
    }
    plain.sort_by_key(|class| (class.burden, class.class));
    let number = coupled.iter().map(Vec::len).fold(0, usize::saturating_add);
    let space = Space {
        problem,
        classes: &classes,
        tier,
    };
    let frontiers: Vec<Frontier> = coupled
        .iter()
        .map(|region| {
            // A class is a step with each partial set, so that all classes get as many.
            let width = FrontierWidth {
                numbers: effort.partial_sets.checked_div(number).unwrap_or_default(),
                narrowest: effort.narrowest,
                all: effort.partial_sets,
            };
            space.frontier(region, width, &mut chains)
        })
        .collect();
    let parts = Parts {
        frontiers: &frontiers,
        plain: &plain,
        count,
    };
    let is_combined = parts.steps() <= effort.combination;
    let ways = if is_combined {
        parts.cheapest(&mut chains)
    } else {
        hull::rounded(&parts, &mut chains).into_iter().collect()
    };
    let is_exact = is_combined && frontiers.iter().all(|frontier| frontier.is_exact);
    let lower = if is_exact {
        ways.first().map(|way| way.burden)
    } else {
        let curves: Vec<_> = frontiers.iter().map(|found| found.lower.clone()).collect();
        hull::bound(&curves, &plain, count)
    };
    let sets = ways.iter().map(|way| {
        let mut units: Vec<usize> = Vec::with_capacity(count);
        for (class, taken) in chains.taken(way.chain) {
            let members = classes.all.get(class).map(|class| class.members.iter());
            units.extend(members.into_iter().flatten().take(taken));
        }
        units.sort_unstable();
        let cost = problem.cost(&units);
        FoundSet { units, cost }
    });
    let mut sets: Vec<FoundSet> = sets.collect();
    if !is_exact {
        let units = greedy(problem, tier);
        sets.extend(units.map(|units| FoundSet {
            cost: problem.cost(&units),
            units,
        }));
        sets.sort_by(|left, right| (left.cost, &left.units).cmp(&(right.cost, &right.units)));
        sets.truncate(1);
    }
    Attempt {
        sets,
        lower,
        is_exact,
    }
}

fn is_plain(place: usize, classes: &Classes) -> bool {
    let class = classes.all.get(place);
    class.is_some_and(|class| commons(class, classes).is_empty())
}

fn plain_class(place: usize, classes: &Classes) -> Option<PlainClass> {
    let class = classes.all.get(place)?;
    Some(PlainClass {
        burden: class.burden,
        class: place,
        size: class.members.len(),
    })
}
