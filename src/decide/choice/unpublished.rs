//! Devices of nodes and rules that are not known, because their driver does not publish them.

use std::collections::{BTreeMap, BTreeSet};

use super::arguments::{Choice, ChoiceBasis};
use super::resolve::DeviceFilter;
use crate::engine::unpublished_devices::in_unknown_pools;
use crate::engine::{self, Semantics};
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Kind, Reading, ResourceSlice, Warning,
};
use crate::naming::phrase::few;

/// Returns the failure that units, such as nodes, have unpublished devices, so that other devices of them may be unknown,
/// too; `None` if all are known. `units` are names with devices, and `noun` is what a unit is called.
pub fn unknown_devices<'a>(
    noun: &str,
    units: impl Iterator<Item = (&'a str, Vec<&'a DeviceId>)>,
    slices: &[ResourceSlice],
) -> Option<Failure> {
    let units: Vec<(&str, Vec<&DeviceId>)> = units.collect();
    let unknown = in_unknown_pools(units.iter().flat_map(|(_, ids)| ids).copied(), slices);
    let mut missing: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (unit, ids) in &units {
        for id in ids.iter().filter(|id| unknown.contains(*id)) {
            let of_driver = missing.entry((unit, id.driver.as_str()));
            of_driver.or_default().push(id.to_string());
        }
    }
    let ((first, driver), _) = missing.first_key_value()?;
    let failure = Failure::refused(format!(
        "the devices of {noun} {first} are not all known, because driver {driver} does not \
        publish all of them; nothing was changed"
    ));
    let failure = missing
        .iter()
        .fold(failure, |failure, ((unit, driver), names)| {
            failure.detail(format!(
                "{noun} {unit}: driver {driver} does not publish these allocated devices: {}",
                few(names)
            ))
        });
    let drivers: BTreeSet<&str> = missing.keys().map(|(_, driver)| *driver).collect();
    let drivers = Vec::from_iter(drivers).join(", ");
    Some(failure.hint(format!(
        "start driver {drivers}, and run the same command again"
    )))
}

/// Refuses to add rules for the `chosen` devices of a whole node of which not all are published: others would get no rule,
/// and pods once their driver is back.
///
/// # Errors
///
/// The node with its drivers.
pub fn refuse_unknown_on_node(
    filter: Option<&DeviceFilter>,
    chosen: &Choice,
    slices: &[ResourceSlice],
) -> Result<(), Failure> {
    let node = filter.and_then(DeviceFilter::node);
    let (Some(node), ChoiceBasis::Selectors(selectors)) = (node, &chosen.by) else {
        return Ok(());
    };
    let devices = selectors.iter().filter_map(DeviceSelector::device_id);
    let devices: Vec<DeviceId> = devices.collect();
    let unit = (node, devices.iter().collect());
    unknown_devices("node", std::iter::once(unit), slices).map_or(Ok(()), Err)
}

/// Returns the warning that a preview of the `chosen` devices of a whole node does not show all of them.
pub fn unknown_on_node(
    filter: Option<&DeviceFilter>,
    chosen: &Choice,
    slices: &[ResourceSlice],
) -> Option<Warning> {
    let refused = refuse_unknown_on_node(filter, chosen, slices).err()?;
    let text = refused.to_string();
    let text = text.strip_suffix("; nothing was changed").unwrap_or(&text);
    Some(Warning {
        code: "unpublished-devices",
        message: text.to_owned(),
        fix: refused.hints().first().cloned(),
    })
}

/// Returns the warning that the devices of rules are not published, so that it is unknown which partitions they have.
pub fn rules_without_published_devices(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<Warning> {
    if reading.without(Kind::ResourceSlice).is_some() {
        return None;
    }
    let published = engine::devices(&reading.snapshot, semantics);
    let published: BTreeSet<&DeviceId> = published
        .iter()
        .filter(|state| state.device.is_some())
        .map(|state| &state.id)
        .collect();
    let selectors = rules.iter().filter_map(|rule| rule.selector.as_ref());
    let named: BTreeSet<DeviceId> = selectors.filter_map(DeviceSelector::device_id).collect();
    let missing = named.iter().filter(|id| !published.contains(id));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| Warning {
        code: "unpublished-devices",
        message: format!(
            "not published, so that their partitions are unknown and may be in use: {}",
            few(&missing)
        ),
        fix: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::DeviceFilterFlags;
    use crate::error::ExitStatus;
    use crate::report::testing;

    #[test]
    fn a_node_is_not_tainted_while_some_of_its_devices_are_unknown() {
        let node = DeviceFilterFlags {
            node: Some("node-7".to_owned()),
            ..DeviceFilterFlags::default()
        };
        let node = DeviceFilter::parse(&node).unwrap();
        let chosen = |names: &[&str]| {
            let devices = names.iter().map(|name| testing::device(name).into());
            Choice::of_selectors(devices.collect(), Some(testing::TAINT.clone()))
        };
        let device = crate::engine::testing::published("gpu-0", &[]);
        let mut slices = [crate::engine::testing::slice(vec![device])];
        slices[0].pool.slice_count = 2;
        let refusal = |names: &[&str]| {
            let chosen = chosen(names);
            refuse_unknown_on_node(node.as_ref(), &chosen, &slices).err()
        };
        let failure = refusal(&["gpu-0", "gpu-1"]).expect("a refusal");
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.to_string(),
            "the devices of node node-7 are not all known, because driver gpu.example.com does not \
             publish all of them; nothing was changed"
        );
        assert!(refusal(&["gpu-0"]).is_none(), "it is published");
        let both = chosen(&["gpu-0", "gpu-1"]);
        let mut whole = slices.clone();
        whole[0].pool.slice_count = 1;
        let renamed = refuse_unknown_on_node(node.as_ref(), &both, &whole);
        assert!(renamed.is_ok(), "the pool has no other devices");
        let warning = unknown_on_node(node.as_ref(), &both, &slices).expect("a warning");
        assert!(!warning.message.contains("changed"), "{}", warning.message);
        assert!(warning.fix.expect("a way out").starts_with("start driver"));
    }

    #[test]
    fn partitions_of_a_device_that_is_not_published_are_unknown() {
        let rule = |device: &str| {
            let mut rule = crate::decide::testing::named(device, "NoSchedule");
            rule.selector = Some(testing::device(device).into());
            rule
        };
        let mut reading = testing::reading();
        reading.known.insert(Kind::ResourceSlice);
        let device = crate::engine::testing::published("gpu-0", &[]);
        reading.snapshot.slices = vec![crate::engine::testing::slice(vec![device])];
        let warning = |rules: &[DeviceTaintRule]| {
            rules_without_published_devices(rules, &reading, &testing::semantics(37))
        };
        assert_eq!(warning(&[rule("gpu-0")]), None);
        let message = warning(&[rule("gpu-0"), rule("gpu-1")]).expect("a warning");
        assert!(message.message.ends_with("gpu.example.com/node-7/gpu-1"));
    }
}
