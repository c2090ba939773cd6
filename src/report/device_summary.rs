//! Devices per node.

use super::device_counts::NodeCounts;
use super::device_row::DeviceRow;
use super::table::{Column, Table};
use crate::model::Count;

/// A row for each node: how many devices it has, how many of them are allocated, free and tainted.
pub(super) fn table(devices: &[DeviceRow], nodes: &[NodeCounts]) -> Table {
    let rows = nodes.iter().map(|node| {
        let here: Vec<&DeviceRow> = devices.iter().filter(|row| is_on(row, node)).collect();
        let [devices, allocated, tainted] = node.counts.known();
        // Counted and not subtracted: a device whose counters its partitions use is neither allocated nor free.
        // Devices whose slices were not read may be free.
        let free = match devices.exact() {
            Some(_) => free(&here),
            None => free(&here).or_more(),
        };
        let cells = [devices, allocated, free, tainted]
            .into_iter()
            .map(|count| count.to_string());
        [node.named().to_owned()].into_iter().chain(cells).collect()
    });
    Table {
        columns: vec![
            Column::text("NODE"),
            Column::number("DEVICES"),
            Column::number("ALLOCATED"),
            Column::number("FREE"),
            Column::number("TAINTED"),
        ],
        rows: rows.collect(),
    }
}

fn is_on(row: &DeviceRow, node: &NodeCounts) -> bool {
    (row.node.as_deref(), row.published.is_some()) == node.place()
}

/// How many are free, as far as that is known.
fn free(devices: &[&DeviceRow]) -> Count {
    let with = |free: Option<bool>| devices.iter().filter(|row| row.free == free).count();
    let (known, unknown) = (with(Some(true)), with(None));
    Count::between(known, known.saturating_add(unknown))
}
