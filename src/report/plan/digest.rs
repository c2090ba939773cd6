//! Digest of a plan, which detects edits.

use super::view::PlanUnit;
use crate::assess::digest::{fields, hash};
use crate::report::impact::{Device, Pod};
use crate::report::metadata::Metadata;

/// Prefix of the digest.
const ALGORITHM: &str = "sha256:";

/// Input of a digest.
pub(super) struct DigestInput<'p> {
    pub(super) metadata: &'p Metadata,
    pub(super) units: &'p [PlanUnit],
    pub(super) devices: &'p [Device],
    pub(super) pods: &'p [Pod],
}

/// `sha256:` and the hash of the cluster, the units in their order with their devices, the identity of these devices, and the
/// pods that use them with their outcomes. The input of the hash is text, one line for each, as in impact reports.
pub(super) fn digest(plan: &DigestInput<'_>) -> String {
    let cluster = [
        Some("cluster"),
        plan.metadata.context.as_deref(),
        plan.metadata.server.as_deref(),
    ];
    let mut lines = vec![fields(cluster)];
    // Units are drained in this order, so that another order is another plan.
    lines.extend(plan.units.iter().map(|unit| {
        let devices = unit.devices.iter().map(|device| Some(device.as_str()));
        fields(
            [Some("unit"), Some(unit.unit.as_str())]
                .into_iter()
                .chain(devices),
        )
    }));
    lines.extend(plan.devices.iter().map(|device| {
        let identity = device
            .identity
            .iter()
            .flat_map(|(name, value)| [name, value])
            .map(|text| Some(text.as_str()));
        fields(
            [Some("device"), Some(device.device.as_str())]
                .into_iter()
                .chain(identity),
        )
    }));
    let mut pods: Vec<String> = plan
        .pods
        .iter()
        .map(|pod| fields([Some("pod"), Some(&pod.uid), Some(pod.outcome.as_str())]))
        .collect();
    pods.sort_unstable();
    lines.extend(pods);
    hash(ALGORITHM, &lines)
}
