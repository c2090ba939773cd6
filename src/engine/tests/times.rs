//! When: tolerations and taints of several sources together.

use super::world::{GPU_0, NOW, World, at, one_pod, proposed};
use crate::engine::{Origin, Verdict};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

fn tolerating(tolerations: &[&str]) -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], tolerations)
        .pod("team/pod", &["claim"])
}

fn leaves_at(second: i64) -> Verdict {
    Verdict::Evicted { at: at(second) }
}

#[test]
fn evict_pod_rule() {
    assert_eq!(one_pod().verdict(GPU_0, MAINTENANCE), leaves_at(NOW));
}

#[test]
fn evict_pod_later() {
    let world = tolerating(&["example.com/maintenance:NoExecute@60"]);
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), leaves_at(NOW + 60));
}

#[test]
fn evict_pod_later_many() {
    let world = tolerating(&[
        "example.com/maintenance:NoExecute@300",
        "example.com/other:NoExecute@1",
        ":NoExecute@60",
        "example.com/maintenance:NoSchedule@2",
    ]);
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), leaves_at(NOW + 60));
}

#[test]
fn evict_pod_toleration_mismatch() {
    let world = tolerating(&["example.com/other:NoExecute"]);
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), leaves_at(NOW));
}

#[test]
fn no_evict_pod_toleration_forever() {
    let world = tolerating(&["example.com/maintenance:NoExecute"]);
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), Verdict::Tolerates);
}

#[test]
fn no_evict_pod_toleration_forever_many() {
    let world = tolerating(&[
        ":NoExecute@5",
        "example.com/maintenance:NoExecute",
        ":NoExecute@0",
    ]);
    assert_eq!(world.verdict(GPU_0, MAINTENANCE), Verdict::Tolerates);
}

#[test]
fn evict_pod_partial_toleration() {
    let world = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[("gpu-0", &["example.com/tolerated:NoExecute@10"])],
        )
        .claim("team/claim", &[GPU_0], &["example.com/tolerated:NoExecute"])
        .pod("team/pod", &["claim"]);
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, leaves_at(NOW));
    assert_eq!(
        impact.pods[0].causes.len(),
        1,
        "the tolerated taint is no cause"
    );
}

#[test]
fn evict_pod_many_taints() {
    let world = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[(
                "gpu-0",
                &[
                    "example.com/early:NoExecute@900",
                    "example.com/late:NoExecute@990",
                ],
            )],
        )
        .rule("rule-b", "*/node-a/*", "example.com/rule:NoExecute@950")
        .claim("team/claim", &[GPU_0], &[":NoExecute@100"])
        .pod("team/pod", &["claim"]);
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    let pod = &impact.pods[0];
    assert_eq!(pod.verdict, leaves_at(1_000), "the earliest time wins");
    let origins: Vec<(Origin<'_>, i64)> = pod
        .causes
        .iter()
        .map(|cause| (cause.origin, cause.at.as_second()))
        .collect();
    let slice = &world.snapshot.slices[0].name;
    assert_eq!(
        origins,
        [
            (Origin::ResourceSlice(slice), 1_000),
            (Origin::Rule(&world.snapshot.rules[0].name), 1_050),
            (Origin::ResourceSlice(slice), 1_090),
            (Origin::Proposed(0), 1_100),
        ],
        "every cause is kept, earliest first"
    );
    assert!(pod.has_foreign_cause());
}

#[test]
fn multiple_claims_different_rules() {
    let world = World::default()
        .claim("team/one", &[GPU_0], &[":NoExecute@50"])
        .claim("team/two", &["gpu.example.com/node-a/gpu-1"], &[])
        .pod("team/pod", &["one", "two"]);
    let first = proposed(GPU_0, "example.com/a:NoExecute@900");
    let second = proposed("*/*/gpu-1", "example.com/b:NoExecute@980");
    for taints in [[first.clone(), second.clone()], [second, first]] {
        let impact = world.preview(&taints);
        assert_eq!(
            impact.pods[0].verdict,
            leaves_at(950),
            "whatever the order of the rules"
        );
        assert_eq!(
            impact
                .rules
                .iter()
                .map(|rule| rule.counts.pods)
                .collect::<Vec<_>>(),
            [1, 1]
        );
    }
}

#[test]
fn eviction_change_taint() {
    let world = tolerating(&["example.com/maintenance=planned:NoExecute"]);
    assert_eq!(
        world.verdict(GPU_0, "example.com/maintenance=planned:NoExecute"),
        Verdict::Tolerates
    );
    assert_eq!(
        world.verdict(GPU_0, "example.com/maintenance=urgent:NoExecute"),
        leaves_at(NOW),
        "another value is not tolerated any more"
    );
}

#[test]
fn taint_added_in_the_future_evicts_then() {
    assert_eq!(
        one_pod().verdict(GPU_0, "example.com/maintenance:NoExecute@5000"),
        leaves_at(5_000)
    );
}

#[test]
fn another_rule_in_the_past_brings_the_eviction_forward() {
    let world = one_pod().rule("old", GPU_0, "example.com/old:NoExecute@10");
    assert_eq!(
        world.verdict(GPU_0, "example.com/maintenance:NoExecute@5000"),
        leaves_at(10)
    );
}

#[test]
fn pod_that_tolerates_the_taint_but_is_evicted_by_another_is_not_counted_for_it() {
    let world = tolerating(&["example.com/maintenance:NoExecute"]).rule(
        "old",
        GPU_0,
        "example.com/old:NoExecute@10",
    );
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    assert_eq!(impact.pods[0].verdict, Verdict::Tolerates);
    assert!(impact.pods[0].has_foreign_cause());
    assert_eq!(impact.rules[0].counts.pods, 0);
}
