//! The root cause that keeps a claim waiting, as far as devices go.

use std::collections::{BTreeMap, BTreeSet};

use super::allocation_session::AllocationSession;
use super::cluster_state::{ClusterState, IgnoredTaints};
use super::completeness::Unknown;
use super::exclusions::{ChoiceDiagnosis, Exclusion};
use super::pending_claim::{PendingClaim, is_placeable, placeability};
use super::replacement::Placeability;
use super::taint_owner::TaintOwner;
use super::usage::Holdings;
use crate::model::{ObjectName, RequestKind, ResourceClaim};

/// Number of taint owners that are tried one by one, the most frequent first.
//
// Each trial is an allocation on all nodes. The most frequent come first, since they keep away most devices.
const MAX_OWNERS: usize = 16;
/// Cause for which a claim waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootCause {
    /// Nothing about devices: on some node there are all that it needs.
    Elsewhere,
    /// Any one of these taints: without it there are all that it needs.
    Taints(Vec<TaintOwner>),
    /// Several taints at once: without all of them there are all that it needs, without any single one there are not.
    SeveralTaints,
    /// Any one of these constraints of the claim, by its place: without it there are all that it needs.
    Constraints(Vec<usize>),
    /// There are too few free devices, with taints and without.
    Devices,
    /// There are too few devices even if all are free and none is tainted.
    Never,
    /// There is no such device class.
    NoClass(ObjectName),
    /// Expressions that fail: the scheduler gives up with an error where it comes to them.
    Fails(BTreeSet<Unknown>),
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// Cause for which the claim waits, given these `choices`.
pub(super) fn root_cause<'a>(
    waiting: &PendingClaim<'a>,
    state: &mut ClusterState<'a>,
    choices: &[ChoiceDiagnosis],
) -> RootCause {
    if let Some(class) = missing_class(waiting.claim, state) {
        return RootCause::NoClass(class);
    }
    let all = Holdings::of(&waiting.snapshot.claims, state);
    let mut session = AllocationSession::new(state, &all, &all);
    let alone = session.reallocation(waiting.claim).placeability;
    let failures = session.failures(waiting.claim);
    // Before the verdict: an error on one node ends the scheduler's attempt, so that another node is no help.
    if !failures.is_empty() {
        return RootCause::Fails(failures);
    }
    match alone {
        Placeability::Placeable => return RootCause::Elsewhere,
        Placeability::Unknown(why) => return RootCause::Unknown(why),
        Placeability::Unplaceable => {}
    }
    // The order of the questions is that of the way out: if it does not help that all taints are gone, no taint is
    // the cause.
    match placeability_without(IgnoredTaints::Everything, waiting, state, &all) {
        Placeability::Placeable => {}
        Placeability::Unknown(why) => return RootCause::Unknown(why),
        Placeability::Unplaceable => {
            let alone = constraints(waiting);
            if !alone.is_empty() {
                return RootCause::Constraints(alone);
            }
            let nothing = Holdings::default();
            let free = placeability_without(IgnoredTaints::Everything, waiting, state, &nothing);
            return match free {
                Placeability::Unplaceable if are_known(choices) => RootCause::Never,
                Placeability::Unplaceable | Placeability::Placeable | Placeability::Unknown(_) => {
                    RootCause::Devices
                }
            };
        }
    }
    // Only devices against which nothing but taints speaks can be won by removing some; `owners` has the taints of
    // those.
    let tried = owners(choices).into_iter().take(MAX_OWNERS);
    let found: Vec<TaintOwner> = tried
        .filter(|owner| {
            let ignorable = state.taint_of(owner);
            ignorable.is_some_and(|taint| {
                let ignored = IgnoredTaints::Those([taint].into());
                let found = placeability_without(ignored, waiting, state, &all);
                found == Placeability::Placeable
            })
        })
        .collect();
    if found.is_empty() {
        return RootCause::SeveralTaints;
    }
    RootCause::Taints(found)
}

/// True if all is known of devices that could serve a request: pools that are not published whole may have more.
fn are_known(choices: &[ChoiceDiagnosis]) -> bool {
    let excluded = choices.iter().flat_map(|choice| &choice.excluded);
    !excluded
        .flat_map(|(_, exclusions)| exclusions)
        .any(Exclusion::is_doubtful)
}

/// The constraints each of which alone keeps the claim from being placed, by place.
fn constraints(waiting: &PendingClaim<'_>) -> Vec<usize> {
    let Some(spec) = waiting.claim.spec.as_deref() else {
        return Vec::new();
    };
    let is_alone = |place: &usize| {
        let mut spec = spec.clone();
        spec.constraints.remove(*place);
        let claim = ResourceClaim {
            spec: Some(spec.into()),
            ..waiting.claim.clone()
        };
        let unconstrained = PendingClaim {
            claim: &claim,
            ..*waiting
        };
        is_placeable(&unconstrained)
    };
    (0..spec.constraints.len()).filter(is_alone).collect()
}

/// The first class that a request names and that is not there.
fn missing_class(claim: &ResourceClaim, state: &ClusterState<'_>) -> Option<ObjectName> {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let mut classes = requests.flat_map(|request| match &request.kind {
        RequestKind::Exactly(terms) => vec![&terms.class],
        RequestKind::FirstAvailable(all) => all.iter().map(|(_, terms)| &terms.class).collect(),
        RequestKind::Unknown => Vec::new(),
    });
    let missing = classes.find(|class| state.class(class.as_str()).is_none());
    missing.filter(|_| state.completeness.classes).cloned()
}

fn placeability_without<'a>(
    ignored: IgnoredTaints,
    waiting: &PendingClaim<'a>,
    state: &mut ClusterState<'a>,
    all: &Holdings<'a>,
) -> Placeability {
    state.ignored = ignored;
    let found = placeability(waiting, state, all);
    state.ignored = IgnoredTaints::NOTHING;
    found
}

/// Owners of the taints against which nothing else speaks, the most frequent first.
fn owners(choices: &[ChoiceDiagnosis]) -> Vec<TaintOwner> {
    let mut counts: BTreeMap<&TaintOwner, usize> = BTreeMap::new();
    for (_, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        // One exclusion that is no taint leaves the device out: no removal of taints would win it.
        let owners: Option<BTreeSet<&TaintOwner>> = exclusions
            .iter()
            .map(|exclusion| Some(exclusion.taint()?.1))
            .collect();
        for owner in owners.into_iter().flatten() {
            let count = counts.entry(owner).or_default();
            *count = count.saturating_add(1);
        }
    }
    let mut owners: Vec<_> = counts.into_iter().collect();
    owners.sort_by_key(|(owner, count)| (std::cmp::Reverse(*count), *owner));
    owners.into_iter().map(|(owner, _)| owner.clone()).collect()
}
