//! Devices that a node's kubelet has not released.
//!
//! Takes rules, what the kubelet says, and what is known of the hardware, and names what is held of what the rules
//! select: the devices themselves, and the same hardware by other names. A device of which nothing was ever
//! published may be any of it.

use std::collections::BTreeSet;

use super::device_removal::RemovalObjection;
use super::forced_deletions::{PodEnd, UnreleasedPod};
use super::hardware::Hardware;
use super::holders::holders;
use crate::model::{
    DeviceId, DeviceTaintRule, DriverName, InUse, Kind, NamespacedName, NodeName, PreparedClaim,
    Snapshot,
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

    /// Which devices are the same hardware; absent where slices could not be read.
    #[must_use]
    pub fn hardware(&self) -> Option<&Hardware> {
        self.hardware.as_ref()
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

/// A pod for which a claim is reserved that holds awaited devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimUser {
    claim: NamespacedName,
    /// The pod, as it is recorded if it is gone and its claim is still prepared: that is a forced deletion.
    pub pod: UnreleasedPod,
}

/// The pods of the claims that hold any of `devices`, on this node.
#[must_use]
pub fn claim_users(
    snapshot: &Snapshot,
    devices: &BTreeSet<DeviceId>,
    node: &NodeName,
) -> Vec<ClaimUser> {
    let holders = holders(snapshot, devices).into_iter();
    let users = holders.flat_map(|holder| {
        let (claim, devices) = (holder.claim.name.clone(), holder.devices);
        let pods = holder.pods.into_iter();
        let pods = pods.filter(|pod| pod.node.as_ref() == Some(node));
        pods.map(move |pod| ClaimUser {
            claim: claim.clone(),
            pod: UnreleasedPod {
                pod: pod.name.clone(),
                uid: pod.uid.clone(),
                node: pod.node.clone(),
                devices: devices.clone(),
                end: PodEnd::ForceDeleted,
            },
        })
    });
    users.collect()
}

/// Those of `users` whose claims are among what the kubelet has `held`, prepared for no pod that it lists.
#[must_use]
pub fn unlisted<'a>(
    users: &'a [ClaimUser],
    held: &[(DeviceId, RemovalObjection)],
) -> Vec<&'a UnreleasedPod> {
    let prepared = held.iter().filter_map(|(_, objection)| {
        if let RemovalObjection::Prepared { claim } = objection.innermost() {
            Some(claim)
        } else {
            None
        }
    });
    let prepared: BTreeSet<&NamespacedName> = prepared.collect();
    let users = users.iter().filter(|user| prepared.contains(&user.claim));
    users.map(|user| &user.pod).collect()
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
        let told = objection.innermost();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{claim_in_use, pod};

    #[test]
    fn pods_that_a_kubelet_no_longer_lists_are_those_of_claims_that_are_prepared_and_in_no_use() {
        let user = pod("ml", "train");
        let claim = claim_in_use(&user);
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let devices: BTreeSet<DeviceId> = results.map(|result| result.device.clone()).collect();
        let device = devices.first().expect("a device").clone();
        let snapshot = Snapshot {
            pods: vec![user.clone()],
            claims: vec![claim.clone()],
            ..Snapshot::default()
        };
        let users = claim_users(&snapshot, &devices, &"node-7".into());
        assert_eq!(users.len(), 1);
        assert!(claim_users(&snapshot, &devices, &"node-8".into()).is_empty());
        let prepared = RemovalObjection::Prepared { claim: claim.name };
        let seen = |objection: RemovalObjection| -> Vec<String> {
            let held = [(device.clone(), objection)];
            let pods = unlisted(&users, &held).into_iter();
            pods.map(|pod| pod.uid.to_string()).collect()
        };
        assert_eq!(seen(prepared.clone()), [user.uid.to_string()]);
        let other_name = RemovalObjection::SameHardware {
            device: device.clone(),
            link: crate::engine::hardware::HardwareLink::Counters,
            objection: Box::new(prepared),
        };
        assert_eq!(seen(other_name), [user.uid.to_string()]);
        let other = RemovalObjection::Prepared {
            claim: crate::engine::testing::name("ml", "other"),
        };
        assert!(seen(other).is_empty());
        assert!(seen(RemovalObjection::NotSettled).is_empty());
    }
}
