//! Devices that may not be pulled, and are not forgotten, on a real kubelet.

use std::{thread, time::Duration};

use super::bench::{Bench, plane};
use super::podresources::data;
use crate::harness::block_on;

/// A wait for evictions with these further flags, during which the pod is deleted by force.
fn wait_while_deleted(bench: &Bench<'_>, pod: &str, flags: &[&str]) -> std::process::Output {
    let wait = ["wait", &bench.rule, "--for", "evicted", "--settle", "0s"];
    let question = [&wait[..], flags].concat();
    let plane = bench.plane;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| plane.plugin(&question));
        // By then, the wait watches the pod, or queries the kubelet.
        thread::sleep(Duration::from_secs(8));
        block_on(plane.force_delete_pod(&bench.namespace, pod));
        waiting.join().expect("a wait")
    })
}

#[test]
fn a_wait_that_saw_a_pod_deleted_by_force_is_not_met() {
    let Some(plane) = plane() else { return };
    let mut bench = Bench::start(plane);
    bench.run_pod("train", |_| {});
    bench.node.tell("freeze driver");
    bench.evict();
    bench.wait_for_reason("DriverDown");
    let waited = wait_while_deleted(&bench, "train", &["--timeout", "60s", "-o", "json"]);
    let (status, left) = (waited.status.code(), data(&waited)["blockers"].clone());
    assert_eq!(bench.held().len(), 1, "the driver holds it");
    assert_eq!(status, Some(5), "{left:?}");
    assert_eq!(left[0]["reason"], "ForceDeleted", "{left:?}");
}
