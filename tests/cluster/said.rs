//! `podresources` against a server made from the official Go module: what a real kubelet does not show.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{PLUGIN, build_node, text};

/// A server that says what it is told to.
struct Said {
    folder: tempfile::TempDir,
    child: Child,
}

impl Said {
    fn start(mood: &str, list: &Value, allocatable: &Value) -> Self {
        let program = build_node().unwrap_or_else(|reason| panic!("{reason}"));
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, content: &Value| {
            let path = folder.path().join(name);
            fs::write(&path, content.to_string()).expect("a file");
            path
        };
        let (list, allocatable) = (file("list", list), file("allocatable", allocatable));
        let mut child = Command::new(program)
            .args(["podresources", "--mood", mood, "--socket"])
            .arg(folder.path().join("s"))
            .arg("--list")
            .arg(list)
            .arg("--allocatable")
            .arg(allocatable)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be run");
        let mut line = String::new();
        let output = child.stdout.take().expect("stdout is a pipe");
        let _ = BufReader::new(output).read_line(&mut line);
        assert_eq!(line.trim(), "ready");
        Self { folder, child }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn asked(&self, arguments: &[&str]) -> Output {
        asked(&self.socket(), arguments)
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
fn everything() -> Value {
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

fn allocatable() -> Value {
    json!({
        "devices": [{"resourceName": "example.com/nic", "deviceIds": ["a"], "topology": {"nodes": [{"ID": "1"}]}}],
        "cpuIds": ["0", "1"], "memory": [{"memoryType": "memory", "size": "8192"}],
    })
}

#[test]
fn every_shape_is_shown_and_what_is_newer_is_skipped() {
    for mood in ["well", "unknown-fields"] {
        let server = Said::start(mood, &everything(), &allocatable());
        let shown = text(&server.asked(&["list", "-o", "wide"]));
        insta::allow_duplicates! { insta::assert_snapshot!(shown, @"
        NAMESPACE   POD     CONTAINER   DEVICE                                      CLAIM     NUMA     CDI
        ml          idle    <none>      <none>                                      <none>    <none>   <none>
        ml          train   main        gpu.example.com/node-0/gpu-0                ml/gpus   <none>   g=0
        ml          train   main        gpu.example.com/node-0/gpu-1                ml/gpus   <none>   g=1
        ml          train   main        gpu.example.com/node-0/gpu-2 (share 8a4f)   ml/gpus   <none>   g=2
        ml          train   main        example.com/nic: c                          <none>    <none>   <none>
        ml          train   main        example.com/nic: a, b                       <none>    1        <none>
        ml          train   main        cpus: 2,3                                   <none>    <none>   <none>
        ml          train   main        hugepages-1Gi: 1073741824 bytes             <none>    1        <none>
        ml          train   (pod)       cpus: 0,1,2,3                               <none>    <none>   <none>
        ml          train   (pod)       memory: 4096 bytes                          <none>    0        <none>
        "); }
        let listed = data(&server.asked(&["list", "-o", "json"]));
        let main = &listed["pods"][1]["containers"][0];
        // What the runtime was told for earlier devices is not told again.
        assert_eq!(main["devices"][1]["cdiDevices"], json!(["g=1"]));
        assert_eq!(main["devices"][2]["shareId"], "8a4f");
        assert_eq!(main["pluginDevices"][1]["ids"], json!(["a", "b"]));
        assert_eq!(listed["pods"][1]["cpus"], json!([0, 1, 2, 3]));
        let shown = text(&server.asked(&["allocatable"]));
        insta::allow_duplicates! { insta::assert_snapshot!(shown, @"
        RESOURCE             NUMA
        example.com/nic: a   1
        cpus: 0,1            <none>
        memory: 8192 bytes   <none>
        "); }
        assert_eq!(
            text(&server.asked(&["list", "-n", "other", "-o", "name"])),
            ""
        );
    }
}

#[test]
fn ten_thousand_pods_are_listed_in_a_moment() {
    let server = Said::start("many", &json!({}), &json!({}));
    let began = Instant::now();
    let listed = data(&server.asked(&["list", "-o", "json"]));
    assert_eq!(listed["pods"].as_array().map(Vec::len), Some(10_000));
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn older_kubelets_say_less_and_that_is_said() {
    let old = Said::start("old", &everything(), &allocatable());
    let output = old.asked(&["list", "-o", "json"]);
    let listed = data(&output);
    assert_eq!(listed["dialect"], "v1alpha1");
    assert_eq!(
        listed["pods"][1]["containers"][0]["pluginDevices"][0]["ids"],
        json!(["a", "b", "c"])
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("claims, processors and memory are not known"),
        "{said}"
    );
    let (status, said) = refusal(&old.asked(&["allocatable"]));
    assert_eq!(status, Some(1));
    assert!(
        said.contains("does not have GetAllocatableResources"),
        "{said}"
    );
    // The call for one pod is behind a gate that is off in 1.33: all pods are asked for.
    for server in [&old, &Said::start("get-off", &everything(), &allocatable())] {
        let got = data(&server.asked(&["get", "ml/train", "-o", "json"]));
        assert_eq!(got["pods"][0]["name"], "train");
        let (_, said) = refusal(&server.asked(&["get", "ml/nobody"]));
        assert!(said.contains("knows no pod ml/nobody"), "{said}");
    }
}

#[test]
fn a_server_that_does_not_do_its_part_is_told_within_the_time() {
    for (mood, status, words) in [
        ("hangs", 75, "has not answered within 1s"),
        ("slow", 75, "has not answered within 1s"),
        ("limited", 75, "is asked too often"),
        ("refuses", 1, "refuses: not for you"),
        ("drops", 75, "has broken off its answer"),
    ] {
        let server = Said::start(mood, &everything(), &allocatable());
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
    let busy = Said::start("busy", &everything(), &allocatable());
    assert!(
        busy.asked(&["list", "--request-timeout", "5s"])
            .status
            .success()
    );
}

/// A socket at which something else happens.
fn foreign(behave: fn(&mut std::os::unix::net::UnixStream)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            behave(&mut stream);
        }
    });
    (folder, path)
}

#[test]
fn what_is_no_kubelet_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("a file");
    let deaf = folder.path().join("deaf");
    drop(UnixListener::bind(&deaf).expect("a socket"));
    let web: fn(&mut std::os::unix::net::UnixStream) = |stream| {
        let mut some = [0; 64];
        let _ = stream.read(&mut some);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        // Who hangs up on what was not read takes the answer away with it.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        while stream.read(&mut some).is_ok_and(|read| read > 0) {}
    };
    let (_web, web) = foreign(web);
    let (_shut, shut) = foreign(|_| {});
    for (socket, status, words) in [
        (folder.path().join("nothing"), 1, "there is no socket"),
        (file.join("below"), 1, "there is no socket"),
        (file, 75, "nobody listens at"),
        (deaf, 75, "nobody listens at"),
        (web, 1, "is no kubelet's podresources API"),
        (shut, 75, "has broken off its answer"),
    ] {
        let (found, said) = refusal(&asked(&socket, &["list", "--request-timeout", "3s"]));
        assert_eq!(found, Some(status), "{said}");
        assert!(said.contains(words) && said.contains("\nhint: "), "{said}");
        assert!(said.contains(socket.to_str().expect("ASCII")), "{said}");
    }
}
