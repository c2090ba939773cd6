//! Pods that use devices which could serve a waiting pod, and whether they may be evicted.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{covers, lacking};
use crate::assess::{DeviceBasis, completeness, do_not_disrupt};
use crate::engine::allocator::room::can_use;
use crate::engine::allocator::{PendingClaim, SearchBasis};
use crate::engine::claim_names;
use crate::model::{
    DeviceId, Kind, NamespacedName, Phase, Pod, RequestKind, ResourceClaim, Snapshot, Uid,
};

/// Kind of the owner of a mirror pod: the node whose kubelet runs it from a file.
const MIRROR_OWNER: &str = "Node";
/// Namespace of the control plane's own pods.
const SYSTEM: &str = "kube-system";
/// The lowest priority of critical system pods.
///
/// Upstream: `SystemCriticalPriority` in `pkg/apis/scheduling/types.go`.
const CRITICAL: i32 = 2_000_000_000;

/// Reason why a pod is never evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Immovable {
    /// It shares a claim with the waiting pod.
    SameClaim,
    /// Its kubelet runs it from a file, and starts it again.
    MirrorPod,
    /// Its DaemonSet creates it again on the same node.
    DaemonSet,
    /// Its priority is that of the waiting pod, or higher.
    Priority,
    /// It is in kube-system, or has the priority of a critical system pod.
    Critical,
    /// An annotation forbids its disruption.
    DoNotDisrupt,
    /// Its claims tolerate the taint that keeps the devices, so that its replacement could get them.
    Tolerates,
}

impl Immovable {
    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::SameClaim => "it shares a claim with the pending pod",
            Self::MirrorPod => "it is a mirror pod, which its kubelet runs from a file",
            Self::DaemonSet => "its DaemonSet would recreate it on the same node",
            Self::Priority => "its priority is not lower than that of the pending pod",
            Self::Critical => "it is a critical system pod",
            Self::DoNotDisrupt => "an annotation forbids its disruption",
            Self::Tolerates => "its claim tolerates the taint that would keep the device",
        }
    }
}

/// Movability of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movability {
    /// It may be evicted.
    Evictable,
    /// It is terminating, or has ended: its claims are released without an eviction.
    Leaving,
    /// It stays.
    Stays(Immovable),
}

/// A pod that uses a device which could serve the waiting pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidatePod<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Movability of the pod.
    pub movability: Movability,
    /// Devices that its claims hold, those with admin access aside.
    pub devices: BTreeSet<DeviceId>,
}

/// The waiting pod.
#[derive(Clone, Copy, Debug)]
pub struct Beneficiary<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// The pods for which claims of it are reserved.
    pub sharing: &'a BTreeSet<Uid>,
    /// True if devices are kept for it by a taint.
    pub has_taint: bool,
}

/// The pods that use one of `devices` without admin access, by name.
pub fn candidates<'a>(
    snapshot: &'a Snapshot,
    devices: &BTreeSet<DeviceId>,
    beneficiary: Beneficiary<'_>,
) -> Vec<CandidatePod<'a>> {
    let pods: BTreeMap<&Uid, &Pod> = snapshot.pods.iter().map(|pod| (&pod.uid, pod)).collect();
    let mut claims: BTreeMap<&NamespacedName, (&Pod, Vec<&ResourceClaim>)> = BTreeMap::new();
    for claim in &snapshot.claims {
        for user in &claim.reserved_for {
            if let Some(pod) = pods.get(&user.uid) {
                let (_, found) = claims
                    .entry(&pod.name)
                    .or_insert_with(|| (*pod, Vec::new()));
                found.push(claim);
            }
        }
    }
    let found = claims.into_values().filter_map(|(pod, claims)| {
        let results = claims.iter().flat_map(|claim| claim.exclusive_results());
        let held: BTreeSet<DeviceId> = results.map(|result| result.device.clone()).collect();
        (!held.is_disjoint(devices)).then(|| CandidatePod {
            pod,
            movability: movability(pod, &claims, beneficiary),
            devices: held,
        })
    });
    found.collect()
}

fn movability(pod: &Pod, claims: &[&ResourceClaim], beneficiary: Beneficiary<'_>) -> Movability {
    // A pod that is terminating releases its claims, whatever would protect it.
    let has_ended = match pod.phase {
        Phase::Succeeded | Phase::Failed => true,
        Phase::Pending | Phase::Running | Phase::Unknown(_) => false,
    };
    if pod.deletion.is_some() || has_ended {
        return Movability::Leaving;
    }
    let owner = pod.controller.as_ref();
    let for_pod = &beneficiary.pod.uid;
    let tolerates = || {
        let allocations = claims.iter().flat_map(|claim| &claim.allocation);
        let mut results = allocations.flat_map(|it| &it.results);
        beneficiary.has_taint && results.any(|result| covers(&result.tolerations, for_pod))
    };
    let reasons = [
        (
            pod.uid == *for_pod || beneficiary.sharing.contains(&pod.uid),
            Immovable::SameClaim,
        ),
        (
            owner.is_some_and(|owner| &*owner.kind == MIRROR_OWNER),
            Immovable::MirrorPod,
        ),
        (
            owner.and_then(|owner| owner.workload_kind()) == Some(Kind::DaemonSet),
            Immovable::DaemonSet,
        ),
        (
            pod.priority >= beneficiary.pod.priority,
            Immovable::Priority,
        ),
        (
            pod.priority >= CRITICAL || pod.name.namespace.as_str() == SYSTEM,
            Immovable::Critical,
        ),
        (do_not_disrupt(pod).is_some(), Immovable::DoNotDisrupt),
        (tolerates(), Immovable::Tolerates),
    ];
    let mut stays = reasons.into_iter().filter(|(holds, _)| *holds);
    stays
        .next()
        .map_or(Movability::Evictable, |(_, why)| Movability::Stays(why))
}

/// True if all requests of the claim are for admin access, which takes no device from another claim.
fn is_admin_access_only(claim: &ResourceClaim) -> bool {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let mut kinds = requests.map(|request| &request.kind).peekable();
    kinds.peek().is_some()
        && kinds.all(|kind| match kind {
            RequestKind::Exactly(terms) => terms.admin_access,
            RequestKind::FirstAvailable(_) | RequestKind::Unknown => false,
        })
}

/// Pending pods that may get `devices` although they are kept for the waiting pod: of the same priority or a higher one,
/// with a claim that holds nothing yet, tolerates the taint and can use one of the devices.
pub fn rivals(
    waiting: &Pod,
    pending: &[Pod],
    devices: &BTreeSet<DeviceId>,
    basis: &DeviceBasis<'_>,
) -> Vec<Pod> {
    let snapshot = &basis.reading.snapshot;
    let competes = |pod: &Pod| {
        let mut own = snapshot.claims.iter().filter(|claim| {
            let mut names = claim_names(pod);
            claim.name.namespace == pod.name.namespace
                && names.any(|name| name == claim.name.name.as_str())
        });
        own.any(|claim| {
            let pending = PendingClaim {
                snapshot,
                claim,
                nodes: &[],
                selectors: &[],
                proposed: &[],
                basis: SearchBasis {
                    semantics: basis.semantics,
                    completeness: completeness(basis.reading),
                },
            };
            claim.allocation.is_none()
                && !is_admin_access_only(claim)
                && lacking(claim, &waiting.uid).is_empty()
                && can_use(&pending, devices)
        })
    };
    let is_rival = |pod: &&Pod| {
        pod.uid != waiting.uid
            && pod.node.is_none()
            && pod.deletion.is_none()
            && pod.priority >= waiting.priority
            && competes(pod)
    };
    pending.iter().filter(is_rival).cloned().collect()
}
