//! Random events of driver, kubelet and pods, in any order: nothing is reported as done or free while a
//! driver holds a device.

use std::{panic, thread};

use serde_json::{Value, json};

use super::bench::{Bench, plane};
use crate::harness::{ControlPlane, Random, Reference, block_on, fresh_seed, number_in, say};

/// Number of sequences, unless `TRIES` is set; 200 take some ten minutes.
const TRIES: u64 = 12;
/// Nodes that are tried on side by side.
const NODES: u64 = 4;
/// Events on a node.
const EVENTS: [&str; 13] = [
    "kill driver",
    "stop driver",
    "freeze driver",
    "thaw driver",
    "start driver",
    "start driver",
    "break sandbox",
    "mend sandbox",
    "kill kubelet",
    "start kubelet",
    "delete pod",
    "force delete pod",
    // Also for a driver that is away, or does not answer.
    "create another pod",
];

#[test]
fn no_sequence_of_events_makes_anything_done_while_a_driver_holds_a_device() {
    let Some(plane) = plane() else { return };
    let tries = number_in("TRIES").unwrap_or(TRIES);
    let seed = number_in("SEED").unwrap_or_else(fresh_seed);
    say(&format!("sequences: TRIES={tries} SEED={seed}"));
    let done: u64 = thread::scope(|scope| {
        let nodes = (0..NODES).map(|node| {
            scope.spawn(move || {
                let mut bench = Bench::start(plane);
                let mine = (0..tries).filter(|number| number % NODES == node);
                let done = mine
                    .map(|number| u64::from(sequence(&mut bench, plane, seed ^ number)))
                    .sum::<u64>();
                ends_well_undisturbed(&mut bench, plane);
                done
            })
        });
        let nodes: Vec<_> = nodes.collect();
        nodes
            .into_iter()
            .map(|node| {
                node.join()
                    .unwrap_or_else(|reason| panic::resume_unwind(reason))
            })
            .sum()
    });
    say(&format!(
        "sequences: {done} of {tries} waits ended well, and none while a device was held"
    ));
}

/// One sequence; whether the wait in it has ended well.
fn sequence(bench: &mut Bench<'_>, plane: &ControlPlane, seed: u64) -> bool {
    let mut random = Random::new(seed, 0);
    let pod = format!("pod-{seed:x}");
    let patient = random.pick(&["0s", "2s", "6s"]);
    bench.rule = format!("rule-{seed:x}");
    bench.run_pod(&pod, |object| {
        brief(object);
        object["metadata"]["annotations"] = json!({"node.test/stops-after": patient});
    });
    let mut told = Vec::new();
    let before = random.below(3);
    befall(bench, &mut random, (&pod, before, &mut told));
    bench.evict();
    let after = random.below(3);
    befall(bench, &mut random, (&pod, after, &mut told));
    let (status, left) = bench.wait("6s");
    let held = bench.held();
    // Devices held by now were held during the wait, too.
    let is_done = status == Some(0);
    let forced = told.iter().any(|event| event == "force delete pod");
    // Force deletion takes the claim from the API, which is all that a wait can see from afar.
    assert!(
        !is_done || held.is_empty() || forced,
        "{seed}: {told:?}: {left:?}, {held:?}"
    );
    let free = bench.free();
    for claim in bench.held().iter().filter(|_| !forced) {
        let device = bench.device_of(claim);
        assert!(
            !free.contains(&device),
            "{seed}: {told:?}: {device} is called free"
        );
    }
    is_not_safe(bench, (seed, &told));
    let created = told.iter().enumerate();
    let created = created.filter(|(_, event)| *event == "create another pod");
    let others = created.map(|(number, _)| format!("{pod}-{number}"));
    let pods: Vec<String> = [pod.clone()].into_iter().chain(others).collect();
    recover(bench, plane, &pods);
    is_done
}

/// A pod that is soon killed.
fn brief(pod: &mut Value) {
    pod["spec"]["terminationGracePeriodSeconds"] = json!(3);
}

/// Without events on the node the pod leaves, and the wait ends well.
fn ends_well_undisturbed(bench: &mut Bench<'_>, plane: &ControlPlane) {
    bench.rule = format!("rule-undisturbed-{}", bench.node.name());
    bench.run_pod("pod-undisturbed", brief);
    bench.evict();
    let (status, left) = bench.wait("120s");
    assert_eq!(status, Some(0), "{left:?}");
    assert_eq!(bench.held().len(), 0);
    recover(bench, plane, &["pod-undisturbed".to_owned()]);
}

/// The kubelet's own view has no such exception: force deletion or not.
fn is_not_safe(bench: &Bench<'_>, (seed, told): (u64, &[String])) {
    let held = bench.held();
    let (node, socket) = (bench.node.name(), bench.node.socket().display());
    let line = format!("podresources check --node {node} --socket {socket} -o name");
    let output = bench.plugin(&line.split(' ').collect::<Vec<_>>());
    let safe = String::from_utf8_lossy(&output.stdout).into_owned();
    let still = bench.held();
    for claim in held.iter().filter(|claim| still.contains(claim)) {
        let device = bench.device_of(claim);
        let named = safe.lines().any(|line| line == device);
        assert!(!named, "{seed}: {told:?}: {device} is called safe to pull");
    }
}

/// Some events one after the other, and a log of them.
fn befall(
    bench: &mut Bench<'_>,
    random: &mut Random,
    (pod, count, told): (&str, usize, &mut Vec<String>),
) {
    for _ in 0..count {
        let event = random.pick(&EVENTS);
        let number = told.len();
        told.push(event.to_owned());
        match event {
            "delete pod" => bench.delete_pod(pod, "--wait=false"),
            "force delete pod" => bench.delete_pod(pod, "--force"),
            "create another pod" => bench.create_pod(&format!("{pod}-{number}"), brief),
            event => bench.node.tell(event),
        }
    }
}

/// All is well again, and no pod holds anything.
fn recover(bench: &mut Bench<'_>, plane: &ControlPlane, pods: &[String]) {
    for event in [
        "mend sandbox",
        "thaw driver",
        "start driver",
        "start kubelet",
    ] {
        bench.node.tell(event);
    }
    block_on(plane.delete(&Reference::rule(&bench.rule)));
    for pod in pods {
        bench.delete_pod(pod, "--wait=false");
    }
    for pod in pods {
        bench.wait_until_idle(pod);
    }
}
