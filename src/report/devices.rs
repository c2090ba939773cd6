//! Report of devices and their users.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::device_row::{DeviceRow, DriverCounts, attributes_of, capacity_of, cell_of, summary};
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Body, Column, Section, Table, UNKNOWN_COUNT, View, first_of, optional};
use super::taint::Taint;
use crate::assess::{Availabilities, Availability, DeviceBasis};
use crate::engine::DeviceState;
use crate::engine::devices::{away, incomplete_pools};
use crate::model::{self, Device, Kind};
use crate::naming::phrase::{counted, few};

/// Report of `devices`: the devices of a cluster as they are now.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeviceList")]
pub struct DeviceReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "DeviceList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The devices, ordered by name.
    pub items: Vec<DeviceRow>,
    /// Counts by node and driver, ordered by the name of the node. Devices that are not local to a node, and devices
    /// whose node is unknown, are counted in entries whose node is null.
    pub nodes: Vec<DriverCounts>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read. If this list is not empty, more objects may exist than the report lists.
    pub incomplete: Vec<Incomplete>,
    /// Attributes shown in tables.
    #[serde(skip)]
    pub columns: Vec<String>,
    /// Subject of the lines of tables.
    #[serde(skip)]
    pub lines: DeviceLines,
    /// True if only tainted devices were requested.
    #[serde(skip)]
    pub only_tainted: bool,
}

/// Subject of a table's line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceLines {
    /// Each device.
    #[default]
    Devices,
    /// Each node.
    Nodes,
}

/// Warnings about missing drivers whose devices are listed since claims hold them.
fn away_warnings(devices: &[&DeviceState<'_>], basis: &DeviceBasis<'_>) -> Vec<model::Warning> {
    let unpublished = devices.iter().filter(|state| !state.published);
    // The plugin of a driver runs on each node by itself: without a node, nothing tells which of them is away.
    let local = unpublished.filter_map(|state| Some((&state.id, state.node?)));
    let away = away(basis.reading, local).into_iter();
    away.map(|away| {
        let names: Vec<String> = away.devices.iter().map(ToString::to_string).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        model::Warning {
            code: "driver-away",
            message: format!(
                "{} on {} {verb} not published, because driver {} is not running: {}",
                counted(names.len(), "device"),
                away.node,
                away.driver,
                few(&names)
            ),
            fix: Some(format!(
                "restart driver {}: while it is not running, only its allocated devices on {} are known",
                away.driver, away.node
            )),
        }
    })
    .collect()
}

/// Warnings about incomplete pools: devices of them may be missing in the list.
fn incomplete_pool_warnings(
    devices: &[&DeviceState<'_>],
    basis: &DeviceBasis<'_>,
) -> Vec<model::Warning> {
    let ids = devices.iter().map(|state| &state.id);
    let pools = incomplete_pools(ids, &basis.reading.snapshot.slices).into_iter();
    pools
        .map(|(driver, pool)| model::Warning {
            code: "incomplete-pool",
            message: format!(
                "pool {driver}/{pool} is not completely published: its other devices are unknown, and not listed"
            ),
            fix: Some("run the command again after the driver has published the whole pool".to_owned()),
        })
        .collect()
}

impl DeviceReport {
    /// The report on these devices, ordered by name.
    pub fn new(devices: &[DeviceState<'_>], basis: &DeviceBasis<'_>) -> Self {
        let mut devices: Vec<_> = devices.iter().collect();
        devices.sort_by(|left, right| left.id.cmp(&right.id));
        let availabilities = Availabilities::new(basis.reading);
        let rows = devices.iter();
        let rows = rows.map(|device| DeviceRow::new(device, &availabilities));
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DeviceList".to_owned(),
            metadata: Metadata::new(basis),
            items: rows.collect(),
            nodes: DriverCounts::of(&devices, &availabilities),
            warnings: views(&[
                &basis.reading.warnings,
                &away_warnings(&devices, basis),
                &incomplete_pool_warnings(&devices, basis),
            ]),
            incomplete: Incomplete::all(availabilities.completeness()),
            columns: Vec::new(),
            lines: DeviceLines::default(),
            only_tainted: false,
        }
    }

    /// The report with the published attributes of `devices`, and with `columns` for them in tables.
    #[must_use]
    pub fn with_attributes(mut self, devices: &[DeviceState<'_>], columns: Vec<String>) -> Self {
        let published: BTreeMap<String, &Device> = devices
            .iter()
            .filter_map(|state| Some((state.id.to_string(), state.device?)))
            .collect();
        for row in &mut self.items {
            let device = published.get(&row.device);
            // Absent where no slice has the device: an empty map would say that it has no attributes.
            row.attributes = device.map(|device| attributes_of(device));
            row.capacity = device.map(|device| capacity_of(device));
        }
        self.columns = columns;
        self
    }
}

impl View for DeviceReport {
    fn sections(&self) -> Vec<Section> {
        match self.lines {
            DeviceLines::Devices => vec![
                Section::of(Body::Grouped(table(&self.items, &self.columns))),
                Section::sentences(admin_line(&self.items).into_iter().collect()),
            ],
            DeviceLines::Nodes => vec![Section::table(summary(&self.nodes))],
        }
    }

    /// The devices, as `DRIVER/POOL/DEVICE`.
    fn names(&self) -> Vec<String> {
        self.items.iter().map(|row| row.device.clone()).collect()
    }

    /// Devices that are not published are known from claims, and those that no claim holds from slices.
    fn missing_from_names(&self) -> Vec<String> {
        let mut kinds = vec![Kind::ResourceSlice.plural(), Kind::ResourceClaim.plural()];
        // Tainted devices are known from rules, too.
        kinds.extend(self.only_tainted.then(|| Kind::DeviceTaintRule.plural()));
        let gaps = self.incomplete.iter();
        gaps.filter(|gap| kinds.contains(&gap.missing.as_str()))
            .map(Incomplete::line)
            .collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// The devices with their full names.
pub(super) fn table(devices: &[DeviceRow], attributes: &[String]) -> Table {
    let taints = |row: &DeviceRow, cell: fn(&Taint) -> String| -> Option<Vec<String>> {
        Some(row.taints.as_ref()?.iter().map(cell).collect())
    };
    let rows = Table::of(devices)
        .column(Column::text("DEVICE"), |row| row.device.clone())
        .column(Column::text("NODE").wide(), |row| {
            match (&row.node, row.published) {
                // Where slices could not be read, one of them may name the node.
                (None, None) => UNKNOWN_COUNT.to_owned(),
                (node, _) => optional(node.as_deref()),
            }
        })
        .column(Column::text("STATE"), |row| {
            known(row.state.map(Availability::as_str))
        })
        // Twice: a row on a terminal has room for one and a number, wide output and documents have it for all.
        .column(Column::text("TAINTS").narrow(), |row| {
            known(taints(row, ToString::to_string).map(|taints| first_of(&taints)))
        })
        .column(Column::text("TAINTS").wide(), |row| {
            known(taints(row, Taint::cell).map(|taints| all_of(&taints)))
        })
        .column(Column::text("PUBLISHED").wide(), |row| {
            let published = row.published;
            known(published.map(|published| if published { "yes" } else { "no" }))
        });
    let rows = attributes.iter().fold(rows, |rows, name| {
        rows.column(Column::asked(header(name)), |row| attribute_cell(row, name))
    });
    rows.column(Column::text("CLAIMS").wide(), |row| {
        known(claims(row).map(|claims| all_of(&claims)))
    })
    .column(Column::long("PODS").narrow(), |row| {
        known(pods(row).map(|pods| first_of(&pods)))
    })
    .column(Column::text("PODS").wide(), |row| {
        known(pods(row).map(|pods| all_of(&pods)))
    })
    .table()
}

/// The pods with admin access, such as monitors, in one line; absent if there are none.
pub(super) fn admin_line(devices: &[DeviceRow]) -> Option<String> {
    let watched = devices.iter().filter(|row| !row.admin_pods.is_empty());
    let number = watched.clone().count();
    let pods: BTreeSet<String> = watched
        .flat_map(|row| &row.admin_pods)
        .map(ToString::to_string)
        .collect();
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
        .map(|(name, value)| (name.as_str(), cell_of(value)));
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
    use crate::assess::Availability;
    use crate::model::{Gap, Reading, ResourceClaim, ResourceSlice, Snapshot};
    use crate::report::testing;
    use serde_json::json;

    /// A claim that holds gpu-0, for administration or not, reserved for a pod of its name.
    fn claim(name: &str, admin_access: bool) -> ResourceClaim {
        let mut claim = testing::claim_in_use(&testing::pod("ml", name));
        claim.allocation.as_mut().unwrap().results[0].admin_access = admin_access;
        claim
    }

    fn report(claims: Vec<ResourceClaim>, missing: &[Kind]) -> DeviceReport {
        report_on(Vec::new(), claims, missing)
    }

    fn report_on(
        slices: Vec<ResourceSlice>,
        claims: Vec<ResourceClaim>,
        missing: &[Kind],
    ) -> DeviceReport {
        let reading = Reading {
            snapshot: Snapshot {
                slices,
                claims,
                ..Snapshot::default()
            },
            gaps: missing
                .iter()
                .map(|kind| Gap {
                    why: "denied".to_owned(),
                    ..Gap::of(*kind, "")
                })
                .collect(),
            ..testing::reading()
        };
        let semantics = testing::semantics(37);
        let basis = DeviceBasis {
            reading: &reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let mut states = crate::engine::devices(&reading.snapshot, &semantics);
        if states.is_empty() {
            states.push(testing::device_state(testing::device("gpu-0")));
        }
        DeviceReport::new(&states, &basis)
    }

    #[test]
    fn a_pool_of_which_slices_are_missing_is_named() {
        let published = |name| crate::engine::testing::published(name, &[]);
        let mut half = crate::engine::testing::slice(vec![published("gpu-1")]);
        half.pool.slice_count = 2;
        let found = report_on(vec![half], Vec::new(), &[]);
        let codes: Vec<_> = found.warnings.iter().map(|one| &one.reason).collect();
        assert_eq!(codes, ["IncompletePool"]);
    }

    #[test]
    fn what_is_missing_is_null_and_admin_access_is_told_apart() {
        let claims = || vec![claim("monitor", true), claim("train-0", false)];
        let without = report(Vec::new(), &[Kind::ResourceClaim, Kind::Pod]);
        let row = &without.items[0];
        assert_eq!((row.state, &row.claims, &row.pods), (None, &None, &None));
        assert_eq!(without.missing_from_names(), ["resourceclaims: denied"]);
        assert_eq!(report(Vec::new(), &[Kind::Pod]).incomplete, []);
        let unread = [Kind::ResourceSlice, Kind::DeviceTaintRule];
        let unread = report(claims(), &unread);
        let row = &unread.items[0];
        assert_eq!((row.published, &row.taints), (None, &None));
        assert_eq!(unread.nodes[0].device_count, None);
        for (claims, state, used) in [
            (claims(), Availability::Used, 1),
            (claims()[..1].to_vec(), Availability::NotPublished, 0),
        ] {
            let found = report(claims, &[]);
            assert_eq!(found.items[0].state, Some(state));
            assert_eq!(found.nodes[0].used_device_count, Some(used));
        }
    }

    fn row(published: bool) -> DeviceRow {
        let attributes = [
            ("model", json!("H100")),
            ("index", json!(3)),
            ("nic.example.com/model", json!(true)),
            ("odd", json!(null)),
            ("zones", json!(["a", "b"])),
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
}
