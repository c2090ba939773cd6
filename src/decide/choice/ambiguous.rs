//! Hardware numbers that match more than one device.

use std::collections::BTreeSet;

use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::AttributeMeaning;
use crate::engine::{DeviceCondition, Semantics, filter_devices, with_siblings};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, NodeName, Snapshot};
use crate::naming::device;

/// A number of hardware that several chosen devices have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousNumber {
    /// As it was typed, such as `uuid=GPU-18db…`.
    pub hardware: String,
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
}

/// What a command takes where devices were named by a number of hardware.
#[derive(Clone, Debug)]
pub enum NamedBy<'a> {
    /// Devices.
    Devices,
    /// One device.
    OneDevice,
    /// Rules, of which these are there.
    Rules(&'a [DeviceTaintRule]),
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
    pub fn failure(&self, by: &NamedBy<'_>) -> Failure {
        let names: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        let failure = Failure::new(ExitStatus::Failed, self.describe());
        let failure = match by {
            NamedBy::Devices => failure.hint(format!(
                "instead of {}, name one of these devices, or all of them: {}",
                self.hardware,
                names.join(" ")
            )),
            NamedBy::OneDevice => failure.hint(format!(
                "instead of {}, name one of these devices: {}",
                self.hardware,
                names.join(" ")
            )),
            NamedBy::Rules(rules) => self.with_rules(failure, rules),
        };
        failure.hint(format!(
            "to see them: kubectl devicetaint devices {}",
            names.join(" ")
        ))
    }

    /// The failure with those of the `rules` that can be named instead.
    fn with_rules(&self, failure: Failure, rules: &[DeviceTaintRule]) -> Failure {
        let is_one = |selector: &DeviceSelector| {
            let mut devices = self.devices.iter().cloned().map(DeviceSelector::from);
            devices.any(|device| device == *selector)
        };
        let on_one = rules.iter().filter_map(|rule| {
            let selector = rule.selector.as_ref().filter(|selector| is_one(selector))?;
            Some(format!("{} ({})", rule.name, device::format(selector)))
        });
        let on_one: Vec<String> = on_one.collect();
        if on_one.is_empty() {
            return failure
                .detail("no rule taints exactly one of these devices")
                .hint("list the rules with `kubectl devicetaint list`");
        }
        failure.hint(format!(
            "instead of {}, name a rule: {}",
            self.hardware,
            on_one.join(", ")
        ))
    }
}
