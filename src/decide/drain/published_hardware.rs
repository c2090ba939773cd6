//! All names under which drivers publish the hardware of a unit.

use std::collections::{BTreeMap, BTreeSet};

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
            devices: engine::devices(snapshot, basis.semantics).devices,
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

    /// The unpublished devices that `rules` name, each with the name under which its hardware is published now; absent if
    /// that is not known.
    #[must_use]
    pub fn renamed(&self, rules: &[DeviceTaintRule]) -> BTreeMap<DeviceId, DeviceId> {
        let is_published = |id: &DeviceId| {
            self.devices
                .iter()
                .any(|it| it.id == *id && it.device.is_some())
        };
        let renamed = new_names(rules, &self.devices).filter_map(|mut found| {
            let now = found.names.pop().filter(|_| found.names.is_empty())?;
            (!is_published(&found.id)).then_some((found.id, now))
        });
        renamed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::model::RuleMetadata;
    use crate::report::testing::{device, now, published, reading, semantics, slice};

    #[test]
    fn a_device_that_is_not_published_is_followed_to_the_one_name_of_its_hardware() {
        let rule = |name: &str, uuid: Option<&str>| {
            let mut rule = named(name, "NoSchedule");
            rule.selector = Some(selector(name));
            let note = uuid.map(|uuid| format!(r#"{{"gpu.example.com/uuid":"{uuid}"}}"#));
            let note = note.map(|note| (RuleMetadata::IDENTITY.to_owned(), note));
            rule.metadata.annotations.extend(note);
            rule
        };
        let with = |name: &str, uuid: &str| published(name, &[("uuid", uuid)]);
        let mut reading = reading();
        reading.snapshot.slices = vec![slice(vec![
            with("accel-0", "one"),
            with("accel-1", "two"),
            with("accel-2", "two"),
            with("gpu-3", "four"),
        ])];
        let semantics = semantics(37);
        let basis = DeviceBasis {
            reading: &reading,
            semantics: &semantics,
            now: now(),
        };
        let rules = [
            rule("gpu-0", Some("one")),
            // Two devices have this number.
            rule("gpu-1", Some("two")),
            rule("gpu-2", None),
            // Published, with other hardware.
            rule("gpu-3", Some("one")),
        ];
        let renamed = PublishedHardware::of(&basis).renamed(&rules);
        assert_eq!(renamed, [(device("gpu-0"), device("accel-0"))].into());
    }
}
