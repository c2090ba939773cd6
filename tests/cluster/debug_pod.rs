//! `podresources --via-debug`: a pod is made, read, and removed whatever happens.
//!
//! Without a kubelet: the test says how far the pod is, and a proxy what it has printed.

use std::{
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{
    At, ControlPlane, DEADLINE, Fault, PLUGIN, Proxy, Reference, Reply, block_on, driver_name,
    objects::{self, node, slice},
    random_suffix, text, wait_for,
};

const LABEL: &str = "app.kubernetes.io/managed-by=kubectl-devicetaint";
/// The first look at the pod waits so long, so that the test can say how far the pod is before.
const LATE: Duration = Duration::from_secs(3);

/// What the program prints in the pod.
fn printed() -> String {
    let device = json!({"device": "gpu.example.com/node-7/gpu-0", "claim": {"namespace": "ml", "name": "gpu", "uid": null}, "shareID": null, "cdiDevices": []});
    let container = json!({"name": "main", "dynamicResources": [device], "pluginDevices": []});
    json!({
        "apiVersion": "devicetaint.dev/v1alpha1", "kind": "PodResourcesList",
        "metadata": {"context": null, "server": null, "serverVersion": null, "dataSource": "Kubelet"},
        "items": [{"namespace": "ml", "name": "train", "uid": null, "containers": [container]}],
        "preparedClaims": [], "allocatable": null, "warnings": [],
    })
    .to_string()
}

/// A node and a namespace of its own, and a proxy on the way to them.
struct Stage {
    plane: &'static ControlPlane,
    proxy: Proxy,
    /// What is asked: `list` or `check`.
    question: &'static str,
    node: String,
    namespace: String,
}

impl Stage {
    fn new() -> Self {
        let plane = ControlPlane::shared();
        let name = format!("debugged-{}", random_suffix());
        block_on(plane.create(&[node(&name)]));
        Self {
            plane,
            proxy: Proxy::start(plane),
            question: "list",
            node: name,
            namespace: block_on(plane.namespace()),
        }
    }

    /// The command, begun; the first look at the pod is late, and more may happen to what follows.
    fn begin(&self, more: &[&str], harm: impl IntoIterator<Item = (At, Fault)>) -> Child {
        let plan = [self.late_look()].into_iter().chain(harm);
        self.begin_on(&self.node, more, plan)
    }

    fn late_look(&self) -> (At, Fault) {
        let prefix = format!("/api/v1/namespaces/{}/pods/devicetaint-", self.namespace);
        (At::Path(prefix, 1), Fault::Late(LATE))
    }

    /// As [`Self::begin`], on any node, and with anything that may happen.
    fn begin_on(
        &self,
        node: &str,
        more: &[&str],
        plan: impl IntoIterator<Item = (At, Fault)>,
    ) -> Child {
        self.proxy.plan(plan);
        let mut command = self.plane.command(PLUGIN);
        command
            .args([
                "podresources",
                self.question,
                "--via-debug",
                node,
                "--debug-image",
                "example.com/plugin:1",
            ])
            .args(["--debug-namespace", &self.namespace])
            .args(more)
            .args(self.proxy.flags())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the plugin can be run")
    }

    /// A driver with one device on the node, which a rule of this name taints, as the controller has seen.
    fn observed_rule(&self, rule: &str) -> String {
        let driver = driver_name();
        block_on(self.plane.create(&[
            slice(&driver, &self.node, &["gpu-0"]),
            objects::rule(rule, &driver, "NoExecute"),
        ]));
        let observed = ["wait", rule, "--for", "observed", "--timeout", "30s"];
        assert!(self.plane.plugin(&observed).status.success());
        driver
    }

    fn pods(&self) -> Vec<Value> {
        let listed = self.plane.kubectl(&[
            "get",
            "pods",
            "-n",
            &self.namespace,
            "-l",
            LABEL,
            "-o",
            "json",
        ]);
        let listed: Value = serde_json::from_str(&text(&listed)).expect("JSON");
        listed["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for the pod, and says how far it is.
    fn pod_is(&self, status: &Value) -> Value {
        let pod = block_on(wait_for("the pod is made", DEADLINE, async || {
            self.pods().pop()
        }));
        let name = pod["metadata"]["name"].as_str().expect("a name");
        block_on(
            self.plane
                .patch_status(&Reference::pod(&self.namespace, name), status),
        );
        pod
    }
}

/// What the pod has printed, however often it was looked at before.
fn log(body: String) -> (At, Fault) {
    let reply = Reply {
        status: "200 OK",
        headers: vec!["Content-Type: text/plain".to_owned()],
        body,
    };
    (At::Ends("/log"), Fault::Answer(reply))
}

fn ended(child: Child) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("the plugin ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_pod_on_the_node_says_what_is_in_use_and_is_gone_again() {
    let stage = Stage::new();
    let child = stage.begin(&["-o", "name"], [log(printed())]);
    let pod = stage.pod_is(&json!({"phase": "Succeeded"}));
    assert_eq!(pod["spec"]["nodeName"], *stage.node);
    let (status, stdout, stderr) = ended(child);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(stdout, "gpu.example.com/node-7/gpu-0\n");
    assert_eq!(stage.pods(), [] as [Value; 0]);
}

/// A pod that was made on the node has asked that node's kubelet: nothing else has to show whose it is.
#[test]
fn what_a_kubelet_says_from_afar_is_compared_with_the_cluster() {
    let stage = Stage {
        question: "check",
        ..Stage::new()
    };
    let child = stage.begin(&["-o", "json"], [log(printed())]);
    stage.pod_is(&json!({"phase": "Succeeded"}));
    let (status, stdout, stderr) = ended(child);
    assert_eq!(status, Some(4), "{stderr}");
    let told: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(told["node"], *stage.node);
    let devices = told["items"].as_array().expect("devices");
    assert_eq!(devices.len(), 1, "{stdout}");
    assert_eq!(devices[0]["device"], "gpu.example.com/node-7/gpu-0");
    let reasons = devices[0]["objections"].as_array().expect("reasons").iter();
    let codes: Vec<&Value> = reasons.map(|reason| &reason["reason"]).collect();
    assert_eq!(codes, ["InUse", "InUseAndFree", "DriverDown", "NotTainted"]);
    assert_eq!(stage.pods(), [] as [Value; 0]);
}

/// A wait asks a kubelet from afar as it asks the one of its own node.
#[test]
fn a_wait_asks_a_kubelet_from_afar() {
    let stage = Stage::new();
    let (plane, node) = (stage.plane, stage.node.as_str());
    let rule = format!("rule-{node}");
    let driver = stage.observed_rule(&rule);
    let held = printed().replace(
        "gpu.example.com/node-7/gpu-0",
        &format!("{driver}/{node}/gpu-0"),
    );
    let mut free: Value = serde_json::from_str(&printed()).expect("JSON");
    free["items"] = json!([]);
    let free = free.to_string();
    for (printed, code, reasons) in [(free, 0, &[][..]), (held, 5, &["InUse"])] {
        stage.proxy.plan([stage.late_look(), log(printed)]);
        let mut command = plane.command(PLUGIN);
        command
            .args([
                "wait", &rule, "--for", "evicted", "--settle", "0s", "-o", "json",
            ])
            .args(["--timeout", "3s", "--via-debug", node])
            .args(["--debug-image", "example.com/plugin:1"])
            .args(["--debug-namespace", &stage.namespace])
            .args(stage.proxy.flags())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the plugin can be run");
        block_on(wait_for("the pod is made", DEADLINE, async || {
            let is_over = child.try_wait().expect("a process").is_some();
            (is_over || !stage.pods().is_empty()).then_some(())
        }));
        if !stage.pods().is_empty() {
            let pod = stage.pod_is(&json!({"phase": "Succeeded"}));
            assert_eq!(pod["spec"]["nodeName"], *node);
        }
        let (status, stdout, stderr) = ended(child);
        assert_eq!(status, Some(code), "{stderr}");
        let told: Value = serde_json::from_str(&stdout).expect("JSON");
        let left = told["blockers"].as_array().expect("what is left").iter();
        let found: Vec<&str> = left.filter_map(|left| left["reason"].as_str()).collect();
        assert_eq!(found, reasons, "{told}");
        assert_eq!(stage.pods(), [] as [Value; 0]);
    }
    let refused = plane.plugin(&[
        "wait",
        &rule,
        "--for",
        "deleted",
        "--via-debug",
        node,
        "--debug-image",
        "example.com/plugin:1",
    ]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn what_comes_in_between_leaves_no_pod_behind() {
    let waiting = json!({"phase": "Pending", "containerStatuses": [{
        "name": "podresources", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
    }]});
    let succeeded = json!({"phase": "Succeeded"});
    let failed = json!({"phase": "Failed"});
    for (more, status, reply, code, words) in [
        (
            &[][..],
            &waiting,
            None,
            1,
            "cannot start: ImagePullBackOff: no such image",
        ),
        (
            &["--debug-timeout", "1s"][..],
            &json!({"phase": "Pending"}),
            None,
            75,
            "has not ended after 1s",
        ),
        (
            &[][..],
            &succeeded,
            Some("hello"),
            1,
            "did not print the JSON report of kubectl-devicetaint",
        ),
        (
            &[][..],
            &failed,
            Some("error: no such socket"),
            1,
            "its last output: error: no such socket",
        ),
    ] {
        let stage = Stage::new();
        let child = stage.begin(more, reply.map(|reply| log(reply.to_owned())));
        stage.pod_is(status);
        let (found, stdout, stderr) = ended(child);
        assert_eq!((found, stdout.as_str()), (Some(code), ""), "{stderr}");
        assert!(stderr.contains(words), "{words}: {stderr}");
        assert_eq!(stage.pods(), [] as [Value; 0], "{words}");
    }
}

#[test]
fn ctrl_c_leaves_no_pod_behind() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let stage = Stage::new();
        let child = stage.begin(&[], []);
        stage.pod_is(&json!({"phase": "Pending"}));
        thread::sleep(Duration::from_millis(500));
        send(signal, &child);
        let (found, _, stderr) = ended(child);
        assert_eq!(found, Some(code), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert_eq!(stage.pods(), [] as [Value; 0]);
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|sent| sent.success()));
}

/// A server that does not let the pod be removed.
fn denied() -> Fault {
    Fault::Answer(Reply::json(
        "403 Forbidden",
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "pods is forbidden: User \"a\" cannot delete resource \"pods\" in API group \"\"",
            "details": {"kind": "pods"}})
        .to_string(),
    ))
}

/// The pod is named, and removed as it is said that it can be.
fn is_removed_by_hand(stage: &Stage, stderr: &str) {
    assert!(stderr.contains("could not be deleted"), "{stderr}");
    let by_hand = stderr
        .split("kubectl delete pod/")
        .nth(1)
        .expect("a command");
    let name = by_hand.split(' ').next().expect("a name");
    let reference = format!("pod/{name}");
    text(
        &stage
            .plane
            .kubectl(&["delete", &reference, "-n", &stage.namespace, "--force"]),
    );
}

/// A wait that is stopped while its pod asks the kubelet leaves no pod behind.
#[test]
fn ctrl_c_during_a_wait_leaves_no_pod_behind() {
    let stage = Stage::new();
    let (plane, node) = (stage.plane, stage.node.as_str());
    let rule = format!("stopped-{node}");
    stage.observed_rule(&rule);
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = plane.command(PLUGIN);
        command
            .args(["wait", &rule, "--for", "evicted", "--settle", "0s"])
            .args(["--timeout", "60s", "--via-debug", node])
            .args(["--debug-image", "example.com/plugin:1"])
            .args(["--debug-namespace", &stage.namespace])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("the plugin can be run");
        stage.pod_is(&json!({"phase": "Pending"}));
        send(signal, &child);
        let (found, _, stderr) = ended(child);
        assert_eq!(found, Some(code), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert_eq!(stage.pods(), [] as [Value; 0]);
    }
}

#[test]
fn ctrl_c_says_what_could_not_be_removed() {
    let deletes = |fault| (At::Method("DELETE", 1), fault);
    for (fault, words) in [
        (denied(), "access denied"),
        (Fault::Silence, "the server has not responded"),
    ] {
        let stage = Stage::new();
        let child = stage.begin_on(&stage.node, &[], [deletes(fault)]);
        stage.pod_is(&json!({"phase": "Pending"}));
        thread::sleep(Duration::from_millis(500));
        send("INT", &child);
        let (found, _, stderr) = ended(child);
        assert_eq!(found, Some(130), "{stderr}");
        assert!(
            stderr.contains("interrupted") && stderr.contains(words),
            "{stderr}"
        );
        is_removed_by_hand(&stage, &stderr);
    }
}

#[test]
fn a_pod_of_which_nobody_knows_whether_it_was_made_is_removed_or_named() {
    let made = || (At::Method("POST", 1), Fault::Lost);
    let stage = Stage::new();
    let (status, stdout, stderr) = ended(stage.begin_on(&stage.node, &[], [made()]));
    assert_eq!((status, stdout.as_str()), (Some(75), ""), "{stderr}");
    assert_eq!(stage.pods(), [] as [Value; 0]);
    let deleted = (At::Method("DELETE", 1), denied());
    let (status, _, stderr) = ended(stage.begin_on(&stage.node, &[], [made(), deleted]));
    assert_eq!(status, Some(75), "{stderr}");
    is_removed_by_hand(&stage, &stderr);
    // A server that does not answer at all keeps nobody from leaving.
    let silent = (At::Method("POST", 1), Fault::Silence);
    let child = stage.begin_on(&stage.node, &[], [silent]);
    block_on(wait_for("the pod is asked for", DEADLINE, async || {
        let seen = stage.proxy.seen();
        seen.iter().any(|seen| seen.method == "POST").then_some(())
    }));
    send("INT", &child);
    let (status, _, stderr) = ended(child);
    assert_eq!(status, Some(130), "{stderr}");
    assert!(!stderr.contains("could not be deleted"), "{stderr}");
}

/// What an admission plugin refuses, no right to create pods allows.
#[test]
fn a_refusal_of_pod_security_is_passed_on_as_it_is() {
    let stage = Stage::new();
    let label = "pod-security.kubernetes.io/enforce=restricted";
    text(
        &stage
            .plane
            .kubectl(&["label", "namespace", &stage.namespace, label]),
    );
    let (status, stdout, stderr) = ended(stage.begin_on(&stage.node, &[], []));
    assert_eq!((status, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("violates PodSecurity \"restricted:latest\"")
            && stderr.contains("restricted volume types"),
        "{stderr}"
    );
    assert!(stderr.contains("set --debug-namespace to one"), "{stderr}");
    assert!(!stderr.contains("ask for `create`"), "{stderr}");
    assert_eq!(stage.pods(), [] as [Value; 0]);
}

#[test]
fn a_node_that_does_not_exist_gets_no_pod() {
    let stage = Stage::new();
    let (status, stdout, stderr) = ended(stage.begin_on("no-such-node", &[], []));
    assert_eq!((status, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("node no-such-node not found") && stderr.contains("\nhint: "),
        "{stderr}"
    );
    assert!(!stage.proxy.seen().iter().any(|seen| seen.method == "POST"));
    // Who may not read nodes is believed.
    let blind = (At::Path("/api/v1/nodes/".to_owned(), 1), denied());
    let child = stage.begin_on("no-such-node", &["--debug-timeout", "1s"], [blind]);
    let (status, _, stderr) = ended(child);
    assert_eq!(status, Some(75), "{stderr}");
    assert!(stderr.contains("has not ended after 1s"), "{stderr}");
    assert_eq!(stage.pods(), [] as [Value; 0]);
}

#[test]
fn a_pod_that_cannot_be_removed_is_named_with_the_way_to_remove_it() {
    let stage = Stage::new();
    let child = stage.begin(
        &["-o", "name"],
        [log(printed()), (At::Method("DELETE", 1), denied())],
    );
    stage.pod_is(&json!({"phase": "Succeeded"}));
    let (status, stdout, stderr) = ended(child);
    assert_eq!(
        (status, stdout.as_str()),
        (Some(0), "gpu.example.com/node-7/gpu-0\n"),
        "{stderr}"
    );
    is_removed_by_hand(&stage, &stderr);
}
