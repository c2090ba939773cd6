//! Counts of devices by node and driver.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{Column, Table, UNKNOWN_COUNT, optional};
use crate::assess::{Availabilities, Availability, CountSubject};
use crate::engine::DeviceState;
use crate::engine::rule_lifecycle::is_blocked;
use crate::model::{DriverName, NodeName};

/// Counts of the listed devices of a driver on a node; a count is null if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    let rows = counts.iter().map(|counts| {
        let partitions = match counts.partition_count {
            Some(0) => "-".to_owned(),
            all => format!("{} of {}", cell(counts.used_partition_count), cell(all)),
        };
        vec![
            optional(counts.node.as_deref()),
            counts.driver.clone(),
            cell(counts.device_count),
            cell(counts.used_device_count),
            cell(counts.free_device_count),
            cell(counts.tainted_device_count),
            partitions,
        ]
    });
    Table {
        columns: vec![
            Column::text("NODE"),
            Column::text("DRIVER"),
            Column::number("DEVICES"),
            Column::number("USED"),
            Column::number("FREE"),
            Column::number("TAINTED"),
            Column::text("PARTITIONS USED"),
        ],
        rows: rows.collect(),
    }
}
