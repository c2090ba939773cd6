//! Whether a device name still stands for the hardware noted on a rule.

use super::identifying_attributes::{AttributeMeaning, means};
use super::noted_hardware::{NotedHardware, value_of};
use crate::engine::DeviceState;
use crate::engine::hardware::Hardware;
use crate::model::{Device, DeviceId, DeviceTaintRule, DriverName};

/// What a name stands for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HardwareDrift {
    /// The hardware that was noted.
    Same,
    /// Other hardware.
    Other {
        /// The attribute that says so, with its domain.
        attribute: String,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
    /// That cannot be said, and why.
    Unknown(&'static str),
}

/// What became of hardware and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// What the name stands for.
    pub named: HardwareDrift,
    /// Other names that the hardware has now, in their order; none where it still has its own.
    pub elsewhere: Vec<DeviceId>,
}

impl DeviceIdentity {
    /// Whether it is proven that the name is not that of the hardware any more.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        matches!(self.named, HardwareDrift::Other { .. }) || !self.elsewhere.is_empty()
    }
}

/// What became of the hardware that was `noted` under the name `id`, where these devices are published.
///
/// Where an attribute of the hardware itself was noted, its place says nothing: cards move. Where only
/// its place was, what is in the same place of the same pool counts as the same hardware, if only one
/// device is there.
#[must_use]
pub fn identity(
    noted: &NotedHardware,
    id: &DeviceId,
    devices: &[DeviceState<'_>],
) -> DeviceIdentity {
    let published = |state: &DeviceState<'_>| state.device.is_some();
    let named = devices.iter().find(|state| state.id == *id);
    let named = match named.and_then(|state| state.device) {
        Some(device) => compare(noted, &id.driver, device),
        // A driver that is away publishes nothing, which proves nothing of the hardware.
        None => HardwareDrift::Unknown("no driver publishes the device"),
    };
    if named == HardwareDrift::Same {
        return DeviceIdentity {
            named,
            elsewhere: Vec::new(),
        };
    }
    let by_place = noted.means() == AttributeMeaning::Place;
    let candidates = devices.iter().filter(|state| {
        published(state)
            && state.id != *id
            && state.id.driver == id.driver
            && (!by_place || state.id.pool == id.pool)
    });
    let same = candidates.filter(|state| {
        let found = state
            .device
            .map(|device| compare(noted, &id.driver, device));
        found == Some(HardwareDrift::Same)
    });
    let mut elsewhere: Vec<DeviceId> = same.map(|state| state.id.clone()).collect();
    if by_place && elsewhere.len() > 1 {
        // Several devices at one root: none of them is the one.
        elsewhere.clear();
    }
    elsewhere.sort();
    DeviceIdentity { named, elsewhere }
}

/// The `hardware`, with the names that the hardware has now which is recorded on `rules`, where these devices are
/// published.
#[must_use]
pub fn with_new_names(
    hardware: Hardware,
    rules: &[DeviceTaintRule],
    devices: &[DeviceState<'_>],
) -> Hardware {
    new_names(rules, devices).fold(hardware, |hardware, found| {
        hardware.with_names(&found.id, &found.names)
    })
}

/// The other names that the hardware has now which a rule records.
pub struct NewNames<'a> {
    /// The rule.
    pub rule: &'a DeviceTaintRule,
    /// The device that it names.
    pub id: DeviceId,
    /// The names; none for hardware that has its own name, or is not published.
    pub names: Vec<DeviceId>,
}

/// The devices that `rules` name and of which they record the hardware, each with the other names that it has now.
pub fn new_names<'a>(
    rules: &'a [DeviceTaintRule],
    devices: &'a [DeviceState<'_>],
) -> impl Iterator<Item = NewNames<'a>> {
    rules.iter().filter_map(|rule| {
        let noted = NotedHardware::on(rule)?;
        let id = rule.selector.as_ref()?.device_id()?;
        let names = identity(&noted, &id, devices).elsewhere;
        Some(NewNames { rule, id, names })
    })
}

impl NotedHardware {
    /// What the note is about: hardware, if any of it is.
    pub(super) fn means(&self) -> AttributeMeaning {
        let mut names = self.attributes.keys();
        if names.any(|name| means(name) == AttributeMeaning::Hardware) {
            AttributeMeaning::Hardware
        } else {
            AttributeMeaning::Place
        }
    }
}

/// Whether a device is what was noted. What differs proves that it is not; what cannot be read proves nothing.
fn compare(noted: &NotedHardware, driver: &DriverName, device: &Device) -> HardwareDrift {
    let about = noted.means();
    let mut readable = 0_usize;
    let mut wanted = 0_usize;
    for (name, was) in &noted.attributes {
        if means(name) != about {
            continue;
        }
        wanted = wanted.saturating_add(1);
        match value_of(driver, device, name) {
            Some(is) if is == *was => readable = readable.saturating_add(1),
            Some(is) => {
                return HardwareDrift::Other {
                    attribute: name.clone(),
                    was: was.clone(),
                    is,
                };
            }
            None => {}
        }
    }
    match about {
        _ if wanted == 0 => {
            HardwareDrift::Unknown("the identity recorded in the rule cannot be parsed")
        }
        // One number of the hardware itself is enough.
        AttributeMeaning::Hardware if readable > 0 => HardwareDrift::Same,
        AttributeMeaning::Place if readable == wanted => HardwareDrift::Same,
        // Its place may be known; it says nothing where the hardware itself was noted.
        AttributeMeaning::Hardware => HardwareDrift::Unknown(
            "the device no longer has any hardware attribute that the rule records, such as a \
             UUID or serial number",
        ),
        AttributeMeaning::Place => {
            HardwareDrift::Unknown("the device no longer has all attributes that the rule records")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::device_state;
    use crate::model::AttributeValue;

    type Attributes<'a> = &'a [(&'a str, &'a str)];

    fn id(name: &str) -> DeviceId {
        let parts: Vec<&str> = name.split('/').collect();
        DeviceId {
            driver: parts[0].into(),
            pool: parts[1].into(),
            device: parts[2].into(),
        }
    }

    fn device(attributes: Attributes<'_>) -> Device {
        Device {
            name: "any".into(),
            node: None,
            taints: Vec::new(),
            attributes: attributes
                .iter()
                .map(|(name, value)| ((*name).into(), AttributeValue::String((*value).into())))
                .collect(),
            capacity: Default::default(),
            allow_multiple_allocations: false,
            terms: None,
        }
    }

    /// What became of d/p/0, which had these attributes when it was noted.
    fn became(noted: Attributes<'_>, now: &[(&str, Option<Attributes<'_>>)]) -> DeviceIdentity {
        let noted = NotedHardware {
            attributes: noted
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let devices: Vec<Option<Device>> = now
            .iter()
            .map(|(_, published)| published.map(device))
            .collect();
        let states: Vec<DeviceState<'_>> = now
            .iter()
            .zip(&devices)
            .map(|((name, _), device)| DeviceState {
                published: device.is_some(),
                device: device.as_ref(),
                ..device_state(id(name))
            })
            .collect();
        identity(&noted, &id("d/p/0"), &states)
    }

    fn other(attribute: &str, was: &str, is: &str) -> HardwareDrift {
        HardwareDrift::Other {
            attribute: attribute.to_owned(),
            was: was.to_owned(),
            is: is.to_owned(),
        }
    }

    const GONE: HardwareDrift = HardwareDrift::Unknown(
        "the device no longer has any hardware attribute that the rule records, such as a UUID or \
         serial number",
    );
    const PARTLY_GONE: HardwareDrift =
        HardwareDrift::Unknown("the device no longer has all attributes that the rule records");

    #[test]
    fn a_number_of_the_hardware_decides_wherever_it_is() {
        let noted: Attributes<'_> = &[("d/uuid", "A"), ("d/serial", "1"), ("r/pciBusID", "x")];
        for (name, now, named) in [
            (
                "all the same",
                &[("uuid", "A"), ("serial", "1"), ("r/pciBusID", "x")][..],
                HardwareDrift::Same,
            ),
            (
                "moved within the machine",
                &[("uuid", "A"), ("r/pciBusID", "y")],
                HardwareDrift::Same,
            ),
            (
                "one number is enough",
                &[("d/serial", "1")],
                HardwareDrift::Same,
            ),
            (
                "swapped",
                &[("uuid", "B"), ("serial", "1"), ("r/pciBusID", "x")],
                other("d/uuid", "A", "B"),
            ),
            (
                "swapped, by the other number",
                &[("uuid", "A"), ("serial", "2")],
                other("d/serial", "1", "2"),
            ),
            (
                "its place alone proves nothing",
                &[("r/pciBusID", "x")],
                GONE,
            ),
            ("nor that it is another", &[("r/pciBusID", "y")], GONE),
            ("nothing to read", &[], GONE),
            ("another domain's", &[("e/uuid", "A")], GONE),
        ] {
            let identity = became(noted, &[("d/p/0", Some(now))]);
            assert_eq!(identity.named, named, "{name}");
            assert_eq!(identity.elsewhere, [], "{name}");
            assert_eq!(
                identity.is_changed(),
                matches!(named, HardwareDrift::Other { .. }),
                "{name}"
            );
        }
    }

    #[test]
    fn a_place_decides_where_nothing_else_was_noted() {
        let noted: Attributes<'_> = &[("r/pciBusID", "x"), ("r/pcieRoot", "1")];
        for (name, now, named) in [
            (
                "the same",
                &[("r/pciBusID", "x"), ("r/pcieRoot", "1")][..],
                HardwareDrift::Same,
            ),
            ("half of it", &[("r/pcieRoot", "1")], PARTLY_GONE),
            ("nothing to read", &[], PARTLY_GONE),
            (
                "another",
                &[("r/pciBusID", "y"), ("r/pcieRoot", "1")],
                other("r/pciBusID", "x", "y"),
            ),
        ] {
            let identity = became(noted, &[("d/p/0", Some(now))]);
            assert_eq!(identity.named, named, "{name}");
        }
    }

    #[test]
    fn hardware_is_found_under_its_other_name() {
        let uuid: Attributes<'_> = &[("d/uuid", "A")];
        let place: Attributes<'_> = &[("r/pciBusID", "x")];
        let (a, b): (Attributes<'_>, Attributes<'_>) = (&[("uuid", "A")], &[("uuid", "B")]);
        let x: Attributes<'_> = &[("r/pciBusID", "x")];
        let y: Attributes<'_> = &[("r/pciBusID", "y")];
        let nobody = HardwareDrift::Unknown("no driver publishes the device");
        for (name, noted, now, named, elsewhere) in [
            (
                "numbered anew",
                uuid,
                &[("d/p/0", Some(b)), ("d/p/1", Some(a))][..],
                other("d/uuid", "A", "B"),
                &["d/p/1"][..],
            ),
            (
                "in another pool",
                uuid,
                &[("d/p/0", Some(b)), ("d/q/0", Some(a))],
                other("d/uuid", "A", "B"),
                &["d/q/0"],
            ),
            (
                "its old name is gone",
                uuid,
                &[("d/p/1", Some(a))],
                nobody.clone(),
                &["d/p/1"],
            ),
            (
                "its old name is allocated only",
                uuid,
                &[("d/p/0", None), ("d/p/1", Some(a))],
                nobody.clone(),
                &["d/p/1"],
            ),
            (
                "of another driver",
                uuid,
                &[("e/p/1", Some(&[("d/uuid", "A")][..]))],
                nobody.clone(),
                &[],
            ),
            (
                "still there, whoever else has its number",
                uuid,
                &[("d/p/0", Some(a)), ("d/p/1", Some(a))],
                HardwareDrift::Same,
                &[],
            ),
            (
                "in two places",
                uuid,
                &[("d/p/2", Some(a)), ("d/p/1", Some(a))],
                nobody.clone(),
                &["d/p/1", "d/p/2"],
            ),
            (
                "in its place under another name",
                place,
                &[("d/p/0", Some(y)), ("d/p/1", Some(x))],
                other("r/pciBusID", "x", "y"),
                &["d/p/1"],
            ),
            (
                "in such a place of another pool",
                place,
                &[("d/q/1", Some(x))],
                nobody.clone(),
                &[],
            ),
            (
                "one of several in a place",
                place,
                &[("d/p/1", Some(x)), ("d/p/2", Some(x))],
                nobody.clone(),
                &[],
            ),
            ("gone", uuid, &[("d/p/1", Some(b))], nobody, &[]),
        ] {
            let identity = became(noted, now);
            assert_eq!(identity.named, named, "{name}");
            let elsewhere: Vec<DeviceId> = elsewhere.iter().map(|name| id(name)).collect();
            assert_eq!(identity.elsewhere, elsewhere, "{name}");
        }
    }

    #[test]
    fn an_unreadable_note_proves_nothing() {
        let identity = became(&[], &[("d/p/0", Some(&[])), ("d/p/1", Some(&[]))]);
        let unread = HardwareDrift::Unknown("the identity recorded in the rule cannot be parsed");
        assert_eq!(identity.named, unread);
        assert!(!identity.is_changed());
    }

    #[test]
    fn another_name_is_a_change_whatever_became_of_the_old_one() {
        let a: Attributes<'_> = &[("uuid", "A")];
        assert!(became(&[("d/uuid", "A")], &[("d/p/1", Some(a))]).is_changed());
        assert!(!became(&[("d/uuid", "A")], &[]).is_changed());
    }
}
