//! Collapsing devices into one selector of their pool or driver.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{self, Semantics, complete_pools};
use crate::model::{DeviceId, DeviceSelector, DriverName, Kind, PoolName, Reading};

/// Devices of which all are known.
struct Whole {
    selector: DeviceSelector,
    devices: BTreeSet<DeviceId>,
}

/// The selectors with those of pools and drivers in the place of all their devices.
///
/// A pool or driver stands for devices only where they are all that it has, published or held by a claim, and
/// where all that it has is known: nothing was left unread, and no pool lacks a slice. One device stays
/// named.
#[must_use]
pub fn collapsed(
    selectors: Vec<DeviceSelector>,
    reading: &Reading,
    semantics: &Semantics,
) -> Vec<DeviceSelector> {
    if is_partly_unread(reading) {
        return selectors;
    }
    let mut left = selectors;
    // Drivers come before pools, so that devices which a driver stands for are not collapsed into pools as
    // well.
    for whole in wholes(reading, semantics) {
        let stands_for = |selector: &DeviceSelector| {
            selector
                .device_id()
                .is_some_and(|id| whole.devices.contains(&id))
        };
        let named: BTreeSet<DeviceId> = left.iter().filter_map(DeviceSelector::device_id).collect();
        if whole.devices.len() < 2 || !whole.devices.is_subset(&named) {
            continue;
        }
        left.retain(|selector| !stands_for(selector));
        left.push(whole.selector);
    }
    left.sort();
    left
}

/// Whether devices may exist that were not read.
fn is_partly_unread(reading: &Reading) -> bool {
    let mut kinds = [Kind::ResourceSlice, Kind::ResourceClaim].into_iter();
    kinds.any(|kind| {
        let mut gaps = reading.gaps.iter();
        gaps.any(|gap| gap.kind() == Some(kind)) || reading.without(kind).is_some()
    })
}

/// Drivers, then pools, of which all devices are known.
fn wholes(reading: &Reading, semantics: &Semantics) -> Vec<Whole> {
    type Pool = (DriverName, PoolName);
    let snapshot = &reading.snapshot;
    let complete: BTreeSet<Pool> = complete_pools(&snapshot.slices)
        .into_iter()
        .map(|(driver, pool)| (driver.clone(), pool.clone()))
        .collect();
    let mut pools: BTreeMap<Pool, BTreeSet<DeviceId>> = BTreeMap::new();
    // A pool without devices has to be whole, too, before its driver is.
    for slice in &snapshot.slices {
        let pool = (slice.driver.clone(), slice.pool.name.clone());
        pools.entry(pool).or_default();
    }
    // What only a claim holds counts as well: its driver may be away, and the wider selector taints it all
    // the same.
    for state in engine::devices(snapshot, semantics) {
        let pool = (state.id.driver.clone(), state.id.pool.clone());
        pools.entry(pool).or_default().insert(state.id);
    }
    let mut drivers: BTreeMap<DriverName, (bool, BTreeSet<DeviceId>)> = BTreeMap::new();
    for (pool, devices) in &pools {
        let driver = drivers
            .entry(pool.0.clone())
            .or_insert((true, BTreeSet::new()));
        // One pool that lacks a slice may hide devices that were never meant, so that the driver is not known
        // either.
        driver.0 &= complete.contains(pool);
        driver.1.extend(devices.iter().cloned());
    }
    let drivers = drivers.into_iter().filter(|(_, (whole, _))| *whole);
    let drivers = drivers.map(|(driver, (_, devices))| Whole {
        selector: DeviceSelector {
            driver: Some(driver),
            ..DeviceSelector::default()
        },
        devices,
    });
    let pools = pools
        .into_iter()
        .filter(|(pool, _)| complete.contains(pool))
        .map(|((driver, pool), devices)| Whole {
            selector: DeviceSelector {
                driver: Some(driver),
                pool: Some(pool),
                ..DeviceSelector::default()
            },
            devices,
        });
    drivers.chain(pools).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Allocation, AllocationResult, Gap, Minor, Pool, ResourceClaim, ResourceSlice, SliceNodes,
        Snapshot,
    };
    use crate::naming::device;
    use crate::report::testing;

    fn slice(
        driver: &str,
        pool: &str,
        (count, generation): (i64, i64),
        devices: &[&str],
    ) -> ResourceSlice {
        let devices = devices.iter().map(|name| testing::published(name, &[]));
        ResourceSlice {
            name: format!("{pool}-{generation}").as_str().into(),
            driver: driver.into(),
            pool: Pool {
                name: pool.into(),
                generation,
                slice_count: count,
            },
            nodes: SliceNodes::One(pool.into()),
            devices: devices.collect(),
            terms: None,
        }
    }

    fn held(device: &str) -> ResourceClaim {
        ResourceClaim {
            name: testing::name("ml", "claim"),
            uid: "1".into(),
            controller: None,
            spec: None,
            allocation: Some(Allocation {
                node: None,
                results: vec![AllocationResult {
                    request: "gpu".into(),
                    device: device::parse(device).unwrap().device_id().unwrap(),
                    admin_access: false,
                    share_id: None,
                    tolerations: Vec::new(),
                    consumed_capacity: None,
                }],
            }),
            reserved_for: Vec::new(),
        }
    }

    fn reading(slices: Vec<ResourceSlice>) -> Reading {
        Reading {
            snapshot: Snapshot {
                slices,
                ..Snapshot::default()
            },
            known: Kind::ALL.into_iter().collect(),
            ..testing::reading()
        }
    }

    /// What the devices become.
    fn became(devices: &str, reading: &Reading) -> String {
        let selectors = devices.split(' ').map(|text| device::parse(text).unwrap());
        let newest = Minor {
            minor: 37,
            patch: None,
        };
        let semantics = Semantics::of(newest).unwrap();
        let selectors = collapsed(selectors.collect(), reading, &semantics);
        let texts: Vec<String> = selectors.iter().map(device::format).collect();
        texts.join(" ")
    }

    #[test]
    fn only_all_of_what_is_completely_known_is_collapsed() {
        let two = || {
            vec![
                slice("d", "a", (1, 1), &["0", "1"]),
                slice("d", "b", (1, 1), &["0", "1"]),
            ]
        };
        let all = "d/a/0 d/a/1 d/b/0 d/b/1";
        let with = |more: ResourceSlice| [two(), vec![more]].concat();
        let mut held_elsewhere = reading(two());
        held_elsewhere.snapshot.claims = vec![held("d/a/9")];
        for (name, devices, reading, expected) in [
            ("a driver", all, reading(two()), "d/*/*"),
            ("a pool", "d/a/0 d/a/1", reading(two()), "d/a/*"),
            (
                "a pool and a device",
                "d/a/0 d/a/1 d/b/1",
                reading(two()),
                "d/a/* d/b/1",
            ),
            ("a part", "d/a/0", reading(two()), "d/a/0"),
            (
                "a pool that lacks a slice",
                all,
                reading(vec![
                    slice("d", "a", (2, 1), &["0", "1"]),
                    slice("d", "b", (1, 1), &["0", "1"]),
                ]),
                "d/b/* d/a/0 d/a/1",
            ),
            (
                "a pool without devices that lacks one",
                all,
                reading(with(slice("d", "c", (2, 1), &[]))),
                "d/a/* d/b/*",
            ),
            (
                "an older generation does not count",
                all,
                reading(with(slice("d", "b", (1, 0), &["7"]))),
                "d/*/*",
            ),
            (
                "more slices than there should be",
                "d/a/0 d/a/1",
                reading(with(slice("d", "a", (0, 1), &[]))),
                "d/a/0 d/a/1",
            ),
            (
                "a device that only a claim knows",
                all,
                held_elsewhere,
                "d/b/* d/a/0 d/a/1",
            ),
            (
                "another driver",
                all,
                reading(with(slice("e", "a", (2, 1), &["0"]))),
                "d/*/*",
            ),
            (
                "a single device keeps its name",
                "d/a/0",
                reading(vec![slice("d", "a", (1, 1), &["0"])]),
                "d/a/0",
            ),
        ] {
            let found = became(devices, &reading);
            let sorted = |text: &str| {
                let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                words.sort();
                words
            };
            assert_eq!(sorted(&found), sorted(expected), "{name}");
        }
    }

    #[test]
    fn nothing_is_collapsed_where_something_was_not_read() {
        for kind in [Kind::ResourceSlice, Kind::ResourceClaim] {
            let slices = vec![slice("d", "a", (1, 1), &["0", "1"])];
            let mut denied = reading(slices.clone());
            denied.gaps = vec![Gap::of(kind, "denied")];
            let mut absent = reading(slices);
            absent.known.remove(&kind);
            for reading in [denied, absent] {
                assert_eq!(became("d/a/0 d/a/1", &reading), "d/a/0 d/a/1");
            }
        }
    }
}
