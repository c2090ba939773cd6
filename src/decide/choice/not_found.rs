//! Names that nothing has, with the nearest ones of their kind.

use std::collections::BTreeSet;

use super::arguments::{Choice, ChoiceBasis};
use super::resolve::DeviceFilter;
use crate::decide::identity::Hardware;
use crate::engine::devices::in_unknown_pools;
use crate::engine::{self, DeviceCondition, ProposedTaint, Semantics, filter_devices};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    Device, DeviceId, DeviceSelector, DeviceTaintRule, Kind, Reading, ResourceSlice, Warning,
};
use crate::naming::phrase::{few, nearest};
use crate::naming::shell::word;
use crate::naming::{device, suggest};

const LIST: &str = "list the devices with `kubectl devicetaint devices`";

/// Hint for a cluster without devices.
pub const NO_DEVICES: &str = "no driver publishes a device, and no claim has one allocated: check \
    `kubectl get resourceslices` and the pods of the DRA driver";

/// No object of this `kind` has the `name`; the hint has the nearest of the `known` names.
pub fn not_found(kind: &str, name: &str, known: impl IntoIterator<Item = String>) -> Failure {
    let failure = Failure::new(ExitStatus::Failed, format!("no {kind} {name}"));
    let known: BTreeSet<String> = known.into_iter().collect();
    did_you_mean(failure, &nearest(name, known))
}

fn did_you_mean(failure: Failure, names: &[String]) -> Failure {
    match names {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    }
}

/// The failure with this hint, if it has none.
fn or_hint(failure: Failure, hint: &str) -> Failure {
    if failure.hints().is_empty() {
        failure.hint(hint)
    } else {
        failure
    }
}

/// No device that is published or allocated matches the selector, unless slices were not read.
pub fn no_device(selector: &DeviceSelector, reading: &Reading, semantics: &Semantics) -> Failure {
    or_hint(unmatched_device(selector, reading, semantics), LIST)
}

fn unmatched_device(
    selector: &DeviceSelector,
    reading: &Reading,
    semantics: &Semantics,
) -> Failure {
    // A word alone is taken for a driver, and may have been meant as a pool.
    let word_alone = selector
        .driver
        .as_ref()
        .filter(|_| selector.pool.is_none() && selector.device.is_none());
    let name = word_alone.map_or_else(|| device::format(selector), ToString::to_string);
    if let Some(gap) = reading.without(Kind::ResourceSlice) {
        let text = format!("cannot tell whether a device matches {name}");
        return Failure::new(ExitStatus::Failed, text).detail(format!("{}: {}", gap.what, gap.why));
    }
    let known = engine::devices(&reading.snapshot, semantics);
    let known: Vec<DeviceId> = known.into_iter().map(|state| state.id).collect();
    let text = format!("no device matches {name}: none is published or allocated");
    let failure = Failure::new(ExitStatus::Failed, text);
    if known.is_empty() {
        return failure.hint(NO_DEVICES);
    }
    let mut similar = suggest(selector, &known);
    if let Some(word) = word_alone {
        similar.retain(|name| name.contains('/'));
        let drivers = known.iter().map(|id| id.driver.to_string());
        similar.extend(nearest(word.as_str(), drivers));
    }
    let similar: Vec<String> = similar.iter().map(|name| word(name)).collect();
    did_you_mean(failure, &similar)
}

/// No published device has this hardware ID.
pub(super) fn no_hardware(hardware: &Hardware) -> Failure {
    Failure::new(ExitStatus::Failed, format!("no device with {hardware}")).hint(
        "list the devices and their hardware IDs with `kubectl devicetaint devices --columns uuid`",
    )
}

/// No device is local to the node, which is no misspelling: many nodes have none.
pub fn no_node(name: &str) -> Failure {
    let text = format!("no device is local to node {name}");
    Failure::new(ExitStatus::Failed, text).hint(LIST)
}

/// Refuses `conditions` of which no device meets all: the first that none meets alone, else all together. Together they
/// `may_match_nothing` in a list.
pub(super) fn refuse_no_match(
    conditions: &[DeviceCondition],
    may_match_nothing: bool,
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let is_unmet = |condition: &&DeviceCondition| {
        let alone = std::slice::from_ref(*condition);
        let alone = filter_devices(&reading.snapshot, alone, semantics);
        alone.devices.is_empty() && alone.failed.is_empty()
    };
    match conditions.iter().find(is_unmet) {
        Some(DeviceCondition::Node(name)) => Err(no_node(name)),
        Some(DeviceCondition::Named(selectors)) if !selectors.is_empty() => {
            Err(no_device(&selectors[0], reading, semantics))
        }
        Some(
            DeviceCondition::Named(_)
            | DeviceCondition::Attribute(_)
            | DeviceCondition::Expression(_),
        )
        | None => {
            let failure = Failure::new(ExitStatus::Failed, "no device matches all filters");
            match may_match_nothing {
                true => Ok(()),
                false => Err(failure.hint(LIST)),
            }
        }
    }
}

/// Refuses taints that select nothing in what was read, where devices to come may be meant.
///
/// # Errors
///
/// The first selector that matches no device.
pub fn refuse_missing(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let Some(failure) = unmatched(proposed, reading, semantics) else {
        return Ok(());
    };
    // The pods on the devices have to be known before there is a rule for them.
    Err(if reading.without(Kind::ResourceSlice).is_some() {
        failure
    } else {
        or_hint(
            failure,
            "to accept devices that do not exist yet: --allow-missing",
        )
    })
}

/// Refuses taints that select nothing in what was read, where devices to come are of no use.
///
/// # Errors
///
/// The first selector that matches no device.
pub fn refuse_unmatched(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    match unmatched(proposed, reading, semantics) {
        Some(failure) => Err(or_hint(failure, LIST)),
        None => Ok(()),
    }
}

/// The failure of the first selector without a rule that selects nothing in what was read.
fn unmatched(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<Failure> {
    let counts = engine::selection(&reading.snapshot, proposed, semantics).counts;
    let mut empty = proposed.iter().zip(counts).filter_map(|(proposed, count)| {
        let is_empty = count == 0 && proposed.rule.is_none();
        proposed.selector.as_ref().filter(|_| is_empty)
    });
    Some(unmatched_device(empty.next()?, reading, semantics))
}

/// Refuses columns of attributes and capacities that no published device has, where all slices were read.
///
/// # Errors
///
/// A name of nothing, or the first unknown name.
pub fn refuse_unknown_columns(names: &[String], reading: &Reading) -> Result<(), Failure> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let of_device = |device: &Device| -> Vec<String> {
        let names = device.attributes.keys().chain(device.capacity.keys());
        names.map(|name| last(name)).collect()
    };
    let devices = reading.snapshot.slices.iter();
    let devices = devices.flat_map(|slice| &slice.devices);
    let known: BTreeSet<String> = devices.flat_map(of_device).collect();
    let is_read = reading.without(Kind::ResourceSlice).is_none();
    let mut unknown = names.iter().filter(|name| !known.contains(&last(name)));
    match unknown.next().filter(|_| is_read && !known.is_empty()) {
        Some(name) => Err(not_found("attribute or capacity", name, known)),
        None => Ok(()),
    }
}

/// Refusal of units, nodes for example, whose devices are not all known, because a driver does not publish some that are
/// allocated.
pub fn unknown_devices<'a>(
    noun: &str,
    units: impl Iterator<Item = (&'a str, Vec<&'a DeviceId>)>,
    slices: &[ResourceSlice],
) -> Option<Failure> {
    let units: Vec<(&str, Vec<&DeviceId>)> = units.collect();
    let unknown = in_unknown_pools(units.iter().flat_map(|(_, ids)| ids).copied(), slices);
    let mut failure: Option<Failure> = None;
    for (unit, ids) in &units {
        let missing: Vec<&DeviceId> = ids
            .iter()
            .filter(|id| unknown.contains(*id))
            .copied()
            .collect();
        let Some(first) = missing.first() else {
            continue;
        };
        let driver = &first.driver;
        let refused =
            failure.unwrap_or_else(|| {
                Failure::refused(format!(
                "the devices of {noun} {unit} are not all known, because driver {driver} does not \
                publish all of them; nothing was changed"
            ))
            .hint(format!("start driver {driver}, and run the same command again"))
            });
        failure = Some(refused.detail(format!("{noun} {unit}: not published: {}", few(&missing))));
    }
    failure
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
    let missing: Vec<&DeviceId> = missing.collect();
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

    fn reading() -> Reading {
        let mut reading = testing::reading();
        reading.known.insert(Kind::ResourceSlice);
        let device = testing::published("gpu-0", &[("uuid", "A"), ("model", "H100")]);
        reading.snapshot.slices = vec![testing::slice(vec![device])];
        reading
    }

    #[test]
    fn without_slices_no_name_is_called_missing() {
        let mut reading = reading();
        reading.known.remove(&Kind::ResourceSlice);
        let selector = device::parse("gpu.example.com/node-7/gpu-9").expect("a device");
        let failure = no_device(&selector, &reading, &testing::semantics(37));
        assert!(failure.to_string().starts_with("cannot tell"), "{failure}");
        let columns = refuse_unknown_columns(&["modle".to_owned()], &reading);
        assert!(columns.is_ok());
    }

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
