//! `list`, `describe` and `wait`.

use serde_json::json;

use super::support::{KEY, World};
use crate::harness::{ControlPlane, block_on};

#[test]
fn a_condition_about_an_earlier_state_is_marked() {
    let plane = ControlPlane::of(
        &crate::harness::Variant::default()
            .without_controllers()
            .without_scheduler(),
    );
    let world = block_on(World::new(plane));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}:NoExecute"));
    let note = || {
        let list = world.run(&format!("list {name} --no-headers")).ended(0);
        let words = list.stdout.split_whitespace().skip(5);
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(note(), "");
    let condition = |status: &str, generation: i64| {
        json!({"conditions": [{
            "type": "EvictionInProgress", "status": status, "reason": "PodsPendingEviction", "message": "",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]})
    };
    let reference = crate::harness::Reference::rule(&name);
    block_on(plane.patch_status(&reference, &condition("True", 1)));
    assert_eq!(note(), "evicting");
    block_on(plane.patch_status(&reference, &condition("False", 0)));
    assert_eq!(note(), "stale");
    world
        .run(&format!("wait {name} --for observed --timeout 1s"))
        .ended(5)
        .saying("generation 1");
    block_on(plane.patch_status(&reference, &condition("True", 1)));
    block_on(plane.force_delete_pod(&world.namespace, "train"));
    assert_eq!(note(), "done");
    let described = world.run(&format!("describe {name}")).ended(0).stdout;
    assert!(
        described.contains("but every pod that the rule evicts is gone or terminating"),
        "{described}"
    );
    world
        .run(&format!("wait {name} --for evicted --timeout 1s"))
        .ended(5)
        .saying("may be stale");
    block_on(plane.patch_status(&reference, &condition("False", 1)));
    world
        .run(&format!(
            "wait {name} --for evicted --timeout 20s --settle 1s"
        ))
        .ended(0);
}
