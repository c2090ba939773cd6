//! Fields of an impact report.
//!
//! The documentation of each field is its description in the JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budgets::Budget;
use super::finding::{Finding, HazardCode};
use super::published::Published;
use super::replacements::Replacements;
use super::siblings::Sibling;
use crate::assess::{Assessment, Outcome, Severity, TaintCounts};
use crate::decide::publish::ControllerAnswer;
use crate::engine;
use crate::model::DeviceSelector;
use crate::report::bounds::Bounds;
use crate::report::guard::GuardResult;
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use crate::report::reference::{ObjectReference, Owner};
use crate::report::taint::Taint;
use crate::report::time::Time;

/// Report of `preview`: the pods that the proposed taints would affect, and when.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImpactReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "ImpactReport"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The proposed taints: one per rule, existing or not, in the order of the arguments.
    pub proposed_taints: Vec<TaintImpact>,
    /// Counts over all proposed taints; each object is counted once.
    pub summary: Summary,
    /// Every pod with a claim that holds a selected device, including pods that are not evicted. Ordered by
    /// namespace and name.
    pub affected_pods: Vec<Pod>,
    /// Every device that a proposed taint selects, published or allocated. Ordered by name.
    pub selected_devices: Vec<Device>,
    /// PodDisruptionBudgets that match evicted pods, ordered by namespace and name.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// Every workload that loses pods, ordered by namespace, kind and name; without bare pods.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Reallocation of the claims of evicted pods.
    #[serde(default)]
    pub replacements: Replacements,
    /// Devices that share hardware with a selected device and stay in use, each with its pods that would not be
    /// evicted. Ordered by name.
    #[serde(default)]
    pub siblings: Vec<Sibling>,
    /// With `preview --publish`: the rules that it created, and what the eviction controller reported on each, in the order of
    /// proposedTaints. Absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_rules: Vec<Published>,
    /// The guards that were given, and whether each tripped.
    pub guard_results: Vec<GuardResult>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated. The counts that depend on missing data are listed in the fields
    /// `bounds` of the report.
    pub incomplete: Vec<Incomplete>,
    /// True if tables have a row for each workload.
    #[serde(skip)]
    pub by_workload: bool,
    /// Messages of the controller about the published rules, for text.
    #[serde(skip)]
    pub answers: Vec<ControllerAnswer>,
    /// Source of the report, for text and decisions; of a report that was read back, nothing is known.
    #[serde(skip)]
    pub assessment: Assessment,
}

/// Impact of one proposed taint, regardless of the other proposed taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintImpact {
    /// Name of the rule; null if it does not exist yet.
    pub rule: Option<String>,
    /// Devices that the rule selects; null if the rule has no selector.
    pub selector: Option<Selector>,
    /// Devices that the selector matches in this version of Kubernetes.
    #[serde(default)]
    pub selector_scope: SelectorScope,
    /// The proposed taint; a proposed effect None is shown as NoExecute.
    pub taint: Taint,
    /// Counts that the eviction controller would report if the proposed taint were the only one.
    pub counts: Counts,
    /// Message that the eviction controller would write to the condition EvictionInProgress if the effect was
    /// None. Null if the proposed effect is neither None nor NoExecute, or if one of the counts is unknown.
    pub controller_message: Option<String>,
    /// Why controllerMessage is null although the eviction controller would write a message; absent
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_message_unknown: Option<String>,
}

/// Devices that a selector matches in this version of Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SelectorScope {
    /// The devices that match the fields of the selector.
    #[default]
    Described,
    /// Every device of every driver.
    EveryDevice,
    /// No device: the rule has no selector, and in this version a rule without a selector selects nothing.
    NoDevice,
    /// The rule has no selector: it evicts no pods, but the scheduler treats every device as tainted.
    EveryDeviceForTheScheduler,
}

impl From<engine::SelectorScope> for SelectorScope {
    fn from(scope: engine::SelectorScope) -> Self {
        match scope {
            engine::SelectorScope::Described => Self::Described,
            engine::SelectorScope::EveryDevice => Self::EveryDevice,
            engine::SelectorScope::NoDevice => Self::NoDevice,
            engine::SelectorScope::EveryDeviceForTheScheduler => Self::EveryDeviceForTheScheduler,
        }
    }
}

/// Devices that a rule selects: those that match every field that is not null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Name of the driver; null means any.
    pub driver: Option<String>,
    /// Name of the pool; null means any.
    pub pool: Option<String>,
    /// Name of the device; null means any.
    pub device: Option<String>,
    /// Names of selector fields that this plugin does not know. The plugin ignores these fields, and assumes that
    /// the eviction controller ignores them, too. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_fields: Vec<String>,
}

impl From<&DeviceSelector> for Selector {
    fn from(selector: &DeviceSelector) -> Self {
        Self {
            driver: selector.driver.as_ref().map(ToString::to_string),
            pool: selector.pool.as_ref().map(ToString::to_string),
            device: selector.device.as_ref().map(ToString::to_string),
            unknown_fields: selector.unknown_fields.clone(),
        }
    }
}

/// Counts that the eviction controller would report for one proposed taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Selected devices in the newest generation of each pool.
    pub published_device_count: usize,
    /// Number of allocation results that name a selected device. A device can have several: one for each
    /// share, and one for each request with admin access.
    pub allocation_count: usize,
    /// Pods that would be evicted, now or later; pods that are already terminating are not counted.
    pub evicted_pod_count: usize,
    /// Namespaces of the pods that would be evicted.
    pub namespace_count: usize,
    /// Bounds of the counts in this object that are not exact; absent if all are exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
    /// The counts from which these were written, for words.
    #[serde(skip)]
    pub known: TaintCounts,
}

/// Counts over all proposed taints; each object is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Devices that a proposed taint selects, published or allocated.
    pub device_count: usize,
    /// Claims that hold a selected device.
    pub claim_count: usize,
    /// Pods that would be evicted, now or later.
    pub evicted_pod_count: usize,
    /// Pods with the outcome EvictedNow: they would be evicted at once.
    pub evicted_now_pod_count: usize,
    /// Pods with the outcome EvictedLater: they would be evicted later.
    pub evicted_later_pod_count: usize,
    /// Pods with the outcome Tolerates: they use a selected device and tolerate the proposed taints forever.
    pub tolerating_pod_count: usize,
    /// Pods that use a selected device and are already terminating.
    pub terminating_pod_count: usize,
    /// Pods with the outcome NotEvicted: the proposed taints do not evict them, for a reason other than a
    /// toleration. Terminating pods are counted separately.
    pub not_evicted_pod_count: usize,
    /// Pods that would be evicted and that are system-critical (hazard Critical).
    #[serde(default)]
    pub critical_pod_count: usize,
    /// Pods that would be evicted and that nothing recreates (hazard Unmanaged).
    #[serde(default)]
    pub unmanaged_pod_count: usize,
    /// Namespaces of the pods that would be evicted.
    pub namespace_count: usize,
    /// Nodes of the pods that would be evicted.
    pub node_count: usize,
    /// Workloads of the pods that would be evicted; a pod without a controller counts as a workload.
    pub workload_count: usize,
    /// PodDisruptionBudgets that the evictions would violate.
    #[serde(default)]
    pub violated_budget_count: usize,
    /// Workloads with interchangeable replicas, such as Deployments, that would have no ready pod left.
    #[serde(default)]
    pub down_workload_count: usize,
    /// Numbers of evicted pods, by the severity of the worst hazard of each.
    #[serde(default)]
    pub severities: Severities,
    /// Claims that cannot be reallocated when their pods are evicted; each claim is checked as if no other claim were
    /// reallocated. For these claims, `placeable` is false in replacements.claimReplacements.
    #[serde(default)]
    pub unplaceable_claim_count: usize,
    /// Devices that claims without tolerations could still get with the taints, counted in the DeviceClasses of the selected
    /// devices.
    /// Includes shareable devices with capacity left.
    #[serde(default)]
    pub available_device_count: usize,
    /// All devices in the DeviceClasses of the selected devices, available or not.
    #[serde(default)]
    pub class_device_count: usize,
    /// When the first pod would be evicted; a time in the past means at once. Null if no pod would be
    /// evicted.
    pub first_eviction_time: Option<Time>,
    /// When the last pod would be evicted; a time in the past means at once. Null if no pod would be evicted.
    pub last_eviction_time: Option<Time>,
    /// Bounds of the counts in this object that are not exact; absent if all are exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bounds>,
}

/// Numbers of evicted pods, by the severity of the worst hazard of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Severities {
    /// Evicted pods without a known hazard.
    pub ok_pod_count: usize,
    /// Evicted pods whose worst hazard has severity Notice.
    pub notice_pod_count: usize,
    /// Evicted pods whose worst hazard has severity Warning.
    pub warning_pod_count: usize,
    /// Evicted pods whose worst hazard has severity Danger.
    pub danger_pod_count: usize,
}

/// A workload that loses pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The workload's namespace.
    pub namespace: String,
    /// Kind of the workload, such as Deployment.
    pub kind: String,
    /// The workload's name.
    pub name: String,
    /// Desired pods of the workload; null if its kind has no field for this, or if the workload was not read.
    pub replicas: Option<i32>,
    /// Ready pods of the workload; null if its kind has no field for this, or if the workload was not read.
    pub ready_replicas: Option<i32>,
    /// Pods of the workload that would be evicted, now or later.
    pub evicted_pod_count: usize,
    /// Ready pods of the workload that would be left after the evictions; null if unknown, or if the pods
    /// are not interchangeable replicas, as in a Job.
    pub ready_replicas_left: Option<i32>,
}

impl Workload {
    pub(super) fn new(impact: &engine::WorkloadImpact<'_>) -> Self {
        let workload = impact.workload.map(|(_, workload)| workload);
        Self {
            namespace: impact.name.namespace.to_string(),
            kind: impact.owner.kind.to_string(),
            name: impact.name.name.to_string(),
            replicas: workload.and_then(|workload| workload.replicas),
            ready_replicas: workload.and_then(|workload| workload.ready),
            evicted_pod_count: impact.pods.len(),
            ready_replicas_left: impact.left(),
        }
    }
}

/// One pod and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// UID of the pod; a later pod of the same name has another UID.
    pub uid: String,
    /// The node of the pod; null while the pod is not scheduled.
    pub node: Option<String>,
    /// Phase of the pod: Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// Outcome of the pod.
    pub outcome: Outcome,
    /// When the pod would be evicted; a time in the past means at once. Null if no proposed taint evicts the
    /// pod.
    pub eviction_time: Option<Time>,
    /// Seconds from the report's observedTime to the eviction; zero or less means at once. Null if no
    /// proposed taint evicts the pod.
    pub evict_in_seconds: Option<i64>,
    /// Every proposed or existing taint that evicts the pod, the earliest eviction first; empty if there is
    /// none.
    pub causes: Vec<Cause>,
    /// Claims through which the pod uses selected devices, in the order of the pod's spec.
    pub used_claims: Vec<UsedClaim>,
    /// The controller of the pod, such as a ReplicaSet; null for a bare pod.
    pub owner: Option<Owner>,
    /// The object at the top of the pod's owner chain, such as a Deployment; null for a bare pod, or if an
    /// owner was not read.
    pub workload: Option<Owner>,
    /// Quality of service: Guaranteed, Burstable or BestEffort; null if the server has not set it.
    pub qos_class: Option<String>,
    /// Scheduling priority of the pod.
    pub priority: i32,
    /// Name of the priority class; empty if the pod has none.
    pub priority_class_name: String,
    /// Termination grace period of the pod, in seconds.
    pub grace_period_seconds: i64,
    /// Names of the PodDisruptionBudgets in the pod's namespace that match the pod; absent if there are
    /// none, or if the pod would not be evicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget_names: Vec<String>,
    /// Hazards of the pod, such as PdbViolated, in a fixed order; empty if none is known. `help hazards`
    /// explains each; there they are written in kebab-case.
    pub hazards: Vec<HazardCode>,
    /// Severity of the worst known hazard of the pod; Ok if no hazard is known.
    #[serde(default)]
    pub severity: Severity,
    /// Hazards of the pod, each with its severity and reason, in a fixed order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Why the pod is not evicted, and other notes; empty if there are none.
    pub notes: Vec<Note>,
    /// True if a replacement may get the same device and keep it, since its template tolerates the taint.
    #[serde(skip)]
    pub replacement_stays: bool,
}

impl Pod {
    /// `NAMESPACE/NAME`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The top of its owners that is known; `None` for a bare pod.
    pub fn top_owner(&self) -> Option<&Owner> {
        // Where an owner between was not read, the pod's own controller is the highest that is known.
        self.workload.as_ref().or(self.owner.as_ref())
    }
}

/// A taint that evicts a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The taint that evicts the pod; a proposed effect None is shown as NoExecute.
    pub taint: Taint,
    /// The tainted device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// When this taint evicts the pod, given the tolerations of the pod's claims; a time in the past means at
    /// once.
    pub eviction_time: Time,
}

/// A claim through which a pod uses selected devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedClaim {
    /// The claim's name, in the pod's namespace.
    pub name: String,
    /// The selected devices that the claim holds, in the order of the allocation.
    pub allocations: Vec<AllocatedDevice>,
}

/// A device that a claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedDevice {
    /// The request of the claim for which the device is allocated, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// true if the device is used with admin access; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin_access: bool,
}

/// A note about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Code of the note; stable. Reasons why a pod is not evicted: Tolerates (the pod tolerates the taint), Terminating
    /// (the pod is already terminating), EffectDoesNotEvict (the effect is not NoExecute), NotScheduled (the pod has no
    /// node), PodGroupReservation (the claim is reserved only for the PodGroup of the pod), NotOwned (the pod uses a claim
    /// template, but the claim was not generated for this pod), ExtendedResource (the pod uses the device through an extended resource),
    /// HiddenByStaleReservation (an outdated entry in the claim's reservedFor
    /// hides the pod from the eviction controller) and ClaimNotInStatus (the claim was generated for the pod, but
    /// is missing in the pod's status.resourceClaimStatuses). EvictedAnyway: an existing taint evicts the pod, with or without
    /// the proposed taints.
    pub reason: String,
    /// The note as text.
    pub message: String,
}

/// A device that a proposed taint selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The node of the device; null if the device is not local to a node, or if unknown.
    pub node: Option<String>,
    /// True if the driver publishes the device now; a device may be allocated and no longer published.
    pub published: bool,
    /// The claims that hold the device.
    pub claims: Vec<ObjectReference>,
    /// The existing taints of the device, without the proposed ones.
    pub taints: Vec<Taint>,
    /// When the device becomes free, if every pod uses its whole grace period: an estimate. The report's
    /// observedTime if the device is free now; null if it does not become free, or if unknown.
    #[serde(default)]
    pub release_time: Option<Time>,
    /// Why the evictions do not free the device, or possibly do not; null if `releaseTime` is set, or if unknown.
    #[serde(default)]
    pub not_released_reason: Option<NotReleased>,
    /// When it becomes free if the nodes and drivers of its pods are running, where that is not known; for words.
    #[serde(skip)]
    pub release_time_if_running: Option<Time>,
}

/// Why the evictions do not free a device, or may not free it; if several reasons apply, the first in this
/// table.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum NotReleased {
    /// A pod that uses the device is not evicted.
    PodStays,
    /// A pod that uses the device cannot terminate: the pod's node is not ready or does not exist, or the
    /// driver is not running on the node.
    PodStuck,
    /// A pod that uses the device is recreated, scheduled to the device again, and evicted again.
    PodReturns,
    /// A claim holds the device, and no pod of the claim is known.
    NoKnownPod,
    /// Another device on the same hardware, such as a partition, stays in use.
    HardwareInUse,
    /// A pod that uses the device is already terminating, and the time at which it ends is unknown.
    PodTerminating,
    /// A pod that uses the device is recreated, and may be scheduled to the device again.
    PodMayReturn,
    /// Another device on the same hardware may stay in use.
    HardwareMayBeInUse,
    /// A device plugin may offer the same hardware to pods without claims.
    DevicePluginToo,
}

impl NotReleased {
    /// True if the device certainly does not become free; otherwise it may.
    pub fn is_certain(self) -> bool {
        match self {
            Self::PodStays
            | Self::PodStuck
            | Self::PodReturns
            | Self::NoKnownPod
            | Self::HardwareInUse => true,
            Self::PodTerminating
            | Self::PodMayReturn
            | Self::HardwareMayBeInUse
            | Self::DevicePluginToo => false,
        }
    }

    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::PodStays => "pods stay",
            Self::PodTerminating => "a pod is terminating",
            Self::PodStuck => "a pod cannot end",
            Self::PodReturns => "a replacement gets it again",
            Self::NoKnownPod => "a claim without pods holds it",
            Self::HardwareInUse => "the hardware stays in use",
            Self::PodMayReturn => "a replacement may get it",
            Self::HardwareMayBeInUse => "the hardware may stay in use",
            Self::DevicePluginToo => "a device plugin may offer it, too",
        }
    }
}
