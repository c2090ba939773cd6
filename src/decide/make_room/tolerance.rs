//! Whether the claims of a pod tolerate the taint that keeps devices for it.

use super::terms::{TAINT_KEY, taint};
use crate::engine::Semantics;
use crate::engine::tolerate::{is_tolerated_for_ever, tolerates};
use crate::error::Failure;
use crate::model::{
    Effect, NamespacedName, RequestKind, RequestTerms, ResourceClaim, Toleration, Uid,
};

/// How devices are kept for the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// By a taint that its claims tolerate, until it has them.
    Taint,
    /// By a taint that is removed once pods have left: who is scheduled then is decided by priority.
    PriorityAlone,
}

/// A request that does not tolerate the taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LackingRequest {
    /// The claim.
    pub claim: NamespacedName,
    /// The request, as REQUEST or REQUEST/SUBREQUEST.
    pub request: String,
}

/// The requests of these claims that do not tolerate the taint with either effect: for the scheduler, and for the
/// eviction controller forever.
#[must_use]
pub fn lacking(claims: &[&ResourceClaim], uid: &Uid, semantics: &Semantics) -> Vec<LackingRequest> {
    let mut lacking = Vec::new();
    for claim in claims {
        let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
        for request in requests {
            let choices: Vec<(String, Option<&RequestTerms>)> = match &request.kind {
                RequestKind::Exactly(terms) => vec![(request.name.to_string(), Some(terms))],
                RequestKind::FirstAvailable(all) => all
                    .iter()
                    .map(|(name, terms)| (format!("{}/{name}", request.name), Some(terms)))
                    .collect(),
                // A request of a newer API may have tolerations that were not read. The taint could keep out
                // the pod itself, so it counts as lacking.
                RequestKind::Unknown => vec![(request.name.to_string(), None)],
            };
            let of_claim = choices.into_iter().filter(|(_, terms)| {
                !terms.is_some_and(|terms| covers(&terms.tolerations, uid, semantics))
            });
            lacking.extend(of_claim.map(|(request, _)| LackingRequest {
                claim: claim.name.clone(),
                request,
            }));
        }
    }
    lacking
}

fn covers(tolerations: &[Toleration], uid: &Uid, semantics: &Semantics) -> bool {
    let (schedules, executes) = (
        taint(uid, Effect::NoSchedule),
        taint(uid, Effect::NoExecute),
    );
    let has = |taint| tolerations.iter().any(|it| tolerates(it, taint));
    has(&schedules) && has(&executes) && is_tolerated_for_ever(&executes, tolerations, semantics)
}

/// The tolerations that requests need, as they are written below a request.
#[must_use]
pub fn toleration_lines() -> Vec<String> {
    let entries = [Effect::NoSchedule, Effect::NoExecute].into_iter();
    let entries = entries.flat_map(|effect| {
        [
            format!("- key: {TAINT_KEY}"),
            "  operator: Exists".to_owned(),
            format!("  effect: {effect}"),
        ]
    });
    std::iter::once("tolerations:".to_owned())
        .chain(entries)
        .collect()
}

/// Refuses to keep devices by a taint that would keep out the pod itself.
///
/// # Errors
///
/// A request does not tolerate the taint.
pub fn refuse_lacking(lacking: &[LackingRequest], mechanism: Mechanism) -> Result<(), Failure> {
    match mechanism {
        Mechanism::PriorityAlone => return Ok(()),
        Mechanism::Taint => {}
    }
    let way_out = "to continue without the toleration: --without-toleration; the devices are then \
                   not kept for the pod, and another pod may get them first";
    if lacking.is_empty() {
        return Ok(());
    }
    let refused = Failure::refused(
        "the pod's claims do not tolerate the taint that would keep devices for it; nothing was changed",
    );
    let requests = lacking
        .iter()
        .map(|it| format!("claim {}: request {}", it.claim, it.request));
    let refused = requests.fold(refused, Failure::detail);
    let refused = refused.detail(
        "add these lines under `exactly` of each request in the ResourceClaimTemplate of the claim, or to each \
         entry of `firstAvailable`:",
    );
    let lines = toleration_lines()
        .into_iter()
        .map(|line| format!("  {line}"));
    let recreate = "a ResourceClaimTemplate cannot be changed: delete it, create it again, and recreate the pod";
    let refused = lines.fold(refused, Failure::detail);
    Err(refused.hint(recreate).hint(way_out))
}
