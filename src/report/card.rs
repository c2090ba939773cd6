//! A device in detail: identity, hardware, peers and taints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::NONE;
use super::taint::Taint;
use super::time::Time;
use crate::assess::DeviceBasis;
use crate::engine::device_removal::{RemovalCheck, RemovalObjection};
use crate::engine::hardware::{Alias, HardwareLink, HardwareNumber, texts};
use crate::engine::peers::peers;
use crate::engine::{DeviceState, DeviceTaint};
use crate::model::{Device, Kind, UNKNOWN};
use crate::naming::age::human_duration;
use crate::naming::phrase::few;

/// What identifies a device, and what is on the same hardware or close to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// Serial number of the device; null if the driver does not publish one, or if the device could not be
    /// read.
    pub serial: Option<String>,
    /// UUID of the device; null if the driver does not publish one, or if the device could not be read.
    pub uuid: Option<String>,
    /// PCI address of the device; null if the driver does not publish one, or if the device could not be
    /// read.
    pub pci_address: Option<String>,
    /// Slot of the device; null if the driver does not publish one, or if the device could not be read.
    pub slot: Option<String>,
    /// Devices that consume counters of the same counter sets (`sharedCounters` of ResourceSlices) as this device:
    /// its partitions, or the device of which it is a partition.
    pub partitions: Option<Vec<String>>,
    /// Other device names of the same hardware, each with the reason why both names belong to the same hardware; null
    /// if unknown.
    pub aliases: Option<Vec<SameHardware>>,
    /// Other devices on the same PCIe root or in the same NVLink domain; null if unknown.
    pub peers: Option<Vec<Peers>>,
    /// Taints of the device; some may be missing if `tainted` is null.
    pub taints: Vec<Taint>,
    /// Unallocated claims and claim templates that tolerate the device's taints for scheduling, as
    /// `claim NAMESPACE/NAME` or `claim template NAMESPACE/NAME`.
    pub tolerated_by: Vec<String>,
    /// Whether what the device is could not be read.
    #[serde(skip)]
    device_unread: bool,
    /// Whether there may be more taints than could be read.
    #[serde(skip)]
    taints_unread: bool,
    /// Whether there may be more claims and templates than could be read.
    #[serde(skip)]
    tolerations_unread: bool,
}

/// Another name of the same hardware, such as a device of another driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SameHardware {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Why both devices are the same hardware, as text: the hardware ID that they have in common, such as
    /// `uuid GPU-18db`; `renamed by the driver`; or `through another device`, if a third device is the same hardware
    /// as each of them.
    pub shares: String,
}

/// Other devices on the same PCIe root or in the same NVLink domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Peers {
    /// What the device has in common with these other devices, as text: `PCIe root` or `NVLink domain`, and the value.
    pub shares: String,
    /// The other devices, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
}

impl Card {
    /// What is known of the device that `testimony` is about, as `state` has it, which has these `taints`.
    pub(super) fn new(
        testimony: &RemovalCheck,
        state: Option<&DeviceState<'_>>,
        taints: &[DeviceTaint<'_>],
        basis: &DeviceBasis<'_>,
    ) -> Self {
        let device = state.and_then(|state| state.device);
        let number = |number| device.and_then(|device| number_of(device, number));
        // Devices that draw from the same counters are the card and its parts, and not other names of the whole.
        let (partitions, aliases): (Vec<&Alias>, Vec<&Alias>) = testimony
            .aliases
            .iter()
            .partition(|alias| alias.link == HardwareLink::Counters);
        let close = peers(&basis.reading.snapshot.slices, &testimony.device).into_iter();
        // Of a device that no slice has, only its name is known; of one that is read, not all that is beside it may be.
        let is_read = device.is_some() && basis.reading.without(Kind::ResourceSlice).is_none();
        let partitions: Vec<String> = partitions
            .iter()
            .map(|one| one.device.to_string())
            .collect();
        let aliases: Vec<SameHardware> = aliases
            .iter()
            .map(|alias| SameHardware {
                device: alias.device.to_string(),
                shares: alias.link.to_string(),
            })
            .collect();
        let peers: Vec<Peers> = close
            .map(|((nearness, value), devices)| Peers {
                shares: format!("{} {value}", nearness.as_str()),
                devices: devices.iter().map(ToString::to_string).collect(),
            })
            .collect();
        Self {
            serial: number(HardwareNumber::Serial),
            uuid: number(HardwareNumber::Uuid),
            pci_address: number(HardwareNumber::PciAddress),
            slot: device.and_then(|device| attribute(device, "slot")),
            partitions: (is_read || !partitions.is_empty()).then_some(partitions),
            aliases: (is_read || !aliases.is_empty()).then_some(aliases),
            peers: (is_read || !peers.is_empty()).then_some(peers),
            device_unread: device.is_none(),
            taints: taints
                .iter()
                .map(|taint| Taint::present(taint, &[]))
                .collect(),
            tolerated_by: testimony.objections.iter().filter_map(tolerant).collect(),
            taints_unread: testimony.is_tainted.is_none(),
            tolerations_unread: testimony.is_tainted.is_none()
                || testimony.objections.iter().any(|objection| {
                    let unread = [Kind::ResourceClaim, Kind::ResourceClaimTemplate];
                    unread.map(RemovalObjection::Unread).contains(objection)
                }),
        }
    }

    /// The block that is shown of it, looked at then.
    pub(super) fn lines(&self, looked_at: Time) -> Vec<String> {
        let none = if self.device_unread { UNKNOWN } else { NONE };
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| none.to_owned());
        let aliases = self
            .aliases
            .iter()
            .flatten()
            .map(|one| format!("{} ({})", one.device, one.shares));
        let peers = self
            .peers
            .iter()
            .flatten()
            .map(|one| format!("{} ({})", few(&one.devices), one.shares));
        let partitions = self.partitions.as_deref().unwrap_or_default();
        let taints = self.taints.iter().map(|one| since(one, looked_at));
        let facts = [
            ("Serial", or_none(&self.serial)),
            ("UUID", or_none(&self.uuid)),
            ("PCI address", or_none(&self.pci_address)),
            ("Slot", or_none(&self.slot)),
            ("Partitions", known(partitions, self.partitions.is_none())),
            (
                "Other names",
                known(&aliases.collect::<Vec<_>>(), self.aliases.is_none()),
            ),
            (
                "Peers",
                known(&peers.collect::<Vec<_>>(), self.peers.is_none()),
            ),
            (
                "Tainted",
                known(&taints.collect::<Vec<_>>(), self.taints_unread),
            ),
            (
                "Tolerated by",
                known(&self.tolerated_by, self.tolerations_unread),
            ),
            ("Checked", looked_at.to_string()),
        ];
        let line = |(name, value): (&str, String)| format!("{:<13} {value}", format!("{name}:"));
        facts.into_iter().map(line).collect()
    }
}

fn some(names: &[String]) -> String {
    if names.is_empty() {
        NONE.to_owned()
    } else {
        few(names)
    }
}

/// The names; where none is known and some may be, that.
fn known(names: &[String], may_be_more: bool) -> String {
    if names.is_empty() && may_be_more {
        UNKNOWN.to_owned()
    } else {
        some(names)
    }
}

fn since(taint: &Taint, looked_at: Time) -> String {
    let Some(since) = taint.time_added else {
        return taint.cell();
    };
    let age = human_duration(looked_at.0.duration_since(since.0));
    format!("{} since {since} ({age})", taint.cell())
}

fn tolerant(objection: &RemovalObjection) -> Option<String> {
    if let RemovalObjection::Tolerated { by } = objection {
        return Some(by.to_string());
    }
    None
}

fn number_of(device: &Device, wanted: HardwareNumber) -> Option<String> {
    let mut attributes = device.attributes.iter();
    attributes.find_map(|(name, value)| {
        // A partition publishes the UUID of its card, too; shown as its own, it would name another device.
        let is_own = !name.ends_with("parentUUID");
        let is_it = HardwareNumber::of_attribute(name) == Some(wanted) && is_own;
        is_it.then(|| texts(value).into_iter().next())?
    })
}

fn attribute(device: &Device, wanted: &str) -> Option<String> {
    let mut attributes = device.attributes.iter();
    attributes.find_map(|(name, value)| {
        let id = name.rsplit('/').next().unwrap_or(name);
        (id == wanted).then(|| texts(value).into_iter().next())?
    })
}
