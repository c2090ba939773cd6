//! Warning that selected devices may be the hardware of allocated devices that no driver publishes.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{DeviceId, Warning};
use crate::naming::phrase::few;

/// Those of the devices that were `found` for one of the `selected` devices, and are not selected themselves, by name.
#[must_use]
pub fn beside(
    selected: &BTreeSet<&DeviceId>,
    found: &BTreeMap<DeviceId, BTreeSet<DeviceId>>,
) -> Vec<String> {
    let found = found.iter().filter(|(device, _)| selected.contains(device));
    let others: BTreeSet<&DeviceId> = found.flat_map(|(_, others)| others).collect();
    // What is selected itself is seen whatever hardware it is.
    let others = others
        .into_iter()
        .filter(|device| !selected.contains(device));
    others.map(ToString::to_string).collect()
}

/// The warning about the `selected` devices, where there is one; `possible` is what
/// [`may_be_same_hardware`](crate::engine::unpublished_devices::may_be_same_hardware) has found for these and others.
#[must_use]
pub fn warning(
    selected: &BTreeSet<&DeviceId>,
    possible: &BTreeMap<DeviceId, BTreeSet<DeviceId>>,
) -> Option<Warning> {
    let others = beside(selected, possible);
    if others.is_empty() {
        return None;
    }
    let devices = possible.keys().filter(|device| selected.contains(device));
    let devices: Vec<String> = devices.map(ToString::to_string).collect();
    let (verb, noun) = if others.len() == 1 {
        ("is", "device")
    } else {
        ("are", "devices")
    };
    Some(Warning {
        code: "may-be-same-hardware",
        message: format!(
            "{} may be the same hardware as {}, which {verb} allocated but not published; the taint does not \
             evict the pods that use the unpublished {noun}",
            few(&devices),
            few(&others)
        ),
        fix: Some(
            "if the driver of an unpublished device is not running, restart it, and run the command again"
                .to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{DEVICE, claim_on_node, pod, published, slice_of};
    use crate::engine::unpublished_devices::may_be_same_hardware;
    use crate::model::Snapshot;

    #[test]
    fn devices_of_a_driver_that_is_away_are_named_unless_they_are_selected() {
        let held = claim_on_node(&pod("ml", "embed"));
        let away = DEVICE.clone();
        let card = published("card0", &[("uuid", "A")]);
        let card = slice_of("vfio.example.com", vec![card]);
        let selected = card.id_of(&card.devices[0]);
        let snapshot = Snapshot {
            slices: vec![card],
            claims: vec![held],
            ..Snapshot::default()
        };
        let ask = |selected: &BTreeSet<&DeviceId>| {
            let possible = may_be_same_hardware(&snapshot, selected.iter().copied(), None);
            warning(selected, &possible)
        };
        let found = ask(&BTreeSet::from([&selected])).expect("a warning");
        assert!(
            found.message.contains(&away.to_string()),
            "{}",
            found.message
        );
        assert_eq!(ask(&BTreeSet::from([&selected, &away])), None);
    }
}
