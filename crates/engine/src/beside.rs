//! Pods that use the hardware of tainted devices through other devices, such as partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::allocator::users_beside;
use super::impact::{Impact, ProposedTaint};
use super::selection::selected_of;
use super::semantics::Semantics;
use crate::model::{NamespacedName, ObjectName, Snapshot};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimSource, DeviceId, PodClaim};
    use crate::preview;
    use crate::testing::{claim_in_use, drawing, now, pod, proposed, semantics, slice};

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
            user.claims = vec![PodClaim {
                name: "gpu".into(),
                source: ClaimSource::Claim(claim.name.name.clone()),
            }];
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
}
