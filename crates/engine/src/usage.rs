//! Use of some drivers' devices: the whole that a share is taken of.

use std::collections::BTreeSet;

use foldhash::{HashSet, HashSetExt};

use super::devices::current_slices;
use super::impact::Impact;
use crate::model::{ClaimSource, DriverName, Pod, Snapshot};

/// Devices of some drivers, and pods that use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Devices published in slices of their pool's newest generation, or allocated.
    pub devices: usize,
    /// Pods that a claim with a device of these drivers is reserved for, without those already
    /// terminating.
    pub pods: usize,
}

/// The drivers of the devices that `impact` selects.
pub fn drivers_of(impact: &Impact<'_>) -> BTreeSet<DriverName> {
    impact
        .devices
        .iter()
        .map(|device| device.id.driver.clone())
        .collect()
}

/// Number of devices that the `drivers` publish, and of pods that use them.
pub fn usage(snapshot: &Snapshot, drivers: &BTreeSet<DriverName>) -> Usage {
    // Devices that only an older generation of their pool has are gone, unless a claim holds them.
    let current = current_slices(&snapshot.slices);
    let published = current.iter().map(|slice| slice.devices.len()).sum();
    let mut devices = HashSet::with_capacity(published);
    for slice in current
        .into_iter()
        .filter(|slice| drivers.contains(&slice.driver))
    {
        for device in &slice.devices {
            devices.insert((&slice.driver, &slice.pool.name, &device.name));
        }
    }
    let mut consumers = HashSet::new();
    let mut claims = HashSet::new();
    for claim in &snapshot.claims {
        let results = claim
            .allocation
            .iter()
            .flat_map(|allocation| &allocation.results);
        let mut holds = false;
        for result in results.filter(|result| drivers.contains(&result.device.driver)) {
            holds = true;
            devices.insert((
                &result.device.driver,
                &result.device.pool,
                &result.device.device,
            ));
        }
        if holds {
            claims.insert((claim.name.namespace.as_str(), claim.name.name.as_str()));
            consumers.extend(claim.reserved_for.iter().map(|consumer| &consumer.uid));
        }
    }
    let uses = |pod: &Pod| {
        // As for evictions, both are needed: the claim is reserved for the pod, and the pod names it.
        consumers.contains(&pod.uid)
            && claim_names(pod).any(|name| claims.contains(&(pod.name.namespace.as_str(), name)))
    };
    let running = snapshot.pods.iter().filter(|pod| pod.deletion.is_none());
    Usage {
        devices: devices.len(),
        pods: running.filter(|pod| uses(pod)).count(),
    }
}

/// The names of the claims that the pod uses, as far as they are known.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let named = pod.claims.iter().filter_map(|claim| match &claim.source {
        ClaimSource::Claim(name) => Some(name.as_str()),
        ClaimSource::Template { generated, .. } => generated.as_ref().map(|name| name.as_str()),
        ClaimSource::Unknown => None,
    });
    named.chain(
        pod.extended_resource_claim
            .as_ref()
            .map(|name| name.as_str()),
    )
}
