//! Whole clusters: many objects with their status, as fast as the server takes them.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use super::{Answer, ControlPlane, Reference};

/// Number of requests in flight at a time.
const REQUESTS: usize = 32;

/// Keeps an object that is being deleted; see [`ControlPlane::create`].
const FINALIZER: &str = "devicetaint.test/hold";

/// UIDs of the pods that were created, by namespace and name.
type PodIds = BTreeMap<(String, String), Value>;

impl ControlPlane {
    /// Creates `objects` and returns them as the server has them then, in the same order.
    ///
    /// - Order: namespaces first, then everything else, then pods, claims, and rules at last, so that the
    ///   controllers find a complete cluster behind a rule.
    /// - `status` is written if the kind has that subresource. A node that is ready then has its own taints only.
    /// - A UID that is missing is filled in: in a claim's `reservedFor` and in `ownerReferences`, if they
    ///   name a pod among `objects`.
    /// - An object with a `metadata.deletionTimestamp`, at any time, gets a finalizer if it has none and is
    ///   deleted, so that it stays there, terminating, from now on.
    ///
    /// Where the resourceclaim controller runs, it reacts at once: to a pod with a claim template that
    /// exists it makes a claim, and it drops a reservation by a pod that does not exist or has ended.
    pub async fn create(&self, objects: &[Value]) -> Vec<Value> {
        self.try_create(objects)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Self::create`]; the error names the object that the server refused.
    pub async fn try_create(&self, objects: &[Value]) -> Result<Vec<Value>, String> {
        let mut phases: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (index, object) in objects.iter().enumerate() {
            phases.entry(phase(object)).or_default().push(index);
        }
        let mut pods = PodIds::new();
        let mut created: BTreeMap<usize, Value> = BTreeMap::new();
        for phase in phases.into_values() {
            let work = phase.into_iter().map(|index| {
                let object = with_pod_ids(objects[index].clone(), &pods);
                async move { self.create_one(object).await.map(|object| (index, object)) }
            });
            let done: Vec<_> = stream::iter(work)
                .buffer_unordered(REQUESTS)
                .try_collect()
                .await?;
            for (index, object) in done {
                if object["kind"] == "Pod" {
                    pods.insert(
                        key(&object, &object["metadata"]["name"]),
                        object["metadata"]["uid"].clone(),
                    );
                }
                created.insert(index, object);
            }
        }
        Ok(created.into_values().collect())
    }

    async fn create_one(&self, mut object: Value) -> Result<Value, String> {
        let reference = Reference::of(&object);
        let refused = |error: String| format!("cannot create {reference:?}: {error}");
        let deleted = object["metadata"]["deletionTimestamp"].is_string();
        if deleted {
            hold(&mut object);
        }
        let status = object
            .as_object_mut()
            .and_then(|object| object.remove("status"));
        let mut result = self
            .post(&object)
            .await
            .and_then(Answer::success)
            .map_err(refused)?;

        let kind = self
            .client
            .kind(&text(&object["apiVersion"]), &text(&object["kind"]))
            .await?;
        let reference = Reference::of(&result);
        // The server taints every new node as not ready; in a cluster the node controller removes that.
        if object["kind"] == "Node" && status.as_ref().is_some_and(is_ready) {
            let taints = json!({"spec": {"taints": object["spec"]["taints"]}});
            self.patch(&reference, &taints).await;
        }
        if let Some(status) = status.filter(|_| kind.has_status) {
            let path = format!("{}/status", self.path(&reference).await);
            let patch = json!({"status": status});
            let answer = self.request(Method::PATCH, &path, Some(&patch)).await;
            result = answer.and_then(Answer::success).map_err(refused)?;
        }
        if deleted {
            self.delete(&reference).await;
            result = self
                .get(&reference)
                .await
                .ok_or_else(|| refused("it is gone".to_owned()))?;
        }
        Ok(result)
    }
}

/// True if a node has this condition in its `status`.
fn is_ready(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
    })
}

/// Phase of creation: the lower comes first.
fn phase(object: &Value) -> u8 {
    match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => 0,
        "Pod" => 2,
        "ResourceClaim" => 3,
        "DeviceTaintRule" => 4,
        _ => 1,
    }
}

/// Fills in the UIDs that are missing where `object` names a pod.
fn with_pod_ids(mut object: Value, pods: &PodIds) -> Value {
    let original = object.clone();
    for (list, field, value) in [
        ("/metadata/ownerReferences", "kind", "Pod"),
        ("/status/reservedFor", "resource", "pods"),
    ] {
        let entries = object
            .pointer_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten();
        for entry in entries.filter(|entry| entry[field] == value && entry["uid"].is_null()) {
            if let Some(uid) = pods.get(&key(&original, &entry["name"])) {
                entry["uid"] = uid.clone();
            }
        }
    }
    object
}

/// The key of the pod with this name in the namespace of `object`.
fn key(object: &Value, name: &Value) -> (String, String) {
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default");
    (namespace.to_owned(), text(name))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Makes the object survive its deletion, and fit for creation.
fn hold(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    metadata.remove("deletionTimestamp");
    metadata.remove("deletionGracePeriodSeconds");
    if metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        metadata.insert("finalizers".to_owned(), json!([FINALIZER]));
    }
}
