//! Identifying attributes that are noted on a rule when it is made.

use std::collections::{BTreeMap, BTreeSet};

use super::identifying_attributes::identifies;
use crate::decide::RuleDraft;
use crate::engine::{self, DeviceState, Semantics};
use crate::model::{
    AttributeValue, Device, DeviceId, DeviceSelector, DeviceTaintRule, DriverName, Kind, Reading,
    RuleMetadata, Snapshot,
};
use crate::naming::phrase::few;

/// Attributes that identify hardware, by name with its domain, and what they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedHardware {
    pub(super) attributes: BTreeMap<String, String>,
}

impl NotedHardware {
    /// What identifies a device, by the attributes that are known to; nothing where it has none of them.
    #[must_use]
    pub fn of(driver: &DriverName, device: &Device) -> Option<Self> {
        let names = device.attributes.keys().map(|name| qualified(driver, name));
        let identifying = names.filter(|name| identifies(name));
        let attributes: BTreeMap<String, String> = identifying
            .filter_map(|name| {
                let value = value_of(driver, device, &name)?;
                Some((name, value))
            })
            .collect();
        (!attributes.is_empty()).then_some(Self { attributes })
    }

    /// What a rule notes, if it notes anything. A note that cannot be read holds nothing.
    #[must_use]
    pub fn on(rule: &DeviceTaintRule) -> Option<Self> {
        let text = rule.metadata.annotation(RuleMetadata::IDENTITY)?;
        // A note without content is compared as unknown; none at all would pass for a rule that never had
        // one.
        let attributes = serde_json::from_str(text).unwrap_or_default();
        Some(Self { attributes })
    }

    /// The note as it stands in the annotation.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::json!(self.attributes).to_string()
    }
}

/// The name of an attribute with its domain; a name without one is the driver's.
fn qualified(driver: &DriverName, name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("{driver}/{name}")
    }
}

/// What a device has of the attribute `name`, which has its domain; nothing where it has none, or one that is no
/// text or number.
pub(super) fn value_of(driver: &DriverName, device: &Device, name: &str) -> Option<String> {
    let mut attributes = device.attributes.iter();
    let (_, value) = attributes.find(|(found, _)| qualified(driver, found) == name)?;
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

/// The one device that a selector names; nothing where it may select several.
pub(super) fn named(selector: &DeviceSelector) -> Option<DeviceId> {
    // Such a field may narrow a selector, which then may not select the device that it names.
    let is_plain = selector.unknown_fields.is_empty();
    selector.device_id().filter(|_| is_plain)
}

impl RuleDraft {
    /// Whether it is for one device by its name, so that it notes what that is. A manifest says all
    /// that its rule is to have.
    #[must_use]
    pub fn notes_hardware(&self) -> bool {
        self.manifest.is_none() && named(&self.selector).is_some()
    }
}

/// The drafts with what their devices are, as far as that is published.
#[must_use]
pub fn with_identities(
    drafts: Vec<RuleDraft>,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<RuleDraft> {
    let inventory = engine::devices(snapshot, semantics);
    let by_name: BTreeMap<&DeviceId, &DeviceState<'_>> =
        inventory.iter().map(|state| (&state.id, state)).collect();
    let with_note = |mut draft: RuleDraft| {
        if draft.notes_hardware()
            && let Some(id) = named(&draft.selector)
            && let Some(device) = by_name.get(&id).and_then(|state| state.device)
            && let Some(noted) = NotedHardware::of(&id.driver, device)
        {
            let key = RuleMetadata::IDENTITY.to_owned();
            draft.annotations.insert(key, noted.text());
        }
        draft
    };
    drafts.into_iter().map(with_note).collect()
}

/// That rules which are made from these `drafts` do not record the hardware of their devices, although they would if slices
/// had been read, or if the devices were published.
#[must_use]
pub fn unrecorded<'a>(
    drafts: impl IntoIterator<Item = &'a RuleDraft>,
    reading: &Reading,
) -> Option<String> {
    let is_unread = reading.without(Kind::ResourceSlice).is_some();
    let drafts = drafts.into_iter().filter(|draft| {
        draft.notes_hardware() && !draft.annotations.contains_key(RuleMetadata::IDENTITY)
    });
    let mut hidden: Vec<(DeviceId, &RuleDraft)> = drafts
        .filter_map(|draft| Some((named(&draft.selector)?, draft)))
        .collect();
    // What has no attribute that identifies it records nothing, either, and is published.
    if !is_unread && !hidden.is_empty() {
        let slices = reading.snapshot.slices.iter();
        let published: BTreeSet<DeviceId> = slices
            .flat_map(|slice| slice.devices.iter().map(|it| slice.id_of(it)))
            .collect();
        hidden.retain(|(id, _)| !published.contains(id));
    }
    let names: Vec<String> = hidden.iter().map(|(_, draft)| draft.name.clone()).collect();
    let subject = match names.as_slice() {
        [] => return None,
        [only] => format!("rule {only} does not record the hardware of its device"),
        several => format!(
            "rules {} do not record the hardware of their devices",
            few(several)
        ),
    };
    let why = match (is_unread, names.len()) {
        (true, _) => "resourceslices could not be read",
        (false, 1) => "no driver publishes the device",
        (false, _) => "no driver publishes the devices",
    };
    Some(format!(
        "{subject}, because {why}; the plugin will not detect if the device name later refers to other hardware"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::decide::testing;

    fn device(attributes: &[(&str, AttributeValue)]) -> Device {
        Device {
            name: "gpu-0".into(),
            node: None,
            taints: Vec::new(),
            attributes: attributes
                .iter()
                .map(|(name, value)| ((*name).into(), value.clone()))
                .collect(),
            capacity: Default::default(),
            allow_multiple_allocations: false,
            terms: None,
        }
    }

    #[test]
    fn what_identifies_is_noted_with_its_domain_and_read_again() {
        let text = |text: &str| AttributeValue::String(text.into());
        let device = device(&[
            ("uuid", text("GPU-1")),
            ("model", text("H100")),
            ("slot", AttributeValue::Int(3)),
            ("serial", AttributeValue::Unknown),
            ("resource.kubernetes.io/pcieRoot", text("pci0000:01")),
        ]);
        let noted = NotedHardware::of(&"gpu.example.com".into(), &device).unwrap();
        let written =
            r#"{"gpu.example.com/uuid":"GPU-1","resource.kubernetes.io/pcieRoot":"pci0000:01"}"#;
        assert_eq!(noted.text(), written);
        let mut rule = testing::rule("None");
        assert_eq!(NotedHardware::on(&rule), None);
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(RuleMetadata::IDENTITY.to_owned(), noted.text());
        assert_eq!(NotedHardware::on(&rule), Some(noted));
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(RuleMetadata::IDENTITY.to_owned(), "{".to_owned());
        assert_eq!(NotedHardware::on(&rule), Some(NotedHardware::default()));
    }

    #[test]
    fn rules_without_a_record_for_want_of_slices_are_named() {
        let draft = |name: &str, selector: DeviceSelector| RuleDraft {
            name: name.to_owned(),
            selector,
            taint: testing::taint("NoSchedule"),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            manifest: None,
        };
        let one = testing::selector("gpu-0");
        let pool = DeviceSelector {
            device: None,
            ..one.clone()
        };
        let (a, b, c) = (
            draft("a", one.clone()),
            draft("b", one),
            draft("pool", pool),
        );
        let unread = Reading {
            known: BTreeSet::new(),
            ..crate::report::testing::reading()
        };
        let read = Reading {
            known: [Kind::ResourceSlice].into(),
            ..unread.clone()
        };
        let because = "because resourceslices could not be read; the plugin will not detect if \
            the device name later refers to other hardware";
        let mut published = read.clone();
        published.snapshot.slices = vec![crate::engine::testing::slice(vec![device(&[])])];
        assert_eq!(
            unrecorded([&a], &published),
            None,
            "it has no such attribute"
        );
        let hidden = because.replace(
            "resourceslices could not be read",
            "no driver publishes the device",
        );
        let hidden = format!("rule a does not record the hardware of its device, {hidden}");
        assert_eq!(unrecorded([&a, &c], &read), Some(hidden));
        assert_eq!(unrecorded([&c], &unread), None);
        let single = format!("rule a does not record the hardware of its device, {because}");
        assert_eq!(unrecorded([&a, &c], &unread), Some(single));
        let several = format!("rules a, b do not record the hardware of their devices, {because}");
        assert_eq!(unrecorded([&a, &b], &unread), Some(several));
    }

    #[test]
    fn a_device_that_nothing_identifies_is_not_noted() {
        let device = device(&[("model", AttributeValue::String("H100".into()))]);
        assert_eq!(NotedHardware::of(&"gpu.example.com".into(), &device), None);
    }

    #[test]
    fn only_a_whole_name_names_hardware() {
        let one = testing::selector("gpu-0");
        assert!(named(&one).is_some());
        for (name, selector) in [
            (
                "a pool",
                DeviceSelector {
                    device: None,
                    ..one.clone()
                },
            ),
            (
                "any pool",
                DeviceSelector {
                    pool: None,
                    ..one.clone()
                },
            ),
            (
                "any driver",
                DeviceSelector {
                    driver: None,
                    ..one.clone()
                },
            ),
            (
                "more",
                DeviceSelector {
                    unknown_fields: vec!["x".to_owned()],
                    ..one
                },
            ),
        ] {
            assert_eq!(named(&selector), None, "{name}");
        }
    }

    #[test]
    fn hardware_is_noted_of_a_device_that_is_named_and_not_in_a_manifest() {
        use serde_json::json;
        let uuid = AttributeValue::String("GPU-1".into());
        let published = crate::engine::testing::slice(vec![device(&[("uuid", uuid)])]);
        let id = published.id_of(&published.devices[0]);
        let snapshot = Snapshot {
            slices: vec![published],
            ..Snapshot::default()
        };
        let draft = |selector: DeviceSelector, manifest| RuleDraft {
            name: "drain".to_owned(),
            selector,
            taint: testing::taint("None"),
            labels: [].into(),
            annotations: [].into(),
            manifest,
        };
        let pool = DeviceSelector {
            device: None,
            ..id.clone().into()
        };
        for (draft, expected) in [
            (draft(id.clone().into(), None), true),
            (draft(id.into(), Some(json!({}))), false),
            (draft(pool, None), false),
        ] {
            let semantics = crate::engine::testing::semantics(37);
            let found = with_identities(vec![draft], &snapshot, &semantics);
            let noted = found[0].annotations.contains_key(RuleMetadata::IDENTITY);
            assert_eq!(noted, expected, "{found:?}");
        }
    }
}
