//! Free devices that cannot be allocated because other partitions of the same hardware are in use.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashSet, HashSetExt};

use super::capacity::{Amount, amount};
use crate::devices::{current_slices, pool_of};
use crate::model::{CounterUse, Device, DeviceId, ResourceSlice, Snapshot};

/// Rest of the counters of a pool, by set and name; `None` where that is not known.
type CountersLeft<'a> = BTreeMap<(&'a str, &'a str), Option<Amount>>;

/// The devices of `snapshot` that the allocator gives to no claim although none holds them: devices in use leave too
/// little of their pool's counters, or an unknown amount. Counters have to be read for it.
///
/// Administrative access takes nothing. A counter that is overdrawn already keeps back every device of its
/// pool that takes anything, and so does one with an unknown rest.
///
/// Upstream: `checkAvailableCounters`.
pub fn blocked_partitions(snapshot: &Snapshot) -> BTreeSet<DeviceId> {
    let mut held: HashSet<&DeviceId> = HashSet::new();
    for claim in &snapshot.claims {
        held.extend(claim.exclusive_results().map(|result| &result.device));
    }
    PartitionedPools::new(&snapshot.slices).blocked(|device| held.contains(device))
}

/// Pools whose devices consume shared counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionedPools<'a> {
    by_name: BTreeMap<(&'a str, &'a str), Vec<&'a ResourceSlice>>,
}

impl<'a> PartitionedPools<'a> {
    /// Those of `slices`; counters have to be read for it.
    pub fn new(slices: &'a [ResourceSlice]) -> Self {
        let mut by_name: BTreeMap<_, Vec<&ResourceSlice>> = BTreeMap::new();
        for slice in current_slices(slices) {
            by_name.entry(pool_of(slice)).or_default().push(slice);
        }
        by_name.retain(|_, slices| {
            let mut devices = slices.iter().flat_map(|slice| &slice.devices);
            devices.any(takes_anything)
        });
        Self { by_name }
    }

    /// The blocked devices, as [`blocked_partitions`], where `is_held` holds for those in use.
    pub fn blocked(&self, is_held: impl Fn(&DeviceId) -> bool) -> BTreeSet<DeviceId> {
        let pools = self.by_name.values();
        pools.flat_map(|slices| of_pool(slices, &is_held)).collect()
    }

    /// The devices that take something of counter sets, and all of none.
    pub fn partitions(&self) -> BTreeSet<DeviceId> {
        let pools = self.by_name.values().flat_map(|slices| {
            let all = left(slices, std::iter::empty());
            let devices = slices.iter().flat_map(|slice| {
                let devices = slice.devices.iter();
                devices.map(|device| (slice.id_of(device), device))
            });
            let is_part = |device: &Device| {
                takes_anything(device) && !taken(device).any(|taken| takes_all(&all, taken))
            };
            let parts = devices.filter(|(_, device)| is_part(device));
            parts.map(|(id, _)| id).collect::<Vec<DeviceId>>()
        });
        pools.collect()
    }

    /// The blocked devices of the pools of `devices`.
    pub fn blocked_in<'d>(
        &self,
        devices: impl Iterator<Item = &'d DeviceId>,
        is_held: impl Fn(&DeviceId) -> bool,
    ) -> BTreeSet<DeviceId> {
        let pools: BTreeSet<(&str, &str)> = devices
            .map(|id| (id.driver.as_str(), id.pool.as_str()))
            .collect();
        let pools = pools.iter().filter_map(|pool| self.by_name.get(pool));
        pools.flat_map(|slices| of_pool(slices, &is_held)).collect()
    }
}

fn of_pool(slices: &[&ResourceSlice], is_held: &impl Fn(&DeviceId) -> bool) -> Vec<DeviceId> {
    let devices = slices.iter().flat_map(|slice| {
        let devices = slice.devices.iter().filter(|device| takes_anything(device));
        devices.map(|device| (slice.id_of(device), device))
    });
    let (in_use, idle): (Vec<_>, Vec<_>) = devices.partition(|(id, _)| is_held(id));
    if idle.is_empty() {
        return Vec::new();
    }
    let left = left(slices, in_use.into_iter().map(|(_, device)| device));
    let is_sound = left
        .values()
        .all(|counter| counter.is_some_and(|left| left >= 0));
    let fits = |device: &Device| is_sound && taken(device).all(|taken| is_enough(&left, taken));
    let blocked = idle.into_iter().filter(|(_, device)| !fits(device));
    blocked.map(|(id, _)| id).collect()
}

/// Rest of the counters of their pool beside the devices in use.
fn left<'a>(
    slices: &[&'a ResourceSlice],
    in_use: impl Iterator<Item = &'a Device>,
) -> CountersLeft<'a> {
    let mut left = CountersLeft::new();
    let terms = slices.iter().filter_map(|slice| slice.terms.as_deref());
    for set in terms.flat_map(|terms| &terms.counters) {
        for (name, written) in &set.counters {
            let counter = (&*set.name, &**name);
            // A set that is there twice contradicts itself.
            let is_new = !left.contains_key(&counter);
            left.insert(counter, amount(written).filter(|_| is_new));
        }
    }
    for used in in_use.flat_map(taken) {
        for (name, written) in &used.counters {
            // Of a counter that no slice defines it is not known how much there is, which is not the same as
            // nothing.
            let counter = left.entry((&*used.set, &**name)).or_insert(None);
            *counter = counter
                .zip(amount(written))
                .and_then(|(left, taken)| left.checked_sub(taken));
        }
    }
    left
}

fn is_enough(left: &CountersLeft<'_>, taken: &CounterUse) -> bool {
    taken.counters.iter().all(|(name, written)| {
        let left = left.get(&(&*taken.set, &**name)).copied().flatten();
        left.zip(amount(written))
            .is_some_and(|(left, taken)| taken <= left)
    })
}

/// Reports whether `taken` are all counters of their set; of a set that is not known, nothing is.
fn takes_all(all: &CountersLeft<'_>, taken: &CounterUse) -> bool {
    let of_set = all.iter().filter(|((set, _), _)| **set == *taken.set);
    let mut of_set = of_set.peekable();
    of_set.peek().is_some()
        && of_set.all(|((_, counter), all)| {
            let used = taken.counters.iter().find(|(name, _)| ***name == **counter);
            let used = used.and_then(|(_, written)| amount(written));
            all.is_some() && used == *all
        })
}

fn taken(device: &Device) -> impl Iterator<Item = &CounterUse> {
    let terms = device.terms.as_deref().into_iter();
    terms.flat_map(|terms| &terms.consumes)
}

fn takes_anything(device: &Device) -> bool {
    taken(device).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{card, drawing, slice};

    #[test]
    fn a_set_of_counters_that_is_there_twice_is_not_known() {
        let counters = ResourceSlice {
            terms: card("80Gi"),
            ..slice(Vec::new())
        };
        let devices = slice(
            ["half-0", "half-1"]
                .map(|name| drawing(name, "40Gi"))
                .to_vec(),
        );
        let mut snapshot = Snapshot {
            slices: vec![devices, counters.clone()],
            ..Snapshot::default()
        };
        for slices in [2, 3] {
            for (slice, number) in snapshot.slices.iter_mut().zip(0_u32..) {
                slice.name = format!("slice-{number}").as_str().into();
                slice.pool.slice_count = slices;
            }
            let blocked = if slices == 2 { 0 } else { 2 };
            assert_eq!(blocked_partitions(&snapshot).len(), blocked);
            snapshot.slices.push(counters.clone());
        }
    }
}
