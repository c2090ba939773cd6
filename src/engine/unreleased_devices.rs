//! Devices that a node's kubelet has not released.
//!
//! Takes rules, what the kubelet says, and what is known of the hardware, and names what is held of what the rules
//! select: the devices themselves, and the same hardware by other names. A device of which nothing was ever
//! published may be any of it.

use std::collections::BTreeSet;

use super::device_removal::RemovalObjection;
use super::hardware::Hardware;
use crate::model::{
    DeviceId, DeviceTaintRule, DriverName, InUse, Kind, NamespacedName, PreparedClaim,
};

/// What is waited for to be given back.
#[derive(Clone, Debug, Default)]
pub struct WatchedDevices {
    rules: Vec<DeviceTaintRule>,
    /// What the rules select as far as it is published or allocated, and all that is the same hardware.
    devices: BTreeSet<DeviceId>,
    /// Absent where slices could not be read.
    hardware: Option<Hardware>,
}

impl WatchedDevices {
    /// What `rules` select, of which `selected` is known by name; without `hardware` where slices could not be read.
    #[must_use]
    pub fn new(
        rules: &[DeviceTaintRule],
        selected: &BTreeSet<DeviceId>,
        hardware: Option<Hardware>,
    ) -> Self {
        let closure = hardware.as_ref().map(|known| known.closure(selected));
        Self {
            rules: rules.to_vec(),
            devices: closure.unwrap_or_else(|| selected.clone()),
            hardware,
        }
    }

    /// Why the device counts, if it does.
    fn reason(&self, device: &DeviceId, objection: &RemovalObjection) -> Option<RemovalObjection> {
        if self.rules.iter().any(|rule| may_select(rule, device)) {
            return Some(objection.clone());
        }
        if self.rules.is_empty() {
            return None;
        }
        let Some(hardware) = &self.hardware else {
            return Some(RemovalObjection::Unread(Kind::ResourceSlice));
        };
        if !hardware.knows(device) {
            let device = device.clone();
            return Some(RemovalObjection::MayBeSameHardware { device });
        }
        if !self.devices.contains(device) {
            return None;
        }
        let aliases = hardware.aliases(device).into_iter();
        let mut selected = aliases.filter(|alias| {
            self.rules
                .iter()
                .any(|rule| may_select(rule, &alias.device))
        });
        selected.next().map(|alias| RemovalObjection::SameHardware {
            device: alias.device,
            link: alias.link,
            objection: Box::new(objection.clone()),
        })
    }
}

/// What is `wanted` and the kubelet of a node has not given back, each with what shows that. A kubelet that
/// cannot speak of claims says nothing, which is no reason to call any free.
#[must_use]
pub fn still_held(
    wanted: &WatchedDevices,
    in_use: &InUse,
    prepared: &[PreparedClaim],
) -> Vec<(DeviceId, RemovalObjection)> {
    let used = in_use.devices().map(|used| {
        let objection = RemovalObjection::InUse {
            pod: used.pod.name.clone(),
            container: used.container.name.clone(),
            claim: used.claim.name.clone(),
        };
        (used.device.device.clone(), objection)
    });
    let noted = prepared.iter().flat_map(|claim| {
        let objection = RemovalObjection::Prepared {
            claim: claim.name.clone(),
        };
        let devices = claim.devices.iter();
        devices.map(move |device| (device.clone(), objection.clone()))
    });
    let all = used.chain(noted).filter_map(|(device, objection)| {
        let reason = wanted.reason(&device, &objection)?;
        Some((device, reason))
    });
    let mut held: Vec<(DeviceId, RemovalObjection)> = all.collect();
    held.extend(
        prepared
            .iter()
            .flat_map(|claim| vague(&wanted.rules, claim)),
    );
    held.sort();
    held.dedup();
    let mut known: BTreeSet<(DeviceId, Option<NamespacedName>)> = BTreeSet::new();
    // What is in use is noted too; once is enough for each claim.
    held.retain(|(device, objection)| {
        let told = if let RemovalObjection::SameHardware { objection, .. } = objection {
            objection
        } else {
            objection
        };
        let claim = told.subject().claim.cloned();
        known.insert((device.clone(), claim)) || is_use(told)
    });
    held
}

fn is_use(objection: &RemovalObjection) -> bool {
    matches!(objection, RemovalObjection::InUse { .. })
}

/// What drivers may hold for a claim that have not said what, where a rule selects anything of theirs; any of
/// their devices, as people write it.
fn vague(
    rules: &[DeviceTaintRule],
    claim: &PreparedClaim,
) -> impl Iterator<Item = (DeviceId, RemovalObjection)> {
    let may_be_meant = |driver: &&DriverName| {
        let selectors = rules.iter().map(|rule| rule.selector.as_ref());
        selectors
            .map(|selector| selector.and_then(|one| one.driver.as_ref()))
            .any(|selected| selected.is_none_or(|selected| selected == *driver))
    };
    let drivers = claim.silent_drivers.iter().filter(may_be_meant);
    drivers.map(|driver| {
        let any = DeviceId {
            driver: driver.clone(),
            pool: "*".into(),
            device: "*".into(),
        };
        let claim = claim.name.clone();
        (any, RemovalObjection::MayBePrepared { claim })
    })
}

/// Whether the rule selects the device as far as names say; what selects by anything else may.
#[must_use]
pub fn may_select(rule: &DeviceTaintRule, device: &DeviceId) -> bool {
    let selector = rule.selector.as_ref();
    selector.is_none_or(|selector| selector.has_names_of(device))
}
