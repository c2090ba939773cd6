//! Clusters with every oddity that an API server accepts, by a number.

use serde_json::{Value, json};

use crate::harness::objects::{allocation, bound, claim, class, pod, rule, slice};

/// Numbers that look random and are the same for the same start.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(start: u64) -> Self {
        Self(start.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Less than `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_in(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }

    fn among<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let place = usize::try_from(self.below(choices.len() as u64)).expect("small");
        choices[place]
    }
}

/// A cluster of its own driver in these namespaces.
pub fn cluster(numbers: &mut Numbers, driver: &str, namespaces: &[String; 2]) -> Vec<Value> {
    let mut objects = Vec::new();
    let nodes: Vec<String> = (0..1 + numbers.below(4))
        .map(|number| format!("{driver}-node-{number}"))
        .collect();
    if !numbers.one_in(4) {
        objects.push(a_class(numbers, driver));
    }
    for node in &nodes {
        let mut slice = a_slice(numbers, driver, node);
        if numbers.one_in(3) {
            objects.push(partitioned(&mut slice));
        }
        objects.push(slice);
        if !numbers.one_in(5) {
            objects.push(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": node, "labels": {"secret-label": "secret"}},
            }));
        }
    }
    for number in 0..2 + numbers.below(8) {
        let node = usize::try_from(numbers.below(nodes.len() as u64)).expect("small");
        a_claim_with_pods(
            numbers,
            &mut objects,
            &Place {
                driver,
                node: &nodes[node],
                namespace: &namespaces[usize::from(numbers_bit(number))],
                name: format!("claim-{number}"),
            },
        );
    }
    for number in 0..numbers.below(3) {
        objects.push(a_rule(numbers, driver, &nodes[0], number));
    }
    objects
}

fn numbers_bit(number: u64) -> bool {
    number % 2 == 1
}

struct Place<'a> {
    driver: &'a str,
    node: &'a str,
    namespace: &'a str,
    name: String,
}

fn a_slice(numbers: &mut Numbers, driver: &str, node: &str) -> Value {
    let mut result = slice(driver, node, &["gpu-0", "gpu-1", "gpu-2"]);
    let generation = 1 + numbers.below(3);
    result["spec"]["pool"]["generation"] = json!(generation);
    // A pool of which a slice is missing.
    result["spec"]["pool"]["resourceSliceCount"] = json!(if numbers.one_in(6) { 2 } else { 1 });
    for device in 0..3 {
        if numbers.one_in(3) {
            result["spec"]["devices"][device]["taints"] = json!([a_taint(numbers)]);
        }
    }
    result
}

/// The class that claims ask for; sometimes it fails for every device.
fn a_class(numbers: &mut Numbers, driver: &str) -> Value {
    let mut result = class(driver);
    if numbers.one_in(4) {
        let expression = format!("device.attributes['{driver}'].model == 'a'");
        result["spec"]["selectors"] = json!([{"cel": {"expression": expression}}]);
    }
    result
}

/// Makes the devices of `slice` parts of one card; returns the slice with the card's counters.
fn partitioned(slice: &mut Value) -> Value {
    let slices = slice["spec"]["pool"]["resourceSliceCount"].as_u64();
    slice["spec"]["pool"]["resourceSliceCount"] = json!(1 + slices.expect("a number"));
    let mut counters = slice.clone();
    let name = counters["metadata"]["name"].as_str().expect("a name");
    counters["metadata"]["name"] = json!(format!("{name}-counters"));
    let devices = slice["spec"]["devices"].as_array_mut();
    // The first is the whole, of which the others are parts.
    for (place, device) in devices.expect("devices").iter_mut().enumerate() {
        let amount = if place == 0 { "40Gi" } else { "20Gi" };
        device["consumesCounters"] =
            json!([{"counterSet": "card", "counters": {"memory": {"value": amount}}}]);
    }
    let spec = counters["spec"].as_object_mut().expect("a spec");
    spec.remove("devices");
    spec.insert(
        "sharedCounters".to_owned(),
        json!([{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]),
    );
    counters
}

fn a_taint(numbers: &mut Numbers) -> Value {
    json!({
        "key": numbers.among(&["example.com/a", "example.com/b"]),
        "value": numbers.among(&["", "one", "two"]),
        "effect": numbers.among(&["NoSchedule", "NoExecute", "None"]),
    })
}

fn a_rule(numbers: &mut Numbers, driver: &str, node: &str, number: u64) -> Value {
    let effect = numbers.among(&["NoSchedule", "NoExecute", "None"]);
    let mut result = rule(&format!("{driver}-{number}"), driver, effect);
    if numbers.one_in(2) {
        result["spec"]["deviceSelector"]["pool"] = json!(node);
    }
    if numbers.one_in(2) {
        result["spec"]["deviceSelector"]["device"] = json!("gpu-1");
    }
    result
}

fn a_toleration(numbers: &mut Numbers) -> Value {
    let mut result = json!({"operator": "Exists"});
    if numbers.one_in(2) {
        result["key"] = json!(numbers.among(&["example.com/a", "devicetaint.dev/preview"]));
    }
    if numbers.one_in(3) {
        result["effect"] = json!(numbers.among(&["NoSchedule", "NoExecute"]));
    }
    if numbers.one_in(2) {
        result["tolerationSeconds"] = json!(numbers.below(900));
        result["effect"] = json!("NoExecute");
    }
    result
}

fn a_claim_with_pods(numbers: &mut Numbers, objects: &mut Vec<Value>, place: &Place<'_>) {
    let mut result = claim(place.namespace, &place.name, place.driver);
    if numbers.one_in(8) {
        objects.push(result);
        return;
    }
    // Sometimes one that is not published any more.
    let device = numbers.among(&["gpu-0", "gpu-1", "gpu-2", "gpu-9"]);
    let mut status = allocation(place.driver, place.node, device);
    if numbers.one_in(2) {
        status["allocation"]["devices"]["results"][0]["tolerations"] =
            json!([a_toleration(numbers)]);
    }
    let mut reserved_for = Vec::new();
    let by_template = numbers.one_in(3);
    let pods = if by_template { 1 } else { numbers.below(4) };
    for number in 0..pods {
        let name = format!("{}-pod-{number}", place.name);
        let mut pod = bound(pod(place.namespace, &name, &place.name), place.node);
        if by_template {
            pod["spec"]["resourceClaims"] =
                json!([{"name": "device", "resourceClaimTemplateName": "template"}]);
            pod["status"]["resourceClaimStatuses"] =
                json!([{"name": "device", "resourceClaimName": place.name}]);
            result["metadata"]["ownerReferences"] = json!([
                {"apiVersion": "v1", "kind": "Pod", "name": name, "controller": true}
            ]);
        } else if numbers.one_in(3) {
            pod["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "batch/v1", "kind": "Job", "name": "job", "controller": true,
                "uid": "0d9cb2a4-9d7a-4a44-9e36-2c6f3a1b7f11",
            }]);
        }
        pod["spec"]["terminationGracePeriodSeconds"] = json!(numbers.below(4000));
        pod["status"]["phase"] = json!(numbers.among(&["Running", "Running", "Pending", "Failed"]));
        if numbers.one_in(6) {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        objects.push(pod);
        let mut consumer = json!({"resource": "pods", "name": name});
        if numbers.one_in(8) {
            consumer["uid"] = json!(format!("00000000-0000-4000-8000-00000000000{number}"));
        }
        // Sometimes the pod has lost its reservation, or not got it yet.
        if !numbers.one_in(8) {
            reserved_for.push(consumer);
        }
    }
    if numbers.one_in(6) {
        reserved_for.push(json!({
            "resource": "pods", "name": "gone", "uid": "00000000-0000-4000-8000-000000000009",
        }));
    }
    status["reservedFor"] = json!(reserved_for);
    result["status"] = status;
    objects.push(result);
}
