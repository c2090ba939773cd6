//! Fields of an impact report.
//!
//! The documentation of each field is its description in the JSON Schema.

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::NoteCode;
use crate::assess::{Assessment, Finding, Hazard, Outcome, Severity, TaintCounts};
use crate::decide::publish::ControllerAnswer;
use crate::engine;
use crate::engine::disruption::{BudgetAnswer, BudgetImpact};
use crate::model::{DeviceSelector, PodDisruptionBudget};
use crate::naming::phrase::counted;
use crate::report::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use crate::report::taint::{ObjectReference, Owner, Taint, Time};

/// Report of `preview`: the pods that the proposed taints would affect, and when.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Every pod with a claim that holds a selected device, including pods that are not evicted. Ordered by
    /// namespace and name.
    pub affected_pods: Vec<Pod>,
    /// Every device that a proposed taint selects, published or allocated. Ordered by name.
    pub selected_devices: Vec<Device>,
    /// PodDisruptionBudgets that match evicted pods, ordered by namespace and name.
    pub budgets: Vec<Budget>,
    /// With `preview --publish`: the rules that it created, and what the eviction controller reported on each, in the order of
    /// proposedTaints. Absent otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published_rules: Vec<ControllerAnswer>,
    /// Counts, guards, replacements and shared hardware.
    #[serde(flatten)]
    pub assessment: Assessment,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated. The counts that depend on it are null.
    pub incomplete: Vec<Incomplete>,
    /// True if tables have a row for each workload.
    #[serde(skip)]
    pub by_workload: bool,
}

/// Impact of one proposed taint, regardless of the other proposed taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintImpact {
    /// Name of the rule; null if it does not exist yet.
    pub rule: Option<String>,
    /// Devices that the rule selects; null if the rule has no selector.
    pub selector: Option<DeviceSelector>,
    /// Devices that the selector matches in this version of Kubernetes.
    #[serde(skip)]
    pub selector_scope: engine::SelectorScope,
    /// The proposed taint; a proposed effect None is shown as NoExecute.
    pub taint: Taint,
    /// Counts that the eviction controller would report if the proposed taint were the only one.
    pub counts: TaintCounts,
    /// Message that the eviction controller would write to the condition EvictionInProgress if the effect was
    /// None. Null if the proposed effect is neither None nor NoExecute, or if one of the counts is unknown.
    pub controller_message: Option<String>,
    /// Why controllerMessage is null although the eviction controller would write a message; absent
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_message_unknown: Option<String>,
}

/// One pod and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Termination grace period of the pod, in seconds.
    pub grace_period_seconds: i64,
    /// Names of the PodDisruptionBudgets in the pod's namespace that match the pod; absent if there are
    /// none, or if the pod would not be evicted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budget_names: Vec<String>,
    /// Hazards of the pod, such as PdbViolated, in a fixed order; empty if none is known. `help hazards`
    /// explains each; there they are written in kebab-case.
    #[schemars(with = "Vec<String>")]
    pub hazards: Vec<Hazard>,
    /// Severity of the worst known hazard of the pod; Ok if no hazard is known.
    pub severity: Severity,
    /// Hazards of the pod, each with its severity and reason, in a fixed order; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedClaim {
    /// The claim's name, in the pod's namespace.
    pub name: String,
    /// The selected devices that the claim holds, in the order of the allocation.
    pub allocations: Vec<AllocatedDevice>,
}

/// A device that a claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedDevice {
    /// The request of the claim for which the device is allocated, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// true if the device is used with admin access; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub admin_access: bool,
}

/// A note about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    #[schemars(with = "String")]
    pub reason: NoteCode,
    /// The note as text.
    pub message: String,
}

/// A device that a proposed taint selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    pub release_time: Option<Time>,
    /// Why the evictions do not free the device, or possibly do not; null if `releaseTime` is set, or if unknown.
    pub not_released_reason: Option<NotReleased>,
}

/// Why the evictions do not free a device, or may not free it; if several reasons apply, the first in this
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
    /// It is unknown whether a node or driver runs that has to end a pod on the device or its hardware.
    EndUnknown,
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
            | Self::DevicePluginToo
            | Self::EndUnknown => false,
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
            Self::EndUnknown => "nodes or drivers not read",
        }
    }
}

/// A PodDisruptionBudget that matches evicted pods. Taint evictions ignore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// The budget's namespace.
    pub namespace: String,
    /// The budget's name.
    pub name: String,
    /// Disruptions that the budget allows now, as counted by the disruption controller.
    pub disruptions_allowed: i32,
    /// Healthy pods among those that the budget counts.
    pub current_healthy: i32,
    /// Healthy pods that the budget requires.
    pub desired_healthy: i32,
    /// All pods that the budget counts, healthy or not; with 0, the budget never allows a disruption.
    pub expected_pods: i32,
    /// Running pods that the budget matches and that would be evicted, now or later.
    pub evicted_pod_count: usize,
    /// Evicted pods whose eviction the Eviction API would have refused. The count assumes that pods are
    /// evicted in the order of their eviction times, and that pods with equal times are evicted in the order
    /// of their names.
    pub refused_pod_count: usize,
    /// Evicted pods that several PodDisruptionBudgets match; the Eviction API refuses to evict such pods.
    pub ambiguous_pod_count: usize,
    /// Why the budget allows no disruption now; null if it allows one.
    pub message: Option<String>,
}

impl Budget {
    pub(super) fn new(impact: &BudgetImpact<'_>) -> Self {
        let budget = impact.budget;
        let status = &budget.status;
        // The eviction API evicts pods that do not run without a look at budgets, so that they use up nothing.
        let asked = impact
            .pods
            .len()
            .saturating_sub(impact.count(BudgetAnswer::NotAsked));
        Self {
            namespace: budget.name.namespace.to_string(),
            name: budget.name.name.to_string(),
            disruptions_allowed: status.disruptions_allowed,
            current_healthy: status.current_healthy,
            desired_healthy: status.desired_healthy,
            expected_pods: status.expected_pods,
            evicted_pod_count: asked,
            refused_pod_count: impact.count(BudgetAnswer::Refused),
            ambiguous_pod_count: impact.count(BudgetAnswer::Ambiguous),
            message: message(budget),
        }
    }

    /// True if a pod is evicted, or may be, that it would have kept.
    pub fn is_violated(&self) -> bool {
        self.refused_pod_count > 0 || self.ambiguous_pod_count > 0
    }

    /// Allowed disruptions and evictions, in one line.
    pub fn line(&self) -> String {
        let allowed = usize::try_from(self.disruptions_allowed).unwrap_or_default();
        let name = format!("{}/{}", self.namespace, self.name);
        let evicted = self.evicted_pod_count;
        let text = format!(
            "{name} allows {}, {evicted} needed",
            counted(allowed, "disruption")
        );
        let others = (self.ambiguous_pod_count > 0).then_some(
            "another PodDisruptionBudget matches the same pods, so the Eviction API would return an error",
        );
        let reasons: Vec<&str> = self.message.as_deref().into_iter().chain(others).collect();
        if reasons.is_empty() {
            text
        } else {
            format!("{text}: {}", reasons.join("; "))
        }
    }
}

/// Reason why a budget allows no disruption; absent where it does.
///
/// Upstream: `checkAndDecrement` in `pkg/registry/core/pod/storage/eviction.go`.
fn message(budget: &PodDisruptionBudget) -> Option<String> {
    let status = &budget.status;
    // First, as upstream: numbers of an earlier generation are not those of the budget as it is.
    if !budget.is_counted() {
        return Some(
            "the disruption controller has not processed the latest generation of the budget"
                .to_owned(),
        );
    }
    if status.disruptions_allowed > 0 {
        return None;
    }
    if let Some(failure) = &status.failure {
        let why = match failure.as_str() {
            "" => String::new(),
            failure => format!(": {failure}"),
        };
        return Some(format!("its pods cannot be counted{why}"));
    }
    if status.expected_pods == 0 {
        return Some("its status.expectedPods is 0".to_owned());
    }
    Some(format!(
        "it needs {} and has {}",
        counted(
            usize::try_from(status.desired_healthy).unwrap_or_default(),
            "healthy pod"
        ),
        status.current_healthy
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Hazard;
    use crate::report::testing::Example;
    use crate::report::{ImpactReport, testing};

    fn budget(namespace: &str, desired: i32, healthy: i32) -> PodDisruptionBudget {
        testing::budget(namespace, desired, healthy, 2)
    }

    fn report(budgets: Vec<PodDisruptionBudget>) -> ImpactReport {
        let mut example = Example::new();
        example.reading.snapshot.budgets = budgets;
        example.report()
    }

    fn hazards<'a>(report: &'a ImpactReport, name: &str) -> &'a [Hazard] {
        let mut pods = report.affected_pods.iter();
        &pods.find(|pod| pod.name == name).unwrap().hazards
    }

    #[test]
    fn each_pod_that_a_budget_would_have_kept_says_so() {
        // Two pods of team-a are evicted, train-0 at once and train-1 later.
        let report = report(vec![budget("team-a", 1, 2)]);
        assert_eq!(
            report.assessment.totals.violated_budget_count.exact(),
            Some(1)
        );
        let found = &report.budgets[0];
        assert_eq!((found.evicted_pod_count, found.refused_pod_count), (2, 1));
        assert_eq!(found.line(), "team-a/budget allows 1 disruption, 2 needed");
        assert!(hazards(&report, "train-1").contains(&Hazard::PdbViolated));
        assert!(!hazards(&report, "train-0").contains(&Hazard::PdbViolated));
        assert!(!hazards(&report, "infer-0").contains(&Hazard::PdbViolated));
        let pod = report
            .affected_pods
            .iter()
            .find(|pod| pod.name == "train-0");
        assert_eq!(pod.unwrap().budget_names, ["budget"]);
    }

    #[test]
    fn two_budgets_of_a_pod_are_both_named() {
        let mut other = budget("team-a", 0, 2);
        other.name = testing::name("team-a", "another");
        let report = report(vec![budget("team-a", 0, 2), other]);
        assert_eq!(
            report.assessment.totals.violated_budget_count.exact(),
            Some(2)
        );
        let line = report.budgets[1].line();
        assert!(
            line.contains("another PodDisruptionBudget matches the same pods"),
            "{line}"
        );
        assert!(hazards(&report, "train-0").contains(&Hazard::PdbAmbiguous));
        let pod = report
            .affected_pods
            .iter()
            .find(|pod| pod.name == "train-0");
        assert_eq!(pod.unwrap().budget_names, ["another", "budget"]);
    }
}
