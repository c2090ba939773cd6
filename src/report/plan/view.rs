//! Fields of a plan.
//!
//! The documentation of each field is its description in the JSON Schema.

use schemars::JsonSchema;
use serde::Serialize;

use super::cost::Cost;
use crate::report::impact::view::ImpactReport;
use crate::report::impact::{Budget, Device, Pod, Replacements, Sibling, Summary, Workload};
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning};

/// Report of `plan`: the cheapest set of devices or nodes to drain, and the cost of this set. Pods are evaluated
/// as if the devices of the set had a proposed taint with effect NoExecute.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "PlanReport"))]
    pub kind: String,
    /// The cluster that the plan is for, and the time at which it was observed.
    pub metadata: Metadata,
    /// What was requested: the kind and the number of the units.
    pub requested_plan: RequestedPlan,
    /// The units (devices or nodes) of the set, the cheapest first.
    pub planned_units: Vec<PlanUnit>,
    /// Total cost of the units in `plannedUnits`.
    pub cost: Cost,
    /// Whether another set of devices or nodes may cost less than the set of the plan.
    pub optimality: Optimality,
    /// Lower bound of the cost: no set of as many units costs less. Equal to `cost` if
    /// `optimality` is Optimal.
    pub lower_bound: Cost,
    /// The cheapest other set that was found. Sets of the same cost that differ from the plan only by interchangeable
    /// units, such as unused devices, are ignored. Null if there is none, or if it was not determined.
    pub runner_up: Option<RunnerUp>,
    /// Counts over all proposed taints; each object is counted once.
    pub summary: Summary,
    /// Every pod with a claim that holds a selected device, including pods that are not evicted. Ordered by
    /// namespace and name.
    pub affected_pods: Vec<Pod>,
    /// The devices of the chosen set, published or allocated. Ordered by name.
    pub selected_devices: Vec<Device>,
    /// PodDisruptionBudgets that match evicted pods, ordered by namespace and name.
    pub budgets: Vec<Budget>,
    /// Every workload that loses pods, ordered by namespace, kind and name; without bare pods.
    pub workloads: Vec<Workload>,
    /// Whether the claims of evicted pods could be reallocated.
    pub replacements: Replacements,
    /// Devices that share hardware with a selected device and stay in use, each with its pods that would not be
    /// evicted. Ordered by name.
    pub siblings: Vec<Sibling>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated. The counts that depend on missing data are listed in the fields
    /// `bounds` of the report.
    pub incomplete: Vec<Incomplete>,
    /// The assessment of the set, for words.
    #[serde(skip)]
    pub(super) impact: ImpactReport,
}

/// Request of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedPlan {
    /// Kind of the units: Device or Node.
    pub unit_kind: UnitKind,
    /// Number of units to choose.
    pub unit_count: usize,
    /// Number of units (devices or nodes) from which the plan was chosen.
    pub candidate_unit_count: usize,
}

/// Kind of a unit of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum UnitKind {
    /// A device.
    Device,
    /// A node, with all of its devices.
    Node,
}

/// Whether another set of devices or nodes may cost less than the set of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Optimality {
    /// No other set of as many units costs less.
    Optimal,
    /// A cheaper set than that of the plan may exist. But no set of as many units costs less
    /// than lowerBound.
    Bounded,
}

/// Devices that are chosen together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanUnit {
    /// The unit: a device as DRIVER/POOL/DEVICE, or a node.
    pub unit: String,
    /// Node of the unit; null if the devices of the unit are not local to a node.
    pub node: Option<String>,
    /// The devices, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// Pods that would be evicted if only this unit were drained.
    pub evicted_pod_count: usize,
}

/// The cheapest set other than the plan. Sets of the same cost that differ from the plan only by interchangeable units,
/// such as unused devices, are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerUp {
    /// The units (devices or nodes) of the set, the cheapest first.
    pub planned_units: Vec<PlanUnit>,
    /// Total cost of the units in `plannedUnits`.
    pub cost: Cost,
}
