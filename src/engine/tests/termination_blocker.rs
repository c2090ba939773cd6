//! What keeps a pod whose containers have ended.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::world::{GPU_0, NOW, World, at};
use crate::engine::termination_blocker::{
    DriverPresence, Publishers, TerminationBlocker, USUAL, UnreleasedDriver, termination_blocker,
};
use crate::model::{
    Containers, Deletion, Kind, NodeName, Phase, Pod, Reading, Sandbox, SliceNodes, Snapshot,
    Source,
};

const NIC: &str = "nic.example.com/node-a/nic-0";

fn names() -> BTreeSet<NodeName> {
    ["node-a".into()].into()
}

/// A pod with two drivers that was deleted at NOW, has all its time, and of which nothing is left.
fn stuck() -> World {
    World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .slice("nic.example.com/node-a", &[("nic-0", &[])])
        .claim("ml/gpu", &[GPU_0], &[])
        .claim("ml/nic", &[NIC], &[])
        .pod("ml/train", &["gpu", "nic"])
        .but_pod(|pod| {
            pod.containers = Containers::Ended { at: Some(at(NOW)) };
            pod.sandbox = Sandbox::Down { since: None };
            pod.deletion = Some(Deletion {
                at: at(NOW + 30),
                grace_period_seconds: Some(30),
                finalizers: Vec::new(),
            });
        })
}

fn later() -> Timestamp {
    at(NOW) + USUAL
}

fn found(
    snapshot: &Snapshot,
    publishers: &Publishers,
    now: Timestamp,
) -> Option<TerminationBlocker> {
    termination_blocker(&snapshot.pods[0], &snapshot.claims, publishers, now)
}

/// The drivers that are named, with whether they are there.
fn holders(snapshot: &Snapshot) -> Vec<(String, DriverPresence)> {
    let publishers = Publishers::new(&snapshot.slices, &names());
    match found(snapshot, &publishers, later()) {
        Some(TerminationBlocker::Driver { holders, .. }) => holders
            .into_iter()
            .map(|UnreleasedDriver { driver, presence }| (driver.to_string(), presence))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_driver_without_slices_is_named_and_all_where_none_is_missing() {
    let world = stuck();
    assert_eq!(
        holders(&world.snapshot),
        [
            ("gpu.example.com".to_owned(), DriverPresence::Published),
            ("nic.example.com".to_owned(), DriverPresence::Published)
        ]
    );
    let mut snapshot = world.snapshot;
    snapshot.slices.pop();
    let gone = DriverPresence::Gone { seen: None };
    assert_eq!(holders(&snapshot), [("nic.example.com".to_owned(), gone)]);
    // Slices of other nodes say nothing of this one.
    snapshot.slices[0].nodes = SliceNodes::One("node-b".into());
    assert_eq!(holders(&snapshot).len(), 2);
    // Devices of no single node have a driver anywhere.
    snapshot.slices[0].nodes = SliceNodes::Several;
    assert_eq!(holders(&snapshot), [("nic.example.com".to_owned(), gone)]);
}

#[test]
fn nothing_is_concluded_from_slices_that_were_not_read() {
    let reading = Reading {
        snapshot: Snapshot::default(),
        source: Source::Files,
        observed_at: None,
        is_time_guessed: false,
        version: None,
        known: Kind::ALL.into(),
        resource_versions: BTreeMap::new(),
        warnings: Vec::new(),
        gaps: Vec::new(),
    };
    let gone = DriverPresence::Gone { seen: None };
    let presence = |publishers: &Publishers, node: &str| {
        publishers.presence(&node.into(), &"gpu.example.com".into())
    };
    let read = Publishers::of(&reading, &names());
    assert_eq!(presence(&read, "node-a"), gone);
    assert_eq!(
        presence(&read, "node-b"),
        DriverPresence::Unknown,
        "nobody asked"
    );
    let mut denied = reading;
    denied.known.remove(&Kind::ResourceSlice);
    let unread = Publishers::of(&denied, &names());
    assert_eq!(presence(&unread, "node-a"), DriverPresence::Unknown);
    let mut anywhere = stuck().snapshot.slices;
    anywhere[0].nodes = SliceNodes::Several;
    let there = Publishers::new(&anywhere, &names());
    assert_eq!(presence(&there, "node-a"), DriverPresence::Unknown);
    // A selector that names one node leaves no other open.
    anywhere[0].nodes = SliceNodes::Selected("node-b".into());
    let elsewhere = Publishers::new(&anywhere, &names());
    assert_eq!(presence(&elsewhere, "node-a"), gone);
    anywhere[0].nodes = SliceNodes::Selected("node-a".into());
    let here = Publishers::new(&anywhere, &names());
    assert_eq!(presence(&here, "node-a"), DriverPresence::Published);
}

#[test]
fn who_looks_again_knows_since_when_a_driver_is_gone() {
    let slices = stuck().snapshot.slices;
    let there = || Publishers::new(&slices, &names());
    let none = || Publishers::new(&[], &names());
    let seen = |publishers: &Publishers| match publishers
        .presence(&"node-a".into(), &"gpu.example.com".into())
    {
        DriverPresence::Gone { seen } => seen,
        other @ (DriverPresence::Published | DriverPresence::Unknown) => panic!("{other:?}"),
    };
    let first = none().after(&there(), at(NOW + 7));
    assert_eq!(seen(&first), Some(at(NOW + 7)));
    let second = none().after(&first, at(NOW + 17));
    assert_eq!(seen(&second), Some(at(NOW + 7)), "the first time counts");
    assert_eq!(
        seen(&none().after(&none(), at(NOW + 7))),
        None,
        "never seen"
    );
    let back = there().after(&second, at(NOW + 20));
    let again = none().after(&back, at(NOW + 30));
    assert_eq!(seen(&again), Some(at(NOW + 30)), "it was back meanwhile");
}

#[test]
fn a_kubelet_has_a_moment_and_what_it_has_not_said_is_not_known() {
    let nobody = Publishers::default();
    let is_stuck = |change: fn(&mut Pod), now| {
        let world = stuck().but_pod(change);
        found(&world.snapshot, &nobody, now).is_some()
    };
    let early = later() - jiff::SignedDuration::from_secs(1);
    assert!(is_stuck(|_| (), later()) && !is_stuck(|_| (), early));
    assert!(!is_stuck(|pod| pod.deletion = None, later()));
    assert!(!is_stuck(|pod| pod.phase = Phase::Succeeded, later()));
    assert!(!is_stuck(
        |pod| pod.containers = Containers::Running,
        later()
    ));
    assert!(!is_stuck(
        |pod| pod.containers = Containers::Unknown,
        later()
    ));
    assert!(!is_stuck(|pod| pod.sandbox = Sandbox::Unknown, later()));
    // Containers that ended long ago: what counts is when somebody wanted the pod to go.
    let long_ago: fn(&mut Pod) = |pod| pod.containers = Containers::Ended { at: Some(at(0)) };
    assert!(is_stuck(long_ago, later()) && !is_stuck(long_ago, early));
    // The sandbox was taken down after that.
    let sandbox: fn(&mut Pod) = |pod| {
        pod.sandbox = Sandbox::Down {
            since: Some(at(NOW + 3)),
        };
    };
    assert!(!is_stuck(sandbox, later()));
    // The API may show that late: since when the devices are waited for is known by the containers.
    let world = stuck().but_pod(sandbox);
    let since = match found(&world.snapshot, &nobody, at(NOW + 60)) {
        Some(TerminationBlocker::Driver { since, .. }) => Some(since),
        Some(TerminationBlocker::Sandbox { .. }) | None => None,
    };
    assert_eq!(since, Some(at(NOW)));
}

#[test]
fn a_sandbox_that_is_up_is_what_keeps_the_pod_whatever_its_driver_does() {
    let world = stuck().but_pod(|pod| pod.sandbox = Sandbox::Up);
    let gone = Publishers::new(&[], &names());
    let blocker = found(&world.snapshot, &gone, later());
    assert_eq!(
        blocker,
        Some(TerminationBlocker::Sandbox { since: at(NOW) })
    );
}
