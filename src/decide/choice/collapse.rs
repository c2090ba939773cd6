//! Collapsing devices into one selector of their pool or driver.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{self, Semantics, complete_pools};
use crate::model::{DeviceId, DeviceSelector, DriverName, Kind, PoolName, Reading};
use crate::naming::device;
use crate::naming::phrase::counted;

/// How devices become rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// One rule for each, by its name.
    #[default]
    ByName,
    /// One for a whole pool or driver, where that is exactly what is meant.
    Collapsed,
}

/// Devices of which all are known.
struct Whole {
    selector: DeviceSelector,
    devices: BTreeSet<DeviceId>,
}

/// The selectors with those of pools and drivers in the place of all their devices, and what to know about that.
///
/// A pool or driver stands for devices only where they are all that it has, published or held by a claim, and
/// where all that it has is known: nothing was left unread, and no pool lacks a slice. One device stays
/// named.
#[must_use]
pub fn collapsed(
    selectors: Vec<DeviceSelector>,
    reading: &Reading,
    semantics: &Semantics,
) -> (Vec<DeviceSelector>, Vec<String>) {
    if let Some(why) = unread(reading) {
        let note = format!("--collapse changes nothing: {why}");
        return (selectors, vec![note]);
    }
    let mut notes = Vec::new();
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
        notes.push(format!(
            "{} replaces {}, and will also taint matching devices that are published later",
            device::format(&whole.selector),
            counted(whole.devices.len(), "device"),
        ));
        left.push(whole.selector);
    }
    if notes.is_empty() {
        notes.push(
            "--collapse changes nothing: it replaces the devices of a pool or driver only if the pool or driver is \
             completely published and has at least two devices, and all these devices are selected"
                .to_owned(),
        );
    }
    left.sort();
    (left, notes)
}

/// Why it is not known what there is, if it is not.
fn unread(reading: &Reading) -> Option<String> {
    let mut kinds = [Kind::ResourceSlice, Kind::ResourceClaim].into_iter();
    kinds.find_map(|kind| {
        let gap = reading
            .gaps
            .iter()
            .find(|gap| gap.kind() == Some(kind))
            .cloned()
            .or_else(|| reading.without(kind))?;
        Some(format!("{} are not known: {}", gap.what, gap.why))
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
    for state in engine::devices(snapshot, semantics).devices {
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
    fn became(devices: &str, reading: &Reading) -> (String, String) {
        let selectors = devices.split(' ').map(|text| device::parse(text).unwrap());
        let newest = Minor {
            minor: 37,
            patch: None,
        };
        let semantics = Semantics::of(newest).unwrap();
        let (selectors, notes) = collapsed(selectors.collect(), reading, &semantics);
        let texts: Vec<String> = selectors.iter().map(device::format).collect();
        (texts.join(" "), notes.join("; "))
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
            let (found, notes) = became(devices, &reading);
            let sorted = |text: &str| {
                let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                words.sort();
                words
            };
            assert_eq!(sorted(&found), sorted(expected), "{name}");
            let is_collapsed = expected.split(' ').count() < devices.split(' ').count();
            assert_eq!(
                notes.contains("published later"),
                is_collapsed,
                "{name}: {notes}"
            );
            assert_eq!(
                notes.contains("--collapse changes nothing"),
                !is_collapsed,
                "{name}: {notes}"
            );
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
                let (found, notes) = became("d/a/0 d/a/1", &reading);
                assert_eq!(found, "d/a/0 d/a/1");
                assert!(notes.contains("are not known"), "{notes}");
            }
        }
    }
}
