//! A device as a row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attributes::AttributeView;
use super::reference::ObjectReference;
use super::taint::Taint;

/// One device. In most fields, null means unknown: objects from which the field is computed could not be read.
/// In `node` and `free`, null can also have the other causes that the table lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow {
    /// The device, as DRIVER/POOL/DEVICE: commands accept it as a DEVICE argument.
    pub device: String,
    /// The node of the device; null if the device is not local to a node, or if unknown.
    pub node: Option<String>,
    /// Whether a claim holds the device, ignoring admin access; null if unknown.
    pub allocated: Option<bool>,
    /// Whether the device is free: no claim holds it, and its counter sets (`sharedCounters` of ResourceSlices) have
    /// enough left to allocate it. Claims with admin access do not count. Null if unknown.
    pub free: Option<bool>,
    /// Number of allocation results that name the device. A device can have several: one for each share, and
    /// one for each request with admin access. Null if unknown.
    pub allocation_count: Option<usize>,
    /// Number of allocation results that name the device with admin access; null if unknown.
    pub admin_allocation_count: Option<usize>,
    /// Whether the driver publishes the device now; a device may be allocated and no longer published. Null
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
    /// Pods that use the hardware of the device through other devices, such as its partitions; absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition_pods: Vec<ObjectReference>,
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
