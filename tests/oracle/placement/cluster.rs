//! Small clusters with everything that makes a placement hard.

use serde_json::{Map, Value, json};

use crate::harness::Random;

/// The drivers.
const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];
/// When everything happened.
const TIME: &str = "2026-11-21T01:00:00Z";

/// A cluster, as ordinary objects.
#[derive(Default)]
pub struct Cluster {
    pub nodes: Vec<Value>,
    pub classes: Vec<Value>,
    pub slices: Vec<Value>,
    pub claims: Vec<Value>,
    pub pods: Vec<Value>,
    pub rules: Vec<Value>,
    /// Devices, each with whether it can be shared.
    devices: Vec<([String; 3], bool)>,
}

impl Cluster {
    /// The cluster as a server of that minor version stores it: without fields that it does not know, or whose feature
    /// gate is off by default.
    pub fn stored_by(mut self, minor: u32) -> Self {
        fn drop_fields(value: &mut Value, names: &[&str]) {
            match value {
                Value::Object(fields) => {
                    fields.retain(|name, _| !names.contains(&name.as_str()));
                    fields
                        .values_mut()
                        .for_each(|field| drop_fields(field, names));
                }
                Value::Array(all) => all.iter_mut().for_each(|one| drop_fields(one, names)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let of_slices: &[&str] = match minor {
            ..36 => &[
                "compatibilityGroups",
                "allowMultipleAllocations",
                "requestPolicy",
                "consumesCounters",
                "sharedCounters",
            ],
            36 => &["compatibilityGroups"],
            37.. => &[],
        };
        let of_claims: &[&str] = match minor {
            ..36 => &["capacity", "shareID", "consumedCapacity"],
            36.. => &[],
        };
        // A slice whose devices have nodes of their own is not valid without the feature gate of partitions.
        self.slices
            .retain(|slice| minor >= 36 || slice["spec"]["perDeviceNodeSelection"] != true);
        for slice in &mut self.slices {
            drop_fields(slice, of_slices);
        }
        for claim in &mut self.claims {
            drop_fields(claim, of_claims);
        }
        self
    }

    /// Everything, as `--from` takes it.
    pub fn list(&self) -> Value {
        let kinds = [
            ("v1", "Node", &self.nodes),
            ("resource.k8s.io/v1", "DeviceClass", &self.classes),
            ("resource.k8s.io/v1", "ResourceSlice", &self.slices),
            ("resource.k8s.io/v1", "ResourceClaim", &self.claims),
            ("v1", "Pod", &self.pods),
            ("resource.k8s.io/v1", "DeviceTaintRule", &self.rules),
        ];
        let all = kinds.into_iter().flat_map(|(version, kind, objects)| {
            objects.iter().map(move |object| {
                let mut object = object.clone();
                object["apiVersion"] = json!(version);
                object["kind"] = json!(kind);
                object
            })
        });
        let items: Vec<Value> = all.collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }
}

/// A cluster of that seed.
pub fn cluster(seed: u64) -> Cluster {
    let random = &mut Random::of_seed(seed);
    let mut cluster = Cluster::default();
    for node in 0..random.between(1, 4) {
        let zone = random.pick(&["a", "b"]);
        let mut labels = json!({"zone": zone});
        if random.percent(50) {
            labels["slots"] = json!(random.pick(&["2", "8"]));
        }
        cluster
            .nodes
            .push(json!({"metadata": {"name": format!("node-{node}"), "labels": labels}}));
    }
    cluster.classes = classes(random);
    for pool in 0..random.between(2, 6) {
        add_pool(&mut cluster, pool, random);
    }
    for claim in 0..random.between(1, 7) {
        add_claim(&mut cluster, claim, random);
    }
    for rule in 0..random.pick(&[1, 1, 1, 2]) {
        add_rule(&mut cluster, rule, random);
    }
    cluster
}

fn classes(random: &mut Random) -> Vec<Value> {
    let selector = |expression: &str| json!([{"cel": {"expression": expression}}]);
    let mut classes = vec![
        json!({"metadata": {"name": "any"}, "spec": {}}),
        json!({"metadata": {"name": "gpu"}, "spec": {"selectors": selector("device.driver == 'gpu.example.com'")}}),
        json!({"metadata": {"name": "kind-a"}, "spec": {"selectors": selector(
            "'kind' in device.attributes['gpu.example.com'] && device.attributes['gpu.example.com'].kind == 'a'"
        )}}),
        json!({"metadata": {"name": "large"}, "spec": {"selectors": selector(
            "device.driver == 'gpu.example.com' && has(device.capacity['gpu.example.com'].memory) && device.capacity['gpu.example.com'].memory.compareTo(quantity('16Gi')) >= 0"
        )}}),
    ];
    if random.percent(10) {
        // Fails for devices without the attribute.
        classes.push(
            json!({"metadata": {"name": "risky"}, "spec": {"selectors": selector(
                "device.attributes['gpu.example.com'].fast"
            )}}),
        );
    }
    classes
}

fn add_pool(cluster: &mut Cluster, number: usize, random: &mut Random) {
    let driver = if random.percent(80) {
        DRIVERS[0]
    } else {
        DRIVERS[1]
    };
    let pool = format!("pool-{number}");
    let reach = reach(cluster, random);
    let is_per_device = reach.get("perDeviceNodeSelection").is_some();
    let has_counters = random.percent(30);
    let slices = random.between(1, 2) + usize::from(has_counters);
    let declared = if random.percent(8) {
        slices + 1
    } else {
        slices
    };
    let generation = random.between(1, 3);
    let mut device = 0;
    for slice in 0..slices {
        let mut spec = reach.clone();
        spec.insert("driver".to_owned(), json!(driver));
        let older = random.percent(4) && generation > 1;
        let generation = if older { generation - 1 } else { generation };
        spec.insert(
            "pool".to_owned(),
            json!({
                "name": pool, "generation": generation, "resourceSliceCount": declared,
            }),
        );
        if has_counters && slice == 0 {
            spec.insert("sharedCounters".to_owned(), json!([
                {"name": "card-0", "counters": {"memory": {"value": "40Gi"}, "slots": {"value": "4"}}},
                {"name": "card-1", "counters": {"memory": {"value": "20Gi"}, "slots": {"value": "2"}}},
            ]));
        } else {
            let mut devices = Vec::new();
            for _ in 0..random.between(1, 5) {
                let repeated = random.percent(1) && device > 0;
                let name = format!("dev-{}", if repeated { device - 1 } else { device });
                device += 1;
                let mut made = new_device(&name, has_counters, random);
                if is_per_device {
                    made.extend(self::reach_of_device(cluster, random));
                }
                let shared = made.contains_key("allowMultipleAllocations");
                cluster
                    .devices
                    .push(([driver.to_owned(), pool.clone(), name], shared));
                devices.push(Value::Object(made));
            }
            spec.insert("devices".to_owned(), json!(devices));
        }
        cluster.slices.push(json!({
            "metadata": {"name": format!("slice-{number}-{slice}")}, "spec": spec,
        }));
    }
}

fn node_name(cluster: &Cluster, random: &mut Random) -> String {
    // Now and then a node that is not there.
    let nodes = cluster.nodes.len() + usize::from(random.percent(5));
    format!("node-{}", random.below(nodes))
}

fn node_selector(random: &mut Random) -> Value {
    let requirement = random.pick(&[
        json!({"key": "zone", "operator": "In", "values": ["a"]}),
        json!({"key": "zone", "operator": "NotIn", "values": ["a"]}),
        json!({"key": "slots", "operator": "Exists"}),
        json!({"key": "slots", "operator": "Gt", "values": ["4"]}),
    ]);
    json!({"nodeSelectorTerms": [{"matchExpressions": [requirement]}]})
}

fn reach(cluster: &Cluster, random: &mut Random) -> Map<String, Value> {
    let (field, value) = match random.below(10) {
        0..=5 => ("nodeName", json!(node_name(cluster, random))),
        6 => ("allNodes", json!(true)),
        7 | 8 => ("nodeSelector", node_selector(random)),
        _ => ("perDeviceNodeSelection", json!(true)),
    };
    Map::from_iter([(field.to_owned(), value)])
}

fn reach_of_device(cluster: &Cluster, random: &mut Random) -> Map<String, Value> {
    let (field, value) = match random.below(4) {
        0 | 1 => ("nodeName", json!(node_name(cluster, random))),
        2 => ("allNodes", json!(true)),
        _ => ("nodeSelector", node_selector(random)),
    };
    Map::from_iter([(field.to_owned(), value)])
}

fn new_device(name: &str, has_counters: bool, random: &mut Random) -> Map<String, Value> {
    let mut device = Map::from_iter([("name".to_owned(), json!(name))]);
    let mut attributes = Map::new();
    if random.percent(90) {
        attributes.insert(
            "kind".to_owned(),
            json!({"string": random.pick(&["a", "b"])}),
        );
    }
    if random.percent(80) {
        attributes.insert("fast".to_owned(), json!({"bool": random.percent(50)}));
    }
    if random.percent(90) {
        let key = random.pick(&["numa", "gpu.example.com/numa", "example.com/numa"]);
        attributes.insert(key.to_owned(), json!({"int": random.below(2)}));
    }
    if random.percent(40) {
        let version = random.pick(&["1.0.0", "1.0.0+a", "1.0.0+b", "1.1.0"]);
        attributes.insert("firmware".to_owned(), json!({"version": version}));
    }
    device.insert("attributes".to_owned(), json!(attributes));
    let shared = random.percent(25);
    if shared {
        device.insert("allowMultipleAllocations".to_owned(), json!(true));
    }
    if random.percent(80) {
        let mut memory = json!({"value": random.pick(&["8Gi", "16Gi", "40Gi"])});
        if shared && random.percent(60) {
            memory["requestPolicy"] = random.pick(&[
                json!({"default": "4Gi"}),
                json!({"default": "4Gi", "validValues": ["4Gi", "8Gi"]}),
                json!({"default": "2Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}),
                json!({"default": "2Gi", "validRange": {"min": "2Gi"}}),
            ]);
        }
        let name = capacity_name(random);
        device.insert("capacity".to_owned(), json!({name: memory}));
    }
    if has_counters && random.percent(85) {
        let set = random.pick(&["card-0", "card-0", "card-1"]);
        let mut counters = json!({"memory": {"value": random.pick(&["10Gi", "20Gi", "40Gi"])}});
        if random.percent(40) {
            counters["slots"] = json!({"value": random.pick(&["1", "2"])});
        }
        let mut consumption = json!({"counterSet": set, "counters": counters});
        if random.percent(1) {
            consumption["compatibilityGroups"] = json!(["together"]);
        }
        device.insert("consumesCounters".to_owned(), json!([consumption]));
    }
    if random.percent(12) {
        device.insert(
            "taints".to_owned(),
            json!([{
                "key": "example.com/ecc",
                "value": random.pick(&["", "high"]),
                "effect": random.pick(&["NoSchedule", "NoExecute", "None"]),
                "timeAdded": TIME,
            }]),
        );
    }
    device
}

/// The name of the capacity, more often without the driver's.
fn capacity_name(random: &mut Random) -> &'static str {
    random.pick(&["memory", "memory", "memory", "gpu.example.com/memory"])
}

fn add_claim(cluster: &mut Cluster, number: usize, random: &mut Random) {
    let name = format!("claim-{number}");
    let mut classes = cluster.classes.iter();
    let has_risk = classes.any(|class| class["metadata"]["name"] == "risky");
    let requests: Vec<Value> = (0..random.pick(&[1, 1, 1, 2, 2, 3]))
        .map(|request| new_request(request, has_risk, random))
        .collect();
    let mut devices = json!({"requests": requests});
    if random.percent(25) {
        let attribute = random.pick(&[
            "gpu.example.com/numa",
            "example.com/numa",
            "gpu.example.com/kind",
            "gpu.example.com/firmware",
        ]);
        let field = random.pick(&["matchAttribute", "matchAttribute", "distinctAttribute"]);
        let mut constraint = json!({field: attribute});
        if random.percent(40) {
            constraint["requests"] = json!([random.pick(&["r0", "r1", "r0/s1"])]);
        }
        devices["constraints"] = json!([constraint]);
    }
    let results: Vec<Value> = (0..random.pick(&[1, 1, 1, 2, 3]))
        .filter_map(|_| new_result(cluster, &requests[0], random))
        .collect();
    let uid = format!("uid-pod-{number}");
    let mut claim = json!({
        "metadata": {"namespace": "ml", "name": name, "uid": format!("uid-{name}")},
        "spec": {"devices": devices},
    });
    if !results.is_empty() {
        claim["status"] = json!({
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": format!("pod-{number}"), "uid": uid}],
        });
    }
    cluster.claims.push(claim);
    cluster.pods.push(json!({
        "metadata": {"namespace": "ml", "name": format!("pod-{number}"), "uid": uid},
        "spec": {"nodeName": "node-0", "resourceClaims": [{"name": "devices", "resourceClaimName": name}]},
        "status": {"phase": "Running"},
    }));
}

fn new_request(number: usize, has_risk: bool, random: &mut Random) -> Value {
    let mut request = json!({"name": format!("r{number}")});
    if random.percent(20) {
        let alternatives: Vec<Value> = (0..random.between(1, 3))
            .map(|alternative| {
                let mut terms = new_terms(has_risk, random);
                terms["name"] = json!(format!("s{alternative}"));
                terms
            })
            .collect();
        request["firstAvailable"] = json!(alternatives);
        return request;
    }
    let mut terms = new_terms(has_risk, random);
    if random.percent(6) {
        terms["adminAccess"] = json!(true);
    }
    request["exactly"] = terms;
    request
}

fn new_terms(has_risk: bool, random: &mut Random) -> Value {
    let class = if has_risk && random.percent(20) {
        "risky"
    } else if random.percent(1) {
        "gone"
    } else {
        random.pick(&["any", "gpu", "gpu", "kind-a", "large"])
    };
    let mut terms = json!({"deviceClassName": class});
    if random.percent(12) {
        terms["allocationMode"] = json!("All");
    } else {
        terms["allocationMode"] = json!("ExactCount");
        terms["count"] = json!(random.pick(&[1, 1, 1, 2, 2, 3]));
    }
    if random.percent(20) {
        let expression = random.pick(&[
            "device.attributes['gpu.example.com'].?kind.orValue('') == 'b'",
            "'fast' in device.attributes['gpu.example.com'] && device.attributes['gpu.example.com'].fast",
            "device.allowMultipleAllocations",
            "!device.allowMultipleAllocations",
        ]);
        terms["selectors"] = json!([{"cel": {"expression": expression}}]);
    }
    if random.percent(20) {
        let asked = random.pick(&["1Gi", "4Gi", "5Gi", "12Gi", "1500m"]);
        let mut requests = json!({capacity_name(random): asked});
        if random.percent(8) {
            requests["memory"] = json!(asked);
        }
        terms["capacity"] = json!({"requests": requests});
    }
    if random.percent(25) {
        let mut toleration = json!({"operator": "Exists"});
        if random.percent(50) {
            toleration["key"] = json!(random.pick(&["example.com/ecc", "example.com/drain"]));
        }
        if random.percent(60) {
            toleration["effect"] = json!(random.pick(&["NoExecute", "NoSchedule"]));
        }
        if random.percent(70) {
            toleration["tolerationSeconds"] = json!(60);
        }
        terms["tolerations"] = json!([toleration]);
    }
    terms
}

fn new_result(cluster: &mut Cluster, request: &Value, random: &mut Random) -> Option<Value> {
    if cluster.devices.is_empty() {
        return None;
    }
    let place = random.below(cluster.devices.len());
    let ([driver, pool, device], shared) = cluster.devices[place].clone();
    let terms = request
        .get("exactly")
        .unwrap_or(&request["firstAvailable"][0]);
    let mut result = json!({"request": "r0", "driver": driver, "pool": pool, "device": device});
    if let Some(tolerations) = terms.get("tolerations") {
        result["tolerations"] = tolerations.clone();
    }
    if random.percent(3) {
        result["adminAccess"] = json!(true);
        return Some(result);
    }
    // A device can have been shareable when it was allocated.
    if shared || random.percent(10) {
        result["shareID"] = json!(format!(
            "00000000-0000-0000-0000-{:012}",
            random.below(1_000_000)
        ));
        if random.percent(90) {
            let negative = random.percent(1);
            let mut amount = || {
                if negative {
                    "-1Gi"
                } else {
                    random.pick(&["1Gi", "4Gi", "8Gi"])
                }
            };
            let (one, other) = (amount(), amount());
            let mut consumed = json!({capacity_name(random): one});
            if random.percent(8) {
                consumed["memory"] = json!(other);
            }
            result["consumedCapacity"] = consumed;
        }
    }
    if !shared {
        cluster.devices.remove(place);
    }
    Some(result)
}

fn add_rule(cluster: &mut Cluster, number: usize, random: &mut Random) {
    let mut selector = json!({});
    if random.percent(80) {
        selector["driver"] = json!(DRIVERS[usize::from(random.percent(15))]);
    }
    if random.percent(90) {
        selector["pool"] = json!(format!("pool-{}", random.below(4)));
        if random.percent(50) {
            selector["device"] = json!(format!("dev-{}", random.below(4)));
        }
    }
    cluster.rules.push(json!({
        "metadata": {"name": format!("rule-{number}"), "uid": format!("uid-rule-{number}")},
        "spec": {
            "deviceSelector": selector,
            "taint": {"key": "example.com/drain", "effect": "NoExecute", "timeAdded": TIME},
        },
    }));
}
