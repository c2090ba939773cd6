//! The pod for which room is made: its name, and whether it waits for devices that evictions may free.

use std::collections::BTreeSet;

use crate::assess::{DeviceBasis, completeness};
use crate::engine::allocator::{Completeness, PendingClaim, RootCause, SearchBasis, diagnose};
use crate::engine::closed_nodes::{ClosedNode, closed_nodes, other_nodes};
use crate::engine::explain::explain_input::taints_of;
use crate::engine::explain::{Chain, ExplainInput, PendingPod};
use crate::error::Failure;
use crate::model::{
    Kind, Namespace, NamespacedName, NodeName, ObjectName, Pod, Reading, ResourceClaim, Uid,
};
use crate::naming::phrase::few;

/// Pod that was typed: a name, and its namespace if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTarget {
    /// Namespace, if one was typed.
    pub namespace: Option<Namespace>,
    /// Name of the pod.
    pub name: ObjectName,
}

impl RoomTarget {
    /// Reads `pod/NAME` or `NAME`; both may have their namespace: `pod/NAMESPACE/NAME`.
    ///
    /// # Errors
    ///
    /// Something else than a pod was typed.
    pub fn parse(text: &str, namespace: Option<&str>) -> Result<Self, Failure> {
        let failure = || {
            Failure::usage(format!("{text:?} is not a pod")).hint("specify pod/NAME -n NAMESPACE")
        };
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, own, name) = match parts.as_slice() {
            [name] => ("pod", None, *name),
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => return Err(failure()),
        };
        let is_pod = ["pod", "pods", "po"].contains(&kind.to_ascii_lowercase().as_str());
        if !is_pod || name.is_empty() || own.is_some_and(str::is_empty) {
            return Err(failure());
        }
        Ok(Self {
            namespace: own.or(namespace).map(Namespace::from),
            name: ObjectName::from(name),
        })
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
        let gates: Vec<String> = gates.iter().map(ToString::to_string).collect();
        let noun = if gates.len() == 1 { "gate" } else { "gates" };
        let why = format!("waits for scheduling {noun} {}", few(&gates));
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

/// Refuses to choose from incomplete data.
///
/// # Errors
///
/// Data is missing that decides.
fn refuse_unknown(basis: &DeviceBasis<'_>) -> Result<(), Failure> {
    if completeness(basis.reading) == Completeness::COMPLETE {
        return Ok(());
    }
    let gaps = basis.reading.gaps.iter();
    Err(gaps.fold(cannot_choose(), |refused, gap| {
        refused.detail(format!("{}: {}", gap.what, gap.why))
    }))
}

/// Refuses to choose pods to evict where pods, claims or budgets could not be read.
///
/// # Errors
///
/// One of these lists could not be read.
pub fn refuse_unread(reading: &Reading) -> Result<(), Failure> {
    let needed = [Kind::Pod, Kind::ResourceClaim, Kind::PodDisruptionBudget];
    let mut gaps = needed
        .into_iter()
        .filter_map(|kind| {
            // Pods are read only for the devices in question, so the kind as a whole never counts as read.
            // A failed read is a gap.
            let has_failed = || reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
            let gap = reading.without(kind);
            gap.filter(|_| kind != Kind::Pod || has_failed())
        })
        .peekable();
    if gaps.peek().is_none() {
        return Ok(());
    }
    Err(gaps.fold(cannot_choose(), |refused, gap| {
        refused.detail(format!("{}: {}", gap.what, gap.why))
    }))
}

fn cannot_choose() -> Failure {
    Failure::refused(
        "cannot choose pods to evict, because some objects could not be read; nothing was changed",
    )
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
            joined(errors.iter().map(ToString::to_string))
        ),
        RootCause::Unknown(reasons) => format!(
            "waits for devices; the cause is unknown: {}",
            joined(reasons.iter().map(ToString::to_string))
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

fn joined(reasons: impl Iterator<Item = String>) -> String {
    reasons.collect::<Vec<_>>().join("; ")
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
