//! Measures time and memory of the plugin on 1,000 nodes. Run by `benches/live.sh`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, Variant,
    objects::{allocation, bound, claim, class, node, pod, reserved, slice},
};

pub(crate) const DRIVER: &str = "gpu.example.com";
pub(super) const NODES: usize = 1_000;
const DEVICES: usize = 8;
/// Per 10 devices.
const HELD: usize = 8;
/// Pods that use no device.
const OTHERS: usize = 22_000;
const NAMESPACES: usize = 20;
/// The hash of the template of every Deployment's pods.
const HASH: &str = "7d4b9c6f5";
/// Places of pods in a ReplicaSet.
const PODS: usize = 10;
pub(super) const RUNS: usize = 9;

/// A command, its words, and its limits: as a multiple of curl's time, and in megabytes.
type Target = (&'static str, String, Option<(f64, f64)>);

#[tokio::test]
#[ignore = "a measurement of minutes: benches/live.sh"]
async fn measure() {
    let plugin = plugin();
    let plane = ControlPlane::start(&Variant::serving("v1"));
    let started = Instant::now();
    load_nodes(&plane, NODES).await;
    say(&format!("loaded in {} s", started.elapsed().as_secs()));
    say(
        "| command | plugin, s | curl, s | ratio | at most | memory, MB | without files, MB | at most |",
    );
    say("|---|---|---|---|---|---|---|---|");
    for target in targets() {
        compare(&plane, &plugin, &target);
    }
}

fn targets() -> [Target; 6] {
    let device = format!("{DRIVER}/node-0007/gpu-0");
    let pod = format!("explain pod/{}/train-56", namespace(56));
    let (one, all) = (format!("preview {device}"), format!("preview {DRIVER}"));
    [
        ("preview of one device", one, Some((1.15, 24.0))),
        ("preview of the driver", all, Some((1.15, 50.0))),
        ("devices", "devices".to_owned(), None),
        ("list", "list".to_owned(), None),
        ("explain of a pod", pod, None),
        (
            "explain of a device",
            format!("explain device/{device}"),
            None,
        ),
    ]
}

/// The plugin as it is shipped, not as tests build it.
pub(crate) fn plugin() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let plugin = folder.with_file_name("dist").join("kubectl-devicetaint");
    assert!(plugin.is_file(), "first: cargo build --profile dist");
    plugin
}

fn compare(plane: &ControlPlane, plugin: &Path, (name, line, most): &Target) {
    let run = |more: &[&str]| {
        let mut command = plane.command(plugin);
        command.args(line.split(' ')).args(["-o", "json"]);
        command.args(more);
        command
    };
    let urls = urls(plane.server(), &mut run(&["-v"]));
    let (mut fastest, mut curl_fastest) = (Duration::MAX, Duration::MAX);
    let (mut largest, mut largest_own) = (0.0_f64, 0.0_f64);
    for _ in 0..RUNS {
        let (took, memory, own) = measured_apart(&mut run(&[]));
        fastest = fastest.min(took);
        largest = largest.max(memory);
        largest_own = largest_own.max(own);
        let (took, _) = measured(&mut curl(plane, &urls));
        curl_fastest = curl_fastest.min(took);
    }
    let (ratio, megabytes) = most.map_or_else(
        || ("–".to_owned(), "–".to_owned()),
        |(ratio, megabytes)| (format!("{ratio:.2}"), format!("{megabytes:.0}")),
    );
    say(&format!(
        "| {name} | {:.3} | {:.3} | {:.2} | {ratio} | {largest:.1} | {largest_own:.1} | {megabytes} |",
        fastest.as_secs_f64(),
        curl_fastest.as_secs_f64(),
        fastest.as_secs_f64() / curl_fastest.as_secs_f64(),
    ));
}

/// URLs that the plugin requests, as it logs them.
pub(crate) fn urls(server: &str, verbose: &mut Command) -> Vec<String> {
    let output = verbose.output().expect("the plugin can be run");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let paths = said
        .lines()
        .filter_map(|line| line.strip_prefix("GET ")?.split(' ').next());
    paths.map(|path| format!("{server}{path}")).collect()
}

/// These requests, side by side over a few connections.
pub(crate) fn curl(plane: &ControlPlane, urls: &[String]) -> Command {
    let kubeconfig = fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
    let token = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("token: "))
        .expect("a token")
        .trim_matches('"');
    let mut command = Command::new("curl");
    command
        .args([
            "--silent",
            "--fail",
            "--insecure",
            "--http1.1",
            "--parallel",
        ])
        .args([
            "--header",
            "Accept: application/vnd.kubernetes.protobuf, application/json",
        ])
        .args(["--header", &format!("Authorization: Bearer {token}")]);
    for url in urls {
        command.args(["--output", "/dev/null", url]);
    }
    command
}

/// Duration of the program, and its largest size in megabytes.
pub(crate) fn measured(command: &mut Command) -> (Duration, f64) {
    let (took, all, _) = measured_apart(command);
    (took, all)
}

/// As [`measured`], and how many of the megabytes are no pages of files: those of the program are most of the
/// others. The kernel has no maximum of these, which are read every 2 ms.
fn measured_apart(command: &mut Command) -> (Duration, f64, f64) {
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program can be run");
    let status = format!("/proc/{}/status", child.id());
    let (mut all, mut own) = (0.0_f64, 0.0_f64);
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kilobytes = |field: &str| -> f64 {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(field)?.split_whitespace().next());
            value
                .and_then(|value| value.parse().ok())
                .unwrap_or_default()
        };
        all = all.max(kilobytes("VmHWM:"));
        own = own.max(kilobytes("RssAnon:"));
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "{command:?}: {status}");
            return (started.elapsed(), all / 1000.0, own / 1000.0);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Creates everything of so many nodes.
pub(crate) async fn load_nodes(plane: &ControlPlane, nodes: usize) {
    let namespaces: Vec<Value> = (0..NAMESPACES)
        .map(|number| {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}})
        })
        .collect();
    plane.create(&namespaces).await;
    plane.create(&[class(DRIVER)]).await;
    let owners = load_owners(plane, nodes).await;
    // In parts, so that not all of it is in memory at once.
    for first in (0..nodes).step_by(50) {
        let objects: Vec<Value> = (first..first + 50)
            .flat_map(|number| on_node(number, &owners))
            .collect();
        plane.create(&objects).await;
        if first % 200 == 0 {
            say(&format!("{first} of {nodes} nodes are there"));
        }
    }
}

/// Identities of the ReplicaSets, by number.
type Owners = BTreeMap<usize, Value>;

/// Creates the Deployments and ReplicaSets of the pods on so many nodes, and a budget for each namespace.
async fn load_owners(plane: &ControlPlane, nodes: usize) -> Owners {
    let numbers: BTreeSet<usize> = (0..nodes * DEVICES).map(owner_of).collect();
    let budgets = (0..NAMESPACES).map(|number| {
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "training", "namespace": namespace(number)},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"team": "research"}}},
            "status": {"disruptionsAllowed": 1, "currentHealthy": 320, "desiredHealthy": 319, "expectedPods": 320,
                "observedGeneration": 1},
        })
    });
    plane.create(&budgets.collect::<Vec<_>>()).await;
    let workload = |kind: &str, number: usize, owners: Value| {
        let name = workload_name(kind, number);
        let labels = json!({"app.kubernetes.io/name": format!("training-{number}")});
        json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace(number), "ownerReferences": owners},
            "spec": {"replicas": PODS, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.example/training:1"}]},
            }},
            "status": {"replicas": PODS, "readyReplicas": PODS},
        })
    };
    let deployments = numbers
        .iter()
        .map(|number| workload("Deployment", *number, Value::Null));
    let deployments = plane.create(&deployments.collect::<Vec<_>>()).await;
    let sets = numbers.iter().zip(&deployments).map(|(number, made)| {
        workload(
            "ReplicaSet",
            *number,
            json!([owner("Deployment", *number, &made["metadata"]["uid"])]),
        )
    });
    let sets = plane.create(&sets.collect::<Vec<_>>()).await;
    let identities = sets.iter().map(|set| set["metadata"]["uid"].clone());
    numbers.into_iter().zip(identities).collect()
}

/// The number of the ReplicaSet to which the pod at this place belongs; it is in the pod's namespace.
fn owner_of(place: usize) -> usize {
    place / (NAMESPACES * PODS) * NAMESPACES + place % NAMESPACES
}

fn owner(kind: &str, number: usize, uid: &Value) -> Value {
    let name = workload_name(kind, number);
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true})
}

/// Name of the workload: a ReplicaSet after its Deployment and the hash of the template, which is a label of
/// its pods.
fn workload_name(kind: &str, number: usize) -> String {
    match kind {
        "ReplicaSet" => format!("training-{number}-{HASH}"),
        _ => format!("training-{number}"),
    }
}

/// The namespace of the object of this number.
pub(super) fn namespace(number: usize) -> String {
    format!("team-{:02}", number % NAMESPACES)
}

/// Everything of one node.
fn on_node(number: usize, owners: &Owners) -> Vec<Value> {
    let node = format!("node-{number:04}");
    let names: Vec<String> = (0..DEVICES).map(|device| format!("gpu-{device}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut published = slice(DRIVER, &node, &names);
    let devices = published["spec"]["devices"].as_array_mut();
    for (device, place) in devices.into_iter().flatten().zip(0_usize..) {
        // One for each device, as hardware has it.
        let uuid = format!("gpu-{number:08x}-99e9-c746-8531-{place:012x}");
        device["attributes"] = json!({
            "model": {"string": "Accelerator 3000 SXM"}, "architecture": {"string": "Example"},
            "uuid": {"string": uuid},
            "driverVersion": {"version": "580.12.4"}, "index": {"int": 3}, "pcieRoot": {"string": "pci0000:00"},
        });
        device["capacity"] = json!({"memory": {"value": "141Gi"}});
    }
    let mut objects = vec![published, self::node(&node)];
    for (device, name) in names.iter().enumerate() {
        let place = number * DEVICES + device;
        if place % 10 >= HELD {
            continue;
        }
        let (team, consumer) = (namespace(place), format!("train-{place}"));
        let status = allocation(DRIVER, &node, name);
        let held = reserved(claim(&team, &consumer, DRIVER), status, &consumer);
        objects.push(held);
        let mut training = bound(large(pod(&team, &consumer, &consumer)), &node);
        let set = owner_of(place);
        training["metadata"]["labels"]["pod-template-hash"] = json!(HASH);
        training["metadata"]["ownerReferences"] = json!([owner("ReplicaSet", set, &owners[&set])]);
        objects.push(training);
    }
    for other in 0..OTHERS / NODES {
        let mut idle = pod(&namespace(other), &format!("web-{number}-{other}"), "none");
        idle["spec"]["resourceClaims"] = Value::Null;
        idle["spec"]["containers"][0]["resources"] = Value::Null;
        objects.push(bound(large(idle), &node));
    }
    objects
}

/// The pod with as much in it as pods have.
fn large(mut pod: Value) -> Value {
    let environment: Vec<Value> = (0..40)
        .map(|number| {
            json!({
                "name": format!("SETTING_{number}"),
                "value": format!("https://service-{number}.team.svc.cluster.local:8443/api/v1/resources"),
            })
        })
        .collect();
    pod["spec"]["containers"][0]["env"] = json!(environment);
    pod["metadata"]["labels"] = json!({"app.kubernetes.io/name": "training", "team": "research"});
    pod
}

#[expect(clippy::print_stderr, reason = "the table is the result")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}
