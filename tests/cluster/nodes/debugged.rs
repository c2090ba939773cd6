//! Drains that ask the kubelet of a real node through a debug pod, which really runs there.
//!
//! The node's runtime runs the plugin as the image of the debug pod. Only what it has printed takes another way than on a
//! real cluster: no kubelet of a test lets the API server in, so that a proxy reads the kubelet's log files.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::bench::{Bench, plane};
use crate::cluster::rules::support::Run;
use crate::harness::{
    At, DEADLINE, Fault, PLUGIN, Proxy, block_on, ignores_hangup, text, wait_for,
};

const LABEL: &str = "app.kubernetes.io/managed-by=kubectl-devicetaint";
/// An image whose containers are the plugin.
const PROGRAM: &str = "example.com/plugin:1";
/// An image whose containers never end.
const ENDLESS: &str = "example.com/none";

/// A node on which the plugin is run as a debug pod.
fn bench() -> Option<Bench<'static>> {
    let plane = plane()?;
    let program = format!("--program={PROGRAM}={PLUGIN}");
    Some(Bench::start_with(plane, &[&program]))
}

/// A drain of the bench's node, with these limits.
fn command(bench: &Bench<'_>, image: &str, limits: [&str; 2], proxy: Option<&Proxy>) -> Command {
    let [timeout, debug_timeout] = limits;
    let mut command = bench.plane.command(PLUGIN);
    command
        .args(["drain", "--node", bench.node.name()])
        .args(["--yes", "--settle", "1s", "--timeout", timeout])
        .args(["--include-unmanaged", "--accept-unplaceable"])
        .args(["--debug-image", image, "--debug-timeout", debug_timeout])
        .args(["--debug-namespace", &bench.namespace])
        .args(proxy.into_iter().flat_map(Proxy::flags))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn restore(bench: &Bench<'_>) {
    let name = bench.node.name();
    text(&bench.plugin(&["restore", name, "--yes", "--timeout", "30s"]));
}

fn debug_pods(bench: &Bench<'_>) -> Vec<Value> {
    let listed = bench.plane.kubectl(&[
        "get",
        "pods",
        "-n",
        &bench.namespace,
        "-l",
        LABEL,
        "-o",
        "json",
    ]);
    let listed: Value = serde_json::from_str(&text(&listed)).expect("JSON");
    listed["items"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_drain_is_done_when_the_kubelet_holds_nothing_and_its_debug_pods_are_gone() {
    let Some(bench) = bench() else { return };
    takes_the_kubelets_word(&bench);
    let signals = [("INT", 130), ("TERM", 143), ("HUP", 143)];
    let signals = signals.into_iter();
    for (signal, code) in signals.filter(|(signal, _)| *signal != "HUP" || !ignores_hangup()) {
        leaves_no_pod(&bench, signal, code);
    }
    ends_without_an_answer(&bench);
}

/// A pod that is gone from the API by force still holds its device on the node: the drain waits for that.
fn takes_the_kubelets_word(bench: &Bench<'_>) {
    bench.run_pod("train", |pod| {
        pod["metadata"]["annotations"] = json!({"node.test/stops-after": "8s"});
    });
    bench.delete_pod("train", &["--force", "--grace-period=0", "--wait=false"]);
    assert_eq!(bench.held().len(), 1, "its kubelet still stops it");
    let proxy = Proxy::start(bench.plane);
    let logs = bench.node.folder().join("logs");
    proxy.plan([(At::Ends("/log"), Fault::Log(logs))]);
    let output = command(bench, PROGRAM, ["60s", "40s"], Some(&proxy)).output();
    let run = Run::from(output.expect("the plugin can be run"));
    let name = bench.node.name();
    let run = run
        .ended(0)
        .saying(&format!("unit {name}: asking the kubelet of node {name}"))
        .saying(&format!(
            "the devices of unit {name} are safe to pull (to remove from the machine): no claim holds them, and the kubelet of {name} has released them"
        ));
    // Whether the kubelet still held the device at the first question depends on the machine; at the last it does not.
    assert!(bench.held().is_empty(), "{run:#?}");
    assert!(debug_pods(bench).is_empty());
    let asked = proxy.seen().into_iter();
    let asked = asked.filter(|seen| seen.method == "POST" && seen.path.ends_with("/pods"));
    assert!(asked.count() >= 1, "a pod for each question");
    restore(bench);
}

/// The drain, until it says that it asks a kubelet and the pod for it is there.
fn asking(bench: &Bench<'_>) -> (Child, thread::JoinHandle<String>) {
    let mut child = command(bench, ENDLESS, ["60s", "40s"], None)
        .spawn()
        .expect("the plugin can be run");
    let stderr = child.stderr.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let lines = BufReader::new(stderr).lines();
        lines.map_while(Result::ok).collect::<Vec<_>>().join("\n")
    });
    block_on(wait_for("the debug pod is made", DEADLINE, async || {
        let is_over = child.try_wait().expect("a process").is_some();
        (is_over || !debug_pods(bench).is_empty()).then_some(())
    }));
    (child, reader)
}

fn leaves_no_pod(bench: &Bench<'_>, signal: &str, code: i32) {
    let (mut child, reader) = asking(bench);
    thread::sleep(Duration::from_millis(300));
    let sent = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|sent| sent.success()));
    let status = child.wait().expect("it ends");
    let said = reader.join().expect("it is read");
    assert_eq!(status.code(), Some(code), "{signal}: {said}");
    assert!(said.contains("interrupted"), "{signal}: {said}");
    assert!(said.contains("same command again"), "{signal}: {said}");
    assert!(debug_pods(bench).is_empty(), "{signal}: {said}");
    restore(bench);
}

/// A pod that never ends says nothing: the unit is blocked, and the pod is removed.
fn ends_without_an_answer(bench: &Bench<'_>) {
    let mut command = command(bench, ENDLESS, ["6s", "2s"], None);
    let run = Run::from(command.output().expect("the plugin can be run"));
    let run = run.ended(5).saying("has not ended after 2s");
    assert!(!run.stderr.contains("safe to pull"), "{run:#?}");
    assert!(debug_pods(bench).is_empty());
    restore(bench);
}
