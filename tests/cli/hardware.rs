//! Hardware IDs, in every command that takes a device or the rule of one.

use serde_json::{Value, json};

use super::harness::{Folder, Run};

const UUID: &str = "GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a";
const DEVICE: &str = "gpu.example.com/node-7/gpu-0";

/// Two GPUs of which the first has a rule of its own.
fn cluster() -> Folder {
    Folder::new().with("cluster.json", cluster_json())
}

fn cluster_json() -> String {
    let gpu = |name: &str, uuid: &str, serial: &str, address: &str| {
        json!({"name": name, "attributes": {
            "uuid": {"string": uuid}, "serial": {"string": serial},
            "resource.kubernetes.io/pciBusID": {"string": address},
        }})
    };
    let api = "resource.k8s.io/v1";
    let items = [
        json!({"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
            "driver": "gpu.example.com", "nodeName": "node-7",
            "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                gpu("gpu-0", UUID, "1423022041312", "0000:17:00.0"),
                gpu("gpu-1", "GPU-0300", "1423022041313", "0000:18:00.0"),
            ],
        }}),
        json!({"apiVersion": api, "kind": "DeviceTaintRule", "metadata": {
            "name": "fan", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z",
        }, "spec": {
            "deviceSelector": {"driver": "gpu.example.com", "pool": "node-7", "device": "gpu-0"},
            "taint": {"key": "example.com/fan", "effect": "NoSchedule", "timeAdded": "2026-11-20T10:00:00Z"},
        }}),
    ];
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn run(folder: &Folder, line: &str) -> Run {
    folder.devicetaint(&format!(
        "{line} --from cluster.json --now 2026-11-20T10:15:00Z"
    ))
}

#[test]
fn a_hardware_id_is_found_by_every_command() {
    let folder = cluster();
    for number in [
        UUID,
        "0000:17:00.0",
        "17:00.0",
        "serial=1423022041312",
        &format!("UUID={UUID}"),
    ] {
        let listed = run(&folder, &format!("devices {number} -o name"));
        assert_eq!(listed.stdout, format!("{DEVICE}\n"), "{}", listed.shown());
        let previewed = run(
            &folder,
            &format!("preview {number} example.com/x:NoExecute -o json"),
        );
        let report: Value = serde_json::from_str(&previewed.stdout).expect("JSON");
        assert_eq!(
            report["selectedDevices"][0]["device"], DEVICE,
            "{number}: {report:#}"
        );
        let explained = run(&folder, &format!("explain {number}"));
        assert!(explained.stdout.contains(DEVICE), "{}", explained.shown());
        for command in ["describe", "list"] {
            let line = format!("{command} {number} example.com/fan -o name");
            let rule = run(&folder, &line);
            assert!(rule.stdout.ends_with("/fan\n"), "{}", rule.shown());
        }
    }
}
