//! Hardware numbers that match more than one device.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::AttributeMeaning;
use crate::engine::{DeviceCondition, Semantics, filter_devices, with_siblings};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DriverName, NodeName, Snapshot};
use crate::naming::phrase::few;

/// A number of hardware that several chosen devices have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousNumber {
    /// As it was typed, such as `uuid=GPU-18db…`.
    pub hardware: String,
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
}

/// What a command does with the devices that have a number of hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberUse {
    /// It looks at them, and so at all that is the same hardware.
    Read,
    /// It changes taints: a UUID that several drivers publish does not say whose device is tainted.
    Change,
}

/// A number under which several drivers of one node publish the same hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedNumber {
    /// The number and the devices.
    pub number: AmbiguousNumber,
    /// Where the hardware is.
    pub node: NodeName,
    /// What the number stands for.
    meaning: AttributeMeaning,
}

impl SharedNumber {
    /// Whether all of the devices are meant. A place is that of whatever is in it, also where taints are changed.
    #[must_use]
    pub fn is_meant(&self, use_of: NumberUse) -> bool {
        match self.meaning {
            AttributeMeaning::Place => true,
            AttributeMeaning::Hardware => use_of == NumberUse::Read,
        }
    }

    /// That all of the devices are selected, in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let AmbiguousNumber { hardware, devices } = &self.number;
        let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
        format!(
            "several drivers on node {} publish {hardware}, so all of these devices are selected: \
            {}",
            self.node,
            few(&names)
        )
    }
}

/// Which of the numbers `identities` several of the `chosen` devices have that are not parts of the same
/// hardware, and which are shared by drivers of one node. A place is that of whatever is in it, but on one node:
/// the same machines have the same places.
#[must_use]
pub fn ambiguous(
    identities: &[Hardware],
    chosen: &[DeviceId],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> (Vec<AmbiguousNumber>, Vec<SharedNumber>) {
    let (mut ambiguous, mut shared) = (Vec::new(), Vec::new());
    for number in identities {
        let is = DeviceCondition::Attribute(number.conditions());
        let mut devices = filter_devices(snapshot, &[is], semantics).devices;
        devices.retain(|device| chosen.contains(device));
        let mut by_driver: BTreeMap<&DriverName, Vec<&DeviceId>> = BTreeMap::new();
        for device in &devices {
            by_driver.entry(&device.driver).or_default().push(device);
        }
        let nodes = nodes_of(&devices, snapshot);
        let meaning = number.means();
        // Partitions of one card have its number in common: they are one piece of hardware, and no ambiguity.
        let is_one_piece = |devices: &Vec<&DeviceId>| {
            let first = devices.first().map(|device| (*device).clone());
            let whole = with_siblings(snapshot, &Vec::from_iter(first), semantics);
            devices.iter().all(|device| whole.contains(device))
        };
        let local = nodes.iter().flatten().count();
        let is_one_of_each = match meaning {
            AttributeMeaning::Hardware => by_driver.values().all(is_one_piece),
            AttributeMeaning::Place => local < 2,
        };
        let has_several_drivers = by_driver.len() > 1;
        let number = AmbiguousNumber {
            hardware: number.to_string(),
            devices: devices.clone(),
        };
        if !is_one_of_each {
            ambiguous.push(number);
            continue;
        }
        if !has_several_drivers {
            continue;
        }
        // Whether a device that is local to no node is the same hardware is not known.
        let node = nodes.first().copied().flatten();
        match (node.filter(|_| nodes.len() == 1), meaning) {
            (Some(node), _) => shared.push(SharedNumber {
                number,
                node: node.clone(),
                meaning,
            }),
            (None, AttributeMeaning::Hardware) => ambiguous.push(number),
            (None, AttributeMeaning::Place) => {}
        }
    }
    (ambiguous, shared)
}

/// The nodes for which these devices are published; absent for one that is local to none.
fn nodes_of<'s>(devices: &[DeviceId], snapshot: &'s Snapshot) -> BTreeSet<Option<&'s NodeName>> {
    let slices = snapshot.slices.iter();
    let published = slices.flat_map(|slice| slice.devices.iter().map(move |one| (slice, one)));
    published
        .filter(|(slice, one)| devices.contains(&slice.id_of(one)))
        .map(|(slice, one)| slice.node_of(one))
        .collect()
}

impl AmbiguousNumber {
    /// That several have it, in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let names: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        format!(
            "{} is ambiguous: it is the hardware ID of {}",
            self.hardware,
            names.join(" and ")
        )
    }

    /// That it does not say which device is meant.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::new(ExitStatus::Failed, self.describe()).hint(format!(
            "instead of {}, name one of these devices, or a rule",
            self.hardware
        ))
    }
}
