//! Takes the names out of a snapshot, and leaves its structure.
//!
//! Fields that are not listed in `kept_fields` are dropped: annotations, images, environments, attributes, messages,
//! and whatever a newer Kubernetes adds. Names and UIDs become hashes, and so do keys and values of the
//! labels that pods have and budgets select by: the same name is the same hash wherever it stands, so
//! who uses what, how badly a taint hits, and which budget a pod counts for stays as it is. The
//! salt differs from run to run, so that names cannot be guessed by trial.
//!
//! Expressions with more than conditions on the driver become one without meaning, and constraints
//! lose their attributes: reports then say that it is unknown whether such a claim could be allocated again.
//!
//! Kept are driver names, taints and tolerations with key, value and effect, times, counts, phases,
//! priorities, and the names that every cluster has: `default`, `kube-…`, `system-…`, and kinds of
//! Kubernetes' own API groups. The order of names, and so that of a report, changes.

use std::collections::BTreeSet;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::redaction_rules::{FieldRule, Kept, kept_fields};
use crate::cluster::read::everything::{Saved, SavedList};
use crate::model::{Kind, Pod, REDACTED};

/// Reason why a snapshot cannot be redacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactionError {
    /// An object of the server is no JSON.
    #[error("cannot redact the snapshot: the server returned an object that cannot be parsed")]
    Json(#[from] serde_json::Error),
    /// The system has no random numbers, without which names could be guessed.
    #[error("cannot redact the snapshot: the operating system provides no random numbers")]
    Salt(#[from] getrandom::Error),
}

/// Replaces names, each always by the same other name.
#[derive(Clone, Debug)]
pub struct Redaction {
    salt: [u8; 32],
    /// The drivers of the facts.
    drivers: BTreeSet<String>,
}

impl Redaction {
    /// Other names than any other run's: its salt is random, and kept nowhere.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub fn random() -> Result<Self, RedactionError> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)?;
        let drivers = BTreeSet::new();
        Ok(Self { salt, drivers })
    }

    /// Replaces all names in the facts.
    ///
    /// # Errors
    ///
    /// When a rule selects devices by an expression or a class.
    pub fn redact(mut self, saved: Saved) -> Result<Saved, RedactionError> {
        // All drivers first: `qualified` has to know them before it replaces any name.
        for list in &saved.lists {
            for item in list
                .items
                .iter()
                .filter(|_| list.kind == Kind::ResourceSlice)
            {
                let slice: Value = serde_json::from_str(item.get())?;
                let driver = slice.pointer("/spec/driver").and_then(Value::as_str);
                self.drivers.extend(driver.map(str::to_owned));
            }
        }
        let mut lists = Vec::new();
        for list in saved.lists {
            let Some(fields) = kept_fields(list.kind) else {
                continue;
            };
            let items = list.items.iter().map(|item| self.item(item, &fields));
            lists.push(SavedList {
                items: items.collect::<Result<_, _>>()?,
                ..list
            });
        }
        Ok(Saved { lists, ..saved })
    }

    fn item(&self, item: &RawValue, kept: &Kept) -> Result<Box<RawValue>, RedactionError> {
        let object: Map<String, Value> = serde_json::from_str(item.get())?;
        Ok(to_raw_value(&self.fields(&object, kept))?)
    }

    fn fields(&self, object: &Map<String, Value>, kept: &Kept) -> Value {
        let fields: Map<String, Value> = match &kept.every {
            Some((what, part)) => object
                .iter()
                .map(|(key, value)| (self.qualified(what, key), self.field(value, part, object)))
                .collect(),
            None => kept
                .fields
                .iter()
                .filter_map(|(name, part)| {
                    let value = object.get(*name)?;
                    Some(((*name).to_owned(), self.field(value, part, object)))
                })
                .collect(),
        };
        fields.into()
    }

    fn field(&self, value: &Value, kept: &Kept, within: &Map<String, Value>) -> Value {
        if let Value::Array(items) = value
            && (kept.is_list || matches!(kept.rule, FieldRule::Fields))
        {
            let items = items.iter().map(|item| self.value(item, kept, within));
            return items.collect();
        }
        if kept.is_list {
            Value::Null
        } else {
            self.value(value, kept, within)
        }
    }

    fn value(&self, value: &Value, kept: &Kept, within: &Map<String, Value>) -> Value {
        let rule = kept.rule;
        match (rule, value) {
            // A field that holds something else than it does today is not what was decided about.
            (FieldRule::Keep, Value::Array(_) | Value::Object(_)) => Value::Null,
            (FieldRule::Keep, value) => value.clone(),
            (FieldRule::Labels, Value::Object(labels)) => self.labels(labels),
            (FieldRule::Annotations, Value::Object(annotations)) => annotations
                .iter()
                .filter(|(key, _)| Pod::ANNOTATIONS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Map<String, Value>>()
                .into(),
            (FieldRule::Fields, Value::Object(object)) => self.fields(object, kept),
            (_, Value::String(text)) => self.text(rule, text, within).into(),
            _ => Value::Null,
        }
    }

    fn text(&self, rule: FieldRule, text: &str, within: &Map<String, Value>) -> Option<String> {
        let beside = |name: &str| within.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(match rule {
            FieldRule::Name(what) => self.name(what, text),
            FieldRule::NameOf(sibling) => self.name(word_for(beside(sibling)), text),
            FieldRule::Uid => self.uid(text),
            FieldRule::Group if is_own(text) => text.to_owned(),
            FieldRule::Group => self.name("group", text),
            FieldRule::Kind
                if within.contains_key("apiVersion") && is_own(beside("apiVersion")) =>
            {
                text.to_owned()
            }
            FieldRule::Kind => self.name("Kind", text),
            FieldRule::Expression if is_about_drivers(text) => text.to_owned(),
            // An expression that means nothing: what it would have said is not known.
            FieldRule::Expression => REDACTED.to_owned(),
            FieldRule::Key if is_kubernetes(text) => text.to_owned(),
            FieldRule::Key => self.name("label", text),
            FieldRule::Keep | FieldRule::Labels | FieldRule::Annotations | FieldRule::Fields => {
                return None;
            }
        })
    }

    fn name(&self, what: &str, name: &str) -> String {
        let public = name == "default" || name.starts_with("kube-") || name.starts_with("system-");
        if name.is_empty() || (public && matches!(what, "namespace" | "priority")) {
            return name.to_owned();
        }
        // 48 bits: among 100,000 names the chance of a collision is 1 in 56,000.
        format!("{what}-{}", &self.hash(name)[..12])
    }

    /// A name that may have a domain before it. The domain of a driver is the same as none for its devices,
    /// and drivers are not hidden.
    fn qualified(&self, what: &str, name: &str) -> String {
        match name.split_once('/') {
            Some((domain, name)) if self.drivers.contains(domain) => {
                format!("{domain}/{}", self.name(what, name))
            }
            Some((domain, name)) => {
                format!("{}/{}", self.name("domain", domain), self.name(what, name))
            }
            None => self.name(what, name),
        }
    }

    /// Keys and values, each by itself, so that selectors select as before; and beside them the labels
    /// that say of which group a pod is, with the group's other name.
    fn labels(&self, labels: &Map<String, Value>) -> Value {
        let labels = labels.iter().flat_map(|(key, value)| {
            let value = value.as_str().unwrap_or_default();
            let group = match key.as_str() {
                Pod::LEADER_WORKER_SET => Some(self.name("leaderworkerset", value)),
                Pod::COSCHEDULING_GROUP => Some(self.name("podgroup", value)),
                Pod::GROUP_INDEX => Some(value.to_owned()),
                _ => None,
            };
            let group = group.map(|value| (key.clone(), value.into()));
            let other = (self.name("label", key), self.name("value", value).into());
            group.into_iter().chain([other])
        });
        Value::Object(labels.collect())
    }

    /// In the form that UIDs and share IDs have.
    fn uid(&self, uid: &str) -> String {
        if uid.is_empty() {
            return String::new();
        }
        let hash = self.hash(uid);
        // The digits 4 and 8 are the version and variant of a random UUID (RFC 9562, 5.4).
        let (a, b, c) = (&hash[..8], &hash[8..12], &hash[12..15]);
        let (d, e) = (&hash[15..18], &hash[18..30]);
        format!("{a}-{b}-4{c}-8{d}-{e}")
    }

    fn hash(&self, text: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.salt);
        hash.update(text.as_bytes());
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// True if a group, with its version or without, is Kubernetes' own, or that of a workload that is read.
fn is_own(version: &str) -> bool {
    let group = version.split('/').next().unwrap_or_default();
    let is_read = Kind::WORKLOADS.iter().any(|kind| kind.group() == group);
    // The core group and the oldest ones, such as `apps` and `batch`, have no domain.
    is_read || !group.contains('.') || group.ends_with(".k8s.io") || group.ends_with(".x-k8s.io")
}

/// True if an expression tests only the driver, and `allowMultipleAllocations`.
fn is_about_drivers(expression: &str) -> bool {
    let is_driver = |text: &str| {
        let name = text
            .strip_prefix("device.driver")
            .map(str::trim_start)
            .and_then(|text| text.strip_prefix("=="))
            .map(str::trim);
        let quoted = name.and_then(|name| {
            let quotes = ['"', '\''].into_iter();
            let mut quoted =
                quotes.filter_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote));
            quoted.next()
        });
        quoted.is_some_and(|name| {
            let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
            name.chars().all(is_of_name)
        })
    };
    let shared = [
        "device.allowMultipleAllocations",
        "!device.allowMultipleAllocations",
    ];
    let mut parts = expression.split("&&").map(str::trim);
    parts.all(|part| is_driver(part) || shared.contains(&part))
}

/// True if a key of a taint is one that Kubernetes gives.
fn is_kubernetes(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    key.contains('/')
        && ["kubernetes.io", "k8s.io"].iter().any(|own| {
            domain == *own
                || domain
                    .strip_suffix(own)
                    .is_some_and(|rest| rest.ends_with('.'))
        })
}

/// A word for an object of this kind or resource.
fn word_for(kind: &str) -> &'static str {
    let is_it = |one: &Kind| one.as_str() == kind || one.resource() == kind;
    let mut known = Kind::WORKLOADS.iter().copied().chain([Kind::Pod]);
    match known.find(is_it) {
        Some(known) => known.resource().trim_end_matches('s'),
        None => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(kind: Kind, object: &Value) -> Result<Value, RedactionError> {
        let saved = Saved {
            lists: vec![SavedList {
                kind,
                api_version: "v1",
                resource_version: "7".to_owned(),
                items: vec![to_raw_value(object).expect("JSON")],
            }],
            ..Saved::default()
        };
        let redaction = Redaction {
            salt: [7; 32],
            drivers: BTreeSet::from(["gpu.example.com".to_owned()]),
        };
        let saved = redaction.redact(saved)?;
        Ok(serde_json::from_str(saved.lists[0].items[0].get()).expect("JSON"))
    }

    #[test]
    fn names_become_the_same_hash_everywhere_and_the_rest_is_gone() {
        let pod = serde_json::json!({
            "metadata": {
                "name": "train-0", "namespace": "kube-system", "uid": "u", "labels": {"a": "b"},
                "ownerReferences": [
                    {"apiVersion": "acme.com/v1", "kind": "Secret", "name": "x", "uid": "y"},
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "y"},
                ],
            },
            "spec": {"containers": [{"env": []}], "priorityClassName": "system-node-critical", "nodeName": "n"},
            "status": {"phase": {"new": "shape"}},
        });
        let pod = redacted(Kind::Pod, &pod).expect("a pod");
        let claim = serde_json::json!({
            "metadata": {"name": "c", "namespace": "ml"},
            "status": {"reservedFor": [{"resource": "pods", "name": "train-0", "uid": "u"}]},
        });
        let claim = redacted(Kind::ResourceClaim, &claim).expect("a claim");
        let consumer = &claim["status"]["reservedFor"][0];
        assert_eq!(consumer["name"], pod["metadata"]["name"]);
        assert_eq!(consumer["uid"], pod["metadata"]["uid"]);
        assert_eq!(pod["metadata"]["namespace"], "kube-system");
        assert_eq!(pod["spec"]["priorityClassName"], "system-node-critical");
        assert_eq!(pod["status"]["phase"], Value::Null);
        let owners = &pod["metadata"]["ownerReferences"];
        assert_eq!(owners[1]["kind"], "Job");
        let text = pod.to_string();
        for gone in ["train", "\"a\"", "containers", "acme", "Secret"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
    }

    #[test]
    fn what_a_job_wants_and_what_a_finalizer_holds_stay() {
        let job = serde_json::json!({
            "metadata": {"name": "j", "namespace": "ml", "finalizers": ["acme.com/last"]},
            "spec": {"parallelism": 4, "completions": 8, "suspend": true, "backoffLimitPerIndex": 1},
            "status": {"active": 2, "succeeded": 6},
        });
        let redacted = redacted(Kind::Job, &job).expect("a Job");
        assert_eq!(redacted["spec"], job["spec"]);
        assert_eq!(redacted["status"], job["status"]);
        let finalizers = redacted["metadata"]["finalizers"]
            .as_array()
            .expect("a list");
        assert_eq!(finalizers.len(), 1);
        assert!(!finalizers[0].to_string().contains("acme"));
    }

    #[test]
    fn every_workload_is_still_the_owner_of_what_it_owns() {
        for kind in Kind::WORKLOADS.iter().copied() {
            let version = format!("{}/v1", kind.group());
            let owned = serde_json::json!({"metadata": {"name": "w", "namespace": "ml", "ownerReferences": [
                {"apiVersion": version, "kind": kind.as_str(), "name": "acme", "uid": "1", "controller": true},
            ]}});
            let owned = redacted(Kind::ReplicaSet, &owned).expect("a workload");
            let reference = &owned["metadata"]["ownerReferences"][0];
            let owner =
                serde_json::json!({"metadata": {"name": "acme", "namespace": "ml", "uid": "1"}});
            let owner = redacted(kind, &owner).expect("its owner");
            assert_eq!(reference["kind"], kind.as_str());
            assert_eq!(reference["apiVersion"], version);
            assert_eq!(reference["name"], owner["metadata"]["name"], "{kind}");
        }
    }

    #[test]
    fn as_many_pods_of_a_workload_count_as_ready() {
        let deployment = serde_json::json!({
            "metadata": {"name": "w", "namespace": "ml"},
            "spec": {"replicas": 3, "minReadySeconds": 30},
            "status": {"readyReplicas": 3, "availableReplicas": 1},
        });
        let redacted = redacted(Kind::Deployment, &deployment).expect("a workload");
        assert_eq!(redacted["spec"], deployment["spec"]);
        assert_eq!(redacted["status"], deployment["status"]);
    }

    #[test]
    fn a_pod_stays_in_its_groups() {
        let pod = serde_json::json!({"metadata": {"name": "p", "namespace": "ml", "labels": {
            "leaderworkerset.sigs.k8s.io/name": "acme", "leaderworkerset.sigs.k8s.io/group-index": "2",
            "scheduling.x-k8s.io/pod-group": "acme",
        }}});
        let pod = redacted(Kind::Pod, &pod).expect("a pod");
        let labels = &pod["metadata"]["labels"];
        let named = serde_json::json!({
            "metadata": {"name": "acme", "namespace": "ml"},
            "spec": {"minMember": 3, "template": {"x": "acme"}},
        });
        for (kind, label) in [
            (Kind::LeaderWorkerSet, Pod::LEADER_WORKER_SET),
            (Kind::CoschedulingPodGroup, Pod::COSCHEDULING_GROUP),
        ] {
            let group = redacted(kind, &named).expect("a group");
            assert_eq!(group["metadata"]["name"], labels[label], "{kind}");
            assert_eq!(group["spec"]["minMember"], 3);
            assert!(!group.to_string().contains("acme"), "{group}");
        }
        assert_eq!(labels[Pod::GROUP_INDEX], "2");
        assert!(!pod.to_string().contains("acme"), "{pod}");
    }

    #[test]
    fn a_budget_selects_the_same_pods_and_a_node_is_the_same_as_before() {
        let pod = serde_json::json!({
            "metadata": {"name": "p", "namespace": "ml", "labels": {"app": "train", "tier": ""}},
            "spec": {"nodeName": "acme-1"},
        });
        let pod = redacted(Kind::Pod, &pod).expect("a pod");
        let budget = serde_json::json!({
            "metadata": {"name": "train", "namespace": "ml", "labels": {"team": "acme"}},
            "spec": {
                "minAvailable": "50%",
                "selector": {
                    "matchLabels": {"app": "train"},
                    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["", "train"]}],
                },
            },
            "status": {"disruptionsAllowed": 1, "disruptedPods": {"train-0": "2026-01-01T00:00:00Z"}},
        });
        let budget = redacted(Kind::PodDisruptionBudget, &budget).expect("a budget");
        let labels = pod["metadata"]["labels"].as_object().expect("labels");
        let selector = &budget["spec"]["selector"];
        let (key, value) = selector["matchLabels"]
            .as_object()
            .and_then(|labels| labels.iter().next())
            .expect("a label");
        assert_eq!(labels.get(key), Some(value));
        let other = &selector["matchExpressions"][0];
        let tier = labels.get(other["key"].as_str().expect("a key"));
        assert_eq!(tier, Some(&Value::from("")));
        assert_eq!(other["values"][0], "");
        assert_eq!(other["values"][1], *value);
        assert_eq!(budget["spec"]["minAvailable"], "50%");
        assert_eq!(
            budget["metadata"]["namespace"],
            pod["metadata"]["namespace"]
        );
        let node = serde_json::json!({
            "metadata": {"name": "acme-1", "labels": {"team": "acme"}},
            "spec": {
                "unschedulable": true, "providerID": "acme://1",
                "taints": [
                    {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
                    {"key": "acme.example/train", "value": "acme", "effect": "NoSchedule"},
                    {"key": "notkubernetes.io/train", "effect": "NoSchedule"},
                ],
            },
            "status": {
                "addresses": [{"address": "10.1.2.3"}],
                "conditions": [{"type": "Ready", "status": "False", "message": "acme is down"}],
            },
        });
        let node = redacted(Kind::Node, &node).expect("a node");
        assert_eq!(node["metadata"]["name"], pod["spec"]["nodeName"]);
        assert_eq!(node["status"]["conditions"][0]["status"], "False");
        let taints = &node["spec"]["taints"];
        assert_eq!(taints[0]["key"], "node.kubernetes.io/unreachable");
        for text in [pod.to_string(), budget.to_string(), node.to_string()] {
            for gone in ["acme", "train", "10.1.2.3", "\"app\"", "tier"] {
                assert!(!text.contains(gone), "{gone}: {text}");
            }
        }
    }

    #[test]
    fn partitions_of_one_device_stay_partitions_of_one_device() {
        let taken = |counter: &str| serde_json::json!([{"counterSet": "card-0", "counters": {counter: {"value": "20Gi"}}}]);
        let slice = serde_json::json!({
            "metadata": {"name": "s"},
            "spec": {
                "sharedCounters": [{"name": "card-0", "counters": {"memory": {"value": "40Gi"}}}],
                "devices": [
                    {"name": "half", "consumesCounters": taken("memory"), "attributes": {"model": {"string": "H200"}}},
                    {"name": "other", "consumesCounters": taken("memory")},
                    {"name": "slots", "consumesCounters": taken("slots")},
                ],
            },
        });
        let slice = redacted(Kind::ResourceSlice, &slice).expect("a slice");
        let spec = &slice["spec"];
        let devices = &spec["devices"];
        let half = &devices[0]["consumesCounters"][0];
        assert_eq!(half["counterSet"], spec["sharedCounters"][0]["name"]);
        assert_eq!(
            half["counters"],
            devices[1]["consumesCounters"][0]["counters"]
        );
        assert_ne!(
            half["counters"],
            devices[2]["consumesCounters"][0]["counters"]
        );
        let amounts = half["counters"].as_object().expect("counters").values();
        assert_eq!(
            amounts.collect::<Vec<_>>(),
            [&serde_json::json!({"value": "20Gi"})]
        );
        let text = slice.to_string();
        for gone in ["card-0", "memory", "slots", "H200"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
    }

    #[test]
    fn claims_ask_for_the_same_as_before_or_for_what_nobody_knows() {
        let selectors = |expression: &str| serde_json::json!([{"cel": {"expression": expression}}]);
        let class = serde_json::json!({
            "metadata": {"name": "acme-gpu"},
            "spec": {
                "selectors": selectors("device.driver == 'gpu.example.com'"),
                "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"acme": 1}}}],
            },
        });
        let class = redacted(Kind::DeviceClass, &class).expect("a class");
        assert_eq!(
            class["spec"]["selectors"],
            selectors("device.driver == 'gpu.example.com'")
        );
        let asks = serde_json::json!({
            "deviceClassName": "acme-gpu", "count": 2, "allocationMode": "ExactCount",
            "selectors": selectors("device.attributes['gpu.example.com'].model == 'acme'"),
            "tolerations": [{"key": "example.com/a", "operator": "Exists"}],
            "capacity": {"requests": {"gpu.example.com/memory": "1Gi", "acme.com/memory": "2Gi", "memory": "3Gi"}},
        });
        let mut alternative = asks.clone();
        alternative["name"] = "acme-alternative".into();
        let claim = serde_json::json!({
            "metadata": {"name": "c", "namespace": "ml"},
            "spec": {"devices": {
                "requests": [
                    {"name": "acme", "exactly": asks},
                    {"name": "first", "firstAvailable": [alternative]},
                ],
                "constraints": [{"requests": ["acme"], "matchAttribute": "acme.com/numa"}],
                "config": [{"opaque": {"parameters": {"acme": 1}}}],
            }},
            "status": {"allocation": {"devices": {"results": [
                {"request": "acme", "driver": "gpu.example.com", "consumedCapacity": {"memory": "3Gi"}},
            ]}}},
        });
        let claim = redacted(Kind::ResourceClaim, &claim).expect("a claim");
        let devices = &claim["spec"]["devices"];
        let exactly = &devices["requests"][0]["exactly"];
        assert_eq!(exactly["deviceClassName"], class["metadata"]["name"]);
        assert_eq!(exactly["count"], 2);
        assert_eq!(exactly["selectors"], selectors("redacted"));
        assert_eq!(exactly["tolerations"][0]["key"], "example.com/a");
        let other = &devices["requests"][1]["firstAvailable"][0];
        assert_eq!(other["capacity"], exactly["capacity"]);
        assert_eq!(other["deviceClassName"], exactly["deviceClassName"]);
        let result = &claim["status"]["allocation"]["devices"]["results"][0];
        assert_eq!(result["request"], devices["requests"][0]["name"]);
        assert_eq!(devices["constraints"][0]["requests"][0], result["request"]);
        // With its driver before it, the name means the same as without.
        let (name, _) = result["consumedCapacity"]
            .as_object()
            .and_then(|consumed| consumed.iter().next())
            .expect("a capacity");
        let capacity = &exactly["capacity"]["requests"];
        assert_eq!(capacity[name], "3Gi");
        assert_eq!(capacity[format!("gpu.example.com/{name}")], "1Gi");
        assert_eq!(capacity.as_object().map(Map::len), Some(3));
        for text in [class.to_string(), claim.to_string()] {
            for gone in ["acme", "memory", "numa", "model"] {
                assert!(!text.contains(gone), "{gone}: {text}");
            }
        }
    }

    #[test]
    fn only_expressions_about_drivers_are_kept() {
        for kept in [
            "device.driver == 'gpu.example.com'",
            "device.driver==\"gpu.example.com\"",
            "device.driver == \"gpu.example.com\" && !device.allowMultipleAllocations",
            "device.allowMultipleAllocations",
        ] {
            assert!(is_about_drivers(kept), "{kept}");
        }
        for gone in [
            "",
            "true",
            "device.driver == 'gpu.example.com' || device.attributes['x'].y == 'z'",
            "device.driver == 'gpu.example.com' && device.attributes['x'].y == 'z'",
            "device.driver == 'a' + 'b'",
            "device.driver == 'a\\x41'",
            "device.driver == 'a",
            "device.driver != 'a'",
            "device.drivers == 'a'",
        ] {
            assert!(!is_about_drivers(gone), "{gone}");
        }
    }

    #[test]
    fn devices_are_for_the_same_nodes_as_before() {
        let slice = serde_json::json!({
            "metadata": {"name": "s"},
            "spec": {"nodeSelector": {"nodeSelectorTerms": [{
                "matchExpressions": [{"key": "acme", "operator": "In", "values": ["rack-7"]}],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["acme-1"]}],
            }]}},
        });
        let node =
            serde_json::json!({"metadata": {"name": "acme-1", "labels": {"acme": "rack-7"}}});
        let slice = redacted(Kind::ResourceSlice, &slice).expect("a slice");
        let node = redacted(Kind::Node, &node).expect("a node");
        let term = &slice["spec"]["nodeSelector"]["nodeSelectorTerms"][0];
        let label = &term["matchExpressions"][0];
        let key = label["key"].as_str().expect("a key");
        assert_eq!(node["metadata"]["labels"][key], label["values"][0]);
        let field = &term["matchFields"][0];
        assert_eq!(field["key"], "metadata.name");
        assert_eq!(field["values"][0], node["metadata"]["name"]);
        for text in [slice.to_string(), node.to_string()] {
            assert!(!text.contains("acme") && !text.contains("rack"), "{text}");
        }
    }
}
