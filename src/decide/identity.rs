//! Hardware identity: whether a device name still stands for the hardware a rule was made for.

use crate::decide::RuleDraft;
use crate::engine;
use crate::engine::Semantics;
use crate::engine::expression::AttributeCondition;
use crate::error::Failure;
use crate::model::{
    AttributeValue, Device, DeviceId, DeviceSelector, DeviceTaintRule, DriverName, ObjectName,
    Snapshot, Warning,
};
use crate::naming::keys;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Hardware as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The attribute that has the number; any that identifies hardware where none was typed.
    attribute: Option<String>,
    /// The number, or the place.
    number: String,
}

impl Hardware {
    /// Reads an argument that can be nothing but hardware: NAME=VALUE of an attribute that identifies it, the name in
    /// any case, a UUID, or a PCI address.
    pub fn parse(argument: &str) -> Option<Self> {
        let Some((name, value)) = argument.split_once('=') else {
            return (is_uuid(argument) || is_pci_address(argument)).then(|| Self {
                attribute: None,
                number: argument.to_owned(),
            });
        };
        let known = known(name).filter(|_| !value.is_empty())?;
        let domain = name.rsplit_once('/').map(|(domain, _)| domain);
        Some(Self {
            attribute: Some(match domain {
                Some(domain) => format!("{domain}/{}", known.name),
                None => known.name.to_owned(),
            }),
            number: value.to_owned(),
        })
    }

    /// Separates the arguments that name hardware from all others.
    pub fn among(arguments: &[String]) -> (Vec<Self>, Vec<String>) {
        let (mut hardware, mut others) = (Vec::new(), Vec::new());
        for argument in arguments {
            match Self::parse(argument) {
                Some(found) => hardware.push(found),
                None => others.push(argument.clone()),
            }
        }
        (hardware, others)
    }

    /// Conditions on a device, one of which is enough.
    pub fn conditions(&self) -> Vec<AttributeCondition> {
        if let Some(name) = &self.attribute {
            return vec![AttributeCondition::is(name, &self.number)];
        }
        let spellings = self.spellings();
        let is_place = is_pci_address(&self.number);
        let names = KNOWN.iter().filter(|known| known.is_place == is_place);
        let pairs = names.flat_map(|known| spellings.iter().map(|number| (known.name, number)));
        pairs
            .map(|(name, number)| AttributeCondition::is(name, number))
            .collect()
    }

    /// The ways in which drivers may write the number: PCI addresses with their domain of four or eight
    /// digits, or without, in lower case.
    fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.number.clone()];
        if is_pci_address(&self.number) {
            let lower = self.number.to_lowercase();
            let places: Vec<&str> = lower.rsplitn(3, ':').collect();
            let [device, bus, domain @ ..] = places.as_slice() else {
                return spellings;
            };
            let short = format!("{bus}:{device}");
            let domain = domain.first().copied().unwrap_or_default();
            let domain = domain.trim_start_matches('0');
            spellings.push(format!("{domain:0>4}:{short}"));
            spellings.push(format!("{domain:0>8}:{short}"));
            // Drivers leave out the domain only if it is 0.
            if domain.is_empty() {
                spellings.push(short);
            }
            spellings.dedup();
        }
        spellings
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(name) => write!(formatter, "{name}={}", self.number),
            None => formatter.write_str(&self.number),
        }
    }
}

/// Hexadecimal digits in groups of these lengths.
fn is_hex(text: &str, separator: char, lengths: &[usize]) -> bool {
    let groups: Vec<&str> = text.split(separator).collect();
    let is_group = |(group, length): (&&str, &usize)| {
        group.len() == *length && group.chars().all(|c| c.is_ascii_hexdigit())
    };
    groups.len() == lengths.len() && groups.iter().zip(lengths).all(is_group)
}

/// Eight, four, four, four and twelve digits, behind a word such as `GPU-` or without one.
fn is_uuid(text: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let behind = text
        .split_once('-')
        .filter(|(word, _)| word.chars().all(|c| c.is_ascii_alphabetic()));
    is_hex(text, '-', &LENGTHS) || behind.is_some_and(|(_, rest)| is_hex(rest, '-', &LENGTHS))
}

/// `0000:17:00.0`, also with a longer domain or without one.
fn is_pci_address(text: &str) -> bool {
    let Some((rest, function)) = text.rsplit_once('.') else {
        return false;
    };
    let is_function = matches!(function.as_bytes(), [b'0'..=b'7']);
    let forms: [&[usize]; 3] = [&[2, 2], &[4, 2, 2], &[8, 2, 2]];
    is_function && forms.iter().any(|lengths| is_hex(rest, ':', lengths))
}

/// Attribute by which known drivers publish a number of the hardware, or its place.
#[derive(Debug)]
pub struct IdentifyingAttribute {
    /// The name without its domain.
    pub name: &'static str,
    /// True if the value is a place within the machine, whatever hardware is there.
    pub is_place: bool,
}

const fn number(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: false,
    }
}

const fn place(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: true,
    }
}

/// Identifying attributes, those first that tell most: `uuid` is NVIDIA's, Intel's and the example driver's; `serial`
/// and `serialNumber` are those of accelerators, `mac` that of network interfaces; `pciBusID` is Kubernetes' own,
/// `pciAddress` that of drivers of network interfaces, `pciAddr` AMD's.
pub const KNOWN: &[IdentifyingAttribute] = &[
    number("uuid"),
    number("serial"),
    number("serialNumber"),
    number("mac"),
    place("pciBusID"),
    place("pciAddress"),
    place("pciAddr"),
];

/// The identifying attribute of that name, with its domain or without, in any case.
pub fn known(name: &str) -> Option<&'static IdentifyingAttribute> {
    let id = name.rsplit('/').next().unwrap_or(name);
    KNOWN
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(id))
}

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

    #[test]
    fn a_number_alone_is_told_from_names_and_taints() {
        for (argument, is_hardware) in [
            ("GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("0000:17:00.0", true),
            ("00000000:17:00.0", true),
            ("17:00.0", true),
            ("uuid=GPU-1", true),
            ("uuid=", false),
            ("gpu.example.com", false),
            ("drain-node-7", false),
            ("1423022041312", false),
            ("maintenance:NoExecute", false),
            ("example.com/x=y:NoExecute", false),
            ("17:00.8", false),
        ] {
            let found = Hardware::parse(argument);
            assert_eq!(found.is_some(), is_hardware, "{argument}");
            if let Some(found) = found {
                assert_eq!(found.to_string(), argument);
            }
        }
    }

    #[test]
    fn hardware_is_named_by_the_attributes_of_drivers_in_any_case() {
        let named = |text: &str| Hardware::parse(text).map(|found| found.to_string());
        for (text, expected) in [
            ("uuid=GPU-1", Some("uuid=GPU-1")),
            ("UUID=GPU-1", Some("uuid=GPU-1")),
            ("gpu.nvidia.com/uuid=A", Some("gpu.nvidia.com/uuid=A")),
            ("slot=3", None),
            ("example.com/maintenance=firmware", None),
        ] {
            assert_eq!(named(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_is_found_however_its_domain_is_written() {
        let is = |typed: &str, published: &str| {
            let typed = Hardware::parse(typed).expect("an address");
            let conditions = format!("{:?}", typed.conditions());
            conditions.contains(&format!("\"{published}\""))
        };
        for published in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
            for typed in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
                assert!(is(typed, published), "{typed} {published}");
            }
        }
        assert!(is("0001:AF:00.0", "0001:af:00.0"));
        assert!(!is("0001:17:00.0", "0000:17:00.0"));
        assert!(!is("0001:17:00.0", "17:00.0"));
        assert!(!is("17:00.0", "0000:17:00.1"));
    }

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
