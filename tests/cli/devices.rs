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
    for flags in [
        "--node node-3",
        "gpu.example.com",
        "--free",
        "-o wide",
        "-n serving",
    ] {
        let run = devices(flags);
        assert!(
            !run.stdout.contains("PARTITIONS USED"),
            "{flags}: {}",
            run.shown()
        );
    }
    let rows = devices("gpu.example.com/node-7/gpu-0 --no-headers").stdout;
    assert!(rows.starts_with("gpu.example.com/node-7/gpu-0 "), "{rows}");
}

#[test]
fn a_filter_that_nothing_matches_has_an_empty_list() {
    let run = devices("--node node-3 --where false");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.shown());
    assert_eq!(run.stderr, "No resources found\n");
    for named in ["--node node-5", "gpu.example.com/node-5/gpu-0"] {
        assert_eq!(devices(named).code, 1, "{named}");
    }
    assert!(!devices("--node node-5").stderr.contains("did you mean"));
}
