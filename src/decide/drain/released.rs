//! Reasons why restored devices cannot be allocated.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Origin;
use crate::engine::rule_lifecycle::{DeviceRelease, NodeSchedulability};
use crate::model::DeviceId;
use crate::naming::phrase::{counted, few};

/// A reason why devices cannot be allocated although their drain is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBack {
    /// The reason, and the devices.
    pub line: String,
    /// Whether it is a taint of a rule, which stays until somebody removes the rule.
    pub is_by_rule: bool,
}

/// Why the `devices` cannot be allocated although the drain is undone, one for each reason; none if all can be.
/// A device that a claim holds has no reason: it has been allocated.
#[must_use]
pub fn kept_back(released: &[DeviceRelease<'_>], devices: &BTreeSet<DeviceId>) -> Vec<KeptBack> {
    let mut reasons: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    for device in devices {
        let found = released.iter().find(|found| found.device == *device);
        let reason = match found {
            Some(found) if found.is_published => {
                reason(found).map(|it| (it, !tainting_rules(found).is_empty()))
            }
            Some(_) | None => Some(("not published by a driver".to_owned(), false)),
        };
        if let Some(reason) = reason {
            reasons.entry(reason).or_default().push(device.to_string());
        }
    }
    let lines = reasons.into_iter();
    lines
        .map(|((reason, is_by_rule), devices)| {
            let count = counted(devices.len(), "device");
            KeptBack {
                line: format!("{count} {reason}: {}", few(&devices)),
                is_by_rule,
            }
        })
        .collect()
}

/// Whether waiting may help: not if each of the reasons is a taint of a rule, which nothing in this program removes.
#[must_use]
pub fn may_be_released(kept: &[KeptBack]) -> bool {
    kept.iter().any(|kept| !kept.is_by_rule)
}

/// The rules of which a taint is left.
fn tainting_rules<'a>(found: &DeviceRelease<'a>) -> BTreeSet<&'a str> {
    let origins = found.remaining.iter().map(|taint| taint.origin);
    let rules = origins.filter_map(|origin| match origin {
        Origin::Rule(name) => Some(name.as_str()),
        Origin::ResourceSlice(_) | Origin::Proposed(_) => None,
    });
    rules.collect()
}

fn reason(found: &DeviceRelease<'_>) -> Option<String> {
    if let Some(taint) = found.remaining.first() {
        return Some(match taint.origin {
            Origin::Rule(_) => {
                let rules: Vec<&str> = tainting_rules(found).into_iter().collect();
                let noun = if rules.len() == 1 { "rule" } else { "rules" };
                format!("tainted by {noun} {}", rules.join(", "))
            }
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
    fn only_taints_of_rules_are_not_waited_for() {
        let kept = |is_by_rule| KeptBack {
            line: String::new(),
            is_by_rule,
        };
        for (kept, expected) in [
            (vec![kept(true)], false),
            (vec![kept(true), kept(true)], false),
            (vec![kept(true), kept(false)], true),
            (vec![kept(false)], true),
        ] {
            assert_eq!(may_be_released(&kept), expected, "{kept:?}");
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
            let kept = kept_back(&[released(schedulability)], &devices);
            let expected = expected.map(|why| KeptBack {
                line: format!("1 device {why}: gpu.example.com/node-7/gpu-0"),
                is_by_rule: false,
            });
            assert_eq!(kept, expected.into_iter().collect::<Vec<_>>());
        }
        let missing = KeptBack {
            line: "1 device not published by a driver: gpu.example.com/node-7/gpu-0".to_owned(),
            is_by_rule: false,
        };
        assert_eq!(kept_back(&[], &devices), [missing]);
        let away = DeviceRelease {
            is_published: false,
            ..released(NodeSchedulability::Open)
        };
        assert_eq!(kept_back(&[away], &devices), kept_back(&[], &devices));
        let (rule, slice) = (ObjectName::from("other"), ObjectName::from("slice"));
        for (origin, expected, is_by_rule) in [
            (Origin::Rule(&rule), "tainted by rule other", true),
            (
                Origin::ResourceSlice(&slice),
                "tainted by the driver (example.com/maintenance:NoExecute)",
                false,
            ),
        ] {
            let mut kept = released(NodeSchedulability::Open);
            kept.remaining = vec![DeviceTaint {
                origin,
                taint: &TAINT,
            }];
            let found = kept_back(&[kept], &devices).remove(0);
            let line = found.line;
            assert!(line.starts_with(&format!("1 device {expected}")), "{line}");
            assert_eq!(found.is_by_rule, is_by_rule, "{line}");
        }
        let third = ObjectName::from("a");
        let mut kept = released(NodeSchedulability::Open);
        kept.remaining = [&rule, &third]
            .map(|name| DeviceTaint {
                origin: Origin::Rule(name),
                taint: &TAINT,
            })
            .into();
        let line = kept_back(&[kept], &devices).remove(0).line;
        assert!(
            line.starts_with("1 device tainted by rules a, other:"),
            "{line}"
        );
    }
}
