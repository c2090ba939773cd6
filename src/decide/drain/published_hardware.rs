//! All names under which drivers publish the hardware of a unit.

use std::collections::BTreeSet;

use crate::assess::DeviceBasis;
use crate::decide::identity::new_names;
use crate::engine::hardware::Hardware;
use crate::engine::{self, DeviceState};
use crate::model::{DeviceId, DeviceTaintRule};

/// The published devices, by what identifies their hardware. Slices have to be read with attributes and counters.
#[derive(Debug)]
pub struct PublishedHardware<'a> {
    hardware: Hardware,
    devices: Vec<DeviceState<'a>>,
}

impl<'a> PublishedHardware<'a> {
    /// Of the devices that were read.
    #[must_use]
    pub fn of(basis: &DeviceBasis<'a>) -> Self {
        let snapshot = &basis.reading.snapshot;
        Self {
            hardware: Hardware::of(&snapshot.slices),
            devices: engine::devices(snapshot, basis.semantics),
        }
    }

    /// All devices, published or allocated.
    #[must_use]
    pub fn devices(&self) -> &[DeviceState<'a>] {
        &self.devices
    }

    /// What is the same hardware.
    #[must_use]
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    /// The `devices` of a unit, the other names and the parts of their hardware, and the hardware that its `rules` record,
    /// whatever its name is now.
    #[must_use]
    pub fn names(
        &self,
        devices: &BTreeSet<DeviceId>,
        rules: &[DeviceTaintRule],
    ) -> BTreeSet<DeviceId> {
        let renamed = new_names(rules, &self.devices).flat_map(|found| found.names);
        let all: BTreeSet<DeviceId> = devices.iter().cloned().chain(renamed).collect();
        self.hardware.closure(&all)
    }
}
