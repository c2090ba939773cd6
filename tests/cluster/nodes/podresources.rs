//! Devices in use by a real kubelet, also of pods that are stuck or were deleted by force.

use std::{
    process::Output,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::bench::{Bench, plane};
use crate::harness::{DEADLINE, block_on, wait_for};

/// Output of the plugin, asked over the node's own socket.
pub(super) fn asked(bench: &Bench<'_>, arguments: &[&str]) -> Output {
    let socket = bench.node.socket().to_str().expect("a path of ASCII");
    let all = [
        &["podresources"],
        arguments,
        &["--socket", socket, "-o", "json"],
    ]
    .concat();
    bench.plugin(&all)
}

pub(super) fn data(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The containers of a pod with the devices that they use, as the kubelet lists them.
fn containers(listed: &Value, pod: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = listed["items"].as_array().expect("devices").iter();
    let uses = items.flat_map(|item| {
        let users = item["users"].as_array().expect("users").iter();
        let of_pod = users.filter(|user| user["name"] == pod);
        of_pod.map(|user| (text(&user["container"]), text(&item["device"])))
    });
    let mut uses: Vec<_> = uses.collect();
    uses.sort();
    uses
}

/// The reasons against pulling the devices of the node, by device, and how the command ends. That a device is not
/// tainted is a reason of every one of most tests, and is left out.
fn check(bench: &Bench<'_>) -> (Option<i32>, Vec<(String, Vec<String>)>) {
    let output = asked(bench, &["check", "--node", bench.node.name()]);
    let mut devices = reasons(&data(&output));
    for (_, codes) in &mut devices {
        codes.retain(|code| code != "NotTainted");
    }
    (output.status.code(), devices)
}

/// The devices of a check, each with the codes of its reasons.
pub(super) fn reasons(checked: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let devices = checked["items"].as_array().expect("devices").iter();
    let devices = devices.map(|device| {
        let reasons = device["reasons"].as_array().expect("reasons").iter();
        let codes: Vec<String> = reasons.map(|reason| text(&reason["reason"])).collect();
        assert_eq!(device["safeToPull"], codes.is_empty());
        (text(&device["device"]), codes)
    });
    devices.collect()
}

/// The codes that speak against the one device that anything speaks against.
fn against(bench: &Bench<'_>) -> Vec<String> {
    let (_, devices) = check(bench);
    let mut spoken: Vec<_> = devices
        .into_iter()
        .filter(|(_, codes)| !codes.is_empty())
        .collect();
    assert!(spoken.len() <= 1, "{spoken:?}");
    spoken.pop().map_or_else(Vec::new, |(_, codes)| codes)
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// A second container that uses the same claim.
fn shared(pod: &mut Value) {
    let mut second = pod["spec"]["containers"][0].clone();
    second["name"] = json!("beside");
    let containers = pod["spec"]["containers"].as_array_mut();
    containers.expect("containers").push(second);
}

#[test]
fn a_real_kubelet_says_what_is_in_use_and_what_is_safe_to_pull() {
    let Some(plane) = plane() else { return };
    let mut bench = Bench::start(plane);
    is_nobodys_kubelet(&bench);
    bench.run_pod("watcher", |pod| watcher(pod, bench.node.name()));
    assert_eq!(against(&bench), [""; 0], "no device is in use");
    bench.run_pod("train", shared);
    let listed = data(&asked(&bench, &["list"]));
    let held = bench.held();
    let device = bench.device_of(&held[0]);
    let both = ["beside", "main"].map(|name| (name.to_owned(), device.clone()));
    assert_eq!(containers(&listed, "train"), both);
    let claim = format!("{}/{}", bench.namespace, held[0].name);
    assert_eq!(listed["items"][0]["users"][0]["claim"], json!(claim));
    // The pods that the kubelet lists show its node.
    assert_eq!(
        data(&asked(&bench, &["check"]))["node"],
        json!(bench.node.name())
    );

    assert_eq!(against(&bench), ["InUse", "InUse", "Claimed"], "by both");
    let other = asked(&bench, &["check", "--node", "another-node"]);
    let message = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(2), "{message}");
    assert!(
        message.contains("not the kubelet of node another-node"),
        "{message}"
    );

    is_seen_while_it_is_stuck(&mut bench);
}

/// A pod of this node without any device: the kubelet lists it, which identifies the kubelet.
pub(super) fn watcher(pod: &mut Value, node: &str) {
    let spec = pod["spec"].as_object_mut().expect("a pod");
    spec.remove("resourceClaims");
    spec.insert("nodeName".to_owned(), json!(node));
    pod["spec"]["containers"][0]["resources"] = json!({});
}

/// A kubelet without pods may be the one of any node.
fn is_nobodys_kubelet(bench: &Bench<'_>) {
    let (status, devices) = check(bench);
    assert_eq!((status, devices.len()), (Some(4), 4), "{devices:?}");
    assert!(
        devices
            .iter()
            .all(|(_, codes)| codes == &["NodeNotVerified"]),
        "{devices:?}"
    );
    let other = asked(bench, &["check", "--node", "no-such-node"]);
    let message = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1), "{message}");
    assert!(
        message.contains("no device on node no-such-node"),
        "{message}"
    );
}

/// The driver is away, the pod is evicted, the kubelet restarts, and the pod is deleted by force.
fn is_seen_while_it_is_stuck(bench: &mut Bench<'_>) {
    bench.node.tell("kill driver");
    bench.evict();
    bench.wait_for_reason("DriverDown");
    let is_listed = |bench: &Bench<'_>| {
        let output = asked(bench, &["list"]);
        output.status.success() && !containers(&data(&output), "train").is_empty()
    };
    assert!(is_listed(bench), "a stuck pod is listed");
    let codes = against(bench);
    for code in ["InUse", "Claimed", "Terminating"] {
        assert!(codes.iter().any(|known| known == code), "{code}: {codes:?}");
    }
    bench.node.tell("kill kubelet");
    let refused = asked(bench, &["list"]);
    assert_eq!(
        refused.status.code(),
        Some(75),
        "{}",
        String::from_utf8_lossy(&refused.stderr)
    );
    bench.node.tell("start kubelet");
    wait_until("the kubelet lists the stuck pod again", || is_listed(bench));

    let reference = bench.pod("train");
    block_on(bench.plane.force_delete_pod(&bench.namespace, "train"));
    block_on(wait_for(
        "the pod is gone from the API",
        DEADLINE,
        async || bench.plane.get(&reference).await.is_none().then_some(()),
    ));
    wait_until("the kubelet does not list who was deleted by force", || {
        !is_listed(bench)
    });
    // To the API the device is free, and the kubelet lists no pod; the driver has not given it back.
    assert_eq!(bench.held().len(), 1);
    let (status, devices) = check(bench);
    assert_eq!(status, Some(4), "{devices:?}");
    let prepared = devices
        .iter()
        .filter(|(_, codes)| codes.iter().any(|code| code == "Prepared"));
    assert_eq!(prepared.count(), 1, "{devices:?}");

    bench.node.tell("start driver");
    wait_until("the driver has given the device back", || {
        bench.held().is_empty()
    });
    // While the driver starts, it publishes no devices: the answer is an error then.
    let question = ["check", "--node", bench.node.name()];
    wait_until("all devices are safe to pull", || {
        asked(bench, &question).status.code() == Some(0)
    });
    assert_eq!(bench.held(), []);
}
