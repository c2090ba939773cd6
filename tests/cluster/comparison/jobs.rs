//! Jobs with evicted pods, as the real Job controller handles them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, DEADLINE, Reference, block_on, driver_name, objects, text, wait_for,
};

const TAINT: &str = "example.com/broken:NoExecute";

/// Failure policies of Jobs, with true if one eviction fails the Job for good.
fn jobs() -> Vec<(&'static str, Value, bool)> {
    let limited = |limit: u32| json!({"backoffLimit": limit});
    let ruled = |limit: u32, action: &str| {
        let conditions = json!([{"type": "DisruptionTarget", "status": "True"}]);
        let rules = json!([{"action": action, "onPodConditions": conditions}]);
        json!({"backoffLimit": limit, "podFailurePolicy": {"rules": rules}})
    };
    let indexed = |limit: u32| json!({"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": limit});
    vec![
        ("none-left", limited(0), true),
        ("one-left", limited(1), false),
        ("ignored", ruled(0, "Ignore"), false),
        ("forbidden", ruled(6, "FailJob"), true),
        ("indexed", indexed(0), true),
        ("indexed-once", indexed(1), false),
    ]
}

fn job(namespace: &str, name: &str, failures: &Value) -> Value {
    let mut pod = objects::pod(namespace, name, "unused");
    pod["spec"]["resourceClaims"] =
        json!([{"name": "device", "resourceClaimTemplateName": "template"}]);
    pod["spec"]["restartPolicy"] = json!("Never");
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": pod["spec"]}},
    });
    let spec = job["spec"].as_object_mut().expect("an object");
    spec.extend(failures.as_object().expect("an object").clone());
    job
}

/// The pods of the Jobs, by the Job's name.
fn pods(plane: &ControlPlane, namespace: &str) -> BTreeMap<String, Vec<Value>> {
    let listed = plane.kubectl(&["get", "pods", "-n", namespace, "-o", "json"]);
    let listed: Value = serde_json::from_str(&text(&listed)).expect("JSON");
    let mut pods: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for pod in listed["items"].as_array().expect("items") {
        let owner = pod["metadata"]["ownerReferences"][0]["name"].as_str();
        let owner = owner.expect("an owner").to_owned();
        pods.entry(owner).or_default().push(pod.clone());
    }
    pods
}

fn name_of(pod: &Value) -> &str {
    pod["metadata"]["name"].as_str().expect("a name")
}

/// True if the guard lets a change pass that taints all devices.
fn passes(plane: &ControlPlane, driver: &str, guard: &str) -> bool {
    let line = format!("add {driver} {TAINT} --dry-run=client --abort-if {guard}");
    let output = plane.plugin(&line.split(' ').collect::<Vec<_>>());
    match output.status.code() {
        Some(0) => true,
        Some(4) => false,
        _ => panic!("{output:?}"),
    }
}

#[test]
fn what_becomes_of_jobs_is_what_the_real_controller_does() {
    let plane = crate::cluster::drained::stage::plane();
    let (driver, namespace) = (driver_name(), block_on(plane.namespace()));
    let jobs = jobs();
    let devices: Vec<String> = (0..jobs.len())
        .map(|number| format!("gpu-{number}"))
        .collect();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let mut template = objects::claim(&namespace, "template", &driver);
    template["kind"] = "ResourceClaimTemplate".into();
    template["spec"] = json!({"spec": template["spec"]});
    block_on(async {
        plane.ready_node("node-1").await;
        let slice = objects::slice(&driver, "node-1", &devices);
        plane
            .create(&[objects::class(&driver), slice, template])
            .await;
        for (name, failures, _) in &jobs {
            plane.create(&[job(&namespace, name, failures)]).await;
        }
        wait_for("every pod has a node", DEADLINE, async || {
            let pods = pods(plane, &namespace);
            let mut all = pods.values().flatten();
            let placed = all.all(|pod| pod["spec"]["nodeName"].is_string());
            (pods.len() == jobs.len() && placed).then_some(())
        })
        .await;
    });
    let before = pods(plane, &namespace);
    // None of them is ready: all of them still recover from having been made.
    assert!(!passes(plane, &driver, "workloads.recovering>0"));
    let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    for pod in before.values().flatten() {
        block_on(plane.patch_status(&Reference::pod(&namespace, name_of(pod)), &ready));
    }
    block_on(wait_for("the Jobs know that", DEADLINE, async || {
        passes(plane, &driver, "workloads.recovering>0").then_some(())
    }));

    let fail = jobs.iter().filter(|(_, _, fails)| *fails).count();
    assert!(!passes(
        plane,
        &driver,
        &format!("jobs.failed>{}", fail - 1)
    ));
    assert!(passes(plane, &driver, &format!("jobs.failed>{fail}")));
    let previewed = plane.plugin(&["preview", &driver, TAINT, "-o", "json"]);
    let previewed: Value = serde_json::from_slice(&previewed.stdout).expect("JSON");
    let hazards = |name: &str| {
        let rows = previewed["affectedPods"].as_array().expect("pods").iter();
        let mut own = rows.filter(|row| row["name"] == *name_of(&before[name][0]));
        own.next().expect("its pod")["hazards"].to_string()
    };
    for (name, _, fails) in &jobs {
        let code = if *fails { "JobFails" } else { "JobRestart" };
        assert!(hazards(name).contains(code), "{name}: {}", hazards(name));
    }

    block_on(plane.create(&[objects::rule("broken", &driver, "NoExecute")]));
    for pod in before.values().flatten() {
        let reference = Reference::pod(&namespace, name_of(pod));
        // As a kubelet would: the pod ends not well, and is gone.
        block_on(async {
            wait_for("it is evicted", DEADLINE, async || {
                let pod = plane.get(&reference).await?;
                pod["metadata"]["deletionTimestamp"]
                    .is_string()
                    .then_some(())
            })
            .await;
            plane
                .patch_status(&reference, &json!({"phase": "Failed"}))
                .await;
            plane.force_delete_pod(&namespace, name_of(pod)).await;
        });
    }
    for (name, _, fails) in &jobs {
        let reference = Reference::namespaced("batch/v1", "Job", &namespace, name);
        block_on(wait_for(name, DEADLINE, async || {
            let job = plane.get(&reference).await?;
            let conditions = job["status"]["conditions"].as_array();
            let has_failed = conditions.is_some_and(|conditions| {
                let mut conditions = conditions.iter();
                conditions.any(|one| one["type"] == "Failed" && one["status"] == "True")
            });
            assert!(!has_failed || *fails, "{name}: {job:#}");
            let now = pods(plane, &namespace);
            let is_new =
                |pod: &Value| pod["metadata"]["uid"] != before[*name][0]["metadata"]["uid"];
            let made_again = now.get(*name).is_some_and(|pods| pods.iter().any(is_new));
            assert!(!made_again || !*fails, "{name}: {now:?}");
            (has_failed || made_again).then_some(())
        }));
    }
}
