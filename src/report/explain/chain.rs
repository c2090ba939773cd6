//! The chain from a pod to its taints, as steps with the fields that state them.

use super::device::{held_as, pool_step};
use super::pod::{PodSteps, tolerated, unlisted};
use super::step::{FieldReference, Step, StepType, origin, since};
use super::verdict::{eviction, past_eviction};
use crate::engine::explain::{ClaimEntry, ClaimLink, EvaluatedTaint, HeldDevice, Reservation};
use crate::engine::tolerate::Deadline;
use crate::model::{ClaimSource, Effect, Kind, ResourceClaim};
use crate::report::impact::note::not_evicted;

impl PodSteps<'_, '_> {
    pub(super) fn link(&self, link: &ClaimLink<'_>) -> Step {
        let (path, origin) = match link.place {
            ClaimEntry::Entry(index, source) => {
                let origin = match source {
                    ClaimSource::Template { .. } => ", generated from a template",
                    ClaimSource::Claim(_) | ClaimSource::Unknown => "",
                };
                (format!(".spec.resourceClaims[{index}]"), origin)
            }
            ClaimEntry::ExtendedResource(_) => (
                ".status.extendedResourceClaimStatus".to_owned(),
                ", created for extended resources",
            ),
        };
        let field = FieldReference::new("Pod", &self.chain.pod.name, path);
        let Some(claim) = link.claim else {
            return Step::new(StepType::Missing, self.missing(link), field).satisfied(false);
        };
        let text = format!("claim {}{origin}", claim.name.name);
        let step = Step::new(StepType::Claim, text, field);
        if claim.allocation.is_none() && claim.reserved_for.is_empty() {
            let field = FieldReference::new("ResourceClaim", &claim.name, ".status.allocation");
            let text = "not allocated: the claim has no device";
            return step.with([Step::new(StepType::Missing, text, field).satisfied(false)]);
        }
        let devices = link.devices.iter();
        let devices = devices.map(|held| self.device(held, claim, link));
        step.with([reservation(link, claim)]).with(devices)
    }

    /// The absence of a claim.
    fn missing(&self, link: &ClaimLink<'_>) -> String {
        let name = match (link.unlisted, link.place) {
            (Some(claim), _) => return unlisted(claim),
            (None, ClaimEntry::Entry(_, ClaimSource::Unknown)) => {
                return "a claim from a source that this plugin does not know".to_owned();
            }
            (
                None,
                ClaimEntry::Entry(
                    _,
                    ClaimSource::Template {
                        template,
                        generated: None,
                    },
                ),
            ) => {
                // Without a name it is unknown which: not generated yet, or found to be unnecessary.
                let absent = self.ungenerated(template);
                return format!("{absent}, or the pod needs none from this template");
            }
            (
                None,
                ClaimEntry::Entry(
                    _,
                    ClaimSource::Claim(name)
                    | ClaimSource::Template {
                        generated: Some(name),
                        ..
                    },
                )
                | ClaimEntry::ExtendedResource(name),
            ) => name,
        };
        if self.is_unread(Kind::ResourceClaim) {
            format!("claim {name}: claims were not read, so its devices are unknown")
        } else {
            format!("claim {name} not found: it was deleted, or has not been created yet")
        }
    }

    fn device(&self, held: &HeldDevice<'_>, claim: &ResourceClaim, link: &ClaimLink<'_>) -> Step {
        let result = held.result;
        let (device, request) = (&result.device, &result.request);
        let text = format!("request {request}: device {device}{}", held_as(result));
        let path = format!(".status.allocation.devices.results[{}]", held.place);
        let field = FieldReference::new("ResourceClaim", &claim.name, path);
        let taints = held.taints.iter();
        let taints = taints.map(|evaluated| self.taint(evaluated, held, claim, link));
        // Rules and drivers can both taint the device: that it has no taint is known only with both read.
        let is_known =
            !self.is_unread(Kind::DeviceTaintRule) && !self.is_unread(Kind::ResourceSlice);
        let untainted = held.taints.is_empty().then(|| {
            let text = if is_known {
                "no taint"
            } else {
                "no known taint, but not all taints were read"
            };
            Step::new(StepType::Note, text, None)
        });
        Step::new(StepType::Device, text, field)
            .with([pool_step(device, held.publication, self.basis)])
            .with(taints)
            .with(untainted)
    }

    fn taint(
        &self,
        evaluated: &EvaluatedTaint<'_>,
        held: &HeldDevice<'_>,
        claim: &ResourceClaim,
        link: &ClaimLink<'_>,
    ) -> Step {
        let counts = link.validity == Some(None);
        let now = self.input.now;
        let predicts = self.basis.semantics.predicts_evictions();
        let (whose, field) = origin(evaluated, held.publication, self.input);
        let deadline = evaluated.decision.map(|decision| decision.deadline);
        let effect = match (deadline, &evaluated.taint.effect) {
            (Some(_), _) if !predicts => "evictions are not predicted".to_owned(),
            (Some(Deadline::At(_)), _) if !counts => "does not evict through this claim".to_owned(),
            (Some(Deadline::At(at)), _) if self.chain.pod.deletion.is_some() => {
                past_eviction(at, now)
            }
            (Some(Deadline::At(at)), _) => eviction("evicts", at, now),
            (Some(Deadline::Never), _) => "tolerated forever".to_owned(),
            (None, Effect::NoSchedule) => {
                "blocks new allocations to claims that do not tolerate it, and evicts no pods"
                    .to_owned()
            }
            (None, Effect::None | Effect::NoExecute | Effect::Unknown(_)) => {
                "evicts no pods".to_owned()
            }
        };
        let since = since(evaluated.taint, now);
        let text = format!("taint {} of {whose}, {since}: {effect}", evaluated.taint);
        let toleration = evaluated.decision.map(|decision| {
            let index = decision.by.map(|index| format!("[{index}]"));
            let results = format!(".status.allocation.devices.results[{}]", held.place);
            let path = format!("{results}.tolerations{}", index.unwrap_or_default());
            let field = FieldReference::new("ResourceClaim", &claim.name, path);
            let text = tolerated(decision, evaluated, held, claim);
            Step::new(StepType::Toleration, text, field).satisfied(decision.by.is_some())
        });
        Step::new(StepType::Taint, text, field)
            .satisfied(predicts.then(|| counts && evaluated.evicts()))
            .with(toleration)
    }
}

fn reservation(link: &ClaimLink<'_>, claim: &ResourceClaim) -> Step {
    let (text, index) = match link.reservation {
        Reservation::Current(index) => ("reserved for this pod", Some(index)),
        Reservation::Renamed(index) => (
            "reserved for the UID of this pod, but this entry of reservedFor has another pod name",
            Some(index),
        ),
        Reservation::Group(index) => ("reserved for the pod's PodGroup", Some(index)),
        Reservation::Former(index) => (
            "reserved for an earlier pod of this name with another UID: outdated",
            Some(index),
        ),
        Reservation::Absent => (
            "not reserved for this pod, so the pod does not use the claim",
            None,
        ),
    };
    let index = index.map(|index| format!("[{index}]"));
    let path = format!(".status.reservedFor{}", index.unwrap_or_default());
    let field = FieldReference::new("ResourceClaim", &claim.name, path);
    let text = match link.validity.flatten() {
        Some(obstacle) => format!("{text}; ignored: {}", not_evicted(obstacle).message),
        None => text.to_owned(),
    };
    Step::new(StepType::Reservation, text, field).satisfied(link.validity == Some(None))
}
