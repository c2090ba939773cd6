//! Search for the cheapest set of pods, tier by tier: single pods, pairs, then larger sets greedily.

use std::cell::Cell;
use std::collections::BTreeSet;

use foldhash::HashMap;

use super::question::{RoomCost, RoomQuestion, RoomSearch, RoomSet, RoomTier};
use crate::allocator::cluster_state::ClusterState;
use crate::allocator::counters::{Holdings, Usage};
use crate::allocator::demand::{Choice, Demand, SearchStop, demands};
use crate::allocator::pending_claim::PendingClaim;
use crate::allocator::pool::{Completeness, Unknown};
use crate::allocator::pool::{NodeView, PoolStatus};
use crate::allocator::search::{SearchTask, place};
use crate::model::{ClaimSpec, DeviceId, ResourceClaim, Snapshot, Uid};

/// Allocations that are tried for single pods and pairs. Larger sets are built greedily, in one pass over each node.
const MOST_TRIALS: u64 = 20_000;
/// Search budget of one such trial, in steps, as in the allocator's own session.
const STEPS: u64 = 50_000;
/// Sets that may fail on other nodes before the search gives up: what fails for so many fails for the others, too.
const MOST_REJECTED: usize = 64;

/// Devices in use that could serve the claim, or that draw from the same counters as those; `None` where that is
/// unknown.
pub fn relevant_devices(question: &RoomQuestion<'_>) -> Option<BTreeSet<DeviceId>> {
    let state = question.waiting.state();
    let demands = demands(question.waiting.claim.spec.as_deref()?, &state).ok()?;
    let views = state.views.iter();
    let wanted: BTreeSet<u32> = views
        .flat_map(|view| relevant(view, &demands, &state))
        .collect();
    let claims = question.waiting.snapshot.claims.iter();
    let held = claims.flat_map(ResourceClaim::exclusive_results);
    let devices = held.map(|result| &result.device).filter(|id| {
        let identity = state.identity(id);
        identity.is_some_and(|identity| wanted.contains(&identity))
    });
    Some(devices.cloned().collect())
}

/// True if a request of the claim can be for one of `devices`; also where that is unknown.
pub fn can_use(claim: &PendingClaim<'_>, devices: &BTreeSet<DeviceId>) -> bool {
    let state = claim.state();
    let Some(Ok(demands)) = claim
        .claim
        .spec
        .as_deref()
        .map(|spec| demands(spec, &state))
    else {
        return true;
    };
    let wanted: BTreeSet<u32> = devices.iter().filter_map(|id| state.identity(id)).collect();
    let fits = |view: &NodeView<'_>, place: u32| {
        let mut choices = demands.iter().flat_map(|demand| &demand.choices);
        wanted.contains(&state.at(place).identity)
            && choices.any(|choice| choice.selects(place, view, &state) != Ok(false))
    };
    state.views.iter().any(|view| {
        let mut devices = view.pools.iter().flat_map(|pool| &pool.devices);
        devices.any(|place| fits(view, *place))
    })
}

/// Devices of a view that can serve the claim by their attributes, and those that draw from the same counters.
fn relevant(
    view: &NodeView<'_>,
    demands: &[Demand<'_>],
    state: &ClusterState<'_>,
) -> BTreeSet<u32> {
    let choices = || demands.iter().flat_map(|demand| &demand.choices);
    // An expression that fails may hold in Kubernetes: such a device counts, and the allocator reports the failure.
    let fits = |choice: &Choice<'_>, place: u32| choice.selects(place, view, state) != Ok(false);
    let mut relevant = BTreeSet::new();
    for pool in &view.pools {
        match pool.status {
            PoolStatus::Usable => {}
            PoolStatus::Incomplete | PoolStatus::Invalid => continue,
        }
        let devices = pool.devices.iter().copied();
        let fitting: Vec<u32> = devices
            .filter(|place| choices().any(|choice| fits(choice, *place)))
            .collect();
        let sets: BTreeSet<&str> = fitting
            .iter()
            .flat_map(|place| counter_sets(*place, state))
            .collect();
        let all = pool.devices.iter().chain(&pool.elsewhere).copied();
        let beside = all.filter(|place| counter_sets(*place, state).any(|set| sets.contains(set)));
        let identities = fitting.iter().copied().chain(beside);
        relevant.extend(identities.map(|place| state.at(place).identity));
    }
    relevant
}

/// Counter sets of its pool that a device draws from.
fn counter_sets<'s>(place: u32, state: &'s ClusterState<'_>) -> impl Iterator<Item = &'s str> {
    let terms = state.at(place).device.terms.iter();
    terms.flat_map(|terms| terms.consumes.iter().map(|used| &*used.set))
}

/// Searches for the cheapest set of pods, of tiers up to `most`, after whose eviction the claim can be placed. `cost`
/// takes the indices of a set of pods, in ascending order.
pub fn room(
    question: &RoomQuestion<'_>,
    most: RoomTier,
    cost: &dyn Fn(&[usize]) -> RoomCost,
) -> RoomSearch {
    let unknown = |why: Unknown| RoomSearch {
        best: None,
        unknown: [why].into(),
    };
    let state = question.waiting.state();
    let Some(spec) = question.waiting.claim.spec.as_deref() else {
        return unknown("the requests were not read".to_owned().into());
    };
    if state.completeness != Completeness::COMPLETE {
        return unknown(Unknown::unread(
            "the list of devices, claims, DeviceClasses, nodes or rules is incomplete",
        ));
    }
    let demands = match demands(spec, &state) {
        Ok(demands) => demands,
        Err(why) => return unknown(why),
    };
    let snapshot = question.waiting.snapshot;
    let releases = releases(question);
    let all = Holdings::of(&snapshot.claims, &state);
    let reserved = question.reserved.iter().filter_map(|id| state.identity(id));
    let mut search = Search {
        spec,
        demands: &demands,
        all: reserved.fold(all, Holdings::with_held),
        nodes: (0..state.views.len())
            .map(|view| NodeRoom::new(view, &releases, &demands, &state))
            .collect(),
        releases: &releases,
        state: &state,
        snapshot,
        cost,
        unknown: BTreeSet::new(),
        trials: MOST_TRIALS,
    };
    let best = search.cheapest(most);
    RoomSearch {
        best,
        unknown: search.unknown,
    }
}

/// A claim that gives back its devices once all these pods have left.
struct Release<'a> {
    /// Indices of its pods that may be evicted; pods that are terminating are left out.
    users: BTreeSet<usize>,
    claim: &'a ResourceClaim,
}

/// Claims that evictions, or pods that are terminating, release. A claim that is reserved for no pod stays: there is
/// no eviction that releases it.
fn releases<'a>(question: &RoomQuestion<'a>) -> Vec<Release<'a>> {
    let indices: HashMap<&Uid, usize> = question.evictable.iter().zip(0..).collect();
    let users = |claim: &ResourceClaim| -> Option<BTreeSet<usize>> {
        let mut users = BTreeSet::new();
        for consumer in &claim.reserved_for {
            let is_pod = consumer.api_group.is_empty() && &*consumer.resource == "pods";
            match indices.get(&consumer.uid).filter(|_| is_pod) {
                Some(index) => drop(users.insert(*index)),
                None if is_pod && question.leaving.contains(&consumer.uid) => {}
                None => return None,
            }
        }
        (!claim.reserved_for.is_empty()).then_some(users)
    };
    let claims = question.waiting.snapshot.claims.iter();
    let allocated = claims.filter(|claim| claim.allocation.is_some());
    let found = allocated.filter_map(|claim| {
        Some(Release {
            claim,
            users: users(claim)?,
        })
    });
    found.collect()
}

/// Pods whose eviction could release devices that matter on one node.
struct NodeRoom {
    /// Index of the node's view.
    view: usize,
    /// Indices of the pods, ascending.
    pods: Vec<usize>,
}

impl NodeRoom {
    fn new(
        view: usize,
        releases: &[Release<'_>],
        demands: &[Demand<'_>],
        state: &ClusterState<'_>,
    ) -> Self {
        let relevant = relevant(&state.views[view], demands, state);
        let matters = |release: &&Release<'_>| {
            let mut held = release.claim.exclusive_results();
            held.any(|result| {
                let identity = state.identity(&result.device);
                identity.is_some_and(|identity| relevant.contains(&identity))
            })
        };
        let users = releases.iter().filter(matters).flat_map(|it| &it.users);
        let pods: BTreeSet<usize> = users.copied().collect();
        Self {
            view,
            pods: pods.into_iter().collect(),
        }
    }
}

/// A set on a node after whose eviction the claim can be placed.
struct Candidate {
    cost: RoomCost,
    evicted: Vec<usize>,
    view: usize,
    chosen: BTreeSet<u32>,
}

struct Search<'s, 'a> {
    state: &'s ClusterState<'a>,
    spec: &'a ClaimSpec,
    demands: &'s [Demand<'a>],
    /// All that claims hold, and the devices that are reserved for other pods.
    all: Holdings<'a>,
    releases: &'s [Release<'a>],
    nodes: Vec<NodeRoom>,
    snapshot: &'a Snapshot,
    cost: &'s dyn Fn(&[usize]) -> RoomCost,
    unknown: BTreeSet<Unknown>,
    /// Allocations that may still be tried for single pods and pairs.
    trials: u64,
}

impl<'a> Search<'_, 'a> {
    fn cheapest(&mut self, most: RoomTier) -> Option<RoomSet> {
        let nodes = std::mem::take(&mut self.nodes);
        // Out of the question: a node on which the claim cannot be placed even if all these pods are evicted.
        let nodes: Vec<NodeRoom> = nodes
            .into_iter()
            .filter(|node| self.placed(node.view, &node.pods).is_some())
            .collect();
        for tier in RoomTier::ALL.into_iter().filter(|tier| *tier <= most) {
            for size in 0..=2 {
                let found = nodes
                    .iter()
                    .flat_map(|node| self.of_size(size, tier, node))
                    .collect();
                if let Some(best) = self.first_safe(found) {
                    return Some(best);
                }
            }
            let found = nodes.iter().filter_map(|node| self.greedily(tier, node));
            let found = found.collect();
            if let Some(best) = self.first_safe(found) {
                return Some(best);
            }
        }
        None
    }

    /// The pods of a node whose eviction alone respects the limit of the tier.
    fn allowed(&self, tier: RoomTier, node: &NodeRoom) -> Vec<usize> {
        let pods = node.pods.iter().copied();
        pods.filter(|pod| (self.cost)(&[*pod]).tier <= tier)
            .collect()
    }

    /// Sets of that size and tier on the node that make room, until the trials are used up.
    fn of_size(&mut self, size: usize, tier: RoomTier, node: &NodeRoom) -> Vec<Candidate> {
        let pods = self.allowed(tier, node);
        let sets: Vec<Vec<usize>> = match size {
            0 => vec![Vec::new()],
            1 => pods.iter().map(|pod| vec![*pod]).collect(),
            _ => pods
                .iter()
                .enumerate()
                .flat_map(|(index, first)| {
                    let others = pods[index.saturating_add(1)..].iter();
                    others.map(|second| vec![*first, *second])
                })
                .collect(),
        };
        let mut found = Vec::new();
        for set in sets {
            if (self.cost)(&set).tier > tier {
                continue;
            }
            let Some(left) = self.trials.checked_sub(1) else {
                break;
            };
            self.trials = left;
            found.extend(self.candidate(node.view, set));
        }
        found
    }

    /// A set on the node of which no pod can be left out; absent if no set makes room.
    fn greedily(&mut self, tier: RoomTier, node: &NodeRoom) -> Option<Candidate> {
        let mut pods = self.allowed(tier, node);
        pods.sort_by_key(|pod| (self.cost)(&[*pod]));
        let mut set: Vec<usize> = Vec::new();
        for pod in pods {
            let more = with(&set, pod);
            if (self.cost)(&more).tier <= tier {
                set = more;
            }
        }
        let mut found = self.candidate(node.view, set)?;
        let mut costliest = found.evicted.clone();
        costliest.sort_by_key(|pod| std::cmp::Reverse((self.cost)(&[*pod])));
        for pod in costliest {
            let fewer = found.evicted.iter().copied().filter(|it| *it != pod);
            let fewer = self.candidate(node.view, fewer.collect());
            found = fewer.unwrap_or(found);
        }
        Some(found)
    }

    fn candidate(&mut self, view: usize, evicted: Vec<usize>) -> Option<Candidate> {
        let chosen = self.placed(view, &evicted)?;
        Some(Candidate {
            cost: (self.cost)(&evicted),
            evicted,
            view,
            chosen,
        })
    }

    /// The devices with which the claim is placed on the node once these pods have left; `None` also where that is
    /// unknown, which is noted.
    fn placed(&mut self, view: usize, evicted: &[usize]) -> Option<BTreeSet<u32>> {
        match self.place_on(view, evicted) {
            Ok(Some(_)) if self.state.views[view].is_doubtful => {
                let why = "the nodes of some devices are unknown".to_owned();
                self.unknown.insert(why.into());
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

    /// The holdings of the claims that are released once these pods have left.
    fn released(&self, evicted: &[usize]) -> Holdings<'a> {
        let released = self.releases.iter().filter(|release| {
            let mut users = release.users.iter();
            users.all(|user| evicted.binary_search(user).is_ok())
        });
        Holdings::of(released.map(|release| release.claim), self.state)
    }

    fn place_on(
        &self,
        view: usize,
        evicted: &[usize],
    ) -> Result<Option<BTreeSet<u32>>, SearchStop> {
        let own = self.released(evicted);
        let steps = Cell::new(STEPS);
        place(SearchTask {
            state: self.state,
            view: &self.state.views[view],
            usage: Usage {
                all: &self.all,
                own: &own,
            },
            spec: self.spec,
            demands: self.demands,
            steps: &steps,
        })
    }

    /// The cheapest set after whose eviction the allocator fails on no node: the scheduler gives up the whole attempt
    /// where it does, whatever other nodes have.
    fn first_safe(&mut self, mut found: Vec<Candidate>) -> Option<RoomSet> {
        found.sort_by(|left, right| {
            let right = (right.cost, &right.evicted, right.view);
            (left.cost, &left.evicted, left.view).cmp(&right)
        });
        for candidate in found.iter().take(MOST_REJECTED) {
            match self.failure(candidate) {
                None => return Some(self.set(candidate)),
                Some(why) => drop(self.unknown.insert(why)),
            }
        }
        None
    }

    /// The error with which the scheduler gives up after these evictions, if it does.
    ///
    /// Upstream: `Filter` of the plugin `dynamicresources`, which returns the allocator's error for one node as that of
    /// the attempt.
    fn failure(&self, candidate: &Candidate) -> Option<Unknown> {
        let views = 0..self.state.views.len();
        let mut answers = views.map(|view| self.place_on(view, &candidate.evicted));
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
        let state = self.state;
        let pools = state.views[candidate.view].pools.iter();
        let devices = pools.flat_map(|pool| {
            let places = pool.devices.iter().chain(&pool.elsewhere);
            places.map(move |place| (pool.place, *place))
        });
        let devices: Vec<(u32, u32)> = devices.collect();
        let is_chosen = |place: u32| candidate.chosen.contains(&state.at(place).identity);
        let counters: BTreeSet<(u32, &str)> = devices
            .iter()
            .filter(|(_, place)| is_chosen(*place))
            .flat_map(|(pool, place)| counter_sets(*place, state).map(|set| (*pool, set)))
            .collect();
        let own = self.released(&candidate.evicted);
        let usage = Usage {
            all: &self.all,
            own: &own,
        };
        let beside = devices.iter().filter(|(pool, place)| {
            counter_sets(*place, state).any(|set| counters.contains(&(*pool, set)))
        });
        let beside = beside.map(|(_, place)| state.at(*place).identity);
        let free = beside.filter(|device| !usage.is_held(*device));
        let tainted = candidate.chosen.iter().copied().chain(free).collect();
        let devices = self.ids(&candidate.chosen);
        let mut local = self.snapshot.slices.iter().flat_map(|slice| {
            let known = slice
                .devices
                .iter()
                .filter(|device| devices.contains(&slice.id_of(device)));
            known.filter_map(|device| slice.node_of(device))
        });
        RoomSet {
            node: local.next().cloned(),
            evicted: candidate.evicted.clone(),
            tainted: self.ids(&tainted),
            cost: candidate.cost,
            devices,
        }
    }

    fn ids(&self, identities: &BTreeSet<u32>) -> BTreeSet<DeviceId> {
        let devices = self.state.devices.iter();
        let found = devices.filter(|at| identities.contains(&at.identity));
        found.map(|at| at.slice.id_of(at.device)).collect()
    }
}

/// The set with one more pod, ascending.
fn with(set: &[usize], pod: usize) -> Vec<usize> {
    let more: BTreeSet<usize> = set.iter().copied().chain([pod]).collect();
    more.into_iter().collect()
}
