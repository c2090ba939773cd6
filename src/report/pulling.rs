//! May devices be pulled out of a node, and what speaks against it?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning, views};
use super::table::{Column, Section, Table, Tone, View, optional};
use crate::assess::{Basis, Knowledge};
use crate::engine::pulling::{Objection, Testimony};
use crate::naming::phrase::counted;

/// Which devices of a node may be pulled: what the API of the cluster and the kubelet say together.
///
/// Within one apiVersion, fields and codes are only added: readers have to ignore those they do not
/// know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullReport {
    /// Version of this schema.
    #[schemars(extend("const" = "kubectl-devicetaint/v1alpha1"))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "PullReport"))]
    pub kind: String,
    /// Where the API's part is from.
    pub metadata: Metadata,
    /// The node.
    pub node: String,
    /// The devices, by name.
    pub devices: Vec<PullRow>,
    /// Oddities that do not keep the question from being answered.
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub incomplete: Vec<Incomplete>,
}

/// A device, and whether it may be pulled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullRow {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Whether everybody who was asked agrees that nobody uses it. What could not be asked speaks against
    /// it.
    pub safe_to_pull: bool,
    /// Whether a taint keeps it from being allocated: without one it may be in use a moment later.
    pub tainted: bool,
    /// What speaks against it.
    pub reasons: Vec<PullReason>,
}

/// Something that speaks against pulling a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullReason {
    /// What, as a code.
    pub code: PullCode,
    /// The pod, as NAMESPACE/NAME; null where it is about none.
    pub pod: Option<String>,
    /// The claim, as NAMESPACE/NAME; null where it is about none.
    pub claim: Option<String>,
    /// All of that in words.
    pub message: String,
}

/// What speaks against pulling a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullCode {
    /// The kubelet says that a container uses it.
    InUse,
    /// The kubelet says that a container uses it, and to the API it is free.
    InUseAndFree,
    /// A pod uses it that its claim is not reserved for.
    NotReserved,
    /// A taint evicts from it, and a container uses it still.
    TaintedAndInUse,
    /// The kubelet has it prepared, and lists nobody who uses it: a pod that was deleted by force.
    Prepared,
    /// The kubelet has noted a claim without its devices, and its driver may hold this one for it.
    MayBePrepared,
    /// A claim holds it, and the kubelet says that nobody uses it.
    ClaimedAndUnused,
    /// A claim holds it.
    Claimed,
    /// A pod that uses it was deleted, and is not gone.
    Leaving,
    /// Its driver publishes nothing on the node any more.
    DriverDown,
    /// Whether its driver is at work is not known.
    DriverUnknown,
    /// Nothing shows that the kubelet that was asked is the one of the node.
    NodeUnproven,
    /// The kubelet cannot say which devices are in use.
    KubeletBlind,
    /// What the kubelet has noted for itself could not be read.
    NotesUnread,
    /// What the API has could not be read.
    Unread,
}

impl PullReason {
    /// The view of an objection.
    #[must_use]
    pub fn new(objection: &Objection) -> Self {
        let (code, pod, claim, message) = match objection {
            Objection::InUse { pod, container, claim } => (
                PullCode::InUse,
                Some(pod),
                Some(claim),
                format!("container {container} of pod {pod} uses it through claim {claim}"),
            ),
            Objection::InUseAndFree { pod } => (
                PullCode::InUseAndFree,
                Some(pod),
                None,
                format!("pod {pod} uses it, and to the API it is free"),
            ),
            Objection::NotReserved { pod, claim } => (
                PullCode::NotReserved,
                Some(pod),
                Some(claim),
                format!("pod {pod} uses it, and claim {claim} is not reserved for that pod"),
            ),
            Objection::TaintedAndInUse => (
                PullCode::TaintedAndInUse,
                None,
                None,
                "a taint evicts from it, and it is in use still".to_owned(),
            ),
            Objection::Prepared { claim } => (
                PullCode::Prepared,
                None,
                Some(claim),
                format!("the kubelet has not given back claim {claim}, whose pod it does not list: deleted by force?"),
            ),
            Objection::MayBePrepared { claim } => (
                PullCode::MayBePrepared,
                None,
                Some(claim),
                format!("its driver was asked to prepare claim {claim}, and has not said with which devices"),
            ),
            Objection::ClaimedAndUnused { claim } => (
                PullCode::ClaimedAndUnused,
                None,
                Some(claim),
                format!("claim {claim} holds it, although the kubelet shows nobody who uses it"),
            ),
            Objection::Claimed { claim } => (
                PullCode::Claimed,
                None,
                Some(claim),
                format!("claim {claim} holds it"),
            ),
            Objection::Leaving { pod } => (
                PullCode::Leaving,
                Some(pod),
                None,
                format!("pod {pod} was deleted, and is not gone"),
            ),
            Objection::DriverDown => (
                PullCode::DriverDown,
                None,
                None,
                "its driver publishes nothing on the node any more, and may hold it: bring the driver back".to_owned(),
            ),
            Objection::DriverUnknown => (
                PullCode::DriverUnknown,
                None,
                None,
                "whether its driver is at work is not known".to_owned(),
            ),
            Objection::NodeUnproven => (
                PullCode::NodeUnproven,
                None,
                None,
                "nothing shows that this is the node's kubelet: it lists no pod that is known to be there".to_owned(),
            ),
            Objection::KubeletBlind => (
                PullCode::KubeletBlind,
                None,
                None,
                "the kubelet does not say which devices of claims are in use: it is older than 1.34, or the gate KubeletPodResourcesDynamicResources is off".to_owned(),
            ),
            Objection::NotesUnread => (
                PullCode::NotesUnread,
                None,
                None,
                "pods that were deleted by force are not seen, since the kubelet's dra_manager_state could not be read".to_owned(),
            ),
            Objection::Unread(kind) => (
                PullCode::Unread,
                None,
                None,
                format!("{} could not be read", kind.plural()),
            ),
        };
        Self {
            code,
            pod: pod.map(ToString::to_string),
            claim: claim.map(ToString::to_string),
            message,
        }
    }
}

impl PullReport {
    /// What was found about the devices of `node`.
    #[must_use]
    pub fn new(node: &str, testimonies: &[Testimony], basis: &Basis<'_>) -> Self {
        let knowledge = Knowledge::new(&basis.reading.gaps, basis.semantics);
        let row = |testimony: &Testimony| PullRow {
            device: testimony.device.to_string(),
            safe_to_pull: testimony.objections.is_empty(),
            tainted: testimony.is_tainted,
            reasons: testimony.objections.iter().map(PullReason::new).collect(),
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "PullReport".to_owned(),
            metadata: Metadata::new(basis),
            node: node.to_owned(),
            devices: testimonies.iter().map(row).collect(),
            warnings: views(&[&basis.reading.warnings]),
            incomplete: Incomplete::all(&knowledge),
        }
    }
}

impl Answer for PullReport {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn refusal(&self) -> Option<String> {
        let unsafe_ones = self.devices.iter().filter(|row| !row.safe_to_pull).count();
        match unsafe_ones {
            0 => None,
            1 => Some("1 device is not safe to pull".to_owned()),
            count => Some(format!("{} are not safe to pull", counted(count, "device"))),
        }
    }

    fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

impl View for PullReport {
    fn sections(&self) -> Vec<Section> {
        let row = |row: &PullRow| {
            let safe = if row.safe_to_pull { "yes" } else { "no" };
            let tainted = if row.tainted { "yes" } else { "no" };
            let reasons: Vec<&str> = row.reasons.iter().map(|one| one.message.as_str()).collect();
            vec![
                row.device.clone(),
                safe.to_owned(),
                tainted.to_owned(),
                optional(Some(&reasons.join("; "))),
            ]
        };
        let table = Table {
            columns: vec![
                Column::text("DEVICE"),
                Column::text("SAFE-TO-PULL"),
                Column::text("TAINTED"),
                Column::prose("REASONS"),
            ],
            rows: self.devices.iter().map(row).collect(),
        };
        let incomplete = self.incomplete.iter().map(Incomplete::line).collect();
        vec![
            Section::table(table),
            Section::list("Incomplete", incomplete),
        ]
    }

    /// The devices that are safe to pull.
    fn names(&self) -> Vec<String> {
        let safe = self.devices.iter().filter(|row| row.safe_to_pull);
        safe.map(|row| row.device.clone()).collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[(crate::model::UNKNOWN, Tone::Doubtful)]
    }
}
