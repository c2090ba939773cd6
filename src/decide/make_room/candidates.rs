//! Pods that use devices which could serve a waiting pod, and whether they may be evicted.

use super::plan::{covers, lacking};
use crate::assess::{DeviceBasis, completeness, do_not_disrupt};
use crate::engine::allocator::room::can_use;
use crate::engine::allocator::{Completeness, PendingClaim, RootCause, SearchBasis, diagnose};
use crate::engine::claim_names;
use crate::engine::closed_nodes::{ClosedNode, closed_nodes, other_nodes};
use crate::engine::explain::chain::taints_of;
use crate::engine::explain::{Chain, ExplainInput, PendingPod};
use crate::error::Failure;
use crate::model::{
    DeviceId, Gap, Kind, Namespace, NamespacedName, NodeName, Phase, Pod, Reading, RequestKind,
    ResourceClaim, Snapshot, Uid,
};
use crate::naming::Subject;
use crate::naming::phrase::few;
use crate::naming::rule::TypedName;
use std::collections::{BTreeMap, BTreeSet};

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

/// The pod that is named by `text`, in `namespace` if it has no other.
///
/// # Errors
///
/// It names no pod.
pub fn room_target(text: &str, namespace: Option<&str>) -> Result<TypedName, Failure> {
    match Subject::parse(text) {
        Ok(Subject::Pod(pod)) => Ok(TypedName {
            namespace: pod.namespace.or_else(|| namespace.map(Namespace::from)),
            ..pod
        }),
        Ok(Subject::Claim(_) | Subject::Device(_) | Subject::Rule(_) | Subject::Node(_))
        | Err(_) => {
            let failure = Failure::usage(format!("{text:?} is not a pod"));
            Err(failure.hint("specify pod/NAME -n NAMESPACE"))
        }
    }
}

/// State of a pod for which room is to be made.
#[derive(Clone, Debug)]
pub enum Eligibility {
    /// It waits for devices that other pods hold.
    Waits(Box<WaitingPod>),
    /// It has this node already.
    Scheduled(NodeName),
    /// The scheduler has evicted pods for it on this node, and schedules it there once they are gone.
    Nominated(NodeName),
}

/// A pod that waits for devices.
#[derive(Clone, Debug)]
pub struct WaitingPod {
    /// All its claims, as one.
    pub pending: PendingPod,
    /// The claims that hold nothing yet, by name.
    pub claims: Vec<NamespacedName>,
    /// The pods for which claims of it are reserved.
    pub sharing: BTreeSet<Uid>,
    /// Message of the scheduler, if there is one.
    pub scheduler: Option<String>,
    /// Nodes on which it is not scheduled, whichever pods are evicted.
    pub closed: Vec<ClosedNode>,
}

impl WaitingPod {
    /// The question for devices, as the allocator gets it.
    pub fn question<'a>(&'a self, basis: &DeviceBasis<'a>) -> PendingClaim<'a> {
        PendingClaim {
            snapshot: &basis.reading.snapshot,
            claim: &self.pending.claim,
            nodes: &self.pending.nodes,
            selectors: &self.pending.selectors,
            proposed: &[],
            basis: SearchBasis {
                semantics: basis.semantics,
                completeness: completeness(basis.reading),
            },
        }
    }

    /// The claims that hold nothing yet.
    pub fn unallocated<'a>(&self, basis: &DeviceBasis<'a>) -> Vec<&'a ResourceClaim> {
        let claims = basis.reading.snapshot.claims.iter();
        claims
            .filter(|claim| self.claims.contains(&claim.name))
            .collect()
    }
}

/// State of the pod: whether it waits for devices that evictions may free.
///
/// # Errors
///
/// It does not wait for devices, or data is missing that decides it.
pub fn eligibility(pod: &Pod, basis: &DeviceBasis<'_>) -> Result<Eligibility, Failure> {
    if let Some(node) = &pod.node {
        return Ok(Eligibility::Scheduled(node.clone()));
    }
    if pod.deletion.is_some() {
        return Err(refused(pod, "is terminating"));
    }
    let scheduling = pod.scheduling.as_ref();
    let gates = scheduling.map_or(&[][..], |scheduling| &scheduling.gates);
    if !gates.is_empty() {
        let noun = if gates.len() == 1 { "gate" } else { "gates" };
        let why = format!("waits for scheduling {noun} {}", few(gates));
        return Err(refused(pod, &why));
    }
    if let Some(node) = scheduling.and_then(|scheduling| scheduling.nominated.clone()) {
        return Ok(Eligibility::Nominated(node));
    }
    let snapshot = &basis.reading.snapshot;
    let taints = taints_of(snapshot, &[], basis.now);
    let input = ExplainInput {
        snapshot,
        assumed: 0,
        taints: &taints,
        now: basis.now,
        semantics: basis.semantics,
    };
    let chain = Chain::new(pod, &input);
    // A claim that was not read may exist.
    refuse_unknown(basis)?;
    if chain.links.is_empty() || chain.links.iter().any(|link| link.claim.is_none()) {
        let why = if chain.links.is_empty() {
            "requests no devices"
        } else {
            "has a claim that does not exist (yet)"
        };
        return Err(with_scheduler(refused(pod, why), pod));
    }
    let claims = || chain.links.iter().filter_map(|link| link.claim);
    let waiting: Vec<NamespacedName> = claims()
        .filter(|claim| claim.allocation.is_none())
        .map(|claim| claim.name.clone())
        .collect();
    if waiting.is_empty() {
        let why = "does not wait for devices: all its claims are allocated";
        return Err(with_scheduler(refused(pod, why), pod));
    }
    let Some(mut pending) = PendingPod::of(&chain, snapshot) else {
        return Err(refused(pod, "has claims whose requests were not read"));
    };
    let closed = closed_nodes(pod, snapshot);
    // The allocator knows devices and nodes, not what the scheduler's other plugins refuse. So closed nodes
    // are excluded by a selector.
    pending.selectors.extend(other_nodes(&closed));
    let reserved = claims().flat_map(|claim| &claim.reserved_for);
    let waits = WaitingPod {
        pending,
        claims: waiting,
        sharing: reserved.map(|consumer| consumer.uid.clone()).collect(),
        scheduler: pod.has_no_place().map(str::to_owned),
        closed,
    };
    refuse_other_causes(&waits, pod, basis)?;
    Ok(Eligibility::Waits(Box::new(waits)))
}

fn refuse_unknown(basis: &DeviceBasis<'_>) -> Result<(), Failure> {
    match completeness(basis.reading) == Completeness::COMPLETE {
        true => Ok(()),
        false => Err(cannot_choose(basis.reading.gaps.iter().cloned())),
    }
}

/// Refuses to choose pods from data that was not read.
///
/// # Errors
///
/// Pods, claims or budgets were not read.
pub fn refuse_unread(reading: &Reading) -> Result<(), Failure> {
    let needed = [Kind::Pod, Kind::ResourceClaim, Kind::PodDisruptionBudget];
    let gaps = needed.into_iter().filter_map(|kind| {
        // Pods are read only for the devices in question, so the kind as a whole never counts as read.
        // A failed read is a gap.
        let has_failed = || reading.gaps_of(&[kind]).next().is_some();
        let gap = reading.without(kind);
        gap.filter(|_| kind != Kind::Pod || has_failed())
    });
    let gaps: Vec<Gap> = gaps.collect();
    match gaps.is_empty() {
        true => Ok(()),
        false => Err(cannot_choose(gaps.into_iter())),
    }
}

fn cannot_choose(gaps: impl Iterator<Item = Gap>) -> Failure {
    let text =
        "cannot choose pods to evict, because some objects could not be read; nothing was changed";
    gaps.fold(Failure::refused(text), |refused, gap| {
        refused.detail(format!("{}: {}", gap.what, gap.why))
    })
}

/// Refuses a pod that no eviction helps.
fn refuse_other_causes(
    waits: &WaitingPod,
    pod: &Pod,
    basis: &DeviceBasis<'_>,
) -> Result<(), Failure> {
    let found = diagnose(&waits.question(basis));
    let why = match found.root_cause {
        RootCause::Devices
        | RootCause::Taints(_)
        | RootCause::SeveralTaints
        | RootCause::Constraints(_) => return Ok(()),
        RootCause::Never => "fits on no node, even if all devices are free".to_owned(),
        RootCause::Elsewhere => {
            "does not wait for devices that other pods hold: a node has enough free devices; the scheduler has not tried this node yet, or the pod cannot run there for another reason"
                .to_owned()
        }
        RootCause::NoClass(class) => format!("requests device class {class}, which does not exist"),
        RootCause::Fails(errors) => format!(
            "has a request for which a CEL expression fails: {}",
            few(&errors)
        ),
        RootCause::Unknown(reasons) => format!(
            "waits for devices; the cause is unknown: {}",
            few(&reasons)
        ),
    };
    let explain = explain_pod(&pod.name);
    Err(with_scheduler(refused(pod, &why), pod).hint(format!("for details, use `{explain}`")))
}

/// The command that shows why the pod is pending.
pub(super) fn explain_pod(pod: &NamespacedName) -> String {
    let NamespacedName { namespace, name } = pod;
    format!("kubectl devicetaint explain pod/{name} -n {namespace}")
}

fn refused(pod: &Pod, why: &str) -> Failure {
    Failure::refused(format!("pod {} {why}; nothing was changed", pod.name))
}

/// The failure with the message of the scheduler about the pod, if there is one.
pub fn with_scheduler(failure: Failure, pod: &Pod) -> Failure {
    match pod.has_no_place() {
        Some(message) => failure.detail(format!("scheduler message: {message}")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gap;
    use crate::report::testing::reading;

    #[test]
    fn pods_are_not_chosen_from_incomplete_data() {
        let needed = [Kind::Pod, Kind::ResourceClaim, Kind::PodDisruptionBudget];
        let mut complete = reading();
        complete.known.extend(needed);
        assert!(refuse_unread(&complete).is_ok());
        // Pods are read only for the devices in question.
        complete.known.remove(&Kind::Pod);
        complete.gaps = vec![Gap::of(Kind::Event, "access denied")];
        assert!(refuse_unread(&complete).is_ok());
        for kind in needed {
            let mut denied = complete.clone();
            denied.known.remove(&kind);
            denied.gaps.push(Gap::of(kind, "access denied"));
            let failure = refuse_unread(&denied).unwrap_err();
            assert_eq!(failure.details().len(), 1, "{failure:?}");
            assert!(
                failure.details()[0].contains("access denied"),
                "{failure:?}"
            );
        }
        complete.known.clear();
        assert_eq!(refuse_unread(&complete).unwrap_err().details().len(), 2);
    }
}
