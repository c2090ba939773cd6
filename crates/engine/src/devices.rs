//! Every device of the cluster, published or allocated, with the taints it gets.

use super::impact::{DeviceTaint, Origin};
use super::select::{DeviceKey, RuleIndex};
use super::termination_blocker::{DriverPresence, Publishers};
use crate::model::{
    AllocationResult, Device, DeviceId, DriverName, NodeName, PoolName, Reading, ResourceClaim,
    ResourceSlice, Warning,
};
use foldhash::{HashMap, HashMapExt};
use std::collections::{BTreeMap, BTreeSet};

/// A device in a slice of its pool's newest generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published<'a> {
    pub(crate) slice: &'a ResourceSlice,
    pub(crate) device: &'a Device,
}

/// One device.
#[derive(Debug)]
pub(crate) struct DeviceEntry<'a> {
    pub(crate) key: DeviceKey<'a>,
    /// Where it is published; if its pool has the name twice, in the slice that comes first by name.
    pub(crate) published: Option<Published<'a>>,
    /// Number of times its name is published; more than once is the driver's mistake.
    pub(crate) times_published: usize,
    /// Places of the rules that select it, ascending.
    pub(crate) rules: Vec<u32>,
    /// The node that the claims which hold it say; not of interest while it is published.
    pub(crate) claimed_node: Option<&'a NodeName>,
}

impl<'a> DeviceEntry<'a> {
    pub(crate) fn id(&self) -> DeviceId {
        match self.published {
            // Shares the names.
            Some(Published { slice, device }) => slice.id_of(device),
            None => DeviceId {
                driver: self.key.driver.into(),
                pool: self.key.pool.into(),
                device: self.key.device.into(),
            },
        }
    }

    /// The node to which it is local: as its driver says, or, while that is away, the claims that hold it.
    pub(crate) fn node(&self) -> Option<&'a NodeName> {
        match self.published {
            Some(Published { slice, device }) => slice.node_of(device),
            None => self.claimed_node,
        }
    }

    /// The driver's own taints, in its order.
    pub(crate) fn driver_taints(&self) -> impl Iterator<Item = DeviceTaint<'a>> {
        let published = self.published.into_iter();
        published.flat_map(|Published { slice, device }| {
            device.taints.iter().map(|taint| DeviceTaint {
                origin: Origin::ResourceSlice(&slice.name),
                taint,
            })
        })
    }
}

/// A device that a claim holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocated<'a> {
    pub(crate) claim: &'a ResourceClaim,
    pub(crate) result: &'a AllocationResult,
    /// The device's place in the table.
    pub(crate) device: u32,
}

/// All devices.
#[derive(Debug)]
pub(crate) struct DeviceTable<'a> {
    pub(crate) entries: Vec<DeviceEntry<'a>>,
    /// Devices that the claims hold, claim by claim: looking devices up is most of the work, and done once.
    pub(crate) allocated: Vec<Allocated<'a>>,
}

impl<'a> DeviceTable<'a> {
    /// Lists the devices of `slices` and of the allocations of `claims`, and asks `rules` for each.
    ///
    /// Upstream: `pool.addSlice` and `pool.getDevice` in `device_taint_eviction.go`. Whether a pool
    /// is complete plays no part there.
    pub(crate) fn new(
        slices: &'a [ResourceSlice],
        claims: &'a [ResourceClaim],
        rules: &RuleIndex<'_>,
    ) -> Self {
        let directory = Directory::new(slices, claims, |_, _| true);
        Self::of_directory(directory, rules)
    }

    /// As [`DeviceTable::new`], without the pools of which `rules` select no device.
    pub(crate) fn of_selected_pools(
        slices: &'a [ResourceSlice],
        claims: &'a [ResourceClaim],
        rules: &RuleIndex<'_>,
    ) -> Self {
        let mut known: HashMap<(&str, &str), bool> = HashMap::new();
        let is_reached = |driver: &'a str, pool: &'a str| {
            let known = known.entry((driver, pool));
            *known.or_insert_with(|| rules.reaches(driver, pool))
        };
        Self::of_directory(Directory::new(slices, claims, is_reached), rules)
    }

    fn of_directory(directory: Directory<'a>, rules: &RuleIndex<'_>) -> Self {
        let Directory {
            mut entries,
            allocated,
            ..
        } = directory;
        for entry in &mut entries {
            entry.rules = rules.matching(entry.key);
        }
        Self { entries, allocated }
    }

    /// The devices of each claim that holds any.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = &[Allocated<'a>]> {
        self.allocated
            // `Directory` goes claim by claim, so that the results of a claim stand together.
            .chunk_by(|left, right| std::ptr::eq(left.claim, right.claim))
    }

    pub(crate) fn entry(&self, place: u32) -> &DeviceEntry<'a> {
        &self.entries[place as usize]
    }

    /// Places of the devices that `wanted` accepts, by name.
    pub(crate) fn sorted(&self, wanted: impl Fn(&DeviceEntry<'a>) -> bool) -> Vec<u32> {
        let all = (0u32..).take(self.entries.len());
        let mut places: Vec<u32> = all.filter(|place| wanted(self.entry(*place))).collect();
        places.sort_by_key(|place| self.entry(*place).key);
        places
    }
}

/// The devices while they are collected, found by name.
struct Directory<'a> {
    entries: Vec<DeviceEntry<'a>>,
    allocated: Vec<Allocated<'a>>,
    by_key: HashMap<DeviceKey<'a>, u32>,
}

impl<'a> Directory<'a> {
    /// The devices of the pools that are `wanted`, by driver and name.
    fn new(
        slices: &'a [ResourceSlice],
        claims: &'a [ResourceClaim],
        mut wanted: impl FnMut(&'a str, &'a str) -> bool,
    ) -> Self {
        let mut current = current_slices(slices);
        current.retain(|slice| wanted(slice.driver.as_str(), slice.pool.name.as_str()));
        let published = current.iter().map(|slice| slice.devices.len()).sum();
        let mut directory = Self {
            entries: Vec::with_capacity(published),
            allocated: Vec::new(),
            by_key: HashMap::with_capacity(published),
        };
        for slice in current {
            for device in &slice.devices {
                directory.publish(Published { slice, device });
            }
        }
        for claim in claims {
            directory.allocate(claim, &mut wanted);
        }
        directory
    }

    fn allocate(
        &mut self,
        claim: &'a ResourceClaim,
        mut wanted: impl FnMut(&'a str, &'a str) -> bool,
    ) {
        for result in claim.allocation.iter().flat_map(|found| &found.results) {
            if !wanted(result.device.driver.as_str(), result.device.pool.as_str()) {
                continue;
            }
            let device = self.place_of(key_of(&result.device));
            let node = claim
                .allocation
                .as_ref()
                .and_then(|found| found.node.as_ref());
            let entry = &mut self.entries[device as usize];
            entry.claimed_node = entry.claimed_node.or(node);
            self.allocated.push(Allocated {
                claim,
                result,
                device,
            });
        }
    }

    fn publish(&mut self, published: Published<'a>) {
        let key = DeviceKey {
            driver: published.slice.driver.as_str(),
            pool: published.slice.pool.name.as_str(),
            device: published.device.name.as_str(),
        };
        let place = self.place_of(key);
        let entry = &mut self.entries[place as usize];
        // The controller takes whichever of two equal names its map gives first. Here it is the first slice by
        // name, so that the same input has one answer; a warning tells of the other.
        entry.published.get_or_insert(published);
        entry.times_published = entry.times_published.saturating_add(1);
    }

    fn place_of(&mut self, key: DeviceKey<'a>) -> u32 {
        let next = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let place = *self.by_key.entry(key).or_insert(next);
        // Only a new key gets the next number.
        if place == next {
            self.entries.push(DeviceEntry {
                key,
                published: None,
                times_published: 0,
                rules: Vec::new(),
                claimed_node: None,
            });
        }
        place
    }
}

fn key_of(id: &DeviceId) -> DeviceKey<'_> {
    DeviceKey {
        driver: id.driver.as_str(),
        pool: id.pool.as_str(),
        device: id.device.as_str(),
    }
}

/// The slices of each pool's newest generation, by name.
pub fn current_slices(slices: &[ResourceSlice]) -> Vec<&ResourceSlice> {
    let mut newest: HashMap<(&str, &str), i64> = HashMap::new();
    for slice in slices {
        let generation = newest
            .entry(pool_of(slice))
            .or_insert(slice.pool.generation);
        *generation = slice.pool.generation.max(*generation);
    }
    let mut current: Vec<&ResourceSlice> = slices
        .iter()
        .filter(|slice| newest.get(&pool_of(slice)) == Some(&slice.pool.generation))
        .collect();
    current.sort_by_key(|slice| &slice.name);
    current
}

pub(super) fn pool_of(slice: &ResourceSlice) -> (&str, &str) {
    (slice.driver.as_str(), slice.pool.name.as_str())
}

/// Slices of a pool's newest generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSlices {
    /// The number of its slices.
    pub present: usize,
    /// The number of slices that they say there are, the largest if they contradict each other.
    pub expected: i64,
    /// True if these are all slices.
    pub is_complete: bool,
}

impl PoolSlices {
    /// True if slices are missing, and not only contradictory.
    pub fn is_short(&self) -> bool {
        i64::try_from(self.present).is_ok_and(|present| present < self.expected)
    }
}

/// Completeness of each pool, by driver and name.
///
/// Upstream: `resourceSliceCount`; the allocator uses no device of a pool of which slices are missing.
pub fn pool_slices(slices: &[ResourceSlice]) -> BTreeMap<(&DriverName, &PoolName), PoolSlices> {
    let mut pools: BTreeMap<(&DriverName, &PoolName), PoolSlices> = BTreeMap::new();
    for slice in current_slices(slices) {
        let count = slice.pool.slice_count;
        let pool = pools
            .entry((&slice.driver, &slice.pool.name))
            .or_insert(PoolSlices {
                present: 0,
                expected: count,
                is_complete: true,
            });
        pool.present = pool.present.saturating_add(1);
        // Slices of one generation that differ in how many there are contradict each other.
        pool.is_complete &= pool.expected == count;
        pool.expected = pool.expected.max(count);
    }
    for pool in pools.values_mut() {
        pool.is_complete &= i64::try_from(pool.present) == Ok(pool.expected);
    }
    pools
}

/// The pools of which all slices of the newest generation are there, by driver and name.
pub fn complete_pools(slices: &[ResourceSlice]) -> BTreeSet<(&DriverName, &PoolName)> {
    let pools = pool_slices(slices).into_iter();
    pools
        .filter_map(|(pool, found)| found.is_complete.then_some(pool))
        .collect()
}

/// Oddities of the pools of the `selected` devices, which are ordered by name: pools that lack slices, and names that
/// occur twice.
pub(crate) fn pool_warnings<'a>(
    slices: &'a [ResourceSlice],
    table: &DeviceTable<'a>,
    selected: &[u32],
) -> Vec<Warning> {
    let pools = pool_slices(slices).into_iter();
    let incomplete: BTreeMap<(&str, &str), PoolSlices> = pools
        .filter(|(_, found)| !found.is_complete)
        .map(|((driver, pool), found)| ((driver.as_str(), pool.as_str()), found))
        .collect();
    let mut warnings = Vec::new();
    // The last pool is enough to remember: the devices of a pool stand together.
    let mut reported: Option<(&str, &str)> = None;
    for place in selected {
        let entry = table.entry(*place);
        let pool = (entry.key.driver, entry.key.pool);
        if let Some(found) = incomplete.get(&pool)
            && reported != Some(pool)
        {
            reported = Some(pool);
            warnings.push(incomplete_pool(pool, found));
        }
        if entry.times_published > 1 {
            warnings.push(duplicate_device(entry));
        }
    }
    warnings
}

fn incomplete_pool((driver, pool): (&str, &str), found: &PoolSlices) -> Warning {
    let PoolSlices {
        present, expected, ..
    } = found;
    let slices = if found.is_short() {
        format!("{present} of {expected} slices")
    } else {
        format!("{present} slices, which does not match resourceSliceCount")
    };
    Warning {
        code: "incomplete-pool",
        message: format!(
            "pool {driver}/{pool} has {slices}: taints in this pool may change until the driver has published all slices"
        ),
        fix: Some("run the command again after the driver has published the whole pool".to_owned()),
    }
}

fn duplicate_device(entry: &DeviceEntry<'_>) -> Warning {
    Warning {
        code: "duplicate-device",
        message: format!(
            "device {} is published {} times in its pool: it is undefined from which of these entries the controller takes the taints",
            entry.id(),
            entry.times_published
        ),
        fix: Some("report this bug to the author of the driver".to_owned()),
    }
}

/// Devices of one driver on one node of which nothing is published, since the driver publishes nothing there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnpublishedDevices {
    /// The node.
    pub node: NodeName,
    /// The driver.
    pub driver: DriverName,
    /// The devices that claims hold, by name.
    pub devices: Vec<DeviceId>,
}

/// Those of `devices`, each with its node, that are not published since their driver is away.
pub fn away<'a>(
    reading: &Reading,
    devices: impl IntoIterator<Item = (&'a DeviceId, &'a NodeName)>,
) -> Vec<UnpublishedDevices> {
    let devices: BTreeSet<(&DeviceId, &NodeName)> = devices.into_iter().collect();
    let nodes = devices.iter().map(|(_, node)| (*node).clone()).collect();
    let publishers = Publishers::of(reading, &nodes);
    let mut found: BTreeMap<(&NodeName, &DriverName), Vec<DeviceId>> = BTreeMap::new();
    for (device, node) in &devices {
        match publishers.presence(node, &device.driver) {
            DriverPresence::Gone { .. } => {
                let key = (*node, &device.driver);
                found.entry(key).or_default().push((*device).clone());
            }
            DriverPresence::Published | DriverPresence::Unknown => {}
        }
    }
    let away =
        |((node, driver), devices): ((&NodeName, &DriverName), Vec<DeviceId>)| UnpublishedDevices {
            node: node.clone(),
            driver: driver.clone(),
            devices,
        };
    found.into_iter().map(away).collect()
}

/// Those of `devices` that are not published, and of whose pool other devices may be unknown, too. A driver that publishes the
/// whole pool without a device has removed or renamed it, and shows all others.
pub fn in_unknown_pools<'a>(
    devices: impl IntoIterator<Item = &'a DeviceId>,
    slices: &[ResourceSlice],
) -> BTreeSet<&'a DeviceId> {
    let complete = complete_pools(slices);
    let devices = devices.into_iter();
    let mut unknown: BTreeSet<&DeviceId> = devices
        .filter(|id| !complete.contains(&(&id.driver, &id.pool)))
        .collect();
    if !unknown.is_empty() {
        for slice in current_slices(slices) {
            for device in &slice.devices {
                unknown.remove(&slice.id_of(device));
            }
        }
    }
    unknown
}

/// The pools of `devices` of which slices are there, but not all: other devices of them may be unknown.
pub fn incomplete_pools<'a>(
    devices: impl IntoIterator<Item = &'a DeviceId>,
    slices: &[ResourceSlice],
) -> BTreeSet<(&'a DriverName, &'a PoolName)> {
    let present = pool_slices(slices);
    let pools = devices.into_iter().map(|id| (&id.driver, &id.pool));
    pools
        .filter(|pool| present.get(pool).is_some_and(|found| !found.is_complete))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ResourceSlice;
    use crate::testing::{DEVICE, published, slice};

    #[test]
    fn pools_are_incomplete_while_slices_are_missing_and_not_where_there_are_none() {
        let ids = [DEVICE.clone()];
        let pools = |slices: &[ResourceSlice]| incomplete_pools(&ids, slices).len();
        let whole = slice(vec![published("gpu-0", &[])]);
        let mut half = whole.clone();
        half.pool.slice_count = 2;
        let mut newer = half.clone();
        newer.pool.generation = newer.pool.generation.saturating_add(1);
        assert_eq!(pools(std::slice::from_ref(&whole)), 0);
        assert_eq!(pools(&[half]), 1);
        assert_eq!(pools(&[whole, newer]), 1, "of the newest generation");
        assert_eq!(pools(&[]), 0);
    }
}
