//! Names that match nothing because their driver publishes no devices.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::device_filters::DeviceFilter;
use super::parse::{Choice, ChoiceBasis};
use crate::decide::identity::new_names;
use crate::engine::unpublished_devices::in_unknown_pools;
use crate::engine::{self, ProposedTaint, Semantics};
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, DriverName, Kind, ObjectName, Reading,
    ResourceSlice, Warning,
};
use crate::naming::phrase::few;
use crate::naming::shell::word;

/// That units, such as nodes, have unpublished devices, and what else they have is unknown: the failure, with a way out, and
/// all devices of the pools as arguments; absent if all are known. `units` are names with devices, and `noun` is what a
/// unit is called.
#[must_use]
pub fn unknown_devices<'a>(
    noun: &str,
    units: impl Iterator<Item = (&'a str, Vec<&'a DeviceId>)>,
    slices: &[ResourceSlice],
) -> Option<(Failure, String)> {
    let units: Vec<(&str, Vec<&DeviceId>)> = units.collect();
    let unknown = in_unknown_pools(units.iter().flat_map(|(_, ids)| ids).copied(), slices);
    let mut missing: BTreeMap<(&str, &str), Vec<&DeviceId>> = BTreeMap::new();
    for (unit, ids) in &units {
        for id in ids.iter().filter(|id| unknown.contains(*id)) {
            let of_driver = missing.entry((unit, id.driver.as_str()));
            of_driver.or_default().push(id);
        }
    }
    let ((first, driver), _) = missing.first_key_value()?;
    let failure = Failure::refused(format!(
        "the devices of {noun} {first} are not all known, because driver {driver} does not \
        publish all of them; nothing was changed"
    ));
    let failure = missing
        .iter()
        .fold(failure, |failure, ((unit, driver), ids)| {
            let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
            failure.detail(format!(
                "{noun} {unit}: driver {driver} does not publish these allocated devices: {}",
                few(&names)
            ))
        });
    let pools = missing.values().flatten();
    let pools = pools.map(|id| word(&format!("{}/{}/*", id.driver, id.pool)));
    let pools: BTreeSet<String> = pools.collect();
    let drivers: BTreeSet<&str> = missing.keys().map(|(_, driver)| *driver).collect();
    let drivers: Vec<&str> = drivers.into_iter().collect();
    let failure = failure.hint(format!(
        "start driver {}, and run the same command again",
        drivers.join(", ")
    ));
    Some((failure, Vec::from_iter(pools).join(" ")))
}

/// Refuses to add rules for the `chosen` devices of a whole node of which not all are published: others would get no rule,
/// and pods once their driver is back.
///
/// # Errors
///
/// The node with its drivers, and the ways out.
pub fn refuse_unknown_on_node(
    filter: &DeviceFilter,
    chosen: &Choice,
    slices: &[ResourceSlice],
) -> Result<(), Failure> {
    let (Some(node), ChoiceBasis::Selectors(selectors)) = (filter.node(), &chosen.by) else {
        return Ok(());
    };
    let devices = selectors.iter().filter_map(DeviceSelector::device_id);
    let devices: Vec<DeviceId> = devices.collect();
    let unit = (node, devices.iter().collect());
    let Some((failure, pools)) = unknown_devices("node", std::iter::once(unit), slices) else {
        return Ok(());
    };
    let taint = chosen.taint.as_ref();
    let taint = taint.map_or_else(|| "KEY:EFFECT".to_owned(), |taint| word(&taint.to_string()));
    Err(failure.hint(format!(
        "to taint all devices of the pool, including devices that are not published: kubectl devicetaint add {pools} \
         {taint}"
    )))
}

/// That a preview of the `chosen` devices of a whole node does not show all of them.
#[must_use]
pub fn unknown_on_node(
    filter: &DeviceFilter,
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

/// That rules select no published device, so that only claims tell whether their devices are in use, and nothing which
/// devices share their hardware. Nothing is said where slices were not read.
#[must_use]
pub fn rules_without_published_devices(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<Warning> {
    if reading.without(Kind::ResourceSlice).is_some() {
        return None;
    }
    // Which devices a rule selects is the same at any time.
    let at = Timestamp::UNIX_EPOCH;
    let proposed = ProposedTaint::of_rules(rules, at);
    let impact = engine::preview(&reading.snapshot, &proposed, at, semantics);
    let counted = rules.iter().zip(&impact.rules);
    let mut without: Vec<&DeviceTaintRule> = counted
        .filter(|(_, counted)| counted.counts.published_devices == 0)
        .map(|(rule, _)| rule)
        .collect();
    if without.is_empty() {
        return None;
    }
    // A rule whose device has another name by now does not tell what shares its hardware, but its record does.
    let published = engine::devices(&reading.snapshot, semantics);
    let renamed: BTreeSet<&ObjectName> = new_names(rules, &published)
        .filter(|found| !found.names.is_empty())
        .map(|found| &found.rule.name)
        .collect();
    without.retain(|rule| !renamed.contains(&rule.name));
    let names: Vec<String> = without.iter().map(|rule| rule.name.to_string()).collect();
    let who = match names.as_slice() {
        [] => return None,
        [only] => format!("rule {only} selects"),
        several => format!("rules {} select", few(several)),
    };
    let drivers = without.iter().filter_map(|rule| {
        let selector = rule.selector.as_ref()?;
        selector.driver.as_ref().map(DriverName::as_str)
    });
    let drivers: BTreeSet<&str> = drivers.collect();
    let fix = match drivers.into_iter().collect::<Vec<_>>().as_slice() {
        [] => "if a driver is not running, restart it, and run the same command again".to_owned(),
        [only] => format!(
            "if driver {only} is not running, restart it, and run the same command \
            again"
        ),
        several => format!(
            "if one of the drivers {} is not running, restart it, and run the same command again",
            several.join(", ")
        ),
    };
    Some(Warning {
        code: "no-published-devices",
        message: format!(
            "{who} no published device, so other devices on the same hardware cannot be found; they \
             may be in use"
        ),
        fix: Some(fix),
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
        let node = DeviceFilter::parse(&node).unwrap().expect("a filter");
        let chosen = |names: &[&str]| Choice {
            by: ChoiceBasis::Selectors(
                names
                    .iter()
                    .map(|name| testing::device(name).into())
                    .collect(),
            ),
            taint: Some(testing::TAINT.clone()),
        };
        let device = crate::engine::testing::published("gpu-0", &[]);
        let mut slices = [crate::engine::testing::slice(vec![device])];
        slices[0].pool.slice_count = 2;
        let refusal = |filter: &DeviceFilter, names: &[&str]| {
            let chosen = chosen(names);
            refuse_unknown_on_node(filter, &chosen, &slices).err()
        };
        let failure = refusal(&node, &["gpu-0", "gpu-1"]).expect("a refusal");
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.to_string(),
            "the devices of node node-7 are not all known, because driver gpu.example.com does not \
             publish all of them; nothing was changed"
        );
        assert!(failure.hints()[1].ends_with(
            "kubectl devicetaint add 'gpu.example.com/node-7/*' example.com/maintenance:NoExecute"
        ));
        assert!(refusal(&node, &["gpu-0"]).is_none(), "it is published");
        let both = chosen(&["gpu-0", "gpu-1"]);
        let mut whole = slices.clone();
        whole[0].pool.slice_count = 1;
        let renamed = refuse_unknown_on_node(&node, &both, &whole);
        assert!(renamed.is_ok(), "the pool has no other devices");
        let told = unknown_on_node(&node, &both, &slices);
        let told = told.expect("a warning");
        assert!(!told.message.contains("changed"), "{}", told.message);
        assert!(told.fix.expect("a way out").starts_with("start driver"));
    }

    #[test]
    fn a_rule_whose_devices_are_not_published_does_not_show_what_shares_their_hardware() {
        let rule = |name: &str, device: &str| {
            let mut rule = crate::decide::testing::named(name, "NoSchedule");
            let mut selector = testing::proposed(None).selector;
            if let Some(selector) = &mut selector {
                selector.device = Some(device.into());
            }
            rule.selector = selector;
            rule
        };
        let mut reading = testing::reading();
        reading.known.insert(Kind::ResourceSlice);
        let device = crate::engine::testing::published("gpu-0", &[]);
        reading.snapshot.slices = vec![crate::engine::testing::slice(vec![device])];
        let told = |rules: &[DeviceTaintRule], reading: &Reading| {
            rules_without_published_devices(rules, reading, &testing::semantics(37))
        };
        assert_eq!(told(&[rule("there", "gpu-0")], &reading), None);
        let rules = [rule("there", "gpu-0"), rule("away", "gpu-1")];
        let warning = told(&rules, &reading).expect("a warning");
        assert_eq!(
            warning.message,
            "rule away selects no published device, so other devices on the same hardware cannot be \
             found; they may be in use"
        );
        assert_eq!(
            warning.fix.as_deref(),
            Some(
                "if driver gpu.example.com is not running, restart it, and run the same command \
                again"
            )
        );
        // Its hardware has another name.
        let mut renamed = rule("renamed", "gpu-1");
        let record = serde_json::json!({"gpu.example.com/uuid": "A"}).to_string();
        let note = (crate::model::RuleMetadata::IDENTITY.to_owned(), record);
        renamed.metadata.annotations.extend([note]);
        assert!(told(std::slice::from_ref(&renamed), &reading).is_some());
        let mut known = reading.clone();
        let device = crate::engine::testing::published("gpu-9", &[("uuid", "A")]);
        known.snapshot.slices[0].devices.push(device);
        assert_eq!(told(&[renamed], &known), None);
        reading.known.remove(&Kind::ResourceSlice);
        assert_eq!(told(&rules, &reading), None);
    }
}
