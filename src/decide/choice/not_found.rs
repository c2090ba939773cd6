//! Names that nothing has, with the nearest ones of their kind.

use std::collections::BTreeSet;

use crate::engine::{self, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{Device, DeviceId, DeviceSelector, Kind, Reading};
use crate::naming::phrase::nearest;
use crate::naming::shell::word;
use crate::naming::{Hardware, device, suggest};

pub(super) const LIST: &str = "list the devices with `kubectl devicetaint devices`";

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
pub(super) fn or_hint(failure: Failure, hint: &str) -> Failure {
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

pub(super) fn unmatched_device(
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
