//! Which workloads come back each time, look by look.

use std::collections::BTreeMap;
use std::time::Duration;

use super::world::{GPU_0, NOW, World, at, controller, facts, proposed, semantics};
use crate::engine::recurring_evictions::RecurringEvictions;
use crate::engine::rule_lifecycle::pending_evictions;
use crate::engine::settle::{
    Freshness, Goal, OpenCondition, Patience, Settle, WaitFacts, WaitStep,
};
use crate::model::{Deletion, DeviceTaintRule};

const TAINT: &str = "example.com/maintenance:NoExecute";

/// How the only pod is at one look.
#[derive(Clone, Copy)]
enum Look {
    /// Its eviction is due.
    Due(&'static str),
    /// It tolerates the taint for a while.
    Tolerates(&'static str),
    /// It terminates.
    Terminates(&'static str),
    /// There is none.
    Gone,
}

fn drain() -> DeviceTaintRule {
    World::default()
        .rule("drain", GPU_0, TAINT)
        .snapshot
        .rules
        .remove(0)
}

/// A pod of a DaemonSet with this UID, whose claim has these tolerations.
fn pod_of_daemon_set(uid: &str, tolerations: &[&str]) -> World {
    let mut world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], tolerations)
        .pod("team/pod", &["claim"])
        .but_pod(|pod| {
            pod.uid = uid.into();
            pod.controller = Some(controller("apps/v1", "DaemonSet", "exporter", "owner"));
        });
    for consumer in &mut world.snapshot.claims[0].reserved_for {
        consumer.uid = uid.into();
    }
    world
}

fn world_of(look: Look) -> World {
    match look {
        Look::Due(uid) => pod_of_daemon_set(uid, &[]),
        Look::Tolerates(uid) => pod_of_daemon_set(uid, &[":NoExecute@1000000"]),
        Look::Terminates(uid) => pod_of_daemon_set(uid, &[]).but_pod(|pod| {
            pod.deletion = Some(Deletion {
                at: at(NOW),
                grace_period_seconds: Some(0),
                finalizers: Vec::new(),
            });
        }),
        Look::Gone => World::default(),
    }
}

/// The last step after these looks, one a second, and what is open then, in words.
fn after(looks: &[Look]) -> (WaitStep, Vec<String>) {
    let rules = [drain()];
    let patience = Patience {
        settle: Duration::from_secs(10),
        timeout: Duration::from_secs(60),
    };
    let mut wait = Settle::new(Goal::Evicted, &rules, patience, &semantics(37));
    let mut last = (WaitStep::Met, Vec::new());
    for (second, look) in (0..).zip(looks) {
        let world = world_of(*look);
        let taints = [proposed(GPU_0, TAINT)];
        let impact = world.preview(&taints);
        let left = pending_evictions(&impact, &facts(&world.snapshot, &BTreeMap::new()), at(NOW));
        let facts = WaitFacts {
            rules: &rules,
            left: &left,
            pods: &world.snapshot.pods,
            claims: &world.snapshot.claims,
            holders: &[],
            staying: &[],
            departed: &[],
            unread: &[],
            unevaluated: &[],
            freshness: Freshness::Read,
        };
        let seen = wait.observe(&facts, Duration::from_secs(second));
        let returning = seen.open.iter().filter_map(|open| match open {
            OpenCondition::Returning(it) => {
                Some(format!("{} {}, {}", it.kind, it.name, it.evicted))
            }
            OpenCondition::Pod(_)
            | OpenCondition::Unsettled { .. }
            | OpenCondition::Unobserved(_)
            | OpenCondition::Present(_)
            | OpenCondition::Held(_)
            | OpenCondition::NotReleased(_)
            | OpenCondition::Unevaluated(_)
            | OpenCondition::Settling { .. } => None,
        });
        last = (seen.step, returning.collect());
    }
    last
}

#[test]
fn a_wait_ends_when_a_workload_comes_back_a_second_time() {
    let looks = [
        Look::Due("a"),
        Look::Terminates("a"),
        Look::Due("b"),
        Look::Terminates("b"),
        Look::Due("c"),
    ];
    let (step, returning) = after(&looks);
    assert_eq!(step, WaitStep::ComesBack);
    assert_eq!(returning, ["DaemonSet team/exporter, 2"]);
    // The scheduler may have chosen the device before it knew the taint.
    let (step, returning) = after(&looks[..4]);
    assert_eq!(step, WaitStep::WaitUntil(Duration::from_secs(60)));
    assert_eq!(returning, [""; 0]);
}

#[test]
fn pods_without_a_grace_period_come_back_unseen() {
    let looks = [Look::Due("a"), Look::Due("b"), Look::Due("c")];
    assert_eq!(after(&looks).0, WaitStep::ComesBack);
}

#[test]
fn pods_that_end_by_themselves_are_not_evicted_again_and_again() {
    let looks = [
        Look::Tolerates("a"),
        Look::Gone,
        Look::Tolerates("b"),
        Look::Gone,
        Look::Tolerates("c"),
    ];
    let (step, returning) = after(&looks);
    assert_eq!(step, WaitStep::WaitUntil(Duration::from_secs(60)));
    assert_eq!(returning, [""; 0]);
}

#[test]
fn a_workload_that_comes_back_is_the_deployment_of_a_replica_set() {
    let workload = |labels: &[(&str, &str)]| {
        let looks = ["a", "b", "c"].map(|uid| {
            pod_of_daemon_set(uid, &[]).but_pod(|pod| {
                pod.controller = Some(controller("apps/v1", "ReplicaSet", "web-6d4f", "owner"));
                let labels = labels.iter();
                pod.labels = labels
                    .map(|(key, value)| ((*key).into(), (*value).into()))
                    .collect();
            })
        });
        let mut seen = RecurringEvictions::default();
        let mut found = Vec::new();
        for world in &looks {
            let taints = [proposed(GPU_0, TAINT)];
            let impact = world.preview(&taints);
            let left =
                pending_evictions(&impact, &facts(&world.snapshot, &BTreeMap::new()), at(NOW));
            seen.see(&left, &world.snapshot.pods);
            found = seen.returning(&left);
        }
        let [only] = &found[..] else {
            panic!("{found:?}");
        };
        format!("{}/{}", only.kind, only.name.name)
    };
    assert_eq!(workload(&[("pod-template-hash", "6d4f")]), "Deployment/web");
    assert_eq!(workload(&[]), "ReplicaSet/web-6d4f");
    assert_eq!(
        workload(&[("pod-template-hash", "77")]),
        "ReplicaSet/web-6d4f"
    );
}
