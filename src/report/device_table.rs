//! Table of devices.

use std::collections::BTreeMap;

use super::device_counts::{DeviceCounts, NodeCounts};
use super::device_row::DeviceRow;
use super::reference::ObjectReference;
use super::table::{Column, Group, Grouped, NONE, Table, optional};
use super::taint::Taint;
use crate::model::UNKNOWN;
use crate::naming::phrase::counted;

/// What is listed.
pub(super) struct Listed<'a> {
    /// The devices, ordered by name.
    pub(super) devices: &'a [DeviceRow],
    /// How many there are on each node.
    pub(super) nodes: &'a [NodeCounts],
    /// How many there are in all.
    pub(super) summary: &'a DeviceCounts,
    /// Attributes and capacities with a column, as [DOMAIN/]NAME.
    pub(super) columns: &'a [String],
}

/// The devices, node by node.
pub(super) fn table(report: &Listed<'_>) -> Grouped {
    let mut columns = vec![
        Column::text("DEVICE"),
        Column::text("NODE"),
        Column::text("ALLOCATED"),
        Column::prose("TAINTS"),
        // Twice: a row on a terminal has room for one user and a number, wide output and documents have it for all.
        Column::text("CLAIMS").narrow(),
        Column::text("PODS").narrow(),
        Column::text("CLAIMS").wide(),
        Column::text("PODS").wide(),
        Column::text("PUBLISHED").wide(),
    ];
    let headers = report.columns.iter().map(|name| header(name));
    columns.extend(headers.map(Column::asked));
    let mut by_place: BTreeMap<(Option<&str>, bool), Vec<&DeviceRow>> = BTreeMap::new();
    for row in report.devices {
        by_place.entry(place(row)).or_default().push(row);
    }
    // In the order of the counts, which have the devices without a node last.
    let groups: Vec<(String, Vec<&DeviceRow>)> = report
        .nodes
        .iter()
        .map(|node| {
            let rows = by_place.remove(&node.place());
            (node.title(), rows.unwrap_or_default())
        })
        .collect();
    let rows = groups.iter().flat_map(|(_, rows)| rows);
    Grouped {
        table: Table {
            columns,
            rows: rows.map(|row| cells(row, report)).collect(),
        },
        groups: groups
            .iter()
            .map(|(title, rows)| Group {
                title: title.clone(),
                rows: rows.len(),
            })
            .collect(),
        // The node is not among them: the line above the group says it.
        head: vec![0, 2],
        by: 1,
    }
}

/// All nodes together, where there are several.
pub(super) fn total(report: &Listed<'_>) -> Option<String> {
    let several = report.nodes.len() > 1;
    let nodes = report.nodes.iter().filter(|node| node.node.is_some());
    let least = match report.summary.known()[0].exact() {
        Some(_) => "",
        // Without slices, nodes without allocated devices are unknown.
        None => "at least ",
    };
    let nodes = format!("{least}{}", counted(nodes.count(), "node"));
    several.then(|| format!("{nodes}: {}", report.summary.in_words()))
}

/// The node of a device, and whether it is known that there is none.
fn place(row: &DeviceRow) -> (Option<&str>, bool) {
    (row.node.as_deref(), row.published.is_some())
}

/// The name of an attribute as that of a column, as `kubectl get -L` has it.
fn header(name: &str) -> String {
    let id = name.rsplit('/').next().unwrap_or(name);
    id.to_uppercase()
}

fn cells(row: &DeviceRow, report: &Listed<'_>) -> Vec<String> {
    let claims = row.claims.as_deref().map(named);
    let claims = users(claims.as_deref(), &named(&row.admin_claims));
    let groups = row
        .pod_groups
        .iter()
        .map(|group| format!("podgroups:{group}"));
    let pods = row.pods.as_deref().map(named);
    let pods: Option<Vec<String>> = pods.map(|pods| pods.into_iter().chain(groups).collect());
    let pods = users(pods.as_deref(), &named(&row.admin_pods));
    let mut cells = vec![
        row.device.clone(),
        node(row),
        allocated(row),
        taints(row),
        claims.short,
        pods.short,
        claims.long,
        pods.long,
        known(row.published.map(yes_or_no)),
    ];
    let columns = report.columns.iter();
    cells.extend(columns.map(|name| attribute_cell(row, name)));
    cells
}

fn node(row: &DeviceRow) -> String {
    match (&row.node, row.published) {
        // Where slices could not be read, one of them may name the node.
        (None, None) => UNKNOWN.to_owned(),
        (node, _) => optional(node.as_deref()),
    }
}

fn taints(row: &DeviceRow) -> String {
    known(row.taints.as_ref().map(|taints| {
        let taints: Vec<_> = taints.iter().map(Taint::cell).collect();
        optional(Some(&taints.join(", ")))
    }))
}

/// Whether somebody works with the device; administrators are said apart, since they keep nobody from
/// it.
fn allocated(row: &DeviceRow) -> String {
    let (Some(all), Some(admin)) = (row.allocation_count, row.admin_allocation_count) else {
        return UNKNOWN.to_owned();
    };
    let working = all.saturating_sub(admin);
    let more: Vec<String> = [
        (working > 1).then(|| working.to_string()),
        (admin > 0).then(|| format!("+{admin} admin")),
        by_partitions(row),
        (working == 0).then(|| by_counters(row)).flatten(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let answer = yes_or_no(working > 0);
    if more.is_empty() {
        answer.to_owned()
    } else {
        format!("{answer} ({})", more.join(", "))
    }
}

/// Who uses the device through its partitions.
fn by_partitions(row: &DeviceRow) -> Option<String> {
    let pods = row.partition_pods.len();
    (pods > 0).then(|| format!("{} on partitions", counted(pods, "pod")))
}

/// That devices in use have taken of its counters what it needs, such as the whole card of a partition.
fn by_counters(row: &DeviceRow) -> Option<String> {
    (row.free == Some(false) && row.partition_pods.is_empty())
        .then(|| "shared counters in use".to_owned())
}

/// The names of objects, as text has them.
fn named(objects: &[ObjectReference]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

/// The users of a device: in short, and all of them.
struct Users {
    short: String,
    long: String,
}

/// Those who work with the device first; administrators, such as monitors, never stand for them.
fn users(all: Option<&[String]>, admin: &[String]) -> Users {
    let Some(all) = all else {
        return Users {
            short: UNKNOWN.to_owned(),
            long: UNKNOWN.to_owned(),
        };
    };
    let working: Vec<&str> = all
        .iter()
        .filter(|user| !admin.contains(user))
        .map(String::as_str)
        .collect();
    // An administrator is named where nobody works with the device.
    let (first, mark, admins) = match (working.first(), admin.first()) {
        (Some(first), _) => (*first, None, admin.len()),
        (None, Some(first)) => (first.as_str(), Some("admin"), admin.len().saturating_sub(1)),
        (None, None) => (NONE, None, 0),
    };
    let others = [(working.len().saturating_sub(1), ""), (admins, " admin")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("+{number}{what}"));
    let more: Vec<String> = mark.map(str::to_owned).into_iter().chain(others).collect();
    let short = if more.is_empty() {
        first.to_owned()
    } else {
        format!("{first} ({})", more.join(", "))
    };
    let marked = admin.iter().map(|user| format!("{user} (admin)"));
    let named = working.iter().map(ToString::to_string).chain(marked);
    let long: Vec<String> = named.collect();
    Users {
        short,
        long: optional(Some(&long.join(", "))),
    }
}

fn known(cell: Option<impl Into<String>>) -> String {
    cell.map_or_else(|| UNKNOWN.to_owned(), Into::into)
}

fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// Everything that a device has by name, attributes first.
fn all(row: &DeviceRow) -> Option<Vec<(&str, String)>> {
    let attributes = row
        .attributes
        .as_ref()?
        .iter()
        .map(|(name, value)| (name.as_str(), value.cell()));
    let capacity = row
        .capacity
        .iter()
        .flatten()
        .map(|(name, written)| (name.as_str(), written.clone()));
    Some(attributes.chain(capacity).collect())
}

/// What a device has of that name; without a domain, that of any domain.
fn attribute_cell(row: &DeviceRow, wanted: &str) -> String {
    let driver = row.device.split('/').next().unwrap_or_default();
    let is_meant = |name: &str| {
        // As upstream: an attribute without a domain belongs to the domain of its driver.
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        match wanted.split_once('/') {
            Some((of, wanted)) => of == domain && wanted == id,
            None => wanted == id,
        }
    };
    let Some(all) = all(row) else {
        return UNKNOWN.to_owned();
    };
    // Perhaps several: a name without a domain is meant in every domain.
    let found = all.into_iter().filter(|(name, _)| is_meant(name));
    let cells: Vec<String> = found.map(|(_, cell)| cell).collect();
    optional(Some(&cells.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::attributes::AttributeView;

    fn row(published: bool) -> DeviceRow {
        let attributes = [
            ("model", AttributeView::Text("H100".to_owned())),
            ("index", AttributeView::Int(3)),
            ("nic.example.com/model", AttributeView::Bool(true)),
            ("odd", AttributeView::Unknown),
            (
                "zones",
                AttributeView::Texts(vec!["a".to_owned(), "b".to_owned()]),
            ),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value));
        let capacity = [("memory".to_owned(), "80Gi".to_owned())];
        DeviceRow {
            device: "gpu.example.com/node-7/gpu-0".to_owned(),
            node: None,
            allocated: None,
            free: None,
            allocation_count: None,
            admin_allocation_count: None,
            published: Some(published),
            taints: None,
            claims: None,
            admin_claims: Vec::new(),
            pods: None,
            pod_groups: Vec::new(),
            admin_pods: Vec::new(),
            partition_pods: Vec::new(),
            attributes: published.then(|| attributes.into()),
            capacity: published.then(|| capacity.into()),
        }
    }

    #[test]
    fn attributes_are_found_with_their_domain_or_in_any() {
        for (wanted, cell) in [
            ("model", "H100, true"),
            ("gpu.example.com/model", "H100"),
            ("nic.example.com/model", "true"),
            ("x.example.com/model", "<none>"),
            ("index", "3"),
            ("memory", "80Gi"),
            ("zones", "a,b"),
            ("odd", "<unknown>"),
            ("absent", "<none>"),
        ] {
            assert_eq!(attribute_cell(&row(true), wanted), cell, "{wanted}");
            assert_eq!(attribute_cell(&row(false), wanted), "<unknown>", "{wanted}");
        }
    }

    #[test]
    fn values_are_data_of_their_types() {
        let json = serde_json::to_value(row(true)).unwrap();
        assert_eq!(json["attributes"]["index"], 3);
        assert_eq!(json["attributes"]["odd"], serde_json::Value::Null);
        assert_eq!(json["attributes"]["zones"][1], "b");
        assert_eq!(json["capacity"]["memory"], "80Gi");
        assert_eq!(
            serde_json::to_value(row(false)).unwrap().get("attributes"),
            None
        );
    }
}
