//! `podresources` against a server made from the official Go module: what a real kubelet does not show.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{PLUGIN, build_node, objects, text};

/// A server that says what it is told to, as deep in its folder as the kubelet's.
pub(super) struct Said {
    folder: tempfile::TempDir,
    child: Child,
}

impl Said {
    pub(super) fn start(mood: &str, list: &Value) -> Self {
        let program = build_node().unwrap_or_else(|reason| panic!("{reason}"));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list");
        fs::write(&path, list.to_string()).expect("a file");
        let socket = folder.path().join("pod-resources");
        fs::create_dir(&socket).expect("a folder");
        let mut child = Command::new(program)
            .args(["podresources", "--mood", mood, "--socket"])
            .arg(socket.join("s"))
            .arg("--list")
            .arg(path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be run");
        let mut line = String::new();
        let output = child.stdout.take().expect("stdout is a pipe");
        let _ = BufReader::new(output).read_line(&mut line);
        assert_eq!(line.trim(), "ready");
        Self { folder, child }
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("pod-resources/s")
    }

    /// The file in which a cluster is kept.
    pub(super) fn keep(&self, cluster: &Value) -> String {
        let file = self.folder.path().join("cluster.json");
        fs::write(&file, cluster.to_string()).expect("a file");
        file.to_str().expect("a path of ASCII").to_owned()
    }

    pub(super) fn asked(&self, arguments: &[&str]) -> Output {
        asked(&self.socket(), arguments)
    }

    /// Notes beside the socket, in which a claim is prepared whose pod was deleted by force.
    pub(super) fn note(&self) {
        let devices =
            json!([{"PoolName": "node-0", "DeviceName": "gpu-4", "RequestNames": ["gpu"]}]);
        let claim = json!({
            "ClaimUID": "u", "ClaimName": "gone", "Namespace": "ml", "PodUIDs": {"p": {}},
            "DriverState": {"gpu.example.com": {"Devices": devices}},
        });
        let data = json!({
            "kind": "DRACheckpoint", "apiVersion": "checkpoint.dra.kubelet.k8s.io/v1",
            "ClaimInfoStateList": [claim],
        });
        let notes = json!({"Data": data.to_string(), "Checksum": 0});
        let path = self.folder.path().join("dra_manager_state");
        fs::write(path, notes.to_string()).expect("a file");
    }

    /// What speaks against pulling each of the five devices of `node`, compared with `cluster`.
    fn checked(&self, node: &str, cluster: &Value) -> (Option<i32>, Vec<String>) {
        let file = self.keep(cluster);
        let cluster = ["--from", &file, "--now", "2026-11-21T01:00:00Z"];
        let question = ["check", "--node", node, "-o", "json"];
        let output = self.asked(&[&question[..], &cluster].concat());
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let devices = told["items"].as_array().expect("devices").iter();
        let codes = devices.map(|device| {
            let reasons = device["reasons"].as_array().expect("reasons").iter();
            let codes = reasons.map(|reason| reason["reason"].as_str().expect("a code"));
            codes.collect::<Vec<_>>().join(" ")
        });
        (output.status.code(), codes.collect())
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn asked(socket: &Path, arguments: &[&str]) -> Output {
    Command::new(PLUGIN)
        .arg("podresources")
        .args(arguments)
        .arg("--socket")
        .arg(socket)
        .env("KUBECONFIG", "/dev/null/nowhere")
        .output()
        .expect("the plugin can be run")
}

fn data(output: &Output) -> Value {
    serde_json::from_str(&text(output)).expect("JSON")
}

/// How a command ends that gets no answer, and what it says.
fn refusal(output: &Output) -> (Option<i32>, String) {
    assert!(output.stdout.is_empty());
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Everything that a pod can have.
pub(super) fn everything() -> Value {
    let near = |node: &str| json!({"nodes": [{"ID": node}]});
    let resource = |device: &str, cdi: &[&str]| {
        let cdi: Vec<Value> = cdi.iter().map(|name| json!({"name": name})).collect();
        json!({"driverName": "gpu.example.com", "poolName": "node-0", "deviceName": device, "cdiDevices": cdi})
    };
    let mut share = resource("gpu-2", &["g=0", "g=1", "g=2"]);
    share["shareId"] = json!("8a4f");
    let claim = json!({
        "claimName": "gpus", "claimNamespace": "ml",
        "claimResources": [resource("gpu-0", &["g=0"]), resource("gpu-1", &["g=0", "g=1"]), share],
    });
    json!({"podResources": [
        {
            "name": "train", "namespace": "ml", "cpuIds": ["0", "1", "2", "3"],
            "memory": [{"memoryType": "memory", "size": "4096", "topology": near("0")}],
            "containers": [
                {
                    "name": "main", "cpuIds": ["2", "3"],
                    "devices": [
                        {"resourceName": "example.com/nic", "deviceIds": ["b"], "topology": near("1")},
                        {"resourceName": "example.com/nic", "deviceIds": ["a"], "topology": near("1")},
                        {"resourceName": "example.com/nic", "deviceIds": ["c"]},
                    ],
                    "memory": [{"memoryType": "hugepages-1Gi", "size": "1073741824", "topology": near("1")}],
                    "dynamicResources": [claim],
                },
                {"name": "beside"},
            ],
        },
        {"name": "idle", "namespace": "ml", "containers": [{"name": "main"}]},
    ]})
}

/// A cluster with five devices on `node`, three of which a pod uses there as [`everything`] says.
pub(super) fn cluster(node: &str) -> Value {
    let names = ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4"];
    let mut slice = objects::slice("gpu.example.com", node, &names);
    // No new pod comes: else nothing is safe to pull.
    for device in slice["spec"]["devices"].as_array_mut().expect("devices") {
        device["taints"] = json!([{"key": "example.com/pull", "effect": "NoSchedule"}]);
    }
    let mut claim = objects::claim("ml", "gpus", "gpu.example.com");
    let result = |device: &&str| json!({"request": objects::REQUEST, "driver": "gpu.example.com", "pool": node, "device": device});
    let results: Vec<Value> = names[..3].iter().map(result).collect();
    claim["metadata"]["uid"] = json!("c");
    claim["status"] = json!({
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": "train", "uid": "p"}],
    });
    let mut pod = objects::bound(objects::pod("ml", "train", "gpus"), node);
    pod["metadata"]["uid"] = json!("p");
    let running = json!({"running": {"startedAt": "2026-11-01T00:00:00Z"}});
    pod["status"] = json!({
        "phase": "Running",
        "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0, "image": "", "imageID": "", "state": running}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [slice, claim, pod]})
}

#[test]
fn what_the_kubelet_says_is_compared_with_the_cluster() {
    const USED: &str = "InUse Claimed";
    const UNREAD: &str = "Unread";
    let server = Said::start("well", &everything());
    let here = cluster("node-0");
    let checked = |cluster: &Value| server.checked("node-0", cluster);
    let all = |used: &str, rest: &str, last: &str| {
        let codes = [used, used, used, rest, last].map(|codes| codes.trim().to_owned());
        (Some(4), codes.to_vec())
    };
    let without_notes = format!("{USED} {UNREAD}");
    assert_eq!(checked(&here), all(&without_notes, UNREAD, UNREAD));
    server.note();
    assert_eq!(checked(&here), all(USED, "", "Prepared"));
    let mut freed = here.clone();
    freed["items"][1]["status"] = json!({});
    let expected = all("InUse", "", "Prepared");
    assert_eq!(checked(&freed), expected);
    let mut driverless = here;
    driverless["items"][0]["spec"]["driver"] = json!("other.example.com");
    let (status, found) = checked(&driverless);
    assert_eq!(status, Some(4));
    assert!(
        found
            .iter()
            .filter(|codes| codes.contains("DriverDown"))
            .count()
            >= 4,
        "{found:?}"
    );
}

#[test]
fn a_kubelet_that_cannot_say_what_is_in_use_frees_nothing() {
    let here = cluster("node-0");
    let mut silent = everything();
    silent["podResources"][0]["containers"] = json!([{"name": "main"}]);
    // Its gate for claims is off.
    let server = Said::start("well", &silent);
    server.note();
    let (status, found) = server.checked("node-0", &here);
    assert_eq!(status, Some(4));
    assert_eq!(found.len(), 5);
    assert!(
        found
            .iter()
            .all(|codes| codes.contains("KubeletWithoutClaims")),
        "{found:?}"
    );
}

/// Who lists nobody may be the kubelet of any node, unless the machine has the node's name.
#[cfg(target_os = "linux")]
#[test]
fn a_kubelet_is_known_by_its_pods_or_by_the_name_of_its_machine() {
    let server = Said::start("well", &json!({}));
    // Somebody runs, elsewhere.
    let mut idle = cluster("node-1");
    idle["items"][0] = cluster("node-0")["items"][0].take();
    let (status, found) = server.checked("node-0", &idle);
    assert_eq!(status, Some(4));
    assert!(
        found.iter().all(|codes| codes.contains("NodeNotVerified")),
        "{found:?}"
    );
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let name = name.trim();
    idle["items"][0]["spec"]["nodeName"] = json!(name);
    let (_, found) = server.checked(name, &idle);
    assert_eq!(found[..4], ["Unread"; 4], "{found:?}");
    // What it has prepared is on that node.
    let mut idle = cluster("node-1");
    idle["items"][0] = cluster("node-0")["items"][0].take();
    server.note();
    let (_, found) = server.checked("node-0", &idle);
    assert_eq!(found[..4], [""; 4], "{found:?}");
}

/// What is looked at is a moment, and what is safe has to be so for a while.
#[test]
fn what_is_safe_is_looked_at_twice() {
    let server = Said::start("well", &everything());
    server.note();
    let file = server.folder.path().join("cluster.json");
    fs::write(&file, cluster("node-0").to_string()).expect("a file");
    let file = file.to_str().expect("a path of ASCII");
    let took = |device: &str| {
        let began = Instant::now();
        let output = server.asked(&[
            "check",
            device,
            "--node",
            "node-0",
            "--from",
            file,
            "--now",
            "2026-11-21T01:00:00Z",
        ]);
        (
            output.status.code(),
            began.elapsed() >= Duration::from_secs(5),
        )
    };
    assert_eq!(took("gpu.example.com/node-0/gpu-3"), (Some(0), true));
    // Nothing has to settle that is in use.
    assert_eq!(took("gpu.example.com/node-0/gpu-0"), (Some(4), false));
}

#[test]
fn a_node_on_which_nothing_runs_has_an_answer() {
    let server = Said::start("well", &json!({}));
    let listed = data(&server.asked(&["list", "-o", "json"]));
    assert_eq!(listed["items"], json!([]));
    let output = server.asked(&["list"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No resources found"), "{said}");
}

#[test]
fn ten_thousand_pods_are_listed_in_a_moment() {
    let server = Said::start("many", &json!({}));
    let relay = Relay::start(&server.socket(), Harm::None);
    let began = Instant::now();
    let listed = data(&relay.asked(&["list", "-o", "json"]));
    // Three containers each, with a device of DRA and devices of a plugin.
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(60_000));
    // More than a client takes that is not told to take more.
    assert!(relay.passed() > 4 << 20, "{}", relay.passed());
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_server_that_does_not_do_its_part_is_told_within_the_time() {
    for (mood, status, words) in [
        ("hangs", 75, "did not respond within 1s"),
        ("slow", 75, "did not respond within 1s"),
        ("limited", 75, "is overloaded"),
        // As on a machine where the last attempt does not end in time.
        ("limited-then-hangs", 75, "is overloaded"),
        ("unavailable", 75, "is unavailable: not ready yet"),
        ("refuses", 1, "rejected the request: not for you"),
        ("another", 1, "it does not support v1"),
        (
            "drops",
            75,
            "closed the connection before the end of its response",
        ),
    ] {
        let server = Said::start(mood, &everything());
        let began = Instant::now();
        let (found, said) = refusal(&server.asked(&["list", "--request-timeout", "1s"]));
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{mood}: {:?}",
            began.elapsed()
        );
        assert_eq!(found, Some(status), "{mood}: {said}");
        assert!(
            said.contains(words) && said.contains("\nhint: "),
            "{mood}: {said}"
        );
    }
    // Who is refused at first is heard in the end.
    let busy = Said::start("busy", &everything());
    assert!(
        busy.asked(&["list", "--request-timeout", "5s"])
            .status
            .success()
    );
}

/// What happens to the server's bytes on their way.
#[derive(Clone, Copy, Debug)]
enum Harm {
    None,
    /// One after the other, with such pauses.
    Trickles(Duration),
    /// After so many, the connection ends.
    Cut(usize),
    /// In the byte of this number a bit flips.
    Flipped(usize),
}

/// A socket that passes everything on, with harm.
struct Relay {
    _folder: tempfile::TempDir,
    path: PathBuf,
    passed: Arc<AtomicUsize>,
}

impl Relay {
    fn start(server: &Path, harm: Harm) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).expect("a socket");
        let passed = Arc::<AtomicUsize>::default();
        let (server, counter) = (server.to_owned(), Arc::clone(&passed));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&server) else {
                    return;
                };
                let there = (client.try_clone(), server.try_clone());
                thread::spawn(move || {
                    let (Ok(mut from), Ok(mut to)) = there else {
                        return;
                    };
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                let counter = Arc::clone(&counter);
                thread::spawn(move || pass_on((server, client), harm, &counter));
            }
        });
        Self {
            _folder: folder,
            path,
            passed,
        }
    }

    fn asked(&self, arguments: &[&str]) -> Output {
        asked(&self.path, arguments)
    }

    /// How many bytes of the server were passed on.
    fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }
}

/// Passes on what the server says.
fn pass_on((mut server, mut client): (UnixStream, UnixStream), harm: Harm, passed: &AtomicUsize) {
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        let before = passed.load(Ordering::SeqCst);
        let mut kept = &mut bytes[..count];
        let mut is_cut = false;
        match harm {
            Harm::None | Harm::Trickles(_) => {}
            Harm::Cut(at) => {
                is_cut = before + count >= at;
                kept = &mut kept[..count.min(at.saturating_sub(before))];
            }
            Harm::Flipped(at) => {
                if let Some(byte) = at.checked_sub(before).and_then(|at| kept.get_mut(at)) {
                    *byte ^= 0x10;
                }
            }
        }
        let size = match harm {
            Harm::Trickles(_) => 1,
            Harm::None | Harm::Cut(_) | Harm::Flipped(_) => count.max(1),
        };
        for part in kept.chunks(size) {
            if client.write_all(part).is_err() {
                return;
            }
            passed.fetch_add(part.len(), Ordering::SeqCst);
            if let Harm::Trickles(pause) = harm {
                thread::sleep(pause);
            }
        }
        if is_cut {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Does `work` with each number, a few side by side.
fn each(numbers: impl Iterator<Item = usize>, work: impl Fn(usize) + Sync) {
    let numbers: Vec<usize> = numbers.collect();
    thread::scope(|scope| {
        for first in 0..8 {
            let (numbers, work) = (&numbers, &work);
            scope.spawn(move || {
                numbers
                    .iter()
                    .skip(first)
                    .step_by(8)
                    .for_each(|one| work(*one))
            });
        }
    });
}

#[test]
fn an_answer_that_arrives_slowly_is_waited_for_as_long_as_there_is_time() {
    let server = Said::start("well", &everything());
    let clean = Relay::start(&server.socket(), Harm::None);
    let whole = text(&clean.asked(&["list", "-o", "json"]));
    let slow = Relay::start(&server.socket(), Harm::Trickles(Duration::from_micros(200)));
    assert_eq!(text(&slow.asked(&["list", "-o", "json"])), whole);
    let slower = Relay::start(&server.socket(), Harm::Trickles(Duration::from_millis(20)));
    let began = Instant::now();
    let (status, said) = refusal(&slower.asked(&["list", "--request-timeout", "1s"]));
    assert_eq!(status, Some(75), "{said}");
    assert!(said.contains("did not respond within 1s"), "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn an_answer_that_is_cut_off_anywhere_is_no_answer() {
    let server = Said::start("well", &everything());
    let clean = Relay::start(&server.socket(), Harm::None);
    let whole = text(&clean.asked(&["list", "-o", "json"]));
    let length = clean.passed();
    // The end of the answer says that it is one: what is cut off there is the most like a whole one.
    let places = (0..length).step_by(31).chain(length - 60..length - 30);
    each(places, |at| {
        let relay = Relay::start(&server.socket(), Harm::Cut(at));
        let output = relay.asked(&["list", "-o", "json", "--request-timeout", "5s"]);
        if output.status.success() {
            // What comes after the answer is about the connection alone.
            assert!(at > length - 60 && text(&output) == whole, "{at}");
            return;
        }
        let (status, said) = refusal(&output);
        assert_eq!(status, Some(75), "{at}: {said}");
        assert!(
            said.contains("closed the connection before the end of its response")
                && said.contains("\nhint: "),
            "{at}: {said}"
        );
    });
}

#[test]
fn what_is_garbled_on_its_way_ends_in_an_answer_or_an_error() {
    let server = Said::start("well", &everything());
    let clean = Relay::start(&server.socket(), Harm::None);
    text(&clean.asked(&["list", "-o", "json"]));
    each((0..clean.passed()).step_by(23), |at| {
        let relay = Relay::start(&server.socket(), Harm::Flipped(at));
        let output = relay.asked(&["list", "-o", "json", "--request-timeout", "1s"]);
        if output.status.success() {
            // Nothing protects the bytes of names.
            assert_eq!(data(&output)["kind"], "PodResourcesList", "{at}");
            return;
        }
        let (status, said) = refusal(&output);
        assert!([Some(1), Some(75)].contains(&status), "{at}: {said}");
        assert!(
            said.contains("\nhint: ") && !said.contains("panicked"),
            "{at}: {said}"
        );
    });
}

/// Who may not look into the folder is told so; root may, and becomes somebody else.
#[test]
fn who_may_not_open_the_socket_is_told_who_may() {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    // Where this is built is perhaps not for everybody.
    let program = folder.path().join("program");
    // By another process: one that is started meanwhile would inherit the open file, which then cannot be run.
    let copied = Command::new("cp")
        .args([PLUGIN.as_ref(), program.as_path()])
        .status();
    assert!(copied.is_ok_and(|copied| copied.success()));
    mode(folder.path(), 0o755);
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).expect("a folder");
    let socket = locked.join("s");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    mode(&locked, 0o000);
    let mut command = Command::new(program);
    command
        .args(["podresources", "list", "--socket"])
        .arg(&socket);
    if fs::metadata(folder.path()).expect("a folder").uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("the plugin can be run");
    mode(&locked, 0o755);
    let (status, said) = refusal(&output);
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("permission denied") && said.contains("hint: run as root on the node"),
        "{said}"
    );
}
