//! Devices that pending claims may get although they are tainted.

use std::collections::BTreeSet;

use super::world::{GPU_0, World, device_id, spec, with_template};
use crate::engine::tolerant::takeable;
use crate::engine::{ProposedTaint, Semantics, preview};
use crate::model::{DeviceId, DeviceSelector};

#[test]
fn a_device_that_a_waiting_claim_may_get_is_not_known_to_become_free() {
    let taint = crate::engine::testing::untimed("example.com/broken:NoExecute");
    let now = crate::engine::testing::now();
    let selector = DeviceSelector::from(device_id(GPU_0));
    let proposed = [ProposedTaint::hypothetical(selector, taint, now)];
    let taken = |class: &str, tolerations: &[&str], is_waiting: bool| {
        let world =
            World::default().slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])]);
        let mut world = with_template(world, spec("gpu.example.com", &[":"]));
        if is_waiting {
            world = world.claim_of("ml/waits", None);
            world.snapshot.claims[0].spec = Some(spec(class, tolerations));
        }
        let impact = preview(&world.snapshot, &proposed, now, &Semantics::assumed());
        takeable(&world.snapshot, &impact)
    };
    let gpu_0: BTreeSet<DeviceId> = [device_id(GPU_0)].into();
    for (class, tolerations, is_waiting, expected) in [
        ("gpu.example.com", &[":"][..], true, &gpu_0),
        (
            "gpu.example.com",
            &["example.com/broken:NoExecute"],
            true,
            &gpu_0,
        ),
        (
            "gpu.example.com",
            &["example.com/broken:NoSchedule"],
            true,
            &BTreeSet::new(),
        ),
        ("gpu.example.com", &[], true, &BTreeSet::new()),
        ("nic.example.com", &[":"], true, &BTreeSet::new()),
        // Templates alone wait for nothing.
        ("gpu.example.com", &[":"], false, &BTreeSet::new()),
    ] {
        let found = taken(class, tolerations, is_waiting);
        assert_eq!(&found, expected, "{class} {tolerations:?} {is_waiting}");
    }
}
