//! Explanation of a pod: its verdict and the deciding taints.

use super::device::{held_as, is_unread, pool_step};
use super::root_cause::scheduler_message;
use super::step::{
    ExplainedVerdict, FieldReference, Step, StepType, describe_in, eviction, origin, past_eviction,
    since,
};
use super::view::{Explained, SingleChange};
use super::waiting::{self, PendingReasons};
use crate::assess::Basis;
use crate::engine::explain::chain::taints_of;
use crate::engine::explain::{
    Chain, ClaimEntry, ClaimLink, EvaluatedTaint, ExplainInput, HeldDevice, PodVerdict,
    Reservation, alterations, related_objects,
};
use crate::engine::tolerate::{Deadline, TolerationDecision, tolerates};
use crate::engine::{NotEvicted, ProposedTaint};
use crate::model::{ClaimSource, Effect, Kind, NamespacedName, ObjectName, Pod, ResourceClaim};
use crate::report::impact::rows::not_evicted;

/// Number of deciding taints that are named, each with the reason why the claim does not tolerate it.
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

/// The explanation of a pod that references no claim.
pub fn explain_pod_without_claims(name: &NamespacedName) -> Explained {
    let text = "the pod references no claim, so it uses no device";
    let source = FieldReference::new("Pod", name, ".spec.resourceClaims");
    Explained {
        message: "stays: it uses no device, so no taint affects it".to_owned(),
        verdict: Some(ExplainedVerdict::UNTOUCHED),
        steps: vec![Step::new(StepType::Missing, text, source).satisfied(false)],
        pod: Some(name.into()),
        ..Explained::default()
    }
}

/// The links of one chain as steps.
pub(super) struct PodSteps<'t, 'a> {
    pub(super) input: &'t ExplainInput<'a>,
    pub(super) chain: &'t Chain<'a>,
    pub(super) basis: &'t Basis<'t>,
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
            pod: Some(pod.into()),
            ..Explained::default()
        };
        // A reason to wait replaces the taints on claims that the pod holds already: without it the pod does not run.
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
        // A claim that does not count for the pod decides nothing, with any taints of its devices.
        let links = self.chain.links.iter();
        for link in links.filter(|link| link.validity == Some(None)) {
            let Some(claim) = link.claim else { continue };
            for held in &link.devices {
                for taint in &held.taints {
                    if let Some(decision) = taint.decision.filter(|it| decides(*it)) {
                        let (whose, _) = origin(taint, held.publication, self.input);
                        let device = &held.result.device;
                        found.push([
                            format!("taint {} of {whose} on {device}", taint.taint),
                            tolerated(decision, taint, held, claim),
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

    /// True if the data suffices for the verdict: a known reason for an eviction suffices.
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

    pub(super) fn is_unread(&self, kind: Kind) -> bool {
        is_unread(self.basis.reading, kind)
    }

    /// True if it is not scheduled yet, and a claim of it is missing.
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
            let mut absent = self.chain.links.iter();
            let absent = absent.find(|link| link.claim.is_none());
            let absent = absent.map(|link| self.missing(link));
            return format!("waits for a claim: {}", absent.unwrap_or_default());
        }
        let described = describe_in(self.basis.reading, outcome, self.chain.pod, now);
        let mut links = self.chain.links.iter();
        let is_skipped = match outcome {
            PodVerdict::Untouched | PodVerdict::NotEvicted(NotEvicted::ClaimNotInStatus) => true,
            PodVerdict::NotEvicted(_)
            | PodVerdict::Evicted { .. }
            | PodVerdict::Tolerates
            | PodVerdict::Terminating => false,
        };
        if let Some(claim) = links.find_map(|link| link.unlisted)
            && is_skipped
        {
            return format!(
                "stays for now: the eviction controller ignores claim {}, which is missing in the \
                 pod's status",
                claim.name.name
            );
        }
        if self.input.assumed > 0 && outcome == PodVerdict::Untouched {
            return "not affected: none of its devices is selected by the proposed taint"
                .to_owned();
        }
        described
    }

    /// The absence of a claim of the template, with that of the template where it is known.
    pub(super) fn ungenerated(&self, template: &ObjectName) -> String {
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
}

/// A claim that the pod's status does not name.
pub(super) fn unlisted(claim: &ResourceClaim) -> String {
    format!(
        "claim {} is owned by the pod, but its entry in status.resourceClaimStatuses is missing (the claim controller \
         adds it again)",
        claim.name.name
    )
}

/// The toleration of the claim that decides about the taint.
pub(super) fn tolerated(
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
