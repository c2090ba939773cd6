//! Reasons why restored devices cannot be allocated.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Origin;
use crate::engine::rule_lifecycle::{DeviceRelease, NodeSchedulability};
use crate::model::DeviceId;
use crate::naming::phrase::{counted, few};

/// Why the `devices` cannot be allocated although the drain is undone, a line for each reason; none if all can be.
/// A device that a claim holds has no reason: it has been allocated.
#[must_use]
pub fn kept_back(released: &[DeviceRelease<'_>], devices: &BTreeSet<DeviceId>) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for device in devices {
        let found = released.iter().find(|found| found.device == *device);
        let reason = match found {
            Some(found) if found.is_published => reason(found),
            Some(_) | None => Some("not published by a driver".to_owned()),
        };
        if let Some(reason) = reason {
            reasons.entry(reason).or_default().push(device.to_string());
        }
    }
    let lines = reasons.into_iter();
    lines
        .map(|(reason, devices)| {
            let count = counted(devices.len(), "device");
            format!("{count} {reason}: {}", few(&devices))
        })
        .collect()
}

fn reason(found: &DeviceRelease<'_>) -> Option<String> {
    if let Some(taint) = found.remaining.first() {
        return Some(match taint.origin {
            Origin::Rule(name) => format!("tainted by rule {name}"),
            Origin::ResourceSlice(_) => format!("tainted by the driver ({})", taint.taint),
            // The proposed taints are those that were removed.
            Origin::Proposed(_) => format!("tainted ({})", taint.taint),
        });
    }
    let node = found.node.as_ref()?;
    match &node.schedulability {
        // Nodes may be reserved for pods that use devices, which tolerate that: nobody takes such a taint away.
        NodeSchedulability::Open | NodeSchedulability::Tainted(_) => None,
        NodeSchedulability::Cordoned => Some(format!("on cordoned node {}", node.name)),
        NodeSchedulability::NotReady => Some(format!("on node {}, which is not ready", node.name)),
        NodeSchedulability::Gone => Some(format!("on node {}, which does not exist", node.name)),
        NodeSchedulability::Unknown => {
            Some(format!("on node {}, which could not be read", node.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::DeviceTaint;
    use crate::engine::rule_lifecycle::ReleaseNode;
    use crate::model::ObjectName;
    use crate::report::testing::{TAINT, device};

    fn released(schedulability: NodeSchedulability) -> DeviceRelease<'static> {
        DeviceRelease {
            device: device("gpu-0"),
            is_published: true,
            remaining: Vec::new(),
            claims: Vec::new(),
            partition_pods: BTreeSet::new(),
            is_blocked_partition: false,
            in_use_by: BTreeSet::new(),
            possibly_in_use_by: BTreeSet::new(),
            node: Some(ReleaseNode {
                name: "node-7".into(),
                schedulability,
            }),
        }
    }

    #[test]
    fn each_reason_that_keeps_a_device_is_named() {
        let devices = BTreeSet::from([device("gpu-0")]);
        for (schedulability, expected) in [
            (NodeSchedulability::Open, None),
            (
                NodeSchedulability::Cordoned,
                Some("on cordoned node node-7"),
            ),
            (
                NodeSchedulability::NotReady,
                Some("on node node-7, which is not ready"),
            ),
            (
                NodeSchedulability::Tainted(["example.com/reserved".to_owned()].into()),
                None,
            ),
            (
                NodeSchedulability::Gone,
                Some("on node node-7, which does not exist"),
            ),
            (
                NodeSchedulability::Unknown,
                Some("on node node-7, which could not be read"),
            ),
        ] {
            let lines = kept_back(&[released(schedulability)], &devices);
            let expected =
                expected.map(|why| format!("1 device {why}: gpu.example.com/node-7/gpu-0"));
            assert_eq!(lines, expected.into_iter().collect::<Vec<_>>());
        }
        assert_eq!(
            kept_back(&[], &devices),
            ["1 device not published by a driver: gpu.example.com/node-7/gpu-0"]
        );
        let away = DeviceRelease {
            is_published: false,
            ..released(NodeSchedulability::Open)
        };
        assert_eq!(kept_back(&[away], &devices), kept_back(&[], &devices));
        let (rule, slice) = (ObjectName::from("other"), ObjectName::from("slice"));
        for (origin, expected) in [
            (Origin::Rule(&rule), "tainted by rule other"),
            (
                Origin::ResourceSlice(&slice),
                "tainted by the driver (example.com/maintenance:NoExecute)",
            ),
        ] {
            let mut kept = released(NodeSchedulability::Open);
            kept.remaining = vec![DeviceTaint {
                origin,
                taint: &TAINT,
            }];
            let line = kept_back(&[kept], &devices).remove(0);
            assert!(line.starts_with(&format!("1 device {expected}")), "{line}");
        }
    }
}
