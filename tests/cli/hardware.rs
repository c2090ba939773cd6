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

#[test]
fn an_id_that_no_device_has_or_two_have_is_refused() {
    let mut list: Value = serde_json::from_str(&cluster_json()).expect("JSON");
    let items = list["items"].as_array_mut().expect("items");
    let mut other = items[0].clone();
    other["metadata"]["name"] = "vfio".into();
    other["spec"]["driver"] = "vfio.example.com".into();
    items.push(other);
    items.push(
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {
            "name": "away", "namespace": "ml", "uid": "c",
        }, "spec": {}, "status": {"allocation": {"devices": {"results": [{
            "request": "gpu", "driver": "mig.example.com", "pool": "node-1", "device": "mig-0",
        }]}}}}),
    );
    let folder = Folder::new().with("cluster.json", list.to_string());
    for (id, said) in [
        (UUID, "is ambiguous: it is the hardware ID of"),
        (
            "0000:99:00.0",
            "not published, so not compared: mig.example.com/node-1/mig-0",
        ),
    ] {
        for line in [
            format!("devices {id}"),
            format!("explain {id}"),
            format!("describe {id} example.com/fan"),
            format!("preview {id} example.com/x:NoExecute"),
        ] {
            let run = run(&folder, &line);
            assert_eq!(run.code, 1, "{}", run.shown());
            assert!(run.stderr.contains(said), "{}", run.shown());
        }
    }
}

#[test]
fn a_word_that_is_no_hardware_id_is_a_name() {
    let folder = cluster();
    for (line, said) in [
        ("describe nothing", "no rule nothing"),
        ("explain nothing", "no pod \"nothing\""),
        ("devices node-7", "'*/node-7/*'"),
        ("devices uuid=GPU-77", "no device with uuid=GPU-77"),
        (
            "describe uuid=GPU-0300 example.com/fan",
            "no rule with selector",
        ),
    ] {
        let run = run(&folder, line);
        assert_ne!(run.code, 0, "{line}");
        assert!(run.stderr.contains(said), "{}", run.shown());
    }
}
