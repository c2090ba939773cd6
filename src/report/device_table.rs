//! Table of devices.

use std::collections::BTreeSet;

use super::device_row::DeviceRow;
use super::table::{Column, Group, Grouped, Table, UNKNOWN_COUNT, first_of, optional};
use super::taint::ObjectReference;
use super::taint::Taint;
use crate::assess::Availability;
use crate::naming::phrase::few;

/// The devices below a line for each pool, with a column for each of these attributes.
pub(super) fn grouped(devices: &[DeviceRow], attributes: &[String]) -> Grouped {
    let mut table = table(devices, attributes);
    let mut groups: Vec<Group> = Vec::new();
    for (row, cells) in devices.iter().zip(&mut table.rows) {
        let (pool, name) = row.device.rsplit_once('/').unwrap_or_default();
        if let Some(cell) = cells.first_mut() {
            *cell = name.to_owned();
        }
        match groups.last_mut() {
            Some(group) if group.title == pool => group.rows = group.rows.saturating_add(1),
            Some(_) | None => groups.push(Group {
                title: pool.to_owned(),
                rows: 1,
            }),
        }
    }
    Grouped { table, groups }
}

/// The devices with their full names.
pub(super) fn table(devices: &[DeviceRow], attributes: &[String]) -> Table {
    let mut columns = vec![
        Column::text("DEVICE"),
        Column::text("NODE").wide(),
        Column::text("STATE"),
        // Twice: a row on a terminal has room for one and a number, wide output and documents have it for all.
        Column::text("TAINTS").narrow(),
        Column::text("TAINTS").wide(),
        Column::text("PUBLISHED").wide(),
    ];
    columns.extend(attributes.iter().map(|name| Column::asked(header(name))));
    columns.extend([
        Column::text("CLAIMS").wide(),
        Column::long("PODS").narrow(),
        Column::text("PODS").wide(),
    ]);
    Table {
        columns,
        rows: devices.iter().map(|row| cells(row, attributes)).collect(),
    }
}

/// The pods with admin access, such as monitors, in one line; absent if there are none.
pub(super) fn admin_line(devices: &[DeviceRow]) -> Option<String> {
    let watched = devices.iter().filter(|row| !row.admin_pods.is_empty());
    let number = watched.clone().count();
    let pods: BTreeSet<String> = watched.flat_map(|row| named(&row.admin_pods)).collect();
    let pods: Vec<String> = pods.into_iter().collect();
    let which = match devices.len() {
        all if all == number => "all".to_owned(),
        all => format!("{number} of {all} devices"),
    };
    (number > 0).then(|| format!("admin access to {which}: {}", few(&pods)))
}

/// The name of an attribute as that of a column, as `kubectl get -L` has it.
fn header(name: &str) -> String {
    let id = name.rsplit('/').next().unwrap_or(name);
    id.to_uppercase()
}

fn cells(row: &DeviceRow, attributes: &[String]) -> Vec<String> {
    let taints = |cell: fn(&Taint) -> String| -> Option<Vec<String>> {
        Some(row.taints.as_ref()?.iter().map(cell).collect())
    };
    let (claims, pods) = (claims(row), pods(row));
    let mut cells = vec![
        row.device.clone(),
        match (&row.node, row.published) {
            // Where slices could not be read, one of them may name the node.
            (None, None) => UNKNOWN_COUNT.to_owned(),
            (node, _) => optional(node.as_deref()),
        },
        known(row.state.map(Availability::as_str)),
        known(taints(ToString::to_string).map(|taints| first_of(&taints))),
        known(taints(Taint::cell).map(|taints| all_of(&taints))),
        known(
            row.published
                .map(|published| if published { "yes" } else { "no" }),
        ),
    ];
    let attributes = attributes.iter();
    cells.extend(attributes.map(|name| attribute_cell(row, name)));
    cells.extend([
        known(claims.map(|claims| all_of(&claims))),
        known(pods.as_ref().map(|pods| first_of(pods))),
        known(pods.map(|pods| all_of(&pods))),
    ]);
    cells
}

/// The claims that hold the device, admin access aside.
fn claims(row: &DeviceRow) -> Option<Vec<String>> {
    let claims = row.claims.as_ref()?.iter();
    let claims = claims.filter(|claim| !row.admin_claims.contains(claim));
    Some(claims.map(ToString::to_string).collect())
}

/// The pods that use the device, admin access aside; of a claim that no pod uses, the claim.
fn pods(row: &DeviceRow) -> Option<Vec<String>> {
    let pods = row.pods.as_ref()?.iter();
    let pods = pods.filter(|pod| !row.admin_pods.contains(pod));
    let groups = row.pod_groups.iter();
    let groups = groups.map(|group| format!("podgroups:{group}"));
    let users: Vec<String> = pods.map(ToString::to_string).chain(groups).collect();
    if !users.is_empty() {
        return Some(users);
    }
    let claims = claims(row)?.into_iter();
    Some(claims.map(|claim| format!("claim {claim}")).collect())
}

/// The names of objects, as text has them.
fn named(objects: &[ObjectReference]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

fn all_of(items: &[String]) -> String {
    optional(Some(&items.join(", ")))
}

fn known(cell: Option<impl Into<String>>) -> String {
    cell.map_or_else(|| UNKNOWN_COUNT.to_owned(), Into::into)
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

/// Value of the attribute of that name; without a domain, that of any domain.
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
        return UNKNOWN_COUNT.to_owned();
    };
    // Perhaps several: a name without a domain matches every domain.
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
            state: None,
            allocation_count: None,
            admin_allocation_count: None,
            published: Some(published),
            taints: None,
            claims: None,
            admin_claims: Vec::new(),
            pods: None,
            pod_groups: Vec::new(),
            admin_pods: Vec::new(),
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
            assert_eq!(attribute_cell(&row(false), wanted), "?", "{wanted}");
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
