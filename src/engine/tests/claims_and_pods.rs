//! Which pods: from claim to pod.

use super::world::{
    GPU_0, NOW, World, at, controller, group_reservation, name, one_pod, proposed, reservation,
    semantics,
};
use crate::engine::{NotEvicted, Semantics, Verdict};
use crate::model::{ClaimSource, Deletion};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn evicted() -> Verdict {
    Verdict::Evicted { at: at(NOW) }
}

/// A pod whose claim was generated from a template for the pod with UID `owner`.
fn generated_for(owner: &str) -> World {
    one_pod()
        .but_claim(|claim| claim.controller = Some(controller("v1", "Pod", "pod", owner)))
        .but_pod(|pod| {
            pod.claims[0].source = ClaimSource::Template {
                template: "template".into(),
                generated: Some("claim".into()),
            };
        })
}

/// A pod of PodGroup `workers` whose claim is reserved for that group.
fn group_member() -> World {
    one_pod()
        .but_claim(|claim| claim.reserved_for = vec![group_reservation("workers")])
        .but_pod(|pod| pod.pod_group = Some("workers".into()))
}

#[test]
fn evict_pod_resourceclaim() {
    assert_eq!(one_pod().verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn evict_pod_resourceclaimtemplate() {
    assert_eq!(
        generated_for("uid-team/pod").verdict(GPU_0, MAINTENANCE),
        evicted()
    );
}

#[test]
fn no_evict_pod_resourceclaimtemplate_no_status() {
    let world = generated_for("uid-team/pod").but_pod(|pod| {
        pod.claims[0].source = ClaimSource::Template {
            template: "template".into(),
            generated: None,
        }
    });
    // The controller skips the claim; it holds the device for the pod all the same.
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::ClaimNotInStatus)
    );
}

#[test]
fn no_evict_pod_resourceclaimtemplate_no_claim() {
    let mut world = generated_for("uid-team/pod");
    world.snapshot.claims.clear();
    assert!(
        world
            .preview(&[proposed(GPU_0, MAINTENANCE)])
            .pods
            .is_empty()
    );
}

#[test]
fn no_evict_wrong_resourceclaim() {
    assert_eq!(
        generated_for("uid-of-another-pod").verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::NotOwned)
    );
}

#[test]
fn evict_wrong_resourceclaim_replaced() {
    let world = generated_for("uid-of-another-pod")
        .but_claim(|claim| claim.controller = Some(controller("v1", "Pod", "pod", "uid-team/pod")));
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn claim_that_the_pod_names_itself_needs_no_owner() {
    let world =
        one_pod().but_claim(|claim| claim.controller = Some(controller("v1", "Pod", "x", "uid-x")));
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn no_evict_wrong_pod() {
    let world = one_pod().but_claim(|claim| {
        claim.reserved_for = vec![reservation(&name("team/pod"), "uid-of-its-predecessor")]
    });
    let taints = [proposed(GPU_0, MAINTENANCE)];
    assert!(
        world.preview(&taints).pods.is_empty(),
        "it does not use the claim"
    );
}

#[test]
fn evict_wrong_pod_replaced() {
    let world = one_pod()
        .but_claim(|claim| claim.reserved_for = vec![reservation(&name("team/pod"), "uid-new")])
        .but_pod(|pod| pod.uid = "uid-new".into());
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn no_evict_pod_not_scheduled() {
    let world = one_pod().but_pod(|pod| pod.node = None);
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::NotScheduled)
    );
}

#[test]
fn evict_pod_after_scheduling() {
    let world = one_pod()
        .but_pod(|pod| pod.node = None)
        .but_pod(|pod| pod.node = Some("node-a".into()));
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn no_evict_resourceclaim_deallocated() {
    let world = one_pod().but_claim(|claim| claim.allocation = None);
    assert!(
        world
            .preview(&[proposed(GPU_0, MAINTENANCE)])
            .pods
            .is_empty()
    );
}

#[test]
fn no_evict_resourceclaim_deleted() {
    let mut world = one_pod();
    world.snapshot.claims.clear();
    assert!(
        world
            .preview(&[proposed(GPU_0, MAINTENANCE)])
            .pods
            .is_empty()
    );
}

#[test]
fn claim_of_the_same_name_in_another_namespace_is_another_claim() {
    let world = one_pod().claim("other/claim", &["gpu.example.com/node-a/gpu-1"], &[]);
    assert!(
        world
            .preview(&[proposed("*/*/gpu-1", MAINTENANCE)])
            .pods
            .is_empty()
    );
}

#[test]
fn evict_pod_resourceclaim_podgroup() {
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let on = Semantics::assumed().with_pod_groups();
    assert_eq!(
        group_member().preview_as(&taints, &on).pods[0].verdict,
        evicted()
    );
}

#[test]
fn podgroup_reservation_does_not_count_while_its_gate_is_off() {
    assert_eq!(
        group_member().verdict(GPU_0, MAINTENANCE),
        Verdict::NotEvicted(NotEvicted::PodGroupReservation)
    );
}

#[test]
fn no_evict_pod_in_podgroup_without_claim() {
    let world = group_member().but_pod(|pod| pod.claims.clear());
    let on = Semantics::assumed().with_pod_groups();
    assert!(
        world
            .preview_as(&[proposed(GPU_0, MAINTENANCE)], &on)
            .pods
            .is_empty()
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

#[test]
fn reservation_for_another_podgroup_does_not_count() {
    let world =
        group_member().but_claim(|claim| claim.reserved_for = vec![group_reservation("others")]);
    let on = Semantics::assumed().with_pod_groups();
    let taints = [proposed(GPU_0, MAINTENANCE)];
    assert!(world.preview_as(&taints, &on).pods.is_empty());
}

#[test]
fn terminating_pod_is_not_evicted_again_nor_counted() {
    let world = one_pod().but_pod(|pod| {
        pod.deletion = Some(Deletion {
            at: at(NOW + 30),
            grace_period_seconds: Some(30),
            finalizers: Vec::new(),
        });
    });
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, Verdict::Terminating);
    assert_eq!(impact.rules[0].counts.pods, 0);
}

#[test]
fn pod_that_uses_another_device_of_the_claim_is_listed_once_with_both() {
    let world = World::default()
        .claim("team/claim", &[GPU_0, "gpu.example.com/node-a/gpu-1"], &[])
        .pod("team/pod", &["claim"]);
    let taints = [proposed("gpu.example.com/*/*", MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods.len(), 1);
    assert_eq!(impact.pods[0].claims[0].results.len(), 2);
    assert_eq!(impact.pods[0].causes.len(), 2);
}

#[test]
fn claims_of_a_pod_that_hold_no_selected_device_count_for_the_time_only() {
    let world = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[("gpu-1", &["example.com/hot:NoExecute@10"])],
        )
        .claim("team/asked", &[GPU_0], &[])
        .claim("team/other", &["gpu.example.com/node-a/gpu-1"], &[])
        .pod("team/pod", &["asked", "other"]);
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, Verdict::Evicted { at: at(10) });
    assert_eq!(impact.pods[0].claims.len(), 1);
}

#[test]
fn claim_of_anything_but_the_podgroup_itself_is_not_generated_for_it() {
    for (api_version, kind, owner) in [
        ("scheduling.k8s.io/v1alpha2", "Job", "workers"),
        ("example.com/v1", "PodGroup", "workers"),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", "others"),
    ] {
        let world = group_member()
            .but_claim(|claim| {
                claim.controller = Some(controller(api_version, kind, owner, "uid-g"));
            })
            .but_pod(|pod| {
                pod.claims[0].source = ClaimSource::Template {
                    template: "template".into(),
                    generated: Some("claim".into()),
                };
            });
        let on = Semantics::assumed().with_pod_groups();
        assert_eq!(
            world.verdict_as(GPU_0, MAINTENANCE, &on),
            Verdict::NotEvicted(NotEvicted::NotOwned),
            "{api_version} {kind} {owner}"
        );
    }
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

#[test]
fn right_reservation_beside_one_under_another_name_leads_to_the_pod() {
    let world = one_pod().but_claim(|claim| {
        let mut wrong = claim.reserved_for[0].clone();
        wrong.name = "another".into();
        claim.reserved_for.insert(0, wrong);
    });
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn reservation_under_another_name_in_a_second_tainted_claim_hides_nobody() {
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])])
        .claim("team/one", &[GPU_0], &[])
        .claim("team/two", &["gpu.example.com/node-a/gpu-1"], &[])
        .pod("team/pod", &["one", "two"]);
    let renamed = |claim: &str| {
        let mut world = world.clone();
        world.claim_mut(claim).reserved_for[0].name = "another".into();
        world.verdict("gpu.example.com/*/*", MAINTENANCE)
    };
    assert_eq!(renamed("team/one"), evicted());
    assert_eq!(renamed("team/two"), evicted());
}
