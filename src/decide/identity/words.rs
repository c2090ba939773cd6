//! Warnings and refusals about rules whose hardware has another name.

use super::hardware_drift::{DeviceIdentity, HardwareDrift, identity};
use super::noted_hardware::{NotedHardware, named};
use crate::engine::{self, DeviceState, Semantics};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, ObjectName, Reading, Source, Warning};

/// A rule, the device that it names, and what became of that.
struct Found<'a> {
    rule: &'a DeviceTaintRule,
    id: DeviceId,
    identity: DeviceIdentity,
    way_out: WayOut,
}

/// The code of a warning that a rule's device is not the hardware that it was made for.
pub const IDENTITY_CHANGED: &str = "identity-changed";

/// What shows more of a device of which it is not known whether it is the same hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WayOut {
    /// It is published, with its attributes.
    Attributes,
    /// It is not, but others of its pool are.
    Pool,
    /// None of its pool is published.
    Driver,
    /// Slices of a cluster could not be read.
    Permission,
    /// The files have no slices.
    Files,
}

impl WayOut {
    /// What shows more of the device `id`, where these are published.
    fn of(id: &DeviceId, devices: &[DeviceState<'_>]) -> Self {
        let mut published = devices.iter().filter(|state| state.device.is_some());
        if published.clone().any(|state| state.id == *id) {
            Self::Attributes
        } else if published.any(|state| state.id.driver == id.driver && state.id.pool == id.pool) {
            Self::Pool
        } else {
            Self::Driver
        }
    }

    /// What shows more where slices were not read.
    fn without_slices(source: &Source) -> Self {
        match source {
            Source::Cluster { .. } => Self::Permission,
            Source::Files => Self::Files,
        }
    }

    fn fix(self, id: &DeviceId) -> String {
        let DeviceId { driver, pool, .. } = id;
        match self {
            Self::Attributes => {
                format!("show its attributes: kubectl devicetaint devices {id} --columns uuid")
            }
            Self::Pool => format!(
                "show the devices of its pool: kubectl devicetaint devices '{driver}/{pool}/*' \
                 --columns uuid"
            ),
            Self::Driver => format!(
                "check what its driver publishes: kubectl get resourceslices --field-selector \
                 spec.driver={driver}"
            ),
            Self::Permission => {
                "ask for permission to `list` resourceslices.resource.k8s.io".to_owned()
            }
            Self::Files => "add the ResourceSlices to the input, for example with `kubectl \
                devicetaint \
                 snapshot`"
                .to_owned(),
        }
    }
}

/// What became of the devices of those of `rules` that note what they were made for.
fn found<'a>(
    rules: &'a [DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Vec<Found<'a>> {
    // Where no rule has a note, an inventory of all devices would be made for nothing.
    if !rules.iter().any(|rule| NotedHardware::on(rule).is_some()) {
        return Vec::new();
    }
    let inventory = engine::devices(&reading.snapshot, semantics);
    found_among(rules, reading, &inventory)
}

/// As [`found`], where these `devices` are all there are in `reading`.
fn found_among<'a>(
    rules: &'a [DeviceTaintRule],
    reading: &Reading,
    devices: &[DeviceState<'_>],
) -> Vec<Found<'a>> {
    let noted = rules.iter().filter_map(|rule| {
        let noted = NotedHardware::on(rule)?;
        let id = named(rule.selector.as_ref()?)?;
        Some((rule, noted, id))
    });
    // Without slices, the inventory would say of every device that no driver publishes it.
    let unread = reading.without(Kind::ResourceSlice).is_some();
    noted
        .map(|(rule, noted, id)| {
            let (identity, way_out) = if unread {
                let identity = DeviceIdentity {
                    named: HardwareDrift::Unknown("resourceslices could not be read"),
                    elsewhere: Vec::new(),
                };
                (identity, WayOut::without_slices(&reading.source))
            } else {
                (identity(&noted, &id, devices), WayOut::of(&id, devices))
            };
            Found {
                rule,
                id,
                identity,
                way_out,
            }
        })
        .collect()
}

/// What there is to say of those of `rules` that note what they were made for, where it is not there under its name
/// any more, or where that is not known.
#[must_use]
pub fn warnings(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Vec<Warning> {
    let found = found(rules, reading, semantics);
    found.iter().filter_map(Found::warning).collect()
}

/// As [`warnings`], for who has made the inventory of the `devices` in `reading` already.
#[must_use]
pub fn warnings_among(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    devices: &[DeviceState<'_>],
) -> Vec<Warning> {
    let found = found_among(rules, reading, devices);
    found.iter().filter_map(Found::warning).collect()
}

/// Refuses to let rules do more whose names are proven to stand for other hardware; what is not known
/// is told.
///
/// # Errors
///
/// When that is proven of one of them.
pub fn refuse_other_hardware(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<Vec<Warning>, Failure> {
    let found = found(rules, reading, semantics);
    let messages = changed(&found);
    if !messages.is_empty() {
        let text = format!("{}; nothing was changed", messages.join("; "));
        return Err(Failure::refused(text).hint(if messages.len() == 1 {
            "remove the rule, and add one for the intended device"
        } else {
            "remove these rules, and add rules for the intended devices"
        }));
    }
    Ok(found.iter().filter_map(Found::warning).collect())
}

/// Refuses what was agreed to when a device was replaced while somebody thought about it, so that its
/// name stands for other hardware by now than it did when it was chosen, which `rules` note.
///
/// # Errors
///
/// When that is proven of one of them.
pub fn refuse_replaced(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let messages = changed(&found(rules, reading, semantics));
    if messages.is_empty() {
        return Ok(());
    }
    let messages = messages.join("; ");
    Err(
        Failure::refused(format!("meanwhile, {messages}; nothing was changed"))
            .hint("review the current devices, and run the command again"),
    )
}

/// A rule whose device name is proven not to stand any more for the hardware that the rule was created for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedIdentity {
    /// The rule.
    pub rule: ObjectName,
    /// The device that the rule names.
    pub device: DeviceId,
    /// What became of the hardware, in words.
    pub message: String,
    /// The names under which the hardware is published now; none if no driver publishes it.
    pub published_as: Vec<DeviceId>,
}

/// Those of `rules` whose device names are proven to stand for other hardware.
#[must_use]
pub fn changed_identities(
    rules: &[DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Vec<ChangedIdentity> {
    let found = found(rules, reading, semantics).into_iter();
    let changed = found.filter(|found| found.identity.is_changed());
    changed
        .map(|found| ChangedIdentity {
            rule: found.rule.name.clone(),
            message: found.message(),
            device: found.id,
            published_as: found.identity.elsewhere,
        })
        .collect()
}

/// Which of them are proven to be other hardware, in words.
fn changed(found: &[Found<'_>]) -> Vec<String> {
    let changed = found.iter().filter(|found| found.identity.is_changed());
    changed.map(Found::message).collect()
}

impl Found<'_> {
    fn warning(&self) -> Option<Warning> {
        let code = match (&self.identity.named, self.identity.is_changed()) {
            (HardwareDrift::Same, _) => return None,
            (_, true) => IDENTITY_CHANGED,
            (HardwareDrift::Other { .. } | HardwareDrift::Unknown(_), false) => "identity-unknown",
        };
        Some(Warning {
            code,
            message: format!("{code}: {}", self.message()),
            fix: Some(match self.identity.elsewhere.first() {
                Some(elsewhere) => WayOut::Attributes.fix(elsewhere),
                None => self.way_out.fix(&self.id),
            }),
        })
    }

    fn message(&self) -> String {
        let Self {
            rule, id, identity, ..
        } = self;
        let names: Vec<String> = identity.elsewhere.iter().map(ToString::to_string).collect();
        let names = names.join(" and ");
        let other = match &identity.named {
            HardwareDrift::Same => None,
            HardwareDrift::Other { attribute, was, is } => Some(format!(
                "{id} is not the hardware that rule {} was created for: {attribute} was {was} and \
                 is {is}",
                rule.name
            )),
            HardwareDrift::Unknown(why) if names.is_empty() => Some(format!(
                "cannot tell whether {id} is the hardware that rule {} was created for: {why}",
                rule.name
            )),
            HardwareDrift::Unknown(_) => None,
        };
        let moved = (!names.is_empty()).then(|| {
            format!(
                "rule {} was created for hardware that is now named {names}",
                rule.name
            )
        });
        let parts: Vec<String> = other.into_iter().chain(moved).collect();
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing;
    use crate::error::ExitStatus;
    use crate::model::{Minor, RuleMetadata, Snapshot};
    use crate::report::testing::{published, slice};

    /// A pool whose devices have these numbers.
    fn reading(numbers: &[(&str, &str)]) -> Reading {
        let numbers = numbers.iter();
        let devices = numbers.map(|(name, uuid)| published(name, &[("uuid", uuid)]));
        Reading {
            snapshot: Snapshot {
                slices: vec![slice(devices.collect())],
                ..Snapshot::default()
            },
            known: Kind::ALL.into_iter().collect(),
            ..crate::report::testing::reading()
        }
    }

    fn semantics() -> Semantics {
        let newest = Minor {
            minor: 37,
            patch: None,
        };
        Semantics::of(newest).unwrap()
    }

    /// A rule that was made for GPU-A as gpu-0, and one that notes nothing.
    fn rules() -> Vec<DeviceTaintRule> {
        let mut rule = testing::rule("None");
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(
            RuleMetadata::IDENTITY.to_owned(),
            r#"{"gpu.example.com/uuid":"GPU-A"}"#.to_owned(),
        );
        vec![rule, testing::named("other", "None")]
    }

    #[test]
    fn hardware_that_was_exchanged_under_the_question_is_refused() {
        let replaced_hardware =
            |numbers: &[(&str, &str)]| refuse_replaced(&rules(), &reading(numbers), &semantics());
        assert!(replaced_hardware(&[("gpu-0", "GPU-A"), ("gpu-1", "GPU-B")]).is_ok());
        for other in [
            &[("gpu-0", "GPU-C"), ("gpu-1", "GPU-B")][..],
            &[("gpu-0", "GPU-B"), ("gpu-1", "GPU-A")],
        ] {
            let failure = replaced_hardware(other).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
            assert!(failure.to_string().contains("meanwhile, "), "{failure}");
        }
    }

    #[test]
    fn rules_of_other_hardware_are_found_with_its_names() {
        let unread = Reading {
            known: std::collections::BTreeSet::new(),
            ..reading(&[("gpu-0", "GPU-B")])
        };
        for (name, reading, expected) in [
            ("the same", reading(&[("gpu-0", "GPU-A")]), None),
            ("exchanged", reading(&[("gpu-0", "GPU-B")]), Some("")),
            ("renamed", reading(&[("gpu-1", "GPU-A")]), Some("gpu-1")),
            ("gone", reading(&[]), None),
            ("not read", unread, None),
        ] {
            let changed = changed_identities(&rules(), &reading, &semantics());
            let found = changed.iter().map(|one| {
                let names = one.published_as.iter().map(|id| id.device.as_str());
                (one.rule.as_str(), names.collect::<String>())
            });
            let expected = expected.map(|names: &str| ("drain", names.to_owned()));
            assert_eq!(Vec::from_iter(found), Vec::from_iter(expected), "{name}");
        }
    }

    #[test]
    fn what_became_of_hardware_is_told_and_other_hardware_refused() {
        let unread = Reading {
            known: std::collections::BTreeSet::new(),
            ..reading(&[("gpu-0", "GPU-B")])
        };
        for (name, reading, code, message) in [
            ("the same", reading(&[("gpu-0", "GPU-A")]), None, ""),
            (
                "swapped",
                reading(&[("gpu-0", "GPU-B")]),
                Some("identity-changed"),
                "gpu.example.com/node-7/gpu-0 is not the hardware that rule drain was created for: \
                 gpu.example.com/uuid was GPU-A and is GPU-B",
            ),
            (
                "numbered anew",
                reading(&[("gpu-0", "GPU-B"), ("gpu-1", "GPU-A")]),
                Some("identity-changed"),
                "gpu.example.com/node-7/gpu-0 is not the hardware that rule drain was created for: \
                 gpu.example.com/uuid was GPU-A and is GPU-B; rule drain was created \
                 for hardware that is now named gpu.example.com/node-7/gpu-1",
            ),
            (
                "under another name",
                reading(&[("gpu-1", "GPU-A")]),
                Some("identity-changed"),
                "rule drain was created for hardware that is now named \
                 gpu.example.com/node-7/gpu-1",
            ),
            (
                "gone",
                reading(&[]),
                Some("identity-unknown"),
                "cannot tell whether gpu.example.com/node-7/gpu-0 is the hardware that rule drain \
                 was created for: no driver publishes the device",
            ),
            (
                "not read",
                unread,
                Some("identity-unknown"),
                "cannot tell whether gpu.example.com/node-7/gpu-0 is the hardware that rule drain \
                 was created for: resourceslices could not be read",
            ),
        ] {
            let said = warnings(&rules(), &reading, &semantics());
            let codes: Vec<&str> = said.iter().map(|warning| warning.code).collect();
            assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{name}");
            if let [warning] = &said[..] {
                assert_eq!(
                    warning.message,
                    format!("{}: {message}", warning.code),
                    "{name}"
                );
            }
            let refused = refuse_other_hardware(&rules(), &reading, &semantics());
            if code == Some("identity-changed") {
                let failure = refused.unwrap_err();
                assert_eq!(failure.status(), ExitStatus::Refused, "{name}");
                let text = format!("{message}; nothing was changed");
                assert_eq!(failure.to_string(), text, "{name}");
            } else {
                assert_eq!(refused.unwrap(), said, "{name}");
            }
        }
    }
}
