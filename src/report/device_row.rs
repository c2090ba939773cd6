//! A device as a row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attributes::AttributeView;
use super::taint::ObjectReference;
use super::taint::Taint;
use crate::assess::{Availabilities, Availability, CountSubject};
use crate::engine::{Consumer, DeviceState};
use crate::model::ResourceClaim;

/// One device. In most fields, null means unknown: objects from which the field is computed could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow {
    /// The device, as DRIVER/POOL/DEVICE: commands accept it as a DEVICE argument.
    pub device: String,
    /// The node of the device; null if the device is not local to a node, or if unknown.
    pub node: Option<String>,
    /// Availability for new claims; claims with admin access do not count. Null if unknown.
    pub state: Option<Availability>,
    /// Number of allocation results that name the device. A device can have several: one for each share, and
    /// one for each request with admin access. Null if unknown.
    pub allocation_count: Option<usize>,
    /// Number of allocation results that name the device with admin access; null if unknown.
    pub admin_allocation_count: Option<usize>,
    /// True if the driver publishes the device now; a device may be allocated and no longer published. Null
    /// if unknown.
    pub published: Option<bool>,
    /// Taints of the device: first the driver's taints, then the taints of rules, ordered by the name of
    /// the rule. Null if unknown.
    pub taints: Option<Vec<Taint>>,
    /// The claims that hold the device, including claims with admin access; null if unknown.
    pub claims: Option<Vec<ObjectReference>>,
    /// Those of `claims` that hold the device with admin access only; empty if none is known.
    pub admin_claims: Vec<ObjectReference>,
    /// The pods for which the claims in `claims` are reserved; null if unknown.
    pub pods: Option<Vec<ObjectReference>>,
    /// PodGroups for which the claims in `claims` are reserved; absent if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_groups: Vec<ObjectReference>,
    /// Those of `pods` that use the device with admin access only, such as monitors; empty if none is known.
    pub admin_pods: Vec<ObjectReference>,
    /// Attributes by name, as published by the driver; a name without a domain belongs to the driver. Absent
    /// if --columns is not set, or if no driver publishes the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, AttributeView>>,
    /// Capacities by name, as published by the driver: quantities such as `40Gi`. Absent if
    /// --columns is not set, or if no driver publishes the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<BTreeMap<String, String>>,
}

impl DeviceRow {
    /// The row of a device.
    pub fn new(device: &DeviceState<'_>, availabilities: &Availabilities<'_>) -> Self {
        let is_complete = |subject| availabilities.completeness().is_complete(subject);
        // Found holders are shown even where there may be more; finding nothing in an incomplete list shows nothing.
        let held = device.allocations > 0 || is_complete(CountSubject::Holders);
        let published = device.published || is_complete(CountSubject::Inventory);
        let tainted = !device.taints.is_empty() || is_complete(CountSubject::Taints);
        let taints = device.taints.iter();
        let claims = |claims: &[&ResourceClaim]| -> Vec<ObjectReference> {
            claims.iter().map(|claim| (*claim).into()).collect()
        };
        let consumers = |wanted: fn(&&Consumer<'_>) -> bool| -> Vec<ObjectReference> {
            let consumers = device.consumers.iter().filter(wanted);
            consumers
                .map(|consumer| ObjectReference::new(&consumer.name, consumer.uid))
                .collect()
        };
        Self {
            device: device.id.to_string(),
            node: device.node.map(ToString::to_string),
            state: availabilities.of(device),
            allocation_count: held.then_some(device.allocations),
            admin_allocation_count: held.then_some(device.administrative),
            published: published.then_some(device.published),
            // An inventory has only taints that exist, so that there is no proposed one to look up.
            taints: tainted.then(|| taints.map(|taint| Taint::present(taint, &[])).collect()),
            claims: held.then(|| claims(&device.claims)),
            admin_claims: claims(&device.admin_claims),
            pods: held.then(|| consumers(|consumer| consumer.is_pod())),
            pod_groups: consumers(|consumer| !consumer.is_pod()),
            admin_pods: consumers(|consumer| consumer.is_pod() && consumer.admin),
            attributes: None,
            capacity: None,
        }
    }
}
