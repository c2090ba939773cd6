//! Where a rule is in its life.

use std::collections::BTreeMap;

use super::world::{GPU_0, NOW, World, at, facts, one_pod, proposed};
use crate::ProposedTaint;
use crate::model::{
    Containers, Deletion, DeviceTaintRule, Effect, EvictionCondition, Node, NodeCondition,
    NodeHealth, NodeName, NodeTaint, Phase, Pod, Sandbox, Scheduled, Scheduling,
};
use crate::rule_lifecycle::{
    EvictionObstacle, EvictionStatus, NodeSchedulability, pending_evictions, release,
};
use crate::termination_blocker::{DriverPresence, TerminationBlocker, UnreleasedDriver};

const MAINTENANCE: &str = "example.com/maintenance:NoExecute";

/// A rule of generation 2, with a condition about `generation` that says `status`.
fn rule(status: &str, generation: i64) -> DeviceTaintRule {
    let mut world = World::default().rule("drain", GPU_0, MAINTENANCE);
    let mut rule = world.snapshot.rules.remove(0);
    rule.generation = 2;
    rule.condition = Some(EvictionCondition {
        status: status.to_owned(),
        observed_generation: generation,
        ..EvictionCondition::default()
    });
    rule
}

#[test]
fn condition_counts_only_for_the_current_state_and_while_pods_are_left() {
    for (name, rule, pods, expected) in [
        ("evicting", rule("True", 2), 1, EvictionStatus::Yes),
        ("done", rule("False", 2), 0, EvictionStatus::No),
        ("earlier", rule("False", 1), 0, EvictionStatus::Outdated),
        ("no pod left", rule("True", 2), 0, EvictionStatus::Leftover),
        ("unknown", rule("Unknown", 2), 1, EvictionStatus::Unknown),
    ] {
        assert_eq!(EvictionStatus::of(&rule, pods), expected, "{name}");
    }
    let mut silent = rule("True", 2);
    silent.condition = None;
    assert_eq!(EvictionStatus::of(&silent, 1), EvictionStatus::Unknown);
    assert!(EvictionStatus::No.is_current() && !EvictionStatus::Leftover.is_current());
}

fn obstacle(world: &World, node: Option<NodeHealth>) -> Option<EvictionObstacle> {
    let taints = [proposed(GPU_0, MAINTENANCE)];
    let impact = world.preview(&taints);
    let nodes: BTreeMap<NodeName, NodeHealth> = world
        .snapshot
        .pods
        .iter()
        .filter_map(|pod| Some((pod.node.clone()?, node?)))
        .collect();
    let left = pending_evictions(&impact, &facts(&world.snapshot, &nodes), at(NOW));
    left.into_iter().next().map(|left| left.obstacle)
}

fn deleted(seconds: i64, finalizers: &[&str]) -> World {
    one_pod().but_pod(|pod| {
        pod.deletion = Some(Deletion {
            at: at(NOW + seconds),
            grace_period_seconds: Some(30),
            finalizers: finalizers.iter().map(|name| (*name).to_owned()).collect(),
        });
    })
}

#[test]
fn a_pod_that_came_after_the_taint_is_overdue_since_it_came() {
    for (name, scheduled, since) in [
        ("after the taint", Some(-5), -5),
        ("before the taint", Some(-90), -60),
        ("by another clock", Some(5), 0),
        ("at an unknown time", None, -60),
    ] {
        let world = one_pod().but_pod(|pod| {
            pod.scheduling = Some(Box::new(Scheduling {
                said: Some(Scheduled {
                    is_scheduled: true,
                    since: scheduled.map(|seconds| at(NOW + seconds)),
                    ..Scheduled::default()
                }),
                ..Scheduling::default()
            }));
        });
        let mut taint = proposed(GPU_0, MAINTENANCE);
        taint.taint.time_added = Some(at(NOW - 60));
        let taints = [taint];
        let impact = world.preview(&taints);
        let left = pending_evictions(&impact, &facts(&world.snapshot, &BTreeMap::new()), at(NOW));
        let expected = EvictionObstacle::Controller {
            since: at(NOW + since),
        };
        assert_eq!(left[0].obstacle, expected, "{name}");
    }
}

#[test]
fn every_pod_that_is_left_says_what_it_waits_for() {
    let since = at(NOW - 20);
    let until = at(NOW + 10);
    let grace = |away| EvictionObstacle::GracePeriod { since, until, away };
    let (away, gone) = (NodeHealth::NotReady, NodeHealth::Gone);
    let controller = EvictionObstacle::Controller { since: at(NOW) };
    let finalizers = EvictionObstacle::Finalizers(vec!["a/b".to_owned()]);
    let kubelet = EvictionObstacle::Kubelet { since: at(NOW - 5) };
    let on = |health| Some(EvictionObstacle::Node(health));
    for (name, world, node, expected) in [
        ("controller", one_pod(), None, Some(controller)),
        ("grace", deleted(10, &["a/b"]), None, Some(grace(None))),
        (
            "grace, not ready",
            deleted(10, &[]),
            Some(away),
            Some(grace(Some(away))),
        ),
        ("finalizer", deleted(-5, &["a/b"]), None, Some(finalizers)),
        ("node", deleted(-5, &[]), Some(gone), on(gone)),
        (
            "kubelet",
            deleted(-5, &[]),
            Some(NodeHealth::Ready),
            Some(kubelet),
        ),
    ] {
        assert_eq!(obstacle(&world, node), expected, "{name}");
    }
}

/// Status by a kubelet of a pod whose containers ended so many seconds ago.
fn ended(seconds: i64, sandbox: Sandbox) -> impl Fn(&mut Pod) {
    move |pod| {
        pod.containers = Containers::Ended {
            at: Some(at(NOW - seconds)),
        };
        pod.sandbox = sandbox;
    }
}

#[test]
fn who_has_ended_and_stays_is_stuck_before_the_grace_period_is_over() {
    let down = Sandbox::Down { since: None };
    let grace = EvictionObstacle::GracePeriod {
        since: at(NOW - 20),
        until: at(NOW + 10),
        away: None,
    };
    let holder = UnreleasedDriver {
        driver: "gpu.example.com".into(),
        presence: DriverPresence::Unknown,
    };
    let driver = EvictionObstacle::Stuck(TerminationBlocker::Driver {
        holders: vec![holder],
        since: at(NOW - 8),
    });
    let sandbox = EvictionObstacle::Stuck(TerminationBlocker::Sandbox { since: at(NOW - 8) });
    let ending = |seconds, last| deleted(10, &[]).but_pod(ended(seconds, last));
    let (away, volumes) = (
        EvictionObstacle::Node(NodeHealth::NotReady),
        EvictionObstacle::Kubelet { since: at(NOW - 1) },
    );
    let late = |finalizers| deleted(-1, finalizers).but_pod(ended(8, down));
    let failed = late(&[]).but_pod(|pod| pod.phase = Phase::Failed);
    let running = deleted(10, &[]).but_pod(|pod| pod.sandbox = down);
    // An old word of a kubelet that is away.
    let old = Some(NodeHealth::NotReady);
    for (name, world, node, expected) in [
        ("stuck", ending(8, down), None, driver.clone()),
        ("with a finalizer", late(&["a/b"]), None, driver),
        ("network", ending(8, Sandbox::Up), None, sandbox),
        ("just now", ending(4, down), None, grace.clone()),
        ("silence", ending(8, Sandbox::Unknown), None, grace.clone()),
        ("a container runs", running, None, grace),
        ("an old word", late(&[]), old, away),
        ("only volumes are left", failed, None, volumes),
    ] {
        assert_eq!(obstacle(&world, node), Some(expected), "{name}");
    }
}

#[test]
fn a_device_is_free_again_unless_somebody_else_taints_it() {
    let world = World::default()
        .slice(
            "gpu.example.com/node-a",
            &[("gpu-0", &[]), ("gpu-1", &["example.com/ecc:NoSchedule"])],
        )
        .rule("announced", "gpu.example.com/*/*", "example.com/later:None");
    let taints = [proposed("gpu.example.com/*/*", MAINTENANCE)];
    let impact = world.preview(&taints);
    let released: Vec<(String, usize)> = release(&impact.devices, &world.snapshot, None)
        .into_iter()
        .map(|device| (device.device.to_string(), device.remaining.len()))
        .collect();
    assert_eq!(
        released,
        [
            ("gpu.example.com/node-a/gpu-0".to_owned(), 0),
            ("gpu.example.com/node-a/gpu-1".to_owned(), 1)
        ]
    );
}

#[test]
fn a_device_on_a_node_on_which_no_pods_are_placed_is_not_open_again() {
    let world = World::default().slice("gpu.example.com/node-a", &[("gpu-0", &[])]);
    let taints = [proposed("gpu.example.com/*/*", MAINTENANCE)];
    let schedulability = |nodes: Option<&[Node]>| {
        let impact = world.preview(&taints);
        let released = release(&impact.devices, &world.snapshot, nodes);
        released[0]
            .node
            .as_ref()
            .map(|node| node.schedulability.clone())
    };
    assert_eq!(schedulability(None), Some(NodeSchedulability::Unknown));
    assert_eq!(schedulability(Some(&[])), Some(NodeSchedulability::Gone));
    let mut node = Node {
        name: "node-a".into(),
        is_whole: true,
        ..Node::default()
    };
    let placing_on = |node: &Node| schedulability(Some(std::slice::from_ref(node)));
    assert_eq!(placing_on(&node), Some(NodeSchedulability::NotReady));
    node.conditions.push(NodeCondition {
        kind: "Ready".to_owned(),
        status: "True".to_owned(),
        ..NodeCondition::default()
    });
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Open));
    let tainted = |key: &str, effect: &str| NodeTaint {
        key: key.to_owned(),
        effect: effect.to_owned(),
        ..NodeTaint::default()
    };
    node.taints
        .push(tainted("example.com/soft", "PreferNoSchedule"));
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Open));
    // A kubelet that has just become ready: the scheduler waits until the node controller removes the taint.
    let not_ready = "node.kubernetes.io/not-ready";
    node.taints.push(tainted(not_ready, "NoSchedule"));
    let keys = [not_ready.to_owned()].into();
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Tainted(keys)));
    node.taints.pop();
    node.taints
        .push(tainted("example.com/reserved", "NoSchedule"));
    node.taints.push(tainted("example.com/repair", "NoExecute"));
    let keys = ["example.com/repair", "example.com/reserved"];
    let keys = keys.map(str::to_owned).into();
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Tainted(keys)));
    // Its taints are those of the cordon and of the missing kubelet, too.
    let unready = Node {
        conditions: Vec::new(),
        ..node.clone()
    };
    assert_eq!(placing_on(&unready), Some(NodeSchedulability::NotReady));
    node.unschedulable = true;
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Cordoned));
    node.is_whole = false;
    assert_eq!(placing_on(&node), Some(NodeSchedulability::Unknown));
}

#[test]
fn who_works_with_a_device_keeps_it_and_who_looks_after_it_does_not() {
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])])
        .claim("team-a/work", &[GPU_0], &[])
        .claim("team-a/monitor", &["gpu.example.com/node-a/gpu-1"], &[])
        .but_claim(|claim| {
            let allocation = claim.allocation.as_mut().unwrap();
            allocation.results[0].admin_access = true;
        });
    let taints = [proposed("gpu.example.com/*/*", MAINTENANCE)];
    let impact = world.preview(&taints);
    let held: Vec<usize> = release(&impact.devices, &world.snapshot, None)
        .iter()
        .map(|it| it.claims.len())
        .collect();
    assert_eq!(held, [1, 0]);
}

#[test]
fn another_effect_starts_the_clock_anew_and_the_same_does_not() {
    let rule = rule("False", 2);
    let added = |effect| {
        ProposedTaint::of_changed_rule(&rule, &effect, at(NOW + 60))
            .taint
            .time_added
    };
    assert_eq!(added(Effect::NoExecute), rule.taint.time_added);
    assert_eq!(added(Effect::NoSchedule), Some(at(NOW + 60)));
}
