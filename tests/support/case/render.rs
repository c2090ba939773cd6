//! From a case to the objects of the Kubernetes API.

use serde_json::{Map, Value, json};

use super::{
    Case, ClaimSpec, OwnerSpec, PodSpec, ReferenceSpec, ReservationSpec, ResultSpec, RuleSpec,
    SliceSpec, TaintSpec, TolerationSpec,
};

/// When virtual time starts: 2000-01-01T00:00:00Z, in seconds since 1970.
pub const START: i64 = 946_684_800;

/// The objects of one case by kind.
pub struct Objects {
    pub slices: Vec<Value>,
    pub claims: Vec<Value>,
    pub pods: Vec<Value>,
    pub rules: Vec<Value>,
}

impl Case {
    /// The objects, all of API version v1.
    pub fn objects(&self) -> Objects {
        let places = 0usize..;
        Objects {
            slices: places
                .clone()
                .zip(&self.slices)
                .map(|(place, spec)| slice(place, spec))
                .collect(),
            claims: places
                .clone()
                .zip(&self.claims)
                .map(|(place, spec)| self.claim(place, spec))
                .collect(),
            pods: places
                .clone()
                .zip(&self.pods)
                .map(|(place, spec)| pod(place, spec))
                .collect(),
            rules: places
                .zip(&self.rules)
                .map(|(place, spec)| rule(place, spec))
                .collect(),
        }
    }

    fn claim(&self, place: usize, spec: &ClaimSpec) -> Value {
        let owner = match spec.owner {
            OwnerSpec::Unowned => None,
            OwnerSpec::Pod(pod) => Some(
                json!({"apiVersion": "v1", "kind": "Pod", "name": pod_name(pod), "uid": pod_uid(pod), "controller": true}),
            ),
            OwnerSpec::FormerPod(pod) => Some(
                json!({"apiVersion": "v1", "kind": "Pod", "name": pod_name(pod), "uid": former_uid(pod), "controller": true}),
            ),
            OwnerSpec::PodGroup(group) => Some(
                json!({"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": group_name(group), "uid": format!("uid-{}", group_name(group)), "controller": true}),
            ),
        };
        let mut metadata = json!({"name": claim_name(place), "namespace": namespace(spec.namespace), "uid": format!("uid-{}", claim_name(place)), "resourceVersion": "1"});
        if let Some(owner) = owner {
            metadata["ownerReferences"] = json!([owner]);
        }
        let mut status = Map::new();
        if let Some(results) = &spec.results {
            let results: Vec<Value> = (0usize..)
                .zip(results)
                .map(|(number, result)| allocation_result(place, number, result))
                .collect();
            status.insert(
                "allocation".into(),
                json!({"devices": {"results": results}}),
            );
        }
        let mut reserved_for: Vec<Value> = spec
            .reserved_for
            .iter()
            .map(|reservation| self.reservation(*reservation))
            .collect();
        reserved_for.dedup();
        if !reserved_for.is_empty() {
            status.insert("reservedFor".into(), Value::Array(reserved_for));
        }
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}, "status": status})
    }

    fn reservation(&self, spec: ReservationSpec) -> Value {
        match spec {
            ReservationSpec::Pod(pod) => {
                json!({"resource": "pods", "name": pod_name(pod), "uid": pod_uid(pod)})
            }
            ReservationSpec::FormerPod(pod) => {
                json!({"resource": "pods", "name": pod_name(pod), "uid": former_uid(pod)})
            }
            ReservationSpec::NoPod => {
                json!({"resource": "pods", "name": "gone", "uid": "uid-gone"})
            }
            ReservationSpec::RenamedPod(pod) => {
                json!({"resource": "pods", "name": "renamed", "uid": pod_uid(pod)})
            }
            ReservationSpec::PodGroup(group) => {
                json!({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group_name(group), "uid": format!("uid-{}", group_name(group))})
            }
        }
    }
}

/// All objects of the case as one v1 List, which `--from` reads.
pub fn list(objects: &Objects) -> Value {
    let parts = [
        &objects.slices,
        &objects.claims,
        &objects.rules,
        &objects.pods,
    ];
    let items: Vec<&Value> = parts.into_iter().flatten().collect();
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": {
            "devicetaint.dev/observed-at": "2000-01-01T00:00:00Z",
            "devicetaint.dev/kinds": "ResourceSlice,ResourceClaim,DeviceTaintRule,Pod,DeviceClass",
        }},
        "items": items,
    })
}

fn slice(place: usize, spec: &SliceSpec) -> Value {
    let devices: Vec<Value> = spec
        .devices
        .iter()
        .map(|(device, taints)| json!({"name": device_name(*device), "taints": taints.iter().map(taint).collect::<Vec<_>>()}))
        .collect();
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": format!("slice-{place}"), "uid": format!("uid-slice-{place}"), "resourceVersion": "1"},
        "spec": {
            "driver": driver_name(spec.driver),
            "pool": {"name": pool_name(spec.pool), "generation": spec.generation, "resourceSliceCount": spec.slice_count},
            "nodeName": pool_name(spec.pool),
            "devices": devices,
        },
    })
}

fn rule(place: usize, spec: &RuleSpec) -> Value {
    let mut body = json!({"taint": taint(&spec.taint)});
    if let Some([driver, pool, device]) = spec.selector {
        let mut selector = Map::new();
        if let Some(driver) = driver {
            selector.insert("driver".into(), driver_name(driver).into());
        }
        if let Some(pool) = pool {
            selector.insert("pool".into(), pool_name(pool).into());
        }
        if let Some(device) = device {
            selector.insert("device".into(), device_name(device).into());
        }
        body["deviceSelector"] = Value::Object(selector);
    }
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": format!("rule-{place}"), "uid": format!("uid-rule-{place}"), "generation": 1, "resourceVersion": "1"}, "spec": body})
}

fn allocation_result(claim: usize, number: usize, spec: &ResultSpec) -> Value {
    let mut result = json!({
        "request": "gpu",
        "driver": driver_name(spec.driver),
        "pool": pool_name(spec.pool),
        "device": device_name(spec.device),
    });
    if spec.admin_access {
        result["adminAccess"] = true.into();
    }
    if spec.shared {
        result["shareID"] = format!("00000000-0000-4000-8000-{claim:06}{number:06}").into();
    }
    if !spec.tolerations.is_empty() {
        result["tolerations"] = spec.tolerations.iter().map(toleration).collect();
    }
    result
}

fn toleration(spec: &TolerationSpec) -> Value {
    let mut toleration = Map::new();
    if let Some(key) = spec.key {
        toleration.insert("key".into(), key_name(key).into());
    }
    for (field, text) in [
        ("operator", spec.operator),
        ("effect", spec.effect),
        ("value", value_name(spec.value)),
    ] {
        if !text.is_empty() {
            toleration.insert(field.into(), text.into());
        }
    }
    if let Some(seconds) = spec.seconds {
        toleration.insert("tolerationSeconds".into(), seconds.into());
    }
    Value::Object(toleration)
}

fn pod(place: usize, spec: &PodSpec) -> Value {
    let uid = format!("uid-pod-{place}");
    let mut metadata = json!({"name": format!("pod-{place}"), "namespace": namespace(spec.namespace), "uid": uid, "resourceVersion": "1"});
    if spec.terminating {
        metadata["deletionTimestamp"] = "2000-01-01T00:00:30Z".into();
        metadata["deletionGracePeriodSeconds"] = 30.into();
    }
    let mut body = json!({"containers": [{"name": "main", "image": "app"}]});
    if spec.scheduled {
        body["nodeName"] = "node".into();
    }
    if let Some(group) = spec.pod_group {
        body["schedulingGroup"] = json!({"podGroupName": group_name(group)});
    }
    let mut statuses = Vec::new();
    let mut references = Vec::new();
    for (number, reference) in (0usize..).zip(&spec.claims) {
        let name = format!("claim-of-pod-{number}");
        match reference {
            ReferenceSpec::Claim(claim) => {
                references
                    .push(json!({"name": name, "resourceClaimName": claim_name(*claim as usize)}));
                continue;
            }
            ReferenceSpec::Template(claim) => {
                statuses
                    .push(json!({"name": name, "resourceClaimName": claim_name(*claim as usize)}));
            }
            ReferenceSpec::TemplateWithoutStatus => {}
            ReferenceSpec::TemplateWithoutClaim => statuses.push(json!({"name": name})),
        }
        references.push(json!({"name": name, "resourceClaimTemplateName": "template"}));
    }
    if !references.is_empty() {
        body["resourceClaims"] = references.into();
    }
    let mut status = json!({"phase": spec.phase});
    if !statuses.is_empty() {
        status["resourceClaimStatuses"] = statuses.into();
    }
    if let Some(claim) = spec.extended {
        status["extendedResourceClaimStatus"] =
            json!({"resourceClaimName": claim_name(claim as usize), "requestMappings": []});
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body, "status": status})
}

fn taint(spec: &TaintSpec) -> Value {
    let added = jiff::Timestamp::from_second(START + spec.added).expect("in range");
    let mut taint =
        json!({"key": key_name(spec.key), "effect": spec.effect, "timeAdded": added.to_string()});
    let value = value_name(spec.value);
    if !value.is_empty() {
        taint["value"] = value.into();
    }
    taint
}

fn driver_name(driver: u8) -> String {
    format!("driver-{driver}.example.com")
}

fn pool_name(pool: u8) -> String {
    format!("pool-{pool}")
}

fn device_name(device: u8) -> String {
    format!("device-{device}")
}

fn namespace(namespace: u8) -> String {
    format!("namespace-{namespace}")
}

fn claim_name(claim: usize) -> String {
    format!("claim-{claim}")
}

fn pod_name(pod: u8) -> String {
    format!("pod-{pod}")
}

fn pod_uid(pod: u8) -> String {
    format!("uid-pod-{pod}")
}

fn former_uid(pod: u8) -> String {
    format!("uid-of-former-pod-{pod}")
}

fn group_name(group: u8) -> String {
    format!("group-{group}")
}

fn key_name(key: u8) -> String {
    format!("example.com/key-{key}")
}

fn value_name(value: u8) -> &'static str {
    match value {
        0 => "",
        1 => "one",
        _ => "two",
    }
}
