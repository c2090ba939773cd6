//! A control plane for nodes, and pods on them.

use std::{env, process::Output, sync::LazyLock};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Node, Prepared, Reference, Variant, block_on, driver_name,
    objects::{claim, class, rule},
    random_suffix, say, text, wait_for,
};

/// What a cluster with real nodes needs: the readiness of nodes, and garbage collection, too.
const CONTROLLERS: &str = "device-taint-eviction-controller,resourceclaim-controller,node-lifecycle-controller,garbage-collector-controller";

/// The control plane of all tests with nodes; nothing where they are left out.
pub(super) fn plane() -> Option<&'static ControlPlane> {
    static SHARED: LazyLock<Result<ControlPlane, String>> = LazyLock::new(|| {
        ControlPlane::try_start(&Variant::default().with_controllers(CONTROLLERS))
    });
    match env::var("DEVICETAINT_NODES").as_deref() {
        Ok("none") => {
            say("left out, since DEVICETAINT_NODES says none: a test on real nodes");
            None
        }
        Ok(other) => panic!("DEVICETAINT_NODES can only be none, and not {other}"),
        Err(_) => Some(SHARED.as_ref().unwrap_or_else(|reason| panic!("{reason}"))),
    }
}

/// A node with a driver, a namespace and a rule of its own.
pub(super) struct Bench<'a> {
    pub(super) plane: &'a ControlPlane,
    pub(super) node: Node,
    pub(super) namespace: String,
    pub(super) rule: String,
}

impl<'a> Bench<'a> {
    /// A node that is ready, and nothing on it.
    pub(super) fn start(plane: &'a ControlPlane) -> Self {
        let (driver, name) = (driver_name(), format!("node-{}", random_suffix()));
        let node = Node::start(plane, &name, &driver);
        let namespace = block_on(async {
            plane.create(&[class(&driver)]).await;
            plane.namespace().await
        });
        Self {
            plane,
            node,
            namespace,
            rule: format!("drain-{name}"),
        }
    }

    /// A pod with a device of its own, as `change` makes it; it runs.
    pub(super) fn run_pod(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.create_pod(name, change);
        self.wait_for_phase(name, "Running");
    }

    /// As [`Self::run_pod`], without waiting for anything. A claim that it names is made, too.
    pub(super) fn create_pod(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let requests = json!([{"name": "gpu", "exactly": {"deviceClassName": self.node.driver()}}]);
        let template = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"spec": {"devices": {"requests": requests}}},
        });
        let uses = json!({"claims": [{"name": "device"}]});
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 20,
                "containers": [{"name": "main", "image": "example.com/none", "resources": uses}],
                "resourceClaims": [{"name": "device", "resourceClaimTemplateName": name}],
            },
        });
        change(&mut pod);
        let named = pod["spec"]["resourceClaims"][0]["resourceClaimName"].as_str();
        let named = named.filter(|name| {
            let reference = Reference::claim(&self.namespace, name);
            block_on(self.plane.get(&reference)).is_none()
        });
        let named = named.map(|name| claim(&self.namespace, name, self.node.driver()));
        let objects: Vec<Value> = named.into_iter().chain([template, pod]).collect();
        block_on(self.plane.create(&objects));
    }

    pub(super) fn wait_for_phase(&self, name: &str, phase: &str) {
        let what = format!("pod {name} on {} is {phase}", self.node.name());
        block_on(wait_for(&what, DEADLINE, async || {
            let pod = self.plane.get(&self.pod(name)).await?;
            (pod["status"]["phase"] == phase).then_some(())
        }));
    }

    pub(super) fn pod(&self, name: &str) -> Reference {
        Reference::pod(&self.namespace, name)
    }

    /// Deletes the pod with these arguments of kubectl, if it is there.
    pub(super) fn delete_pod(&self, name: &str, how: &str) {
        let namespace = &self.namespace;
        let line = format!("delete pod {name} -n {namespace} --ignore-not-found {how}");
        let arguments: Vec<&str> = line.split(' ').collect();
        text(&self.plane.kubectl(&arguments));
    }

    /// Waits until the pod is gone, the driver holds nothing, and the node can be used.
    pub(super) fn wait_until_idle(&self, pod: &str) {
        let what = format!("pod {pod} is gone, and {} can be used", self.node.name());
        block_on(wait_for(&what, DEADLINE * 2, async || {
            let node = Reference::cluster("v1", "Node", self.node.name());
            let node = self.plane.get(&node).await?;
            let is_well = node["spec"]["taints"].is_null();
            let is_gone = self.plane.get(&self.pod(pod)).await.is_none();
            (is_well && is_gone && self.held().is_empty() && self.free().len() == 4).then_some(())
        }));
    }

    /// Evicts all pods from the node's devices, through the API alone.
    pub(super) fn evict(&self) {
        let rule = rule(&self.rule, self.node.driver(), "NoExecute");
        block_on(self.plane.create(&[rule]));
    }

    /// The claims of this bench whose devices the driver holds, whatever the API shows.
    pub(super) fn held(&self) -> Vec<Prepared> {
        let mut held = self.node.prepared();
        held.retain(|claim| claim.namespace == self.namespace);
        held
    }

    /// The device of a claim of the node.
    pub(super) fn device_of(&self, claim: &Prepared) -> String {
        let (driver, pool) = (self.node.driver(), self.node.name());
        format!("{driver}/{pool}/{}", claim.devices[0])
    }

    /// Remaining pods of the rule, by `describe`.
    pub(super) fn left(&self) -> Vec<Value> {
        let described = self.plugin(&["describe", &self.rule, "-o", "json"]);
        let described: Value =
            serde_json::from_str(&text(&described)).expect("describe prints JSON");
        let remaining = described["items"][0]["remainingPods"].as_array();
        remaining.expect("describe says who is left").clone()
    }

    /// Waits until `describe` shows the reason of the only remaining pod.
    pub(super) fn wait_for_reason(&self, reason: &str) -> Value {
        let what = format!("describe {} says {reason}", self.rule);
        let mut last = Vec::new();
        let end = std::time::Instant::now() + DEADLINE * 2;
        while std::time::Instant::now() < end {
            last = self.left();
            if last.len() == 1 && last[0]["reason"] == reason {
                return last.remove(0);
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        panic!("in vain: {what}, but {last:?}");
    }

    pub(super) fn plugin(&self, arguments: &[&str]) -> Output {
        self.plane.plugin(arguments)
    }

    /// Result of a wait for the evictions, and the remaining pods.
    pub(super) fn wait(&self, timeout: &str) -> (Option<i32>, Vec<Value>) {
        wait(self.plane, &self.rule, timeout)
    }

    /// The devices of the node that no claim holds, by `devices`.
    pub(super) fn free(&self) -> Vec<String> {
        let driver = format!("{}/*/*", self.node.driver());
        let output = self.plugin(&["devices", &driver, "-o", "json"]);
        // Where none is published and none is allocated, there is none.
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let devices = told["items"].as_array().into_iter().flatten();
        let is_free = |device: &&Value| device["state"] == "Free" || device["state"] == "Tainted";
        let free = devices.filter(is_free);
        free.map(|device| device["device"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// Result of a wait for the evictions of `rule`, and the remaining pods.
pub(super) fn wait(plane: &ControlPlane, rule: &str, timeout: &str) -> (Option<i32>, Vec<Value>) {
    let line = format!("wait {rule} --for evicted --settle 0s --timeout {timeout} -o json");
    let output = plane.plugin(&line.split(' ').collect::<Vec<_>>());
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let left = told["blockers"].as_array().cloned().unwrap_or_default();
    (output.status.code(), left)
}
