//! Single changes that would give devices to a pending pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fixes::{ClaimRequest, SingleChange};
use super::origin::published_taint;
use super::request_text::{terms_of, terms_path};
use crate::engine::allocator::{
    Diagnosis, Exclusion, PendingClaim, RootCause, TaintOwner, is_placeable,
};
use crate::engine::explain::PendingPod;
use crate::model::{RequestKind, ResourceClaim, RuleMetadata, Snapshot, Taint, Toleration};

/// So many tolerations are tried.
//
// Each trial is a search for devices on all nodes, and a pod may have many requests with many taints.
const TRIED: usize = 8;

/// The changes each of which would give the pod devices: without one of the taints that are to blame, or
/// with a toleration in one request, which was tried; and where only several taints together are to blame,
/// those that have to go.
pub(super) fn changes(
    found: &Diagnosis,
    wanted: &PendingPod,
    question: &PendingClaim<'_>,
) -> (Vec<SingleChange>, Vec<SingleChange>) {
    let (mut single, mut together) = (Vec::new(), Vec::new());
    let mut tried = BTreeSet::new();
    for owner in to_blame(&found.root_cause) {
        let blocking = blocking(found, owner);
        let Some((_, taint)) = blocking.first().copied() else {
            continue;
        };
        let at = match owner {
            TaintOwner::Driver(device, taint) => published_taint(device, taint, question.snapshot),
            TaintOwner::Rule(_) | TaintOwner::Proposed(_) => None,
        };
        let gone = SingleChange::releasing(owner, taint, at, question.snapshot);
        if matches!(found.root_cause, RootCause::TaintCombination(_)) {
            together.push(gone);
        } else {
            single.push(gone);
        }
        // Advice that an admission policy refuses is no help.
        if is_of_dedication(owner, question.snapshot) {
            continue;
        }
        for (place, taint) in blocking {
            let toleration = Toleration::covering(taint);
            if tried.len() >= TRIED || !tried.insert((place, toleration.clone())) {
                continue;
            }
            let mut claim = wanted.claim.clone();
            add(&mut claim, place, &toleration);
            let changed = PendingClaim {
                claim: &claim,
                ..*question
            };
            // Tried and not derived: other taints or constraints may keep the devices all the same.
            if is_placeable(&changed)
                && let Some(request) = request_of(question.snapshot, wanted, place)
            {
                single.push(SingleChange::tolerating(request, &toleration));
            }
        }
    }
    // Somebody made a rule on purpose: what needs no decision of theirs comes first.
    single.sort_by_key(|change| change.rule.is_some());
    // Where one change is enough, several together would be too much.
    if !single.is_empty() {
        together.clear();
    }
    (single, together)
}

/// Whose taints they are.
fn to_blame(blame: &RootCause) -> &[TaintOwner] {
    match blame {
        RootCause::Taints(owners) | RootCause::TaintCombination(owners) => owners,
        RootCause::Elsewhere
        | RootCause::Constraints(_)
        | RootCause::ConstraintsAndTaints(_)
        | RootCause::Devices
        | RootCause::NoClass(_)
        | RootCause::Fails(_)
        | RootCause::Unknown(_) => &[],
    }
}

/// Whether a policy may refuse a toleration of the taint, since its rule is part of a dedication.
fn is_of_dedication(owner: &TaintOwner, snapshot: &Snapshot) -> bool {
    let TaintOwner::Rule(name) = owner else {
        return false;
    };
    let mut rules = snapshot.rules.iter();
    let rule = rules.find(|rule| rule.name == *name);
    rule.is_some_and(|rule| rule.metadata.labels.contains_key(RuleMetadata::DEDICATION))
}

/// A request, and which alternative of it, by their places.
type Place = (usize, Option<usize>);

/// For which requests a taint of that owner keeps devices out, and which it is.
fn blocking<'f>(found: &'f Diagnosis, wanted: &TaintOwner) -> Vec<(Place, &'f Taint)> {
    let mut blocking = Vec::new();
    for choice in &found.choices {
        let exclusions = choice.excluded.iter().flat_map(|(_, all)| all);
        let taints = exclusions.filter_map(Exclusion::taint);
        let mut own = taints.filter(|(_, owner)| *owner == wanted);
        let place = (choice.request, choice.alternative);
        blocking.extend(own.next().map(|(taint, _)| (place, taint)));
    }
    blocking.sort();
    blocking
}

/// Adds the toleration to a request, or to one alternative of it.
fn add(claim: &mut ResourceClaim, (request, alternative): Place, toleration: &Toleration) {
    let specs = claim.spec.iter_mut().map(Arc::make_mut);
    let requests = specs.flat_map(|spec| &mut spec.requests);
    for request in requests.skip(request).take(1) {
        match &mut request.kind {
            RequestKind::Exactly(terms) => terms.tolerations.push(toleration.clone()),
            RequestKind::FirstAvailable(all) => {
                if let Some((_, terms)) = alternative.and_then(|place| all.get_mut(place)) {
                    terms.tolerations.push(toleration.clone());
                }
            }
            RequestKind::Unknown => {}
        }
    }
}

/// The request at that place; absent where the claim or the request is not known.
fn request_of<'w>(
    snapshot: &Snapshot,
    wanted: &'w PendingPod,
    (request, alternative): Place,
) -> Option<ClaimRequest<'w>> {
    let (name, place) = wanted.origins.get(request)?;
    let mut claims = snapshot.claims.iter();
    let claim = claims.find(|known| known.name == *name)?;
    let spec = claim.spec.as_deref()?;
    let (called, _) = terms_of(spec, *place, alternative)?;
    let path = terms_path(&spec.requests.get(*place)?.kind, *place, alternative);
    Some(ClaimRequest {
        claim: name,
        name: called,
        template: wanted.templates.get(name),
        tolerations_path: format!("{path}.tolerations"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimSpec, DeviceAmount, DeviceRequest, RequestTerms};
    use crate::report::testing;

    fn terms() -> RequestTerms {
        RequestTerms {
            class: "gpu".into(),
            expressions: Vec::new(),
            amount: DeviceAmount::Exactly(1),
            admin_access: false,
            tolerations: Vec::new(),
            capacity: Default::default(),
            is_more: false,
        }
    }

    #[test]
    fn a_toleration_is_for_one_alternative_of_a_request_and_stands_there() {
        let request = |name: &str, kind| DeviceRequest {
            name: name.into(),
            kind,
        };
        let name = testing::name("ml", "claim");
        let alternatives = ["a", "b"].map(|name| (name.into(), terms()));
        let claim = ResourceClaim {
            name: name.clone(),
            uid: "claim".into(),
            controller: None,
            spec: Some(Arc::new(ClaimSpec {
                requests: vec![
                    request("one", RequestKind::Exactly(terms())),
                    request("any", RequestKind::FirstAvailable(alternatives.into())),
                    request("odd", RequestKind::Unknown),
                ],
                constraints: Vec::new(),
            })),
            allocation: None,
            reserved_for: Vec::new(),
        };
        let wanted = PendingPod {
            claim: claim.clone(),
            origins: (0..3).map(|place| (name.clone(), place)).collect(),
            templates: std::collections::BTreeMap::new(),
            nodes: Vec::new(),
            selectors: Vec::new(),
        };
        let snapshot = Snapshot {
            claims: vec![claim],
            ..Snapshot::default()
        };
        let told = |place| {
            let request = request_of(&snapshot, &wanted, place)?;
            Some((request.name, request.tolerations_path))
        };
        let at = |request: &str, path: &str| {
            let path = format!(".spec.devices.requests{path}.tolerations");
            Some((request.to_owned(), path))
        };
        assert_eq!(told((0, None)), at("one", "[0].exactly"));
        assert_eq!(told((1, Some(1))), at("any/b", "[1].firstAvailable[1]"));
        assert_eq!(told((2, None)), None);

        let mut claim = wanted.claim.clone();
        let toleration = Toleration::covering(&testing::TAINT);
        add(&mut claim, (1, Some(1)), &toleration);
        let spec = claim.spec.expect("its spec");
        let RequestKind::FirstAvailable(all) = &spec.requests[1].kind else {
            panic!("alternatives");
        };
        assert_eq!(all[0].1.tolerations, []);
        assert_eq!(all[1].1.tolerations, [toleration]);
    }
}
