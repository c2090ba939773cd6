//! Where Kubernetes versions differ.

use super::world::{
    GPU_0, NOW, World, at, controller, name, one_pod, proposed, reservation, semantics,
};
use crate::engine::{NotEvicted, Semantics, Verdict};
use crate::model::Minor;

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn evicted() -> Verdict {
    Verdict::Evicted { at: at(NOW) }
}

#[test]
fn rule_without_selector_evicts_nobody() {
    for minor in [35, 36, 37] {
        let taints = [proposed("nil", MAINTENANCE)];
        let impact = one_pod().preview_as(&taints, &semantics(minor)).pods.len();
        assert_eq!(impact, 0, "1.{minor}");
    }
}

#[test]
fn allocated_device_without_slice_is_reached() {
    let mut world = one_pod();
    world.snapshot.slices.clear();
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn stale_reservation_hides_the_pods_behind_it_up_to_1_35() {
    for stale in [
        reservation(&name("team/gone"), "uid-gone"),
        reservation(&name("team/pod"), "uid-of-its-predecessor"),
    ] {
        let world = one_pod().but_claim(|claim| claim.reserved_for.insert(0, stale.clone()));
        let hidden = Verdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
        assert_eq!(world.verdict_as(GPU_0, MAINTENANCE, &semantics(35)), hidden);
        assert_eq!(
            world.verdict_as(GPU_0, MAINTENANCE, &semantics(36)),
            evicted()
        );
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let impact = world.preview_as(&taints, &semantics(35));
        assert_eq!(
            impact.rules[0].counts.pods, 1,
            "the status counts it all the same"
        );
    }
}

#[test]
fn stale_reservation_behind_a_pod_or_in_another_claim_does_not_hide_it() {
    let behind = one_pod().but_claim(|claim| {
        claim
            .reserved_for
            .push(reservation(&name("team/gone"), "uid-gone"))
    });
    assert_eq!(
        behind.verdict_as(GPU_0, MAINTENANCE, &semantics(35)),
        evicted()
    );
    let other = World::default()
        .claim("team/hiding", &[GPU_0], &[])
        .but_claim(|claim| {
            claim
                .reserved_for
                .push(reservation(&name("team/gone"), "uid-gone"))
        })
        .claim("team/plain", &[GPU_0], &[])
        .pod("team/pod", &["hiding", "plain"]);
    assert_eq!(
        other.verdict_as(GPU_0, MAINTENANCE, &semantics(35)),
        evicted()
    );
}

/// A pod that a stale reservation hides in its tainted claim, with a second claim that holds `other`.
fn hidden_pod_with_a_second_claim(other: &str) -> World {
    World::default()
        .slice(
            "gpu.example.com/node-a",
            &[
                ("gpu-0", &[]),
                ("gpu-1", &[]),
                ("gpu-9", &["example.com/broken:NoExecute@500"]),
            ],
        )
        .claim("team/hiding", &[GPU_0], &[])
        .but_claim(|claim| {
            claim
                .reserved_for
                .push(reservation(&name("team/gone"), "uid-gone"))
        })
        .claim("team/second", &[other], &[])
        .pod("team/pod", &["hiding", "second"])
}

#[test]
fn claim_that_nothing_taints_brings_a_hidden_pod_to_light() {
    let world = hidden_pod_with_a_second_claim("gpu.example.com/node-a/gpu-1");
    assert_eq!(
        world.verdict_as(GPU_0, MAINTENANCE, &semantics(35)),
        evicted()
    );
}

#[test]
fn claim_that_a_driver_taints_does_not_bring_a_hidden_pod_to_light() {
    let world = hidden_pod_with_a_second_claim("gpu.example.com/node-a/gpu-9");
    let hidden = Verdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
    assert_eq!(world.verdict_as(GPU_0, MAINTENANCE, &semantics(35)), hidden);
}

#[test]
fn claim_that_the_rule_taints_too_brings_a_hidden_pod_to_light() {
    let world = hidden_pod_with_a_second_claim("gpu.example.com/node-a/gpu-1");
    let verdict = world.verdict_as("gpu.example.com/*/*", MAINTENANCE, &semantics(35));
    assert_eq!(verdict, evicted());
}

#[test]
fn extended_resource_pods_are_evicted_since_1_37_2_when_the_claim_is_theirs() {
    let world = one_pod()
        .but_claim(|claim| claim.controller = Some(controller("v1", "Pod", "pod", "uid-team/pod")))
        .but_pod(|pod| {
            pod.claims.clear();
            pod.extended_resource_claim = Some("claim".into());
        });
    let patch = |patch| {
        Semantics::of(Minor {
            minor: 37,
            patch: Some(patch),
        })
        .expect("known")
    };
    let spared = Verdict::NotEvicted(NotEvicted::ExtendedResource);
    assert_eq!(world.verdict_as(GPU_0, MAINTENANCE, &patch(1)), spared);
    assert_eq!(world.verdict_as(GPU_0, MAINTENANCE, &patch(2)), evicted());
    let foreign = world.but_claim(|claim| claim.controller = None);
    assert_eq!(
        foreign.verdict_as(GPU_0, MAINTENANCE, &patch(2)),
        Verdict::NotEvicted(NotEvicted::NotOwned)
    );
}

#[test]
fn toleration_without_effect_prevents_evictions_since_1_38() {
    for (tolerations, of_1_38) in [
        (&[":"][..], Verdict::Tolerates),
        (&["example.com/maintenance:"], Verdict::Tolerates),
        (&[":@60"], Verdict::Evicted { at: at(NOW + 60) }),
        (&["example.com/other:"], evicted()),
        (&[":NoSchedule"], evicted()),
    ] {
        let world = World::default()
            .claim("team/claim", &[GPU_0], tolerations)
            .pod("team/pod", &["claim"]);
        let verdict = |minor| world.verdict_as(GPU_0, MAINTENANCE, &semantics(minor));
        assert_eq!(verdict(37), evicted(), "{tolerations:?}");
        assert_eq!(verdict(38), of_1_38, "{tolerations:?}");
    }
}
