//! Hardware numbers that match more than one device.

use std::collections::BTreeSet;

use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::AttributeMeaning;
use crate::engine::{DeviceCondition, Semantics, filter_devices, with_siblings};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, NodeName, Snapshot};

/// A number of hardware that several chosen devices have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousNumber {
    /// As it was typed, such as `uuid=GPU-18db…`.
    pub hardware: String,
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
}

/// What a command takes where devices were named by a number of hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// Devices.
    Devices,
    /// One device.
    OneDevice,
    /// Rules, by their devices and the key of their taint.
    Rules,
}

/// Which of the numbers `identities` several of the `chosen` devices have that are not parts of the same
/// hardware. A place is that of whatever is in it, but on one node: the same machines have the same places. `more` are attributes that identify hardware beside those
/// that are known.
#[must_use]
pub fn ambiguous(
    identities: &[Hardware],
    chosen: &[DeviceId],
    snapshot: &Snapshot,
    more: &[String],
    semantics: &Semantics,
) -> Vec<AmbiguousNumber> {
    let of = |number: &Hardware| {
        let is = DeviceCondition::Attribute(number.conditions(more));
        let mut devices = filter_devices(snapshot, &[is], semantics).devices;
        devices.retain(|device| chosen.contains(device));
        let first = devices.first()?.clone();
        let is_one = match number.means() {
            // Partitions of one card have its number in common: they are one piece of hardware, and no ambiguity.
            AttributeMeaning::Hardware => {
                let whole = with_siblings(snapshot, &[first], semantics);
                devices.iter().all(|device| whole.contains(device))
            }
            AttributeMeaning::Place => nodes_of(&devices, snapshot).len() < 2,
        };
        (!is_one).then(|| AmbiguousNumber {
            hardware: number.to_string(),
            devices,
        })
    };
    identities.iter().filter_map(of).collect()
}

/// The nodes for which these devices are published.
fn nodes_of<'s>(devices: &[DeviceId], snapshot: &'s Snapshot) -> BTreeSet<&'s NodeName> {
    let slices = snapshot.slices.iter();
    let published = slices.flat_map(|slice| slice.devices.iter().map(move |one| (slice, one)));
    published
        .filter(|(slice, one)| devices.contains(&slice.id_of(one)))
        .filter_map(|(slice, one)| slice.node_of(one))
        .collect()
}

impl AmbiguousNumber {
    /// That several have it, in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let names: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        format!(
            "{} is ambiguous: {} have it",
            self.hardware,
            names.join(" and ")
        )
    }

    /// That it does not say which device is meant, and what to type instead.
    #[must_use]
    pub fn failure(&self, by: NamedBy) -> Failure {
        let names: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        Failure::new(ExitStatus::Failed, self.describe())
            .hint(match by {
                NamedBy::Devices => format!(
                    "instead of {}, name one of these devices, or all of them: {}",
                    self.hardware,
                    names.join(" ")
                ),
                NamedBy::OneDevice => format!(
                    "instead of {}, name one of these devices: {}",
                    self.hardware,
                    names.join(" ")
                ),
                NamedBy::Rules => format!(
                    "instead of {}, name one of these devices, or all of them, and the KEY of the \
                     taint: {} KEY",
                    self.hardware,
                    names.join(" ")
                ),
            })
            .hint(format!(
                "to see them: kubectl devicetaint devices {}",
                names.join(" ")
            ))
    }
}
