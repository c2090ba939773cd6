//! Devices that could serve a request.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::capacity::{is_left, taken, takes_all};
use super::cluster_state::ClusterState;
use super::completeness::Range;
use super::counters::AvailableCounters;
use super::demand::Choice;
use super::pool::{NodeView, Pool, PoolStatus, is_for};
use super::usage::Usage;
use crate::model::SliceNodes;

/// Suitability of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Candidacy {
    No,
    /// Unknown.
    Perhaps,
    Yes,
}

/// Places of devices, each with whether it is looked for.
pub(super) type CandidatePlaces = Vec<(u32, Candidacy)>;

/// The pools that some node can reach, each with its devices that fit a choice, in use or not.
#[derive(Debug)]
pub(super) struct FittingDevices<'a> {
    pub(super) pools: Vec<(Rc<Pool<'a>>, CandidatePlaces)>,
}

/// Every pool of which some node can use devices, once.
pub(super) fn pools_in_reach<'a>(state: &ClusterState<'a>) -> Vec<Rc<Pool<'a>>> {
    let mut pools: BTreeMap<u32, Rc<Pool<'a>>> = BTreeMap::new();
    for pool in state.views.iter().flat_map(|view| &view.pools) {
        // The allocator skips the others for counted requests, and fails a request for all devices over them.
        if pool.status == PoolStatus::Usable {
            pools.entry(pool.place).or_insert_with(|| Rc::clone(pool));
        }
    }
    pools.into_values().collect()
}

impl<'a> FittingDevices<'a> {
    /// The devices of `pools` that fit the choice and that no taint keeps from it.
    pub(super) fn new(
        choice: &Choice<'_>,
        pools: &[Rc<Pool<'a>>],
        state: &ClusterState<'a>,
    ) -> Self {
        let pools = pools.iter().map(|pool| {
            let places = pool.devices.iter().copied();
            let answers = places.map(|place| (place, fits(choice, place, state)));
            let found = answers.filter(|(_, answer)| *answer != Candidacy::No);
            (Rc::clone(pool), found.collect())
        });
        let pools = pools.filter(|(_, devices): &(_, CandidatePlaces)| !devices.is_empty());
        Self {
            pools: pools.collect(),
        }
    }

    /// Those of these pools, by their places.
    pub(super) fn within(&self, places: &BTreeSet<u32>) -> Self {
        let pools = self.pools.iter();
        let wanted = pools.filter(|(pool, _)| places.contains(&pool.place));
        Self {
            pools: wanted.cloned().collect(),
        }
    }

    /// Those that a node of these views can use.
    pub(super) fn seen_from(&self, views: &[&NodeView<'a>], state: &ClusterState<'a>) -> Self {
        let pools = views.iter().flat_map(|view| &view.pools);
        let mut found = self.within(&pools.map(|pool| pool.place).collect());
        for (_, devices) in &mut found.pools {
            devices.retain(|(place, _)| {
                let at = state.at(*place);
                let is_for = |view: &&NodeView<'a>| is_for(at.device, view.node) != Some(false);
                at.slice.nodes != SliceNodes::PerDevice || views.iter().any(is_for)
            });
        }
        found
    }

    /// Number of free devices, pool by pool; a device counts once, seen from wherever.
    pub(super) fn free(
        &self,
        choice: &Choice<'_>,
        usage: Usage<'_, '_>,
        state: &ClusterState<'_>,
    ) -> FreeDevices {
        let mut free = FreeDevices::default();
        let mut seen = HashSet::default();
        for (pool, devices) in &self.pools {
            let mut range = Range::exactly(0);
            for (place, answer) in devices {
                let is_free = is_free(choice, pool, *place, usage, state);
                if is_free == Candidacy::No || !seen.insert(state.at(*place).identity) {
                    continue;
                }
                range = range.plus(match (*answer).min(is_free) {
                    Candidacy::Yes => Range::exactly(1),
                    Candidacy::Perhaps | Candidacy::No => Range::up_to(1),
                });
            }
            free.by_pool.insert(pool.place, range);
        }
        free
    }
}

/// Number of free devices in each pool, by its place.
#[derive(Debug, Default)]
pub(super) struct FreeDevices {
    by_pool: HashMap<u32, Range>,
}

impl FreeDevices {
    /// All of them.
    pub(super) fn total(&self) -> Range {
        self.by_pool.values().copied().sum()
    }

    /// All of them, with the pools that `recounted` has counted otherwise.
    pub(super) fn total_with(&self, recounted: &Self) -> Range {
        let kept: Range = self
            .by_pool
            .iter()
            .filter(|(place, _)| !recounted.by_pool.contains_key(place))
            .map(|(_, range)| *range)
            .sum();
        kept.plus(recounted.total())
    }
}

/// Tells if a device fits the choice, for some node, in use or not.
fn fits(choice: &Choice<'_>, place: u32, state: &ClusterState<'_>) -> Candidacy {
    if state.is_blocked(place, &choice.terms.tolerations) {
        return Candidacy::No;
    }
    let reached = reached(place, state);
    match choice.fits(place, state) {
        Ok(true) => reached,
        Ok(false) => Candidacy::No,
        // Not every failure is one of Kubernetes: what this program cannot evaluate may choose the device there.
        Err(_) => reached.min(Candidacy::Perhaps),
    }
}

/// Tells if some node can use the device, which is in a pool in reach.
pub(super) fn reached(place: u32, state: &ClusterState<'_>) -> Candidacy {
    let at = state.at(place);
    match at.slice.nodes {
        SliceNodes::One(_) | SliceNodes::Selected(_) | SliceNodes::Several => Candidacy::Yes,
        SliceNodes::PerDevice => {
            let answers = state
                .views
                .iter()
                .map(|view| match is_for(at.device, view.node) {
                    Some(true) => Candidacy::Yes,
                    Some(false) => Candidacy::No,
                    None => Candidacy::Perhaps,
                });
            answers.max().unwrap_or(Candidacy::No)
        }
    }
}

/// Tells if no claim has the device, or enough of it is left.
pub(super) fn is_free(
    choice: &Choice<'_>,
    pool: &Pool<'_>,
    place: u32,
    usage: Usage<'_, '_>,
    state: &ClusterState<'_>,
) -> Candidacy {
    let at = state.at(place);
    if !choice.terms.admin_access && usage.is_unavailable(at.identity, at.device, state) {
        return Candidacy::No;
    }
    // Shares can be left of a device that is no longer shareable.
    let is_whole = !usage.is_shared(at.identity);
    let left = if is_whole && takes_all(&choice.terms.capacity, at.device) {
        Ok(true)
    } else {
        let names = state.capacity_names(place);
        taken(&choice.terms.capacity, at.device, names).and_then(|taken| {
            taken.map_or(Ok(false), |taken| {
                is_left(&taken, |name| usage.consumed(at.identity, name))
            })
        })
    };
    match left {
        Ok(true) => {}
        Ok(false) => return Candidacy::No,
        Err(_) => return Candidacy::Perhaps,
    }
    let consumes = at
        .device
        .terms
        .as_ref()
        .is_some_and(|terms| !terms.consumes.is_empty());
    let is_paid = at.device.allow_multiple_allocations && usage.is_shared(at.identity);
    if !consumes || is_paid {
        return Candidacy::Yes;
    }
    // For this device alone, as if the claim had chosen nothing else: the count is a bound from above.
    match AvailableCounters::default().take(pool, at.device, usage, state) {
        Ok(true) => Candidacy::Yes,
        Ok(false) => Candidacy::No,
        Err(_) => Candidacy::Perhaps,
    }
}
