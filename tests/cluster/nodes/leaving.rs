//! Release of devices by pods, and its obstacles: the table that was measured on a real kubelet.

use std::time::Duration;
use std::{panic, thread};

use serde_json::{Value, json};

use super::bench::{Bench, plane, wait};
use crate::harness::{ControlPlane, DEADLINE, block_on, say, wait_for};

const POD: &str = "train-0";
/// Advice about a driver.
const ADVICE: &str = "; force deletion would release the claim in the API, but not the device";
/// Finalizer, which keeps the pod and not its device.
const FINALIZER: &str = "node.test/last";

/// One way in which a pod does not leave.
struct Row {
    name: &'static str,
    /// Events on the node before the eviction.
    before: &'static [&'static str],
    /// Changes to the pod.
    pod: fn(&mut Value),
    /// Reason that keeps the pod, in `describe` and `wait`.
    reason: &'static str,
    /// Words of the final message.
    words: &'static [&'static str],
    /// True if the driver publishes the node's devices meanwhile; absent where drivers do not matter.
    published: Option<bool>,
    /// Events that end the obstacle.
    mended: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        name: "the driver was killed",
        before: &["kill driver"],
        pod: |_| {},
        reason: "DriverDown",
        words: &["which no longer publishes devices on the node", ADVICE],
        published: Some(false),
        mended: &["start driver"],
    },
    Row {
        name: "the driver was stopped politely",
        before: &["stop driver"],
        // A claim that is there before the pod and after it.
        pod: |pod| {
            let named = json!({"name": "device", "resourceClaimName": "kept"});
            pod["spec"]["resourceClaims"] = json!([named]);
        },
        reason: "DriverDown",
        words: &["which no longer publishes devices on the node", ADVICE],
        published: Some(false),
        mended: &["start driver"],
    },
    Row {
        name: "the driver is frozen",
        before: &["freeze driver"],
        pod: |_| {},
        reason: "DriverDown",
        words: &["which may hang, fail, or have stopped", ADVICE],
        published: Some(true),
        mended: &["thaw driver"],
    },
    Row {
        name: "the network cannot be taken down",
        before: &["break sandbox"],
        pod: |_| {},
        reason: "Sandbox",
        words: &[
            "its sandbox has not been stopped for ",
            ": check the pod's events",
        ],
        published: None,
        mended: &["mend sandbox"],
    },
    Row {
        name: "the kubelet is away",
        before: &["kill kubelet"],
        pod: |_| {},
        reason: "NodeNotReady",
        words: &["its node is not ready"],
        published: None,
        mended: &["start kubelet"],
    },
    Row {
        name: "the pod takes its time",
        before: &[],
        pod: |pod| {
            // Long enough for all checks below, also on a busy machine.
            pod["metadata"]["annotations"] = json!({"node.test/stops-after": "48s"});
            pod["spec"]["terminationGracePeriodSeconds"] = json!(50);
            pod["metadata"]["finalizers"] = json!([FINALIZER]);
        },
        reason: "GracePeriod",
        words: &["its grace period ends in"],
        published: None,
        mended: &[],
    },
];

/// Each on a node of its own, all at once: most of the time is the kubelet's patience.
#[test]
fn nothing_is_called_done_while_something_keeps_a_pod_and_each_is_named() {
    let Some(plane) = plane() else { return };
    let failed: Vec<&str> = thread::scope(|scope| {
        let rows = ROWS
            .iter()
            .map(|row| (row.name, scope.spawn(|| show(plane, row))));
        let rows: Vec<_> = rows.collect();
        let ended = rows.into_iter().map(|(name, row)| (name, row.join()));
        ended
            .filter(|(_, ended)| ended.is_err())
            .map(|(name, _)| name)
            .collect()
    });
    assert!(failed.is_empty(), "wrong when {}", failed.join("; when "));
}

fn show(plane: &ControlPlane, row: &Row) {
    let mut bench = Bench::start(plane);
    bench.run_pod(POD, row.pod);
    assert_eq!(
        bench.held().len(),
        1,
        "{}: the driver holds a device",
        row.name
    );
    for command in row.before {
        bench.node.tell(command);
    }
    bench.evict();
    let left = bench.wait_for_reason(row.reason);
    say(&format!("{}: {}", row.name, left["message"]));
    assert_eq!(left["name"], POD);
    if row.reason == "DriverDown" {
        tell_published(&bench, row);
    }
    let said = bench.left()[0]["message"].to_string();
    is_said(row, "describe", &said);
    is_not_done(&bench, row);
    // The end of a pod is seen by a watch that runs by then.
    let rule = bench.rule.clone();
    let (status, left) = thread::scope(|scope| {
        let waiting = scope.spawn(move || wait(plane, &rule, "180s"));
        thread::sleep(Duration::from_secs(8));
        for command in row.mended {
            bench.node.tell(command);
        }
        waiting.join().expect("a wait")
    });
    assert_eq!(status, Some(0), "{}: {left:?}", row.name);
    assert_eq!(
        bench.held(),
        [],
        "{}: done, and the driver holds a device",
        row.name
    );
    let what = format!("{}: all devices are free again", row.name);
    // A kubelet that restarts deletes the slices, and the driver publishes them again.
    block_on(wait_for(&what, DEADLINE, async || {
        (bench.free().len() == 4).then_some(())
    }));
    if row.reason == "GracePeriod" {
        let pod = block_on(bench.plane.get(&bench.pod(POD))).expect("the finalizer keeps it");
        assert_eq!(pod["metadata"]["finalizers"], json!([FINALIZER]));
    }
}

fn is_said(row: &Row, who: &str, said: &str) {
    for words in row.words {
        assert!(said.contains(words), "{}: {who}: {said}", row.name);
    }
}

/// Waits until the blocker names the driver, and says whether it publishes devices.
fn tell_published(bench: &Bench<'_>, row: &Row) {
    let what = format!("{}: published is {:?}", row.name, row.published);
    block_on(wait_for(&what, DEADLINE, async || {
        let message = bench.left()[0]["message"].to_string();
        let driver = bench.node.driver();
        let is_published = message.contains("which may hang");
        let is_right = is_published == (row.published == Some(true));
        (is_right && message.contains(driver)).then_some(())
    }));
}

/// Only the rule's own condition reports the end of the evictions.
fn is_not_done(bench: &Bench<'_>, row: &Row) {
    let (status, left) = bench.wait("2s");
    assert_eq!(status, Some(5), "{}", row.name);
    let pod = left.iter().find(|left| left["name"] == POD);
    let pod = pod.unwrap_or_else(|| panic!("{}: {left:?}", row.name));
    assert_eq!(pod["reason"], row.reason, "{}: {pod}", row.name);
    is_said(row, "wait", &pod["message"].to_string());
    let held = bench.held();
    assert_eq!(held.len(), 1, "{}: the driver holds a device", row.name);
    let device = bench.device_of(&held[0]);
    assert!(
        !bench.free().contains(&device),
        "{}: {device} is called free",
        row.name
    );
}
