//! Hardware that rules note: the check that a device name still stands for the hardware a rule was made for.

use crate::decide::RuleDraft;
use crate::engine;
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{
    AttributeValue, Device, DeviceId, DeviceSelector, DeviceTaintRule, DriverName, ObjectName,
    Snapshot, Warning,
};
use crate::naming::device::KNOWN;
use crate::naming::keys;
use std::collections::{BTreeMap, BTreeSet};

/// Identifying attribute of a device with its value, written as `NAME=VALUE` with the attribute's domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedHardware {
    attribute: String,
    value: String,
}

impl NotedHardware {
    /// Returns the first of the known attributes that the device has; `None` where it has none of them.
    pub fn of(driver: &DriverName, device: &Device) -> Option<Self> {
        KNOWN.iter().find_map(|known| {
            let mut attributes = device.attributes.iter();
            attributes.find_map(|(name, value)| {
                let attribute = qualified(driver, name);
                let is_known = last(&attribute) == known.name;
                Some(Self {
                    value: text_of(value).filter(|_| is_known)?,
                    attribute,
                })
            })
        })
    }

    /// Reads the note of a rule; `None` where there is none, or none that can be read.
    pub fn on(rule: &DeviceTaintRule) -> Option<Self> {
        let text = rule.metadata.annotation(keys::IDENTITY)?;
        let (attribute, value) = text.split_once('=')?;
        Some(Self {
            attribute: attribute.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Formats the note as it stands in the annotation.
    pub fn text(&self) -> String {
        format!("{}={}", self.attribute, self.value)
    }

    /// Returns the value that the device has now, if it is another one.
    fn changed(&self, driver: &DriverName, device: &Device) -> Option<String> {
        let mut attributes = device.attributes.iter();
        let (_, now) = attributes.find(|(name, _)| qualified(driver, name) == self.attribute)?;
        text_of(now).filter(|now| *now != self.value)
    }
}

/// The attribute's name with its domain; a name without one is the driver's.
fn qualified(driver: &DriverName, name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("{driver}/{name}")
    }
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn text_of(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::String(text) | AttributeValue::Version(text) => Some(text.to_string()),
        AttributeValue::Int(number) => Some(number.to_string()),
        AttributeValue::Bool(_)
        | AttributeValue::Ints(_)
        | AttributeValue::Bools(_)
        | AttributeValue::Strings(_)
        | AttributeValue::Versions(_)
        | AttributeValue::Unknown => None,
    }
}

/// The one device that a selector names; `None` where it may select several.
fn named(selector: &DeviceSelector) -> Option<DeviceId> {
    // Such a field may narrow a selector, which then may not select the device that it names.
    let is_plain = selector.unknown_fields.is_empty();
    selector.device_id().filter(|_| is_plain)
}

impl RuleDraft {
    /// True if the draft is for one device by its name, so that it notes its hardware. A manifest already has all that
    /// its rule is to have.
    pub fn notes_hardware(&self) -> bool {
        self.manifest.is_none() && named(&self.selector).is_some()
    }
}

/// Adds the hardware of their devices to the drafts, as far as it is published.
pub fn with_identities(
    mut drafts: Vec<RuleDraft>,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<RuleDraft> {
    let inventory = engine::devices(snapshot, semantics);
    let published = inventory
        .iter()
        .filter_map(|state| Some((&state.id, state.device?)));
    let published: BTreeMap<&DeviceId, &Device> = published.collect();
    for draft in drafts.iter_mut().filter(|draft| draft.notes_hardware()) {
        let noted = named(&draft.selector)
            .and_then(|id| NotedHardware::of(&id.driver, published.get(&id)?));
        if let Some(noted) = noted {
            let key = keys::IDENTITY.to_owned();
            draft.annotations.insert(key, noted.text());
        }
    }
    drafts
}

/// True if one of the rules notes hardware, so that attributes have to be read to compare it.
pub fn is_noted(rules: &[DeviceTaintRule]) -> bool {
    rules.iter().any(|rule| NotedHardware::on(rule).is_some())
}

/// A rule whose device is published as other hardware than the rule notes.
struct Changed<'a> {
    rule: &'a ObjectName,
    message: String,
}

fn changed<'a>(
    rules: &'a [DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<Changed<'a>> {
    // Where no rule has a note, an inventory of all devices would be made for nothing.
    if !is_noted(rules) {
        return Vec::new();
    }
    let inventory = engine::devices(snapshot, semantics);
    let found = rules.iter().filter_map(|rule| {
        let noted = NotedHardware::on(rule)?;
        let id = named(rule.selector.as_ref()?)?;
        let state = inventory.iter().find(|state| state.id == id)?;
        let now = noted.changed(&id.driver, state.device?)?;
        Some(Changed {
            rule: &rule.name,
            message: format!(
                "rule {} was created for hardware {}, and {id} is {now} now",
                rule.name,
                noted.text()
            ),
        })
    });
    found.collect()
}

/// The rules whose device is published as other hardware than they note.
pub fn on_other_hardware(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> BTreeSet<ObjectName> {
    let changed = changed(rules, snapshot, semantics).into_iter();
    changed.map(|changed| changed.rule.clone()).collect()
}

/// One warning for each rule whose device is published as other hardware than the rule notes.
pub fn other_hardware(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<Warning> {
    let changed = changed(rules, snapshot, semantics).into_iter();
    let warnings = changed.map(|changed| Warning {
        code: "other-hardware",
        message: changed.message,
        fix: None,
    });
    warnings.collect()
}

/// Refuses to change rules whose devices are published as other hardware than the rules note.
///
/// # Errors
///
/// The rules with the hardware then and now.
pub fn refuse_other_hardware(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let changed = changed(rules, snapshot, semantics);
    let Some(first) = changed.first() else {
        return Ok(());
    };
    let messages: Vec<&str> = changed.iter().map(|one| one.message.as_str()).collect();
    let text = format!("{}; nothing was changed", messages.join("; "));
    Err(Failure::refused(text).hint(format!(
        "to taint the device as it is now: remove rule {}, and add one",
        first.rule
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named as rule_named, selector};
    use crate::engine::testing::{published, semantics, slice};

    type Attributes<'a> = &'a [(&'a str, &'a str)];

    fn snapshot(device: &str, attributes: Attributes<'_>) -> Snapshot {
        Snapshot {
            slices: vec![slice(vec![published(device, attributes)])],
            ..Snapshot::default()
        }
    }

    fn draft(selector: DeviceSelector) -> RuleDraft {
        crate::decide::testing::draft(selector, "None")
    }

    /// Note of a rule for gpu-0 where the device is published with these attributes.
    fn note(attributes: Attributes<'_>) -> Option<String> {
        let drafts = vec![draft(selector("gpu-0"))];
        let snapshot = snapshot("gpu-0", attributes);
        let noted = with_identities(drafts, &snapshot, &semantics(37));
        noted[0].annotations.get(keys::IDENTITY).cloned()
    }

    #[test]
    fn a_number_of_the_hardware_is_noted_before_its_place() {
        let place = ("resource.kubernetes.io/pciBusID", "0000:17:00.0");
        for (attributes, expected) in [
            (
                &[place, ("serial", "7"), ("uuid", "A")][..],
                Some("gpu.example.com/uuid=A"),
            ),
            (&[place, ("serial", "7")], Some("gpu.example.com/serial=7")),
            (
                &[place],
                Some("resource.kubernetes.io/pciBusID=0000:17:00.0"),
            ),
            (&[("model", "H100")], None),
        ] {
            assert_eq!(note(attributes).as_deref(), expected);
        }
    }

    #[test]
    fn only_a_draft_for_one_device_by_its_name_notes_hardware() {
        let one = selector("gpu-0");
        assert!(draft(one.clone()).notes_hardware());
        let manifest = RuleDraft {
            manifest: Some(serde_json::json!({})),
            ..draft(one.clone())
        };
        let of_pool = DeviceSelector {
            device: None,
            ..one.clone()
        };
        let narrowed = DeviceSelector {
            unknown_fields: vec!["x".to_owned()],
            ..one
        };
        for draft in [manifest, draft(of_pool), draft(narrowed)] {
            assert!(!draft.notes_hardware(), "{draft:?}");
        }
    }

    #[test]
    fn only_another_published_value_is_a_change() {
        let refused = |note: Option<&str>, snapshot: &Snapshot| {
            let mut rule = rule_named("drain", "NoSchedule");
            rule.selector = Some(selector("gpu-0"));
            let note = note.map(|note| (keys::IDENTITY.to_owned(), note.to_owned()));
            rule.metadata.annotations.extend(note);
            let rules = [rule];
            let warnings = other_hardware(&rules, snapshot, &semantics(37));
            let refused = refuse_other_hardware(&rules, snapshot, &semantics(37));
            assert_eq!(warnings.is_empty(), refused.is_ok());
            refused.err().map(|failure| failure.to_string())
        };
        let uuid = Some("gpu.example.com/uuid=A");
        let other = snapshot("gpu-0", &[("uuid", "B")]);
        assert_eq!(
            refused(uuid, &other).as_deref(),
            Some(
                "rule drain was created for hardware gpu.example.com/uuid=A, and \
                 gpu.example.com/node-7/gpu-0 is B now; nothing was changed"
            )
        );
        for (name, note, snapshot) in [
            ("the same", uuid, snapshot("gpu-0", &[("uuid", "A")])),
            ("not published", uuid, snapshot("gpu-1", &[("uuid", "B")])),
            ("no attribute", uuid, snapshot("gpu-0", &[("serial", "7")])),
            ("no note", None, other.clone()),
            ("a note that cannot be read", Some("{"), other),
        ] {
            assert_eq!(refused(note, &snapshot), None, "{name}");
        }
    }
}
