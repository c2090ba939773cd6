//! `devices`: which devices there are, with their taints, claims and pods.

use super::harness::{EXAMPLE, Folder, Run, devicetaint};

fn devices(flags: &str) -> Run {
    devicetaint(&format!("devices --from {EXAMPLE} {flags}"))
}

#[test]
fn all_devices_are_listed_by_name() {
    let run = devices("-o name");
    assert_eq!(run.code, 0);
    assert_eq!(run.stdout.lines().count(), 46, "{}", run.stdout);
    assert!(run.stdout.lines().is_sorted());
    assert_eq!(devices("--all-devices").shown(), devices("").shown());
}

#[test]
fn missing_slices_are_a_gap() {
    let claims = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimList","metadata":{},"items":[
        {"metadata":{"name":"c","namespace":"n","uid":"u","creationTimestamp":"2026-11-20T10:00:00Z"},
         "status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"x"}]}}}}]}"#;
    let folder = Folder::new().with("claims.json", claims);
    let run = folder.devicetaint("devices --from claims.json -o json");
    let report = run.json();
    assert_eq!(report["items"][0]["device"], "d/p/x");
    assert_eq!(report["items"][0]["taints"], serde_json::Value::Null);
    assert_eq!(report["incomplete"][0]["missing"], "resourceslices");
}

#[test]
fn a_namespace_narrows_to_the_devices_that_its_claims_hold() {
    let names = |flags: &str| {
        let run = devicetaint(&format!("devices --from {EXAMPLE} -o name {flags}"));
        run.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, serving) = (names(""), names("-n serving"));
    assert!(
        !serving.is_empty() && serving.len() < all.len(),
        "{serving:?}"
    );
    assert_eq!(names("-n nobody"), [""; 0]);
    assert_eq!(names("-n serving -A"), all);
    let run = devicetaint(&format!("devices --from {EXAMPLE} -n serving --free"));
    assert_eq!(run.code, 2, "{}", run.shown());
}

#[test]
fn nothing_is_free_while_nobody_knows_who_holds_what() {
    let slices = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSliceList","metadata":{},"items":[
        {"metadata":{"name":"s","uid":"u","creationTimestamp":"2026-11-20T10:00:00Z"},
         "spec":{"driver":"gpu.example.com","nodeName":"node-7","pool":{"name":"node-7","generation":1,"resourceSliceCount":1},
                 "devices":[{"name":"gpu-0"}]}}]}"#;
    let folder = Folder::new().with("slices.json", slices);
    let run = folder.devicetaint("devices --free -o name --from slices.json");
    assert_eq!((run.code, run.stdout.as_str()), (6, ""), "{}", run.shown());
    let run = folder.devicetaint("devices --free --from slices.json");
    assert!(!run.stdout.contains("gpu-0"), "{}", run.shown());
}

#[test]
fn devices_are_counted_node_by_node_and_in_all() {
    let run = devices("gpu.example.com -o json");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let sum = |field: &str| -> u64 {
        let nodes = report["nodes"].as_array().expect("nodes").iter();
        nodes
            .map(|node| node[field].as_u64().expect("a number"))
            .sum()
    };
    for field in ["deviceCount", "allocatedDeviceCount", "taintedDeviceCount"] {
        assert_eq!(report["deviceCounts"][field], sum(field), "{field}");
        assert!(sum(field) > 0);
    }
}
