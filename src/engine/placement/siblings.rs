//! Who else sits on the same hardware?
//!
//! Devices that draw from the same counters are partitions of one device, and shares of a device are
//! parts of it: whoever pulls the hardware because one of them is tainted hits the others too.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::quantity::amount;
use crate::engine::{Impact, Verdict};
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
}

impl Sibling<'_> {
    /// The pods for which the claims are reserved, by name.
    #[must_use]
    pub fn pods(&self) -> BTreeSet<NamespacedName> {
        let reserved = self.claims.iter().flat_map(|claim| {
            let pods = claim
                .reserved_for
                .iter()
                .filter(|one| &*one.resource == "pods");
            pods.map(|pod| NamespacedName {
                namespace: claim.name.namespace.clone(),
                name: pod.name.clone(),
            })
        });
        reserved.collect()
    }
}

/// A counter of a pool: driver, pool, set and name.
type CounterKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The devices in use beside those that the considered taints of `impact` select, by name.
#[must_use]
pub fn siblings<'a>(snapshot: &'a Snapshot, impact: &Impact<'_>) -> Vec<Sibling<'a>> {
    let selected: BTreeSet<&DeviceId> = impact.devices.iter().map(|device| &device.id).collect();
    let mut beside = partitions(snapshot, &selected);
    for id in &selected {
        beside
            .entry((*id).clone())
            .or_default()
            .insert((*id).clone());
    }
    let evicted = claims_of(impact, |verdict| matches!(verdict, Verdict::Evicted { .. }));
    let terminating = claims_of(impact, |verdict| *verdict == Verdict::Terminating);
    let mut holders: BTreeMap<&DeviceId, Vec<&'a ResourceClaim>> = BTreeMap::new();
    let mut left: BTreeSet<&DeviceId> = BTreeSet::new();
    for claim in &snapshot.claims {
        for result in claim.allocation.iter().flat_map(|found| &found.results) {
            let is_selected = selected.contains(&result.device);
            if is_selected && evicted.contains(&claim.name) {
                left.insert(&result.device);
            } else if is_selected && terminating.contains(&claim.name) {
                // They are on their way out whatever the taint does.
            } else if beside.contains_key(&result.device)
                && (!is_selected || result.share_id.is_some())
            {
                holders.entry(&result.device).or_default().push(claim);
            }
        }
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
        });
    }
    siblings
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
    for slice in newest(&snapshot.slices) {
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
        let pool = (slice.driver.as_str(), slice.pool.name.as_str());
        taken_of.map(move |(name, _)| (pool.0, pool.1, &*taken.set, &**name))
    })
}

/// The slices of each pool's newest generation.
fn newest(slices: &[ResourceSlice]) -> impl Iterator<Item = &ResourceSlice> {
    let mut newest: HashMap<(&str, &str), i64> = HashMap::default();
    for slice in slices {
        let known = newest.entry(pool_of(slice)).or_insert(i64::MIN);
        *known = slice.pool.generation.max(*known);
    }
    slices
        .iter()
        .filter(move |slice| newest.get(&pool_of(slice)) == Some(&slice.pool.generation))
}

fn pool_of(slice: &ResourceSlice) -> (&str, &str) {
    (slice.driver.as_str(), slice.pool.name.as_str())
}
