//! Single changes that spare a pod its eviction, or delay it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::chain::ExplainInput;
use super::chain::PodVerdict;
use super::chain::{Chain, ClaimLink, EvaluatedTaint};
use crate::impact::Origin;
use crate::model::{DeviceId, Effect, NamespacedName, Snapshot, Taint, Toleration};
use crate::select::ProposedTaint;

/// Number of changes that are tried for one pod.
//
// Each is a preview of the changed snapshot. Beyond this number there are many devices with the same taints,
// and the changes repeat.
const MAX_CHANGES: usize = 64;

/// A change of one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictChange {
    /// Removal of a rule, by its index in the question.
    WithoutRule(usize),
    /// Removal of this taint by the driver of the device.
    WithoutDriverTaint {
        /// Device that has the taint.
        device: DeviceId,
        /// The taint.
        taint: Taint,
    },
    /// One more toleration of a request, from its allocation on.
    WithToleration(RequestToleration),
}

/// A toleration of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestToleration {
    /// The claim.
    pub claim: NamespacedName,
    /// The request, as the allocation names it.
    pub request: Arc<str>,
    /// The toleration.
    pub toleration: Toleration,
}

/// A change, and the verdict with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alteration {
    /// The change.
    pub change: VerdictChange,
    /// The verdict by everything that is there.
    pub verdict: PodVerdict,
}

/// Single changes after which the pod stays, then those after which it is evicted at another time; none for a pod that
/// is not evicted.
///
/// The snapshot of `input` is copied for each; that of a [`related_objects`](super::related_objects()) is small.
pub fn alterations(input: &ExplainInput<'_>, chain: &Chain<'_>) -> Vec<Alteration> {
    let before = input.present(chain.pod, chain);
    if !is_evicted(before) {
        return Vec::new();
    }
    // In the order of the variants: removals of rules come first, so that the limit never cuts them off for others.
    let candidates: BTreeSet<VerdictChange> = candidates(chain, input).into_iter().collect();
    // Changes are tried and not derived: the verdict with a change is made by the same code as the verdict
    // without, so that advice cannot disagree with a later preview.
    let tried = candidates.into_iter().take(MAX_CHANGES);
    let mut altering: Vec<Alteration> = tried
        .filter_map(|change| {
            let verdict = verdict_with(&change, input, chain)?;
            (verdict != before).then_some(Alteration { change, verdict })
        })
        .collect();
    altering.sort_by_key(|alteration| is_evicted(alteration.verdict));
    altering
}

fn verdict_with(
    change: &VerdictChange,
    input: &ExplainInput<'_>,
    chain: &Chain<'_>,
) -> Option<PodVerdict> {
    let mut snapshot = input.snapshot.clone();
    let mut taints = input.taints.to_vec();
    change.make(&mut snapshot, &mut taints);
    let changed = ExplainInput {
        snapshot: &snapshot,
        taints: &taints,
        ..input.clone()
    };
    let mut pods = snapshot.pods.iter();
    let pod = pods.find(|other| other.uid == chain.pod.uid)?;
    Some(changed.present(pod, &Chain::new(pod, &changed)))
}

fn is_evicted(verdict: PodVerdict) -> bool {
    matches!(verdict, PodVerdict::Evicted { .. })
}

impl VerdictChange {
    fn make(&self, snapshot: &mut Snapshot, taints: &mut Vec<ProposedTaint>) {
        match self {
            Self::WithoutRule(index) => {
                // It goes from both lists: otherwise a preview would take the rule again, as one that exists beside
                // the question.
                let gone = taints.remove(*index);
                snapshot
                    .rules
                    .retain(|rule| Some(&rule.name) != gone.rule.as_ref());
            }
            Self::WithoutDriverTaint { device, taint } => {
                let slices = snapshot.slices.iter_mut().filter(|slice| {
                    slice.driver == device.driver && slice.pool.name == device.pool
                });
                let devices = slices.flat_map(|slice| &mut slice.devices);
                for published in devices.filter(|published| published.name == device.device) {
                    // Without the time, as the helper library of drivers tells its taints apart.
                    let key = (&taint.key, &taint.value, &taint.effect);
                    published
                        .taints
                        .retain(|other| (&other.key, &other.value, &other.effect) != key);
                }
            }
            Self::WithToleration(wanted) => {
                let mut claims = snapshot.claims.iter_mut();
                let claim = claims.find(|claim| claim.name == wanted.claim);
                let allocation = claim.and_then(|claim| claim.allocation.as_mut());
                for result in allocation.into_iter().flat_map(|all| &mut all.results) {
                    if result.request == wanted.request {
                        result.tolerations.push(wanted.toleration.clone());
                    }
                }
            }
        }
    }
}

/// Changes that are worth a trial: the removal of each taint that evicts the pod, and a toleration of it.
fn candidates(chain: &Chain<'_>, input: &ExplainInput<'_>) -> Vec<VerdictChange> {
    let mut candidates = Vec::new();
    let counting = chain
        .links
        .iter()
        .filter(|link| link.validity == Some(None));
    for link in counting {
        for device in &link.devices {
            let evicting = device.taints.iter().filter(|taint| taint.evicts());
            for evaluated in evicting {
                candidates.extend(removal(evaluated, &device.result.device, input));
                candidates.extend(toleration(evaluated, link, &device.result.request));
            }
        }
    }
    candidates
}

fn removal(
    evaluated: &EvaluatedTaint<'_>,
    device: &DeviceId,
    input: &ExplainInput<'_>,
) -> Option<VerdictChange> {
    match evaluated.origin {
        // A taint that no rule has yet is the question: without it there is none.
        Origin::Proposed(index) => {
            let rule = input.taints.get(index)?.rule.as_ref();
            rule.map(|_| VerdictChange::WithoutRule(index))
        }
        Origin::ResourceSlice(_) => Some(VerdictChange::WithoutDriverTaint {
            device: device.clone(),
            taint: evaluated.taint.clone(),
        }),
        Origin::Rule(_) => None,
    }
}

/// The narrowest toleration that keeps the taint from evicting.
fn toleration(
    evaluated: &EvaluatedTaint<'_>,
    link: &ClaimLink<'_>,
    request: &Arc<str>,
) -> Option<VerdictChange> {
    Some(VerdictChange::WithToleration(RequestToleration {
        claim: link.claim?.name.clone(),
        request: Arc::clone(request),
        toleration: Toleration {
            effect: Some(Effect::NoExecute),
            ..Toleration::covering(evaluated.taint)
        },
    }))
}
