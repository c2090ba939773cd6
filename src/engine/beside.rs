//! Pods that use the hardware of tainted devices through other devices, such as partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::allocator::users_beside;
use super::impact::Impact;
use super::proposed_taint::ProposedTaint;
use super::selection::selected_of;
use super::semantics::Semantics;
use crate::model::{NamespacedName, ObjectName, Snapshot};

/// How many pods use the hardware of each rule's devices through other devices, by the rule's name; rules of which there
/// are none may be left out. The rules are the `proposed` taints of `impact`.
#[must_use]
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
    let selected = selected_of(snapshot, proposed, semantics, &users.keys().collect());
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
