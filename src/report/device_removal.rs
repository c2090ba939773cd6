//! Report of whether devices can be pulled out of a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::card::Card;
use super::casing::words;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::reference::ObjectReference;
use super::table::{Column, Section, Table, Tone, View, optional};
use crate::assess::{DeviceBasis, ReportCompleteness};
use crate::engine::device_removal::{RemovalCheck, RemovalObjection};
use crate::engine::{devices, taints_on};
use crate::model::DeviceId;
use crate::model::UNKNOWN;
use crate::naming::phrase::{counted, few};

/// Report of `podresources check`: which devices of a node are safe to pull (to take out of the machine),
/// according to the Kubernetes API and the kubelet.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeviceRemovalList")]
pub struct DeviceRemovalReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "DeviceRemovalList"))]
    pub kind: String,
    /// Source of the data of the Kubernetes API.
    pub metadata: Metadata,
    /// Name of the node.
    pub node: String,
    /// The devices, ordered by name.
    pub items: Vec<DeviceRemovalRow>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
    /// Whether devices were chosen, of each of which all is shown.
    #[serde(skip)]
    chosen: bool,
}

/// A device, and whether it is safe to pull.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRemovalRow {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Whether all checks show that the device is idle and stays idle. A check that cannot be made
    /// counts as failed.
    pub safe_to_pull: bool,
    /// Whether the device is safe to pull, with a separate value (IdleNotTainted) if only a taint is missing.
    pub removal_verdict: RemovalVerdict,
    /// Whether a taint blocks the allocation of the device; otherwise the device may be allocated again at
    /// any time. Null if taints could not be read.
    pub tainted: Option<bool>,
    /// Reasons why the device is not safe to pull (to take out of the machine); empty if there are none.
    pub objections: Vec<ObjectionView>,
    /// Identity of the device, and other devices on the same hardware or close to it.
    #[serde(flatten)]
    pub card: Card,
}

/// A reason that a device is not safe to pull.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectionView {
    /// Code of the reason.
    pub reason: RemovalCode,
    /// The pod that the reason refers to; null if there is none.
    pub pod: Option<ObjectReference>,
    /// The claim that the reason refers to; null if there is none.
    pub claim: Option<ObjectReference>,
    /// The other device that the reason refers to, as DRIVER/POOL/DEVICE; null if the reason refers to this
    /// device, or to several other devices.
    pub device: Option<String>,
    /// The reason as text.
    pub message: String,
}

/// Reason that a device is not safe to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemovalCode {
    /// According to the kubelet, a container uses the device.
    InUse,
    /// According to the kubelet, a container uses the device, but according to the API, the device is free.
    InUseAndFree,
    /// According to the kubelet, a pod uses the device through a claim that is not reserved for this pod.
    NotReserved,
    /// A pod still uses the device, although a taint on the device evicts the pod.
    TaintedAndInUse,
    /// According to the kubelet's checkpoint, the device is prepared for a claim, but the kubelet lists no pod that
    /// uses the device: the pod may have been force-deleted.
    Prepared,
    /// The kubelet's checkpoint lists a claim without its devices, for example while they are being prepared: the
    /// device may be one of them.
    MayBePrepared,
    /// A claim holds the device, but the kubelet lists no container that uses the device.
    ClaimedAndUnused,
    /// A claim holds the device.
    Claimed,
    /// A pod that uses the device is terminating.
    Leaving,
    /// The driver of the device no longer publishes devices of the node.
    DriverDown,
    /// It is unknown whether the driver of the device is running.
    DriverUnknown,
    /// The kubelet could not be identified as the kubelet of the node.
    NodeUnproven,
    /// The kubelet's pod resources API does not report which devices are in use.
    KubeletBlind,
    /// The kubelet's checkpoint could not be read.
    NotesUnread,
    /// Data of the Kubernetes API could not be read.
    Unread,
    /// Another device on the same hardware is not safe to pull.
    SameHardware,
    /// Another device of the node is allocated or known to the kubelet, and is not published. This other device may
    /// be the same hardware as the device that was checked.
    MayBeSameHardware,
    /// No taint on the device blocks new pods.
    NotTainted,
    /// Other devices on the same hardware, such as partitions, have no taint that blocks new pods.
    PartsNotTainted,
    /// An unallocated claim or a claim template tolerates the taints of the device for scheduling, so that a
    /// new pod may get the device.
    Tolerated,
    /// The device has not been idle for long enough.
    NotSettled,
}

/// Whether a device is safe to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemovalVerdict {
    /// The device is safe to pull.
    SafeToPull,
    /// The device is not in use, but the device or another device on the same hardware has no taint that
    /// blocks new pods: the hardware may be in use again at any time.
    IdleNotTainted,
    /// The device is not safe to pull, for other reasons.
    NotSafe,
}

impl RemovalVerdict {
    fn of(check: &RemovalCheck) -> Self {
        if check.objections.is_empty() {
            Self::SafeToPull
        } else if check.is_idle_and_not_tainted() {
            // Told apart from other refusals, since a taint is all that is missing.
            Self::IdleNotTainted
        } else {
            Self::NotSafe
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::SafeToPull => "yes",
            Self::IdleNotTainted => "idle, not tainted",
            Self::NotSafe => "no",
        }
    }
}

impl ObjectionView {
    /// The view of an objection.
    #[must_use]
    pub fn new(objection: &RemovalObjection) -> Self {
        let subject = objection.subject();
        Self {
            reason: code(objection),
            pod: subject.pod.map(Into::into),
            claim: subject.claim.map(Into::into),
            device: subject.device.map(ToString::to_string),
            message: message(objection),
        }
    }
}

impl RemovalCode {
    /// The code as text has it.
    fn word(self) -> String {
        // Derived from the name in JSON, so that text and JSON cannot have different words for one code.
        let value = serde_json::to_value(self).unwrap_or_default();
        words(value.as_str().unwrap_or_default())
    }
}

fn code(objection: &RemovalObjection) -> RemovalCode {
    match objection {
        RemovalObjection::InUse { .. } => RemovalCode::InUse,
        RemovalObjection::InUseAndFree { .. } => RemovalCode::InUseAndFree,
        RemovalObjection::NotReserved { .. } => RemovalCode::NotReserved,
        RemovalObjection::TaintedAndInUse => RemovalCode::TaintedAndInUse,
        RemovalObjection::Prepared { .. } => RemovalCode::Prepared,
        RemovalObjection::MayBePrepared { .. } => RemovalCode::MayBePrepared,
        RemovalObjection::ClaimedAndUnused { .. } => RemovalCode::ClaimedAndUnused,
        RemovalObjection::Claimed { .. } => RemovalCode::Claimed,
        RemovalObjection::Leaving { .. } => RemovalCode::Leaving,
        RemovalObjection::DriverDown => RemovalCode::DriverDown,
        RemovalObjection::DriverUnknown => RemovalCode::DriverUnknown,
        RemovalObjection::NodeUnproven => RemovalCode::NodeUnproven,
        RemovalObjection::KubeletBlind => RemovalCode::KubeletBlind,
        RemovalObjection::NotesUnread => RemovalCode::NotesUnread,
        RemovalObjection::Unread(_) => RemovalCode::Unread,
        RemovalObjection::SameHardware { .. } => RemovalCode::SameHardware,
        RemovalObjection::MayBeSameHardware { .. } => RemovalCode::MayBeSameHardware,
        RemovalObjection::NotTainted => RemovalCode::NotTainted,
        RemovalObjection::PartsNotTainted { .. } => RemovalCode::PartsNotTainted,
        RemovalObjection::Tolerated { .. } => RemovalCode::Tolerated,
        RemovalObjection::NotSettled => RemovalCode::NotSettled,
    }
}

pub(super) fn message(objection: &RemovalObjection) -> String {
    match objection {
        RemovalObjection::InUse {
            pod,
            container,
            claim,
        } => format!(
            "according to the kubelet, in use by container {container} of pod {pod}, through claim {claim}"
        ),
        RemovalObjection::InUseAndFree { pod } => {
            format!("in use by pod {pod} according to the kubelet, but free according to the API")
        }
        RemovalObjection::NotReserved { pod, claim } => format!(
            "in use by pod {pod} according to the kubelet, but \
            claim {claim} is not reserved for that pod"
        ),
        RemovalObjection::TaintedAndInUse => {
            "still in use by a pod that the NoExecute taint evicts".to_owned()
        }
        RemovalObjection::Prepared { claim } => format!(
            "the kubelet has not released claim {claim}, but \
            does not list a pod of the claim: the pod may have been force-deleted"
        ),
        RemovalObjection::MayBePrepared { claim } => format!(
            "its driver is preparing claim {claim}, \
            possibly with this device"
        ),
        RemovalObjection::ClaimedAndUnused { claim } => format!(
            "allocated to claim {claim}, but in use \
            by no container that the kubelet lists"
        ),
        RemovalObjection::Claimed { claim } => format!("allocated to claim {claim}"),
        RemovalObjection::Leaving { pod } => {
            format!("pod {pod} was deleted, but is still terminating")
        }
        RemovalObjection::DriverDown => {
            "its driver no longer publishes devices on the node, and may not \
            have released the hardware: restart the driver"
                .to_owned()
        }
        RemovalObjection::DriverUnknown => "the status of its driver is unknown".to_owned(),
        RemovalObjection::NodeUnproven => {
            "cannot verify that this is the node's kubelet".to_owned()
        }
        RemovalObjection::KubeletBlind => {
            "the kubelet does not report which devices of claims are in \
            use: it is older than 1.34, or the feature gate KubeletPodResourcesDynamicResources \
            is off"
                .to_owned()
        }
        RemovalObjection::NotesUnread => {
            "force-deleted pods are unknown, because the kubelet's file \
            dra_manager_state could not be read"
                .to_owned()
        }
        RemovalObjection::Unread(kind) => format!("{} could not be read", kind.plural()),
        RemovalObjection::SameHardware {
            device,
            link,
            objection,
        } => format!(
            "{device}, on the same hardware as this device ({link}): {}",
            message(objection)
        ),
        RemovalObjection::MayBeSameHardware { device } => format!(
            "{device} may be the same hardware \
            as this device; {device} is not published, because driver {} is not running, or has renamed it",
            device.driver
        ),
        RemovalObjection::NotTainted => {
            "no taint blocks new pods, so a pod may use the device again at any time".to_owned()
        }
        RemovalObjection::PartsNotTainted { devices } => parts_not_tainted(devices),
        RemovalObjection::Tolerated { by } => format!(
            "{by} tolerates the taint, so the \
            scheduler may allocate the device to a new pod"
        ),
        RemovalObjection::NotSettled => "not yet free for long enough".to_owned(),
    }
}

/// That new pods may come to other names of the hardware, with the first of them.
fn parts_not_tainted(devices: &[DeviceId]) -> String {
    let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    format!(
        "no taint blocks new pods on {} of the same hardware: {}; to taint partitions, add --with-partitions; to \
         taint devices of other drivers, specify their names",
        counted(devices.len(), "device"),
        few(&names)
    )
}

impl DeviceRemovalReport {
    /// What was found about the devices of `node`.
    #[must_use]
    pub fn new(node: &str, checks: &[RemovalCheck], basis: &DeviceBasis<'_>) -> Self {
        let completeness = ReportCompleteness::new(&basis.reading.gaps);
        let inventory = devices(&basis.reading.snapshot, basis.semantics);
        let state = |id: &DeviceId| inventory.iter().find(|state| state.id == *id);
        let names = checks.iter().map(|check| check.device.clone()).collect();
        let taints = taints_on(&names, &inventory, &basis.reading.snapshot, basis.semantics);
        let row = |check: &RemovalCheck| DeviceRemovalRow {
            device: check.device.to_string(),
            safe_to_pull: check.objections.is_empty(),
            removal_verdict: RemovalVerdict::of(check),
            tainted: check.is_tainted,
            objections: check.objections.iter().map(ObjectionView::new).collect(),
            card: Card::new(check, state(&check.device), &taints[&check.device], basis),
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DeviceRemovalList".to_owned(),
            metadata: Metadata::new(basis),
            node: node.to_owned(),
            items: checks.iter().map(row).collect(),
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&completeness),
            chosen: false,
        }
    }

    /// The report on devices that were chosen, which shows all of each.
    #[must_use]
    pub fn of_chosen(self) -> Self {
        Self {
            chosen: true,
            ..self
        }
    }

    /// What speaks against pulling devices: a line for each reason, with the devices that it is about.
    fn reason_lines(&self) -> Vec<String> {
        // What is wrong with the kubelet or the API is true of every device, and is said once for all of them.
        let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
        for row in &self.items {
            for reason in &row.objections {
                let message = reason.message.as_str();
                match lines.iter_mut().find(|(known, _)| *known == message) {
                    Some((_, devices)) => devices.push(row.device.clone()),
                    None => lines.push((message, vec![row.device.clone()])),
                }
            }
        }
        let lines = lines.into_iter();
        lines
            .map(|(message, devices)| format!("{}: {message}", few(&devices)))
            .collect()
    }

    /// A block for each device, where devices were chosen.
    fn cards(&self) -> impl Iterator<Item = Section> {
        let chosen = self.items.iter().filter(|_| self.chosen);
        chosen.map(|row| {
            let lines = row.card.lines(self.metadata.observed());
            Section::list("", lines).titled(row.device.clone())
        })
    }
}

impl Answer for DeviceRemovalReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn refusal(&self) -> Option<String> {
        let unsafe_ones = self.items.iter().filter(|row| !row.safe_to_pull).count();
        match unsafe_ones {
            0 => None,
            1 => Some("1 device is not safe to pull".to_owned()),
            count => Some(format!("{} are not safe to pull", counted(count, "device"))),
        }
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl View for DeviceRemovalReport {
    fn sections(&self) -> Vec<Section> {
        let row = |row: &DeviceRemovalRow| {
            let safe = match (row.removal_verdict, row.tainted) {
                // Its own taint keeps new pods off it, and not off the rest of the hardware.
                (RemovalVerdict::IdleNotTainted, Some(true)) => "idle, partly tainted",
                (verdict, _) => verdict.as_str(),
            };
            let tainted = match row.tainted {
                Some(true) => "yes",
                Some(false) => "no",
                None => UNKNOWN,
            };
            let mut codes: Vec<String> =
                row.objections.iter().map(|one| one.reason.word()).collect();
            // The engine has sorted the objections, so that equal codes stand side by side.
            codes.dedup();
            vec![
                row.device.clone(),
                safe.to_owned(),
                tainted.to_owned(),
                optional(Some(&codes.join(", "))),
            ]
        };
        let table = Table {
            columns: vec![
                Column::text("DEVICE"),
                Column::text("SAFE-TO-PULL"),
                Column::text("TAINTED"),
                Column::prose("REASONS"),
            ],
            rows: self.items.iter().map(row).collect(),
        };
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        let table = [Section::folded(table, &[0, 1, 2])].into_iter();
        let reasons = Section::list("Reasons", self.reason_lines());
        let sections = table.chain([reasons]).chain(self.cards());
        sections
            .chain([Section::list("Incomplete", incomplete)])
            .collect()
    }

    /// The devices that are safe to pull.
    fn names(&self) -> Vec<String> {
        let safe = self.items.iter().filter(|row| row.safe_to_pull);
        safe.map(|row| row.device.clone()).collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[(crate::model::UNKNOWN, Tone::Doubtful)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn what_could_not_be_read_of_a_device_is_unknown_and_not_none() {
        let check = |device: &str| RemovalCheck {
            device: testing::device(device),
            is_tainted: Some(true),
            aliases: Vec::new(),
            objections: Vec::new(),
        };
        let semantics = testing::semantics(37);
        let mut reading = testing::reading();
        reading.known.insert(crate::model::Kind::ResourceSlice);
        reading.snapshot.slices = vec![testing::slice(vec![testing::published("gpu-0", &[])])];
        let told = |reading: &crate::model::Reading, device: &str| {
            let basis = DeviceBasis {
                reading,
                semantics: &semantics,
                now: testing::now(),
            };
            let report = DeviceRemovalReport::new("node-7", &[check(device)], &basis).of_chosen();
            let lines = report.items[0].card.lines(report.metadata.observed());
            lines
                .iter()
                .filter(|line| line.ends_with("<unknown>"))
                .count()
        };
        assert_eq!(told(&reading, "gpu-0"), 0);
        // Its driver is away.
        assert_eq!(told(&reading, "gpu-9"), 7);
        reading.snapshot.slices.clear();
        reading.gaps.push(crate::model::Gap::of(
            crate::model::Kind::ResourceSlice,
            "denied",
        ));
        assert_eq!(told(&reading, "gpu-0"), 7);
    }
}
