//! Counts that the controller writes into a rule's condition.

use super::world::{GPU_0, World, at, one_pod, proposed};
use crate::model::DriverName;
use crate::usage;

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

#[test]
fn pods_on_their_way_out_are_counted_apart_for_every_rule_that_selects_their_devices() {
    let world = one_pod().but_pod(|pod| {
        pod.deletion = Some(crate::testing::deletion(at(50), None));
    });
    let taints = [
        proposed(GPU_0, "example.com/maintenance:NoSchedule"),
        proposed("gpu.example.com/node-a/gpu-1", MAINTENANCE),
        proposed("*/*/*", MAINTENANCE),
    ];
    let impact = world.preview(&taints);
    let found: Vec<_> = impact
        .rules
        .iter()
        .map(|rule| (rule.counts.pods, rule.terminating))
        .collect();
    assert_eq!(found, [(0, 1), (0, 0), (0, 1)]);
}

#[test]
fn a_share_is_taken_of_what_is_there_and_of_what_is_held() {
    let mut world = one_pod();
    let drivers = [DriverName::from("gpu.example.com")].into();
    let devices = |world: &World| usage(&world.snapshot, &drivers).devices;
    assert_eq!(devices(&world), 2);
    let mut newer = world.snapshot.slices[0].clone();
    newer.name = "newer".into();
    newer.pool.generation += 1;
    newer.devices.clear();
    world.snapshot.slices.push(newer);
    assert_eq!(devices(&world), 1, "the one that a claim holds");
}
