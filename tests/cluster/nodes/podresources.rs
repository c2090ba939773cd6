//! Devices in use by a real kubelet, also of pods that are stuck or were deleted by force.

use std::{
    process::Output,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::bench::{Bench, plane};
use crate::harness::{
    DEADLINE, Reference, block_on,
    objects::{allocation, claim},
    text, wait_for,
};

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
    let device = format!(
        "{}/{}/{}",
        bench.node.driver(),
        bench.node.name(),
        held[0].devices[0]
    );
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

/// Reasons against pulling the device that is called `name`.
fn codes_of(bench: &Bench<'_>, name: &str) -> Vec<String> {
    let device = format!("{}/{}/{name}", bench.node.driver(), bench.node.name());
    let (_, devices) = check(bench);
    let mut of_it = devices.into_iter().filter(|(known, _)| *known == device);
    of_it.next().map_or_else(Vec::new, |(_, codes)| codes)
}

/// A pod that uses the claim called `shared`.
fn of_shared(pod: &mut Value) {
    pod["spec"]["resourceClaims"] = json!([{"name": "device", "resourceClaimName": "shared"}]);
}

#[test]
fn where_the_kubelet_and_the_api_disagree_each_is_told() {
    let Some(plane) = plane() else { return };
    let mut bench = Bench::start(plane);
    block_on(plane.create(&[claim(&bench.namespace, "elsewhere", bench.node.driver())]));
    for pod in ["first", "second"] {
        bench.run_pod(pod, of_shared);
    }
    let listed = data(&asked(&bench, &["list"]));
    let of_first = containers(&listed, "first");
    assert_eq!(
        of_first,
        containers(&listed, "second"),
        "they share a claim"
    );
    assert_eq!(of_first.len(), 1, "{listed}");
    let held = bench.held();
    assert_eq!(held.len(), 1);
    let (device, other) = (&held[0].devices[0], "gpu-3");
    assert_ne!(device, other);
    assert_eq!(codes_of(&bench, device), ["InUse", "InUse", "Claimed"]);
    is_told_of_a_snapshot_too(&bench);

    // The kubelet does not learn that the API forgets a pod.
    let shared = Reference::claim(&bench.namespace, "shared");
    let forgotten = json!({"reservedFor": null, "allocation": null});
    block_on(plane.patch_status(&shared, &forgotten));
    wait_until("the API calls the device free", || {
        codes_of(&bench, device) == ["InUse", "InUse"]
    });

    // The reverse: a claim of a user that is no pod of this kubelet.
    let mut status = allocation(bench.node.driver(), bench.node.name(), other);
    let user = json!({"apiGroup": "example.com", "resource": "jobs", "name": "train", "uid": "u"});
    status["reservedFor"] = json!([user]);
    let elsewhere = Reference::claim(&bench.namespace, "elsewhere");
    block_on(plane.patch_status(&elsewhere, &status));
    wait_until("the API says that the other device is in use", || {
        codes_of(&bench, other) == ["Claimed"]
    });
    is_vague_while_the_driver_says_nothing(&mut bench);
}

/// The driver does not answer the kubelet, which has noted a claim by then, and the pod is deleted by force:
/// to the API all is free, and the driver's work on it is not known.
fn is_vague_while_the_driver_says_nothing(bench: &mut Bench<'_>) {
    bench.node.tell("freeze driver");
    bench.create_pod("late", |_| {});
    let noted = |bench: &Bench<'_>| {
        let listed = data(&asked(bench, &["list"]));
        let items = listed["items"].as_array().expect("devices");
        let driver = json!(bench.node.driver());
        let mut silent = items.iter().filter(|item| item["device"].is_null());
        silent.any(|item| item["driver"] == driver)
    };
    wait_until("the kubelet has noted the claim", || noted(bench));
    block_on(bench.plane.force_delete_pod(&bench.namespace, "late"));
    let late = bench.pod("late");
    wait_until("all devices may be held", || {
        let (_, devices) = check(bench);
        let is_held = |codes: &Vec<String>| codes.iter().any(|code| code == "MayBePrepared");
        devices.len() == 4
            && devices.iter().all(|(_, codes)| is_held(codes))
            && block_on(bench.plane.get(&late)).is_none()
    });
    bench.node.tell("thaw driver");
    wait_until("the claim is unprepared", || !noted(bench));
}

/// The kubelet's list, and the API's objects of a moment ago.
fn is_told_of_a_snapshot_too(bench: &Bench<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.json");
    let file = file.to_str().expect("a path of ASCII");
    text(&bench.plugin(&["snapshot", "-o", file]));
    let ask = |from: &[&str]| {
        let node = bench.node.name();
        let question = ["check", "--node", node];
        let output = asked(bench, &[&question, from].concat());
        (output.status.code(), data(&output)["items"].clone())
    };
    assert_eq!(ask(&["--from", file]), ask(&[]));
}
