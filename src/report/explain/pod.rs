//! Explanation of a pod: its verdict, the deciding taints and the chain to them.

use super::fixes::SingleChange;
use super::root_cause::scheduler_message;
use super::step::{FieldReference, Step, StepType, origin, since};
use super::verdict::{ExplainedVerdict, describe, describe_in, eviction, past_eviction};
use super::view::Explained;
use super::waiting::{self, PendingReasons, terms_path};
use crate::assess::Basis;
use crate::engine::explain::explain_input::taints_of;
use crate::engine::explain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, ExplainInput, HeldDevice, PodVerdict,
    Publication, Reservation, alterations, related_objects,
};
use crate::engine::tolerate::{Deadline, TolerationDecision, TolerationMismatch, tolerates};
use crate::engine::{Origin, ProposedTaint, complete_pools};
use crate::model::{
    ClaimSource, DeviceAmount, DeviceRequest, Effect, Kind, NamespacedName, ObjectName, Pod,
    RequestKind, RequestTerms, ResourceClaim, Toleration,
};
use crate::naming::phrase::counted;
use crate::report::impact::note::not_evicted;

/// Number of deciding taints that are named, each with what the claim has against it.
const SHOWN: usize = 3;

/// Judges a pod by the objects around it: as things are, or with the `assumed` taints.
//
// Only these objects, since the snapshot is copied for each change that is tried as a fix.
pub(super) fn judged<T>(
    pod: &Pod,
    assumed: &[ProposedTaint],
    basis: &Basis<'_>,
    judge: impl FnOnce(&Chain<'_>, &ExplainInput<'_>) -> T,
) -> T {
    let snapshot = related_objects(&basis.reading.snapshot, pod);
    let taints = taints_of(&snapshot, assumed, basis.now);
    let input = ExplainInput {
        snapshot: &snapshot,
        assumed: assumed.len(),
        taints: &taints,
        now: basis.now,
        semantics: basis.semantics,
    };
    judge(&Chain::new(pod, &input), &input)
}

/// The explanation of a pod: as things are, or with the `assumed` taints.
#[must_use]
pub fn explain_pod(pod: &Pod, assumed: &[ProposedTaint], basis: &Basis<'_>) -> Explained {
    judged(pod, assumed, basis, |chain, input| {
        let waits = waiting::of(chain, assumed, basis);
        let steps = PodSteps {
            input,
            chain,
            basis,
        };
        steps.explained(waits)
    })
}

/// The explanation of a pod that may not be read: the claims that are reserved for its name.
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

/// The explanation of a pod that references no claim.
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

/// The links of one chain as steps.
struct PodSteps<'t, 'a> {
    input: &'t ExplainInput<'a>,
    chain: &'t Chain<'a>,
    basis: &'t Basis<'t>,
}

impl PodSteps<'_, '_> {
    fn explained(&self, waits: Option<PendingReasons>) -> Explained {
        let pod = self.chain.pod;
        let is_idle = self.chain.links.is_empty() && waits.is_none();
        // Without classes it is unknown whether one of them serves an extended resource.
        let may_wait = !pod.extended_resources.is_empty() && self.is_unread(Kind::DeviceClass);
        if is_idle && !may_wait {
            return explain_pod_without_claims(&pod.name);
        }
        let outcome = self.input.verdict(pod, self.chain);
        let is_waiting =
            outcome == PodVerdict::Untouched && (waits.is_some() || self.lacks_a_claim());
        let is_predicted = self.basis.semantics.predicts_evictions()
            || is_waiting
            || outcome == PodVerdict::Terminating;
        let verdict = if is_waiting && waits.is_some() {
            // The pod waits, even if the cause is unknown.
            ExplainedVerdict::WAITING
        } else if !is_predicted || !self.knows(outcome) || is_idle {
            ExplainedVerdict::UNKNOWN
        } else if is_waiting {
            ExplainedVerdict::WAITING
        } else {
            ExplainedVerdict::new(outcome, self.basis.now)
        };
        let (mut fixes, mut messages) = (Vec::new(), Vec::new());
        // Fixes and deciding links would be those of a verdict that may not be true.
        if verdict != ExplainedVerdict::UNKNOWN {
            let snapshot = &self.basis.reading.snapshot;
            let altering = alterations(self.input, self.chain);
            let altering = altering.iter();
            fixes.extend(
                altering.filter_map(|one| {
                    SingleChange::altering(one, self.chain, self.input, snapshot)
                }),
            );
            messages = self.deciding(outcome);
        }
        let message = self.answer(outcome, &verdict, waits.as_ref());
        let mut explained = Explained {
            message,
            verdict: Some(verdict),
            steps: self
                .chain
                .links
                .iter()
                .map(|link| self.link(link))
                .collect(),
            ..Explained::of_pod(pod.into())
        };
        // What the pod waits for replaces the taints on claims that it holds already: without it the pod does not run.
        if let Some(waits) = waits {
            fixes.extend(waits.fixes);
            messages = waits.why;
            explained.blocked_by = Some(waits.code);
            explained.waiting_requests = waits.requests;
        } else if is_waiting {
            messages.extend(scheduler_message(self.chain));
        }
        Explained {
            messages,
            fixes,
            ..explained
        }
    }

    /// The taints that decide about the pod, each with the toleration that decides about it; empty if the verdict does
    /// not come from a taint.
    fn deciding(&self, outcome: PodVerdict) -> Vec<String> {
        let decides = |decision: TolerationDecision| match outcome {
            PodVerdict::Evicted { at } => decision.deadline == Deadline::At(at),
            PodVerdict::Tolerates => decision.deadline == Deadline::Never,
            PodVerdict::Terminating | PodVerdict::NotEvicted(_) | PodVerdict::Untouched => false,
        };
        let mut found = Vec::new();
        // A claim that does not count for the pod decides nothing, whatever taints its devices have.
        let links = self.chain.links.iter();
        for link in links.filter(|link| link.validity == Some(None)) {
            let Some(claim) = link.claim else { continue };
            for held in &link.devices {
                for taint in &held.taints {
                    if let Some(decision) = taint.decision.filter(|it| decides(*it)) {
                        found.push([
                            self.tainted(taint, held),
                            self.tolerated(decision, taint, held, claim),
                        ]);
                    }
                }
            }
        }
        let more = found.len().saturating_sub(SHOWN);
        let more = (more > 0).then(|| format!("and {more} more (all: -o json)"));
        let shown = found.into_iter().take(SHOWN).flatten();
        shown.chain(more).collect()
    }

    fn tainted(&self, evaluated: &EvaluatedTaint<'_>, held: &HeldDevice<'_>) -> String {
        let (device, taint) = (&held.result.device, evaluated.taint);
        let rule = match evaluated.origin {
            Origin::Rule(name) => Some(name),
            Origin::Proposed(number) => {
                let proposed: Option<&ProposedTaint> = self.input.taints.get(number);
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

    fn tolerated(
        &self,
        decision: TolerationDecision,
        evaluated: &EvaluatedTaint<'_>,
        held: &HeldDevice<'_>,
        claim: &ResourceClaim,
    ) -> String {
        let name = &claim.name.name;
        let tolerations = &held.result.tolerations;
        let by = decision.by.and_then(|index| tolerations.get(index));
        match (by, decision.deadline) {
            (Some(toleration), Deadline::Never) => {
                format!("claim {name} tolerates this taint forever: {toleration}")
            }
            (Some(toleration), Deadline::At(at)) => {
                let seconds = toleration.seconds.unwrap_or_default();
                format!("claim {name} tolerates this taint for {seconds}s, until {at}")
            }
            (None, _) if tolerations.iter().any(|it| tolerates(it, evaluated.taint)) => {
                format!("claim {name} tolerates this taint for scheduling only")
            }
            (None, _) => format!("claim {name} does not tolerate this taint"),
        }
    }

    /// Whether what was read suffices for the verdict: a known reason for an eviction suffices.
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
        if let Some(waits) = waits {
            return waits.message.clone();
        }
        if outcome == PodVerdict::Untouched && self.lacks_a_claim() {
            return format!("waits for a claim: {}", self.absent_claim());
        }
        let described = describe_in(self.basis.reading, outcome, self.chain.pod, now);
        let mut links = self.chain.links.iter();
        if let Some(claim) = links.find_map(|link| link.unlisted)
            && outcome == PodVerdict::Untouched
        {
            return format!(
                "stays for now: the eviction controller ignores claim {}, which is missing in the \
                 pod's status",
                claim.name.name
            );
        }
        if self.input.assumed == 0 || outcome != PodVerdict::Untouched {
            return described;
        }
        let present = self.input.present(self.chain.pod, self.chain);
        let present = if present == PodVerdict::Untouched {
            ", and none has another taint that affects the pod".to_owned()
        } else {
            let described = describe(present, self.chain.pod, now);
            format!("; with the existing taints: {described}")
        };
        format!("not affected: none of its devices is selected by the proposed taint{present}")
    }

    /// The first claim that the pod waits for, and why there is none.
    fn absent_claim(&self) -> String {
        let absent = self.chain.links.iter().filter(|link| link.claim.is_none());
        let mut texts = absent.map(|link| match (link.unlisted, link.place) {
            (Some(claim), _) => unlisted(claim),
            (
                None,
                ClaimEntry::Entry(
                    _,
                    ClaimSource::Template {
                        template,
                        generated: None,
                    },
                ),
            ) => self.ungenerated(template),
            (None, ClaimEntry::Entry(..) | ClaimEntry::ExtendedResource(_)) => {
                "it does not exist".to_owned()
            }
        });
        texts.next().unwrap_or_default()
    }

    /// The absence of a claim of the template, with that of the template where it is known.
    fn ungenerated(&self, template: &ObjectName) -> String {
        let reading = self.basis.reading;
        let namespace = &self.chain.pod.name.namespace;
        let mut templates = reading.snapshot.templates.iter();
        let exists = templates
            .any(|known| known.name.namespace == *namespace && known.name.name == *template);
        if exists || reading.without(Kind::ResourceClaimTemplate).is_some() {
            return format!("no claim has been created from ResourceClaimTemplate {template}");
        }
        format!("ResourceClaimTemplate {template} does not exist in namespace {namespace}")
    }

    fn link(&self, link: &ClaimLink<'_>) -> Step {
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
                let text = match link.unlisted {
                    Some(claim) => unlisted(claim),
                    // Without a name it is unknown which: not generated yet, or found to be unnecessary.
                    None => format!(
                        "{}, or the pod needs none from this template",
                        self.ungenerated(template)
                    ),
                };
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
        let requests = self.requests(link, claim);
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
        let text = match link.validity.flatten() {
            Some(obstacle) => format!("{text}; ignored: {}", not_evicted(obstacle).message),
            None => text,
        };
        Step::new(StepType::Reservation, text, source).satisfied(link.validity == Some(None))
    }

    /// The requests of the claim, each with its devices.
    fn requests(&self, link: &ClaimLink<'_>, claim: &ResourceClaim) -> Vec<Step> {
        if claim.allocation.is_none() {
            let source = FieldReference::new("ResourceClaim", &claim.name, ".status.allocation");
            let text = "not allocated: the claim has no device";
            let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
            let requests = requests.enumerate();
            return vec![
                Step::new(StepType::Missing, text, source)
                    .satisfied(false)
                    .with(requests.map(|(index, request)| request_step(claim, index, request))),
            ];
        }
        let spec = claim.spec.iter().flat_map(|spec| &spec.requests);
        let mut steps: Vec<Step> = spec
            .clone()
            .enumerate()
            .map(|(index, request)| {
                let devices = link.devices.iter();
                let own = devices.filter(|held| request_of(held) == &*request.name);
                request_step(claim, index, request).with(own.map(|held| self.device(held, claim)))
            })
            .collect();
        // Devices have to be shown also where the claim's spec was not read, so that no request names them.
        let is_named = |held: &&HeldDevice<'_>| {
            let mut names = spec.clone().map(|request| &*request.name);
            names.any(|name| name == request_of(held))
        };
        let rest = link.devices.iter().filter(|held| !is_named(held));
        steps.extend(rest.map(|held| self.device(held, claim)));
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
                let text = toleration_text(toleration, differences, decides);
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

/// A claim that the pod's status does not name.
fn unlisted(claim: &ResourceClaim) -> String {
    format!(
        "claim {} is owned by the pod, but its entry in status.resourceClaimStatuses is missing (the claim controller \
         adds it again)",
        claim.name.name
    )
}

/// The request that a device is for; an alternative is named as REQUEST/ALTERNATIVE, and belongs below its request.
fn request_of<'h>(held: &'h HeldDevice<'_>) -> &'h str {
    let request: &str = &held.result.request;
    request.split('/').next().unwrap_or(request)
}

fn request_step(claim: &ResourceClaim, index: usize, request: &DeviceRequest) -> Step {
    let text = match &request.kind {
        RequestKind::Exactly(terms) => wanted(terms),
        RequestKind::FirstAvailable(all) => {
            let all = all.iter();
            let all = all.map(|(name, terms)| format!("{name}: {}", wanted(terms)));
            format!(
                "the first available of {}",
                all.collect::<Vec<_>>().join("; ")
            )
        }
        RequestKind::Unknown => "of a kind that this plugin does not know".to_owned(),
    };
    let path = terms_path(&request.kind, index, None);
    let source = FieldReference::new("ResourceClaim", &claim.name, path);
    Step::new(
        StepType::Request,
        format!("request {}: {text}", request.name),
        source,
    )
}

/// The number of devices and their class.
fn wanted(terms: &RequestTerms) -> String {
    let devices = match &terms.amount {
        // The API server refuses a count below 1; only a saved file can have one.
        DeviceAmount::Exactly(count) => {
            counted(usize::try_from(*count).unwrap_or_default(), "device")
        }
        DeviceAmount::All => "all matching devices of a node".to_owned(),
        DeviceAmount::Unknown(mode) => format!("devices with allocationMode {mode}"),
    };
    format!("{devices} of class {}", terms.class)
}

/// A toleration beside the taint, and if it does not cover it, the fields that differ.
fn toleration_text(
    toleration: &Toleration,
    differences: &[TolerationMismatch],
    decides: bool,
) -> String {
    if differences.is_empty() {
        let decides = match (decides, toleration.seconds) {
            (false, _) => "",
            (true, None) => ", so the taint does not evict",
            (true, Some(_)) => ", and determines when the taint evicts",
        };
        return format!("toleration {toleration} matches{decides}");
    }
    let fields = differences.iter().map(|difference| match difference {
        TolerationMismatch::Key => "key",
        TolerationMismatch::Value => "value",
        TolerationMismatch::Operator => "operator",
        TolerationMismatch::Effect => "effect",
        TolerationMismatch::NoEffect => {
            "no effect, which tolerates NoExecute since Kubernetes 1.38"
        }
    });
    let fields: Vec<&str> = fields.collect();
    format!(
        "toleration {toleration} does not match: {}",
        fields.join(", ")
    )
}
