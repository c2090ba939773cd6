//! Devices of the cluster with their users.

use super::allocator::{parts_by_device, users_beside};
use super::devices::{Allocated, DeviceTable};
use super::impact::{DeviceTaint, Impact};
use super::preview::{existing_rules, taints_of};
use super::rule_lifecycle::is_blocked;
use super::select::{DeviceKey, ProposedTaint, RuleIndex, selected_of};
use super::semantics::Semantics;
use crate::model::{
    ConsumerReference, Device, DeviceId, NamespacedName, NodeName, ObjectName, ResourceClaim,
    Snapshot, Uid,
};
use foldhash::{HashMap, HashMapExt};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One device as the cluster is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
            let name = |found: &ConsumerReference| NamespacedName {
                namespace: claim.name.namespace.clone(),
                name: found.name.clone(),
            };
            let consumers = claim.reserved_for.iter();
            consumers.map(move |found| ((name(found), &*found.resource), &found.uid))
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

/// Number of pods that use the hardware of each rule's devices through other devices, by the rule's name; rules without
/// any may be left out. The rules are the `proposed` taints of `impact`.
pub fn pods_beside(
    snapshot: &Snapshot,
    proposed: &[ProposedTaint],
    impact: &Impact<'_>,
    semantics: &Semantics,
) -> BTreeMap<ObjectName, usize> {
    let devices = impact.devices.iter().map(|device| &device.id).collect();
    let users = users_beside(snapshot, &devices);
    if users.is_empty() {
        return BTreeMap::new();
    }
    // Of all devices, and not only of those with parts in use: a part is selected by itself, too.
    let selected = selected_of(snapshot, proposed, semantics, &devices);
    let rules = proposed.iter().zip(selected);
    let counts = rules.filter_map(|(taint, devices)| {
        let of_devices = impact.pods.iter().filter(|pod| {
            let mut held = pod.claims.iter().flat_map(|used| &used.results);
            held.any(|result| devices.contains(&result.device))
        });
        // A partition that the rule selects itself is no other device.
        let counted: BTreeSet<&NamespacedName> = of_devices.map(|pod| &pod.pod.name).collect();
        let pods: BTreeSet<&NamespacedName> = devices
            .iter()
            .filter_map(|device| users.get(device))
            .flatten()
            .filter(|pod| !counted.contains(pod))
            .collect();
        Some((taint.rule.clone()?, pods.len()))
    });
    counts.collect()
}

/// The partitions of each of the `selected` devices that are not selected themselves, and that neither a rule nor the
/// driver keeps from being allocated; devices without such partitions are left out.
pub fn open_parts(
    snapshot: &Snapshot,
    selected: &BTreeSet<&DeviceId>,
    semantics: &Semantics,
) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let mut parts = parts_by_device(snapshot, selected);
    // Few devices have any, and without one the inventory is not needed.
    if parts.is_empty() {
        return parts;
    }
    let all: BTreeSet<DeviceId> = parts.values().flatten().cloned().collect();
    let inventory = devices(snapshot, semantics);
    let taints = taints_on(&all, &inventory, snapshot, semantics);
    let is_open = |part: &DeviceId| !taints.get(part).is_some_and(|taints| is_blocked(taints));
    for parts in parts.values_mut() {
        parts.retain(is_open);
    }
    parts.retain(|_, parts| !parts.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceId, Effect, Taint};
    use crate::preview;
    use crate::testing::{
        TAINT, claim_in_use, device, drawing, now, pod, proposed, semantics, slice, uses,
    };

    /// Number of pods beside the devices of a rule that selects `device`, or the whole pool, where one pod uses each of
    /// `parts`.
    fn counted(device: Option<&str>, parts: &[&str]) -> Option<usize> {
        let mut snapshot = Snapshot {
            slices: vec![slice(vec![
                drawing("gpu-0", "80Gi"),
                drawing("gpu-0-mig-0", "40Gi"),
                drawing("gpu-0-mig-1", "40Gi"),
            ])],
            ..Snapshot::default()
        };
        for part in parts {
            let mut user = pod("team-a", part);
            let mut claim = claim_in_use(&user);
            let allocation = claim.allocation.as_mut().expect("an allocation");
            allocation.results[0].device = DeviceId {
                device: (*part).into(),
                ..allocation.results[0].device.clone()
            };
            user.claims = uses(claim.name.name.as_str());
            snapshot.pods.push(user);
            snapshot.claims.push(claim);
        }
        let mut rule = proposed(Some("drain"));
        let selector = rule.selector.as_mut().expect("a selector");
        selector.device = device.map(Into::into);
        let rules = [rule];
        let impact = preview(&snapshot, &rules, now(), &semantics(37));
        let counts = pods_beside(&snapshot, &rules, &impact, &semantics(37));
        counts.get(&ObjectName::from("drain")).copied()
    }

    #[test]
    fn a_pod_on_a_partition_that_the_rule_selects_itself_is_not_counted_again() {
        let both = ["gpu-0-mig-0", "gpu-0-mig-1"];
        assert_eq!(counted(Some("gpu-0"), &both), Some(2));
        assert_eq!(counted(None, &both), Some(0));
        assert_eq!(counted(Some("gpu-0"), &both[..1]), Some(1));
        assert_eq!(counted(None, &both[..1]), Some(0));
    }

    /// The open partitions of the card and of a half of it, where taints have this effect on the other half.
    fn open(selected: &[&str], effect: Effect) -> Vec<(String, usize)> {
        let mut other = drawing("half-1", "40Gi");
        other.taints = vec![Taint {
            effect,
            ..TAINT.clone()
        }];
        let devices = vec![drawing("card", "80Gi"), drawing("half-0", "40Gi"), other];
        let snapshot = Snapshot {
            slices: vec![slice(devices)],
            ..Snapshot::default()
        };
        let selected: Vec<DeviceId> = selected.iter().map(|name| device(name)).collect();
        let found = open_parts(&snapshot, &selected.iter().collect(), &semantics(37));
        let found = found.into_iter();
        found
            .map(|(whole, parts)| (whole.device.to_string(), parts.len()))
            .collect()
    }

    #[test]
    fn partitions_are_open_that_neither_the_question_nor_another_taint_closes() {
        let card = |parts| vec![("card".to_owned(), parts)];
        assert_eq!(open(&["card"], Effect::NoSchedule), card(1));
        assert_eq!(open(&["card"], Effect::NoExecute), card(1));
        assert_eq!(open(&["card"], Effect::None), card(2));
        assert_eq!(open(&["card", "half-0"], Effect::NoExecute), []);
        assert_eq!(open(&["card", "half-0"], Effect::None), card(1));
        assert_eq!(open(&["half-0"], Effect::None), []);
    }
}
