//! Devices in use on the same hardware.
//!
//! Devices that draw from the same counters are partitions of one device, and shares of a device are
//! parts of it: whoever pulls the hardware because one of them is tainted hits the others too. So does a device of
//! another driver with the same UUID, serial number or address.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::quantity::amount;
use crate::engine::devices::{current_slices, pool_of};
use crate::engine::hardware::Hardware;
use crate::engine::impact::{Impact, Verdict};
use crate::model::{Device, DeviceId, NamespacedName, ResourceClaim, ResourceSlice, Snapshot};

/// A device in use on the hardware of a selected one, whose users stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling<'a> {
    /// The device.
    pub device: DeviceId,
    /// The selected devices beside which it is: others, or itself where it is shared.
    pub beside: BTreeSet<DeviceId>,
    /// The claims that hold it and whose users stay, by name.
    pub claims: Vec<&'a ResourceClaim>,
    /// Whether all of them have administrative access, which takes the device from nobody.
    pub is_admin: bool,
}

impl Sibling<'_> {
    /// The pods for which the claims are reserved, by name.
    #[must_use]
    pub fn pods(&self) -> BTreeSet<NamespacedName> {
        let reserved = self.claims.iter().flat_map(|claim| claim.reserving_pods());
        reserved.collect()
    }
}

/// A counter of a pool: driver, pool, set and name.
type CounterKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The devices in use beside those that the proposed taints of `impact` select, by name.
#[must_use]
pub fn siblings<'a>(snapshot: &'a Snapshot, impact: &Impact<'_>) -> Vec<Sibling<'a>> {
    let selected: BTreeSet<&DeviceId> = impact.devices.iter().map(|device| &device.id).collect();
    let mut beside = partitions(snapshot, &selected);
    for (device, names) in other_names(snapshot, &selected) {
        beside.entry(device).or_default().extend(names);
    }
    let evicted = claims_of(impact, |verdict| matches!(verdict, Verdict::Evicted { .. }));
    let terminating = claims_of(impact, |verdict| *verdict == Verdict::Terminating);
    let mut holders: BTreeMap<&DeviceId, Vec<&'a ResourceClaim>> = BTreeMap::new();
    let mut working: BTreeSet<&DeviceId> = BTreeSet::new();
    let mut left: BTreeSet<&DeviceId> = BTreeSet::new();
    for claim in &snapshot.claims {
        for result in claim.allocation.iter().flat_map(|found| &found.results) {
            let is_selected = selected.contains(&result.device);
            // Of a selected device, others can have shares.
            let stays = if is_selected {
                result.share_id.is_some()
            } else {
                beside.contains_key(&result.device)
            };
            if is_selected && evicted.contains(&claim.name) {
                left.insert(&result.device);
            } else if is_selected && terminating.contains(&claim.name) {
                // They are on their way out whatever the taint does.
            } else if stays {
                holders.entry(&result.device).or_default().push(claim);
                if !result.admin_access {
                    working.insert(&result.device);
                }
            }
        }
    }
    for id in holders.keys().filter(|id| selected.contains(*id)) {
        let names = beside.entry((*id).clone()).or_default();
        names.insert((*id).clone());
    }
    let mut siblings = Vec::new();
    for (device, beside) in &beside {
        // Whoever stays on a shared device matters to those that leave it.
        let is_alone = selected.contains(device) && !left.contains(device);
        let Some(mut claims) = holders.remove(device).filter(|_| !is_alone) else {
            continue;
        };
        claims.sort_by_key(|claim| &claim.name);
        claims.dedup_by_key(|claim| &claim.name);
        siblings.push(Sibling {
            device: device.clone(),
            beside: beside.clone(),
            claims,
            is_admin: !working.contains(device),
        });
    }
    siblings
}

/// The allocated devices of other drivers that have a number in common with selected ones, such as a UUID, each with
/// those.
fn other_names(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let claims = snapshot.claims.iter();
    let results = claims.flat_map(|claim| claim.allocation.iter().flat_map(|it| &it.results));
    let drivers: BTreeSet<_> = selected.iter().map(|id| &id.driver).collect();
    // Parts of one driver share counters. Attributes are decoded for these devices alone, and for none where one driver
    // has all that is allocated.
    let is_of_another = |id: &&DeviceId| drivers.len() > 1 || !drivers.contains(&id.driver);
    let others: BTreeSet<&DeviceId> = results
        .map(|result| &result.device)
        .filter(|id| !selected.contains(id))
        .filter(is_of_another)
        .collect();
    if others.is_empty() || selected.is_empty() {
        return BTreeMap::new();
    }
    let meant: BTreeSet<&DeviceId> = others.union(selected).copied().collect();
    let parts = parts_beside(snapshot, &meant);
    let meant = meant.into_iter().chain(&parts).collect();
    let hardware = Hardware::among(&snapshot.slices, &meant);
    let mut beside: BTreeMap<DeviceId, BTreeSet<DeviceId>> = BTreeMap::new();
    for device in others {
        let aliases = hardware.aliases(device).into_iter();
        let names: BTreeSet<DeviceId> = aliases
            .map(|alias| alias.device)
            .filter(|id| selected.contains(id))
            .collect();
        if !names.is_empty() {
            beside.insert(device.clone(), names);
        }
    }
    beside
}

/// The devices of the pools of those that are `meant` that draw from counters: a card, which alone may have a number,
/// links its parts to what other drivers call it.
fn parts_beside(snapshot: &Snapshot, meant: &BTreeSet<&DeviceId>) -> Vec<DeviceId> {
    let pools: BTreeSet<(&str, &str)> = meant
        .iter()
        .map(|id| (id.driver.as_str(), id.pool.as_str()))
        .collect();
    let slices = current_slices(&snapshot.slices)
        .into_iter()
        .filter(|slice| pools.contains(&pool_of(slice)));
    let devices = slices.flat_map(|slice| {
        let parted = slice.devices.iter().filter(|device| {
            let mut terms = device.terms.iter();
            terms.any(|terms| !terms.consumes.is_empty())
        });
        parted.map(move |device| slice.id_of(device))
    });
    devices.collect()
}

/// The other devices among `selected` that are the same hardware as one of `held`.
///
/// Attributes are decoded only where devices of several drivers are selected: parts of one driver share counters.
#[must_use]
pub fn same_hardware(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
    held: &BTreeSet<&DeviceId>,
) -> BTreeSet<DeviceId> {
    if held.is_empty() || selected.len() < 2 {
        return BTreeSet::new();
    }
    let drivers: BTreeSet<_> = selected.iter().map(|id| &id.driver).collect();
    let parts: BTreeSet<DeviceId> = parts_beside(snapshot, selected).into_iter().collect();
    let meant: BTreeSet<&DeviceId> = if drivers.len() > 1 {
        selected.iter().copied().chain(&parts).collect()
    } else {
        let parted = selected.iter().copied();
        parted.filter(|id| parts.contains(*id)).collect()
    };
    let mut same = Hardware::among(&snapshot.slices, &meant).closure(held.iter().copied());
    same.retain(|id| selected.contains(id) && !held.contains(id));
    same
}

/// The pods that use a part of each of `devices` as a device of its own, such as a partition, by name; devices
/// of which no part is in use so are left out.
#[must_use]
pub fn users_beside(
    snapshot: &Snapshot,
    devices: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<NamespacedName>> {
    let mut holders: BTreeMap<&DeviceId, Vec<&ResourceClaim>> = BTreeMap::new();
    for claim in &snapshot.claims {
        for result in claim.allocation.iter().flat_map(|found| &found.results) {
            holders.entry(&result.device).or_default().push(claim);
        }
    }
    let taken = taken(snapshot, |id| {
        holders.contains_key(id) || devices.contains(id)
    });
    let mut by_counter: BTreeMap<CounterKey<'_>, Vec<&DeviceId>> = BTreeMap::new();
    for (id, taken) in taken.iter().filter(|(id, _)| devices.contains(id)) {
        for (set, name) in taken.keys() {
            let counter = (id.driver.as_str(), id.pool.as_str(), *set, *name);
            by_counter.entry(counter).or_default().push(id);
        }
    }
    let mut users: BTreeMap<DeviceId, BTreeSet<NamespacedName>> = BTreeMap::new();
    for (part, claims) in holders {
        // What has the same first counter as a part has all of them if it is the whole.
        let Some((taken_by_part, (set, name))) = taken
            .get(part)
            .and_then(|taken| Some((taken, taken.keys().next()?)))
        else {
            continue;
        };
        let counter = (part.driver.as_str(), part.pool.as_str(), *set, *name);
        for whole in by_counter.get(&counter).into_iter().flatten() {
            if taken
                .get(*whole)
                .is_some_and(|all| is_part(taken_by_part, all))
            {
                let pods = users.entry((*whole).clone()).or_default();
                pods.extend(claims.iter().flat_map(|claim| claim.reserving_pods()));
            }
        }
    }
    users.retain(|_, pods| !pods.is_empty());
    users
}

/// Whether other drivers than that of one of `devices` have given devices away: numbers of hardware, which are
/// attributes, tell whether it is the same.
#[must_use]
pub fn may_be_used_under_other_names(snapshot: &Snapshot, devices: &BTreeSet<DeviceId>) -> bool {
    let drivers: BTreeSet<_> = devices.iter().map(|id| &id.driver).collect();
    let claims = snapshot.claims.iter();
    let mut held = claims.flat_map(ResourceClaim::exclusive_results);
    held.any(|result| {
        drivers
            .iter()
            .any(|driver| **driver != result.device.driver)
    })
}

/// For each of `devices` the devices of other drivers that are the same hardware by a number, such as a UUID, and that
/// claims hold; devices of which there are none are left out. Whoever administers a device keeps it from nobody.
#[must_use]
pub fn used_under_other_names(
    snapshot: &Snapshot,
    devices: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let claims = snapshot.claims.iter();
    let results = claims.flat_map(ResourceClaim::exclusive_results);
    let held: BTreeSet<&DeviceId> = results.map(|result| &result.device).collect();
    let drivers: BTreeSet<_> = held.iter().map(|id| &id.driver).collect();
    // Attributes are decoded for these devices alone, and for none where one driver has all that is allocated.
    let is_beside_others =
        |id: &DeviceId| drivers.len() > usize::from(drivers.contains(&id.driver));
    let asked: BTreeSet<&DeviceId> = devices
        .iter()
        .copied()
        .filter(|id| is_beside_others(id))
        .collect();
    if asked.is_empty() {
        return BTreeMap::new();
    }
    let meant: BTreeSet<&DeviceId> = asked.union(&held).copied().collect();
    let parts = parts_beside(snapshot, &meant);
    let meant = meant.into_iter().chain(&parts).collect();
    let hardware = Hardware::among(&snapshot.slices, &meant);
    let used = asked.into_iter().filter_map(|device| {
        let aliases = hardware.aliases(device).into_iter();
        let names = aliases.map(|alias| alias.device);
        let names: BTreeSet<DeviceId> = names
            .filter(|id| id.driver != device.driver && held.contains(id))
            .collect();
        (!names.is_empty()).then(|| (device.clone(), names))
    });
    used.collect()
}

/// What a device takes of each counter of its pool, by set and name; nothing where the amount cannot be read.
type Taken<'a> = BTreeMap<(&'a str, &'a str), Option<i128>>;

/// What the devices that are `meant` take, of those that take anything: most devices have no parts.
fn taken(snapshot: &Snapshot, meant: impl Fn(&DeviceId) -> bool) -> BTreeMap<DeviceId, Taken<'_>> {
    let devices = current_slices(&snapshot.slices)
        .into_iter()
        .flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(move |device| Some((slice, device, device.terms.as_deref()?)))
        });
    let taking = devices.filter(|(_, _, terms)| !terms.consumes.is_empty());
    let taken = taking.map(|(slice, device, terms)| {
        let counters = terms.consumes.iter().flat_map(|taken| {
            let counters = taken.counters.iter();
            let counters =
                counters.map(|(name, written)| ((&*taken.set, &**name), amount(written)));
            // An amount that cannot be read may be some.
            counters.filter(|(_, amount)| *amount != Some(0))
        });
        (slice.id_of(device), counters.collect())
    });
    taken.filter(|(id, _)| meant(id)).collect()
}

/// Whether what `part` takes is less than what `whole` takes, and all of it is of the same: an amount that
/// cannot be read may be less.
fn is_part(part: &Taken<'_>, whole: &Taken<'_>) -> bool {
    let is_within = part
        .iter()
        .all(|(counter, less)| match (less, whole.get(counter)) {
            (Some(less), Some(Some(more))) => less <= more,
            (None, Some(_)) | (Some(_), Some(None)) => true,
            (_, None) => false,
        });
    is_within && part != whole
}

/// The claims with a pod of such a verdict.
fn claims_of<'i>(
    impact: &'i Impact<'_>,
    is_meant: impl Fn(&Verdict) -> bool,
) -> BTreeSet<&'i NamespacedName> {
    let pods = impact.pods.iter().filter(|pod| is_meant(&pod.verdict));
    pods.flat_map(|pod| &pod.claims)
        .map(|used| used.claim)
        .collect()
}

/// The devices that draw from counters of selected ones and are not selected, each with those.
fn partitions(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let mut users: HashMap<CounterKey<'_>, (Vec<DeviceId>, Vec<DeviceId>)> = HashMap::default();
    for slice in current_slices(&snapshot.slices) {
        for device in &slice.devices {
            let id = slice.id_of(device);
            let is_selected = selected.contains(&id);
            for counter in counters(slice, device) {
                let (tainted, others) = users.entry(counter).or_default();
                if is_selected { tainted } else { others }.push(id.clone());
            }
        }
    }
    let mut beside: BTreeMap<DeviceId, BTreeSet<DeviceId>> = BTreeMap::new();
    for (tainted, others) in users.into_values() {
        for other in others.into_iter().filter(|_| !tainted.is_empty()) {
            beside
                .entry(other)
                .or_default()
                .extend(tainted.iter().cloned());
        }
    }
    beside
}

/// The counters of which the device takes anything.
fn counters<'a>(
    slice: &'a ResourceSlice,
    device: &'a Device,
) -> impl Iterator<Item = CounterKey<'a>> {
    let consumes = device.terms.iter().flat_map(|terms| &terms.consumes);
    consumes.flat_map(move |taken| {
        let counters = taken.counters.iter();
        // An amount that cannot be read may be some.
        let taken_of = counters.filter(|(_, written)| amount(written) != Some(0));
        let pool = pool_of(slice);
        taken_of.map(move |(name, _)| (pool.0, pool.1, &*taken.set, &**name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::allocator::tests::{asks, id, name, terms, world};
    use crate::model::{AllocationResult, AttributeValue, CounterUse, DeviceTerms};

    /// The world, with what devices 0 and 1 of pool a take of a counter.
    fn parted(takes: [&str; 2]) -> Snapshot {
        let mut snapshot = world();
        for (device, amount) in snapshot.slices[0].devices.iter_mut().zip(takes) {
            device.terms = Some(Box::new(DeviceTerms {
                consumes: vec![CounterUse {
                    set: "gpu".into(),
                    counters: [("memory".into(), amount.into())].into(),
                    has_groups: false,
                }],
                ..DeviceTerms::default()
            }));
        }
        snapshot
    }

    fn beside(snapshot: &Snapshot, device: &str) -> Vec<String> {
        let device = id(device);
        let users = users_beside(snapshot, &[&device].into());
        let pods = users.into_values().flatten();
        pods.map(|pod| pod.to_string()).collect()
    }

    #[test]
    fn a_device_is_in_use_through_its_parts_and_not_the_reverse() {
        let held = |takes| parted(takes).with_claim("part", &["1"], asks(terms(1)));
        assert_eq!(
            beside(&held(["80Gi", "10Gi"]), "0"),
            [name("part").to_string()]
        );
        // Partitions of one size are beside each other, and none is a part of the other.
        assert!(beside(&held(["10Gi", "10Gi"]), "0").is_empty());
        assert!(beside(&held(["10Gi", "80Gi"]), "0").is_empty());
        // An amount that cannot be read may be less.
        assert_eq!(beside(&held(["80Gi", "much"]), "0").len(), 1);
        assert!(beside(&parted(["80Gi", "10Gi"]), "0").is_empty());
        // Whether the part was asked about too changes nothing.
        let both = [id("0"), id("1")];
        let users = users_beside(&held(["80Gi", "10Gi"]), &both.iter().collect());
        assert_eq!(users.keys().collect::<Vec<_>>(), [&both[0]]);
    }

    #[test]
    fn hardware_is_in_use_under_the_name_of_another_driver() {
        let mut snapshot = world();
        let uuid = |value: &str| {
            let value = AttributeValue::String(value.into());
            [("uuid".into(), value)].into_iter().collect()
        };
        let mut vfio = snapshot.slices[0].clone();
        vfio.name = "vfio".into();
        vfio.driver = "vfio.example.com".into();
        vfio.devices.truncate(1);
        vfio.devices[0].name = "card".into();
        vfio.devices[0].attributes = uuid("gpu-A");
        snapshot.slices[0].devices[0].attributes = uuid("GPU-a");
        snapshot.slices[0].devices[1].attributes = uuid("GPU-b");
        let card = vfio.id_of(&vfio.devices[0]);
        snapshot.slices.push(vfio);
        let both = [id("0"), id("1")];
        let used = |snapshot: &Snapshot| {
            let devices = both.iter().chain([&card]).collect();
            used_under_other_names(snapshot, &devices)
        };
        assert_eq!(used(&snapshot), BTreeMap::new());
        let mut held = snapshot
            .clone()
            .with_claim("one", &["0", "1"], asks(terms(1)));
        let expected = [(card.clone(), [id("0")].into())];
        assert_eq!(used(&held), expected.into(), "its own driver's is no other");
        let results = |snapshot: &mut Snapshot, change: fn(&mut AllocationResult)| {
            let claim = snapshot.claims.last_mut().expect("a claim");
            let allocation = claim.allocation.as_mut().expect("an allocation");
            allocation.results.iter_mut().for_each(change);
        };
        results(&mut held, |result| result.admin_access = true);
        assert_eq!(used(&held), BTreeMap::new(), "a monitor");
        let mut by_vfio = snapshot.with_claim("two", &["0"], asks(terms(1)));
        results(&mut by_vfio, |result| {
            result.device.driver = "vfio.example.com".into();
            result.device.device = "card".into();
        });
        assert_eq!(used(&by_vfio), [(id("0"), [card.clone()].into())].into());
        // A part is held, and the number is that of its card.
        let mut parted = parted(["80Gi", "10Gi"]).with_claim("part", &["1"], asks(terms(1)));
        parted.slices[0].devices[0].attributes = uuid("gpu-a");
        parted.slices.extend(held.slices.last().cloned());
        let of_card = used_under_other_names(&parted, &[&card].into());
        assert_eq!(of_card, [(card.clone(), [id("1")].into())].into());
    }
}
