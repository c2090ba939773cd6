//! Report of devices and their users.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attributes::{attributes_of, capacity_of};
use super::device_counts::{DriverCounts, summary};
use super::device_row::DeviceRow;
use super::device_table::{admin_line, grouped, table};
use super::metadata::Answer;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Headers, Section, Shown, View};
use crate::assess::{Availabilities, DeviceBasis};
use crate::engine::DeviceState;
use crate::engine::unpublished_devices::{away, incomplete_pools};
use crate::model::{self, Device, Kind};
use crate::naming::phrase::{counted, few};

/// Report of `devices`: the devices of a cluster as they are now.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default)]
    pub nodes: Vec<DriverCounts>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read. If this list is not empty, more objects may exist than the report lists.
    pub incomplete: Vec<Incomplete>,
    /// Attributes shown in tables.
    #[serde(skip)]
    columns: Vec<String>,
    /// Subject of the lines of tables.
    #[serde(skip)]
    lines: DeviceLines,
    /// Headers of tables; without them, they have no groups either.
    #[serde(skip)]
    headers: Headers,
    /// True if only tainted devices were requested.
    #[serde(skip)]
    only_tainted: bool,
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
            headers: Headers::default(),
            only_tainted: false,
        }
    }

    /// The report with or without headers in its tables.
    #[must_use]
    pub fn with_headers(self, headers: Headers) -> Self {
        Self { headers, ..self }
    }

    /// The report with such lines in tables.
    #[must_use]
    pub fn with_lines(self, lines: DeviceLines) -> Self {
        Self { lines, ..self }
    }

    /// The report as one of tainted devices alone, if so.
    #[must_use]
    pub fn of_tainted_alone(self, only_tainted: bool) -> Self {
        Self {
            only_tainted,
            ..self
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

impl Answer for DeviceReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl View for DeviceReport {
    fn sections(&self) -> Vec<Section> {
        let warnings = self.warnings.iter().map(Warning::line).collect();
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        let devices = match (self.lines, self.headers) {
            (DeviceLines::Devices, Headers::Shown) => {
                Section::grouped(grouped(&self.items, &self.columns))
            }
            (DeviceLines::Devices, Headers::Left) => {
                Section::table(table(&self.items, &self.columns).without_headers())
            }
            (DeviceLines::Nodes, Headers::Shown) => Section::table(summary(&self.nodes)),
            (DeviceLines::Nodes, Headers::Left) => {
                Section::table(summary(&self.nodes).without_headers())
            }
        };
        let is_listed = self.lines == DeviceLines::Devices && self.headers == Headers::Shown;
        let admin = is_listed.then(|| admin_line(&self.items)).flatten();
        vec![
            devices,
            Section::sentences(admin.into_iter().collect()),
            Section::list("Warnings", warnings).shown(Shown::Document),
            Section::list("Incomplete", incomplete),
        ]
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Availability;
    use crate::model::{
        Allocation, AllocationResult, ConsumerReference, Gap, Reading, ResourceClaim,
        ResourceSlice, Snapshot,
    };
    use crate::report::testing;

    /// A claim that holds gpu-0, for administration or not, reserved for a pod of its name.
    fn claim(name: &str, admin_access: bool) -> ResourceClaim {
        ResourceClaim {
            name: testing::name("ml", name),
            uid: name.into(),
            controller: None,
            spec: None,
            allocation: Some(Allocation {
                node: None,
                results: vec![AllocationResult {
                    request: "gpu".into(),
                    device: testing::device("gpu-0"),
                    admin_access,
                    share_id: None,
                    tolerations: Vec::new(),
                    consumed_capacity: None,
                }],
            }),
            reserved_for: vec![ConsumerReference {
                api_group: "".into(),
                resource: "pods".into(),
                name: name.into(),
                uid: name.into(),
            }],
        }
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
                    what: kind.plural().to_owned(),
                    why: "denied".to_owned(),
                    affects: kind.affects(),
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
}
