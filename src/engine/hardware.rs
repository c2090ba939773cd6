//! Devices that are the same hardware under different names.
//!
//! A card and its partitions draw from the same counters; a driver for virtual machines publishes the card that
//! another driver publishes for containers. Whoever pulls one of them pulls all. Takes slices that were read with
//! attributes and counters, and groups their devices by what they share:
//!
//! | shared | where |
//! |---|---|
//! | a set of counters | in one pool |
//! | uuid (also that of the parent), serial number, MAC address | anywhere |
//! | PCI address | on one node |
//!
//! What is shared in turn counts: a partition of another name of a card is a part of that card. A set of counters
//! counts as a whole, since partitions of a card need not take the same counters of it. The PCIe root is that of
//! several cards and groups nothing.
//!
//! Upstream: KEP-4815 (partitionable devices), `deviceattribute` of `k8s.io/dynamic-resource-allocation`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::devices::current_slices;
use crate::model::{AttributeValue, Device, DeviceId, NodeName, ResourceSlice};

/// A number that hardware has whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareNumber {
    /// Its UUID.
    Uuid,
    /// Its serial number.
    Serial,
    /// Its MAC address.
    Mac,
    /// Its address on the PCI bus of its node.
    PciAddress,
}

impl HardwareNumber {
    /// What an attribute says, with its domain or without, if it is such a number.
    #[must_use]
    pub fn of_attribute(name: &str) -> Option<Self> {
        match name.rsplit('/').next().unwrap_or(name) {
            "uuid" | "parentUUID" => Some(Self::Uuid),
            "serial" | "serialNumber" => Some(Self::Serial),
            "mac" => Some(Self::Mac),
            "pciBusID" | "pciAddress" | "pciAddr" => Some(Self::PciAddress),
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Serial => "serial",
            Self::Mac => "mac",
            Self::PciAddress => "PCI address",
        }
    }

    /// The value as all drivers would write it.
    fn normal(self, value: &str) -> String {
        let value = value.trim().to_lowercase();
        match self {
            Self::Uuid | Self::Serial | Self::Mac => value,
            Self::PciAddress => pci_address(value),
        }
    }
}

/// A PCI address with a domain of four digits: some drivers leave it out, others write eight.
fn pci_address(value: String) -> String {
    match value.split(':').collect::<Vec<_>>()[..] {
        [_, _] => format!("0000:{value}"),
        [domain, bus, rest] if domain.len() > 4 => {
            let start = domain.len().saturating_sub(4);
            let short = domain.get(start..).unwrap_or(domain);
            format!("{short}:{bus}:{rest}")
        }
        _ => value,
    }
}

/// What two devices share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareLink {
    /// Counters: one is a part of the other, or both are parts of the same.
    Counters,
    /// A number of the hardware.
    Number(HardwareNumber, String),
    /// One is the name that the driver has given to the hardware of the other.
    Renamed,
    /// Nothing by themselves: a third device is linked to both.
    Indirect,
}

impl fmt::Display for HardwareLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counters => formatter.write_str("shared counters"),
            Self::Number(number, value) => write!(formatter, "{} {value}", number.as_str()),
            Self::Renamed => formatter.write_str("renamed by the driver"),
            Self::Indirect => formatter.write_str("through another device"),
        }
    }
}

/// Another name of hardware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alias {
    /// The device.
    pub device: DeviceId,
    /// What it shares with the one that was asked about.
    pub link: HardwareLink,
}

/// What identifies hardware: what has one of these in common is the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HardwareKey {
    Counters {
        driver: String,
        pool: String,
        set: String,
    },
    Number {
        number: HardwareNumber,
        value: String,
        node: Option<NodeName>,
    },
    /// What had this name before its driver gave it others.
    Renamed(DeviceId),
}

impl HardwareKey {
    fn link(&self) -> HardwareLink {
        match self {
            Self::Counters { .. } => HardwareLink::Counters,
            Self::Number { number, value, .. } => HardwareLink::Number(*number, value.clone()),
            Self::Renamed(_) => HardwareLink::Renamed,
        }
    }
}

/// The devices that are published, grouped by hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    keys: BTreeMap<DeviceId, BTreeSet<HardwareKey>>,
    devices: BTreeMap<HardwareKey, BTreeSet<DeviceId>>,
}

impl Hardware {
    /// The devices of the newest generation of each pool of `slices`, which have to be all there are.
    #[must_use]
    pub fn of(slices: &[ResourceSlice]) -> Self {
        let mut hardware = Self::default();
        for slice in current_slices(slices) {
            for device in &slice.devices {
                hardware.add(&slice.id_of(device), keys_of(slice, device));
            }
        }
        hardware
    }

    /// The devices of `slices` among those that are `meant`, which alone are decoded.
    #[must_use]
    pub fn among(slices: &[ResourceSlice], meant: &BTreeSet<&DeviceId>) -> Self {
        let pools: BTreeSet<_> = meant.iter().map(|id| (&id.driver, &id.pool)).collect();
        let mut hardware = Self::default();
        for slice in current_slices(slices) {
            if !pools.contains(&(&slice.driver, &slice.pool.name)) {
                continue;
            }
            for device in &slice.devices {
                let id = slice.id_of(device);
                if meant.contains(&id) {
                    hardware.add(&id, keys_of(slice, device));
                }
            }
        }
        hardware
    }

    /// With what was published earlier, too: what was the same hardware a moment ago is so, although its driver
    /// is away by now.
    #[must_use]
    pub fn with_earlier(mut self, earlier: &Self) -> Self {
        for (device, keys) in &earlier.keys {
            if !self.keys.contains_key(device) {
                self.add(device, keys.clone());
            }
        }
        self
    }

    /// With the `names` that the hardware has now which was once called `device`.
    #[must_use]
    pub fn with_names(mut self, device: &DeviceId, names: &[DeviceId]) -> Self {
        for one in names.iter().chain((!names.is_empty()).then_some(device)) {
            self.add(one, [HardwareKey::Renamed(device.clone())].into());
        }
        self
    }

    fn add(&mut self, device: &DeviceId, keys: BTreeSet<HardwareKey>) {
        for key in &keys {
            let known = self.devices.entry(key.clone()).or_default();
            known.insert(device.clone());
        }
        self.keys.entry(device.clone()).or_default().extend(keys);
    }

    /// Whether what the device is was ever published; of another one nothing is known but its name.
    #[must_use]
    pub fn knows(&self, device: &DeviceId) -> bool {
        self.keys.contains_key(device)
    }

    /// Whether the device has a number, such as a UUID, by which another driver could publish the same hardware.
    #[must_use]
    pub fn has_number(&self, device: &DeviceId) -> bool {
        let keys = self.keys.get(device).into_iter().flatten();
        let mut numbers = keys.filter(|key| matches!(key, HardwareKey::Number { .. }));
        numbers.next().is_some()
    }

    /// The other names and parts of the device's hardware, by name; none of a device that is not published.
    #[must_use]
    pub fn aliases(&self, device: &DeviceId) -> Vec<Alias> {
        let mut found = BTreeSet::from([device]);
        let mut followed = BTreeSet::new();
        let mut next = vec![device];
        while let Some(one) = next.pop() {
            // Each key once: a driver may publish the same number for thousands of devices.
            let keys = self.keys.get(one).into_iter().flatten();
            let new: Vec<&HardwareKey> = keys.filter(|key| followed.insert(*key)).collect();
            let linked = new.into_iter().filter_map(|key| self.devices.get(key));
            next.extend(linked.flatten().filter(|other| found.insert(other)));
        }
        found.remove(device);
        let alias = |other: &DeviceId| Alias {
            link: self.link(device, other),
            device: other.clone(),
        };
        found.into_iter().map(alias).collect()
    }

    /// The devices and all that are the same hardware.
    #[must_use]
    pub fn closure<'a>(
        &self,
        devices: impl IntoIterator<Item = &'a DeviceId>,
    ) -> BTreeSet<DeviceId> {
        let mut all = BTreeSet::new();
        for device in devices {
            // The group of one that is in already is in, too.
            if all.insert(device.clone()) {
                let aliases = self.aliases(device).into_iter();
                all.extend(aliases.map(|alias| alias.device));
            }
        }
        all
    }

    fn link(&self, device: &DeviceId, other: &DeviceId) -> HardwareLink {
        let keys = |id| self.keys.get(id);
        let shared = keys(device).and_then(|keys| {
            let others = self.keys.get(other)?;
            keys.intersection(others).next()
        });
        shared.map_or(HardwareLink::Indirect, HardwareKey::link)
    }
}

fn keys_of(slice: &ResourceSlice, device: &Device) -> BTreeSet<HardwareKey> {
    let consumes = device.terms.iter().flat_map(|terms| &terms.consumes);
    let counters = consumes.map(|taken| HardwareKey::Counters {
        driver: slice.driver.as_str().to_owned(),
        pool: slice.pool.name.as_str().to_owned(),
        set: taken.set.to_string(),
    });
    let node = slice.node_of(device);
    let numbers = device.attributes.iter().filter_map(|(name, value)| {
        let number = HardwareNumber::of_attribute(name)?;
        Some((number, texts(value)))
    });
    let numbers = numbers.flat_map(|(number, values)| {
        // A driver that publishes an empty number must not make one hardware of all its devices.
        let values = values.into_iter().filter(|value| !value.trim().is_empty());
        values.filter_map(move |value| {
            let node = match number {
                HardwareNumber::Uuid | HardwareNumber::Serial | HardwareNumber::Mac => None,
                // An address says nothing without the machine that it is in.
                HardwareNumber::PciAddress => Some(node?.clone()),
            };
            Some(HardwareKey::Number {
                number,
                value: number.normal(&value),
                node,
            })
        })
    });
    counters.chain(numbers).collect()
}

/// The value of an attribute as texts; numbers of hardware are sometimes written as numbers.
fn texts(value: &AttributeValue) -> Vec<String> {
    match value {
        AttributeValue::String(text) | AttributeValue::Version(text) => vec![text.to_string()],
        AttributeValue::Int(number) => vec![number.to_string()],
        AttributeValue::Strings(texts) | AttributeValue::Versions(texts) => {
            texts.iter().map(ToString::to_string).collect()
        }
        AttributeValue::Ints(numbers) => numbers.iter().map(ToString::to_string).collect(),
        AttributeValue::Bool(_) | AttributeValue::Bools(_) | AttributeValue::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{CounterUse, DeviceTerms, Pool, SliceNodes};

    fn device(name: &str, attributes: &[(&str, &str)], sets: &[&str]) -> Device {
        let consumes = sets.iter().map(|set| CounterUse {
            set: Arc::from(*set),
            ..CounterUse::default()
        });
        let terms = DeviceTerms {
            consumes: consumes.collect(),
            ..DeviceTerms::default()
        };
        let attributes = attributes.iter().map(|(name, value)| {
            let value = AttributeValue::String(Arc::from(*value));
            (Arc::from(*name), value)
        });
        Device {
            name: name.into(),
            node: None,
            taints: Vec::new(),
            attributes: attributes.collect(),
            capacity: litemap::LiteMap::new().into(),
            allow_multiple_allocations: false,
            terms: Some(Box::new(terms)),
        }
    }

    fn slice(driver: &str, node: &str, devices: Vec<Device>) -> ResourceSlice {
        ResourceSlice {
            name: format!("{driver}-{node}").as_str().into(),
            driver: driver.into(),
            pool: Pool {
                name: node.into(),
                generation: 1,
                slice_count: 1,
            },
            nodes: SliceNodes::One(node.into()),
            devices,
            terms: None,
        }
    }

    fn id(driver: &str, pool: &str, device: &str) -> DeviceId {
        DeviceId {
            driver: driver.into(),
            pool: pool.into(),
            device: device.into(),
        }
    }

    fn describe(hardware: &Hardware, device: &DeviceId) -> Vec<String> {
        let aliases = hardware.aliases(device).into_iter();
        aliases
            .map(|alias| format!("{} ({})", alias.device, alias.link))
            .collect()
    }

    #[test]
    fn partitions_of_a_card_are_the_card_and_one_another() {
        let hardware = Hardware::of(&[slice(
            "d",
            "n",
            vec![
                device("card-0", &[], &["card-0"]),
                device("card-0-part-0", &[], &["card-0"]),
                device("card-1", &[], &["card-1"]),
            ],
        )]);
        assert_eq!(
            describe(&hardware, &id("d", "n", "card-0")),
            ["d/n/card-0-part-0 (shared counters)"]
        );
        assert_eq!(
            describe(&hardware, &id("d", "n", "card-0-part-0")),
            ["d/n/card-0 (shared counters)"]
        );
        assert_eq!(describe(&hardware, &id("d", "n", "card-1")), [""; 0]);
    }

    #[test]
    fn a_number_of_the_hardware_makes_devices_of_two_drivers_one() {
        let pci = |value| ("resource.kubernetes.io/pciBusID", value);
        for (name, left, right, link) in [
            (
                "uuid",
                ("uuid", "GPU-A"),
                ("x/uuid", "gpu-a"),
                Some("uuid gpu-a"),
            ),
            (
                "a partition names its card",
                ("uuid", "A"),
                ("parentUUID", "A"),
                Some("uuid a"),
            ),
            (
                "serial",
                ("serial", "7"),
                ("serialNumber", "7"),
                Some("serial 7"),
            ),
            (
                "PCI, however it is written",
                pci("0000:C1:00.0"),
                ("pciAddress", "c1:00.0"),
                Some("PCI address 0000:c1:00.0"),
            ),
            (
                "PCI with a long domain",
                pci("00000000:c1:00.0"),
                ("pciAddr", "0000:c1:00.0"),
                Some("PCI address 0000:c1:00.0"),
            ),
            ("another uuid", ("uuid", "A"), ("uuid", "B"), None),
            ("no uuid at all", ("uuid", ""), ("uuid", ""), None),
            (
                "the root of several",
                ("pcieRoot", "pci0"),
                ("pcieRoot", "pci0"),
                None,
            ),
            ("the model", ("model", "H100"), ("model", "H100"), None),
        ] {
            let hardware = Hardware::of(&[
                slice("d", "n", vec![device("a", &[left], &[])]),
                slice("e", "n", vec![device("b", &[right], &[])]),
            ]);
            let expected = link.map(|link| format!("e/n/b ({link})"));
            let expected: Vec<String> = expected.into_iter().collect();
            assert_eq!(describe(&hardware, &id("d", "n", "a")), expected, "{name}");
        }
    }

    #[test]
    fn an_address_is_that_of_one_machine() {
        let of = |node| {
            slice(
                "d",
                node,
                vec![device("a", &[("pciBusID", "0000:01:00.0")], &[])],
            )
        };
        let hardware = Hardware::of(&[of("m"), of("n")]);
        assert_eq!(describe(&hardware, &id("d", "n", "a")), [""; 0]);
    }

    #[test]
    fn what_is_shared_in_turn_is_the_same_hardware() {
        let hardware = Hardware::of(&[
            slice(
                "d",
                "n",
                vec![
                    device("card", &[("uuid", "A")], &["card"]),
                    device("part", &[], &["card"]),
                ],
            ),
            slice("vfio", "n", vec![device("card", &[("uuid", "A")], &[])]),
        ]);
        let vfio = id("vfio", "n", "card");
        assert_eq!(
            describe(&hardware, &vfio),
            ["d/n/card (uuid a)", "d/n/part (through another device)"]
        );
        assert_eq!(hardware.closure([&vfio]).len(), 3);
        assert!(!hardware.knows(&id("d", "n", "gone")));
        // The driver goes away, and what it said is remembered.
        let later = Hardware::of(&[slice(
            "vfio",
            "n",
            vec![device("card", &[("uuid", "A")], &[])],
        )]);
        assert_eq!(later.aliases(&vfio).len(), 0);
        assert_eq!(later.with_earlier(&hardware).aliases(&vfio).len(), 2);
    }

    #[test]
    fn a_name_that_hardware_had_is_linked_to_those_that_it_has() {
        let slices = [slice(
            "gpu.example.com",
            "node-7",
            vec![device("gpu-9", &[("uuid", "A")], &[])],
        )];
        let id = |name: &str| DeviceId {
            device: name.into(),
            ..slices[0].id_of(&slices[0].devices[0])
        };
        let (old, new) = (id("gpu-0"), id("gpu-9"));
        let unnamed = Hardware::of(&slices).with_names(&old, &[]);
        assert!(!unnamed.knows(&old) && unnamed.aliases(&new).is_empty());
        let named = unnamed.with_names(&old, std::slice::from_ref(&new));
        assert!(named.knows(&old));
        let aliases = named.aliases(&new);
        assert_eq!(aliases.len(), 1);
        assert_eq!(
            (&aliases[0].device, &aliases[0].link),
            (&old, &HardwareLink::Renamed)
        );
        assert_eq!(aliases[0].link.to_string(), "renamed by the driver");
    }
}
