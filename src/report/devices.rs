//! Which devices are there, and who uses them?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::knowledge::Knowledge;
use super::metadata::{API_VERSION, Basis, Incomplete, Metadata, Warning, views};
use super::table::{Column, Section, Shown, Table, View, first_of, optional};
use super::taint::PresentTaint;
use crate::engine::DeviceState;
use crate::model::{Gap, Kind};

/// The devices of a cluster as they are now.
///
/// Within one apiVersion, fields are only added: readers have to ignore those they do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceReport {
    /// Version of this schema.
    #[schemars(extend("const" = "kubectl-devicetaint/v1alpha1"))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "DeviceList"))]
    pub kind: String,
    /// Where the report is from.
    pub metadata: Metadata,
    /// The devices, by name.
    pub devices: Vec<DeviceRow>,
    /// Oddities that do not keep the question from being answered.
    pub warnings: Vec<Warning>,
    /// What could not be read; when it is not empty, there may be more of everything.
    pub incomplete: Vec<Incomplete>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow {
    /// The device, as DRIVER/POOL/DEVICE: what every command takes as a DEVICE argument.
    pub device: String,
    /// Its node; null when it is not local to one.
    pub node: Option<String>,
    /// Whether a claim holds it.
    pub allocated: bool,
    /// How many allocation results name it; more than one for shares and administrative access.
    pub allocations: usize,
    /// Whether its driver publishes it now; an allocated device need not be published any more.
    pub published: bool,
    /// Its taints: the driver's first, then those of rules by name.
    pub taints: Vec<PresentTaint>,
    /// The claims that hold it, as NAMESPACE/NAME.
    pub claims: Vec<String>,
    /// The pods that those claims are reserved for, as NAMESPACE/NAME; a whole PodGroup as
    /// podgroups:NAMESPACE/NAME.
    pub pods: Vec<String>,
}

impl DeviceReport {
    /// The report on these devices, ordered by name; `gaps` are what the engine could not evaluate.
    #[must_use]
    pub fn new(devices: &[DeviceState<'_>], gaps: &[Gap], basis: &Basis<'_>) -> Self {
        let mut devices: Vec<_> = devices.iter().collect();
        devices.sort_by(|left, right| left.id.cmp(&right.id));
        let reading = basis.reading;
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DeviceList".to_owned(),
            metadata: Metadata::new(basis),
            devices: devices.into_iter().map(row).collect(),
            warnings: views(&[&reading.warnings]),
            // Who uses a device is named in the claims.
            incomplete: Incomplete::all(&Knowledge::new(
                reading
                    .gaps
                    .iter()
                    .filter(|gap| gap.kind() != Some(Kind::Pod))
                    .chain(gaps),
                basis.semantics,
            )),
        }
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
        self.devices.is_empty()
    }
}

fn row(device: &DeviceState<'_>) -> DeviceRow {
    let taints = device.taints.iter();
    DeviceRow {
        device: device.id.to_string(),
        node: device.node.map(ToString::to_string),
        allocated: device.allocations > 0,
        allocations: device.allocations,
        published: device.published,
        taints: taints.map(|taint| PresentTaint::new(taint, &[])).collect(),
        claims: device
            .claims
            .iter()
            .map(|claim| claim.name.to_string())
            .collect(),
        pods: device.consumers.iter().map(ToString::to_string).collect(),
    }
}

impl View for DeviceReport {
    fn sections(&self) -> Vec<Section> {
        let warnings = self.warnings.iter().map(Warning::line).collect();
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        vec![
            Section::table(table(&self.devices)),
            Section::list("Warnings", warnings).shown(Shown::Document),
            Section::list("Incomplete", incomplete),
        ]
    }

    /// The devices, as `DRIVER/POOL/DEVICE`.
    fn names(&self) -> Vec<String> {
        self.devices.iter().map(|row| row.device.clone()).collect()
    }
}

fn table(devices: &[DeviceRow]) -> Table {
    let row = |row: &DeviceRow| {
        let taints: Vec<_> = row.taints.iter().map(PresentTaint::cell).collect();
        vec![
            row.device.clone(),
            optional(row.node.as_deref()),
            allocated(row),
            optional(Some(&taints.join(", "))),
            first_of(&row.claims),
            first_of(&row.pods),
            yes_or_no(row.published).to_owned(),
        ]
    };
    Table {
        columns: vec![
            Column::text("DEVICE"),
            Column::text("NODE"),
            Column::text("ALLOCATED"),
            Column::prose("TAINTS"),
            Column::text("CLAIMS"),
            Column::text("PODS"),
            Column::text("PUBLISHED").wide(),
        ],
        rows: devices.iter().map(row).collect(),
    }
}

fn allocated(row: &DeviceRow) -> String {
    match row.allocations {
        0 | 1 => yes_or_no(row.allocated).to_owned(),
        several => format!("yes ({several})"),
    }
}

fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}
