//! Devices of the cluster with their users.

use foldhash::{HashMap, HashMapExt};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::devices::{Allocated, DeviceTable};
use super::impact::DeviceTaint;
use super::preview::{existing_rules, taints_of};
use super::select::{DeviceKey, RuleIndex};
use super::semantics::Semantics;
use crate::model::{
    ConsumerReference, Device, DeviceId, NamespacedName, NodeName, ResourceClaim, Snapshot, Uid,
};

/// One device as the cluster is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceState<'a> {
    /// The device.
    pub id: DeviceId,
    /// Its node, when it is local to one.
    pub node: Option<&'a NodeName>,
    /// True if a slice of the pool's newest generation has it; an allocated device need not be.
    pub published: bool,
    /// The device as its driver publishes it; attributes and capacities only where they were read.
    pub device: Option<&'a Device>,
    /// Number of allocation results that name it; shares and administrative access count.
    pub allocations: usize,
    /// Number of them for administrative access, which takes the device from no claim.
    pub administrative: usize,
    /// Its taints, the driver's first, then the rules' by name.
    pub taints: Vec<DeviceTaint<'a>>,
    /// The claims that hold it, by namespace and name, each once.
    pub claims: Vec<&'a ResourceClaim>,
    /// Those of the claims that hold it for administration only, in the same order.
    pub admin_claims: Vec<&'a ResourceClaim>,
    /// The consumers that those claims are reserved for, by namespace and name, each once; mostly
    /// pods. They are named in the claims, so that no pod has to be read.
    pub consumers: Vec<Consumer<'a>>,
}

/// Consumer for which a claim is reserved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Consumer<'a> {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Plural, such as `pods` or `podgroups`.
    pub resource: &'a str,
    /// Distinguishes it from a later object of the same name.
    pub uid: &'a Uid,
    /// True if it uses the device for administration only.
    pub admin: bool,
}

impl Consumer<'_> {
    /// True if it is a pod, and not a whole PodGroup.
    pub fn is_pod(&self) -> bool {
        self.resource == "pods"
    }
}

impl fmt::Display for Consumer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource {
            "pods" => write!(formatter, "{}", self.name),
            other => write!(formatter, "{other}:{}", self.name),
        }
    }
}

impl DeviceState<'_> {
    /// True if no claim holds it; one with administrative access only leaves it free.
    pub fn is_free(&self) -> bool {
        self.allocations == self.administrative
    }
}

/// Every device of the cluster, published or allocated, by name, as it is now.
pub fn devices<'a>(snapshot: &'a Snapshot, semantics: &Semantics) -> Vec<DeviceState<'a>> {
    let rules = RuleIndex::new(existing_rules(snapshot, &[]).collect(), semantics);
    let table = DeviceTable::new(&snapshot.slices, &snapshot.claims, &rules);
    let mut holders: HashMap<u32, Vec<Allocated<'a>>> = HashMap::new();
    for allocated in &table.allocated {
        holders
            .entry(allocated.device)
            .or_default()
            .push(*allocated);
    }
    let mut states = Vec::with_capacity(table.entries.len());
    for place in table.sorted(|_| true) {
        let entry = table.entry(place);
        let held = holders.remove(&place).unwrap_or_default();
        let claims = claims_of(held.iter());
        let working = claims_of(held.iter().filter(|held| !held.result.admin_access));
        let is_admin =
            |claim: &&ResourceClaim| !working.iter().any(|other| std::ptr::eq(*other, *claim));
        let admin_claims: Vec<_> = claims.iter().copied().filter(is_admin).collect();
        states.push(DeviceState {
            id: entry.id(),
            node: entry.node(),
            published: entry.published.is_some(),
            device: entry.published.map(|published| published.device),
            allocations: held.len(),
            administrative: held.iter().filter(|held| held.result.admin_access).count(),
            taints: taints_of(entry, &rules),
            consumers: consumers(&claims, &working),
            claims,
            admin_claims,
        });
    }
    states
}

/// The taints of each of these `devices`; of one that the inventory of `snapshot` lacks, those of the rules that select it.
/// Only a kubelet knows such a device: its driver publishes nothing, and no claim holds it any more.
pub fn taints_on<'a>(
    devices: &BTreeSet<DeviceId>,
    inventory: &[DeviceState<'a>],
    snapshot: &'a Snapshot,
    semantics: &Semantics,
) -> BTreeMap<DeviceId, Vec<DeviceTaint<'a>>> {
    let rules = RuleIndex::new(existing_rules(snapshot, &[]).collect(), semantics);
    let of_rules = |device: &DeviceId| {
        let key = DeviceKey {
            driver: device.driver.as_str(),
            pool: device.pool.as_str(),
            device: device.device.as_str(),
        };
        let matching = rules.matching(key).into_iter();
        matching
            .map(|place| rules.rule(place).as_device_taint())
            .collect()
    };
    let taints = |device: &DeviceId| {
        let state = inventory.iter().find(|state| state.id == *device);
        state.map_or_else(|| of_rules(device), |state| state.taints.clone())
    };
    let each = devices.iter();
    each.map(|device| (device.clone(), taints(device)))
        .collect()
}

/// The claims of these allocations by name, each once.
fn claims_of<'a, 'b>(held: impl Iterator<Item = &'b Allocated<'a>>) -> Vec<&'a ResourceClaim>
where
    'a: 'b,
{
    let mut claims: Vec<&'a ResourceClaim> = held.map(|held| held.claim).collect();
    claims.sort_by_key(|claim| &claim.name);
    claims.dedup_by_key(|claim| &claim.name);
    claims
}

/// Consumers of `claims`; for administration only if in none of the `working` ones.
fn consumers<'a>(claims: &[&'a ResourceClaim], working: &[&'a ResourceClaim]) -> Vec<Consumer<'a>> {
    let of = |claims: &[&'a ResourceClaim]| -> BTreeMap<(NamespacedName, &'a str), &'a Uid> {
        let reserved = claims.iter().flat_map(|claim| {
            claim
                .reserved_for
                .iter()
                .map(|found| (consumer(claim, found), &found.uid))
        });
        reserved.collect()
    };
    let working = of(working);
    let all = of(claims).into_iter();
    all.map(|(key, uid)| {
        let admin = !working.contains_key(&key);
        let (name, resource) = key;
        Consumer {
            name,
            resource,
            uid,
            admin,
        }
    })
    .collect()
}

fn consumer<'a>(
    claim: &ResourceClaim,
    reference: &'a ConsumerReference,
) -> (NamespacedName, &'a str) {
    let name = NamespacedName {
        namespace: claim.name.namespace.clone(),
        name: reference.name.clone(),
    };
    (name, &reference.resource)
}
