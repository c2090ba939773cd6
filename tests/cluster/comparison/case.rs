//! Random clusters as an API server takes them, many of them beside each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::case::{Case, Family, OwnerSpec, ReservationSpec, START, TaintSpec, TolerationSpec};

/// One cluster among many on the same server: its names begin with a prefix.
pub struct LiveCase {
    pub rules: Vec<Value>,
    /// Everything but the rules.
    pub others: Vec<Value>,
}

impl LiveCase {
    /// The part of `case` that a server accepts, at a moment that is `now` seconds after 1970.
    pub fn new(prefix: &str, case: Case, family: Family, now: i64) -> Self {
        let objects = accepted(case, family, now - START).objects();
        let pods = places(&objects.pods);
        let all = [&objects.slices, &objects.pods, &objects.claims];
        let mut others: Vec<Value> = all
            .into_iter()
            .flatten()
            .map(|object| renamed(object, prefix))
            .collect();
        for object in &mut others {
            fit_for_creation(object, prefix, &pods);
        }
        others.extend(["0", "1"].map(|number| {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{prefix}-namespace-{number}"), "labels": {"resource.kubernetes.io/admin-access": "true"}}})
        }));
        let mut rules: Vec<Value> = objects
            .rules
            .iter()
            .map(|rule| renamed(rule, prefix))
            .collect();
        for rule in &mut rules {
            fit_for_creation(rule, prefix, &pods);
        }
        Self { rules, others }
    }
}

/// The case without objects that a server refuses, and without references into other clusters.
fn accepted(mut case: Case, family: Family, now: i64) -> Case {
    case.pod_groups = false;
    for taint in case
        .slices
        .iter_mut()
        .flat_map(|slice| &mut slice.devices)
        .flat_map(|(_, taints)| taints)
    {
        accept_taint(taint, family, now);
    }
    for rule in &mut case.rules {
        accept_taint(&mut rule.taint, family, now);
        if let Some([driver, pool, device]) = &mut rule.selector
            && driver.is_none()
            && pool.is_none()
            && device.is_none()
        {
            *driver = Some(0);
        }
    }
    for claim in &mut case.claims {
        for toleration in claim
            .results
            .iter_mut()
            .flatten()
            .flat_map(|result| &mut result.tolerations)
        {
            accept_toleration(toleration);
        }
        if claim.results.is_none() {
            claim.reserved_for.clear();
        }
        for reservation in &mut claim.reserved_for {
            // The UID of a pod that does not exist yet cannot be under another name.
            if let ReservationSpec::RenamedPod(_) = reservation {
                *reservation = ReservationSpec::NoPod;
            }
        }
        if let OwnerSpec::PodGroup(_) = claim.owner {
            claim.owner = OwnerSpec::Unowned;
        }
    }
    for pod in &mut case.pods {
        pod.pod_group = None;
    }
    case
}

/// Moves the taint's time so far from `now` that due evictions stay due, and others do not become so: to an
/// odd number of half hours, tolerations adding whole ones.
fn accept_taint(taint: &mut TaintSpec, family: Family, now: i64) {
    if taint.effect == "Newer" {
        taint.effect = "NoSchedule";
    }
    let hours = match family {
        Family::Previews => 24 * 365,
        // Most are due.
        Family::Timelines if taint.added > 300 => 600,
        Family::Timelines => -taint.added.abs(),
    };
    taint.added = now + hours * 3_600 - 1_800;
}

fn accept_toleration(toleration: &mut TolerationSpec) {
    if !["Exists", "Equal"].contains(&toleration.operator) {
        toleration.operator = "Equal";
    }
    if toleration.operator == "Exists" {
        toleration.value = 0;
    }
    if toleration.effect == "Newer" {
        toleration.effect = "NoSchedule";
    }
    if let Some(seconds) = &mut toleration.seconds
        && (0..900).contains(seconds)
    {
        *seconds *= 3_600;
    }
}

/// The namespace of each pod, without the cluster's prefix.
fn places(pods: &[Value]) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    pods.iter()
        .map(|pod| {
            (
                text(&pod["metadata"]["name"]),
                text(&pod["metadata"]["namespace"]),
            )
        })
        .collect()
}

/// The object with the prefix before every name that others could see.
fn renamed(object: &Value, prefix: &str) -> Value {
    let mut text = object.to_string();
    for name in [
        "driver-",
        "pool-",
        "device-",
        "namespace-",
        "slice-",
        "rule-",
    ] {
        text = text.replace(&format!("\"{name}"), &format!("\"{prefix}-{name}"));
    }
    serde_json::from_str(&text).expect("names hold no quotes")
}

/// Removes fields that a server sets, and leaves out UIDs of pods for the loader to fill in.
fn fit_for_creation(object: &mut Value, prefix: &str, pods: &BTreeMap<String, String>) {
    let metadata = object["metadata"].as_object_mut().expect("it has metadata");
    for field in ["uid", "resourceVersion", "generation"] {
        metadata.remove(field);
    }
    let namespace = metadata
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .trim_start_matches(&format!("{prefix}-"))
        .to_owned();
    for list in ["/metadata/ownerReferences", "/status/reservedFor"] {
        let Some(entries) = object.pointer_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let mut seen = BTreeSet::new();
        entries.retain(|entry| seen.insert(entry["uid"].to_string()));
        for entry in entries {
            let name = entry["name"].as_str().unwrap_or_default();
            let current = entry["uid"] == format!("uid-{name}");
            if current && pods.get(name) == Some(&namespace) {
                entry.as_object_mut().expect("an object").remove("uid");
            }
        }
    }
    if object["status"]["extendedResourceClaimStatus"].is_object() {
        let amount = json!({"example.com/gpu": "1"});
        object["spec"]["containers"][0]["resources"] =
            json!({"requests": amount, "limits": amount});
        object["status"]["extendedResourceClaimStatus"]["requestMappings"] = json!([{
            "containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu",
        }]);
    }
}
