//! Explanation of a pod's verdict.

use super::deciding::deciding_links;
use super::fixes::SingleChange;
use super::origin::{origin, since};
use super::pod_context::PodContext;
use super::request_text::request_step;
use super::root_cause::{scheduler_message, ungenerated};
use super::step::{FieldReference, Step, StepType};
use super::toleration;
use super::verdict::{ExplainedVerdict, describe, describe_in, eviction, past_eviction};
use super::view::Explained;
use super::waiting::{self, PendingReasons};
use crate::assess::Basis;
use crate::engine::explain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, ExplainInput, HeldDevice, PodVerdict,
    Publication, Reservation, VerdictChange, alterations, combined_alteration,
};
use crate::engine::tolerate::Deadline;
use crate::engine::{NotEvicted, ProposedTaint, complete_pools};
use crate::model::{ClaimSource, Effect, Kind, NamespacedName, Pod, ResourceClaim};
use crate::report::impact::note::not_evicted;

/// The whole chain of a pod: as things are, or with the taints that are asked about.
#[must_use]
pub fn explain_pod(pod: &Pod, assumed: &[ProposedTaint], basis: &Basis<'_>) -> Explained {
    let context = PodContext::new(pod, assumed, basis);
    let input = context.input(basis);
    let chain = Chain::new(pod, &input);
    let teller = PodSteps {
        input: &input,
        chain: &chain,
        basis,
    };
    let outcome = input.verdict(pod, &chain);
    let mut waits = waiting::of(&chain, assumed, basis);
    let is_waiting =
        outcome == PodVerdict::Untouched && (waits.is_some() || teller.lacks_a_claim());
    let is_predicted =
        basis.semantics.predicts_evictions() || is_waiting || outcome == PodVerdict::Terminating;
    let verdict = if !is_predicted || !teller.knows(outcome) {
        ExplainedVerdict::UNKNOWN
    } else if is_waiting {
        ExplainedVerdict::WAITING
    } else {
        ExplainedVerdict::new(outcome, basis.now)
    };
    let (mut fixes, mut combined_fix, mut messages) = Default::default();
    // Fixes and deciding links would be those of a verdict that may not be true.
    if verdict != ExplainedVerdict::UNKNOWN {
        (fixes, combined_fix) = self::fixes(&chain, &input);
        messages = deciding_links(outcome, &chain, &input);
    }
    let links = chain.links.iter();
    let steps = links
        .map(|link| teller.link(link, waits.as_ref()))
        .collect();
    let answer = teller.answer(outcome, &verdict, waits.as_ref());
    // What the pod waits for replaces the taints on claims that it holds already: without it the pod does not run.
    if let Some(waits) = &mut waits {
        fixes.append(&mut waits.fixes);
        combined_fix.append(&mut waits.combined_fix);
        messages = std::mem::take(&mut waits.why);
    } else if is_waiting {
        messages.extend(scheduler_message(&chain));
    }
    Explained {
        message: answer,
        messages,
        verdict: Some(verdict),
        blocked_by: waits.as_ref().map(|waits| waits.code),
        steps,
        fixes,
        combined_fix,
        waiting_requests: waits.map_or_else(Vec::new, |waits| waits.requests),
        ..Explained::of_pod(pod.into())
    }
}

/// What would alter what becomes of the pod: each by itself, or only all together.
fn fixes(chain: &Chain<'_>, input: &ExplainInput<'_>) -> (Vec<SingleChange>, Vec<SingleChange>) {
    let altering = alterations(input, chain);
    let combined = combined_alteration(input, chain, &altering);
    let told = |change: &VerdictChange, verdict| SingleChange::new(change, verdict, chain, input);
    let single = altering.iter().map(|one| told(&one.change, one.verdict));
    let combined = combined.iter().flat_map(|(changes, verdict)| {
        let changes = changes.iter();
        changes.map(|change| told(change, *verdict))
    });
    (single.collect(), combined.collect())
}

/// What can still be said of a pod that may not be read: the claims that are reserved for its name.
#[must_use]
pub fn explain_unread_pod(name: &NamespacedName, why: &str, basis: &Basis<'_>) -> Explained {
    let claims = basis.reading.snapshot.claims.iter();
    let reserved = claims.filter(|claim| claim.name.namespace == name.namespace);
    let steps = reserved.filter_map(|claim| {
        let mut consumers = claim.reserved_for.iter();
        // By name alone, since the UID of a pod that may not be read is not known.
        let place = consumers.position(|one| &*one.resource == "pods" && one.name == name.name)?;
        let results = claim.allocation.iter().flat_map(|all| &all.results);
        let devices = results.enumerate().map(|(place, result)| {
            let path = format!(".status.allocation.devices.results[{place}]");
            Step::new(
                StepType::Device,
                format!("device {}", result.device),
                FieldReference::new("ResourceClaim", &claim.name, path),
            )
        });
        let path = format!(".status.reservedFor[{place}]");
        let source = FieldReference::new("ResourceClaim", &claim.name, path);
        let text = format!(
            "claim {} is reserved for a pod named {}",
            claim.name.name, name.name
        );
        Some(Step::new(StepType::Claim, text, source).with(devices))
    });
    let mut steps: Vec<Step> = steps.collect();
    if steps.is_empty() {
        let text = format!(
            "none of the claims that could be read is reserved for a pod named {}",
            name.name
        );
        steps.push(Step::new(StepType::Claim, text, None));
    }
    let missing = format!("the pod cannot be read: {why}");
    let source = FieldReference::new("Pod", name, "");
    steps.insert(0, Step::new(StepType::Missing, missing, source));
    Explained {
        message: "outcome unknown: the pod cannot be read".to_owned(),
        verdict: Some(ExplainedVerdict::UNKNOWN),
        steps,
        ..Explained::of_pod(name.into())
    }
}

/// A pod that refers to no claim at all.
#[must_use]
pub fn explain_pod_without_claims(name: &NamespacedName) -> Explained {
    let text = "the pod references no claim, so it uses no device";
    let source = FieldReference::new("Pod", name, ".spec.resourceClaims");
    Explained {
        message: "stays: it uses no device, so no taint affects it".to_owned(),
        verdict: Some(ExplainedVerdict::UNTOUCHED),
        steps: vec![Step::new(StepType::Missing, text, source).satisfied(false)],
        ..Explained::of_pod(name.into())
    }
}

/// Tells the links of one chain.
struct PodSteps<'t, 'a> {
    input: &'t ExplainInput<'a>,
    chain: &'t Chain<'a>,
    basis: &'t Basis<'t>,
}

impl PodSteps<'_, '_> {
    /// Whether what was read suffices to say what becomes of the pod: what is evicted for a reason that
    /// is known goes whatever else there is.
    fn knows(&self, verdict: PodVerdict) -> bool {
        match verdict {
            PodVerdict::Evicted { .. } | PodVerdict::Terminating => return true,
            PodVerdict::Tolerates | PodVerdict::NotEvicted(_) | PodVerdict::Untouched => {}
        }
        let unread = |kind| self.is_unread(kind);
        let is_supposed = self.input.assumed > 0 && verdict != PodVerdict::Untouched;
        // As things are, other rules and drivers' taints count, which only slices have.
        let knows_taints = !unread(Kind::DeviceTaintRule) && !unread(Kind::ResourceSlice);
        !unread(Kind::ResourceClaim) && (is_supposed || knows_taints)
    }

    fn is_unread(&self, kind: Kind) -> bool {
        let reading = self.basis.reading;
        reading.gaps.iter().any(|gap| gap.kind() == Some(kind)) || reading.without(kind).is_some()
    }

    /// Whether it is not scheduled yet, and a claim of it is not there.
    fn lacks_a_claim(&self) -> bool {
        let mut links = self.chain.links.iter();
        self.chain.pod.node.is_none() && links.any(|link| link.claim.is_none())
    }

    fn answer(
        &self,
        outcome: PodVerdict,
        verdict: &ExplainedVerdict,
        waits: Option<&PendingReasons>,
    ) -> String {
        let now = self.input.now;
        let semantics = self.basis.semantics;
        if verdict == &ExplainedVerdict::UNKNOWN && !semantics.predicts_evictions() {
            let version = semantics.version;
            return format!("outcome unknown: evictions by Kubernetes {version} are not predicted");
        }
        if verdict == &ExplainedVerdict::UNKNOWN {
            return "outcome unknown: the data is incomplete".to_owned();
        }
        let told = describe_in(self.basis.reading, outcome, self.chain.pod, now);
        if let Some(waits) = waits {
            return waits.message.clone();
        }
        if outcome == PodVerdict::Untouched && self.lacks_a_claim() {
            return self.absent_claim();
        }
        if self.input.assumed == 0 || outcome != PodVerdict::Untouched {
            return told;
        }
        let present = self.input.present(self.chain.pod, self.chain);
        let present = if present == PodVerdict::Untouched {
            ", and none has another taint that affects the pod".to_owned()
        } else {
            let told = self::describe(present, self.chain.pod, now);
            format!("; with the existing taints: {told}")
        };
        format!("not affected: none of its devices is selected by the proposed taint{present}")
    }

    /// The first claim that the pod waits for and that is not there.
    fn absent_claim(&self) -> String {
        let absent = self.chain.links.iter().filter(|link| link.claim.is_none());
        let mut templates = absent.filter_map(|link| match link.place {
            ClaimEntry::Entry(
                _,
                ClaimSource::Template {
                    template,
                    generated: None,
                },
            ) => Some(template),
            ClaimEntry::Entry(..) | ClaimEntry::ExtendedResource(_) => None,
        });
        match templates.next() {
            Some(template) => {
                let pod = &self.chain.pod.name;
                format!(
                    "waits for a claim that does not exist: {}",
                    ungenerated(pod, template, self.basis.reading)
                )
            }
            None => "waits for a claim that does not exist".to_owned(),
        }
    }

    fn link(&self, link: &ClaimLink<'_>, waits: Option<&PendingReasons>) -> Step {
        let pod = &self.chain.pod.name;
        let (text, path) = match link.place {
            ClaimEntry::Entry(place, ClaimSource::Claim(name)) => (
                format!("claim {name}"),
                format!(".spec.resourceClaims[{place}]"),
            ),
            ClaimEntry::Entry(
                place,
                ClaimSource::Template {
                    generated: Some(name),
                    ..
                },
            ) => (
                format!("claim {name}, generated from a template"),
                format!(".spec.resourceClaims[{place}]"),
            ),
            ClaimEntry::Entry(
                place,
                ClaimSource::Template {
                    template,
                    generated: None,
                },
            ) => {
                // Without a name it is not known which: not generated yet, or found to be unnecessary.
                let text = format!(
                    "{}; or kube-controller-manager's resource claim controller decided that the pod needs no \
                     claim from this template",
                    ungenerated(pod, template, self.basis.reading)
                );
                return self.missing(&text, &format!(".spec.resourceClaims[{place}]"));
            }
            ClaimEntry::Entry(place, ClaimSource::Unknown) => {
                let text = "a claim from a source that this plugin does not know";
                return self.missing(text, &format!(".spec.resourceClaims[{place}]"));
            }
            ClaimEntry::ExtendedResource(name) => (
                format!("claim {name}, created for extended resources"),
                ".status.extendedResourceClaimStatus".to_owned(),
            ),
        };
        let step = Step::new(StepType::Claim, text, FieldReference::new("Pod", pod, path));
        let Some(claim) = link.claim else {
            let text = if self.is_unread(Kind::ResourceClaim) {
                "claims were not read: the devices of this claim are unknown"
            } else {
                "claim not found: it was deleted, or has not been created yet"
            };
            return step.with([Step::new(StepType::Missing, text, None).satisfied(false)]);
        };
        let requests = self.requests(link, claim, waits);
        let is_reserved = claim.allocation.is_some() || !claim.reserved_for.is_empty();
        let reservation = is_reserved.then(|| self.reservation(link, claim));
        step.with(reservation).with(requests)
    }

    fn missing(&self, text: &str, path: &str) -> Step {
        let source = FieldReference::new("Pod", &self.chain.pod.name, path);
        Step::new(StepType::Missing, text, source).satisfied(false)
    }

    fn reservation(&self, link: &ClaimLink<'_>, claim: &ResourceClaim) -> Step {
        let at = |place: usize| {
            let path = format!(".status.reservedFor[{place}]");
            FieldReference::new("ResourceClaim", &claim.name, path)
        };
        let (text, source) = match link.reservation {
            Reservation::Current(place) => ("reserved for this pod".to_owned(), at(place)),
            Reservation::Renamed(place) => (
                "reserved for the UID of this pod, but this entry of reservedFor has another pod name".to_owned(),
                at(place),
            ),
            Reservation::Group(place) => ("reserved for the pod's PodGroup".to_owned(), at(place)),
            Reservation::Former(place) => (
                "reserved for an earlier pod of this name with another UID: outdated".to_owned(),
                at(place),
            ),
            Reservation::Absent => (
                "not reserved for this pod, so the pod does not use the claim".to_owned(),
                FieldReference::new("ResourceClaim", &claim.name, ".status.reservedFor"),
            ),
        };
        let obstacle = link.validity.flatten();
        let text = match obstacle {
            Some(obstacle) => format!("{text}; ignored: {}", because(obstacle)),
            None => text,
        };
        Step::new(StepType::Reservation, text, source).satisfied(link.validity == Some(None))
    }

    /// What the claim asks for, each with the devices that it got.
    fn requests(
        &self,
        link: &ClaimLink<'_>,
        claim: &ResourceClaim,
        waits: Option<&PendingReasons>,
    ) -> Vec<Step> {
        if claim.allocation.is_none() {
            let source = FieldReference::new("ResourceClaim", &claim.name, ".status.allocation");
            let text = "not allocated: the claim has no device";
            let mut waiting = waits.map_or_else(Vec::new, |waits| waits.steps_of(claim));
            if waiting.is_empty() {
                let spec = claim.spec.iter().flat_map(|spec| &spec.requests);
                let requests = spec.enumerate();
                waiting
                    .extend(requests.map(|(place, request)| request_step(claim, place, request)));
            }
            return vec![
                Step::new(StepType::Missing, text, source)
                    .satisfied(false)
                    .with(waiting),
            ];
        }
        let spec = claim.spec.iter().flat_map(|spec| &spec.requests);
        let mut told = vec![false; link.devices.len()];
        let mut steps = Vec::new();
        for (place, request) in spec.enumerate() {
            let mut step = request_step(claim, place, request);
            for (number, held) in link.devices.iter().enumerate() {
                // An alternative is named as REQUEST/ALTERNATIVE, and belongs below its request.
                let of = held.result.request.split('/').next();
                if of == Some(&*request.name) {
                    step.steps.push(self.device(held, claim));
                    if let Some(told) = told.get_mut(number) {
                        *told = true;
                    }
                }
            }
            steps.push(step);
        }
        // Devices have to be shown also where the claim's spec was not read, so that no request names them.
        let rest = link.devices.iter().zip(&told).filter(|(_, told)| !**told);
        steps.extend(rest.map(|(held, _)| self.device(held, claim)));
        steps
    }

    fn device(&self, held: &HeldDevice<'_>, claim: &ResourceClaim) -> Step {
        let result = held.result;
        let mut text = format!("device {}", result.device);
        if result.admin_access {
            text.push_str(", with admin access");
        }
        if let Some(share) = &result.share_id {
            text.push_str(&format!(", share {share}"));
        }
        let path = format!(".status.allocation.devices.results[{}]", held.place);
        let source = FieldReference::new("ResourceClaim", &claim.name, path);
        let mut taints: Vec<Step> = held
            .taints
            .iter()
            .map(|evaluated| self.taint(evaluated, held, claim))
            .collect();
        if taints.is_empty() {
            // Rules and drivers can both taint the device: that it has no taint is known only with both read.
            let is_known =
                !self.is_unread(Kind::DeviceTaintRule) && !self.is_unread(Kind::ResourceSlice);
            let text = if is_known {
                "no taint"
            } else {
                "no known taint, but not all taints were read"
            };
            taints.push(Step::new(StepType::Note, text, None));
        }
        Step::new(StepType::Device, text, source)
            .with([self.pool(held)])
            .with(taints)
    }

    /// Which generation of the device's pool counts.
    fn pool(&self, held: &HeldDevice<'_>) -> Step {
        let id = &held.result.device;
        match held.publication {
            Publication::Current(slice, place) => {
                let complete = complete_pools(&self.input.snapshot.slices);
                let whole = if complete.contains(&(&id.driver, &id.pool)) {
                    ""
                } else {
                    ", but some slices of this generation are missing"
                };
                let text = format!(
                    "pool {}: generation {} is current{whole}",
                    id.pool, slice.pool.generation
                );
                let path = format!(".spec.devices[{place}]");
                let source = FieldReference::new("ResourceSlice", &slice.name, path);
                Step::new(StepType::Pool, text, source).satisfied(true)
            }
            Publication::Outdated(slice, newest) => {
                let text = format!(
                    "pool {}: generation {newest} is current, but the device is only in generation \
                     {}",
                    id.pool, slice.pool.generation
                );
                let source =
                    FieldReference::new("ResourceSlice", &slice.name, ".spec.pool.generation");
                Step::new(StepType::Pool, text, source).satisfied(false)
            }
            Publication::Nowhere if self.is_unread(Kind::ResourceSlice) => {
                let text = format!("pool {}: slices could not be read", id.pool);
                Step::new(StepType::Pool, text, None)
            }
            Publication::Nowhere => {
                let text = format!("pool {}: none of its slices has the device", id.pool);
                Step::new(StepType::Pool, text, None).satisfied(false)
            }
        }
    }

    fn taint(
        &self,
        evaluated: &EvaluatedTaint<'_>,
        held: &HeldDevice<'_>,
        claim: &ResourceClaim,
    ) -> Step {
        let now = self.input.now;
        let predicts = self.basis.semantics.predicts_evictions();
        let (whose, source) = origin(
            evaluated.origin,
            evaluated.place,
            held.publication,
            self.input,
        );
        let effect = match (
            evaluated.decision.map(|decision| decision.deadline),
            &evaluated.taint.effect,
        ) {
            (Some(_), _) if !predicts => "evictions are not predicted".to_owned(),
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
        let text = format!(
            "taint {} of {whose}, {}: {effect}",
            evaluated.taint,
            since(evaluated.taint, now)
        );
        let path = format!(
            ".status.allocation.devices.results[{}].tolerations",
            held.place
        );
        let tolerations = held.result.tolerations.iter().zip(&evaluated.differences);
        let mut steps: Vec<Step> = tolerations
            .enumerate()
            .map(|(place, (toleration, differences))| {
                let decides = evaluated.decision.and_then(|decision| decision.by) == Some(place);
                let text = toleration::describe(toleration, differences, decides);
                let path = format!("{path}[{place}]");
                let source = FieldReference::new("ResourceClaim", &claim.name, path);
                Step::new(StepType::Toleration, text, source).satisfied(differences.is_empty())
            })
            .collect();
        if steps.is_empty() && evaluated.taint.effect == Effect::NoExecute {
            let source = FieldReference::new("ResourceClaim", &claim.name, path);
            let text = "no toleration at all";
            steps.push(Step::new(StepType::Toleration, text, source).satisfied(false));
        }
        Step::new(StepType::Taint, text, source)
            .satisfied(predicts.then(|| evaluated.evicts()))
            .with(steps)
    }
}

fn because(obstacle: NotEvicted) -> String {
    not_evicted(obstacle).message
}
