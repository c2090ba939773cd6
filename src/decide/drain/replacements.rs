//! Search for other devices for the pods that a drain evicts.

use crate::assess::{Basis, Replacements};
use crate::engine::allocator::NodeFilter;
use crate::engine::{Impact, ProposedTaint};
use crate::model::Effect;

/// Devices that could replace those that the evicted pods of `impact` lose and their controllers need, while the rules of the drain taint the devices
/// of `proposed`; `by_taint`, effect NoExecute evicts pods, too.
///
/// Devices on nodes on which the pod cannot be scheduled replace none: cordoned ones, those with a taint that it does not
/// tolerate, and those that its node selector or affinity excludes.
///
/// A claim often tolerates NoExecute for some time, and NoSchedule not at all: the effect of a preview would let its
/// replacement take a device that the drain keeps free.
pub fn drain_replacements(
    impact: &Impact<'_>,
    proposed: &[ProposedTaint],
    by_taint: bool,
    basis: &Basis<'_>,
) -> Replacements {
    let taints = blocking_effects(by_taint).iter().flat_map(|effect| {
        let proposed = proposed.iter().cloned();
        proposed.map(|taint| taint.with_effect(effect, basis.now))
    });
    let taints: Vec<ProposedTaint> = taints.collect();
    Replacements::under(&taints, impact, NodeFilter::Tainted, basis).0
}

/// The effects that the rules of a drain have, one after the other: a replacement has to find a device under each.
fn blocking_effects(by_taint: bool) -> &'static [Effect] {
    if by_taint {
        &[Effect::NoSchedule, Effect::NoExecute]
    } else {
        &[Effect::NoSchedule]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::preview;
    use crate::engine::testing::{claim_in_use, node, pod, published, reading, semantics, slice};
    use crate::engine::testing::{device, now};
    use crate::model::{
        ClaimSource, ClaimSpec, DeviceClass, DeviceRequest, DeviceSelector, NodeRequirement,
        NodeSelector, NodeTaint, NodeTerm, Operator, Phase, Pod, PodClaim, Reading, RequestKind,
        Scheduling, SliceNodes, Toleration,
    };

    use crate::engine::testing::{terms, untimed};

    fn toleration(effect: Effect) -> Toleration {
        Toleration {
            key: String::new(),
            operator: Operator::Exists,
            value: String::new(),
            seconds: (effect == Effect::NoExecute).then_some(120),
            effect: Some(effect),
        }
    }

    /// True if the only device of the cluster could be given to a claim with this toleration again.
    fn is_placeable(effect: Effect, by_taint: bool) -> Option<bool> {
        let found = of_pod(&pod("ml", "notebook"), effect, by_taint);
        found.claims.first().and_then(|claim| claim.placeable)
    }

    /// Devices that could replace the only device of the cluster, which a claim of the pod with this toleration has.
    fn of_pod(pod: &Pod, effect: Effect, by_taint: bool) -> Replacements {
        found_in(&reading_of(pod, effect), by_taint)
    }

    fn place_reading() -> Reading {
        reading_of(&pod("ml", "notebook"), Effect::NoSchedule)
    }

    /// A cluster with one device, which a claim of the pod with this toleration has.
    fn reading_of(pod: &Pod, effect: Effect) -> Reading {
        let terms = terms("gpu", vec![toleration(effect)]);
        let mut pod = pod.clone();
        pod.phase = Phase::Running;
        let mut claim = claim_in_use(&pod);
        claim.spec = Some(
            ClaimSpec {
                requests: vec![DeviceRequest {
                    name: "gpu".into(),
                    kind: RequestKind::Exactly(terms),
                }],
                constraints: Vec::new(),
            }
            .into(),
        );
        pod.claims = vec![PodClaim {
            name: "gpu".into(),
            source: ClaimSource::Claim(claim.name.name.clone()),
        }];
        let mut reading = reading();
        let snapshot = &mut reading.snapshot;
        snapshot.nodes = vec![node("node-7")];
        snapshot.classes = vec![DeviceClass {
            name: "gpu".into(),
            expressions: vec!["device.driver == 'gpu.example.com'".to_owned()],
            extended_resource: None,
        }];
        snapshot.slices = vec![slice(vec![published("gpu-0", &[])])];
        snapshot.claims = vec![claim];
        snapshot.pods = vec![pod];
        reading
    }

    fn found_in(reading: &Reading, by_taint: bool) -> Replacements {
        let taint = untimed("devicetaint.dev/drain:NoExecute");
        let selector = DeviceSelector::from(device("gpu-0"));
        let proposed = [ProposedTaint::hypothetical(selector, taint, now())];
        let semantics = semantics(37);
        let impact = preview(&reading.snapshot, &proposed, now(), &semantics);
        let basis = Basis::new(reading, &semantics, now());
        drain_replacements(&impact, &proposed, by_taint, &basis)
    }

    #[test]
    fn a_device_on_a_cordoned_node_replaces_none() {
        let place = |cordoned: bool| {
            let mut reading = place_reading();
            reading.snapshot.nodes[0].unschedulable = cordoned;
            let found = found_in(&reading, false);
            found.claims.first().and_then(|claim| claim.placeable)
        };
        // Its claim tolerates the effect that the rules have, so that its own device is left for it.
        assert_eq!(place(false), Some(true));
        assert_eq!(place(true), Some(false));
        // A pool of two nodes is complete, whichever of them is cordoned.
        let mut both = reading_of(&pod("ml", "notebook"), Effect::NoExecute);
        let mut other = slice(vec![published("gpu-1", &[])]);
        other.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        let snapshot = &mut both.snapshot;
        snapshot.nodes.push(node("node-8"));
        snapshot.slices.push(other);
        for slice in &mut snapshot.slices {
            slice.pool.slice_count = 2;
        }
        for (cordoned, expected) in [(0, Some(true)), (1, Some(false))] {
            let mut reading = both.clone();
            reading.snapshot.nodes[cordoned].unschedulable = true;
            let found = found_in(&reading, false);
            assert_eq!(found.claims[0].placeable, expected, "{cordoned}");
        }
    }

    #[test]
    fn a_device_on_a_node_on_which_its_pod_cannot_be_scheduled_replaces_none() {
        let mut other = slice(vec![published("gpu-1", &[])]);
        other.name = "other".into();
        other.pool.name = "other".into();
        other.nodes = SliceNodes::One("node-8".into());
        let mut free = reading_of(&pod("ml", "notebook"), Effect::NoExecute);
        free.snapshot.slices.push(other);
        free.snapshot.nodes.push(node("node-8"));
        let placeable = |reading: &Reading| found_in(reading, false).claims[0].placeable;
        assert_eq!(placeable(&free), Some(true));
        let mut tainted = free.clone();
        tainted.snapshot.nodes[1].taints = vec![NodeTaint {
            key: "example.com/reserved".to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
            time_added: None,
        }];
        assert_eq!(placeable(&tainted), Some(false));
        let mut tolerating = tainted.clone();
        tolerating.snapshot.pods[0].scheduling = Some(Box::new(Scheduling {
            tolerations: vec![crate::engine::testing::toleration(":")],
            ..Scheduling::default()
        }));
        assert_eq!(placeable(&tolerating), Some(true));
        // As the pod of a DaemonSet, which insists on its node.
        let mut bound = free.clone();
        let own_node = NodeRequirement {
            key: "metadata.name".into(),
            operator: "In".into(),
            values: vec!["node-7".into()],
        };
        bound.snapshot.pods[0].scheduling = Some(Box::new(Scheduling {
            nodes: vec![NodeSelector {
                terms: vec![NodeTerm {
                    labels: Vec::new(),
                    fields: vec![own_node],
                }],
            }],
            ..Scheduling::default()
        }));
        assert_eq!(placeable(&bound), Some(false));
        assert_eq!(
            found_in(&bound, false).lines(),
            ["no replacement for claim ml/notebook-gpu: gpu needs 1, free 0 (other nodes: 1)"]
        );
    }

    #[test]
    fn a_replacement_is_blocked_by_the_effect_that_the_rules_really_have() {
        assert_eq!(is_placeable(Effect::NoExecute, false), Some(false));
        assert_eq!(is_placeable(Effect::NoSchedule, false), Some(true));
        assert_eq!(is_placeable(Effect::NoSchedule, true), Some(false));
    }
}
