//! Devices in use on the same hardware.
//!
//! Devices that draw from the same counters are partitions of one device, and shares of a device are
//! parts of it: the hardware cannot be pulled for one of them alone.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{Consumption, CounterKey, consumption, sharing_by_device};
use crate::devices::current_slices;
use crate::impact::{Impact, Verdict};
use crate::model::{DeviceId, NamespacedName, ResourceClaim, Snapshot, Uid};

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
