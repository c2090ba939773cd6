//! Shared counters that partitions of a device consume.

use super::capacity::{Amount, amount};
use super::capacity::{CapacityError, CapacityNames};
use super::cluster_state::ClusterState;
use super::pool::{Counters, Pool};
use crate::model::{AllocationResult, Device, ResourceClaim};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counters of each pool that the devices in use and those chosen so far leave.
#[derive(Clone, Debug, Default)]
pub(super) struct AvailableCounters<'a> {
    by_pool: HashMap<u32, Counters<'a>>,
}

impl<'a> AvailableCounters<'a> {
    /// Takes what the device consumes, unless that is more than is left.
    ///
    /// While a counter of the pool is overdrawn, no device of the pool that consumes counters is taken.
    ///
    /// Upstream: `checkAvailableCounters`.
    pub(super) fn take(
        &mut self,
        pool: &Pool<'a>,
        device: &Device,
        usage: Usage<'_, '_>,
        state: &ClusterState<'_>,
    ) -> Result<bool, CapacityError> {
        let left = self
            .by_pool
            .entry(pool.place)
            .or_insert_with(|| left(pool, usage, state));
        change(left, device, |left, taken| left.checked_sub(taken))?;
        // All counters of the pool, as upstream: also those that this device does not consume.
        for counter in left.values().flat_map(BTreeMap::values) {
            if counter.ok_or(CapacityError::Unreadable)? < 0 {
                change(left, device, |left, taken| left.checked_add(taken))?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives back what the device consumes.
    pub(super) fn give_back(&mut self, pool: &Pool<'a>, device: &Device) {
        if let Some(left) = self.by_pool.get_mut(&pool.place) {
            // A taken amount can be given back.
            let _ = change(left, device, |left, taken| left.checked_add(taken));
        }
    }
}

/// Counters of the pool that the devices in use leave, also those on other nodes.
fn left<'a>(pool: &Pool<'a>, usage: Usage<'_, '_>, state: &ClusterState<'_>) -> Counters<'a> {
    let mut left = pool.counters.clone();
    // A pool may span nodes, and its counters are those of the pool.
    for place in pool.devices.iter().chain(&pool.elsewhere) {
        let at = state.at(*place);
        // However many shares of a device are in use, it has consumed its counters once.
        if usage.is_held(at.identity) || usage.is_shared(at.identity) {
            let known = change(&mut left, at.device, |left, taken| left.checked_sub(taken));
            if known.is_err() {
                // One unreadable amount makes all of them unknown: it may have been taken from any.
                for counter in left.values_mut().flat_map(BTreeMap::values_mut) {
                    *counter = None;
                }
            }
        }
    }
    left
}

fn change(
    counters: &mut Counters<'_>,
    device: &Device,
    apply: impl Fn(Amount, Amount) -> Option<Amount>,
) -> Result<(), CapacityError> {
    for taken in device.terms.iter().flat_map(|terms| &terms.consumes) {
        // Nothing is lost: a pool in which a device names a set or a counter that is not defined is `Invalid`, and
        // no search looks at it.
        let Some(set) = counters.get_mut(&*taken.set) else {
            continue;
        };
        for (name, written) in &taken.counters {
            let more = amount(written).ok_or(CapacityError::Unreadable)?;
            if let Some(counter) = set.get_mut(&**name) {
                *counter = counter.and_then(|counter| apply(counter, more));
            }
        }
    }
    Ok(())
}

/// Allocated parts of one device.
#[derive(Clone, Debug, Default)]
struct DeviceUse<'a> {
    /// Number of allocations of it as a whole.
    //
    // Counts and not flags: what one claim gives back is subtracted, and what other claims hold of the device stays.
    whole: usize,
    /// Number of allocated shares.
    shares: usize,
    /// Consumed amount of each capacity; absent where an amount cannot be read.
    consumed: BTreeMap<&'a str, Option<Amount>>,
}

/// Devices that claims hold, by identity.
#[derive(Debug, Default)]
pub(super) struct Holdings<'a> {
    by_device: HashMap<u32, DeviceUse<'a>>,
    /// Number of results that have consumed a negative amount.
    negative: usize,
}

impl<'a> Holdings<'a> {
    /// Devices that all `claims` hold, without administrative access.
    ///
    /// Upstream: `foreachAllocatedDevice` in the scheduler's plugin `dynamicresources`.
    pub(super) fn of(
        claims: impl IntoIterator<Item = &'a ResourceClaim>,
        state: &ClusterState<'_>,
    ) -> Self {
        let claims = claims.into_iter();
        let allocations = claims.flat_map(|claim| &claim.allocation);
        Self::of_results(allocations.flat_map(|found| &found.results), state)
    }

    /// Devices that these results of allocations hold, as [`Holdings::of`] counts them.
    pub(super) fn of_results(
        results: impl IntoIterator<Item = &'a AllocationResult>,
        state: &ClusterState<'_>,
    ) -> Self {
        let mut holdings = Self::default();
        for result in results {
            let consumed = || result.consumed_capacity.iter().flat_map(|all| all.iter());
            let is_negative =
                |(_, written): (&_, &Arc<str>)| amount(written).is_some_and(|it| it < 0);
            holdings.negative = holdings
                .negative
                .saturating_add(usize::from(consumed().any(is_negative)));
            // A device that no slice has has no identity: nothing is allocated there, so that its use does not matter.
            let identity = state.identity(&result.device);
            let Some(device) = identity.filter(|_| !result.admin_access) else {
                continue;
            };
            let held = holdings.by_device.entry(device).or_default();
            if result.share_id.is_none() {
                held.whole = held.whole.saturating_add(1);
                continue;
            }
            held.shares = held.shares.saturating_add(1);
            let names = CapacityNames::of(result.device.driver.as_str(), &state.semantics);
            for (name, _, written) in names.counting(consumed) {
                let taken = held.consumed.entry(name).or_insert(Some(0));
                *taken = taken
                    .zip(amount(written))
                    .and_then(|(taken, more)| taken.checked_add(more));
            }
        }
        holdings
    }

    /// These holdings, with the device allocated as a whole once more.
    pub(super) fn with_held(mut self, device: u32) -> Self {
        let held = self.by_device.entry(device).or_default();
        held.whole = held.whole.saturating_add(1);
        self
    }

    /// True if the device is held.
    pub(super) fn has(&self, device: u32) -> bool {
        self.by_device.contains_key(&device)
    }

    /// The devices that are held.
    pub(super) fn devices(&self) -> impl Iterator<Item = u32> {
        self.by_device.keys().copied()
    }
}

/// Devices in use, once a claim has given back its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage<'s, 'a> {
    /// Devices that all claims hold.
    pub(super) all: &'s Holdings<'a>,
    /// Devices that the claim gives back, a part of `all`.
    pub(super) own: &'s Holdings<'a>,
}

impl Usage<'_, '_> {
    /// True if the device is allocated as a whole.
    pub(super) fn is_held(&self, device: u32) -> bool {
        self.left(device, |held| held.whole) > 0
    }

    /// True if a share of the device is allocated.
    pub(super) fn is_shared(&self, device: u32) -> bool {
        self.left(device, |held| held.shares) > 0
    }

    /// True if the device is allocated as a whole, or has shares though it cannot be shared any more: since 1.38 such a
    /// device is not allocated.
    pub(super) fn is_unavailable(
        &self,
        identity: u32,
        device: &Device,
        state: &ClusterState<'_>,
    ) -> bool {
        let has_old_shares = || {
            state.semantics.allocates_as_1_38
                && !device.allow_multiple_allocations
                && self.is_shared(identity)
        };
        self.is_held(identity) || has_old_shares()
    }

    /// True if a claim has consumed a negative amount, with which the scheduler of 1.38 allocates no devices at all.
    pub(super) fn has_negative(&self) -> bool {
        self.all.negative > self.own.negative
    }

    /// Consumed amount of a capacity of the device; absent where that is not known.
    pub(super) fn consumed(&self, device: u32, capacity: &str) -> Option<Amount> {
        let consumed = |holdings: &Holdings<'_>| {
            let held = holdings.by_device.get(&device);
            held.and_then(|held| held.consumed.get(capacity).copied())
                .unwrap_or(Some(0))
        };
        consumed(self.all)?.checked_sub(consumed(self.own)?)
    }

    fn left(&self, device: u32, count: impl Fn(&DeviceUse<'_>) -> usize) -> usize {
        let of = |holdings: &Holdings<'_>| holdings.by_device.get(&device).map_or(0, &count);
        of(self.all).saturating_sub(of(self.own))
    }
}
