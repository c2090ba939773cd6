//! The search for the cheapest set of pods, tier by tier and size by size.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::combinations::Combinations;
use super::cost::{RoomCost, Tier};
use super::node_room::{NodeRoom, counter_sets, relevant};
use super::occupancy::Occupancy;
use super::question::{RoomQuestion, RoomSearch, RoomSet};
use crate::engine::allocator::cluster_state::ClusterState;
use crate::engine::allocator::completeness::{Completeness, Unknown};
use crate::engine::allocator::demand::{Demand, SearchStop, demands};
use crate::engine::allocator::search::{SearchTask, place};
use crate::engine::allocator::usage::{Holdings, Usage};
use crate::model::{ClaimSpec, DeviceId, Snapshot};

/// How many sets are looked at for one answer.
//
// Sets grow exponentially with the pods of a node. This many are looked at in about a second, and are all sets of twelve
// pods on each of a thousand nodes.
const MOST_SETS: u64 = 4_000_000;
/// How many allocations are tried for one answer.
const MOST_TRIALS: u64 = 100_000;
/// Search budget of one such trial, in steps, as in the allocator's own session.
const STEPS: u64 = 50_000;

/// So many sets are checked on all nodes, and so many may fail there.
const MOST_CHECKED: usize = 4;
const MOST_REJECTED: usize = 64;

/// The devices in use that could serve the claim, or that draw from the same counters as such; `None` where that is not
/// known.
#[must_use]
pub fn relevant_devices(question: &RoomQuestion<'_>) -> Option<BTreeSet<DeviceId>> {
    let state = question.waiting.state();
    let demands = demands(question.waiting.claim.spec.as_deref()?, &state).ok()?;
    let mut wanted = BTreeSet::new();
    for view in &state.views {
        wanted.extend(relevant(view, &demands, &state));
    }
    let claims = question.waiting.snapshot.claims.iter();
    let results = claims.flat_map(|claim| claim.allocation.iter().flat_map(|it| &it.results));
    let devices = results.map(|result| &result.device).filter(|id| {
        let identity = state.identity(id);
        identity.is_some_and(|identity| wanted.contains(&identity))
    });
    Some(devices.cloned().collect())
}

/// The sets of pods after whose eviction the claim can be placed, of tiers up to `most`, where `cost` says what a set
/// costs: pods are named by their places in the question, in ascending order.
#[must_use]
pub fn room(
    question: &RoomQuestion<'_>,
    most: Tier,
    cost: &dyn Fn(&[usize]) -> RoomCost,
) -> RoomSearch {
    let state = question.waiting.state();
    let mut result = RoomSearch::default();
    let Some(spec) = question.waiting.claim.spec.as_deref() else {
        let why = Unknown::from("the requests were not read".to_owned());
        result.unknown.insert(why);
        return result;
    };
    if state.completeness != Completeness::COMPLETE {
        result.unknown.insert(Unknown::unread(
            "the list of devices, claims, DeviceClasses, nodes or rules is incomplete",
        ));
        return result;
    }
    let demands = match demands(spec, &state) {
        Ok(demands) => demands,
        Err(why) => {
            result.unknown.insert(why);
            return result;
        }
    };
    let occupancy = Occupancy::new(question, &state);
    let leaving = occupancy.leaving();
    let left = occupancy.given_back(leaving.iter().copied(), &state);
    let views = 0..state.views.len();
    let nodes = views.map(|view| NodeRoom::new(view, &demands, &occupancy, &state, &left));
    let mut finder = Finder {
        state: &state,
        spec,
        demands: &demands,
        occupancy: &occupancy,
        leaving: &leaving,
        nodes: nodes.collect(),
        snapshot: question.waiting.snapshot,
        cost,
        unknown: BTreeSet::new(),
        sets: MOST_SETS,
        trials: MOST_TRIALS,
    };
    let found = finder.find(most);
    let unknown = finder.unknown;
    RoomSearch { unknown, ..found }
}

/// A set on a node after whose eviction the claim can be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    cost: RoomCost,
    /// The places of the pods in the question.
    evicted: Vec<usize>,
    /// The place of the node in [`Finder::nodes`].
    node: usize,
    emptied: Vec<u32>,
    chosen: BTreeSet<u32>,
}

/// That the budget of the search is used up.
struct Exhausted;

struct Finder<'s, 'a> {
    state: &'s ClusterState<'a>,
    spec: &'a ClaimSpec,
    demands: &'s [Demand<'a>],
    occupancy: &'s Occupancy<'a>,
    /// The devices that are empty once the pods have left that are terminating.
    leaving: &'s [u32],
    nodes: Vec<NodeRoom>,
    snapshot: &'a Snapshot,
    cost: &'s dyn Fn(&[usize]) -> RoomCost,
    unknown: BTreeSet<Unknown>,
    /// How many sets may still be looked at, and allocations tried.
    sets: u64,
    trials: u64,
}

impl Finder<'_, '_> {
    fn find(&mut self, most: Tier) -> RoomSearch {
        let mut found: Vec<Candidate> = Vec::new();
        let mut is_proved = true;
        self.drop_hopeless();
        'tiers: for tier in Tier::ALL.into_iter().filter(|tier| *tier <= most) {
            let sizes = self.nodes.iter().map(|node| node.pods.len()).max();
            for size in 0..=sizes.unwrap_or_default() {
                if self.of_size(tier, size, &mut found).is_err() {
                    // Whoever is found from here on may not be the cheapest; a runner-up need not be.
                    is_proved = !found.is_empty();
                    if found.is_empty() {
                        self.greedily(most, &mut found);
                    }
                    break 'tiers;
                }
                found = self.safe(found);
                if distinct(&found).count() > 1 {
                    break 'tiers;
                }
            }
        }
        let found = self.safe(found);
        let mut sets = distinct(&found).map(|candidate| self.set(candidate));
        RoomSearch {
            best: sets.next(),
            runner_up: sets.next(),
            // What could not be judged may have been cheaper.
            is_proved: is_proved && self.unknown.is_empty(),
            unknown: BTreeSet::new(),
        }
    }

    /// Leaves out the nodes on which the claim cannot be placed whoever is evicted.
    fn drop_hopeless(&mut self) {
        let places = 0..self.nodes.len();
        let mut kept = Vec::new();
        for node in places {
            let all: Vec<usize> = (0..self.nodes[node].pods.len()).collect();
            if self.placed_without(node, &all).is_some() {
                kept.push(self.nodes[node].clone());
            }
        }
        self.nodes = kept;
    }

    /// The devices with which the claim is placed on the node once all of these pods have left that empty something.
    fn placed_without(&mut self, node: usize, pods: &[usize]) -> Option<(Vec<u32>, BTreeSet<u32>)> {
        let mut pods = pods.to_vec();
        // Who empties nothing that matters, since somebody else stays on the device, does not count.
        let emptied = loop {
            if let Some(emptied) = self.nodes[node].emptied(&pods) {
                break emptied;
            }
            let useful = self.nodes[node].useful(&pods);
            if useful.len() == pods.len() {
                return None;
            }
            pods = useful;
        };
        let chosen = self.placed(node, &emptied)?;
        Some((emptied, chosen))
    }

    /// Adds the sets of that size and tier, on all nodes.
    fn of_size(
        &mut self,
        tier: Tier,
        size: usize,
        found: &mut Vec<Candidate>,
    ) -> Result<(), Exhausted> {
        for node in 0..self.nodes.len() {
            let pods = &self.nodes[node].pods;
            let places: Vec<usize> = (0..pods.len())
                .filter(|place| (self.cost)(&[pods[*place]]).tier <= tier)
                .collect();
            let mut combinations = Combinations::new(places.len(), size);
            while let Some(chosen) = combinations.next() {
                self.sets = self.sets.checked_sub(1).ok_or(Exhausted)?;
                let chosen: Vec<usize> = chosen.iter().map(|place| places[*place]).collect();
                self.try_set(node, &chosen, tier, found)?;
            }
        }
        Ok(())
    }

    fn try_set(
        &mut self,
        node: usize,
        chosen: &[usize],
        tier: Tier,
        found: &mut Vec<Candidate>,
    ) -> Result<(), Exhausted> {
        let room = &self.nodes[node];
        let Some(emptied) = room.emptied(chosen) else {
            return Ok(());
        };
        let evicted: Vec<usize> = chosen.iter().map(|place| room.pods[*place]).collect();
        let cost = (self.cost)(&evicted);
        let contains = |known: &Candidate| {
            known.node == node && known.evicted.iter().all(|pod| evicted.contains(pod))
        };
        if cost.tier != tier || found.iter().any(contains) {
            return Ok(());
        }
        self.trials = self.trials.checked_sub(1).ok_or(Exhausted)?;
        if let Some(chosen) = self.placed(node, &emptied) {
            found.push(Candidate {
                cost,
                evicted,
                node,
                emptied,
                chosen,
            });
        }
        Ok(())
    }

    /// The devices with which the claim is placed on the node once these are empty; `None` also where that is not known,
    /// which is noted.
    fn placed(&mut self, node: usize, emptied: &[u32]) -> Option<BTreeSet<u32>> {
        let view = self.nodes[node].view;
        let answer = self.place_on(view, emptied);
        match answer {
            Ok(chosen) if self.state.views[view].is_doubtful => {
                if chosen.is_some() {
                    let why = "the nodes of some devices are unknown".to_owned();
                    self.unknown.insert(why.into());
                }
                None
            }
            Ok(chosen) => chosen,
            Err(SearchStop::Unknown(why)) => {
                self.unknown.insert(why);
                None
            }
            Err(SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany) => {
                None
            }
        }
    }

    fn place_on(&self, view: usize, emptied: &[u32]) -> Result<Option<BTreeSet<u32>>, SearchStop> {
        let emptied: BTreeSet<u32> = self.leaving.iter().chain(emptied).copied().collect();
        let own: Holdings<'_> = self.occupancy.given_back(emptied.into_iter(), self.state);
        let steps = Cell::new(STEPS);
        place(SearchTask {
            state: self.state,
            view: &self.state.views[view],
            usage: Usage {
                all: &self.occupancy.all,
                own: &own,
            },
            spec: self.spec,
            demands: self.demands,
            steps: &steps,
            required: None,
        })
    }

    /// A set on each node that none of its pods could be left out of, where all sets are too many to look at.
    fn greedily(&mut self, most: Tier, found: &mut Vec<Candidate>) {
        for node in 0..self.nodes.len() {
            let pods = self.nodes[node].pods.clone();
            let mut kept: Vec<usize> = (0..pods.len())
                .filter(|place| (self.cost)(&[pods[*place]]).tier <= most)
                .collect();
            let mut costliest = kept.clone();
            costliest.sort_by_key(|place| std::cmp::Reverse((self.cost)(&[pods[*place]])));
            let mut placed = self.placed_without(node, &kept);
            for place in costliest {
                let fewer: Vec<usize> = kept.iter().copied().filter(|it| *it != place).collect();
                if let Some(without) = self.placed_without(node, &fewer) {
                    kept = fewer;
                    placed = Some(without);
                }
            }
            let Some((emptied, chosen)) = placed else {
                continue;
            };
            let evicted: Vec<usize> = kept.iter().map(|place| pods[*place]).collect();
            let cost = (self.cost)(&evicted);
            if cost.tier <= most {
                found.push(Candidate {
                    cost,
                    evicted,
                    node,
                    emptied,
                    chosen,
                });
            }
        }
    }

    /// The candidates in their order, without such after whose eviction the allocator fails on a node: the scheduler gives
    /// up the whole attempt then, whatever other nodes have.
    fn safe(&mut self, mut found: Vec<Candidate>) -> Vec<Candidate> {
        found.sort_by(|left, right| order(left).cmp(&order(right)));
        let (mut checked, mut rejected) = (0_usize, 0_usize);
        found.retain(|candidate| {
            // Only the first are shown. What fails for so many fails for the others, too.
            if checked >= MOST_CHECKED {
                return true;
            }
            if rejected >= MOST_REJECTED {
                return false;
            }
            match self.failure(candidate) {
                None => checked = checked.saturating_add(1),
                Some(why) => {
                    rejected = rejected.saturating_add(1);
                    self.unknown.insert(why);
                    return false;
                }
            }
            true
        });
        found
    }

    /// Why the scheduler gives up after these evictions, if it does.
    ///
    /// Upstream: `Filter` of the plugin `dynamicresources`, which returns the allocator's error for one node as that of
    /// the attempt.
    fn failure(&self, candidate: &Candidate) -> Option<Unknown> {
        // On all nodes: a claim can hold devices of several.
        let emptied = self.occupancy.emptied_by(&candidate.evicted);
        let views = 0..self.state.views.len();
        let mut answers = views.map(|view| self.place_on(view, &emptied));
        answers.find_map(|answer| match answer {
            Ok(_) | Err(SearchStop::Node | SearchStop::TooMany) => None,
            Err(SearchStop::Unknown(why)) => why.is_failure().then_some(why),
            Err(SearchStop::No) => Some(Unknown::from(
                "for at least one node, the scheduler would stop with an error: a request for all devices includes a pool that is incomplete or invalid, or too many devices are requested"
                    .to_owned(),
            )),
            Err(SearchStop::Conflict) => Some(Unknown::from(
                "for at least one node, the scheduler would stop with an error: the devices of a request for all devices violate a constraint"
                    .to_owned(),
            )),
        })
    }

    fn set(&self, candidate: &Candidate) -> RoomSet {
        let node = &self.nodes[candidate.node];
        let state = self.state;
        let pools = &state.views[node.view].pools;
        let places = pools.iter().flat_map(|pool| {
            let places = pool.devices.iter().chain(&pool.elsewhere);
            places.map(move |place| (pool.place, *place))
        });
        let places: Vec<(u32, u32)> = places.collect();
        let sets_of = |wanted: &BTreeSet<u32>| -> BTreeSet<(u32, &str)> {
            let meant = places
                .iter()
                .filter(|(_, place)| wanted.contains(&state.at(*place).identity));
            meant
                .flat_map(|(pool, place)| counter_sets(*place, state).map(|set| (*pool, set)))
                .collect()
        };
        let counters = sets_of(&candidate.chosen);
        // The devices that draw from the counters of the chosen ones.
        let beside: BTreeSet<u32> = places
            .iter()
            .filter(|(pool, place)| {
                counter_sets(*place, state).any(|set| counters.contains(&(*pool, set)))
            })
            .map(|(_, place)| state.at(*place).identity)
            .collect();
        let mut emptied = BTreeSet::new();
        for pod in &candidate.evicted {
            let used = node.used_by(*pod, &candidate.emptied);
            let of = |wanted: &BTreeSet<u32>| {
                let wanted = used.iter().filter(|device| wanted.contains(device));
                wanted.copied().collect::<Vec<u32>>()
            };
            let needed = [of(&candidate.chosen), of(&beside), used.clone()];
            emptied.extend(
                needed
                    .into_iter()
                    .find(|some| !some.is_empty())
                    .into_iter()
                    .flatten(),
            );
        }
        let is_in_use = |device: &u32| self.occupancy.users(*device).is_some();
        let free = beside.iter().filter(|device| !is_in_use(device));
        let kept_free = candidate.chosen.iter().chain(free);
        let kept_free: BTreeSet<u32> = kept_free
            .filter(|device| !emptied.contains(device))
            .copied()
            .collect();
        let devices = self.ids(&candidate.chosen);
        let slices = self.snapshot.slices.iter();
        let mut local = slices.flat_map(|slice| {
            let known = slice
                .devices
                .iter()
                .filter(|device| devices.contains(&slice.id_of(device)));
            known.filter_map(|device| slice.node_of(device))
        });
        RoomSet {
            node: local.next().cloned(),
            evicted: candidate.evicted.clone(),
            emptied: self.ids(&emptied),
            kept_free: self.ids(&kept_free),
            cost: candidate.cost,
            devices,
        }
    }

    fn ids(&self, identities: &BTreeSet<u32>) -> BTreeSet<DeviceId> {
        let devices = self.state.devices.iter();
        let meant = devices.filter(|at| identities.contains(&at.identity));
        meant.map(|at| at.slice.id_of(at.device)).collect()
    }
}

/// By cost; of equal ones the order is that of their places, so that the same cluster gives the same answer.
fn order(candidate: &Candidate) -> (RoomCost, &[usize], usize) {
    (candidate.cost, &candidate.evicted, candidate.node)
}

/// Of candidates in their order, those that evict other pods than one before them, and do not contain it.
fn distinct(found: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    found.iter().enumerate().filter_map(|(place, candidate)| {
        let contains = |known: &Candidate| {
            let mut pods = known.evicted.iter();
            pods.all(|pod| candidate.evicted.contains(pod))
        };
        let mut before = found[..place].iter();
        (!before.any(contains)).then_some(candidate)
    })
}
