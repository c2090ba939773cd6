//! The root cause that keeps a pod pending, in words, and the single changes that help.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::view::SingleChange;
use super::waiting::{RootCauseCode, terms_of};
use crate::engine::allocator::{
    Diagnosis, Exclusion, PendingClaim, RootCause, TaintOwner, is_placeable, sufficient_uncordons,
};
use crate::engine::closed_nodes::{ClosedNode, are_known};
use crate::engine::devices::away;
use crate::engine::explain::{Chain, PendingPod};
use crate::model::{
    ClaimSpec, ConstraintRule, DriverName, NodeName, Pod, Reading, RequestKind, ResourceClaim,
    Snapshot, Taint, Toleration,
};
use crate::naming::keys;
use crate::naming::phrase::few;

/// Number of tolerations that are tried.
//
// Each trial is a search for devices on all nodes, and a pod may have many requests with many taints.
const TRIED: usize = 8;

/// The index of a request of the merged claim, and that of its alternative.
type RequestIndex = (usize, Option<usize>);

/// Reasons that keep the pod from the nodes that have its devices.
pub(super) struct NodeExclusion {
    pub(super) message: String,
    /// The cordoned nodes of which each has all devices for the pod, and is closed to it only because it is cordoned.
    pub(super) cordoned: Vec<NodeName>,
}

/// Reasons that keep the pod from the nodes that have its devices: gates, its node selector and affinity, and
/// nodes that are `closed` to it.
///
/// `question` is about all nodes that the pod insists on, closed ones too.
pub(super) fn node_exclusion(
    cause: &RootCause,
    pod: &Pod,
    question: &PendingClaim<'_>,
    closed: &[ClosedNode],
) -> Option<NodeExclusion> {
    let scheduling = pod.scheduling.as_ref()?;
    // Gates come first: the scheduler does not look at the pod at all, so that nothing else keeps it yet.
    if !scheduling.gates.is_empty() {
        let gates = scheduling.gates.join(", ");
        return Some(NodeExclusion {
            message: format!("waits for scheduling gates, which the scheduler respects: {gates}"),
            cordoned: Vec::new(),
        });
    }
    let lacks_devices = matches!(
        cause,
        RootCause::Devices | RootCause::Never | RootCause::Constraints(_)
    );
    if !lacks_devices {
        return None;
    }
    if !closed.is_empty() && is_placeable(question) {
        let cordoned = sufficient_uncordons(pod, question, closed);
        let names: Vec<String> = cordoned.iter().map(ToString::to_string).collect();
        let others = match names.as_slice() {
            [] => "on nodes with taints that the pod does not tolerate".to_owned(),
            names => format!("on cordoned nodes: {}", few(names)),
        };
        return Some(NodeExclusion {
            message: format!("waits for devices, which are free only {others}"),
            cordoned,
        });
    }
    // The same question without the pod's own node selector and affinity tells whether these keep it.
    let anywhere = PendingClaim {
        selectors: &[],
        ..*question
    };
    let is_bound = !scheduling.nodes.is_empty() && is_placeable(&anywhere);
    is_bound.then(|| NodeExclusion {
        message:
            "waits for devices, which are free only on nodes that its node selector or affinity \
                  excludes"
                .to_owned(),
        cordoned: Vec::new(),
    })
}

/// The drivers that publish nothing on nodes where claims hold their devices, if the pod may wait for these.
pub(super) fn away_drivers(found: &Diagnosis, pod: &Pod, reading: &Reading) -> Option<String> {
    if !matches!(found.root_cause, RootCause::Devices | RootCause::Never) {
        return None;
    }
    let allocations = reading.snapshot.claims.iter();
    let allocations = allocations.filter_map(|claim| claim.allocation.as_ref());
    let held = allocations.flat_map(|allocation| {
        let devices = allocation.results.iter().map(|result| &result.device);
        devices.filter_map(|device| Some((device, allocation.node.as_ref()?)))
    });
    let only = pod.only_node();
    let unpublished = away(reading, held).into_iter();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for one in unpublished.filter(|one| only.as_ref().is_none_or(|only| *only == one.node)) {
        if may_serve(&one.driver, found) {
            named.insert(format!("driver {} on node {}", one.driver, one.node));
        }
    }
    let named: Vec<String> = named.into_iter().collect();
    let text = || {
        format!(
            "waits for devices; no devices are published, although claims hold some, by {}",
            few(&named)
        )
    };
    (!named.is_empty()).then(text)
}

/// True if devices of the driver match a request, or none of its devices is published.
fn may_serve(driver: &DriverName, found: &Diagnosis) -> bool {
    let choices = || found.choices.iter();
    let usable = choices().flat_map(|choice| &choice.usable);
    let excluded = choices().flat_map(|choice| &choice.excluded);
    let mut matching = usable
        .map(|id| (id, true))
        .chain(excluded.map(|(id, exclusions)| {
            let first = exclusions.first();
            (
                id,
                !matches!(first, Some(Exclusion::Class(_) | Exclusion::Selector(_))),
            )
        }));
    let mut is_published = false;
    let has_match = matching.any(|(id, matches)| {
        is_published |= id.driver == *driver;
        id.driver == *driver && matches
    });
    has_match || !is_published
}

/// The last message of the scheduler about the pod.
pub(super) fn scheduler_message(chain: &Chain<'_>) -> Option<String> {
    let said = chain.pod.scheduling.as_ref()?.said.as_ref()?;
    let parts = [&said.message, &said.reason];
    let message = parts.into_iter().find(|part| !part.is_empty())?;
    (!said.is_scheduled).then(|| format!("scheduler message: {message}"))
}

/// Cause that was not evaluated, and may keep the pod from a node that has its devices, or would have them.
pub(super) fn not_checked(code: RootCauseCode, snapshot: &Snapshot) -> Option<&'static str> {
    let unchecked = if !snapshot.nodes.is_empty() && are_known(snapshot) {
        "not checked: free CPU and memory, pod affinity"
    } else {
        "not checked: cordoned nodes, node taints, free CPU and memory, pod affinity"
    };
    matches!(code, RootCauseCode::Elsewhere | RootCauseCode::Taint).then_some(unchecked)
}

/// The constraints with these indices, as the claim has them.
fn constraints(indices: &[usize], spec: Option<&ClaimSpec>) -> String {
    let named = indices.iter().filter_map(|index| {
        let rule = &spec?.constraints.get(*index)?.rule;
        Some(match rule {
            ConstraintRule::Same(attribute) => format!("matchAttribute {attribute}"),
            ConstraintRule::Distinct(attribute) => format!("distinctAttribute {attribute}"),
            ConstraintRule::Unknown => "a constraint that this plugin does not know".to_owned(),
        })
    });
    named.collect::<Vec<_>>().join(", or ")
}

/// The root cause in words.
pub(super) fn message(cause: &RootCause, spec: Option<&ClaimSpec>) -> String {
    let joined = |reasons: &BTreeSet<_>| {
        let reasons = reasons.iter().map(ToString::to_string);
        reasons.collect::<Vec<String>>().join("; ")
    };
    match cause {
        RootCause::Elsewhere => {
            "waits, but not for devices: a node has free devices for all requests of the pod"
                .to_owned()
        }
        RootCause::Constraints(indices) => {
            let named = constraints(indices, spec);
            format!("waits for devices: a node has enough of them without the constraint {named}")
        }
        RootCause::Taints(owners) => {
            let named: Vec<String> = owners.iter().map(owner).collect();
            let any = if named.len() > 1 {
                "any one of these: "
            } else {
                ""
            };
            format!(
                "waits for devices: a node has enough of them without {any}{}",
                few(&named)
            )
        }
        RootCause::SeveralTaints => {
            "waits for devices: a node has enough of them without several taints".to_owned()
        }
        RootCause::Devices => "waits for devices: no node has enough free devices".to_owned(),
        RootCause::Never => {
            "never scheduled: no node has enough devices, even if all are free and not tainted"
                .to_owned()
        }
        RootCause::NoClass(class) => {
            format!("waits for devices: DeviceClass {class} does not exist")
        }
        RootCause::Fails(why) => format!(
            "waits for devices, because the scheduler fails to evaluate a CEL expression: {}",
            joined(why)
        ),
        RootCause::Unknown(why) => {
            format!("waits for devices; the cause is unknown: {}", joined(why))
        }
    }
}

fn owner(owner: &TaintOwner) -> String {
    match owner {
        TaintOwner::Rule(name) => format!("the taint of rule {name}"),
        TaintOwner::Proposed(_) => "the proposed taint".to_owned(),
        TaintOwner::Driver(device, taint) => format!("the driver's taint {taint} on {device}"),
    }
}

/// The changes each of which gives the pod devices: a toleration in one request, which was tried, then the removal of
/// a taint.
pub(super) fn pending_fixes(
    found: &Diagnosis,
    wanted: &PendingPod,
    question: &PendingClaim<'_>,
) -> Vec<SingleChange> {
    let owners = match &found.root_cause {
        RootCause::Taints(owners) => owners.as_slice(),
        RootCause::SeveralTaints => &[],
        RootCause::Elsewhere
        | RootCause::Constraints(_)
        | RootCause::Devices
        | RootCause::Never
        | RootCause::NoClass(_)
        | RootCause::Fails(_)
        | RootCause::Unknown(_) => return Vec::new(),
    };
    let removals = owners
        .iter()
        .filter_map(|owner| SingleChange::releasing(owner, question.snapshot));
    let mut fixes: Vec<SingleChange> = tolerations(found, question.snapshot)
        .into_iter()
        .take(TRIED)
        .filter_map(|(index, toleration)| {
            let mut claim = wanted.claim.clone();
            add(&mut claim, index, &toleration);
            let changed = PendingClaim {
                claim: &claim,
                ..*question
            };
            // Tried and not derived: other taints or constraints may keep the devices all the same.
            if !is_placeable(&changed) {
                return None;
            }
            let (origin, name, _) = terms_of(wanted, index.0, index.1)?;
            SingleChange::tolerating(origin, &name, &toleration)
        })
        .chain(removals)
        .collect();
    // A rule was created on purpose: a change that needs no decision about it comes first.
    fixes.sort_by_key(|change| change.rule.is_some());
    fixes
}

/// The tolerations of taints that alone keep devices from a request, without those that an admission policy of a
/// dedication may refuse.
fn tolerations(found: &Diagnosis, snapshot: &Snapshot) -> BTreeSet<(RequestIndex, Toleration)> {
    let choices = found.choices.iter().flat_map(|choice| {
        let index = (choice.request, choice.alternative);
        choice.excluded.iter().map(move |(_, all)| (index, all))
    });
    let tainted = choices.filter_map(|(index, exclusions)| {
        // A taint comes after all that else is against a device.
        let (taint, owner) = exclusions.first()?.taint()?;
        (!is_of_dedication(owner, snapshot)).then_some((index, taint))
    });
    tainted
        .map(|(index, taint): (_, &Taint)| (index, Toleration::covering(taint)))
        .collect()
}

fn is_of_dedication(owner: &TaintOwner, snapshot: &Snapshot) -> bool {
    let TaintOwner::Rule(name) = owner else {
        return false;
    };
    let mut rules = snapshot.rules.iter();
    let rule = rules.find(|rule| rule.name == *name);
    rule.is_some_and(|rule| rule.metadata.labels.contains_key(keys::DEDICATION))
}

/// Adds the toleration to a request, or to one alternative of it.
fn add(claim: &mut ResourceClaim, (request, alternative): RequestIndex, toleration: &Toleration) {
    let specs = claim.spec.iter_mut().map(Arc::make_mut);
    let requests = specs.flat_map(|spec| &mut spec.requests);
    for request in requests.skip(request).take(1) {
        match &mut request.kind {
            RequestKind::Exactly(terms) => terms.tolerations.push(toleration.clone()),
            RequestKind::FirstAvailable(all) => {
                if let Some((_, terms)) = alternative.and_then(|index| all.get_mut(index)) {
                    terms.tolerations.push(toleration.clone());
                }
            }
            RequestKind::Unknown => {}
        }
    }
}
