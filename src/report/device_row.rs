//! A device as a row.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::table::{Column, Table, UNKNOWN_COUNT, optional};
use super::taint::{ObjectReference, Taint};
use crate::assess::{Availabilities, Availability, CountSubject};
use crate::engine::rule_lifecycle::is_blocked;
use crate::engine::{Consumer, DeviceState};
use crate::model::{AttributeValue, Device, DriverName, NodeName, ResourceClaim, UNKNOWN};

/// One device. In most fields, null means unknown: objects from which the field is computed could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_groups: Vec<ObjectReference>,
    /// Those of `pods` that use the device with admin access only, such as monitors; empty if none is known.
    pub admin_pods: Vec<ObjectReference>,
    /// Attributes by name, as published by the driver; a name without a domain belongs to the driver. A value is a
    /// boolean, an integer, a string (also for a version), or a list of one of these types; null for a type that this
    /// plugin does not know. Absent
    /// if --columns is not set, or if no driver publishes the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, Value>>,
    /// Capacities by name, as published by the driver: quantities such as `40Gi`. Absent if
    /// --columns is not set, or if no driver publishes the device.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// Counts of the listed devices of a driver on a node; a count is null if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverCounts {
    /// The node; null for devices that are not local to a node, and for devices whose node is unknown.
    pub node: Option<String>,
    /// The driver.
    pub driver: String,
    /// Devices that use no counters, or all of a counter set.
    pub device_count: Option<usize>,
    /// Those of them that claims hold as a whole or in parts, admin access aside.
    pub used_device_count: Option<usize>,
    /// Those of them that are free.
    pub free_device_count: Option<usize>,
    /// Those of them with a taint of effect NoSchedule or NoExecute.
    pub tainted_device_count: Option<usize>,
    /// The other devices: partitions.
    pub partition_count: Option<usize>,
    /// Partitions that claims hold, admin access aside.
    pub used_partition_count: Option<usize>,
}

impl DriverCounts {
    /// Counts of all `devices`, by node and driver; devices that are local to no node come last.
    pub fn of(devices: &[&DeviceState<'_>], availabilities: &Availabilities<'_>) -> Vec<Self> {
        type Place<'a> = (bool, Option<&'a NodeName>, &'a DriverName);
        let mut places: BTreeMap<Place<'_>, Vec<&DeviceState<'_>>> = BTreeMap::new();
        for state in devices {
            let place = (state.node.is_none(), state.node, &state.id.driver);
            places.entry(place).or_default().push(state);
        }
        let counts = places.into_iter().map(|((_, node, driver), devices)| Self {
            node: node.map(ToString::to_string),
            driver: driver.to_string(),
            ..Self::of_driver(&devices, availabilities)
        });
        counts.collect()
    }

    fn of_driver(devices: &[&DeviceState<'_>], availabilities: &Availabilities<'_>) -> Self {
        let is_complete = |subject| availabilities.completeness().is_complete(subject);
        let (parts, whole): (Vec<&DeviceState<'_>>, Vec<_>) = devices
            .iter()
            .partition(|state| availabilities.is_partition(&state.id));
        let known = whole.iter().map(|state| availabilities.of(state));
        let known: Option<Vec<Availability>> = known.collect();
        let free = known.map(|known| {
            let free = known.iter().filter(|found| **found == Availability::Free);
            free.count()
        });
        let all = |number: usize| is_complete(CountSubject::Inventory).then_some(number);
        let used = |devices: &[&DeviceState<'_>]| {
            let used = devices.iter().filter_map(|state| availabilities.of(state));
            let used = used.filter(|found| found.is_used()).count();
            all(used).filter(|_| is_complete(CountSubject::Holders))
        };
        let tainted = whole
            .iter()
            .filter(|state| is_blocked(&state.taints))
            .count();
        Self {
            device_count: all(whole.len()),
            used_device_count: used(&whole),
            free_device_count: free.and_then(all),
            tainted_device_count: all(tainted).filter(|_| is_complete(CountSubject::Taints)),
            partition_count: all(parts.len()),
            used_partition_count: used(&parts),
            ..Self::default()
        }
    }
}

/// A row for each node and driver.
pub(super) fn summary(counts: &[DriverCounts]) -> Table {
    let cell = |count: Option<usize>| {
        count.map_or_else(|| UNKNOWN_COUNT.to_owned(), |count| count.to_string())
    };
    let partitions = |counts: &DriverCounts| match counts.partition_count {
        Some(0) => "-".to_owned(),
        all => format!("{} of {}", cell(counts.used_partition_count), cell(all)),
    };
    Table::of(counts)
        .column(Column::text("NODE"), |it| optional(it.node.as_deref()))
        .column(Column::text("DRIVER"), |it| it.driver.clone())
        .column(Column::number("DEVICES"), |it| cell(it.device_count))
        .column(Column::number("USED"), |it| cell(it.used_device_count))
        .column(Column::number("FREE"), |it| cell(it.free_device_count))
        .column(Column::number("TAINTED"), |it| {
            cell(it.tainted_device_count)
        })
        .column(Column::text("PARTITIONS USED"), |it| partitions(it))
        .table()
}

/// The value of an attribute as data; null for a type that this plugin does not know: the device has the attribute,
/// whatever its type is.
fn value_of(value: &AttributeValue) -> Value {
    let texts = |texts: &[Arc<str>]| texts.iter().map(|text| &**text).collect();
    match value {
        AttributeValue::Int(number) => (*number).into(),
        AttributeValue::Bool(value) => (*value).into(),
        AttributeValue::String(text) | AttributeValue::Version(text) => (&**text).into(),
        AttributeValue::Ints(numbers) => numbers.clone().into(),
        AttributeValue::Bools(values) => values.clone().into(),
        AttributeValue::Strings(several) | AttributeValue::Versions(several) => texts(several),
        AttributeValue::Unknown => Value::Null,
    }
}

/// The value as tables show it.
pub(super) fn cell_of(value: &Value) -> String {
    match value {
        Value::Null => UNKNOWN.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell_of).collect::<Vec<_>>().join(","),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

pub(super) fn attributes_of(device: &Device) -> BTreeMap<String, Value> {
    let attributes = device
        .attributes
        .iter()
        .map(|(name, value)| (name.to_string(), value_of(value)));
    attributes.collect()
}

pub(super) fn capacity_of(device: &Device) -> BTreeMap<String, String> {
    let capacity = device
        .capacity
        .iter()
        .map(|(name, written)| (name.to_string(), written.to_string()));
    capacity.collect()
}
