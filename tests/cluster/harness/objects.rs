//! The smallest objects that mean something to the control plane, as JSON in `v1`.
//!
//! A test that needs more changes the value: `pod["spec"]["priority"] = json!(7)`.

use serde_json::{Value, json};

use super::{ControlPlane, Reference};

const RESOURCE: &str = "resource.k8s.io/v1";

/// The name of the only request in [`claim`].
pub const REQUEST: &str = "gpu";

/// The devices of `driver` on `node`, as a complete pool with the node's name.
pub fn slice(driver: &str, node: &str, devices: &[&str]) -> Value {
    let devices: Vec<_> = devices.iter().map(|name| json!({"name": name})).collect();
    json!({
        "apiVersion": RESOURCE, "kind": "ResourceSlice", "metadata": {"name": format!("{node}-{driver}")},
        "spec": {
            "driver": driver, "nodeName": node, "devices": devices,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        },
    })
}

/// Devices that consume so much of one counter set, which has as much as `all`, with the slice of the counters: a card and
/// its partitions, as a complete pool with the node's name.
pub fn partitioned(driver: &str, node: &str, devices: &[(&str, &str)], all: &str) -> [Value; 2] {
    let names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
    let mut slice_of_devices = slice(driver, node, &names);
    for (index, (_, memory)) in devices.iter().enumerate() {
        slice_of_devices["spec"]["devices"][index]["consumesCounters"] =
            json!([{"counterSet": "card", "counters": {"memory": {"value": memory}}}]);
    }
    slice_of_devices["spec"]["pool"]["resourceSliceCount"] = json!(2);
    let mut counters = slice(driver, node, &[]);
    counters["metadata"]["name"] = json!(format!("{node}-{driver}-counters"));
    counters["spec"]["pool"]["resourceSliceCount"] = json!(2);
    let spec = counters["spec"].as_object_mut().expect("a spec");
    spec.remove("devices");
    spec.insert(
        "sharedCounters".to_owned(),
        json!([{"name": "card", "counters": {"memory": {"value": all}}}]),
    );
    [counters, slice_of_devices]
}

/// A class of all devices of `driver`, with the driver's name.
pub fn class(driver: &str) -> Value {
    let expression = format!("device.driver == '{driver}'");
    json!({
        "apiVersion": RESOURCE, "kind": "DeviceClass", "metadata": {"name": driver},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    })
}

/// A node that answers, on which the scheduler puts nothing: the server taints every new one.
pub fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Test"}]},
    })
}

/// A claim for one device of [`class`], not yet allocated.
pub fn claim(namespace: &str, name: &str, driver: &str) -> Value {
    json!({
        "apiVersion": RESOURCE, "kind": "ResourceClaim", "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": REQUEST, "exactly": {"deviceClassName": driver}}]}},
    })
}

/// Status of `claim` when it got `device` of `pool`.
pub fn allocation(driver: &str, pool: &str, device: &str) -> Value {
    let result = json!({"request": REQUEST, "driver": driver, "pool": pool, "device": device});
    json!({"allocation": {"devices": {"results": [result]}}})
}

/// `claim` with `allocation`, reserved for the pod of that name in its namespace.
pub fn reserved(mut claim: Value, mut allocation: Value, pod: &str) -> Value {
    // The UID is filled in when the pod has one.
    allocation["reservedFor"] = json!([{"resource": "pods", "name": pod}]);
    claim["status"] = allocation;
    claim
}

/// A pod that uses `claim`, not yet on a node.
pub fn pod(namespace: &str, name: &str, claim: &str) -> Value {
    let container = json!({
        "name": "main", "image": "example.com/none",
        "resources": {"claims": [{"name": "device"}]},
    });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "device", "resourceClaimName": claim}],
        },
    })
}

/// `pod` as it is when the scheduler has put it on `node`.
pub fn bound(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// A rule that taints all devices of `driver`.
pub fn rule(name: &str, driver: &str, effect: &str) -> Value {
    json!({
        "apiVersion": RESOURCE, "kind": "DeviceTaintRule", "metadata": {"name": name},
        "spec": {
            "deviceSelector": {"driver": driver},
            "taint": {"key": "example.com/broken", "effect": effect},
        },
    })
}

impl ControlPlane {
    /// Makes a node on which the scheduler puts pods.
    pub async fn ready_node(&self, name: &str) {
        let resources = json!({"cpu": "64", "memory": "256Gi", "pods": "100"});
        self.create(&[json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {
                "allocatable": resources, "capacity": resources,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Test"}],
            },
        })])
        .await;
    }
}
