//! Whether claims tolerate the taint that keeps devices for a pod.

use super::rules::{TAINT_KEY, taint};
use crate::engine::tolerate::tolerates;
use crate::error::Failure;
use crate::model::{
    Effect, NamespacedName, RequestKind, RequestTerms, ResourceClaim, Toleration, Uid,
};

/// A request that does not tolerate the taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackingRequest {
    /// The claim.
    pub claim: NamespacedName,
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
}

/// Requests of the claim that do not tolerate the taint for the pod with this UID.
#[must_use]
pub fn lacking(claim: &ResourceClaim, uid: &Uid) -> Vec<LackingRequest> {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let choices = requests.flat_map(|request| -> Vec<(String, Option<&RequestTerms>)> {
        match &request.kind {
            RequestKind::Exactly(terms) => vec![(request.name.to_string(), Some(terms))],
            RequestKind::FirstAvailable(all) => all
                .iter()
                .map(|(name, terms)| (format!("{}/{name}", request.name), Some(terms)))
                .collect(),
            // A request of a newer API may have tolerations that were not read. The taint could keep out the pod
            // itself, so it counts as lacking.
            RequestKind::Unknown => vec![(request.name.to_string(), None)],
        }
    });
    let lacking =
        choices.filter(|(_, terms)| !terms.is_some_and(|terms| covers(&terms.tolerations, uid)));
    let lacking = lacking.map(|(request, _)| LackingRequest {
        claim: claim.name.clone(),
        request,
    });
    lacking.collect()
}

/// Whether one of the tolerations covers the taint for the pod with this UID.
#[must_use]
pub fn covers(tolerations: &[Toleration], uid: &Uid) -> bool {
    let taint = taint(uid);
    tolerations.iter().any(|it| tolerates(it, &taint))
}

/// The toleration that requests need, as it is written below a request.
#[must_use]
pub fn toleration_lines() -> [String; 4] {
    [
        "tolerations:".to_owned(),
        format!("- key: {TAINT_KEY}"),
        "  operator: Exists".to_owned(),
        format!("  effect: {}", Effect::NoSchedule),
    ]
}

/// Refuses to keep devices by a taint that would keep out the pod itself.
///
/// # Errors
///
/// A request does not tolerate the taint.
pub fn refuse_lacking(lacking: &[LackingRequest]) -> Result<(), Failure> {
    if lacking.is_empty() {
        return Ok(());
    }
    let refused = Failure::refused(
        "the pod's claims do not tolerate the taint that would keep devices for it; nothing was changed",
    );
    let requests = lacking
        .iter()
        .map(|it| format!("claim {}: request {}", it.claim, it.request));
    let refused = requests.fold(refused, Failure::detail).detail(
        "add these lines under `exactly` of each request in the ResourceClaimTemplate (delete it and create it \
         again), or to each entry of `firstAvailable`, and recreate the pod:",
    );
    let lines = toleration_lines().map(|line| format!("  {line}"));
    let refused = lines.into_iter().fold(refused, Failure::detail);
    Err(refused.hint(
        "to evict pods without keeping their devices, so that another pod may get them first: --without-toleration",
    ))
}
