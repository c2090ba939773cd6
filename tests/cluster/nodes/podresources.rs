//! What a real kubelet says is in use, also of pods that are stuck or were deleted by force.

use std::{
    process::Output,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::bench::{Bench, plane};
use crate::harness::{DEADLINE, block_on, wait_for};

/// What the plugin prints, asked over the node's own socket.
fn asked(bench: &Bench<'_>, arguments: &[&str]) -> Output {
    let socket = bench.node.socket().to_str().expect("a path of ASCII");
    let all = [
        &["podresources"],
        arguments,
        &["--socket", socket, "-o", "json"],
    ]
    .concat();
    bench.plugin(&all)
}

fn data(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The containers of a pod with the devices that they use, as the kubelet lists them.
fn containers(listed: &Value, pod: &str) -> Vec<(String, Vec<String>)> {
    let pods = listed["pods"].as_array().expect("pods");
    let Some(pod) = pods.iter().find(|known| known["name"] == pod) else {
        return Vec::new();
    };
    let containers = pod["containers"].as_array().expect("containers").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    containers
        .map(|container| {
            let devices = container["devices"].as_array().expect("devices").iter();
            (
                text(&container["name"]),
                devices.map(|device| text(&device["device"])).collect(),
            )
        })
        .collect()
}

/// What speaks against pulling the devices of the node, by device, and how the command ends.
fn check(bench: &Bench<'_>) -> (Option<i32>, Vec<(String, Vec<String>)>) {
    let output = asked(bench, &["check", "--node", bench.node.name()]);
    let told = data(&output);
    let devices = told["devices"].as_array().expect("devices").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let devices = devices.map(|device| {
        let reasons = device["reasons"].as_array().expect("reasons").iter();
        let codes: Vec<String> = reasons.map(|reason| text(&reason["code"])).collect();
        assert_eq!(device["safeToPull"], codes.is_empty());
        (text(&device["device"]), codes)
    });
    (output.status.code(), devices.collect())
}

/// The codes that speak against the one device that anything speaks against.
fn against(bench: &Bench<'_>) -> Vec<String> {
    let (status, devices) = check(bench);
    let mut spoken: Vec<_> = devices
        .into_iter()
        .filter(|(_, codes)| !codes.is_empty())
        .collect();
    assert_eq!(
        status,
        Some(if spoken.is_empty() { 0 } else { 4 }),
        "{spoken:?}"
    );
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
    assert_eq!(against(&bench), [""; 0], "nothing runs");
    bench.run_pod("train", shared);
    let listed = data(&asked(&bench, &["list"]));
    let held = bench.held();
    let device = format!(
        "{}/{}/{}",
        bench.node.driver(),
        bench.node.name(),
        held[0].devices[0]
    );
    let both = ["main", "beside"].map(|name| (name.to_owned(), vec![device.clone()]));
    assert_eq!(containers(&listed, "train"), both);
    let row = &listed["pods"][0]["containers"][0]["devices"][0];
    let cdi = format!("{}/device={}", bench.node.driver(), held[0].devices[0]);
    assert_eq!(row["cdiDevices"], json!([cdi]));
    assert_eq!(
        row["claim"],
        format!("{}/{}", bench.namespace, held[0].name)
    );

    let name = format!("{}/train", bench.namespace);
    let got = data(&asked(&bench, &["get", &name]));
    assert_eq!(got["pods"], listed["pods"]);
    let unknown = asked(&bench, &["get", "nobody/there"]);
    let message = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(message.contains("knows no pod nobody/there"), "{message}");
    assert_eq!(unknown.status.code(), Some(1));
    let allocatable = data(&asked(&bench, &["allocatable"]));
    assert_eq!(allocatable["allocatable"]["pluginDevices"], json!([]));
    assert_eq!(against(&bench), ["in-use", "in-use", "claimed"], "by both");
    let other = asked(&bench, &["check", "--node", "node-of-somebody-else"]);
    let message = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(2), "{message}");
    assert!(
        message.contains("not the kubelet of node node-of-somebody-else"),
        "{message}"
    );

    is_seen_while_it_is_stuck(&mut bench);
}

/// The driver is away, the pod is evicted, the kubelet begins anew, and somebody deletes by force.
fn is_seen_while_it_is_stuck(bench: &mut Bench<'_>) {
    bench.node.tell("kill driver");
    bench.evict();
    bench.wait_for_reason("driver-down");
    let is_listed = |bench: &Bench<'_>| {
        let output = asked(bench, &["list"]);
        output.status.success() && !containers(&data(&output), "train").is_empty()
    };
    assert!(is_listed(bench), "a stuck pod is listed");
    let codes = against(bench);
    for code in ["in-use", "tainted-and-in-use", "leaving"] {
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
    // To the API the device is free, and the kubelet lists nobody; the driver has not given it back.
    assert_eq!(bench.held().len(), 1);
    let (status, devices) = check(bench);
    assert_eq!(status, Some(4), "{devices:?}");
    let prepared = devices
        .iter()
        .filter(|(_, codes)| codes.iter().any(|code| code == "prepared"));
    assert_eq!(prepared.count(), 1, "{devices:?}");

    // A wait that asks the API alone ends well; one that asks the kubelet too does not.
    let (status, left) = verified(bench, "15s");
    assert_eq!(status, Some(5), "{left:?}");
    assert_eq!(left[0]["reason"], "in-use");
    bench.node.tell("start driver");
    let (status, left) = verified(bench, "60s");
    assert_eq!((status, bench.held().len()), (Some(0), 0), "{left:?}");
    wait_until("the driver has given the device back", || {
        bench.held().is_empty()
    });
    wait_until("all devices are safe to pull", || check(bench).0 == Some(0));
    assert_eq!(bench.held(), []);
}

/// How a wait ends that takes the kubelet's word too, and what is left then.
fn verified(bench: &Bench<'_>, timeout: &str) -> (Option<i32>, Vec<Value>) {
    let flag = format!("--verify-node={}", bench.node.socket().display());
    let output = bench.plugin(&[
        "wait",
        &bench.rule,
        "--for",
        "evicted",
        "--settle",
        "0s",
        "--timeout",
        timeout,
        &flag,
        "-o",
        "json",
    ]);
    let left = data(&output)["left"].as_array().cloned();
    (output.status.code(), left.unwrap_or_default())
}
