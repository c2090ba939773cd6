//! Who uses each device, and what is free once some pods have left.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::question::RoomQuestion;
use crate::engine::allocator::cluster_state::ClusterState;
use crate::engine::allocator::usage::Holdings;
use crate::model::{AllocationResult, ConsumerReference, Uid};

/// Who uses a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceUsers {
    /// These pods that may be evicted, by their places in the question, beside such as are leaving.
    Evictable(BTreeSet<usize>),
    /// Somebody who is not evicted.
    Staying,
}

/// Who uses each device that is in use.
pub(super) struct Occupancy<'a> {
    users: HashMap<u32, DeviceUsers>,
    results: HashMap<u32, Vec<&'a AllocationResult>>,
    /// What everybody holds, and what is kept for others.
    pub(super) all: Holdings<'a>,
}

impl<'a> Occupancy<'a> {
    pub(super) fn new(question: &RoomQuestion<'a>, state: &ClusterState<'a>) -> Self {
        let places: HashMap<&Uid, usize> = question.evictable.iter().zip(0..).collect();
        let snapshot = question.waiting.snapshot;
        let mut users: HashMap<u32, DeviceUsers> = HashMap::default();
        let mut results: HashMap<u32, Vec<&'a AllocationResult>> = HashMap::default();
        for claim in &snapshot.claims {
            let consumers = consumers(&claim.reserved_for, &places, question.leaving);
            for result in claim.allocation.iter().flat_map(|found| &found.results) {
                let Some(device) = state.identity(&result.device) else {
                    continue;
                };
                results.entry(device).or_default().push(result);
                let known = users
                    .entry(device)
                    .or_insert_with(|| DeviceUsers::Evictable(BTreeSet::new()));
                let merged = match (&mut *known, &consumers) {
                    (DeviceUsers::Evictable(known), DeviceUsers::Evictable(more)) => {
                        known.extend(more);
                        continue;
                    }
                    (DeviceUsers::Staying, _) | (_, DeviceUsers::Staying) => DeviceUsers::Staying,
                };
                *known = merged;
            }
        }
        let all = Holdings::of(&snapshot.claims, state);
        // What is kept for another pod can be had by nobody else, free or not.
        let reserved = question.reserved.iter().filter_map(|id| state.identity(id));
        let all = reserved.fold(all, Holdings::with_held);
        Self {
            users,
            results,
            all,
        }
    }

    /// Who uses the device; absent where nobody does.
    pub(super) fn users(&self, device: u32) -> Option<&DeviceUsers> {
        self.users.get(&device)
    }

    /// What is given back once these devices are empty.
    pub(super) fn given_back(
        &self,
        devices: impl Iterator<Item = u32>,
        state: &ClusterState<'a>,
    ) -> Holdings<'a> {
        let results = devices.filter_map(|device| self.results.get(&device));
        Holdings::of_results(results.flatten().copied(), state)
    }

    /// The devices that are empty once these pods have left, by their places in the question.
    pub(super) fn emptied_by(&self, evicted: &[usize]) -> Vec<u32> {
        let users = self.users.iter();
        let emptied = users.filter(|(_, users)| match users {
            DeviceUsers::Evictable(users) => users.iter().all(|user| evicted.contains(user)),
            DeviceUsers::Staying => false,
        });
        emptied.map(|(device, _)| *device).collect()
    }

    /// The devices that are empty once all that are leaving have left.
    pub(super) fn leaving(&self) -> Vec<u32> {
        let users = self.users.iter();
        let leaving = users.filter(|(_, users)| match users {
            DeviceUsers::Evictable(users) => users.is_empty(),
            DeviceUsers::Staying => false,
        });
        leaving.map(|(device, _)| *device).collect()
    }
}

/// The consumers of a claim. One that is reserved for nobody stays: there is no pod whose eviction frees its devices.
fn consumers(
    reserved: &[ConsumerReference],
    places: &HashMap<&Uid, usize>,
    leaving: &BTreeSet<Uid>,
) -> DeviceUsers {
    let mut users = BTreeSet::new();
    for consumer in reserved {
        let is_pod = consumer.api_group.is_empty() && &*consumer.resource == "pods";
        match places.get(&consumer.uid).filter(|_| is_pod) {
            Some(place) => {
                users.insert(*place);
            }
            None if is_pod && leaving.contains(&consumer.uid) => {}
            None => return DeviceUsers::Staying,
        }
    }
    if reserved.is_empty() {
        DeviceUsers::Staying
    } else {
        DeviceUsers::Evictable(users)
    }
}
