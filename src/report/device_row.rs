//! A device as a row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attributes::AttributeView;
use super::reference::ObjectReference;
use super::taint::Taint;

/// One device. What is null is not known: nothing was found, and what it is found in could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow {
    /// The device, as DRIVER/POOL/DEVICE: what every command takes as a DEVICE argument.
    pub device: String,
    /// Its node; null when it is not local to one, and when that is not known.
    pub node: Option<String>,
    /// Whether a claim holds it, other than with admin access only; null when that is not known.
    pub allocated: Option<bool>,
    /// Whether it is free: not allocated to any claim, ignoring allocations with admin access. Null
    /// if unknown.
    pub free: Option<bool>,
    /// How many allocation results name it; more than one for shares and administrative access. Null
    /// when that is not known.
    pub allocation_count: Option<usize>,
    /// How many of them are for administration; null when that is not known.
    pub admin_allocation_count: Option<usize>,
    /// Whether its driver publishes it now; an allocated device need not be published any more. Null
    /// when that is not known.
    pub published: Option<bool>,
    /// Its taints: the driver's first, then those of rules by name.
    pub taints: Option<Vec<Taint>>,
    /// The dedications that it is part of, by the taints of their rules; null when rules are not known.
    #[serde(default)]
    pub dedications: Option<Vec<String>>,
    /// The claims that hold it.
    pub claims: Option<Vec<ObjectReference>>,
    /// Those of the claims that hold it for administration only.
    pub admin_claims: Vec<ObjectReference>,
    /// The pods that the claims are reserved for.
    pub pods: Option<Vec<ObjectReference>>,
    /// The PodGroups that the claims are reserved for as a whole; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_groups: Vec<ObjectReference>,
    /// The pods that use its hardware through other devices, such as partitions of it; absent where there
    /// are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition_pods: Vec<ObjectReference>,
    /// Those of the pods that use it for administration only, such as monitors.
    pub admin_pods: Vec<ObjectReference>,
    /// Its attributes by name, as its driver writes them: a name without a domain is the driver's.
    /// Absent if not requested, and if unknown because no driver publishes the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, AttributeView>>,
    /// Its capacities by name, as its driver writes them; absent as attributes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<BTreeMap<String, String>>,
}
