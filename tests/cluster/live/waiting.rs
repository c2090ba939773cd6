//! What does it cost to wait for everybody on 1,000 nodes? Run by `benches/wait.sh`.
//!
//! Nobody but this test evicts, so that the pace is known: for every pod the four writes that a
//! controller, a kubelet and the resourceclaim controller make.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use super::large::{DRIVER, load, namespace, places, plugin, say};
use crate::harness::{ControlPlane, Reference, Variant};

/// How many pods are on their way out at a time.
const AT_ONCE: usize = 32;
/// How much more than the first lists a wait may read, the evictions themselves included.
const BYTES: f64 = 2.0;
/// How much more memory than the preview a wait may take.
const MEMORY: f64 = 1.2;
const RULE: &str = "drain";

#[tokio::test]
#[ignore = "a measurement of minutes: benches/wait.sh"]
async fn measure() {
    let plugin = plugin();
    let plane = ControlPlane::start(&Variant::serving("v1"));
    load(&plane).await;
    let preview = Run::start(&plane, &plugin, &["preview", DRIVER, "-o", "json"]);
    let (first, largest) = preview.end();
    plane.create(&[rule()]).await;

    let arguments = [
        "wait",
        RULE,
        "--for",
        "evicted",
        "--settle",
        "2s",
        "--timeout",
        "1h",
    ];
    let wait = Run::start(&plane, &plugin, &arguments);
    // It is to see all of them.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let started = Instant::now();
    let pods: Vec<usize> = places().collect();
    stream::iter(&pods)
        .map(|place| evict(&plane, *place))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<()>>()
        .await;
    let took = started.elapsed().as_secs();
    let (read, memory) = wait.end();

    say(&format!("{} pods were evicted in {took} s", pods.len()));
    say("| of the driver | bytes, MB | memory, MB | lists | watches |");
    say("|---|---|---|---|---|");
    first.tell("preview", largest);
    read.tell("wait", memory);
    let (bytes, memory) = (read.bytes / first.bytes, memory / largest);
    say(&format!(
        "bytes {bytes:.2} (at most {BYTES}), memory {memory:.2} (at most {MEMORY})"
    ));
    assert_eq!(read.lists_of_pods, 1, "all pods are listed once");
    assert!(bytes <= BYTES && memory <= MEMORY);
}

/// A rule that evicts from all devices, and of which the controller says that it is done.
fn rule() -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": RULE},
        "spec": {
            "deviceSelector": {"driver": DRIVER},
            "taint": {"key": "example.com/maintenance", "effect": "NoExecute"},
        },
        "status": {"conditions": [{
            "type": "EvictionInProgress", "status": "False", "reason": "Completed", "message": "",
            "observedGeneration": 1, "lastTransitionTime": "2026-11-21T00:00:00Z",
        }]},
    })
}

/// Everything that happens to a pod until its device is free.
async fn evict(plane: &ControlPlane, place: usize) {
    let (team, name) = (namespace(place), format!("train-{place}"));
    let pod = Reference::pod(&team, &name);
    let target = json!({"conditions": [{
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByDeviceTaintManager",
        "message": "Device Taint manager: deleting due to NoExecute taint",
    }]});
    plane.patch_status(&pod, &target).await;
    plane.delete(&pod).await;
    plane.force_delete_pod(&team, &name).await;
    let claim = Reference::claim(&team, &name);
    let path = format!("{}/status", plane.path(&claim).await);
    let free = json!({"status": {"reservedFor": null, "allocation": null}});
    let answer = plane.request(Method::PATCH, &path, Some(&free)).await;
    answer
        .and_then(|answer| answer.success())
        .expect("a free claim");
}

/// A run of the plugin that tells what it reads.
struct Run {
    child: Child,
    said: PathBuf,
    largest: std::thread::JoinHandle<f64>,
}

/// What a run has read.
struct Read {
    bytes: f64,
    lists: usize,
    lists_of_pods: usize,
    watches: usize,
}

impl Run {
    fn start(plane: &ControlPlane, plugin: &Path, arguments: &[&str]) -> Self {
        let said = plane.folder().join(format!("said-by-{}", arguments[0]));
        let mut command: Command = plane.command(plugin);
        command.args(arguments).arg("-v").stdout(Stdio::null());
        command.stderr(fs::File::create(&said).expect("a file"));
        let child = command.spawn().expect("the plugin can be run");
        let status = format!("/proc/{}/status", child.id());
        Self {
            child,
            said,
            largest: std::thread::spawn(move || largest(&status)),
        }
    }

    fn end(mut self) -> (Read, f64) {
        let status = self.child.wait().expect("a child");
        let said = fs::read_to_string(&self.said).expect("a file");
        assert!(status.success(), "{status}: {said}");
        let memory = self.largest.join().expect("a number");
        (Read::of(&said), memory)
    }
}

/// The largest resident set in megabytes, until the process is gone.
fn largest(status: &str) -> f64 {
    let mut kilobytes = 0.0_f64;
    while let Ok(text) = fs::read_to_string(status) {
        let peak = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        // A process that has ended and was not waited for has no memory.
        let Some(peak) = peak.and_then(|peak| peak.parse().ok()) else {
            break;
        };
        kilobytes = kilobytes.max(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    kilobytes / 1000.0
}

impl Read {
    /// From lines such as `GET /api/v1/pods 200 70000000 bytes in 900 ms`.
    fn of(said: &str) -> Self {
        let requests: Vec<(&str, &str, f64)> = said
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                let (method, path, _) = (words.next()?, words.next()?, words.next()?);
                let bytes = words.next()?.parse().ok()?;
                (words.next()? == "bytes").then_some((method, path, bytes))
            })
            .collect();
        let count = |wanted: &dyn Fn(&str, &str) -> bool| {
            requests
                .iter()
                .filter(|(method, path, _)| wanted(method, path))
                .count()
        };
        Self {
            bytes: requests.iter().map(|(_, _, bytes)| bytes).sum::<f64>() / 1e6,
            lists: count(&|method, _| method == "GET"),
            lists_of_pods: count(&|method, path| method == "GET" && path == "/api/v1/pods"),
            watches: count(&|method, _| method == "WATCH"),
        }
    }

    fn tell(&self, what: &str, memory: f64) {
        say(&format!(
            "| {what} | {:.1} | {memory:.1} | {} | {} |",
            self.bytes, self.lists, self.watches
        ));
    }
}
