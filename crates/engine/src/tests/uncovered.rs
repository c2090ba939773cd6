//! Cases without an upstream test, with the answer that the real controller gives.

use super::world::{GPU_0, one_pod, proposed};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

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
