//! Nodes with devices, workloads on them, and kubelets that only pretend.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::cluster::rules::support::{Run, World};
use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, block_on, driver_name,
    objects::{class, slice},
    random_suffix, wait_for,
};

/// Name of the DaemonSet that monitors all devices.
const MONITOR: &str = "monitor";

/// The control plane of these tests.
pub fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| {
        let controllers = "device-taint-eviction-controller,resourceclaim-controller,\
            deployment-controller,replicaset-controller,job-controller,statefulset-controller,\
            disruption-controller";
        ControlPlane::start(&Variant::default().with_controllers(controllers))
    })
}

/// Nodes with devices and their pods.
pub struct Stage {
    pub world: World<'static>,
    /// The nodes, in the order in which they got devices.
    pub nodes: Vec<String>,
    fewest: Arc<Mutex<BTreeMap<String, usize>>>,
    /// Milliseconds that a pod runs until it is ready.
    ready_after: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    kubelets: Option<thread::JoinHandle<()>>,
    is_monitored: bool,
}

impl Stage {
    /// A namespace without devices, whose pods are run.
    pub fn new() -> Self {
        let driver = driver_name();
        block_on(plane().create(&[class(&driver)]));
        let mut world = World::bare(plane(), driver.clone(), String::new());
        world.namespace = block_on(plane().namespace());
        let labels =
            json!({"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}});
        let namespace = Reference::cluster("v1", "Namespace", &world.namespace);
        block_on(plane().patch(&namespace, &labels));
        let template = |name: &str, exactly: Value| {
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
                "metadata": {"name": name, "namespace": world.namespace},
                "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
            })
        };
        let all = json!({
            "deviceClassName": driver, "allocationMode": "All", "adminAccess": true,
        });
        let labels = json!({"app": MONITOR});
        let monitor = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": MONITOR, "namespace": world.namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": pod_spec(MONITOR),
            }},
        });
        let objects = [
            template("gpu", json!({"deviceClassName": driver, "count": 1})),
            template("pair", json!({"deviceClassName": driver, "count": 2})),
            template(MONITOR, all),
            monitor,
        ];
        block_on(plane().create(&objects));
        let (fewest, ends) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let ready_after = Arc::new(AtomicU64::new(0));
        let kubelets = {
            let namespace = world.namespace.clone();
            let (fewest, ends) = (Arc::clone(&fewest), Arc::clone(&ends));
            let ready_after = Arc::clone(&ready_after);
            thread::spawn(move || {
                let mut placed = BTreeMap::new();
                while !ends.load(Ordering::Relaxed) {
                    let wait = Duration::from_millis(ready_after.load(Ordering::Relaxed));
                    block_on(run_pods(&namespace, &fewest, &mut placed, wait));
                    thread::sleep(Duration::from_millis(100));
                }
            })
        };
        Self {
            world,
            nodes: Vec::new(),
            fewest,
            ready_after,
            ends,
            kubelets: Some(kubelets),
            is_monitored: false,
        }
    }

    /// As [`Stage::new`], with a monitor on each node, which has admin access to all devices.
    pub fn monitored() -> Self {
        let mut stage = Self::new();
        stage.is_monitored = true;
        stage
    }

    /// A node with so many devices.
    pub fn node(&mut self, devices: usize) -> String {
        let node = format!("node-{}", random_suffix());
        let names: Vec<String> = (0..devices).map(|number| format!("gpu-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        block_on(async {
            plane().ready_node(&node).await;
            let slice = slice(&self.world.driver, &node, &names);
            plane().create(&[slice]).await;
        });
        if self.is_monitored {
            self.monitor(&node);
        }
        self.nodes.push(node.clone());
        node
    }

    /// A workload with so many pods, each with a device, once they are ready.
    pub fn workload(&self, kind: &str, name: &str, pods: usize) {
        self.workload_with(kind, name, pods, |_| {});
    }

    /// A Deployment whose rollout creates so many pods, or removes so many, before the other happens.
    pub fn deployment(&self, name: &str, pods: usize, surge: usize, unavailable: usize) {
        self.workload_with("Deployment", name, pods, |spec| {
            let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
            spec["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
        });
    }

    /// A workload as `change` makes its `spec`.
    pub fn workload_with(
        &self,
        kind: &str,
        name: &str,
        pods: usize,
        change: impl FnOnce(&mut Value),
    ) {
        let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        let mut spec = json!({
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec("gpu")},
        });
        if kind == "Job" {
            spec["parallelism"] = json!(pods);
            spec["template"]["spec"]["restartPolicy"] = json!("Never");
        } else {
            spec["replicas"] = json!(pods);
            spec["selector"] = json!({"matchLabels": {"app": name}});
        }
        if kind == "StatefulSet" {
            spec["serviceName"] = json!(name);
        }
        change(&mut spec);
        let workload = json!({
            "apiVersion": version, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": self.world.namespace},
        });
        block_on(plane().create(&[workload]));
        self.until_ready(name, pods);
    }

    /// A pod with a device that nothing recreates, once it is ready.
    pub fn bare(&self, name: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.world.namespace, "labels": {"app": name}},
            "spec": pod_spec("gpu"),
        });
        block_on(plane().create(&[pod]));
        self.until_ready(name, 1);
    }

    /// A pod of a DaemonSet with admin access to all devices of the node, once it is ready. No controller makes it: no
    /// DaemonSet is needed on the nodes of other tests.
    fn monitor(&self, node: &str) {
        let owner = block_on(self.object("apps/v1", "DaemonSet", MONITOR));
        let mut spec = pod_spec(MONITOR);
        spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [node]},
            ]}],
        }}});
        let name = format!("{MONITOR}-{node}");
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {
                "name": name, "namespace": self.world.namespace, "labels": {"app": name},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "DaemonSet", "name": MONITOR,
                    "uid": owner["metadata"]["uid"], "controller": true,
                }],
            },
        });
        block_on(plane().create(&[pod]));
        self.until_ready(&name, 1);
    }

    /// A budget for the pods of a workload, once it was counted.
    pub fn budget(&self, name: &str, min_available: usize) {
        let labels = json!({"app": name});
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": self.world.namespace},
            "spec": {"minAvailable": min_available, "selector": {"matchLabels": labels}},
        });
        block_on(plane().create(&[budget]));
        let path = format!(
            "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{name}",
            self.world.namespace
        );
        block_on(wait_for("the budget is counted", DEADLINE, async || {
            let budget = get(&path).await;
            let status = &budget["status"];
            let counted =
                status["observedGeneration"] == 1 && status["currentHealthy"].as_u64()? > 0;
            counted.then_some(())
        }));
    }

    /// Waits until so many pods of the workload are ready.
    pub fn until_ready(&self, app: &str, pods: usize) {
        block_on(wait_for("the pods are ready", DEADLINE, async || {
            let all = pods_of(&self.world.namespace).await;
            (ready(&all, app) == pods).then_some(())
        }));
        self.fewest.lock().expect("no panic").remove(app);
    }

    /// The fewest ready pods of the workload that were seen since it was ready.
    pub fn fewest(&self, app: &str) -> usize {
        let fewest = self.fewest.lock().expect("no panic");
        fewest.get(app).copied().expect("it was seen")
    }

    /// From now on a pod is ready so long after it was placed.
    pub fn ready_after(&self, wait: Duration) {
        let wait = u64::try_from(wait.as_millis()).expect("a short time");
        self.ready_after.store(wait, Ordering::Relaxed);
    }

    /// An object of the namespace.
    pub async fn object(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let reference = Reference::namespaced(api_version, kind, &self.world.namespace, name);
        plane().get(&reference).await.expect("it is there")
    }

    /// The pods that are on a node, without its monitor.
    pub fn on(&self, node: &str) -> Vec<String> {
        let all = block_on(pods_of(&self.world.namespace));
        let on = all.iter().filter(|pod| pod["spec"]["nodeName"] == *node);
        let names = on.map(|pod| text(&pod["metadata"]["name"]));
        names.filter(|name| !name.starts_with(MONITOR)).collect()
    }

    /// Runs the program.
    pub fn run(&self, line: &str) -> Run {
        self.world.run(line)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(kubelets) = self.kubelets.take() {
            // A failed test is more important than its kubelets.
            let _ = kubelets.join();
        }
    }
}

/// A pod with a claim of this template.
pub fn pod_spec(template: &str) -> Value {
    json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{
            "name": "main", "image": "example.com/none",
            "resources": {"claims": [{"name": "gpu"}]},
        }],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
    })
}

/// Acts as kubelets: runs pods that have a node, and ends those that were deleted.
async fn run_pods(
    namespace: &str,
    fewest: &Mutex<BTreeMap<String, usize>>,
    placed: &mut BTreeMap<String, Instant>,
    ready_after: Duration,
) {
    let pods = pods_of(namespace).await;
    let mut apps: BTreeMap<String, usize> = BTreeMap::new();
    for pod in &pods {
        let app = text(&pod["metadata"]["labels"]["app"]);
        apps.entry(app.clone())
            .or_insert_with(|| ready(&pods, &app));
    }
    {
        let mut fewest = fewest.lock().expect("no panic");
        for (app, ready) in apps {
            let known = fewest.entry(app).or_insert(ready);
            *known = (*known).min(ready);
        }
    }
    for pod in &pods {
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods/{}",
            text(&pod["metadata"]["name"])
        );
        let has_node = pod["spec"]["nodeName"].is_string();
        if pod["metadata"]["deletionTimestamp"].is_string() {
            let ended = json!({"status": {
                "phase": "Failed",
                "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{
                    "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"terminated": {"exitCode": 1}},
                }],
            }});
            if has_node {
                send(Method::PATCH, &format!("{path}/status"), &ended).await;
            }
            send(Method::DELETE, &path, &json!({"gracePeriodSeconds": 0})).await;
        } else if has_node && pod["status"]["phase"] == "Pending" {
            let since = placed.entry(text(&pod["metadata"]["uid"]));
            if since.or_insert_with(Instant::now).elapsed() < ready_after {
                continue;
            }
            let running = json!({"status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
            }});
            send(Method::PATCH, &format!("{path}/status"), &running).await;
        }
    }
}

/// Ignores failures: a pod may be gone by then.
async fn send(method: Method, path: &str, body: &Value) {
    let _ = plane().request(method, path, Some(body)).await;
}

async fn get(path: &str) -> Value {
    let answer = plane().request(Method::GET, path, None).await;
    answer.expect("an answer").success().unwrap_or_default()
}

async fn pods_of(namespace: &str) -> Vec<Value> {
    let list = get(&format!("/api/v1/namespaces/{namespace}/pods")).await;
    list["items"].as_array().cloned().unwrap_or_default()
}

fn ready(pods: &[Value], app: &str) -> usize {
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        pod["metadata"]["labels"]["app"] == *app
            && pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    pods.iter().filter(is_ready).count()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
