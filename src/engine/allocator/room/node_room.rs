//! Devices of one node that pods would have to leave.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::occupancy::{DeviceUsers, Occupancy};
use crate::engine::allocator::cluster_state::ClusterState;
use crate::engine::allocator::demand::{Choice, Demand};
use crate::engine::allocator::pool::{NodeView, PoolStatus};
use crate::engine::allocator::usage::{Holdings, Usage};
use crate::model::DeviceAmount;

/// A device in use that matters to the claim.
#[derive(Clone, Debug)]
pub(super) struct OccupiedDevice {
    pub(super) identity: u32,
    /// The places of its users in [`NodeRoom::pods`]; all of them have to leave.
    users: Vec<usize>,
}

/// How many devices a request needs at least, and where they could come from.
#[derive(Clone, Debug)]
struct RequestBound {
    needed: usize,
    /// Those that are free already.
    free: usize,
    /// By its place, whether an occupied device fits.
    fits: Vec<bool>,
}

/// What evictions could give the claim on one node.
#[derive(Clone, Debug)]
pub(super) struct NodeRoom {
    /// The node, by the place of its view.
    pub(super) view: usize,
    /// The pods whose eviction would empty a device that matters, by their places in the question, in ascending order.
    pub(super) pods: Vec<usize>,
    devices: Vec<OccupiedDevice>,
    bounds: Vec<RequestBound>,
}

/// Devices of a view that can serve the claim by what they are, and those that draw from the same counters.
pub(super) fn relevant(
    view: &NodeView<'_>,
    demands: &[Demand<'_>],
    state: &ClusterState<'_>,
) -> BTreeSet<u32> {
    let choices = || demands.iter().flat_map(|demand| &demand.choices);
    // An expression that fails may hold in Kubernetes: such a device is looked at, and the search says what is wrong.
    let fits = |choice: &Choice<'_>, place: u32| choice.selects(place, view, state) != Ok(false);
    let mut relevant = BTreeSet::new();
    for pool in view.pools.iter().filter(|pool| is_usable(pool.status)) {
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

fn is_usable(status: PoolStatus) -> bool {
    match status {
        PoolStatus::Usable => true,
        PoolStatus::Incomplete | PoolStatus::Invalid => false,
    }
}

/// The counter sets of its pool that a device draws from.
pub(super) fn counter_sets<'s>(
    place: u32,
    state: &'s ClusterState<'_>,
) -> impl Iterator<Item = &'s str> {
    let terms = state.at(place).device.terms.iter();
    terms.flat_map(|terms| terms.consumes.iter().map(|used| &*used.set))
}

impl NodeRoom {
    pub(super) fn new(
        view: usize,
        demands: &[Demand<'_>],
        occupancy: &Occupancy<'_>,
        state: &ClusterState<'_>,
        left: &Holdings<'_>,
    ) -> Self {
        let seen = &state.views[view];
        let mut pods = BTreeSet::new();
        let mut occupied = Vec::new();
        for identity in relevant(seen, demands, state) {
            match occupancy.users(identity) {
                Some(DeviceUsers::Evictable(users)) if !users.is_empty() => {
                    pods.extend(users);
                    occupied.push((identity, users));
                }
                // Free, left by pods that are terminating, or of somebody who stays.
                Some(DeviceUsers::Evictable(_) | DeviceUsers::Staying) | None => {}
            }
        }
        let pods: Vec<usize> = pods.into_iter().collect();
        let places: HashMap<usize, usize> = pods.iter().copied().zip(0..).collect();
        let devices: Vec<OccupiedDevice> = occupied
            .into_iter()
            .map(|(identity, users)| OccupiedDevice {
                identity,
                users: users
                    .iter()
                    .filter_map(|user| places.get(user).copied())
                    .collect(),
            })
            .collect();
        let usage = Usage {
            all: &occupancy.all,
            own: left,
        };
        let bounds = demands
            .iter()
            .filter_map(|demand| bound(demand, &devices, usage, seen, state))
            .collect();
        Self {
            view,
            pods,
            devices,
            bounds,
        }
    }

    /// The devices that are empty once these of the pods have left, which are named by their places here; `None` where the
    /// eviction of one of them empties nothing that matters, or where too few devices would be free.
    pub(super) fn emptied(&self, evicted: &[usize]) -> Option<Vec<u32>> {
        let leaves = |device: &OccupiedDevice| {
            let mut users = device.users.iter();
            users.all(|user| evicted.binary_search(user).is_ok())
        };
        let is_emptied: Vec<bool> = self.devices.iter().map(leaves).collect();
        for bound in &self.bounds {
            let more = bound
                .fits
                .iter()
                .zip(&is_emptied)
                .filter(|(fits, emptied)| **fits && **emptied)
                .count();
            if bound.free.saturating_add(more) < bound.needed {
                return None;
            }
        }
        let emptied = || {
            let devices = self.devices.iter().zip(&is_emptied);
            devices.filter_map(|(device, emptied)| emptied.then_some(device))
        };
        let matters = |pod: &usize| emptied().any(|device| device.users.contains(pod));
        let is_minimal = evicted.iter().all(matters);
        is_minimal.then(|| emptied().map(|device| device.identity).collect())
    }

    /// Those of the pods, which are named by their places here, whose eviction together with the others empties a device.
    pub(super) fn useful(&self, evicted: &[usize]) -> Vec<usize> {
        let leaves = |device: &&OccupiedDevice| {
            let mut users = device.users.iter();
            users.all(|user| evicted.binary_search(user).is_ok())
        };
        let emptied: Vec<&OccupiedDevice> = self.devices.iter().filter(leaves).collect();
        let matters = |pod: &&usize| emptied.iter().any(|device| device.users.contains(pod));
        evicted.iter().filter(matters).copied().collect()
    }

    /// The devices among `emptied` that a pod uses, by its place in the question.
    pub(super) fn used_by(&self, pod: usize, emptied: &[u32]) -> Vec<u32> {
        let Ok(place) = self.pods.binary_search(&pod) else {
            return Vec::new();
        };
        let devices = self.devices.iter();
        let used = devices.filter(|device| device.users.contains(&place));
        used.map(|device| device.identity)
            .filter(|identity| emptied.contains(identity))
            .collect()
    }
}

/// How many devices a request needs at least; absent where that is not a number, or not known.
//
// A necessary condition alone: what passes it is still searched. Without it every set on a full node would be.
fn bound(
    demand: &Demand<'_>,
    devices: &[OccupiedDevice],
    usage: Usage<'_, '_>,
    view: &NodeView<'_>,
    state: &ClusterState<'_>,
) -> Option<RequestBound> {
    let needed = demand
        .choices
        .iter()
        .map(|choice| needed(choice))
        .collect::<Option<Vec<usize>>>()?
        .into_iter()
        .min()?;
    let mut fitting = BTreeSet::new();
    for pool in view.pools.iter().filter(|pool| is_usable(pool.status)) {
        for place in &pool.devices {
            let mut choices = demand.choices.iter();
            let can_be = |choice: &Choice<'_>| {
                choice.selects(*place, view, state) != Ok(false)
                    && !state.is_blocked(*place, &choice.terms.tolerations)
            };
            if choices.any(can_be) {
                fitting.insert(state.at(*place).identity);
            }
        }
    }
    let is_held = |identity: u32| usage.is_held(identity);
    let free = fitting.iter().filter(|identity| !is_held(**identity));
    Some(RequestBound {
        needed,
        // A shared device that is in use counts here, since more of it may be left, and so not once more below.
        free: free.count(),
        fits: devices
            .iter()
            .map(|it| fitting.contains(&it.identity) && is_held(it.identity))
            .collect(),
    })
}

fn needed(choice: &Choice<'_>) -> Option<usize> {
    match &choice.terms.amount {
        // Whoever has admin access needs no free device.
        DeviceAmount::Exactly(_) if choice.terms.admin_access => Some(0),
        DeviceAmount::Exactly(count) => usize::try_from(*count).ok(),
        DeviceAmount::All | DeviceAmount::Unknown(_) => None,
    }
}
