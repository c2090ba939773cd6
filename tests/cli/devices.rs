//! `devices`: which devices there are, with their taints, claims and pods.

use super::harness::{EXAMPLE, devicetaint};

#[test]
fn devices_are_counted_by_node_and_driver() {
    let report = devicetaint(&format!("devices gpu.example.com -o json --from {EXAMPLE}")).json();
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
