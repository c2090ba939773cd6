//! Hardware by its numbers alone, in every command that takes a device or the rule of one.

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
fn a_number_alone_is_found_by_every_command() {
    let folder = cluster();
    for number in [
        UUID,
        "1423022041312",
        "0000:17:00.0",
        "17:00.0",
        &format!("uuid={UUID}"),
    ] {
        let listed = run(&folder, &format!("devices {number} -o name"));
        assert_eq!(
            listed.stdout,
            format!("{DEVICE}\n"),
            "{number}: {}",
            listed.stderr
        );
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
        assert!(
            explained.stdout.contains(DEVICE),
            "{number}: {}",
            explained.stderr
        );
        for described in [
            format!("describe {number} -o name"),
            format!("describe {number} example.com/fan -o name"),
        ] {
            let described = run(&folder, &described);
            assert!(
                described.stdout.ends_with("/fan\n"),
                "{number}: {}",
                described.stderr
            );
        }
    }
    let typed = run(&folder, "explain device/1423022041313");
    assert!(typed.stdout.contains("gpu-1"), "{}", typed.stderr);
}

#[test]
fn an_explained_device_has_its_other_names() {
    let api = "resource.k8s.io/v1";
    let slice = |driver: &str, device: &str| {
        json!({"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": driver}, "spec": {
            "driver": driver, "nodeName": "node-7",
            "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": device, "attributes": {"uuid": {"string": UUID}}}],
        }})
    };
    let rule = json!({"apiVersion": api, "kind": "DeviceTaintRule", "metadata": {
        "name": "fan", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z",
    }, "spec": {
        "deviceSelector": {"driver": "vfio.example.com"},
        "taint": {"key": "example.com/fan", "effect": "NoSchedule", "timeAdded": "2026-11-20T10:00:00Z"},
    }});
    let on_gpu = json!({"apiVersion": api, "kind": "DeviceTaintRule", "metadata": {
        "name": "gpu", "uid": "g", "creationTimestamp": "2026-11-20T10:00:00Z",
    }, "spec": {
        "deviceSelector": {"driver": "gpu.example.com"},
        "taint": {"key": "example.com/gpu", "effect": "NoExecute", "timeAdded": "2026-11-20T10:00:00Z"},
    }});
    let claim = json!({"apiVersion": api, "kind": "ResourceClaim",
    "metadata": {"namespace": "ml", "name": "pass", "uid": "c"},
    "spec": {"devices": {"requests": [{"name": "card", "exactly": {"deviceClassName": "vfio"}}]}},
    "status": {
        "allocation": {"devices": {"results": [{"request": "card", "driver": "vfio.example.com",
            "pool": "node-7", "device": "card"}]}},
        "reservedFor": [{"resource": "pods", "name": "vm", "uid": "p"}],
    }});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "ml", "name": "vm", "uid": "p"},
        "spec": {"nodeName": "node-7", "containers": [{"name": "main"}],
            "resourceClaims": [{"name": "card", "resourceClaimName": "pass"}]},
        "status": {"phase": "Running"}});
    let items = [
        slice("gpu.example.com", "gpu-0"),
        slice("vfio.example.com", "card"),
        claim,
        pod,
        rule,
        on_gpu,
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let folder = Folder::new().with("cluster.json", list.to_string());
    let explained = run(&folder, &format!("explain {DEVICE}"));
    let link = format!(
        "on the same hardware (uuid {}): vfio.example.com/node-7/card",
        UUID.to_lowercase()
    );
    let told = explained
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(told.contains(&link), "{explained:#?}");
    // Whoever pulls the card pulls it from under that pod, too.
    let previewed = run(
        &folder,
        &format!("preview {DEVICE} example.com/x:NoExecute"),
    );
    let (_, beside) = previewed
        .stdout
        .split_once("Hardware that stays in use")
        .expect("what stays on the card");
    assert!(beside.contains("vfio.example.com/node-7/card"), "{beside}");
    // The rule on the GPU evicts nobody, and the card is in use all the same.
    let in_use = "rule gpu: the hardware of its devices is also allocated under other device names \
        (vfio.example.com/node-7/card)";
    for line in ["list", "list gpu", "describe gpu"] {
        let told = run(&folder, line);
        assert!(told.stderr.contains(in_use), "{line}: {told:#?}");
    }
    let told = run(&folder, "describe fan");
    assert!(!told.stderr.contains("is also allocated"), "{told:#?}");
}

#[test]
fn what_is_no_number_is_told_as_what_it_is() {
    let folder = cluster();
    let said = |line: &str| {
        let run = run(&folder, line);
        assert_ne!(run.code, 0, "{line}");
        run.stderr
    };
    assert!(said("devices GPU-77").contains("no device with GPU-77"));
    assert!(
        said("describe GPU-0300").contains("no rule taints exactly gpu.example.com/node-7/gpu-1")
    );
    assert!(said("describe nothing").contains("no rule \"nothing\""));
    assert!(said("explain nothing").contains("rule nothing does not exist"));
    // A word that is neither is no driver that there would be.
    let mistyped = said("devices node-7");
    assert!(mistyped.contains("'*/node-7/*'"), "{mistyped}");
}

/// A card of one driver on the node, and a device of another driver that a claim holds and nobody publishes.
fn with_a_driver_away() -> Folder {
    let api = "resource.k8s.io/v1";
    let items = [
        json!({"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {
            "driver": "vfio.example.com", "nodeName": "node-7",
            "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": "card0", "attributes": {"uuid": {"string": UUID}}},
                {"name": "card1"}, {"name": "card2"},
            ],
        }}),
        json!({"apiVersion": api, "kind": "ResourceClaim",
        "metadata": {"namespace": "ml", "name": "embed", "uid": "c"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "node-7",
                    "device": "gpu-0"}]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": ["node-7"]}]}]},
            },
            "reservedFor": [{"resource": "pods", "name": "embed", "uid": "p"}],
        }}),
        json!({"apiVersion": api, "kind": "DeviceTaintRule", "metadata": {
            "name": "pull", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z",
        }, "spec": {
            "deviceSelector": {"driver": "vfio.example.com", "pool": "node-7", "device": "card0"},
            "taint": {"key": "example.com/pull", "effect": "NoSchedule", "timeAdded": "2026-11-20T10:00:00Z"},
        }}),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    Folder::new().with("cluster.json", list.to_string())
}

#[test]
fn what_may_be_in_use_is_not_free() {
    let folder = with_a_driver_away();
    let free = run(&folder, "devices --free -o name");
    assert_eq!(
        free.stdout, "vfio.example.com/node-7/card1\nvfio.example.com/node-7/card2\n",
        "{free:#?}"
    );
    let listed = run(&folder, "devices -o json");
    let report: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let row = |name: &str| {
        let rows = report["items"].as_array().expect("rows");
        let device = format!("vfio.example.com/node-7/{name}");
        let mut found = rows.iter().filter(|row| row["device"] == *device);
        found.next().expect("a row").clone()
    };
    let card = row("card0");
    assert_eq!(card["free"], Value::Null, "{card:#}");
    let away = "gpu.example.com/node-7/gpu-0";
    assert_eq!(card["possiblyInUseBy"], json!([away]));
    assert_eq!(row("card2")["free"], true);
    // Whoever taints the card or asks about it hears of the other one.
    for line in [
        "preview vfio.example.com/node-7/card0 example.com/pull:NoExecute",
        "explain vfio.example.com/node-7/card0",
        "list",
        "describe pull",
    ] {
        let told = run(&folder, line);
        let words: Vec<&str> = told
            .stdout
            .split_whitespace()
            .chain(told.stderr.split_whitespace())
            .collect();
        let words = words.join(" ");
        assert!(
            words.contains("the same hardware as") && words.contains(away),
            "{line}: {told:#?}"
        );
    }
}

#[test]
fn an_unpublished_device_elsewhere_does_not_keep_an_address_from_being_found() {
    let mut list: Value = serde_json::from_str(&cluster_json()).expect("JSON");
    let items = list["items"].as_array_mut().expect("items");
    items.push(
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {
            "name": "away", "namespace": "ml", "uid": "c",
        }, "spec": {}, "status": {"allocation": {"devices": {"results": [{
            "request": "gpu", "driver": "mig.example.com", "pool": "node-1", "device": "mig-0",
        }]}}}}),
    );
    let folder = Folder::new().with("cluster.json", list.to_string());
    let note = "no ResourceSlice lists this allocated device, so it is unknown whether it matches: mig.example.com/node-1/mig-0";
    for line in [
        "devices 0000:17:00.0",
        "list 0000:17:00.0",
        "describe 0000:17:00.0",
        "explain 0000:17:00.0",
        "preview 0000:17:00.0 example.com/x:NoExecute",
    ] {
        let run = run(&folder, line);
        assert_eq!(run.code, 0, "{line}: {}", run.shown());
        assert!(run.stderr.contains(note), "{line}: {}", run.shown());
    }
    for (line, has_skip_errors) in [
        ("devices 0000:99:00.0", true),
        ("list 0000:99:00.0", false),
        ("describe 0000:99:00.0", false),
        ("explain 0000:99:00.0", false),
    ] {
        let run = run(&folder, line);
        assert_eq!(run.code, 1, "{line}: {}", run.shown());
        assert!(
            run.stderr.contains("cannot tell whether 1 device matches"),
            "{line}: {}",
            run.shown()
        );
        assert_eq!(
            run.stderr.contains("--skip-errors"),
            has_skip_errors,
            "{line}: {}",
            run.shown()
        );
    }
}

#[test]
fn a_uuid_that_drivers_of_one_node_share_is_read_as_all_of_its_devices() {
    let mut list: Value = serde_json::from_str(&cluster_json()).expect("JSON");
    let items = list["items"].as_array_mut().expect("items");
    let mut other = items[0].clone();
    other["metadata"]["name"] = "vfio".into();
    other["spec"]["driver"] = "vfio.example.com".into();
    items.push(other);
    let folder = Folder::new().with("cluster.json", list.to_string());
    for line in ["devices", "list", "describe", "explain"] {
        let run = run(&folder, &format!("{line} {UUID}"));
        assert_eq!(run.code, 0, "{line}: {}", run.shown());
        assert!(
            run.stderr
                .contains("several drivers on node node-7 publish"),
            "{line}: {}",
            run.shown()
        );
    }
    let run = run(
        &folder,
        &format!("preview {UUID} example.com/x:NoSchedule -o json"),
    );
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let selected = report["selectedDevices"].as_array().expect("devices");
    assert_eq!(selected.len(), 2, "{report:#}");
}
