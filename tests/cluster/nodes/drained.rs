//! How long a node's devices take to be free, and what is missing meanwhile, on real kubelets: a table, made by hand.
//!
//! The first rows are what admins do by themselves: restart the owner, or ask the Eviction API for pod after pod. A drain
//! may take 1.3 times as long as the better of them.
//!
//! `cargo test --test full -- --ignored nodes::drained`: two nodes, of which the first has six of eight devices in use.

use std::time::{Duration, Instant};
use std::{collections::BTreeMap, thread};

use http::Method;
use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Node, Variant, block_on, driver_name, objects::class, random_suffix,
    say,
};

/// How long a pod runs until it is ready.
const WARM: Duration = Duration::from_secs(8);
/// What the budget needs of the four pods of the Deployment.
const BUDGET: usize = 3;
const GATE: &str = "node.test/warm";
const CONTROLLERS: &str = "device-taint-eviction-controller,resourceclaim-controller,\
    node-lifecycle-controller,garbage-collector-controller,deployment-controller,\
    replicaset-controller,job-controller,statefulset-controller,disruption-controller";

/// Two nodes; all pods are on the first.
struct Scene<'a> {
    plane: &'a ControlPlane,
    namespace: String,
    nodes: [Node; 2],
}

/// What was seen while the devices were freed; times since the command began.
#[derive(Debug, Default)]
struct Measured {
    free: Option<Duration>,
    fewest: usize,
    below: Duration,
    whole: Option<Duration>,
}

impl<'a> Scene<'a> {
    /// A second node with so many devices, which comes when the pods are on the first.
    fn start(plane: &'a ControlPlane, spare: usize) -> Self {
        let driver = driver_name();
        let node = |devices: usize| {
            let name = format!("node-{}", random_suffix());
            let node = Node::try_start(plane, &name, &driver, &[&format!("--devices={devices}")]);
            node.unwrap_or_else(|reason| panic!("{reason}"))
        };
        let first = node(8);
        let namespace = block_on(async {
            plane.create(&[class(&driver)]).await;
            let namespace = plane.namespace().await;
            plane.create(&workloads(&namespace, &driver)).await;
            namespace
        });
        let ready = |plane: &ControlPlane| {
            let pods = pods(plane, &namespace);
            warm(plane, &pods, &mut BTreeMap::new(), Duration::ZERO);
            ["web", "db", "train"].map(|app| ready_of(&pods, app))
        };
        let end = Instant::now() + DEADLINE * 2;
        while ready(plane) != [4, 1, 1] {
            assert!(Instant::now() < end, "the pods are not ready");
            thread::sleep(Duration::from_millis(300));
        }
        let nodes = [first, node(spare)];
        Self {
            plane,
            namespace,
            nodes,
        }
    }

    /// Does something and looks at devices and pods, also for so long after it.
    fn measure<T: Send>(
        &self,
        act: impl FnOnce() -> T + Send,
        patience: Duration,
    ) -> (T, Measured) {
        let began = Instant::now();
        thread::scope(|scope| {
            let command = scope.spawn(act);
            let mut ended = None;
            let measured = self.look(began, || {
                if command.is_finished() && ended.is_none() {
                    ended = Some(Instant::now());
                }
                ended.is_some_and(|ended: Instant| ended.elapsed() > patience)
            });
            (command.join().expect("no panic"), measured)
        })
    }

    fn look(&self, began: Instant, mut is_over: impl FnMut() -> bool) -> Measured {
        let mut measured = Measured {
            fewest: usize::MAX,
            ..Measured::default()
        };
        let (mut running, mut last) = (BTreeMap::new(), Instant::now());
        while !is_over() {
            let pods = pods(self.plane, &self.namespace);
            warm(self.plane, &pods, &mut running, WARM);
            let web = ready_of(&pods, "web");
            measured.fewest = measured.fewest.min(web);
            if web < BUDGET {
                measured.below += last.elapsed();
            }
            last = Instant::now();
            let is_free = self.nodes[0].prepared().is_empty();
            if is_free && measured.free.is_none() {
                measured.free = Some(began.elapsed());
            }
            let others = ["db", "train"].map(|app| ready_of(&pods, app));
            if is_free && web == 4 && others == [1, 1] && measured.whole.is_none() {
                measured.whole = Some(began.elapsed());
            }
            thread::sleep(Duration::from_millis(200));
        }
        measured
    }

    /// What somebody does without `drain`.
    fn by_hand(&self) -> ByHand<'a> {
        let node = &self.nodes[0];
        ByHand {
            plane: self.plane,
            namespace: self.namespace.clone(),
            devices: format!("{}/{}/*", node.driver(), node.name()),
        }
    }

    /// Drains the first node, which has to succeed.
    fn drain_with(&self, flags: &str) -> Measured {
        let words = self.drain(&format!("{flags} --timeout 3m"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let plane = self.plane;
        let (output, measured) = self.measure(|| plane.plugin(&words), Duration::from_secs(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        say(&said);
        assert!(output.status.success(), "{said}");
        assert!(measured.fewest >= BUDGET, "{measured:?}: {said}");
        assert!(
            measured.free.is_some() && measured.whole.is_some(),
            "{measured:?}: {said}"
        );
        measured
    }

    /// The words of a drain of the first node.
    fn drain(&self, more: &str) -> Vec<String> {
        let node = self.nodes[0].name();
        let line = format!("drain --node {node} --yes --include singletons,jobs {more}");
        line.split_whitespace().map(str::to_owned).collect()
    }
}

/// Ways to free the devices of the first node without `drain`.
struct ByHand<'a> {
    plane: &'a ControlPlane,
    namespace: String,
    devices: String,
}

impl ByHand<'_> {
    /// Taints all devices of the first node.
    fn taint(&self, taint: &str, more: &[&str]) {
        let words = [&["add", &self.devices, taint, "--yes"][..], more].concat();
        let output = self.plane.plugin(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    /// Restarts the Deployment, and evicts the others by taint when that is done.
    fn restart(&self) {
        self.taint("example.com/x:NoSchedule", &[]);
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments/web",
            self.namespace
        );
        let note = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
        let patch = json!({"spec": {"template": {"metadata": {"annotations": note}}}});
        let request = |method, body: Option<&Value>| {
            let answer = block_on(self.plane.request(method, &path, body));
            answer.and_then(|answer| answer.success()).unwrap()
        };
        request(Method::PATCH, Some(&patch));
        loop {
            let found = request(Method::GET, None);
            let (meta, status) = (&found["metadata"], &found["status"]);
            let all = |field: &str| status[field] == 4;
            if status["observedGeneration"] == meta["generation"]
                && ["replicas", "updatedReplicas", "availableReplicas"]
                    .iter()
                    .all(|it| all(it))
            {
                break;
            }
            thread::sleep(Duration::from_millis(200));
        }
        self.taint("example.com/y:NoExecute", &[]);
    }

    /// Asks the Eviction API for one pod after the other, each until it may go.
    fn evict(&self) {
        self.taint("example.com/x:NoSchedule", &[]);
        let mut left: Vec<String> = pods(self.plane, &self.namespace)
            .iter()
            .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        while !left.is_empty() {
            left.retain(|name| {
                let path = format!("/api/v1/namespaces/{}/pods/{name}/eviction", self.namespace);
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": name, "namespace": self.namespace},
                });
                let answer = block_on(self.plane.request(Method::POST, &path, Some(&eviction)));
                answer.and_then(|answer| answer.success()).is_err()
            });
            thread::sleep(Duration::from_secs(1));
        }
    }
}

fn workloads(namespace: &str, driver: &str) -> Vec<Value> {
    let named = |name: &str| json!({"name": name, "namespace": namespace});
    let pod = |app: &str| {
        json!({
            "metadata": {"labels": {"app": app}, "annotations": {"node.test/stops-after": "2s"}},
            "spec": {
                "terminationGracePeriodSeconds": 5,
                "readinessGates": [{"conditionType": GATE}],
                "containers": [{
                    "name": "main", "image": "example.com/none",
                    "resources": {"claims": [{"name": "gpu"}]},
                }],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            },
        })
    };
    let selector = |app: &str| json!({"matchLabels": {"app": app}});
    let mut once = pod("train");
    once["spec"]["restartPolicy"] = json!("Never");
    let request = json!({"name": "gpu", "exactly": {"deviceClassName": driver}});
    vec![
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": named("gpu"), "spec": {"spec": {"devices": {"requests": [request]}}},
        }),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": named("web"),
            "spec": {"minAvailable": BUDGET, "selector": selector("web")},
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": named("web"),
            "spec": {
                "replicas": 4, "selector": selector("web"), "template": pod("web"),
            },
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": named("db"),
            "spec": {"replicas": 1, "serviceName": "db", "selector": selector("db"), "template": pod("db")},
        }),
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": named("train"),
            "spec": {"template": once},
        }),
    ]
}

fn pods(plane: &ControlPlane, namespace: &str) -> Vec<Value> {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let answer = block_on(plane.request(Method::GET, &path, None));
    let list = answer
        .and_then(|answer| answer.success())
        .unwrap_or_default();
    list["items"].as_array().cloned().unwrap_or_default()
}

/// Says of each pod that it is warm when it has run for so long.
fn warm(
    plane: &ControlPlane,
    pods: &[Value],
    running: &mut BTreeMap<String, Instant>,
    after: Duration,
) {
    for pod in pods
        .iter()
        .filter(|pod| pod["status"]["phase"] == "Running")
    {
        let (metadata, conditions) = (&pod["metadata"], &pod["status"]["conditions"]);
        let mut known = conditions.as_array().into_iter().flatten();
        if known.any(|it| it["type"] == GATE) {
            continue;
        }
        let since = running.entry(metadata["uid"].to_string());
        if since.or_insert_with(Instant::now).elapsed() < after {
            continue;
        }
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}/status",
            text("namespace"),
            text("name")
        );
        let status = json!({"status": {"conditions": [{"type": GATE, "status": "True"}]}});
        // It may be gone by now.
        let _ = block_on(plane.request(Method::PATCH, &path, Some(&status)));
    }
}

fn ready_of(pods: &[Value], app: &str) -> usize {
    let is_ready = |pod: &&Value| {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        pod["metadata"]["labels"]["app"] == *app
            && pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    pods.iter().filter(is_ready).count()
}

fn row(way: &str, spare: usize, measured: &Measured) {
    let seconds = |time: Option<Duration>| {
        time.map_or_else(
            || "never".to_owned(),
            |time| format!("{} s", time.as_secs()),
        )
    };
    say(&format!(
        "| {way} | 8 | {spare} | {} | {} | {} s | {} |",
        seconds(measured.free),
        measured.fewest,
        measured.below.as_secs(),
        seconds(measured.whole)
    ));
}

/// Two nodes for each row, one row after the other: some minutes.
#[test]
#[ignore = "measures"]
fn table() {
    let plane = ControlPlane::start(&Variant::default().with_only_controller(CONTROLLERS));
    let by_hand = |act: fn(&ByHand<'_>), patience| {
        let scene = Scene::start(&plane, 8);
        let by_hand = scene.by_hand();
        let ((), measured) = scene.measure(|| act(&by_hand), Duration::from_secs(patience));
        measured
    };
    let restarted = by_hand(|by_hand| by_hand.restart(), 15);
    row("NoSchedule, rollout restart, NoExecute", 10, &restarted);
    let evicted = by_hand(|by_hand| by_hand.evict(), 15);
    row("NoSchedule, Eviction API pod by pod", 10, &evicted);
    let better = restarted.free.min(evicted.free).expect("free devices");
    for flags in ["--restart", ""] {
        let measured = Scene::start(&plane, 8).drain_with(flags);
        row(&format!("drain {flags}"), 10, &measured);
        if flags == "--restart" {
            let free = measured.free.expect("free devices");
            assert!(free <= better.mul_f64(1.3), "{free:?}, by hand {better:?}");
        }
    }
    let measured = by_hand(
        |by_hand| by_hand.taint("example.com/x:NoExecute", &["--abort-if", "pods.evicted>6"]),
        45,
    );
    row("NoExecute at once", 10, &measured);
    one_spare(&plane);
}

/// With one device to go to it does not begin; whoever accepts that is told what stays.
fn one_spare(plane: &ControlPlane) {
    let scene = Scene::start(plane, 1);
    let words = scene.drain("--timeout 2m");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = plane.plugin(&words);
    assert_eq!(refused.status.code(), Some(4));
    let accepted = [&words[..], &["--accept-unplaceable"]].concat();
    let (output, measured) = scene.measure(|| plane.plugin(&accepted), Duration::from_secs(5));
    row("drain --accept-unplaceable", 1, &measured);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("left: "), "{said}");
    assert!(measured.fewest >= BUDGET, "{measured:?}: {said}");
}
