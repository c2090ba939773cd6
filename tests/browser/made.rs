//! Pages, as the program makes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Pages in a folder of their own.
pub struct Pages {
    folder: tempfile::TempDir,
}

/// Command of each page: its name, and the arguments.
pub const ASKED: [(&str, &str); 4] = [
    (
        "preview",
        "preview gpu.example.com example.com/maintenance:NoExecute --abort-if pods.evicted>2 --abort-if pods.critical>9",
    ),
    (
        "preview-one",
        "preview gpu.example.com/node-7/gpu-0 example.com/maintenance:NoExecute",
    ),
    ("preview-none", "preview gpu.example.com a:NoSchedule"),
    ("preview-grouped", "preview --all-devices --by-workload"),
];

impl Pages {
    /// None yet.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// The page that the program makes of the example cluster.
    pub fn of_the_example(&self, name: &str, arguments: &str) -> PathBuf {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cluster.yaml");
        self.make(name, arguments, &example)
    }

    /// The page that the program makes of these objects.
    pub fn of(&self, name: &str, arguments: &str, objects: &Value) -> PathBuf {
        let file = self.folder.path().join(format!("{name}.json"));
        fs::write(&file, objects.to_string()).unwrap();
        self.make(name, arguments, &file)
    }

    fn make(&self, name: &str, arguments: &str, source: &Path) -> PathBuf {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-devicetaint"))
            .args(arguments.split(' '))
            .args(["-o", "html", "--now", "2026-11-20T10:15:00Z", "--from"])
            .arg(source)
            .env_clear()
            .output()
            .unwrap();
        assert!(!output.stdout.is_empty(), "{arguments}: {output:?}");
        let page = self.folder.path().join(format!("{name}.html"));
        fs::write(&page, output.stdout).unwrap();
        page
    }
}

/// A cluster in which everything has a name that wants to be markup, and is long; of `pods` pods.
pub fn hostile(pods: usize) -> Value {
    let odd = |text: &str| {
        format!(
            "{text}</script><img src=\"http://127.0.0.1:9/x\" onerror=\"document.title='taken'\">\u{202e}\u{0}'\"&lt;{}",
            "long-".repeat(20)
        )
    };
    let taint = json!({"key": odd("k"), "value": odd("v"), "effect": "NoExecute"});
    let mut items = vec![
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": odd("s")},
            "spec": {"driver": odd("d"), "pool": {"name": odd("p"), "generation": 1, "resourceSliceCount": 1},
                "nodeName": odd("n"), "devices": [{"name": odd("x"), "taints": [taint]}]}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": odd("rule"),
            "annotations": {"devicetaint.dev/reason": odd("why")}},
            "spec": {"deviceSelector": {"driver": odd("d")}, "taint": taint}}),
    ];
    for pod in 0..pods {
        let claim = odd(&format!("c{pod}"));
        let uid = format!("uid-{pod}");
        let name = odd(&format!("p{pod}"));
        items.push(json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": claim, "namespace": odd("n"), "uid": claim},
            "status": {"reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
                "allocation": {"devices": {"results": [{"request": odd("r"), "driver": odd("d"),
                    "pool": odd("p"), "device": odd("x"), "tolerations": [
                        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": pod * 600}]}]}}}}));
        items.push(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": odd("n"), "uid": uid,
                "ownerReferences": [{"apiVersion": "v1", "kind": odd("Kind"), "name": odd("o"), "uid": "o", "controller": true}]},
            "spec": {"nodeName": odd("n"), "priorityClassName": odd("c"), "containers": [],
                "resourceClaims": [{"name": "c", "resourceClaimName": claim}]},
            "status": {"phase": "Running", "qosClass": odd("Q")}}));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// A cluster of `pods` pods, ten a workload and a device each, in 25 namespaces.
pub fn many(pods: usize) -> Value {
    let devices: Vec<Value> = (0..pods)
        .map(|number| json!({"name": format!("gpu-{number}")}))
        .collect();
    let slices = devices.chunks(100).zip(0..).map(|(devices, number)| {
        let pool = format!("node-{number}");
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": pool},
            "spec": {"driver": "gpu.example.com", "nodeName": pool, "devices": devices,
                "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}}})
    });
    let mut items: Vec<Value> = slices.collect();
    for pod in 0..pods {
        let (workload, node, namespace) =
            (pod / 10, pod / 100, format!("team-{:02}", pod / 10 % 25));
        let (name, claim, uid) = (
            format!("model-{workload}-{pod}"),
            format!("claim-{pod}"),
            format!("uid-{pod}"),
        );
        items.push(json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": claim, "namespace": namespace, "uid": format!("{uid}-claim")},
            "status": {"reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
                "allocation": {"devices": {"results": [{"request": "gpu", "driver": "gpu.example.com",
                    "pool": format!("node-{node}"), "device": format!("gpu-{pod}")}]}}}}));
        items.push(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "uid": uid,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": true,
                    "name": format!("model-{workload}"), "uid": format!("workload-{workload}")}]},
            "spec": {"nodeName": format!("node-{node}"), "containers": [],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}]},
            "status": {"phase": "Running", "qosClass": "Guaranteed"}}));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}
