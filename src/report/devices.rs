//! Which devices are there, and who uses them?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::count::UNKNOWN;
use super::knowledge::{Knowledge, Subject};
use super::metadata::{API_VERSION, Basis, Incomplete, Metadata, Warning, views};
use super::table::{Column, NONE, Section, Shown, Table, View, optional};
use super::taint::PresentTaint;
use crate::engine::{Consumer, DeviceState};
use crate::model::{Gap, Kind, ResourceClaim};

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

/// One device. What is null is not known: nothing was found, and what it is found in could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow {
    /// The device, as DRIVER/POOL/DEVICE: what every command takes as a DEVICE argument.
    pub device: String,
    /// Its node; null when it is not local to one, and when that is not known.
    pub node: Option<String>,
    /// Whether a claim holds it, for administration too; null when that is not known.
    pub allocated: Option<bool>,
    /// Whether it can be given to a claim as far as other claims go: none holds it, except for
    /// administration, which keeps nobody from it. Null when that is not known.
    pub free: Option<bool>,
    /// How many allocation results name it; more than one for shares and administrative access. Null
    /// when that is not known.
    pub allocations: Option<usize>,
    /// How many of them are for administration; null when that is not known.
    pub admin_allocations: Option<usize>,
    /// Whether its driver publishes it now; an allocated device need not be published any more. Null
    /// when that is not known.
    pub published: Option<bool>,
    /// Its taints: the driver's first, then those of rules by name.
    pub taints: Option<Vec<PresentTaint>>,
    /// The claims that hold it, as NAMESPACE/NAME.
    pub claims: Option<Vec<String>>,
    /// Those of the claims that hold it for administration only.
    pub admin_claims: Vec<String>,
    /// The pods that those claims are reserved for, as NAMESPACE/NAME; a whole PodGroup as
    /// podgroups:NAMESPACE/NAME.
    pub pods: Option<Vec<String>>,
    /// Those of the pods that use it for administration only, such as monitors.
    pub admin_pods: Vec<String>,
}

/// Whether the device can be given to a claim as far as other claims go; absent when that is not known.
///
/// Who administers a device keeps nobody from it: `adminAccess` in `ResourceClaim`'s requests.
fn free(device: &DeviceState<'_>, knowledge: &Knowledge<'_>) -> Option<bool> {
    if device.is_free() {
        knowledge.is_complete(Subject::Holders).then_some(true)
    } else {
        Some(false)
    }
}

impl DeviceReport {
    /// The report on these devices, ordered by name; `gaps` are what the engine could not evaluate.
    #[must_use]
    pub fn new(devices: &[DeviceState<'_>], gaps: &[Gap], basis: &Basis<'_>) -> Self {
        let mut devices: Vec<_> = devices.iter().collect();
        devices.sort_by(|left, right| left.id.cmp(&right.id));
        // Who uses a device is named in the claims, so that no pod is needed.
        let read = basis.reading.gaps.iter();
        let read = read.filter(|gap| gap.kind() != Some(Kind::Pod));
        let knowledge = Knowledge::new(read.chain(gaps), basis.semantics);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DeviceList".to_owned(),
            metadata: Metadata::new(basis),
            devices: devices
                .into_iter()
                .map(|device| row(device, &knowledge))
                .collect(),
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&knowledge),
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

fn row(device: &DeviceState<'_>, knowledge: &Knowledge<'_>) -> DeviceRow {
    let held = device.allocations > 0 || knowledge.is_complete(Subject::Holders);
    let published = device.published || knowledge.is_complete(Subject::Inventory);
    let tainted = !device.taints.is_empty() || knowledge.is_complete(Subject::Taints);
    let taints = device.taints.iter();
    let claims = |claims: &[&ResourceClaim]| -> Vec<String> {
        claims.iter().map(|claim| claim.name.to_string()).collect()
    };
    let pods = |wanted: fn(&&Consumer<'_>) -> bool| -> Vec<String> {
        let consumers = device.consumers.iter().filter(wanted);
        consumers.map(ToString::to_string).collect()
    };
    DeviceRow {
        device: device.id.to_string(),
        node: device.node.map(ToString::to_string),
        allocated: held.then_some(device.allocations > 0),
        free: free(device, knowledge),
        allocations: held.then_some(device.allocations),
        admin_allocations: held.then_some(device.administrative),
        published: published.then_some(device.published),
        taints: tainted.then(|| taints.map(|taint| PresentTaint::new(taint, &[])).collect()),
        claims: held.then(|| claims(&device.claims)),
        admin_claims: claims(&device.admin_claims),
        pods: held.then(|| pods(|_| true)),
        admin_pods: pods(|consumer| consumer.admin),
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

    /// Devices that are not published are known from claims, and those that no claim holds from slices.
    fn missing_from_names(&self) -> Vec<String> {
        let kinds = [Kind::ResourceSlice.plural(), Kind::ResourceClaim.plural()];
        let gaps = self.incomplete.iter();
        gaps.filter(|gap| kinds.contains(&gap.what.as_str()))
            .map(Incomplete::line)
            .collect()
    }
}

fn table(devices: &[DeviceRow]) -> Table {
    let row = |row: &DeviceRow| {
        let claims = users(row.claims.as_deref(), &row.admin_claims);
        let pods = users(row.pods.as_deref(), &row.admin_pods);
        vec![
            row.device.clone(),
            node(row),
            allocated(row),
            taints(row),
            claims.short,
            pods.short,
            claims.long,
            pods.long,
            known(row.published.map(yes_or_no)),
        ]
    };
    Table {
        columns: vec![
            Column::text("DEVICE"),
            Column::text("NODE"),
            Column::text("ALLOCATED"),
            Column::prose("TAINTS"),
            Column::text("CLAIMS").narrow(),
            Column::text("PODS").narrow(),
            Column::text("CLAIMS").wide(),
            Column::text("PODS").wide(),
            Column::text("PUBLISHED").wide(),
        ],
        rows: devices.iter().map(row).collect(),
    }
}

fn node(row: &DeviceRow) -> String {
    match (&row.node, row.published) {
        (None, None) => UNKNOWN.to_owned(),
        (node, _) => optional(node.as_deref()),
    }
}

fn taints(row: &DeviceRow) -> String {
    known(row.taints.as_ref().map(|taints| {
        let taints: Vec<_> = taints.iter().map(PresentTaint::cell).collect();
        optional(Some(&taints.join(", ")))
    }))
}

/// Whether somebody works with the device; administrators are said apart, since they keep nobody from
/// it.
fn allocated(row: &DeviceRow) -> String {
    let (Some(all), Some(admin)) = (row.allocations, row.admin_allocations) else {
        return UNKNOWN.to_owned();
    };
    let working = all.saturating_sub(admin);
    let more: Vec<String> = [
        (working > 1).then(|| working.to_string()),
        (admin > 0).then(|| format!("+{admin} admin")),
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
    let more: Vec<String> = [
        (working.len().saturating_sub(1), ""),
        (admin.len(), " admin"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("+{number}{what}"))
    .collect();
    let first = working.first().copied().unwrap_or(NONE);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Allocation, AllocationResult, ConsumerReference, Reading, Snapshot};
    use crate::render::{Format, Page, render};
    use crate::report::testing;

    /// A claim that holds gpu-0, for administration or not, reserved for a pod of its name.
    fn claim(name: &str, admin_access: bool) -> ResourceClaim {
        ResourceClaim {
            name: testing::name("ml", name),
            uid: name.into(),
            controller: None,
            spec: None,
            allocation: Some(Allocation {
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
        let reading = Reading {
            snapshot: Snapshot {
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
        let basis = Basis {
            reading: &reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let mut states = crate::engine::devices(&reading.snapshot, &semantics).devices;
        if states.is_empty() {
            states.push(DeviceState {
                id: testing::device("gpu-0"),
                node: None,
                published: true,
                allocations: 0,
                administrative: 0,
                taints: Vec::new(),
                claims: Vec::new(),
                admin_claims: Vec::new(),
                consumers: Vec::new(),
            });
        }
        DeviceReport::new(&states, &[], &basis)
    }

    fn shown(report: &DeviceReport, format: Format) -> String {
        let page = Page {
            format,
            width: Some(80),
        };
        render(report, page).unwrap()
    }

    #[test]
    fn who_uses_a_device_is_not_known_without_the_claims_and_it_is_not_free() {
        let without = report(Vec::new(), &[Kind::ResourceClaim, Kind::Pod]);
        insta::assert_snapshot!(shown(&without, Format::Table), @"
        DEVICE                         NODE     ALLOCATED   TAINTS   CLAIMS      PODS
        gpu.example.com/node-7/gpu-0   <none>   <unknown>   <none>   <unknown>   <unknown>

        Incomplete:
          resourceclaims: denied
        ");
        let row = &without.devices[0];
        assert_eq!((row.allocated, row.free), (None, None));
        assert_eq!((&row.claims, &row.pods), (&None, &None));
        assert_eq!(without.missing_from_names(), ["resourceclaims: denied"]);
        let with = report(Vec::new(), &[Kind::Pod]);
        assert_eq!(with.devices[0].free, Some(true));
        assert_eq!(with.incomplete, []);
    }

    #[test]
    fn what_a_device_is_and_bears_is_not_known_without_slices_and_rules() {
        let report = report(
            vec![claim("train-0", false)],
            &[Kind::ResourceSlice, Kind::DeviceTaintRule],
        );
        insta::assert_snapshot!(shown(&report, Format::Table), @"
        DEVICE                         NODE        ALLOCATED   TAINTS      CLAIMS       PODS
        gpu.example.com/node-7/gpu-0   <unknown>   yes         <unknown>   ml/train-0   ml/train-0

        Incomplete:
          resourceslices: denied
          devicetaintrules: denied
        ");
        assert_eq!(report.devices[0].published, None);
        assert_eq!(report.devices[0].taints, None);
    }

    #[test]
    fn those_who_work_with_a_device_are_named_first_and_administrators_apart() {
        let claims = || {
            vec![
                claim("monitor", true),
                claim("train-0", false),
                claim("train-1", false),
            ]
        };
        let busy = report(claims(), &[]);
        insta::assert_snapshot!(shown(&busy, Format::Table), @"
        DEVICE                         NODE     ALLOCATED           TAINTS   CLAIMS                      PODS
        gpu.example.com/node-7/gpu-0   <none>   yes (2, +1 admin)   <none>   ml/train-0 (+1, +1 admin)   ml/train-0 (+1, +1 admin)
        ");
        insta::assert_snapshot!(shown(&busy, Format::Wide), @"
        DEVICE                         NODE     ALLOCATED           TAINTS   CLAIMS                                       PODS                                         PUBLISHED
        gpu.example.com/node-7/gpu-0   <none>   yes (2, +1 admin)   <none>   ml/train-0, ml/train-1, ml/monitor (admin)   ml/train-0, ml/train-1, ml/monitor (admin)   no
        ");
        assert_eq!(busy.devices[0].free, Some(false));
        assert_eq!(busy.devices[0].allocated, Some(true));
        let watched = report(claims()[..1].to_vec(), &[]);
        insta::assert_snapshot!(shown(&watched, Format::Table), @"
        DEVICE                         NODE     ALLOCATED       TAINTS   CLAIMS              PODS
        gpu.example.com/node-7/gpu-0   <none>   no (+1 admin)   <none>   <none> (+1 admin)   <none> (+1 admin)
        ");
        assert_eq!(watched.devices[0].free, Some(true));
        // As far as other claims go, one that administers it is one that holds it.
        assert_eq!(watched.devices[0].allocated, Some(true));
    }
}
