//! Parts of devices, such as the partitions of a GPU.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::quantity::{Amount, amount};
use crate::devices::{current_slices, pool_of};
use crate::model::{Device, DeviceId, ResourceSlice, Snapshot};

/// Counters that a device consumes, by counter set and counter; `None` where it is no quantity.
pub(super) type Consumption<'a> = BTreeMap<(&'a str, &'a str), Option<Amount>>;

/// The parts of each of the `chosen` devices, by name: devices of the same pool that consume the same counters, of none
/// more than the chosen device and of one less, and that cannot be allocated beside it. Slices of a GPU that fit beside each
/// other are no parts of one another, whatever their sizes. Devices without parts are
/// left out, and so are parts that are chosen themselves. Counters have to be read for it; an amount that is no quantity
/// counts as less.
///
/// Upstream: `consumesCounters` of KEP-4815, partitionable devices.
pub fn parts_by_device(
    snapshot: &Snapshot,
    chosen: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let mut pools: BTreeMap<(&str, &str), Vec<(DeviceId, Consumption<'_>)>> = BTreeMap::new();
    for slice in slices_beside(snapshot, chosen) {
        let devices = slice.devices.iter();
        let devices = devices.map(|device| (device, consumption(device)));
        // A device without counters is no part, and has none.
        let drawing = devices.filter(|(_, consumed)| !consumed.is_empty());
        let drawing = drawing.map(|(device, consumed)| (slice.id_of(device), consumed));
        pools.entry(pool_of(slice)).or_default().extend(drawing);
    }
    let sharing = sharing_by_device(snapshot, chosen);
    let excludes = |part: &DeviceId, whole: &DeviceId| {
        let beside = sharing.get(part);
        beside.is_some_and(|beside| beside.contains(whole))
    };
    let mut parts: BTreeMap<DeviceId, BTreeSet<DeviceId>> = BTreeMap::new();
    for devices in pools.values() {
        let (wholes, others): (Vec<_>, Vec<_>) =
            devices.iter().partition(|(id, _)| chosen.contains(id));
        for (whole, all) in wholes {
            let found = others
                .iter()
                .filter(|(id, part)| is_less(part, all) && excludes(id, whole));
            let found: BTreeSet<DeviceId> = found.map(|(id, _)| id.clone()).collect();
            if !found.is_empty() {
                parts.insert(whole.clone(), found);
            }
        }
    }
    parts
}

/// Returns the devices that are not `chosen` and share counters with a chosen one, by name. Counters have to be read for it.
pub fn sharing_counters(snapshot: &Snapshot, chosen: &BTreeSet<DeviceId>) -> BTreeSet<DeviceId> {
    let chosen = chosen.iter().collect();
    sharing_by_device(snapshot, &chosen).into_keys().collect()
}

/// Returns the devices that are not `chosen` and share counters with chosen ones, each with these.
///
/// Two devices share counters if both together exceed a counter set, as a part and its whole do, and two halves do not.
/// An amount that is no quantity counts as too much.
pub fn sharing_by_device(
    snapshot: &Snapshot,
    chosen: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let mut counters: HashMap<CounterKey<'_>, Counter> = HashMap::default();
    for slice in slices_beside(snapshot, chosen) {
        let (driver, pool) = pool_of(slice);
        for set in slice.terms.iter().flat_map(|terms| &terms.counters) {
            for (name, written) in &set.counters {
                let key = (driver, pool, &*set.name, &**name);
                counters.entry(key).or_default().available = amount(written);
            }
        }
        for device in &slice.devices {
            for ((set, name), taken) in consumption(device) {
                let id = slice.id_of(device);
                let counter = counters.entry((driver, pool, set, name)).or_default();
                let users = if chosen.contains(&id) {
                    &mut counter.chosen
                } else {
                    &mut counter.others
                };
                users.push((id, taken));
            }
        }
    }
    let mut sharing: BTreeMap<DeviceId, BTreeSet<DeviceId>> = BTreeMap::new();
    for counter in counters.into_values() {
        for (other, taken) in &counter.others {
            let both = counter.chosen.iter();
            let both = both.filter(|(_, beside)| counter.is_exceeded(*taken, *beside));
            let both: Vec<DeviceId> = both.map(|(id, _)| id.clone()).collect();
            if !both.is_empty() {
                sharing.entry(other.clone()).or_default().extend(both);
            }
        }
    }
    sharing
}

/// The slices of the pools of the `chosen` devices.
fn slices_beside<'a>(
    snapshot: &'a Snapshot,
    chosen: &BTreeSet<&DeviceId>,
) -> impl Iterator<Item = &'a ResourceSlice> {
    let pools: BTreeSet<(&str, &str)> = chosen
        .iter()
        .map(|id| (id.driver.as_str(), id.pool.as_str()))
        .collect();
    let mut slices = current_slices(&snapshot.slices);
    slices.retain(|slice| pools.contains(&pool_of(slice)));
    slices.into_iter()
}

/// A counter of a pool: driver, pool, set and name.
pub(super) type CounterKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Available amount of a counter, and amounts that devices take; `None` where it is no quantity.
#[derive(Default)]
struct Counter {
    available: Option<Amount>,
    chosen: Vec<(DeviceId, Option<Amount>)>,
    others: Vec<(DeviceId, Option<Amount>)>,
}

impl Counter {
    /// True if two devices together take more than is available.
    fn is_exceeded(&self, one: Option<Amount>, other: Option<Amount>) -> bool {
        if one == Some(0) || other == Some(0) {
            return false;
        }
        let left = self.available.zip(one);
        let left = left.and_then(|(all, taken)| all.checked_sub(taken));
        left.zip(other).is_none_or(|(left, other)| other > left)
    }
}

/// Counters that the device consumes.
pub(super) fn consumption(device: &Device) -> Consumption<'_> {
    let terms = device.terms.as_deref().into_iter();
    let sets = terms.flat_map(|terms| &terms.consumes);
    let counters = sets.flat_map(|used| {
        let counters = used.counters.iter();
        counters.map(|(name, written)| ((&*used.set, &**name), amount(written)))
    });
    counters.collect()
}

fn is_less(part: &Consumption<'_>, whole: &Consumption<'_>) -> bool {
    let compared = |counter, part: Option<Amount>| {
        let whole = whole.get(counter)?;
        Some(part.zip(*whole).is_none_or(|(part, whole)| part < whole))
    };
    let is_within = |(counter, part): (&(&str, &str), &Option<Amount>)| {
        let whole = whole.get(counter);
        whole.is_some_and(|whole| part.zip(*whole).is_none_or(|(part, whole)| part <= whole))
    };
    // Fewer counters are less only because `is_within` asks that all of them are counters of the whole.
    let has_less = part.len() < whole.len()
        || part
            .iter()
            .any(|(counter, part)| compared(counter, *part) == Some(true));
    !part.is_empty() && part.iter().all(is_within) && has_less
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CounterSet, CounterUse, DeviceTerms, SliceTerms};
    use crate::testing;

    fn device(name: &str, counters: &[(&str, &str)]) -> Device {
        let counters = counters.iter();
        Device {
            terms: Some(Box::new(DeviceTerms {
                consumes: vec![CounterUse {
                    set: "gpu".into(),
                    counters: counters
                        .map(|(name, amount)| ((*name).into(), (*amount).into()))
                        .collect(),
                    ..CounterUse::default()
                }],
                ..DeviceTerms::default()
            })),
            ..testing::published(name, &[])
        }
    }

    #[test]
    fn partitions_are_parts_of_the_card_and_not_of_one_another() {
        let snapshot = Snapshot {
            slices: vec![testing::slice(vec![
                device("card", &[("memory", "80Gi"), ("engines", "2")]),
                device("half-0", &[("memory", "40Gi"), ("engines", "1")]),
                device("half-1", &[("memory", "40960Mi"), ("engines", "1")]),
                device("memory", &[("memory", "80Gi")]),
                device("odd", &[("memory", "much")]),
                device("other", &[("lanes", "1")]),
                testing::published("plain", &[]),
            ])],
            ..Snapshot::default()
        };
        let parts = |name: &str| -> Vec<String> {
            let parts = parts_by_device(&snapshot, &[&testing::device(name)].into());
            let parts = parts.into_values().flatten();
            parts.map(|part| part.device.to_string()).collect()
        };
        assert_eq!(parts("card"), ["half-0", "half-1", "memory", "odd"]);
        assert_eq!(parts("half-0"), ["odd"]);
        assert!(parts("plain").is_empty());
        assert!(parts("other").is_empty());
    }

    #[test]
    fn a_part_and_its_whole_share_counters_and_neighbours_do_not() {
        let mut slice = testing::slice(vec![
            device("card", &[("memory", "80Gi")]),
            device("half-0", &[("memory", "40Gi")]),
            device("half-1", &[("memory", "40Gi")]),
            device("none", &[("memory", "0")]),
            device("lanes", &[("lanes", "1")]),
        ]);
        slice.terms = Some(Box::new(SliceTerms {
            counters: vec![CounterSet {
                name: "gpu".into(),
                counters: [("memory".into(), "80Gi".into())].into(),
            }],
            ..SliceTerms::default()
        }));
        let sharing = |slice: &ResourceSlice, name: &str| -> Vec<String> {
            let snapshot = Snapshot {
                slices: vec![slice.clone()],
                ..Snapshot::default()
            };
            let found = sharing_counters(&snapshot, &[testing::device(name)].into());
            found.iter().map(|part| part.device.to_string()).collect()
        };
        assert_eq!(sharing(&slice, "card"), ["half-0", "half-1"]);
        assert_eq!(sharing(&slice, "half-0"), ["card"]);
        assert!(sharing(&slice, "none").is_empty());
        assert!(sharing(&slice, "lanes").is_empty());
        // Of a set that no slice has, it is unknown how much there is.
        slice.terms = None;
        assert_eq!(sharing(&slice, "half-0"), ["card", "half-1"]);
    }
}
