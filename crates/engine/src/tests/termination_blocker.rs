//! Obstacles of a pod whose containers have ended.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::world::{GPU_0, NOW, World, at};
use crate::model::{Containers, NodeName, Sandbox, SliceNodes, Snapshot};
use crate::termination_blocker::{
    DriverPresence, Publishers, TerminationBlocker, USUAL, UnreleasedDriver, termination_blocker,
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
            pod.deletion = Some(crate::testing::deletion(at(NOW + 30), Some(30)));
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
