//! What upstream has no test for, with the answer that the real controller gives.

use super::world::{GPU_0, NOW, World, at, one_pod, proposed};
use crate::engine::{NotEvicted, Verdict};
use crate::model::{ConsumerReference, Phase};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn evicted() -> Verdict {
    Verdict::Evicted { at: at(NOW) }
}

#[test]
fn rule_without_selector_evicts_nobody() {
    let world = one_pod().rule("nil", "nil", "example.com/nil:NoExecute@10");
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        evicted(),
        "the rule's earlier time does not count"
    );
    let taints = [proposed("nil", MAINTENANCE)];
    let impact = world.preview(&taints);
    assert!(impact.pods.is_empty());
    assert_eq!(impact.rules[0].counts, crate::engine::Counts::default());
    assert!(
        impact
            .warnings
            .iter()
            .any(|warning| warning.code == "nil-selector")
    );
}

#[test]
fn empty_selector_evicts_everybody() {
    assert_eq!(one_pod().verdict("*/*/*", MAINTENANCE), evicted());
}

#[test]
fn toleration_without_effect_does_not_keep_a_pod() {
    let world = World::default()
        .claim("team/claim", &[GPU_0], &[":"])
        .pod("team/pod", &["claim"]);
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, evicted());
    assert!(
        impact.pods[0].tolerates_schedule_only,
        "the pod comes back and is evicted again"
    );
}

#[test]
fn a_toleration_without_effect_or_with_no_schedule_tolerates_no_schedule() {
    for (toleration, expected) in [
        (":", true),
        (":NoSchedule", true),
        (":NoExecute@60", false),
        ("example.com/other:", false),
    ] {
        let world = World::default()
            .claim("team/claim", &[GPU_0], &[toleration])
            .pod("team/pod", &["claim"]);
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let impact = world.preview(&taints);
        assert_eq!(
            impact.pods[0].tolerates_no_schedule, expected,
            "{toleration}"
        );
    }
}

#[test]
fn the_seconds_of_a_toleration_count_for_eviction_and_not_for_the_scheduler() {
    let returns = |tolerations: &[&str]| {
        let world = World::default()
            .claim("team/claim", &[GPU_0], tolerations)
            .pod("team/pod", &["claim"]);
        let taints = [proposed(GPU_0, MAINTENANCE)];
        world.preview(&taints).pods[0].tolerates_schedule_only
    };
    for tolerations in [&[":NoExecute@60"][..], &[":", ":NoExecute@60"]] {
        assert!(returns(tolerations), "{tolerations:?}");
    }
    // Who tolerates it forever is not evicted, and who does not is not scheduled there again.
    for tolerations in [
        &[":NoExecute"][..],
        &[":NoExecute@60", ":NoExecute"],
        &[],
        &[":NoSchedule"],
    ] {
        assert!(!returns(tolerations), "{tolerations:?}");
    }
}

#[test]
fn zero_and_negative_toleration_seconds_mean_at_once() {
    for toleration in [":NoExecute@0", ":NoExecute@-300"] {
        let world = World::default()
            .claim("team/claim", &[GPU_0], &[toleration])
            .pod("team/pod", &["claim"]);
        assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted(), "{toleration}");
    }
}

#[test]
fn overflowing_toleration_seconds_are_already_over() {
    let world = World::default()
        .claim("team/claim", &[GPU_0], &[":NoExecute@9223372037"])
        .pod("team/pod", &["claim"]);
    let Verdict::Evicted { at: when } = world.verdict(GPU_0, MAINTENANCE) else {
        panic!("a finite toleration does not keep a pod");
    };
    assert!(when < at(NOW));
}

#[test]
fn succeeded_and_failed_pods_that_are_still_reserved_are_deleted_and_counted() {
    for phase in [Phase::Succeeded, Phase::Failed] {
        let world = one_pod().but_pod(|pod| pod.phase = phase.clone());
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let impact = world.preview(&taints);
        assert_eq!(impact.pods[0].verdict, evicted(), "{phase:?}");
        assert_eq!(impact.rules[0].counts.pods, 1, "{phase:?}");
    }
}

#[test]
fn administrative_access_spares_nobody() {
    let world = one_pod().but_claim(|claim| {
        let allocation = claim.allocation.as_mut().expect("allocated");
        allocation.results[0].admin_access = true;
    });
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn every_share_of_a_device_is_hit_and_counted() {
    let shared = |name: &str, world: World| {
        world
            .claim(&format!("team/{name}"), &[GPU_0], &[])
            .but_claim(|claim| {
                let allocation = claim.allocation.as_mut().expect("allocated");
                allocation.results[0].share_id = Some(format!("share-of-{name}"));
            })
            .pod(&format!("team/pod-{name}"), &[name])
    };
    let world = shared("b", shared("a", World::default()));
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(
        (impact.pods.len(), impact.rules[0].counts.allocated_devices),
        (2, 2)
    );
    assert_eq!(impact.devices.len(), 1, "one device, however many shares");
}

#[test]
fn incomplete_pool_counts_and_is_reported() {
    let mut world = one_pod();
    world.snapshot.slices[0].pool.slice_count = 3;
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.rules[0].counts.published_devices, 1);
    assert_eq!(impact.warnings[0].code, "incomplete-pool");
}

/// As many slices as the first of them says, and fewer than another one says.
#[test]
fn slices_that_contradict_each_other_are_no_complete_pool() {
    for (counts, expected) in [
        ([2, 2], None),
        ([2, 3], Some("has 2 of 3 slices:")),
        (
            [2, 1],
            Some("has 2 slices, which does not match resourceSliceCount:"),
        ),
    ] {
        let mut world = one_pod().slice("gpu.example.com/node-a", &[("gpu-9", &[])]);
        for (slice, count) in world.snapshot.slices.iter_mut().zip(counts) {
            slice.pool.slice_count = count;
        }
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let warnings = world.preview(&taints).warnings;
        match expected {
            Some(expected) => assert!(warnings[0].message.contains(expected), "{counts:?}"),
            None => assert!(warnings.is_empty(), "{counts:?}"),
        }
    }
}

#[test]
fn incomplete_pool_elsewhere_is_not_reported() {
    let mut world = one_pod().slice("gpu.example.com/node-b", &[("gpu-0", &[])]);
    world.snapshot.slices[1].pool.slice_count = 3;
    let taints = [proposed(GPU_0, MAINTENANCE)];
    assert!(world.preview(&taints).warnings.is_empty());
}

#[test]
fn duplicate_device_names_are_counted_twice_and_reported() {
    let mut world = one_pod().slice("gpu.example.com/node-a", &[("gpu-0", &[])]);
    for slice in &mut world.snapshot.slices {
        slice.pool.slice_count = 2;
    }
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.rules[0].counts.published_devices, 2);
    assert_eq!(impact.devices.len(), 1);
    assert_eq!(impact.warnings[0].code, "duplicate-device");
}

#[test]
fn extended_resource_pod_is_neither_evicted_nor_counted() {
    let world = one_pod().but_pod(|pod| {
        pod.claims.clear();
        pod.extended_resource_claim = Some("claim".into());
    });
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(
        impact.pods[0].verdict,
        Verdict::NotEvicted(NotEvicted::ExtendedResource)
    );
    assert_eq!(impact.rules[0].counts.pods, 0);
    assert_eq!(
        impact.rules[0].counts.allocated_devices, 1,
        "its claim is allocated all the same"
    );
}

#[test]
fn stale_reservation_before_a_pod_does_not_hide_it_since_1_36() {
    let world = one_pod().but_claim(|claim| {
        claim.reserved_for.insert(
            0,
            ConsumerReference {
                api_group: "".into(),
                resource: "pods".into(),
                name: "gone".into(),
                uid: "uid-gone".into(),
            },
        );
    });
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), evicted());
}

#[test]
fn unresolvable_claim_reference_is_skipped() {
    let world = one_pod().but_pod(|pod| pod.claims[0].source = crate::model::ClaimSource::Unknown);
    assert!(
        world
            .preview(&[proposed(GPU_0, MAINTENANCE)])
            .pods
            .is_empty()
    );
}
