//! Whether the rules of a drain select all devices of the nodes that it drains.
//!
//! While a driver is away, only those of its devices are known that claims hold. A node of which this is the case at the
//! start is not drained: the other devices would get no taint, and pods once the driver is back. Devices that are published
//! later are compared with what the drain selects, which its rules record.

use std::collections::BTreeSet;

use super::unit::{Unit, UnitKind};
use crate::decide::choice::unknown_devices;
use crate::engine::published_on;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, ResourceSlice, RuleMetadata};
use crate::naming::device;
use crate::naming::phrase::{counted, few};

/// All devices of a node, as a rule records it.
const ALL: &str = "*";

/// Refuses units that are more than one device, of which a device is not published and its pool not complete: what else
/// they have is unknown.
///
/// # Errors
///
/// The units with their drivers, and the ways out.
pub fn refuse_unpublished<'a>(
    units: impl Iterator<Item = &'a Unit>,
    slices: &[ResourceSlice],
    kind: UnitKind,
) -> Result<(), Failure> {
    let noun = match kind {
        UnitKind::Device => return Ok(()),
        UnitKind::Node => "node",
        UnitKind::Pool => "pool",
    };
    let devices = units.map(|unit| (unit.name.as_str(), unit.devices.iter().collect()));
    match unknown_devices(noun, devices, slices) {
        None => Ok(()),
        Some((failure, pools)) => Err(failure.hint(format!(
            "to keep new pods off whole pools, including devices that are published later: kubectl \
             devicetaint add {pools} KEY:NoSchedule"
        ))),
    }
}

/// What a drain of nodes selects, as its rules record it, from the devices that were `named` beside the nodes; none if
/// it selects only single devices, to which none can be added.
#[must_use]
pub fn scope(named: &[String]) -> Option<String> {
    if named.is_empty() {
        return Some(ALL.to_owned());
    }
    let patterns = named.iter().filter_map(|text| device::parse(text).ok());
    let patterns: Vec<String> = patterns
        .filter(|it| it.driver.is_none() || it.pool.is_none() || it.device.is_none())
        .map(|selector| device::format(&selector))
        .collect();
    (!patterns.is_empty()).then(|| patterns.join(","))
}

/// The devices that are published for this unit, a node, and that the drain selects but none of these `rules` of the
/// unit does. Empty for units of another kind.
fn untainted(unit: &str, rules: &[DeviceTaintRule], slices: &[ResourceSlice]) -> Vec<DeviceId> {
    let scopes: BTreeSet<&str> = rules
        .iter()
        .filter_map(|rule| rule.metadata.annotation(RuleMetadata::DRAIN_SCOPE))
        .collect();
    if scopes.is_empty() {
        return Vec::new();
    }
    let scopes: Vec<DeviceSelector> = scopes
        .into_iter()
        .flat_map(|text| text.split(','))
        .map(|text| match text {
            ALL => DeviceSelector::default(),
            // A scope that is not understood may be any device.
            pattern => device::parse(pattern).unwrap_or_default(),
        })
        .collect();
    let mut devices: Vec<DeviceId> = published_on(slices, unit).into_iter().collect();
    devices.retain(|id| {
        let mut rules = rules.iter().filter_map(|rule| rule.selector.as_ref());
        scopes.iter().any(|scope| scope.has_names_of(id)) && !rules.any(|one| one.has_names_of(id))
    });
    devices
}

/// That devices of this unit are not tainted, which are published for it and selected by the drain; absent if there are
/// none, and for units other than nodes.
#[must_use]
pub fn untainted_line(
    unit: &str,
    rules: &[DeviceTaintRule],
    slices: &[ResourceSlice],
) -> Option<String> {
    let devices = untainted(unit, rules, slices);
    let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "{} of the node {are} not tainted by this drain: {}",
            counted(names.len(), "device"),
            few(&names)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::error::ExitStatus;
    use crate::report::testing::{device, published, slice, slice_of};

    #[test]
    fn a_node_or_pool_with_an_unpublished_device_is_refused_and_a_device_by_itself_is_not() {
        let mut part = slice(vec![published("gpu-0", &[])]);
        part.pool.slice_count = 2;
        let slices = [part];
        let unit = |devices: &[&str]| Unit {
            name: "node-3".to_owned(),
            devices: devices.iter().map(|name| device(name)).collect(),
        };
        let refused = |unit: &Unit, kind| {
            refuse_unpublished([unit].into_iter(), &slices, kind)
                .err()
                .map(|failure| {
                    assert_eq!(failure.status(), ExitStatus::Refused);
                    let lines = [failure.to_string()];
                    let lines = lines.iter().chain(failure.details()).chain(failure.hints());
                    lines.cloned().collect::<Vec<_>>().join("\n")
                })
        };
        let both = unit(&["gpu-0", "gpu-1"]);
        // A pool that is published whole has no other devices: the missing one is gone, or has another name.
        let whole = [slice(vec![published("gpu-0", &[])])];
        let gone = refuse_unpublished([&both].into_iter(), &whole, UnitKind::Node);
        assert!(gone.is_ok());
        assert_eq!(refused(&unit(&["gpu-0"]), UnitKind::Node), None);
        assert_eq!(refused(&both, UnitKind::Device), None);
        assert!(refused(&both, UnitKind::Pool).is_some());
        insta::assert_snapshot!(refused(&both, UnitKind::Node).unwrap(), @"
        the devices of node node-3 are not all known, because driver gpu.example.com does not publish all of them; nothing was changed
        node node-3: driver gpu.example.com does not publish these allocated devices: gpu.example.com/node-7/gpu-1
        start driver gpu.example.com, and run the same command again
        to keep new pods off whole pools, including devices that are published later: kubectl devicetaint add 'gpu.example.com/node-7/*' KEY:NoSchedule
        ");
    }

    fn rule(device: &str, scope: Option<&str>) -> DeviceTaintRule {
        let mut rule = named(device, "NoSchedule");
        rule.selector = Some(selector(device));
        let note = scope.map(|text| (RuleMetadata::DRAIN_SCOPE.to_owned(), text.to_owned()));
        rule.metadata.annotations.extend(note);
        rule
    }

    #[test]
    fn devices_that_the_drain_would_select_and_no_rule_does_are_not_tainted() {
        let nics = slice_of("nic.example.com", vec![published("nic-0", &[])]);
        let gpus = slice(vec![published("gpu-0", &[]), published("gpu-1", &[])]);
        let slices = [gpus, nics];
        let names = |unit: &str, rules: &[DeviceTaintRule]| -> Vec<String> {
            let devices = untainted(unit, rules, &slices).into_iter();
            devices.map(|id| format!("{}", id.device)).collect()
        };
        let none: [&str; 0] = [];
        for (scope, expected) in [
            (None, &none[..]),
            (Some("*"), &["gpu-1", "nic-0"][..]),
            (Some("gpu.example.com/*/*"), &["gpu-1"][..]),
            (Some("*/*/nic-0"), &["nic-0"][..]),
            (Some("*/*/other,nic.example.com/*/*"), &["nic-0"][..]),
        ] {
            assert_eq!(
                names("node-7", &[rule("gpu-0", scope)]),
                expected,
                "{scope:?}"
            );
        }
        let all = [
            rule("gpu-0", Some("gpu.example.com/*/*")),
            rule("gpu-1", None),
        ];
        assert_eq!(names("node-7", &all), none);
        assert_eq!(names("node-8", &[rule("gpu-0", Some("*"))]), none);
        let line = |scope| untainted_line("node-7", &[rule("gpu-0", scope)], &slices);
        assert_eq!(line(None), None);
        assert_eq!(
            line(Some("gpu.example.com/*/*")).as_deref(),
            Some("1 device of the node is not tainted by this drain: gpu.example.com/node-7/gpu-1")
        );
        let several = line(Some("*")).unwrap_or_default();
        assert!(several.starts_with("2 devices of the node are not tainted"));
    }

    #[test]
    fn only_what_can_select_devices_that_come_later_is_recorded() {
        let scope = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|&text| text.to_owned()).collect();
            super::scope(&named)
        };
        assert_eq!(scope(&[]).as_deref(), Some("*"));
        assert_eq!(
            scope(&["gpu.example.com"]).as_deref(),
            Some("gpu.example.com/*/*")
        );
        assert_eq!(scope(&["gpu.example.com/node-7/gpu-0"]), None);
        assert_eq!(scope(&["0000:3b:00.0"]), None);
        assert_eq!(
            scope(&["*/*/gpu-0", "gpu.example.com/node-7/gpu-0"]).as_deref(),
            Some("*/*/gpu-0")
        );
    }
}
