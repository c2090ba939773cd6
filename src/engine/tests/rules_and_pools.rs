//! Which devices: selectors, effects, pools and generations.

use super::world::{GPU_0, NOW, World, at, one_pod, proposed};
use crate::engine::{NotEvicted, Verdict, devices, selection};
use crate::engine::{Origin, Semantics};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn selected(world: &World, selects: &str) -> Vec<String> {
    let taints = [proposed(selects, MAINTENANCE)];
    let impact = world.preview(&taints);
    let found: Vec<String> = impact
        .devices
        .iter()
        .map(|device| device.id.to_string())
        .collect();
    let selection = selection(&world.snapshot, &taints, &Semantics::assumed());
    let alone: Vec<String> = selection.devices.iter().map(ToString::to_string).collect();
    assert_eq!(alone, found, "which devices depends on no pods and no time");
    assert_eq!(selection.counts, [found.len()]);
    found
}

fn two_drivers() -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("dev-0", &[]), ("dev-1", &[])])
        .slice("gpu.example.com/node-b", &[("dev-0", &[])])
        .slice("nic.example.com/node-a", &[("dev-0", &[])])
}

#[test]
fn empty_cluster_gives_an_empty_answer() {
    let taints = [proposed("*/*/*", MAINTENANCE)];
    let world = World::default();
    let impact = world.preview(&taints);
    assert!(impact.pods.is_empty() && impact.devices.is_empty());
    assert_eq!(impact.rules[0].counts, crate::engine::Counts::default());
}

#[test]
fn selector_takes_every_device_that_each_given_field_equals() {
    for (selects, expected) in [
        (
            "gpu.example.com/*/*",
            &[
                "gpu.example.com/node-a/dev-0",
                "gpu.example.com/node-a/dev-1",
                "gpu.example.com/node-b/dev-0",
            ][..],
        ),
        (
            "*/node-a/*",
            &[
                "gpu.example.com/node-a/dev-0",
                "gpu.example.com/node-a/dev-1",
                "nic.example.com/node-a/dev-0",
            ],
        ),
        ("*/*/dev-1", &["gpu.example.com/node-a/dev-1"]),
        (
            "gpu.example.com/*/dev-0",
            &[
                "gpu.example.com/node-a/dev-0",
                "gpu.example.com/node-b/dev-0",
            ],
        ),
        ("nic.example.com/node-b/*", &[]),
        ("GPU.example.com/*/*", &[]),
        ("nil", &[]),
    ] {
        assert_eq!(selected(&two_drivers(), selects), expected, "{selects}");
    }
}

#[test]
fn empty_selector_takes_every_device_and_says_so() {
    assert_eq!(selected(&two_drivers(), "*/*/*").len(), 4);
    let taints = [proposed("*/*/*", MAINTENANCE)];
    let world = two_drivers();
    assert_eq!(world.preview(&taints).warnings[0].code, "empty-selector");
}

#[test]
fn tainted_claim_through_rule_without_any_slice() {
    let mut world = one_pod();
    world.snapshot.slices.clear();
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::Evicted { at: at(NOW) }
    );
}

#[test]
fn no_evict_other_device() {
    let world = one_pod();
    assert!(
        world
            .preview(&[proposed("*/*/gpu-1", MAINTENANCE)])
            .pods
            .is_empty()
    );
}

#[test]
fn no_schedule_taint_evicts_nobody() {
    let world = one_pod();
    let taints = [proposed(GPU_0, "example.com/maintenance:NoSchedule")];
    let impact = world.preview(&taints);
    assert_eq!(
        impact.pods[0].verdict,
        Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict)
    );
    assert_eq!(impact.rules[0].counts.pods, 0);
    assert_eq!(impact.rules[0].counts.allocated_devices, 1);
}

#[test]
fn ignore_none_effect() {
    assert_eq!(
        one_pod().verdict(GPU_0, "example.com/maintenance:None"),
        Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict)
    );
}

#[test]
fn ignore_unknown_effect() {
    assert_eq!(
        one_pod().verdict(GPU_0, "example.com/maintenance:NoExecuteSoftly"),
        Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict)
    );
}

#[test]
fn older_pool_generation_is_ignored() {
    let world = World::default()
        .slice_of(
            "gpu.example.com/node-a",
            1,
            &[("gpu-0", &["example.com/old:NoExecute@10"]), ("gone", &[])],
        )
        .slice_of("gpu.example.com/node-a", 2, &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], &[])
        .pod("team/pod", &["claim"]);
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::Evicted { at: at(NOW) }
    );
    assert_eq!(selected(&world, "gpu.example.com/*/*"), [GPU_0]);
}

#[test]
fn generations_are_counted_for_each_driver_and_pool() {
    let world = World::default()
        .slice_of("gpu.example.com/node-a", 1, &[("gpu-0", &[])])
        .slice_of("gpu.example.com/node-b", 7, &[("gpu-0", &[])])
        .slice_of("nic.example.com/node-a", 9, &[("nic-0", &[])]);
    assert_eq!(selected(&world, "*/*/*").len(), 3);
}

#[test]
fn negative_generations_are_generations_too() {
    let world = World::default()
        .slice_of("gpu.example.com/node-a", -5, &[("old", &[])])
        .slice_of("gpu.example.com/node-a", -3, &[("new", &[])]);
    assert_eq!(selected(&world, "*/*/*"), ["gpu.example.com/node-a/new"]);
}

#[test]
fn cancel_eviction_when_the_slice_with_the_taint_goes() {
    let tainted = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[("gpu-0", &["example.com/hot:NoExecute@10"])],
        )
        .claim(
            "team/claim",
            &[GPU_0],
            &[":NoExecute@10000", "example.com/maintenance:NoExecute"],
        )
        .pod("team/pod", &["claim"]);
    let mut cancelled = tainted.clone();
    cancelled.snapshot.slices.clear();
    for (world, foreign) in [(tainted, true), (cancelled, false)] {
        let taints = [proposed(GPU_0, MAINTENANCE)];
        let impact = world.preview(&taints);
        assert_eq!(impact.pods[0].verdict, Verdict::Tolerates);
        assert_eq!(impact.pods[0].has_foreign_cause(), foreign);
    }
}

#[test]
fn cancel_eviction_reduce_taint() {
    let world = one_pod().rule("reduced", GPU_0, "example.com/hot:NoSchedule@10");
    assert_eq!(
        world.verdict(GPU_0, MAINTENANCE),
        Verdict::Evicted { at: at(NOW) }
    );
}

#[test]
fn considered_taint_stands_in_for_the_rule_it_names() {
    let world = one_pod().rule("drain", GPU_0, "example.com/drain:NoExecute@10");
    let mut taint = proposed(GPU_0, "example.com/drain:NoExecute@1000");
    taint.rule = Some("drain".into());
    let taints = [taint];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, Verdict::Evicted { at: at(NOW) });
    assert!(!impact.pods[0].has_foreign_cause());
    assert!(impact.devices[0].taints.is_empty());
}

#[test]
fn merge_taints_puts_the_drivers_first_and_rules_after_by_name() {
    let world = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[("gpu-0", &["example.com/b:NoSchedule", "example.com/a:None"])],
        )
        .rule("z", "*/*/*", "example.com/z:NoSchedule")
        .rule("a", GPU_0, "example.com/a:NoExecute");
    let states = devices(&world.snapshot, &Semantics::assumed());
    let slice = &world.snapshot.slices[0].name;
    let taints: Vec<_> = states[0]
        .taints
        .iter()
        .map(|taint| (taint.origin, taint.taint.key.as_str()))
        .collect();
    assert_eq!(
        taints,
        [
            (Origin::ResourceSlice(slice), "example.com/b"),
            (Origin::ResourceSlice(slice), "example.com/a"),
            (Origin::Rule(&world.snapshot.rules[1].name), "example.com/a"),
            (Origin::Rule(&world.snapshot.rules[0].name), "example.com/z"),
        ]
    );
}

#[test]
fn device_list_shows_who_holds_what() {
    let world = one_pod()
        .claim("team/second", &[GPU_0], &[])
        .pod("team/other", &["second"]);
    let states = devices(&world.snapshot, &Semantics::assumed());
    assert_eq!(states.len(), 2);
    assert_eq!((states[0].allocations, states[1].allocations), (2, 0));
    let consumers: Vec<String> = states[0]
        .consumers
        .iter()
        .map(|consumer| consumer.name.to_string())
        .collect();
    assert_eq!(consumers, ["team/other", "team/pod"]);
    assert_eq!(states[0].node.map(|node| node.as_str()), Some("node-a"));
}

#[test]
fn device_that_only_another_rule_selects_is_not_part_of_the_answer() {
    let world = one_pod().rule("other", "gpu.example.com/node-a/gpu-1", MAINTENANCE);
    assert_eq!(selected(&world, GPU_0), [GPU_0]);
}

#[test]
fn every_claim_that_holds_a_device_is_named_with_it_once() {
    let world = one_pod().claim("team/twice", &[GPU_0, GPU_0], &[]);
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    let names: Vec<String> = impact.devices[0]
        .claims
        .iter()
        .map(|claim| claim.name.to_string())
        .collect();
    assert_eq!(names, ["team/claim", "team/twice"]);
}

#[test]
fn warning_about_a_missing_selector_says_whose_it_is_and_what_it_means() {
    let world = one_pod().rule("nil", "nil", "example.com/nil:NoSchedule");
    let taints = [proposed("nil", MAINTENANCE)];
    let impact = world.preview(&taints);
    let messages: Vec<&str> = impact
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    for whose in [
        "the proposed taint example.com/maintenance:NoExecute has no selector",
        "rule nil has no selector",
    ] {
        let is_it =
            |message: &&str| message.starts_with(whose) && message.contains("it evicts no pods");
        assert!(messages.iter().any(is_it), "{whose}: {messages:?}");
    }
}

#[test]
fn each_selector_counts_its_own_devices() {
    let world = two_drivers();
    let taints = ["gpu.example.com/*/*", "*/*/dev-7", "*/node-a/dev-0"]
        .map(|selects| proposed(selects, MAINTENANCE));
    let selection = selection(&world.snapshot, &taints, &Semantics::assumed());
    assert_eq!(selection.counts, [3, 0, 2]);
    assert_eq!(selection.devices.len(), 4);
}
