//! Single changes that would alter what happens to a pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::chain::{Chain, ClaimLink, EvaluatedTaint};
use super::explain_input::ExplainInput;
use super::pod_verdict::PodVerdict;
use crate::engine::impact::{NotEvicted, Origin, ProposedTaint};
use crate::engine::tolerate::Deadline;
use crate::model::{
    ConsumerReference, Controller, DeviceId, DeviceSelector, Effect, NamespacedName, ObjectName,
    Operator, Pod, ResourceClaim, Snapshot, Taint, Toleration, in_group,
};

/// How many changes are tried for one pod.
//
// Each is a preview of the changed snapshot. Beyond this number there are many devices with the same taints,
// and the changes repeat.
const MAX_CHANGES: usize = 64;

/// A change of one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictChange {
    /// A rule, or a taint that was asked about, is not there, by its place in the question.
    WithoutRule(usize),
    /// The driver does not set this taint.
    WithoutDriverTaint {
        /// On which device.
        device: DeviceId,
        /// Which.
        taint: Taint,
    },
    /// A request has one more toleration, from its allocation on.
    WithToleration(RequestToleration),
    /// A request has no such toleration, from its allocation on.
    WithoutToleration(RequestToleration),
    /// A rule, or a taint that was asked about, has effect `NoExecute`, by its place in the question.
    WithNoExecute(usize),
    /// The device has a taint with effect `NoExecute`.
    WithTaint(DeviceId),
    /// The pod has a node.
    Scheduled,
    /// The claim is reserved for the pod.
    Reserved(NamespacedName),
    /// The claim was generated for the pod.
    Owned(NamespacedName),
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

/// A change, and what becomes of the pod with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alteration {
    /// What is changed.
    pub change: VerdictChange,
    /// What becomes of the pod then, by everything that is there.
    pub verdict: PodVerdict,
}

/// The key of a taint that nobody has named.
pub const PLACEHOLDER_KEY: &str = in_group!("preview");

/// Every single change that decides whether the pod is evicted, then those that move the moment. Each was
/// tried: made, and asked about again.
///
/// The snapshot of `input` is copied for each; that of a
/// [`related_objects`](super::related_objects()) is small.
#[must_use]
pub fn alterations(input: &ExplainInput<'_>, chain: &Chain<'_>) -> Vec<Alteration> {
    let before = input.present(chain.pod, chain);
    // In the order of the variants: removals of rules come first, so that the limit never cuts them off for others.
    let candidates: BTreeSet<VerdictChange> = candidates(chain, before).into_iter().collect();
    // Changes are tried and not derived: the verdict with a change is made by the same code as the verdict
    // without, so that advice cannot disagree with a later preview.
    let tried = candidates
        .into_iter()
        .take(MAX_CHANGES)
        .filter_map(|change| {
            let verdict = verdict_with(std::iter::once(&change), input, chain.pod)?;
            let is_altered = is_evicted(verdict) || is_evicted(before);
            (is_altered && verdict != before).then_some(Alteration { change, verdict })
        });
    let altering: Vec<Alteration> = tried.collect();
    let mut altering = without_blankets(&altering);
    altering.sort_by_key(|alteration| is_evicted(alteration.verdict) == is_evicted(before));
    altering
}

/// The taints that all have to go for the pod to stay, and what becomes of it then, where no single one of
/// `altering` spares it; absent where one does, and where that is not enough.
///
/// Each of them evicts it by itself, so that fewer do not do.
#[must_use]
pub fn combined_alteration(
    input: &ExplainInput<'_>,
    chain: &Chain<'_>,
    altering: &[Alteration],
) -> Option<(Vec<VerdictChange>, PodVerdict)> {
    let before = input.present(chain.pod, chain);
    let is_spared = altering.iter().any(|one| !is_evicted(one.verdict));
    if !is_evicted(before) || is_spared {
        return None;
    }
    let counting = chain
        .links
        .iter()
        .filter(|link| link.validity == Some(None));
    let devices = counting.flat_map(|link| &link.devices);
    let removals = devices.flat_map(|device| {
        let evicting = device.taints.iter().filter(|evaluated| evaluated.evicts());
        evicting.filter_map(|evaluated| removal(evaluated, &device.result.device))
    });
    // A set: devices share taints of rules, and a rule goes once.
    let removals: BTreeSet<VerdictChange> = removals.collect();
    // Rules go from the last to the first, so that places stay those of the question.
    let verdict = verdict_with(removals.iter().rev(), input, chain.pod)?;
    (!is_evicted(verdict)).then(|| (removals.into_iter().collect(), verdict))
}

/// What becomes of the pod with all of the changes, by everything that is there.
fn verdict_with<'c>(
    changes: impl Iterator<Item = &'c VerdictChange>,
    input: &ExplainInput<'_>,
    pod: &Pod,
) -> Option<PodVerdict> {
    let mut snapshot = input.snapshot.clone();
    let mut taints = input.taints.to_vec();
    for change in changes {
        change.make(pod, input.now, &mut snapshot, &mut taints);
    }
    let changed = ExplainInput {
        snapshot: &snapshot,
        taints: &taints,
        ..input.clone()
    };
    let pod = snapshot.pods.iter().find(|other| other.uid == pod.uid)?;
    let chain = Chain::new(pod, &changed);
    Some(changed.present(pod, &chain))
}

/// Without tolerations of everything where a narrower one in the same request does as much.
fn without_blankets(altering: &[Alteration]) -> Vec<Alteration> {
    let request = |wanted: &RequestToleration| (wanted.claim.clone(), wanted.request.clone());
    let narrow: BTreeSet<(NamespacedName, Arc<str>)> = altering
        .iter()
        .filter(|alteration| !is_evicted(alteration.verdict))
        .filter_map(|alteration| alteration.change.added())
        .filter(|wanted| wanted.toleration != blanket())
        .map(request)
        .collect();
    let is_needed = |alteration: &&Alteration| {
        alteration.change.added().is_none_or(|wanted| {
            wanted.toleration != blanket() || !narrow.contains(&request(wanted))
        })
    };
    altering.iter().filter(is_needed).cloned().collect()
}

fn is_evicted(verdict: PodVerdict) -> bool {
    matches!(verdict, PodVerdict::Evicted { .. })
}

impl VerdictChange {
    /// The toleration that a request has more.
    fn added(&self) -> Option<&RequestToleration> {
        match self {
            Self::WithToleration(wanted) => Some(wanted),
            Self::WithoutRule(_)
            | Self::WithoutDriverTaint { .. }
            | Self::WithoutToleration(_)
            | Self::WithNoExecute(_)
            | Self::WithTaint(_)
            | Self::Scheduled
            | Self::Reserved(_)
            | Self::Owned(_) => None,
        }
    }

    /// Makes the change at `now`, which is about `pod`.
    fn make(
        &self,
        pod: &Pod,
        now: Timestamp,
        snapshot: &mut Snapshot,
        taints: &mut Vec<ProposedTaint>,
    ) {
        match self {
            Self::WithoutRule(place) => {
                // It goes from both lists: otherwise a preview would take the rule again, as one that exists beside
                // the question.
                let gone = taints.remove(*place);
                snapshot
                    .rules
                    .retain(|rule| Some(&rule.name) != gone.rule.as_ref());
            }
            Self::WithNoExecute(place) => {
                if let Some(taint) = taints.get_mut(*place) {
                    *taint = taint.clone().with_effect(&Effect::NoExecute, now);
                }
            }
            Self::WithoutDriverTaint { device, taint } => {
                let slices = snapshot.slices.iter_mut().filter(|slice| {
                    slice.driver == device.driver && slice.pool.name == device.pool
                });
                for published in slices.flat_map(|slice| &mut slice.devices) {
                    if published.name == device.device {
                        let is_it = |other: &Taint| {
                            // Without the time, as the helper library of drivers tells its taints apart.
                            (&other.key, &other.value, &other.effect)
                                == (&taint.key, &taint.value, &taint.effect)
                        };
                        published.taints.retain(|other| !is_it(other));
                    }
                }
            }
            Self::WithToleration(wanted) => wanted.change(snapshot, |tolerations| {
                tolerations.push(wanted.toleration.clone());
            }),
            Self::WithoutToleration(unwanted) => unwanted.change(snapshot, |tolerations| {
                tolerations.retain(|other| *other != unwanted.toleration);
            }),
            Self::WithTaint(device) => taints.push(ProposedTaint {
                rule: None,
                selector: Some(DeviceSelector::from(device.clone())),
                taint: placeholder_taint(),
            }),
            Self::Scheduled => {
                let pods = snapshot.pods.iter_mut();
                for other in pods.filter(|other| other.uid == pod.uid) {
                    // Any name will do: the controller asks only whether there is one.
                    other.node.get_or_insert("node".into());
                }
            }
            Self::Reserved(claim) => change_claim(snapshot, claim, |claim| {
                claim.reserved_for.push(ConsumerReference {
                    api_group: "".into(),
                    resource: "pods".into(),
                    name: pod.name.name.clone(),
                    uid: pod.uid.clone(),
                });
            }),
            Self::Owned(claim) => change_claim(snapshot, claim, |claim| {
                claim.controller = Some(Controller {
                    api_version: "v1".into(),
                    kind: "Pod".into(),
                    name: pod.name.name.clone(),
                    uid: pod.uid.clone(),
                });
            }),
        }
    }
}

impl RequestToleration {
    fn change(&self, snapshot: &mut Snapshot, make: impl Fn(&mut Vec<Toleration>)) {
        change_claim(snapshot, &self.claim, |claim| {
            let results = claim.allocation.iter_mut().flat_map(|all| &mut all.results);
            for result in results.filter(|result| result.request == self.request) {
                make(&mut result.tolerations);
            }
        });
    }
}

fn change_claim(
    snapshot: &mut Snapshot,
    name: &NamespacedName,
    change: impl FnOnce(&mut ResourceClaim),
) {
    if let Some(claim) = snapshot.claims.iter_mut().find(|claim| claim.name == *name) {
        change(claim);
    }
}

/// What is worth trying.
fn candidates(chain: &Chain<'_>, before: PodVerdict) -> Vec<VerdictChange> {
    let mut candidates = Vec::new();
    for link in &chain.links {
        let Some(claim) = link.claim else {
            continue;
        };
        match link.validity {
            None => candidates.push(VerdictChange::Reserved(claim.name.clone())),
            Some(Some(NotEvicted::NotScheduled)) => candidates.push(VerdictChange::Scheduled),
            Some(Some(NotEvicted::NotOwned)) => {
                candidates.push(VerdictChange::Owned(claim.name.clone()))
            }
            Some(_) => {}
        }
        let counts = link.validity == Some(None);
        for device in link.devices.iter().filter(|_| counts) {
            let id = &device.result.device;
            for evaluated in &device.taints {
                candidates.extend(removal(evaluated, id));
                candidates.extend(of_tolerations(evaluated, link, device.place, before));
            }
            if !is_evicted(before) {
                candidates.push(VerdictChange::WithTaint(id.clone()));
            }
        }
    }
    candidates
}

/// The taint goes, or evicts.
fn removal(evaluated: &EvaluatedTaint<'_>, device: &DeviceId) -> Option<VerdictChange> {
    let evicts = evaluated.taint.effect == Effect::NoExecute;
    Some(match evaluated.origin {
        Origin::Proposed(place) if evicts => VerdictChange::WithoutRule(place),
        Origin::Proposed(place) => VerdictChange::WithNoExecute(place),
        Origin::ResourceSlice(_) if evicts => VerdictChange::WithoutDriverTaint {
            device: device.clone(),
            taint: evaluated.taint.clone(),
        },
        Origin::ResourceSlice(_) | Origin::Rule(_) => return None,
    })
}

/// A toleration of the request comes that covers the taint, or the one goes that decided about it.
fn of_tolerations(
    evaluated: &EvaluatedTaint<'_>,
    link: &ClaimLink<'_>,
    place: usize,
    before: PodVerdict,
) -> Vec<VerdictChange> {
    let Some((claim, decision)) = link.claim.zip(evaluated.decision) else {
        return Vec::new();
    };
    let Some(device) = link.devices.get(place) else {
        return Vec::new();
    };
    let of_request = |toleration| RequestToleration {
        claim: claim.name.clone(),
        request: Arc::clone(&device.result.request),
        toleration,
    };
    let decisive = decision
        .by
        .and_then(|place| device.result.tolerations.get(place));
    match decision.deadline {
        Deadline::At(_) if is_evicted(before) => [covering(evaluated.taint), blanket()]
            .map(|toleration| VerdictChange::WithToleration(of_request(toleration)))
            .into(),
        Deadline::Never | Deadline::At(_) => decisive
            .map(|toleration| VerdictChange::WithoutToleration(of_request(toleration.clone())))
            .into_iter()
            .collect(),
    }
}

/// The narrowest toleration that keeps the taint from evicting.
fn covering(taint: &Taint) -> Toleration {
    Toleration {
        effect: Some(Effect::NoExecute),
        ..Toleration::covering(taint)
    }
}

/// A toleration of everything that evicts.
fn blanket() -> Toleration {
    Toleration {
        key: String::new(),
        operator: Operator::Exists,
        value: String::new(),
        effect: Some(Effect::NoExecute),
        seconds: None,
    }
}

/// The taint that nobody has named, since whenever.
#[must_use]
pub fn placeholder_taint() -> Taint {
    Taint {
        key: PLACEHOLDER_KEY.to_owned(),
        value: String::new(),
        effect: Effect::NoExecute,
        time_added: None,
    }
}

/// The rule that a change is about, or that a taint would be of.
#[must_use]
pub fn rule_of<'a>(change: &VerdictChange, input: &ExplainInput<'a>) -> Option<&'a ObjectName> {
    match change {
        VerdictChange::WithoutRule(place) | VerdictChange::WithNoExecute(place) => {
            input.taints.get(*place)?.rule.as_ref()
        }
        VerdictChange::WithoutDriverTaint { .. }
        | VerdictChange::WithToleration(_)
        | VerdictChange::WithoutToleration(_)
        | VerdictChange::WithTaint(_)
        | VerdictChange::Scheduled
        | VerdictChange::Reserved(_)
        | VerdictChange::Owned(_) => None,
    }
}
