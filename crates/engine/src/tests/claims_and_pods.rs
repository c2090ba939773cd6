//! From claim to pod.

use super::world::{
    GPU_0, NOW, World, at, controller, group_reservation, one_pod, proposed, semantics,
};
use crate::model::ClaimSource;
use crate::{NotEvicted, Semantics, Verdict};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn evicted() -> Verdict {
    Verdict::Evicted { at: at(NOW) }
}

/// A pod of PodGroup `workers` whose claim is reserved for that group.
fn group_member() -> World {
    one_pod()
        .but_claim(|claim| claim.reserved_for = vec![group_reservation("workers")])
        .but_pod(|pod| pod.pod_group = Some("workers".into()))
}

#[test]
fn podgroup_reservation_does_not_count_while_its_gate_is_off() {
    assert_eq!(
        group_member().verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::PodGroupReservation)
    );
}

#[test]
fn claim_generated_for_the_podgroup_belongs_to_its_pods() {
    let world = group_member()
        .but_claim(|claim| {
            claim.controller = Some(controller(
                "scheduling.k8s.io/v1alpha2",
                "PodGroup",
                "workers",
                "uid-g",
            ));
        })
        .but_pod(|pod| {
            pod.claims[0].source = ClaimSource::Template {
                template: "template".into(),
                generated: Some("claim".into()),
            };
        });
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let on = Semantics::assumed().with_pod_groups();
    assert_eq!(world.preview_as(&taints, &on).pods[0].verdict, evicted());
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::NotOwned)
    );
}

/// The controller's condition is made from all pods, and compares UIDs alone; evictions begin at the
/// claim, whose consumers are looked up by name.
#[test]
fn pod_whose_uid_is_reserved_under_another_name_is_counted_and_not_evicted() {
    let world = one_pod().but_claim(|claim| claim.reserved_for[0].name = "another".into());
    let hidden = Verdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
    for minor in [35, 36, 37] {
        let verdict = world.verdict_as(GPU_0, MAINTENANCE, &semantics(minor));
        assert_eq!(verdict, hidden, "1.{minor}");
    }
    let taints = [proposed(GPU_0, MAINTENANCE)];
    assert_eq!(world.preview(&taints).rules[0].counts.pods, 1);
}
