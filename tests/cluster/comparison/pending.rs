//! Pods that wait for the real scheduler: the answers of `explain`, compared with its decisions.
//!
//! The obstacle that the answer names is removed, and the scheduler has to place the pod.
//! `oracle::placement::waiting` asks the allocator about each device.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, PLUGIN, Random, Reference, driver_name, fresh_seed, number_in, objects,
    random_suffix, say, wait_for,
};

/// Pods that wait in a usual run; 200 by hand, with `PENDING_PODS`.
const PODS: u64 = 16;
/// Number of them worked on at a time.
const AT_ONCE: usize = 6;
/// The scheduler looks again at a pod that does not fit after up to ten seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Result for one pod.
#[derive(Default)]
struct Told {
    /// Pods that a taint blocked, and that were scheduled after its removal.
    released: usize,
    /// Pods that devices blocked, and that stayed.
    stayed: usize,
    /// Pods that nothing blocked, and that were scheduled.
    scheduled: usize,
}

#[tokio::test]
async fn what_is_said_of_pods_that_wait_is_what_the_real_scheduler_does() {
    let plane = ControlPlane::shared();
    let seed = fresh_seed();
    let pods = number_in("PENDING_PODS").unwrap_or(PODS);
    let pods = usize::try_from(pods).expect("a small number");
    let all = (0..pods).map(|part| judge(plane, seed, part));
    let told: Vec<Told> = stream::iter(all).buffer_unordered(AT_ONCE).collect().await;
    let sum = |of: fn(&Told) -> usize| told.iter().map(of).sum::<usize>();
    let released = sum(|one| one.released);
    say(&format!(
        "cluster: of {pods} pods that waited (seed {seed}) {released} were scheduled once the taint was gone that was to blame, {} when nothing was, and {} stayed that no taint kept",
        sum(|one| one.scheduled),
        sum(|one| one.stayed),
    ));
    assert!(released > 0, "seed {seed}");
}

/// Two nodes with devices, a pod that has one of them, a rule, and a pod that asks for devices.
struct World {
    driver: String,
    namespace: String,
    slices: Vec<Value>,
    rules: Vec<Value>,
    claim: Value,
    pod: Value,
}

impl World {
    async fn new(plane: &ControlPlane, random: &mut Random) -> Self {
        let (driver, namespace) = (driver_name(), plane.namespace().await);
        let mut slices = Vec::new();
        for _ in 0..2 {
            let node = format!("node-{}", random_suffix());
            plane.ready_node(&node).await;
            let mut slice = objects::slice(&driver, &node, &["gpu-0", "gpu-1", "gpu-2"]);
            let devices = slice["spec"]["devices"].as_array_mut().expect("devices");
            for device in devices {
                device["attributes"] = json!({"model": {"string": random.pick(&["a", "b"])}});
                if random.percent(25) {
                    device["taints"] = json!([{"key": "example.com/ecc", "effect": "NoSchedule"}]);
                }
            }
            slices.push(slice);
        }
        let selects = |random: &mut Random| {
            let mut selector = json!({"driver": driver});
            if random.percent(40) {
                selector["pool"] = slices[random.below(2)]["spec"]["pool"]["name"].clone();
            }
            if random.percent(30) {
                selector["device"] = json!(random.pick(&["gpu-0", "gpu-1"]));
            }
            selector
        };
        let mut rules = Vec::new();
        for _ in 0..random.pick(&[1, 1, 2]) {
            let mut rule =
                objects::rule(&format!("rule-{}", random_suffix()), &driver, "NoSchedule");
            rule["spec"]["deviceSelector"] = selects(random);
            rules.push(rule);
        }
        let mut claim = objects::claim(&namespace, "waiting", &driver);
        let terms = &mut claim["spec"]["devices"]["requests"][0]["exactly"];
        if random.percent(40) {
            terms["selectors"] = json!([{"cel": {"expression": format!("device.attributes['{driver}'].model == 'a'")}}]);
        }
        if random.percent(50) {
            terms["count"] = json!(2);
        }
        if random.percent(25) {
            let key = random.pick(&["example.com/ecc", "example.com/broken"]);
            terms["tolerations"] = json!([{"key": key, "operator": "Exists"}]);
        }
        let mut pod = objects::pod(&namespace, "waiting", "waiting");
        if random.percent(30) {
            // No node has that until nothing else keeps the pod.
            pod["spec"]["nodeSelector"] = json!({"example.com/place": "here"});
        }
        Self {
            driver,
            namespace,
            slices,
            rules,
            claim,
            pod,
        }
    }

    /// Puts everything into the cluster, the pod last.
    async fn create(&self, plane: &ControlPlane, random: &mut Random) {
        plane.create(&[objects::class(&self.driver)]).await;
        plane.create(&self.slices).await;
        if random.percent(50) {
            let claim = objects::claim(&self.namespace, "held", &self.driver);
            plane.create(&[claim]).await;
            plane
                .create(&[objects::pod(&self.namespace, "holder", "held")])
                .await;
            wait_for("the holder is placed or waits", PATIENCE, async || {
                self.settled(plane, "holder").await.then_some(())
            })
            .await;
        }
        plane.create(&self.rules).await;
        // The scheduler has to know the rules before it sees the pod.
        tokio::time::sleep(Duration::from_millis(500)).await;
        plane.create(std::slice::from_ref(&self.claim)).await;
        plane.create(std::slice::from_ref(&self.pod)).await;
        wait_for(
            "the scheduler has looked at the pod",
            PATIENCE,
            async || self.settled(plane, "waiting").await.then_some(()),
        )
        .await;
    }

    async fn pod(&self, plane: &ControlPlane, name: &str) -> Value {
        let pod = plane.get(&Reference::pod(&self.namespace, name)).await;
        pod.expect("the pod is there")
    }

    /// True if the scheduler has placed the pod, or has said that it cannot.
    async fn settled(&self, plane: &ControlPlane, name: &str) -> bool {
        let pod = self.pod(plane, name).await;
        let conditions = pod["status"]["conditions"].as_array();
        pod["spec"]["nodeName"].is_string()
            || conditions
                .into_iter()
                .flatten()
                .any(|one| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable")
    }

    /// True if no node is one that the pod asks for.
    fn is_kept_from_nodes(&self) -> bool {
        self.pod["spec"]["nodeSelector"].is_object()
    }

    /// Removes the obstacles beside devices that keep the pod from the nodes.
    async fn open_nodes(&self, plane: &ControlPlane) {
        for slice in &self.slices {
            let node = slice["spec"]["nodeName"].as_str().expect("a node");
            let label = json!({"metadata": {"labels": {"example.com/place": "here"}}});
            plane
                .patch(&Reference::cluster("v1", "Node", node), &label)
                .await;
        }
    }

    async fn is_scheduled(&self, plane: &ControlPlane) -> bool {
        self.pod(plane, "waiting").await["spec"]["nodeName"].is_string()
    }
}

async fn judge(plane: &ControlPlane, seed: u64, part: usize) -> Told {
    let random = &mut Random::new(seed, part);
    loop {
        let world = World::new(plane, random).await;
        world.create(plane, random).await;
        if !world.is_scheduled(plane).await {
            return compare(plane, &world, &format!("seed {seed}, part {part}")).await;
        }
        // It found a place: another one.
    }
}

async fn compare(plane: &ControlPlane, world: &World, part: &str) -> Told {
    let mut explained = self::explained(plane, world).await;
    let is_scheduled = async || world.is_scheduled(plane).await.then_some(());
    if world.is_kept_from_nodes() {
        // No node is one that it asks for.
        let usable = &explained["waitingRequests"][0]["usableDevices"];
        assert!(
            usable.as_array().is_none_or(Vec::is_empty),
            "{part}: {explained:#}"
        );
        world.open_nodes(plane).await;
        explained = self::explained(plane, world).await;
    }
    // It may be scheduled already.
    if matches!(explained["blockedBy"].as_str(), Some("Elsewhere") | None) {
        let what = format!("{part}: the pod is scheduled that nothing keeps");
        wait_for(&what, PATIENCE, is_scheduled).await;
        return Told {
            scheduled: 1,
            ..Told::default()
        };
    }
    let mut told = Told::default();
    match explained["blockedBy"].as_str() {
        Some("Taint") => {
            // Tolerations of the pod's own claim come first.
            let mut fixes = explained["fixes"].as_array().into_iter().flatten();
            let change = fixes.find(|change| change["type"] == "WithoutTaint");
            let change = change.unwrap_or_else(|| panic!("{part}: {explained:#}"));
            take_away(plane, world, change).await;
            let what = format!("{part}: the pod is scheduled without {change}");
            wait_for(&what, PATIENCE, is_scheduled).await;
            told.released = 1;
        }
        Some("Taints") => {
            for rule in &world.rules {
                plane.delete(&Reference::of(rule)).await;
            }
            for slice in &world.slices {
                without_taints(plane, slice, None).await;
            }
            let what = format!("{part}: the pod is scheduled without all taints");
            wait_for(&what, PATIENCE, is_scheduled).await;
            told.released = 1;
        }
        Some("Devices" | "Never") => {
            assert!(!world.is_scheduled(plane).await, "{part}: {explained:#}");
            told.stayed = 1;
        }
        other => panic!("{part}: {other:?}: {explained:#}"),
    }
    told
}

async fn explained(plane: &ControlPlane, world: &World) -> Value {
    let mut command = plane.command(PLUGIN);
    let line = format!("explain pod/waiting -n {} -o json", world.namespace);
    command.args(line.split(' '));
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.expect("it ends").expect("the plugin can be run");
    let answer = crate::harness::text(&output);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    answer["items"][0].clone()
}

/// Takes the taint away that is named.
async fn take_away(plane: &ControlPlane, world: &World, change: &Value) {
    assert_eq!(change["type"], "WithoutTaint", "{change:#}");
    if let Some(rule) = change["rule"].as_str() {
        plane.delete(&Reference::rule(rule)).await;
        return;
    }
    let device = change["device"].as_str().expect("a device");
    for slice in &world.slices {
        let pool = slice["spec"]["pool"]["name"].as_str().expect("a pool");
        if let Some(name) = device.strip_prefix(&format!("{}/{pool}/", world.driver)) {
            without_taints(plane, slice, Some(name)).await;
        }
    }
}

/// The driver takes its taints from one device of the slice, or from all.
async fn without_taints(plane: &ControlPlane, slice: &Value, only: Option<&str>) {
    let mut devices = slice["spec"]["devices"].clone();
    for device in devices.as_array_mut().expect("devices") {
        if only.is_none_or(|name| device["name"] == *name) {
            device.as_object_mut().expect("a device").remove("taints");
        }
    }
    plane
        .patch(
            &Reference::of(slice),
            &json!({"spec": {"devices": devices}}),
        )
        .await;
}
