//! Devices and shares that claims hold.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::quantity::{Amount, amount};
use crate::model::{AllocationResult, DeviceId, ResourceClaim};

/// What is in use of one device.
#[derive(Clone, Debug, Default)]
struct DeviceUse<'a> {
    /// How often it is allocated as a whole.
    //
    // Numbers and no flags: what one claim gives back is subtracted, and what another holds of the device has to
    // stay.
    whole: usize,
    /// How many shares of it are allocated.
    shares: usize,
    /// How much of each capacity is taken; absent where an amount cannot be read.
    consumed: BTreeMap<&'a str, Option<Amount>>,
}

/// What claims hold, by the device's identity.
#[derive(Debug, Default)]
pub(super) struct Holdings<'a> {
    by_device: HashMap<u32, DeviceUse<'a>>,
}

impl<'a> Holdings<'a> {
    /// What all `claims` hold. What is held for administration does not count.
    ///
    /// Upstream: `foreachAllocatedDevice` in the scheduler's plugin `dynamicresources`.
    pub(super) fn of(
        claims: impl IntoIterator<Item = &'a ResourceClaim>,
        identity: impl Fn(&DeviceId) -> Option<u32>,
    ) -> Self {
        let claims = claims.into_iter();
        let allocations = claims.flat_map(|claim| &claim.allocation);
        Self::of_results(allocations.flat_map(|found| &found.results), identity)
    }

    /// What these results of allocations hold, as [`Holdings::of`] counts it.
    pub(super) fn of_results(
        results: impl IntoIterator<Item = &'a AllocationResult>,
        identity: impl Fn(&DeviceId) -> Option<u32>,
    ) -> Self {
        let mut holdings = Self::default();
        for result in results {
            // What nobody publishes is nobody's replacement.
            let Some(device) = identity(&result.device).filter(|_| !result.admin_access) else {
                continue;
            };
            let held = holdings.by_device.entry(device).or_default();
            if result.share_id.is_none() {
                held.whole = held.whole.saturating_add(1);
                continue;
            }
            held.shares = held.shares.saturating_add(1);
            for (name, written) in result.consumed_capacity.iter().flat_map(|all| all.iter()) {
                let taken = held.consumed.entry(name).or_insert(Some(0));
                *taken = taken
                    .zip(amount(written))
                    .and_then(|(taken, more)| taken.checked_add(more));
            }
        }
        holdings
    }

    /// What is held if the device is allocated as a whole once more.
    pub(super) fn with_held(mut self, device: u32) -> Self {
        let held = self.by_device.entry(device).or_default();
        held.whole = held.whole.saturating_add(1);
        self
    }

    /// Whether the device is held.
    pub(super) fn has(&self, device: u32) -> bool {
        self.by_device.contains_key(&device)
    }

    /// The devices that are held.
    pub(super) fn devices(&self) -> impl Iterator<Item = u32> {
        self.by_device.keys().copied()
    }
}

/// What is in use, once somebody has given back what he holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage<'s, 'a> {
    /// What everybody holds.
    pub(super) all: &'s Holdings<'a>,
    /// What is given back; part of that.
    pub(super) own: &'s Holdings<'a>,
}

impl Usage<'_, '_> {
    /// Whether the device is allocated as a whole.
    pub(super) fn is_held(&self, device: u32) -> bool {
        self.left(device, |held| held.whole) > 0
    }

    /// Whether a share of the device is allocated.
    pub(super) fn is_shared(&self, device: u32) -> bool {
        self.left(device, |held| held.shares) > 0
    }

    /// How much is taken of a capacity of the device; absent where that is not known.
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
