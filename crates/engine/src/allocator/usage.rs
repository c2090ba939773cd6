//! Devices and shares that claims hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;

use super::capacity::CapacityNames;
use super::cluster_state::ClusterState;
use super::quantity::{Amount, amount};
use crate::model::{AllocationResult, Device, ResourceClaim};

/// Allocated parts of one device.
#[derive(Clone, Debug, Default)]
struct DeviceUse<'a> {
    /// Number of allocations of it as a whole.
    //
    // Numbers and no flags: what one claim gives back is subtracted, and what another holds of the device has to
    // stay.
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
            // A device that no slice has replaces no other.
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

    /// The same with the device allocated as a whole once more.
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
    /// Devices that are given back; part of that.
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
