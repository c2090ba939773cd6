//! What keeps a device from being free that no claim holds.
//!
//! Too little of its counters may be left, another driver may have given the hardware away, or may have while it
//! publishes nothing. Lists of free devices and the release of devices use this. `explain` of a device and warnings about
//! rules query the same functions one by one, and do not know the blocked partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::allocator::{blocked_partitions, used_under_other_names};
use super::unpublished_devices::may_be_same_hardware;
use crate::model::{DeviceId, Snapshot};

/// The use of hardware that the claims of a device do not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HardwareUse {
    /// The devices that the allocator gives to no claim, since devices in use have taken of their counters what they need.
    pub blocked: BTreeSet<DeviceId>,
    /// For a device those of other drivers that are the same hardware and that claims hold.
    pub in_use_by: BTreeMap<DeviceId, BTreeSet<DeviceId>>,
    /// For a device those of other drivers that claims hold and that may be the same hardware: nothing is published of them.
    pub possibly_in_use_by: BTreeMap<DeviceId, BTreeSet<DeviceId>>,
}

impl HardwareUse {
    /// That of these devices; of the blocked ones there may be more.
    #[must_use]
    pub fn of(snapshot: &Snapshot, devices: &BTreeSet<&DeviceId>) -> Self {
        Self {
            blocked: blocked_partitions(snapshot),
            in_use_by: used_under_other_names(snapshot, devices),
            possibly_in_use_by: may_be_same_hardware(snapshot, devices.iter().copied(), None),
        }
    }

    /// Whether the hardware of the device is in use.
    #[must_use]
    pub fn is_in_use(&self, device: &DeviceId) -> bool {
        self.blocked.contains(device) || self.in_use_by.contains_key(device)
    }

    /// Whether it is not known that the hardware of the device is not in use.
    #[must_use]
    pub fn may_be_in_use(&self, device: &DeviceId) -> bool {
        self.is_in_use(device) || self.possibly_in_use_by.contains_key(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{claim_on_node, pod, published, slice, slice_of};

    #[test]
    fn hardware_that_another_driver_holds_is_in_use_and_what_it_may_hold_may_be() {
        let card = published("card0", &[("uuid", "A")]);
        let card = slice_of("vfio.example.com", vec![card]);
        let gpu = slice(vec![published("gpu-0", &[("uuid", "A")])]);
        let id = card.id_of(&card.devices[0]);
        let asked = |slices: Vec<_>, is_held: bool| {
            let claims = is_held.then(|| claim_on_node(&pod("ml", "embed")));
            let snapshot = Snapshot {
                slices,
                claims: claims.into_iter().collect(),
                ..Snapshot::default()
            };
            let hardware = HardwareUse::of(&snapshot, &BTreeSet::from([&id]));
            (hardware.is_in_use(&id), hardware.may_be_in_use(&id))
        };
        assert_eq!(asked(vec![card.clone(), gpu.clone()], true), (true, true));
        assert_eq!(asked(vec![card.clone(), gpu], false), (false, false));
        assert_eq!(asked(vec![card.clone()], true), (false, true));
        assert_eq!(asked(vec![card], false), (false, false));
    }
}
