//! Where Kubernetes versions differ.

use super::world::{GPU_0, NOW, World, at, name, reservation, semantics};
use crate::{NotEvicted, Verdict};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn evicted() -> Verdict {
    Verdict::Evicted { at: at(NOW) }
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
