//! The links of a chain that decide about its pod, in a line or two each.

use super::step::ALL;
use crate::engine::explain::{Chain, EvaluatedTaint, ExplainInput, HeldDevice, PodVerdict};
use crate::engine::tolerate::{Deadline, TolerationDecision, tolerates};
use crate::engine::{Origin, ProposedTaint};
use crate::model::{ResourceClaim, Taint};

/// So many taints are named, each with what the claim has against it.
const SHOWN: usize = 3;

/// The taints that decide about the pod, and the tolerations that decide about them; empty where the verdict
/// does not come from a taint.
pub(super) fn deciding_links(
    verdict: PodVerdict,
    chain: &Chain<'_>,
    input: &ExplainInput<'_>,
) -> Vec<String> {
    let decides = |decision: TolerationDecision| match verdict {
        PodVerdict::Evicted { at } => decision.deadline == Deadline::At(at),
        PodVerdict::Tolerates => decision.deadline == Deadline::Never,
        PodVerdict::Terminating | PodVerdict::NotEvicted(_) | PodVerdict::Untouched => false,
    };
    let mut found = Vec::new();
    for link in &chain.links {
        // A claim that does not count for the pod decides nothing, whatever taints its devices have.
        let claim = link.claim.filter(|_| link.validity == Some(None));
        for (claim, held) in claim.into_iter().flat_map(|claim| {
            let held = link.devices.iter();
            held.map(move |held| (claim, held))
        }) {
            let deciding = held.taints.iter().filter_map(|taint| {
                let decision = taint.decision.filter(|decision| decides(*decision))?;
                Some([
                    tainted(taint, held, input),
                    tolerated(decision, taint.taint, held, claim, input),
                ])
            });
            found.extend(deciding);
        }
    }
    let more = found.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} more{ALL}"));
    found
        .into_iter()
        .take(SHOWN)
        .flatten()
        .chain(more)
        .collect()
}

fn tainted(
    evaluated: &EvaluatedTaint<'_>,
    held: &HeldDevice<'_>,
    input: &ExplainInput<'_>,
) -> String {
    let (device, taint) = (&held.result.device, evaluated.taint);
    let rule = match evaluated.origin {
        Origin::Rule(name) => Some(name),
        Origin::Proposed(number) => {
            let proposed: Option<&ProposedTaint> = input.taints.get(number);
            match proposed.and_then(|proposed| proposed.rule.as_ref()) {
                Some(rule) => Some(rule),
                None => return format!("the proposed taint {taint} is on {device}"),
            }
        }
        Origin::ResourceSlice(_) => None,
    };
    match rule {
        Some(rule) => format!("rule {rule} taints {device} with {taint}"),
        None => format!("the driver taints {device} with {taint}"),
    }
}

/// What the claim has against the taint: the toleration that decides.
fn tolerated(
    decision: TolerationDecision,
    taint: &Taint,
    held: &HeldDevice<'_>,
    claim: &ResourceClaim,
    input: &ExplainInput<'_>,
) -> String {
    let name = &claim.name.name;
    let tolerations = &held.result.tolerations;
    let by = decision.by.and_then(|place| tolerations.get(place));
    match (by, decision.deadline) {
        (Some(toleration), Deadline::Never) => {
            format!("claim {name} tolerates this taint forever: {toleration}")
        }
        (Some(toleration), Deadline::At(at)) => {
            let seconds = toleration.seconds.unwrap_or_default();
            let verb = if at < input.now {
                "tolerated"
            } else {
                "tolerates"
            };
            format!("claim {name} {verb} this taint for {seconds}s, until {at}")
        }
        (None, _) if tolerations.iter().any(|it| tolerates(it, taint)) => {
            format!("claim {name} tolerates this taint for scheduling only")
        }
        (None, _) => format!("claim {name} does not tolerate this taint"),
    }
}
