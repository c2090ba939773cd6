//! Devices that are free once pods are evicted.
//!
//! A device is free if no claim holds it, admin access aside, and if its counters are left: a partition in use keeps
//! the whole device from being free. A claim is released only if all of its users leave, so that a claim without
//! users keeps its device.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use crate::assess::open_parts::device_plugins;
use crate::engine::allocator::PartitionedPools;
use crate::engine::impact::replacement_takes_claim;
use crate::engine::{Impact, PodImpact, Verdict};
use crate::model::{DeviceId, Kind, ResourceClaim, Snapshot, Uid};

/// Holders of devices, and which pods release their claims when they are evicted.
pub(super) struct DeviceRelease<'a> {
    holders: HashMap<&'a DeviceId, Vec<&'a ResourceClaim>>,
    pools: PartitionedPools<'a>,
    /// Devices that no claim holds, and whose counters are in use.
    blocked: BTreeSet<DeviceId>,
    /// Devices that a device plugin may offer to pods without claims.
    offered: BTreeSet<DeviceId>,
    /// Pods that are terminating already.
    terminating: HashSet<&'a Uid>,
    /// Evicted pods that give their claims back.
    releasing: HashSet<&'a Uid>,
}

impl<'a> DeviceRelease<'a> {
    /// Holders of the devices of `snapshot`, whose pods have the verdicts of `impact`.
    pub(super) fn new(impact: &Impact<'a>, snapshot: &'a Snapshot) -> Self {
        let mut holders: HashMap<&DeviceId, Vec<&ResourceClaim>> = HashMap::default();
        for claim in &snapshot.claims {
            for result in claim.exclusive_results() {
                holders.entry(&result.device).or_default().push(claim);
            }
        }
        let pods = |wanted: fn(&PodImpact<'_>) -> bool| {
            let pods = impact.pods.iter().filter(move |pod| wanted(pod));
            pods.map(|pod| &pod.pod.uid).collect()
        };
        let pools = PartitionedPools::new(&snapshot.slices);
        Self {
            blocked: pools.blocked(|device| holders.contains_key(device)),
            offered: device_plugins(impact, &snapshot.nodes)
                .into_keys()
                .collect(),
            terminating: pods(|pod| pod.verdict == Verdict::Terminating),
            releasing: pods(|pod| pod.is_evicted() && releases_claims(pod)),
            holders,
            pools,
        }
    }

    /// The `devices` that are free once the pods for which `is_evicted` holds are evicted.
    pub(super) fn free<'d>(
        &self,
        devices: &'d [DeviceId],
        is_evicted: impl Fn(&Uid) -> bool,
    ) -> BTreeSet<&'d DeviceId> {
        let leaves = |uid: &Uid| {
            self.terminating.contains(uid) || (self.releasing.contains(uid) && is_evicted(uid))
        };
        let is_released = |claim: &&ResourceClaim| {
            let mut users = claim.reserved_for.iter();
            !claim.reserved_for.is_empty() && users.all(|user| leaves(&user.uid))
        };
        let is_held = |device: &DeviceId| {
            let holders = self.holders.get(device);
            self.offered.contains(device)
                || holders.is_some_and(|claims| !claims.iter().all(is_released))
        };
        let unheld = devices.iter().filter(|device| !is_held(device));
        let mut free: BTreeSet<&DeviceId> = unheld.collect();
        if free.iter().any(|device| self.blocked.contains(device)) {
            // The partitions that block it may be released, too.
            let blocked = self.pools.blocked_in(free.iter().copied(), is_held);
            free.retain(|device| !blocked.contains(device));
        }
        free
    }
}

/// Release of the claims of an evicted pod, and of its devices with them.
//
// A DaemonSet's pod stays in a drain, unless the user includes it.
fn releases_claims(pod: &PodImpact<'_>) -> bool {
    let owner = pod.pod.controller.as_ref();
    let kind = owner.and_then(|owner| owner.workload_kind());
    kind != Some(Kind::DaemonSet) && !replacement_takes_claim(pod)
}
