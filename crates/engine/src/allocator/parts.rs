//! Parts of devices, such as the partitions of a GPU.

use super::capacity::{Amount, amount};
use crate::devices::{current_slices, pool_of};
use crate::impact::{Impact, Verdict};
use crate::model::{Device, DeviceId, NamespacedName, ResourceClaim, ResourceSlice, Snapshot, Uid};
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

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

/// A device in use on the hardware of a selected one, whose users stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling<'a> {
    /// The device.
    pub device: DeviceId,
    /// The selected devices beside which it is: others, or itself where it is shared.
    pub beside: BTreeSet<DeviceId>,
    /// The claims that hold it and whose users stay, by name.
    pub claims: Vec<&'a ResourceClaim>,
    /// True if all of them have administrative access, which takes the device from no claim.
    pub is_admin: bool,
}

impl Sibling<'_> {
    /// The pods for which the claims are reserved, by name.
    pub fn pods(&self) -> BTreeSet<NamespacedName> {
        let reserved = self.claims.iter().flat_map(|claim| claim.reserving_pods());
        reserved.collect()
    }
}

/// The devices in use beside those that the proposed taints of `impact` select, by name.
pub fn siblings<'a>(snapshot: &'a Snapshot, impact: &Impact<'_>) -> Vec<Sibling<'a>> {
    let selected: BTreeSet<&DeviceId> = impact.devices.iter().map(|device| &device.id).collect();
    let mut beside = sharing_by_device(snapshot, &selected);
    let evicted = claims_of(impact, |verdict| matches!(verdict, Verdict::Evicted { .. }));
    let terminating = claims_of(impact, |verdict| *verdict == Verdict::Terminating);
    let leaving = impact.pods.iter().filter(|pod| match pod.verdict {
        Verdict::Evicted { .. } | Verdict::Terminating => true,
        Verdict::Tolerates | Verdict::NotEvicted(_) => false,
    });
    let leaving: BTreeSet<&Uid> = leaving.map(|pod| &pod.pod.uid).collect();
    // A claim of the same pods to another device goes with them.
    let is_released = |claim: &ResourceClaim| {
        let mut consumers = claim.reserved_for.iter().peekable();
        consumers.peek().is_some() && consumers.all(|it| leaving.contains(&it.uid))
    };
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
            } else if stays && !is_released(claim) {
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
        // A pod that stays on a shared device matters to those that leave it.
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

/// Returns the other devices among `selected` that share counters with one of `held`.
pub fn same_hardware(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
    held: &BTreeSet<&DeviceId>,
) -> BTreeSet<DeviceId> {
    if held.is_empty() || selected.len() < 2 {
        return BTreeSet::new();
    }
    let mut same: BTreeSet<DeviceId> = sharing_by_device(snapshot, held).into_keys().collect();
    same.retain(|id| selected.contains(id));
    same
}

/// The pods that use a part of each of `devices` as a device of its own, such as a partition, by name; devices
/// of which no part is in use so are left out.
pub fn users_beside(
    snapshot: &Snapshot,
    devices: &BTreeSet<&DeviceId>,
) -> BTreeMap<DeviceId, BTreeSet<NamespacedName>> {
    let mut holders: BTreeMap<&DeviceId, Vec<&ResourceClaim>> = BTreeMap::new();
    for claim in &snapshot.claims {
        // Admin access uses nothing.
        for result in claim.exclusive_results() {
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
        // A device with the first counter of a part has all of them if it is the whole.
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

/// Counters that the devices that are `meant` take, of those that take anything: most devices have no parts.
fn taken(
    snapshot: &Snapshot,
    meant: impl Fn(&DeviceId) -> bool,
) -> BTreeMap<DeviceId, Consumption<'_>> {
    let slices = current_slices(&snapshot.slices).into_iter();
    let devices = slices.flat_map(|slice| slice.devices.iter().map(move |device| (slice, device)));
    let taken = devices.filter_map(|(slice, device)| {
        let mut taken = consumption(device);
        // An amount that cannot be read may be some.
        taken.retain(|_, amount| *amount != Some(0));
        (!taken.is_empty()).then(|| (slice.id_of(device), taken))
    });
    taken.filter(|(id, _)| meant(id)).collect()
}

/// True if `part` takes less than `whole`, and all of it is of the same: an amount that cannot be read may be less.
fn is_part(part: &Consumption<'_>, whole: &Consumption<'_>) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::tests::{asks, id, name, terms, world};
    use crate::model::{CounterUse, DeviceTerms};
    use crate::testing;

    fn device(name: &str, counters: &[(&str, &str)]) -> Device {
        let counters = counters.iter();
        Device {
            terms: Some(Box::new(DeviceTerms {
                consumes: vec![CounterUse {
                    set: "card".into(),
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
        slice.terms = testing::card("80Gi");
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

    /// The world, with what devices 0 and 1 of pool a take of a counter.
    fn parted(takes: [&str; 2]) -> Snapshot {
        let mut snapshot = world();
        let devices = ["0", "1"].into_iter().zip(takes);
        let devices = devices.map(|(name, takes)| testing::drawing(name, takes));
        snapshot.slices[0].devices = devices.collect();
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
        // A device that takes nothing is no part.
        assert!(beside(&held(["80Gi", "0"]), "0").is_empty());
        // An amount that cannot be read may be less.
        assert_eq!(beside(&held(["80Gi", "much"]), "0").len(), 1);
        assert!(beside(&parted(["80Gi", "10Gi"]), "0").is_empty());
        // It does not matter if the part was asked about too.
        let both = [id("0"), id("1")];
        let users = users_beside(&held(["80Gi", "10Gi"]), &both.iter().collect());
        assert_eq!(users.keys().collect::<Vec<_>>(), [&both[0]]);
    }
}
