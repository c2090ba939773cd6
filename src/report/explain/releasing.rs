//! Which single change would give devices to a pod that waits?

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::SingleChange;
use super::origin::published;
use crate::engine::explain::Wanted;
use crate::engine::placement::{Blame, Exclusion, Prospect, TaintOwner, Waiting, is_placeable};
use crate::model::{NamespacedName, ResourceClaim, Snapshot, Taint, Toleration, Wish};

/// So many tolerations are tried.
const TRIED: usize = 8;

/// The changes each of which would give the pod devices: without one of the taints that are to blame, or
/// with a toleration of it in one request. Tolerations were tried.
pub(super) fn changes(
    found: &Prospect,
    wanted: &Wanted,
    question: &Waiting<'_>,
) -> Vec<SingleChange> {
    let Blame::Taints(owners) = &found.blame else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    let mut tried = BTreeSet::new();
    for owner in owners {
        let Some((_, taint)) = blocking(found, owner).first().copied() else {
            continue;
        };
        let at = match owner {
            TaintOwner::Driver(device) => published(device, question.snapshot),
            TaintOwner::Rule(_) | TaintOwner::Supposed(_) => None,
        };
        changes.push(SingleChange::releasing(owner, &taint.to_string(), at));
        for (request, taint) in blocking(found, owner) {
            let toleration = Toleration::covering(taint);
            if tried.len() >= TRIED || !tried.insert((request, toleration.clone())) {
                continue;
            }
            let mut claim = wanted.claim.clone();
            add(&mut claim, request, &toleration);
            let changed = Waiting {
                claim: &claim,
                ..*question
            };
            if is_placeable(&changed)
                && let Some((claim, place)) = wanted.origins.get(request)
            {
                let request = request_of(question.snapshot, claim, *place);
                changes.push(SingleChange::tolerating(claim, request, &toleration));
            }
        }
    }
    changes
}

/// For which requests a taint of that owner keeps devices out, by their places, and which it is.
fn blocking<'f>(found: &'f Prospect, wanted: &TaintOwner) -> Vec<(usize, &'f Taint)> {
    let mut blocking = Vec::new();
    for choice in &found.choices {
        let exclusions = choice.excluded.iter().flat_map(|(_, all)| all);
        let mut taints = exclusions.filter_map(|exclusion| match exclusion {
            Exclusion::Tainted(taint, owner) if owner == wanted => Some(taint),
            Exclusion::Tainted(..)
            | Exclusion::Class(_)
            | Exclusion::Selector(_)
            | Exclusion::Node
            | Exclusion::Held(_)
            | Exclusion::Amount
            | Exclusion::Incomplete
            | Exclusion::Invalid
            | Exclusion::Unknown(_) => None,
        });
        blocking.extend(taints.next().map(|taint| (choice.request, taint)));
    }
    blocking.sort();
    blocking.dedup();
    blocking
}

/// Adds the toleration to a request, in each of its alternatives.
fn add(claim: &mut ResourceClaim, request: usize, toleration: &Toleration) {
    let specs = claim.spec.iter_mut().map(Arc::make_mut);
    let requests = specs.flat_map(|spec| &mut spec.requests);
    for request in requests.skip(request).take(1) {
        match &mut request.wish {
            Wish::Exactly(terms) => terms.tolerations.push(toleration.clone()),
            Wish::FirstAvailable(all) => {
                for (_, terms) in all {
                    terms.tolerations.push(toleration.clone());
                }
            }
            Wish::Unknown => {}
        }
    }
}

/// The request, and where its tolerations stand.
fn request_of(snapshot: &Snapshot, claim: &NamespacedName, place: usize) -> (String, String) {
    let mut claims = snapshot.claims.iter();
    let found = claims.find(|known| known.name == *claim);
    let spec = found.and_then(|claim| claim.spec.as_deref());
    let request = spec.and_then(|spec| spec.requests.get(place));
    let path = format!(".spec.devices.requests[{place}]");
    let path = match request.map(|request| &request.wish) {
        Some(Wish::Exactly(_)) => format!("{path}.exactly.tolerations"),
        Some(Wish::FirstAvailable(_)) => format!("{path}.firstAvailable[*].tolerations"),
        Some(Wish::Unknown) | None => path,
    };
    (
        request.map_or_else(String::new, |request| request.name.to_string()),
        path,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimSpec, DeviceRequest};
    use crate::report::testing;

    #[test]
    fn a_toleration_is_for_every_alternative_of_a_request() {
        let request = |name: &str, wish| DeviceRequest {
            name: name.into(),
            wish,
        };
        let name = testing::name("ml", "claim");
        let snapshot = Snapshot {
            claims: vec![ResourceClaim {
                name: name.clone(),
                uid: "claim".into(),
                controller: None,
                spec: Some(Arc::new(ClaimSpec {
                    requests: vec![
                        request("any", Wish::FirstAvailable(Vec::new())),
                        request("odd", Wish::Unknown),
                    ],
                    constraints: Vec::new(),
                })),
                allocation: None,
                reserved_for: Vec::new(),
            }],
            ..Snapshot::default()
        };
        let told = |place| request_of(&snapshot, &name, place);
        let path = ".spec.devices.requests[0].firstAvailable[*].tolerations";
        assert_eq!(told(0), ("any".to_owned(), path.to_owned()));
        assert_eq!(told(1).1, ".spec.devices.requests[1]");
    }
}
