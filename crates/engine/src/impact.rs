//! Result of a preview: one verdict per pod, with every cause.

use super::select::ProposedTaint;
use crate::model::{
    AllocationResult, ClaimSource, DeviceId, NamespacedName, NodeName, ObjectName, Pod,
    ResourceClaim, Taint, Uid, Warning,
};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// The answer to a preview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact<'a> {
    /// One per proposed taint, in the order of the question.
    pub rules: Vec<RuleImpact<'a>>,
    /// Every device that a proposed taint selects, published or allocated, by name.
    pub devices: Vec<DeviceImpact<'a>>,
    /// Every pod that a claim with such a device is reserved for, by namespace and name.
    pub pods: Vec<PodImpact<'a>>,
    /// Oddities of the selected devices and rules.
    pub warnings: Vec<Warning>,
}

/// Impact of one proposed taint, all others left aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleImpact<'a> {
    /// The taint.
    pub proposed: &'a ProposedTaint,
    /// Counts of the controller.
    pub counts: Counts,
    /// Pods that use a device which it selects and are terminating already: the controller does not count them, and
    /// they hold the device.
    pub terminating: usize,
    /// Pods that use a device which it selects, and are neither evicted by it nor on their way out: they hold
    /// the device whatever the rule does.
    pub staying: usize,
}

/// Counts of the eviction controller for a rule with effect None (semantics: P, N, D, A).
///
/// Upstream: `device_taint_eviction.go`, `countPods` and the loops after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counts {
    /// Matching devices in slices of each pool's newest generation; duplicates count twice.
    pub published_devices: usize,
    /// Matching entries in allocation results; a shared device counts once per share.
    pub allocated_devices: usize,
    /// Pods that would be evicted now or later, without those already terminating.
    pub pods: usize,
    /// Namespaces of the pods that would be evicted.
    pub namespaces: usize,
}

/// A device that a proposed taint selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceImpact<'a> {
    /// The device.
    pub id: DeviceId,
    /// Its node, when it is local to one.
    pub node: Option<&'a NodeName>,
    /// True if a slice of the pool's newest generation has it.
    pub published: bool,
    /// The claims that hold it, by namespace and name, each once.
    pub claims: Vec<&'a ResourceClaim>,
    /// The taints that it has already, of every effect; the proposed ones are not among them.
    pub taints: Vec<DeviceTaint<'a>>,
}

/// A taint on a device, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTaint<'a> {
    /// Origin of the taint.
    pub origin: Origin<'a>,
    /// The taint.
    pub taint: &'a Taint,
}

/// Where a taint comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin<'a> {
    /// A proposed taint, by its place in the question.
    Proposed(usize),
    /// Another rule that exists.
    Rule(&'a ObjectName),
    /// The driver, by the name of its slice.
    ResourceSlice(&'a ObjectName),
}

/// Impact on one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodImpact<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// The decision.
    pub verdict: Verdict,
    /// Every taint with effect `NoExecute` on its devices that is not tolerated forever, earliest
    /// first; those of other rules and of drivers too. Empty when nothing drives the pod off.
    pub causes: Vec<Cause<'a>>,
    /// The claims through which it uses a selected device, in the order of the pod's spec.
    pub claims: Vec<ClaimUse<'a>>,
    /// True if a claim of these tolerates a proposed taint for the scheduler, and not for the eviction controller, or
    /// not for long: by a toleration without effect, or by one with seconds. These count from when the taint was added,
    /// so that a pod which is recreated after them has none.
    pub tolerates_schedule_only: bool,
    /// True if a claim of these tolerates a proposed taint that evicts the pod for the scheduler, if the effect of the
    /// taint is `NoSchedule`: then a replacement of the pod can get the same device again.
    pub tolerates_no_schedule: bool,
    /// True if the template of a claim of these tolerates a proposed taint forever that evicts the pod: then a
    /// replacement of the pod can get the same device and keep it.
    pub replacement_stays: bool,
}

/// The nodes of these devices, as far as devices name one.
pub fn nodes_of(devices: &[DeviceImpact<'_>]) -> BTreeSet<NodeName> {
    let nodes = devices.iter().filter_map(|device| device.node);
    nodes.cloned().collect()
}

impl Impact<'_> {
    /// Leaves the pods with these UIDs alone, as evicted now, for evictions by name instead of by taint. A pod that is
    /// terminating stays so.
    pub fn evict_only(&mut self, pods: &BTreeSet<Uid>, now: Timestamp) {
        self.pods.retain(|found| pods.contains(&found.pod.uid));
        for found in &mut self.pods {
            match found.verdict {
                Verdict::Terminating => {}
                Verdict::Evicted { .. } | Verdict::Tolerates | Verdict::NotEvicted(_) => {
                    found.verdict = Verdict::Evicted { at: now };
                }
            }
        }
    }
}

impl PodImpact<'_> {
    /// True if something else than the proposed taints evicts the pod too.
    pub fn has_foreign_cause(&self) -> bool {
        self.causes.iter().any(|cause| !cause.is_proposed())
    }

    /// True if it uses these devices with admin access only, as monitors do.
    pub fn has_admin_access_only(&self) -> bool {
        let mut results = self.claims.iter().flat_map(|used| &used.results).peekable();
        // `all` is true of nothing, and a pod without results is no monitor.
        results.peek().is_some() && results.all(|result| result.admin_access)
    }

    /// True if a replacement of the pod would get the same device again, since its claim tolerates the taint for the
    /// scheduler. Nothing replaces a pod without an owner.
    pub fn replacement_tolerates(&self) -> bool {
        self.tolerates_no_schedule && self.pod.controller.is_some()
    }

    /// True if a proposed taint evicts it, now or later.
    pub fn is_evicted(&self) -> bool {
        match self.verdict {
            Verdict::Evicted { .. } => true,
            Verdict::Tolerates | Verdict::Terminating | Verdict::NotEvicted(_) => false,
        }
    }

    /// When the first of its causes takes effect, whatever its origin.
    pub fn earliest(&self) -> Option<Timestamp> {
        self.causes.first().map(|cause| cause.at)
    }
}

/// The decision about one pod, of the proposed taints together with all that is there already.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A proposed taint is among its causes: it is deleted at the earliest of them.
    Evicted {
        /// When; it may lie in the past, which means at once.
        at: Timestamp,
    },
    /// It uses a selected device and tolerates the proposed taints forever.
    Tolerates,
    /// It is on its way out already.
    Terminating,
    /// It uses a selected device, and yet the controller does not evict it.
    NotEvicted(NotEvicted),
}

/// Why the controller leaves a pod alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum NotEvicted {
    /// No proposed taint has effect `NoExecute`.
    EffectDoesNotEvict,
    /// It has no node yet.
    NotScheduled,
    /// The claim is reserved for the pod's PodGroup, and the gate that honours it is off.
    PodGroupReservation,
    /// The claim bears the name of the pod's generated claim, but was not generated for it.
    NotOwned,
    /// It uses the device through an extended resource, where this version does not look.
    ExtendedResource,
    /// The controller does not come to the pod until the pod itself changes: an outdated entry of
    /// `reservedFor` stands before the pod's, or the entry with its UID has another name. It counts in
    /// the rule's condition all the same.
    HiddenByStaleReservation,
    /// The claim was generated for the pod, and its entry in `status.resourceClaimStatuses` is missing: the controller
    /// skips it until the claim controller restores the entry.
    ClaimNotInStatus,
}

/// One reason for a pod to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause<'a> {
    /// Origin of the taint.
    pub origin: Origin<'a>,
    /// On which of the pod's devices.
    pub device: &'a DeviceId,
    /// The taint.
    pub taint: &'a Taint,
    /// When it takes effect for this pod, its tolerations taken into account.
    pub at: Timestamp,
}

impl Cause<'_> {
    /// True if it is one of the taints that were asked about.
    pub fn is_proposed(&self) -> bool {
        match self.origin {
            Origin::Proposed(_) => true,
            Origin::Rule(_) | Origin::ResourceSlice(_) => false,
        }
    }
}

/// Use of selected devices by a pod, through one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimUse<'a> {
    /// The claim's name.
    pub claim: &'a NamespacedName,
    /// The selected devices in it, in the order of the allocation.
    pub results: Vec<&'a AllocationResult>,
}

/// True if the pod's replacement is made while the pod terminates, and takes its claim as it is allocated: only a claim
/// that no pod uses is deallocated, and taints do not count for a claim that is allocated.
///
/// Upstream: `syncClaim` in `pkg/controller/resourceclaim/controller.go`, `PreFilter` in
/// `pkg/scheduler/framework/plugins/dynamicresources`, and `FilterActivePods` for ReplicaSets; a StatefulSet and a
/// DaemonSet wait until the pod is gone.
pub fn replacement_takes_claim(impact: &PodImpact<'_>) -> bool {
    let is_used = |name: &ObjectName| impact.claims.iter().any(|used| used.claim.name == *name);
    let is_named = impact.pod.claims.iter().any(|entry| match &entry.source {
        ClaimSource::Claim(name) => is_used(name),
        ClaimSource::Template { .. } | ClaimSource::Unknown => false,
    });
    let owner = impact.pod.controller.as_ref();
    let at_once =
        owner.is_some_and(|owner| matches!(&*owner.kind, "ReplicaSet" | "ReplicationController"));
    is_named && at_once
}
