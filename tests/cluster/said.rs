//! `podresources` against a server made from the official Go module: answers that a real kubelet does not give.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{PLUGIN, build_node, objects};

/// A server with given answers, as deep in its folder as the kubelet's.
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

/// Exit status and message of a command that gets no answer.
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

/// A cluster with five devices on `node`, three of which a pod uses there as in [`everything`].
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
    // A client that is refused at first is answered in the end.
    let busy = Said::start("busy", &everything());
    assert!(
        busy.asked(&["list", "--request-timeout", "5s"])
            .status
            .success()
    );
}
