//! The guides of the book that need a cluster: every command in them is run, in their order.
//!
//! The cluster is the part of the README's example that a guide is about. Nothing here has a kubelet: evicted
//! pods are ended by the test, as a kubelet would.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Reference, Variant, block_on, objects::slice, wait_for,
};
use crate::page::{Page, Setting, root};

/// Fields that servers set, and refuse or replace in new objects.
const OF_THE_SERVER: [&str; 5] = [
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "uid",
    "selfLink",
];

/// Objects of the example on a node, as a user would create them: the node itself, devices, claims and pods,
/// no rules.
fn example_of(node: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join("examples/cluster.yaml")).expect("the example");
    let list: Value = serde_yaml::from_str(&text).expect("YAML");
    let items = list["items"].as_array().expect("a list");
    let pods: Vec<&Value> = items
        .iter()
        .filter(|it| it["kind"] == "Pod" && it["spec"]["nodeName"] == node && runs(it))
        .collect();
    let names: BTreeSet<&str> = pods.iter().filter_map(|pod| name(pod)).collect();
    let others = items.iter().filter(|object| match object["kind"].as_str() {
        Some("ResourceClaim") => users(object).iter().any(|user| names.contains(user)),
        Some("ResourceSlice") => object["spec"]["nodeName"] == node,
        Some("DeviceClass") => true,
        Some("Node") => name(object) == Some(node),
        _ => false,
    });
    let objects = pods.iter().copied().chain(others).cloned();
    let objects: Vec<Value> = objects.map(|object| as_new(object, &names)).collect();
    let beside = pods
        .iter()
        .flat_map(|pod| [namespace_of(pod), priority_of(pod)]);
    let beside: BTreeMap<String, Value> = beside
        .flatten()
        .map(|object| (object.to_string(), object))
        .collect();
    beside.into_values().chain(objects).collect()
}

fn name(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}

/// The pods that a claim is reserved for.
fn users(claim: &Value) -> Vec<&str> {
    let users = claim["status"]["reservedFor"].as_array();
    let names = users
        .into_iter()
        .flatten()
        .map(|user| user["name"].as_str());
    names.flatten().collect()
}

fn namespace_of(pod: &Value) -> Option<Value> {
    let name = pod["metadata"]["namespace"].as_str()?;
    // A watcher of devices that others work with needs a namespace that is allowed to.
    let labels = json!({"resource.kubernetes.io/admin-access": "true"});
    let metadata = json!({"name": name, "labels": labels});
    Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
}

/// The class that a pod's priority is from, unless every server has it.
fn priority_of(pod: &Value) -> Option<Value> {
    let name = pod["spec"]["priorityClassName"].as_str()?;
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": pod["spec"]["priority"],
    });
    (!name.is_empty() && !name.starts_with("system-")).then_some(class)
}

fn runs(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
}

/// The object as a user would create it: fields set by the server are left out, UIDs of these `pods` and
/// reservations by others too.
fn as_new(mut object: Value, pods: &BTreeSet<&str>) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in OF_THE_SERVER {
            metadata.remove(name);
        }
    }
    for list in ["/status/reservedFor", "/metadata/ownerReferences"] {
        let entries = object.pointer_mut(list).and_then(Value::as_array_mut);
        let Some(entries) = entries else { continue };
        let is_pod = |it: &Value| it["kind"] == "Pod" || it["resource"] == "pods";
        let is_here = |it: &Value| it["name"].as_str().is_some_and(|name| pods.contains(name));
        entries.retain(|it| !is_pod(it) || is_here(it));
        for entry in entries.iter_mut().filter(|it| is_pod(it)) {
            entry.as_object_mut().expect("an object").remove("uid");
        }
    }
    object
}

/// Runs pods that have a node, and ends those that are being deleted, as kubelets do.
fn run_pods(plane: &ControlPlane, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let pods = block_on(plane.request(http::Method::GET, "/api/v1/pods", None));
        let pods = pods.and_then(|answer| answer.success());
        for pod in pods
            .iter()
            .flat_map(|list| list["items"].as_array().into_iter().flatten())
        {
            let name = |field: &str| pod["metadata"][field].as_str().expect("a name");
            let is_deleted = pod["metadata"]["deletionTimestamp"].is_string();
            let is_new = pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] == "Pending";
            if is_new && !is_deleted {
                let ready = json!([{"type": "Ready", "status": "True"}]);
                let running = json!({"phase": "Running", "conditions": ready});
                let reference = Reference::pod(name("namespace"), name("name"));
                block_on(plane.patch_status(&reference, &running));
            }
            if is_deleted {
                // A kubelet reports the end of a pod before it is gone.
                let ended = json!({
                    "phase": "Succeeded", "containerStatuses": null, "initContainerStatuses": null,
                });
                let reference = Reference::pod(name("namespace"), name("name"));
                block_on(plane.patch_status(&reference, &ended));
                block_on(plane.force_delete_pod(name("namespace"), name("name")));
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Runs the commands of a guide on a cluster with the example's objects on `node`.
fn follow(guide: &str, node: &str) {
    let plane = ControlPlane::start(&Variant::unconfigured().without_scheduler());
    block_on(plane.create(&example_of(node)));
    follow_on(&plane, guide, || {});
}

/// Runs the commands of a guide, once its objects are there.
fn follow_on(plane: &ControlPlane, guide: &str, prepare: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let shell = || -> Command { plane.command("bash") };
    let page = Page::read(&format!("docs/src/guides/{guide}.md"));
    assert!(
        page.commands(Setting::Live) > 4,
        "{guide} shows what is run"
    );
    thread::scope(|scope| {
        scope.spawn(|| run_pods(plane, &is_over));
        // Also when the page is wrong, or the scope would never end.
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            prepare();
            page.check(Setting::Live, shell);
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
    });
    let rules = block_on(plane.request(
        http::Method::GET,
        "/apis/resource.k8s.io/v1/devicetaintrules",
        None,
    ));
    let rules = rules.and_then(|answer| answer.success()).expect("a list");
    assert_eq!(rules["items"], json!([]), "a guide leaves nothing behind");
}

#[test]
fn one_gpu_is_taken_out_of_service_as_the_guide_says() {
    follow("one-gpu", "node-7");
}

/// The objects of a file of `tests/data/guides`.
fn objects_of(name: &str) -> Vec<Value> {
    let path = root().join(format!("tests/data/guides/{name}.yaml"));
    let text = fs::read_to_string(path).expect("a file");
    let list: Value = serde_yaml::from_str(&text).expect("YAML");
    list["items"].as_array().expect("a list").clone()
}

/// A node with devices.
fn node_with(plane: &ControlPlane, node: &str, devices: &[&str]) {
    block_on(async {
        plane.ready_node(node).await;
        plane
            .create(&[slice("gpu.example.com", node, devices)])
            .await;
    });
}

/// Waits until the budget of the workload counts all of its pods.
fn until_counted(plane: &ControlPlane, pods: usize) {
    let reference = Reference::namespaced("policy/v1", "PodDisruptionBudget", "serving", "web");
    block_on(wait_for(
        "the budget counts all pods",
        DEADLINE,
        async || {
            let budget = plane.get(&reference).await?;
            (budget["status"]["currentHealthy"] == pods).then_some(())
        },
    ));
}

/// Two nodes full of pods of a workload with a budget, and one that is free: it comes last, so that no pod is there yet.
fn workload_on_two_nodes(plane: &ControlPlane) {
    node_with(plane, "node-7", &["gpu-0", "gpu-1"]);
    node_with(plane, "node-8", &["gpu-0", "gpu-1"]);
    block_on(plane.create(&objects_of("drain")));
    until_counted(plane, 4);
    node_with(plane, "node-9", &["gpu-0", "gpu-1", "gpu-2", "gpu-3"]);
}

#[test]
fn nodes_are_drained_one_after_the_other_as_the_guide_says() {
    let controllers = "device-taint-eviction-controller,resourceclaim-controller,\
        replicaset-controller,disruption-controller";
    let plane = ControlPlane::start(&Variant::default().with_controllers(controllers));
    follow_on(&plane, "drain", || workload_on_two_nodes(&plane));
}

#[test]
fn devices_are_dedicated_to_a_team_as_the_guide_says() {
    follow("dedicate", "node-8");
}

/// Two pods with a budget on all devices of a node, and a pod of a higher priority that waits for one.
fn pending_pod(plane: &ControlPlane) {
    node_with(plane, "node-7", &["gpu-0", "gpu-1"]);
    block_on(plane.create(&objects_of("make-room")));
    until_counted(plane, 2);
    block_on(plane.create(&objects_of("make-room-pending")));
    let tried = "the scheduler has tried the pod";
    block_on(wait_for(tried, DEADLINE, async || {
        let pod = plane.get(&Reference::pod("serving", "critical")).await?;
        let mut conditions = pod["status"]["conditions"].as_array()?.iter();
        let is_tried = conditions.any(|it| it["reason"] == "Unschedulable");
        is_tried.then_some(())
    }));
}

#[test]
fn room_is_made_for_a_pending_pod_as_the_guide_says() {
    let controllers = "device-taint-eviction-controller,resourceclaim-controller,\
        statefulset-controller,disruption-controller";
    let plane = ControlPlane::start(&Variant::default().with_controllers(controllers));
    follow_on(&plane, "make-room", || pending_pod(&plane));
}
