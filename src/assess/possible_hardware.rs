//! Warning that selected devices may be the hardware of other drivers' devices that nobody publishes.

use std::collections::BTreeSet;

use crate::engine::unpublished_devices::may_be_same_hardware;
use crate::model::{DeviceId, Snapshot, Warning};
use crate::naming::phrase::few;

/// The warning about the `selected` devices, where there is one; attributes have to be read for it.
#[must_use]
pub fn warning(selected: &BTreeSet<&DeviceId>, snapshot: &Snapshot) -> Option<Warning> {
    let possible = may_be_same_hardware(snapshot, selected.iter().copied(), None);
    let others: BTreeSet<&DeviceId> = possible.values().flatten().collect();
    // What is selected itself is seen whatever hardware it is.
    let others: Vec<String> = others
        .into_iter()
        .filter(|device| !selected.contains(device))
        .map(ToString::to_string)
        .collect();
    if others.is_empty() {
        return None;
    }
    let devices: Vec<String> = possible.keys().map(ToString::to_string).collect();
    let verb = if others.len() == 1 { "is" } else { "are" };
    Some(Warning {
        code: "may-be-same-hardware",
        message: format!(
            "{} may be the same hardware as {}, which {verb} allocated and not published; the taint evicts no \
             pod that uses this hardware under another name",
            few(&devices),
            few(&others)
        ),
        fix: Some(
            "restart the driver whose devices are not published, and run the command again"
                .to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{claim, pod, published, slice};

    #[test]
    fn devices_of_a_driver_that_is_away_are_named_unless_they_are_selected() {
        let mut held = claim(&pod("ml", "embed"));
        let allocation = held.allocation.as_mut().expect("an allocation");
        allocation.node = Some("node-7".into());
        let away = allocation.results[0].device.clone();
        let mut card = slice(vec![published("card0", &[("uuid", "A")])]);
        card.driver = "vfio.example.com".into();
        let selected = card.id_of(&card.devices[0]);
        let snapshot = Snapshot {
            slices: vec![card],
            claims: vec![held],
            ..Snapshot::default()
        };
        let found = warning(&BTreeSet::from([&selected]), &snapshot).expect("a warning");
        assert!(
            found.message.contains(&away.to_string()),
            "{}",
            found.message
        );
        assert_eq!(
            warning(&BTreeSet::from([&selected, &away]), &snapshot),
            None
        );
    }
}
