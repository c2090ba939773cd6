//! Devices by selectors, effects, pools and generations.

use super::world::{GPU_0, World, one_pod, proposed};
use crate::{Origin, Semantics};
use crate::{devices, selection};

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
fn empty_selector_takes_every_device_and_says_so() {
    assert_eq!(selected(&two_drivers(), "*/*/*").len(), 4);
    let taints = [proposed("*/*/*", MAINTENANCE)];
    let world = two_drivers();
    assert_eq!(world.preview(&taints).warnings[0].code, "empty-selector");
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
