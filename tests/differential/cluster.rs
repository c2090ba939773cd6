//! Random clusters in which pods have owners, budgets and nodes, and questions about them.
//!
//! Devices, claims, pods and rules are those that the oracle compares; this adds everything from which
//! hazards and guards are computed.

use serde_json::{Value, json};

use crate::case::{Family, any_case, list};
use crate::harness::Random;
use crate::oracle::placement::cluster::{Cluster as Placement, cluster};
use crate::oracle::run::runner;
use proptest::strategy::{Strategy, ValueTree};

/// A cluster that `--from` reads, and the command lines that both programs run on it.
pub struct Subject {
    pub list: Value,
    pub questions: Vec<Vec<String>>,
}

/// Kinds that a list can be complete in.
const KINDS: &str = "ResourceSlice,ResourceClaim,DeviceTaintRule,Pod,DeviceClass,Node,PodDisruptionBudget,\
    ReplicaSet,Deployment,StatefulSet,DaemonSet,Job,PodGroup";

/// Signals of guards, each with a threshold below which it trips now and then.
const GUARDS: [&str; 14] = [
    "pods.evicted>2",
    "pods.evicted.now>40%",
    "pods.critical>0",
    "pods.unmanaged>1",
    "pods.severity.danger>0",
    "jobs.failed>0",
    "workloads.affected>2",
    "workloads.down>0",
    "workloads.recovering>0",
    "namespaces.affected>1",
    "devices.selected>50%",
    "budgets.violated>0",
    "claims.unplaceable>0",
    "devices.available<2",
];

/// The cluster and the questions of a seed.
pub fn subject(seed: u64) -> Subject {
    let random = &mut Random::of_seed(seed);
    let (mut items, now) = if random.percent(50) {
        (placed(seed), "2026-11-21T01:00:30Z")
    } else {
        let now = random.pick(&[
            "2000-01-01T00:00:00Z",
            "2000-01-01T00:05:00Z",
            "2000-01-01T00:20:00Z",
        ]);
        (drawn(seed, random), now)
    };
    let added = surroundings(&mut items, random);
    items.extend(added);
    let mut list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    if random.percent(70) {
        let annotations =
            json!({"devicetaint.dev/observed-at": now, "devicetaint.dev/kinds": KINDS});
        list["metadata"] = json!({"annotations": annotations});
    }
    let questions = questions(&list, now, random);
    Subject { list, questions }
}

/// Devices with counters, capacity and constraints, some claims without devices.
fn placed(seed: u64) -> Vec<Value> {
    let placement: Placement = cluster(seed);
    let mut list = placement.list();
    let Value::Array(items) = list["items"].take() else {
        unreachable!("a list has items")
    };
    items
}

/// Odd claims, reservations and tolerations.
fn drawn(seed: u64, random: &mut Random) -> Vec<Value> {
    let family = random.pick(&[Family::Previews, Family::Timelines]);
    let tree = any_case(family).new_tree(&mut runner(seed));
    let case = tree.expect("cases can be made").current();
    let mut list = list(&case.objects());
    let Value::Array(items) = list["items"].take() else {
        unreachable!("a list has items")
    };
    items
}

fn of_kind<'a>(items: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let same = items.iter().filter(|item| item["kind"] == kind);
    same.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Gives pods owners, labels, priorities and conditions; returns owners, budgets and nodes.
fn surroundings(items: &mut [Value], random: &mut Random) -> Vec<Value> {
    let mut pods: Vec<&mut Value> = items
        .iter_mut()
        .filter(|item| item["kind"] == "Pod")
        .collect();
    let mut namespaces: Vec<String> = Vec::new();
    for pod in &mut pods {
        namespaces.push(text(&pod["metadata"]["namespace"]));
        furnish(pod, random);
    }
    namespaces.sort();
    namespaces.dedup();
    let mut added = Vec::new();
    for namespace in &namespaces {
        added.extend(owners(namespace, random));
        for number in 0..random.below(3) {
            added.push(budget(namespace, number, random));
        }
    }
    let mut names: Vec<String> = pods
        .iter()
        .map(|pod| text(&pod["spec"]["nodeName"]))
        .collect();
    names.sort();
    names.dedup();
    let known: Vec<String> = of_kind(items, "Node")
        .iter()
        .map(|node| text(&node["metadata"]["name"]))
        .collect();
    for name in names {
        let is_new = !name.is_empty() && !known.contains(&name);
        if is_new && random.percent(85) {
            added.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}));
        }
    }
    let all = added.iter_mut().chain(items.iter_mut());
    for node in all.filter(|item| item["kind"] == "Node") {
        let ready = random.pick(&["True", "True", "True", "Unknown"]);
        let conditions = json!([{"type": "Ready", "status": ready, "lastTransitionTime": "2000-01-01T00:00:00Z"}]);
        node["status"] = json!({"conditions": conditions});
        if random.percent(15) {
            node["spec"] = json!({"unschedulable": true});
        }
    }
    added
}

/// A pod of an application, with everything about it that hazards read.
fn furnish(pod: &mut Value, random: &mut Random) {
    let namespace = text(&pod["metadata"]["namespace"]);
    let kinds = [
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("batch/v1", "Job"),
        ("batch/v1", "Job"),
        ("example.com/v1", "Trainer"),
    ];
    if random.percent(80) {
        let (version, kind) = random.pick(&kinds);
        let (name, uid) = owner(&namespace, kind);
        let uid = if random.percent(5) {
            "uid-former".to_owned()
        } else {
            uid
        };
        pod["metadata"]["ownerReferences"] = json!([
            {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": true}
        ]);
    }
    pod["metadata"]["labels"] = json!({"app": random.pick(&["a", "a", "b"])});
    if random.percent(10) {
        pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = json!("gang");
    }
    if random.percent(10) {
        pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    }
    if random.percent(15) {
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
    }
    pod["spec"]["terminationGracePeriodSeconds"] = json!(random.pick(&[0, 1, 10, 30, 600]));
    if random.percent(10) {
        pod["spec"]["priorityClassName"] = json!("system-cluster-critical");
        pod["spec"]["priority"] = json!(2_000_000_000);
    }
    if random.percent(10) {
        pod["spec"]["volumes"] = json!([{"name": "scratch", "emptyDir": {}}]);
    }
    // Pods of the oracle's placements are all on one node.
    if pod["spec"]["nodeName"] == "node-0" {
        pod["spec"]["nodeName"] = json!(format!("node-{}", random.below(4)));
    }
    let ready = random.pick(&["True", "True", "True", "False"]);
    let since = "2000-01-01T00:00:00Z";
    pod["status"]["conditions"] =
        json!([{"type": "Ready", "status": ready, "lastTransitionTime": since}]);
}

fn owner(namespace: &str, kind: &str) -> (String, String) {
    let name = format!("the-{}", kind.to_lowercase());
    let uid = format!("uid-{namespace}-{name}");
    (name, uid)
}

/// The objects above the pods of a namespace, now and then not all of them.
fn owners(namespace: &str, random: &mut Random) -> Vec<Value> {
    let desired = random.between(1, 4);
    let ready = random.below(desired + 1);
    let replicas = json!({"replicas": desired, "readyReplicas": ready, "availableReplicas": ready, "observedGeneration": 1});
    let failures = random.pick(&[
        json!({"backoffLimit": 0}),
        json!({"backoffLimit": 1}),
        json!({"backoffLimit": 6, "podFailurePolicy": {"rules": [{
            "action": "FailJob",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }]}}),
        json!({"backoffLimit": 0, "podFailurePolicy": {"rules": [{
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }]}}),
        json!({"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 0}),
    ]);
    let all = [
        (
            "apps/v1",
            "ReplicaSet",
            json!({"replicas": desired}),
            replicas.clone(),
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"replicas": desired}),
            replicas.clone(),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"replicas": desired}),
            replicas,
        ),
        (
            "apps/v1",
            "DaemonSet",
            json!({}),
            json!({"desiredNumberScheduled": desired, "numberReady": ready}),
        ),
        (
            "batch/v1",
            "Job",
            failures,
            json!({"active": desired, "ready": ready}),
        ),
    ];
    let mut objects = Vec::new();
    for (version, kind, spec, status) in all {
        if random.percent(8) {
            continue;
        }
        let (name, uid) = owner(namespace, kind);
        let mut object = json!({
            "apiVersion": version, "kind": kind, "spec": spec, "status": status,
            "metadata": {"namespace": namespace, "name": name, "uid": uid, "generation": 1},
        });
        if kind == "ReplicaSet" {
            let (name, uid) = owner(namespace, "Deployment");
            object["metadata"]["ownerReferences"] = json!([
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid, "controller": true}
            ]);
        }
        objects.push(object);
    }
    if random.percent(60) {
        objects.push(json!({
            "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"namespace": namespace, "name": "gang", "uid": format!("uid-{namespace}-gang")},
            "spec": {"minMember": random.between(1, 3)},
        }));
    }
    objects
}

fn budget(namespace: &str, number: usize, random: &mut Random) -> Value {
    let selector = random.pick(&[
        json!({}),
        json!({"matchLabels": {"app": "a"}}),
        json!({"matchLabels": {"app": "b"}}),
        json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
    ]);
    let amount = random.pick(&[
        json!(0),
        json!(1),
        json!(2),
        json!("30%"),
        json!("50%"),
        json!("100%"),
    ]);
    let mut spec = json!({"selector": selector});
    if random.percent(95) {
        spec[random.pick(&["minAvailable", "maxUnavailable"])] = amount;
    }
    if random.percent(50) {
        spec["unhealthyPodEvictionPolicy"] =
            json!(random.pick(&["IfHealthyBudget", "AlwaysAllow"]));
    }
    let expected = random.below(5);
    let (healthy, needed) = (random.below(expected + 1), random.below(expected + 1));
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec,
        "metadata": {"namespace": namespace, "name": format!("budget-{number}"), "uid": format!("uid-budget-{number}"), "generation": 1},
        "status": {
            "observedGeneration": 1, "expectedPods": expected, "currentHealthy": healthy, "desiredHealthy": needed,
            "disruptionsAllowed": healthy.saturating_sub(needed),
        },
    })
}

/// Questions about the cluster: previews of taints and of a rule, and every fourth time reports of other commands.
fn questions(list: &Value, now: &str, random: &mut Random) -> Vec<Vec<String>> {
    let items = list["items"].as_array().expect("items");
    let devices: Vec<[String; 3]> = of_kind(items, "ResourceSlice")
        .into_iter()
        .flat_map(|slice| {
            let spec = &slice["spec"];
            let names = spec["devices"].as_array().cloned().unwrap_or_default();
            let [driver, pool] = [text(&spec["driver"]), text(&spec["pool"]["name"])];
            names
                .into_iter()
                .map(move |device| [driver.clone(), pool.clone(), text(&device["name"])])
        })
        .collect();
    let mut questions: Vec<Vec<String>> = Vec::new();
    for _ in 0..2 {
        let mut question = vec!["preview".to_owned()];
        question.extend(target(&devices, random));
        question.push(taint(random));
        questions.push(question);
    }
    let rules = of_kind(items, "DeviceTaintRule");
    if !rules.is_empty() {
        let rule = text(&random.pick(&rules)["metadata"]["name"]);
        questions.push(vec!["preview".to_owned(), "--rule".to_owned(), rule]);
    }
    for question in &mut questions {
        for guard in GUARDS {
            question.extend(["--abort-if".to_owned(), guard.to_owned()]);
        }
    }
    if random.percent(25) {
        questions.extend([vec!["devices".to_owned()], vec!["list".to_owned()]]);
        let pods = of_kind(items, "Pod");
        if !pods.is_empty() {
            let metadata = &random.pick(&pods)["metadata"];
            let name = format!("pod/{}", text(&metadata["name"]));
            questions.push(vec![
                "explain".to_owned(),
                name,
                "-n".to_owned(),
                text(&metadata["namespace"]),
            ]);
        }
    }
    for question in &mut questions {
        question.extend(["--now", now, "--kubernetes", "1.37", "-o", "json"].map(str::to_owned));
    }
    questions
}

/// All devices, or those of a driver, a pool or an expression, or a single one.
fn target(devices: &[[String; 3]], random: &mut Random) -> Vec<String> {
    if devices.is_empty() {
        return vec!["--all-devices".to_owned()];
    }
    let [driver, pool, device] = random.pick(devices);
    match random.below(6) {
        0 => vec!["--all-devices".to_owned()],
        1 => vec!["--where".to_owned(), format!("device.driver == '{driver}'")],
        2 => vec![driver],
        3 | 4 => vec![format!("{driver}/{pool}/*")],
        _ => vec![format!("{driver}/{pool}/{device}")],
    }
}

/// A taint that some claims of every kind of cluster tolerate.
fn taint(random: &mut Random) -> String {
    let key = random.pick(&[
        "example.com/key-0",
        "example.com/key-1",
        "example.com/ecc",
        "example.com/drain",
    ]);
    let value = random.pick(&["", "", "=one", "=high"]);
    let effect = random.pick(&["NoExecute", "NoExecute", "NoSchedule", "None"]);
    format!("{key}{value}:{effect}")
}
