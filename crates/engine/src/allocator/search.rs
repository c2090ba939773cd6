//! Backtracking search for an allocation of one claim on one node.

use std::cell::Cell;
use std::collections::BTreeSet;

use foldhash::HashMap;

use super::candidate_devices::{Constraint, ConstraintRequest};
use super::capacity::{ConsumedCapacity, is_left, taken};
use super::cluster_state::ClusterState;
use super::counters::AvailableCounters;
use super::counters::Usage;
use super::demand::{Choice, Demand, MOST_DEVICES, NeededDevices, SearchStop};
use super::pool::Unknown;
use super::pool::{NodeView, Pool, PoolStatus};
use crate::model::{ClaimSpec, Device};

/// Task of a search: a claim without its devices, on a node.
#[derive(Clone, Copy)]
pub(super) struct SearchTask<'s, 'a> {
    pub(super) state: &'s ClusterState<'a>,
    pub(super) view: &'s NodeView<'a>,
    /// Devices that other claims hold.
    pub(super) usage: Usage<'s, 'a>,
    pub(super) spec: &'a ClaimSpec,
    pub(super) demands: &'s [Demand<'a>],
    /// Number of steps that are left; every search takes some.
    pub(super) steps: &'s Cell<u64>,
}

/// The devices that were chosen so far.
struct Search<'s, 'a> {
    task: SearchTask<'s, 'a>,
    /// Devices that each choice of each request needs.
    needed: Vec<Vec<NeededDevices>>,
    chosen: BTreeSet<u32>,
    shared: HashMap<u32, Vec<ConsumedCapacity<'a>>>,
    constraints: Vec<Constraint<'a>>,
    remaining: AvailableCounters<'a>,
    results: usize,
}

/// Where a search for the devices of a choice is.
#[derive(Clone, Copy)]
struct SearchPosition {
    request: usize,
    choice: usize,
    /// Number of devices of the choice that are chosen.
    done: usize,
    /// Where to go on: the place of a pool in the view, and of a device in the pool.
    pool: usize,
    device: usize,
}

/// A device that was chosen, to be given back.
struct ChosenDevice<'s, 'a> {
    pool: &'s Pool<'a>,
    device: &'a Device,
    identity: u32,
    is_shared: bool,
    has_counters: bool,
}

/// True if the claim can be placed on the node.
///
/// Upstream: `Allocator.Allocate` for one claim.
pub(super) fn is_placeable(task: SearchTask<'_, '_>) -> Result<bool, SearchStop> {
    place(task).map(|devices| devices.is_some())
}

/// The devices with which the claim can be placed on the node, by their identities; `None` where it cannot. Of
/// several ways, the one that the allocator finds first.
///
/// Upstream: `Allocator.Allocate` for one claim.
pub(super) fn place(task: SearchTask<'_, '_>) -> Result<Option<BTreeSet<u32>>, SearchStop> {
    if task.state.semantics.allocates_as_1_38 && task.usage.has_negative() {
        let why = "a claim has consumed a negative amount of capacity".to_owned();
        return Err(SearchStop::Unknown(Unknown::failure(why)));
    }
    let mut needed = Vec::with_capacity(task.demands.len());
    let mut least = 0_usize;
    for demand in task.demands {
        let choices: Vec<NeededDevices> = demand
            .choices
            .iter()
            .map(|choice| choice.needed(task.view, task.state))
            .collect::<Result<_, _>>()?;
        let fewest = choices.iter().map(NeededDevices::count).min();
        least = least.saturating_add(fewest.unwrap_or_default());
        needed.push(choices);
    }
    // Upstream fails the claim before it searches.
    if least > MOST_DEVICES {
        return Err(SearchStop::No);
    }
    let constraints = task.spec.constraints.iter();
    let constraints = constraints
        .map(|constraint| Constraint::new(constraint, &task.state.semantics))
        .collect();
    let mut search = Search {
        task,
        needed,
        chosen: BTreeSet::new(),
        shared: HashMap::default(),
        constraints,
        remaining: AvailableCounters::default(),
        results: 0,
    };
    match search.request(0) {
        // The chosen devices are given back after any other answer.
        Ok(true) => Ok(Some(
            search
                .chosen
                .into_iter()
                .chain(search.shared.into_keys())
                .collect(),
        )),
        // Here no alternative is left to try, so that it is a plain "no".
        Ok(false) | Err(SearchStop::TooMany) => Ok(None),
        Err(stop) => Err(stop),
    }
}

impl<'s, 'a> Search<'s, 'a> {
    /// Serves the request at that place, and all that come after it.
    ///
    /// Upstream: `allocateOne`, as far as it goes from request to request.
    fn request(&mut self, request: usize) -> Result<bool, SearchStop> {
        let Some(demand) = self.task.demands.get(request) else {
            return Ok(true);
        };
        let start = |choice| SearchPosition {
            request,
            choice,
            done: 0,
            pool: 0,
            device: 0,
        };
        let [choice] = demand.choices.as_slice() else {
            return self.first_available(demand.choices.len(), start);
        };
        // A list with one alternative is a list: too many devices mean "not this one", and not the end of the
        // search.
        if choice.alternative.is_some() {
            return self.first_available(1, start);
        }
        self.choose(start(0))
    }

    fn first_available(
        &mut self,
        choices: usize,
        start: impl Fn(usize) -> SearchPosition,
    ) -> Result<bool, SearchStop> {
        // Alternatives are tried in their order, and the first that fits is taken, as upstream does.
        let mut are_too_many = true;
        for choice in 0..choices {
            match self.choose(start(choice)) {
                Err(SearchStop::TooMany) => {}
                Ok(false) => are_too_many = false,
                answer => return answer,
            }
        }
        if are_too_many {
            return Err(SearchStop::TooMany);
        }
        Ok(false)
    }

    /// Chooses the next device, and all that come after it.
    fn choose(&mut self, at: SearchPosition) -> Result<bool, SearchStop> {
        let task = self.task;
        let needed = &self.needed[at.request][at.choice];
        let (count, required) = match needed {
            NeededDevices::Some(count) => (*count, None),
            // The API promises at least one device to a request for all of them.
            NeededDevices::All(devices) if devices.is_empty() => return Ok(false),
            NeededDevices::All(devices) => (devices.len(), devices.get(at.done).copied()),
        };
        if at.done >= count {
            return self.request(at.request.saturating_add(1));
        }
        // Upstream: `errAllocationResultMaxSizeExceeded`. Requests before may have taken an alternative that needs
        // many devices, so that this ends the attempt and not the claim.
        if self.results.saturating_add(count.saturating_sub(at.done)) > MOST_DEVICES {
            return Err(SearchStop::TooMany);
        }
        if let Some((number, place)) = required {
            return self.with(at, number, place, Obligation::Must);
        }
        // The devices of one choice stand for one another, so that they are taken in ascending order: each
        // combination is tried once and not in every order, with the same verdict.
        for number in at.pool..task.view.pools.len() {
            let pool = &task.view.pools[number];
            if pool.status != PoolStatus::Usable {
                continue;
            }
            let first = if number == at.pool { at.device } else { 0 };
            for (device, place) in pool.devices.iter().enumerate().skip(first) {
                self.step()?;
                if !self.is_candidate(at, *place)? {
                    continue;
                }
                let next = SearchPosition {
                    pool: number,
                    device: device.saturating_add(1),
                    ..at
                };
                if self.with(next, number, *place, Obligation::May)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Chooses the device in that pool and at that place, if it can be chosen, and goes on at `at`.
    fn with(
        &mut self,
        at: SearchPosition,
        pool: usize,
        place: u32,
        force: Obligation,
    ) -> Result<bool, SearchStop> {
        self.step()?;
        let Some(chosen) = self.take(at, pool, place, force)? else {
            return Ok(false);
        };
        // Depth first: the device stays if all that comes after it can be served, and is given back otherwise.
        let answer = self.choose(SearchPosition {
            done: at.done.saturating_add(1),
            ..at
        });
        // Also after an error: `TooMany` lets the next alternative be tried, which must find everything given back.
        if answer != Ok(true) {
            self.give_back(at, &chosen);
        }
        answer
    }

    fn step(&self) -> Result<(), SearchStop> {
        // A step is a device looked at or taken, which bounds the time without a clock.
        let left = self.task.steps.get();
        if left == 0 {
            return Err("there are too many possible allocations".to_owned().into());
        }
        self.task.steps.set(left.saturating_sub(1));
        Ok(())
    }

    /// True if the device is free, fits, and has so much left.
    fn is_candidate(&self, at: SearchPosition, place: u32) -> Result<bool, SearchStop> {
        let SearchTask {
            state, view, usage, ..
        } = self.task;
        let choice = self.choice(at);
        let identity = state.at(place).identity;
        let is_taken = self.chosen.contains(&identity);
        if is_taken || (!choice.terms.admin_access && usage.is_held(identity)) {
            return Ok(false);
        }
        Ok(choice.selects(place, view, state)? && self.portion(at, place)?.is_some())
    }

    fn choice(&self, at: SearchPosition) -> &'s Choice<'a> {
        &self.task.demands[at.request].choices[at.choice]
    }

    fn for_request(&self, at: SearchPosition) -> ConstraintRequest<'a> {
        ConstraintRequest {
            request: self.task.demands[at.request].request,
            alternative: self.choice(at).alternative,
        }
    }

    /// Capacities of the device that the choice takes, unless less is left.
    fn portion(
        &self,
        at: SearchPosition,
        place: u32,
    ) -> Result<Option<ConsumedCapacity<'a>>, SearchStop> {
        let SearchTask { state, usage, .. } = self.task;
        let found = state.at(place);
        let names = state.capacity_names(place);
        let Some(taken) = taken(&self.choice(at).terms.capacity, found.device, names)? else {
            return Ok(None);
        };
        let used = |name: &str| {
            let chosen = self.shared.get(&found.identity).into_iter().flatten();
            let mut used = usage.consumed(found.identity, name)?;
            for taken in chosen {
                used = used.checked_add(taken.get(name).map_or(0, |it| it.portion))?;
            }
            Some(used)
        };
        let is_left = is_left(&taken, used)?;
        Ok(is_left.then_some(taken))
    }

    /// Upstream: `allocateDevice`.
    fn take(
        &mut self,
        at: SearchPosition,
        pool: usize,
        place: u32,
        force: Obligation,
    ) -> Result<Option<ChosenDevice<'s, 'a>>, SearchStop> {
        let SearchTask {
            state, view, usage, ..
        } = self.task;
        let terms = self.choice(at).terms;
        let found = state.at(place);
        let mut chosen = ChosenDevice {
            pool: &view.pools[pool],
            device: found.device,
            identity: found.identity,
            is_shared: found.device.allow_multiple_allocations,
            has_counters: false,
        };
        // Asked again, since the devices of a request for all come here without having been candidates.
        let is_taken = self.chosen.contains(&chosen.identity);
        let is_held =
            !terms.admin_access && usage.is_unavailable(chosen.identity, found.device, state);
        // Taints count here and not among the candidates: with `allocationMode: All` every matching device has to
        // be taken, so that a tainted one fails the request where it would otherwise be skipped.
        if is_held || is_taken || state.is_blocked(place, &terms.tolerations) {
            return Ok(None);
        }
        // A further share of a device in use pays no counters again.
        let is_paid = chosen.is_shared
            && (usage.is_shared(chosen.identity) || self.shared.contains_key(&chosen.identity));
        let consumes = found
            .device
            .terms
            .as_ref()
            .is_some_and(|terms| !terms.consumes.is_empty());
        if consumes && !is_paid {
            if !self
                .remaining
                .take(chosen.pool, chosen.device, usage, state)?
            {
                return Ok(None);
            }
            chosen.has_counters = true;
        }
        let satisfies = self.satisfies(at, &chosen, found.slice.driver.as_str());
        if satisfies != Ok(true) {
            if chosen.has_counters {
                self.remaining.give_back(chosen.pool, chosen.device);
            }
            satisfies?;
            return match force {
                Obligation::May => Ok(None),
                // Upstream takes a constraint that keeps a claim from getting all devices for an error of the
                // claim.
                Obligation::Must => Err(SearchStop::Conflict),
            };
        }
        // Constraints come first: they end the search where all devices of a node are asked for.
        let Some(portion) = self.portion(at, place)? else {
            let request = self.for_request(at);
            for constraint in &mut self.constraints {
                constraint.remove(request);
            }
            if chosen.has_counters {
                self.remaining.give_back(chosen.pool, chosen.device);
            }
            return Ok(None);
        };
        // A shared device may serve further requests of the claim, as long as its capacity lasts.
        if chosen.is_shared {
            self.shared
                .entry(chosen.identity)
                .or_default()
                .push(portion);
        } else {
            self.chosen.insert(chosen.identity);
        }
        self.results = self.results.saturating_add(1);
        Ok(Some(chosen))
    }

    /// Adds the device to the constraints, unless one of them is against it.
    fn satisfies(
        &mut self,
        at: SearchPosition,
        chosen: &ChosenDevice<'_, 'a>,
        driver: &str,
    ) -> Result<bool, Unknown> {
        let request = self.for_request(at);
        for number in 0..self.constraints.len() {
            let added = self.constraints[number].add(request, driver, chosen.device);
            if added != Ok(true) {
                for added in &mut self.constraints[..number] {
                    added.remove(request);
                }
                return added;
            }
        }
        Ok(true)
    }

    /// Upstream: `rollbackDevice`.
    fn give_back(&mut self, at: SearchPosition, chosen: &ChosenDevice<'_, 'a>) {
        let request = self.for_request(at);
        self.results = self.results.saturating_sub(1);
        if !chosen.is_shared {
            self.chosen.remove(&chosen.identity);
        } else if let Some(shares) = self.shared.get_mut(&chosen.identity) {
            shares.pop();
            if shares.is_empty() {
                self.shared.remove(&chosen.identity);
            }
        }
        for constraint in &mut self.constraints {
            constraint.remove(request);
        }
        if chosen.has_counters {
            self.remaining.give_back(chosen.pool, chosen.device);
        }
    }
}

/// Obligation to choose a device.
#[derive(Clone, Copy)]
enum Obligation {
    May,
    Must,
}
