//! Explanations and suggestions when no device matches.

use std::collections::BTreeSet;

use super::idle::IdleNode;
use super::unknown::{SHOW_ATTRIBUTES, no_such_device};
use crate::decide::identity::identifying_attributes::KNOWN;
use crate::engine::expression::AttributeCondition;
use crate::engine::{self, DeviceCondition, Semantics, filter_devices};
use crate::error::{ExitStatus, Failure};
use crate::model::{Device, DeviceId, DeviceSelector, Kind, Reading, Snapshot};
use crate::naming::device;
use crate::naming::nearest::nearest;
use crate::naming::phrase::each_once;

/// Nothing meets the `conditions`: most likely one of them names what is not there.
#[must_use]
pub fn nothing(
    conditions: &[DeviceCondition],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Failure {
    let chooses_nothing = |condition: &&DeviceCondition| {
        let alone = filter_devices(snapshot, std::slice::from_ref(condition), semantics);
        // An expression that failed on a device might have selected it, so it is not known to select nothing.
        alone.devices.is_empty() && alone.failed.is_empty()
    };
    // A condition that selects nothing alone explains the empty result. If each selects something, only their
    // combination is empty.
    match conditions.iter().find(chooses_nothing) {
        Some(DeviceCondition::Node(name)) => no_such_node(name, snapshot),
        Some(DeviceCondition::Attribute(conditions)) => no_such_value(conditions, snapshot),
        Some(DeviceCondition::Named(selectors)) => no_such_name(selectors, snapshot, semantics),
        Some(DeviceCondition::Expression(_)) | None => no_match(),
    }
}

fn no_match() -> Failure {
    Failure::new(ExitStatus::Failed, "no device matches all filters")
        .hint(
            "a device has to match one of the names, one of the hardware IDs and all flags: remove one of these \
             conditions, or list the devices with `kubectl devicetaint devices`",
        )
}

/// There is nothing of that name, but perhaps something like it.
#[must_use]
pub fn no_such(what: &str, name: &str, known: impl IntoIterator<Item = String>) -> Failure {
    let failure = Failure::new(ExitStatus::Failed, format!("no {what} {name}"));
    let known: BTreeSet<String> = known.into_iter().collect();
    meant(failure, &nearest(name, known))
}

fn meant(failure: Failure, names: &[String]) -> Failure {
    match names {
        [] => failure.hint("list the devices with `kubectl devicetaint devices`"),
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    }
}

/// No device is local to the node of that name: it has none, or there is none of that name.
#[must_use]
pub fn no_such_node(name: &str, snapshot: &Snapshot) -> Failure {
    if let Some(idle) = IdleNode::of(name, snapshot).filter(|idle| idle.is_there(snapshot)) {
        return idle.failure();
    }
    let nodes = snapshot.slices.iter().flat_map(|slice| {
        let devices = slice.devices.iter();
        devices.filter_map(|device| slice.node_of(device))
    });
    let nodes = nodes.map(ToString::to_string);
    // Without any node it is not known which there are.
    let text = if snapshot.nodes.is_empty() {
        format!("no device is local to node {name}")
    } else {
        format!("node {name} not found")
    };
    let failure = Failure::new(ExitStatus::Failed, text);
    let known: BTreeSet<String> = nodes.collect();
    meant(failure, &nearest(name, known))
}

fn no_such_name(
    selectors: &[DeviceSelector],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Failure {
    let Some(first) = selectors.first() else {
        return no_match();
    };
    let known = engine::devices(snapshot, semantics);
    let known: Vec<DeviceId> = known.into_iter().map(|state| state.id).collect();
    let failure = no_such_device(first, &known, snapshot);
    match (&first.driver, &first.pool, &first.device) {
        (Some(word), None, None) => failure.hint(format!(
            "to use {word} as a taint, add its effect, such as {word}:None"
        )),
        _ => failure.detail(format!(
            "the filters apply only to devices that match {}",
            device::format(first)
        )),
    }
}

/// No device has such a value: there is no such attribute, or it has other values.
fn no_such_value(conditions: &[AttributeCondition], snapshot: &Snapshot) -> Failure {
    let spelled = |condition: &AttributeCondition| match number_alone(condition, conditions) {
        Some(number) => number.to_owned(),
        None => condition.to_string(),
    };
    let shown = each_once(conditions.iter().map(spelled));
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("no device with {}", shown.join(" or ")),
    );
    let is_named = |condition: &&AttributeCondition| number_alone(condition, conditions).is_none();
    let names: BTreeSet<String> = conditions
        .iter()
        .filter(is_named)
        .flat_map(|condition| nearest(condition.name(), attributes(snapshot, condition.name())))
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    if names.is_empty() {
        return failure.hint(SHOW_ATTRIBUTES);
    }
    meant(failure, &names)
}

/// The number of a condition that is one of those on every attribute that identifies hardware: it was typed
/// without the name of one.
fn number_alone<'a>(
    condition: &'a AttributeCondition,
    all: &[AttributeCondition],
) -> Option<&'a str> {
    let number = condition.value();
    let names = |known: &str| {
        let mut all = all.iter();
        all.any(|one| one.name() == known && one.value() == number)
    };
    KNOWN
        .iter()
        .all(|(known, _)| names(known))
        .then_some(number)
}

/// Refuses names of columns that are none.
///
/// # Errors
///
/// A name of nothing at all.
pub fn refuse_empty_names(names: &[String]) -> Result<(), Failure> {
    if names.iter().any(|name| name.trim().is_empty()) {
        return Err(Failure::usage("--columns has an empty attribute name")
            .hint("specify names, such as --columns model,memory"));
    }
    Ok(())
}

/// Refuses the names of attributes and capacities that no published device has, where everything that is
/// published was read.
///
/// # Errors
///
/// A name that is probably mistyped, with what may have been meant.
pub fn refuse_unknown_attributes(names: &[String], reading: &Reading) -> Result<(), Failure> {
    // An attribute that is missing from the slices that were read may be in the others.
    if reading.without(Kind::ResourceSlice).is_some() {
        return Ok(());
    }
    for name in names {
        let known = attributes(&reading.snapshot, name);
        if !known.is_empty() {
            return Err(no_such("attribute or capacity", name, known));
        }
    }
    Ok(())
}

/// The names of all attributes, where none has that name.
fn attributes(snapshot: &Snapshot, name: &str) -> Vec<String> {
    let of_device = |device: &Device| -> Vec<String> {
        let names = device.attributes.keys().chain(device.capacity.keys());
        names.map(|name| last(name).to_owned()).collect()
    };
    let names: BTreeSet<String> = devices(snapshot).flat_map(of_device).collect();
    if names.contains(last(name)) {
        return Vec::new();
    }
    names.into_iter().collect()
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn devices(snapshot: &Snapshot) -> impl Iterator<Item = &Device> {
    snapshot.slices.iter().flat_map(|slice| &slice.devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_a_name() {
        assert!(refuse_empty_names(&["model".to_owned(), String::new()]).is_err());
        assert!(refuse_empty_names(&["model".to_owned()]).is_ok());
    }
}
