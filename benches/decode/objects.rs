//! Believable objects, as JSON.

use serde_json::{Value, json};

/// A slice with eight devices of one node.
pub fn slice(index: usize) -> Value {
    let node = format!("node-{index}");
    let devices: Vec<_> = (0..8).map(|device| self::device(index, device)).collect();
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "generateName": format!("{node}-gpu.example.com-"),
            "generation": 1,
            "managedFields": managed_fields(1_600),
            "name": format!("{node}-gpu.example.com-x7k2p"),
            "ownerReferences": [{"apiVersion": "v1", "controller": true, "kind": "Node", "name": node, "uid": uid(index)}],
            "resourceVersion": (1_000 + index).to_string(),
            "uid": uid(index),
        },
        "spec": {
            "devices": devices,
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"generation": 1, "name": node, "resourceSliceCount": 1},
        },
    })
}

fn device(slice: usize, index: usize) -> Value {
    json!({
        "attributes": {
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.12.3"},
            "index": {"int": index},
            "productName": {"string": "Example H200 141GB HBM3e"},
            "resource.kubernetes.io/pcieRoot": {"string": format!("pci0000:{index:02x}")},
            "uuid": {"string": format!("GPU-{}", uid(slice * 8 + index))},
        },
        "capacity": {"memory": {"value": "143771Mi"}},
        "name": format!("gpu-{index}"),
    })
}

/// A claim that was generated for a pod and holds one device.
pub fn claim(index: usize) -> Value {
    let (pod, node) = (format!("train-{index}"), format!("node-{}", index / 8));
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "finalizers": ["resource.kubernetes.io/delete-protection"],
            "generateName": format!("{pod}-gpu-"),
            "managedFields": managed_fields(1_000),
            "name": format!("{pod}-gpu-2xkqz"),
            "namespace": format!("team-{}", index % 40),
            "ownerReferences": [{"apiVersion": "v1", "blockOwnerDeletion": true, "controller": true, "kind": "Pod", "name": pod, "uid": uid(index)}],
            "resourceVersion": (20_000 + index).to_string(),
            "uid": uid(index + 500_000),
        },
        "spec": {"devices": {"requests": [{"exactly": {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "gpu.example.com"}, "name": "gpu"}]}},
        "status": {
            "allocation": {
                "devices": {"results": [{
                    "device": format!("gpu-{}", index % 8), "driver": "gpu.example.com", "pool": node, "request": "gpu",
                    "tolerations": [{"effect": "NoExecute", "key": "example.com/maintenance", "operator": "Exists", "tolerationSeconds": 300}],
                }]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]},
            },
            "reservedFor": [{"name": pod, "resource": "pods", "uid": uid(index)}],
        },
    })
}

/// A pod; with `uses_claim`, one that uses the claim of the same number.
pub fn pod(index: usize, uses_claim: bool) -> Value {
    let name = format!("train-{index}");
    let claims = json!([{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]);
    let statuses = json!([{"name": "gpu", "resourceClaimName": format!("{name}-gpu-2xkqz")}]);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"example.com/checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "generateName": "train-",
            "labels": {"app": "train", "batch.kubernetes.io/job-name": "train", "pod-template-hash": "5878758cf8"},
            "managedFields": managed_fields(2_900),
            "name": name,
            "namespace": format!("team-{}", index % 40),
            "ownerReferences": [{"apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": "ReplicaSet", "name": "train-5878758cf8", "uid": uid(index / 10)}],
            "resourceVersion": (100_000 + index).to_string(),
            "uid": uid(index),
        },
        "spec": {
            "containers": [container("main"), container("sidecar")],
            "dnsPolicy": "ClusterFirst",
            "nodeName": format!("node-{}", index / 8),
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 1000,
            "priorityClassName": "training",
            "resourceClaims": if uses_claim { claims } else { json!([]) },
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
                {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
            ],
            "volumes": [{"name": "kube-api-access-8s7dk", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            ]}}],
        },
        "status": {
            "conditions": conditions(),
            "containerStatuses": [container_status("main"), container_status("sidecar")],
            "hostIP": "10.0.0.1",
            "phase": "Running",
            "podIP": "10.244.0.17",
            "qosClass": "Burstable",
            "resourceClaimStatuses": if uses_claim { statuses } else { json!([]) },
            "startTime": "2026-11-01T10:00:02Z",
        },
    })
}

fn conditions() -> Vec<Value> {
    let types = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ];
    let condition = |name| json!({"lastProbeTime": null, "lastTransitionTime": "2026-11-01T10:00:07Z", "status": "True", "type": name});
    types.map(condition).to_vec()
}

fn container(name: &str) -> Value {
    let environment: Vec<_> = (0..16)
        .map(|index| json!({"name": format!("SETTING_NUMBER_{index}"), "value": format!("https://service-{index}.example.com:8443/")}))
        .collect();
    json!({
        "args": ["--config=/etc/train/config.yaml", "--verbose"],
        "env": environment,
        "image": "registry.example.com/team/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "name": name,
        "resources": {"claims": [{"name": "gpu"}], "limits": {"memory": "64Gi"}, "requests": {"cpu": "4", "memory": "64Gi"}},
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-8s7dk", "readOnly": true}],
    })
}

fn container_status(name: &str) -> Value {
    json!({
        "containerID": "containerd://9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "image": "registry.example.com/team/train:v1",
        "imageID": "registry.example.com/team/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "lastState": {}, "name": name, "ready": true, "restartCount": 0, "started": true,
        "state": {"running": {"startedAt": "2026-11-01T10:00:06Z"}},
    })
}

/// Managed fields of about so many bytes; kubectl hides them, servers send them.
fn managed_fields(bytes: usize) -> Value {
    let fields: serde_json::Map<String, Value> = (0..bytes / 40)
        .map(|index| {
            (
                format!("f:field-{index:04}"),
                json!({"f:nested": {}, ".": {}}),
            )
        })
        .collect();
    json!([{"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}, "manager": "kube-controller-manager", "operation": "Update", "time": "2026-11-01T10:00:00Z"}])
}

fn uid(index: usize) -> String {
    format!("{index:08x}-4439-46b2-b028-f58635d2740a")
}
