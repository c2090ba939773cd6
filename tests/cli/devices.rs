//! `devices`: which devices there are, with their taints, claims and pods.

use super::harness::{EXAMPLE, Folder, Run, devicetaint};
use crate::screen::assert_screen;

fn devices(flags: &str) -> Run {
    devicetaint(&format!("devices --from {EXAMPLE} {flags}"))
}

#[test]
fn all_devices_are_listed_by_name() {
    let run = devices("-o name");
    assert_eq!(run.code, 0);
    assert_eq!(run.stdout.lines().count(), 46, "{}", run.stdout);
    assert!(run.stdout.lines().is_sorted());
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
fn devices_are_counted_by_node_and_driver_and_listed_where_some_are_selected() {
    assert_screen("devices-summary", &devices("").shown());
    let report = devices("gpu.example.com -o json").json();
    let nodes = report["nodes"].as_array().expect("nodes").iter();
    let counted = |field: &'static str| nodes.clone().map(move |node| node[field].as_u64());
    let total: Option<u64> = counted("deviceCount").sum();
    let items = report["items"].as_array().expect("devices");
    assert_eq!(total, u64::try_from(items.len()).ok());
    for (state, field) in [("Used", "usedDeviceCount"), ("Free", "freeDeviceCount")] {
        let items = items.iter().filter(|item| item["state"] == state);
        let total: Option<u64> = counted(field).sum();
        assert_eq!(total, u64::try_from(items.count()).ok(), "{field}");
    }
}
