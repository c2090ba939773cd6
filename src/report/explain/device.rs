//! Explanation of a device: its users, its taints, and claims that could get it.

use std::collections::BTreeSet;

use super::origin::{origin, published, since};
use super::pod_context::verdict_of;
use super::request_text::{terms_of, terms_path};
use super::step::{FieldReference, Step, StepType};
use super::verdict::describe_in;
use super::view::Explained;
use crate::assess::Basis;
use crate::assess::completeness;
use crate::engine::allocator::{
    CandidateClaim, Exclusion, SearchBasis, TaintOwner, candidate_claims, sharing_counters,
    users_beside,
};
use crate::engine::explain::explain_input::taints_of;
use crate::engine::explain::{ExplainInput, PodVerdict, Publication, on_device};
use crate::engine::{ProposedTaint, complete_pools};
use crate::model::{
    AllocationResult, ConsumerReference, DeviceId, Effect, Kind, NamespacedName, ResourceClaim,
    Source,
};
use crate::naming::phrase::counted;

/// Everything about a device; absent where no slice publishes it and no claim holds it.
#[must_use]
pub fn explain_device(
    id: &DeviceId,
    assumed: &[ProposedTaint],
    basis: &Basis<'_>,
) -> Option<Explained> {
    let snapshot = &basis.reading.snapshot;
    let taints = taints_of(snapshot, assumed, basis.now);
    let input = ExplainInput {
        snapshot,
        assumed: assumed.len(),
        taints: &taints,
        now: basis.now,
        semantics: basis.semantics,
    };
    let (publication, taints) = on_device(id, &input)?;
    let teller = DeviceSteps { id, assumed, basis };
    let holders = teller.holders();
    let known = SearchBasis {
        semantics: basis.semantics,
        completeness: completeness(basis.reading),
    };
    let candidates = candidate_claims(snapshot, id, assumed, known);
    let answer = format!(
        "{}; {}; {}",
        match holders.len() {
            0 if teller.is_unread(Kind::ResourceClaim) => "its allocation is unknown".to_owned(),
            0 => teller.not_allocated(),
            count => format!("allocated to {}", counted(count, "claim")),
        },
        match taints.len() {
            0 if !teller.knows_taints() => "not all of its taints are known".to_owned(),
            0 => "no taint".to_owned(),
            count => counted(count, "taint"),
        },
        match () {
            () if teller.is_unread(Kind::ResourceClaim) =>
                "requests of pending claims are unknown".to_owned(),
            () if teller.is_unread(Kind::ResourceSlice) =>
                "unknown whether a request of a pending claim matches the device".to_owned(),
            // Which devices a request can get is known from its class.
            () if candidates.is_empty() && teller.is_unread(Kind::DeviceClass) =>
                "unknown whether a request of a pending claim matches the device".to_owned(),
            () if !teller.knows_taints() && !candidates.is_empty() =>
                "unknown whether a request of a pending claim could get the device".to_owned(),
            () => queue(&candidates),
        }
    );
    let tainted = taints.iter().map(|evaluated| {
        let (whose, source) = origin(evaluated.origin, evaluated.place, publication, &input);
        let effect = match &evaluated.taint.effect {
            Effect::NoExecute => {
                "evicts pods whose claims do not tolerate it, and blocks new allocations to such claims"
            }
            Effect::NoSchedule => {
                "blocks new allocations to claims that do not tolerate it, and evicts no pods"
            }
            Effect::None => "no consequence",
            Effect::Unknown(_) => "no known consequence",
        };
        let text = format!(
            "taint {} of {whose}, {}: {effect}",
            evaluated.taint,
            since(evaluated.taint, basis.now)
        );
        let evicts = evaluated.taint.effect == Effect::NoExecute;
        Step::new(StepType::Taint, text, source).satisfied(evicts)
    });
    let steps = [teller.published(publication)]
        .into_iter()
        .chain(tainted)
        .chain(holders)
        .chain(teller.siblings())
        .chain(
            candidates
                .iter()
                .map(|candidate| candidate_step(candidate, &teller)),
        );
    Some(Explained {
        message: answer,
        steps: steps.collect(),
        ..Explained::of_device(id)
    })
}

struct DeviceSteps<'t> {
    id: &'t DeviceId,
    assumed: &'t [ProposedTaint],
    basis: &'t Basis<'t>,
}

impl<'t> DeviceSteps<'t> {
    fn is_unread(&self, kind: Kind) -> bool {
        let reading = self.basis.reading;
        let is_denied = reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
        // Of a live cluster only those pods are read that matter.
        let is_chosen = kind == Kind::Pod && reading.source != Source::Files;
        is_denied || (!is_chosen && reading.without(kind).is_some())
    }

    /// Whether every taint of the device is known: rules and drivers taint it.
    fn knows_taints(&self) -> bool {
        !self.is_unread(Kind::DeviceTaintRule) && !self.is_unread(Kind::ResourceSlice)
    }

    fn published(&self, publication: Publication<'_>) -> Step {
        let id = self.id;
        match publication {
            Publication::Current(slice, place) => {
                let complete = complete_pools(&self.basis.reading.snapshot.slices);
                let whole = if complete.contains(&(&id.driver, &id.pool)) {
                    ""
                } else {
                    ", but some slices of this generation are missing: no device of the pool can be \
                     allocated until all are published"
                };
                let node = slice
                    .devices
                    .get(place)
                    .and_then(|device| slice.node_of(device));
                let node =
                    node.map_or_else(|| "several nodes".to_owned(), |node| format!("node {node}"));
                let generation = slice.pool.generation;
                let text = format!(
                    "published for {node}; generation {generation} of pool {} is current{whole}",
                    id.pool
                );
                let path = format!(".spec.devices[{place}]");
                let source = FieldReference::new("ResourceSlice", &slice.name, path);
                Step::new(StepType::Pool, text, source).satisfied(true)
            }
            Publication::Outdated(slice, newest) => {
                let text = format!(
                    "published only in generation {} of pool {}, whose current generation is {newest}",
                    slice.pool.generation, id.pool
                );
                let path = ".spec.pool.generation";
                let source = FieldReference::new("ResourceSlice", &slice.name, path);
                Step::new(StepType::Pool, text, source).satisfied(false)
            }
            Publication::Nowhere if self.is_unread(Kind::ResourceSlice) => {
                let text =
                    "whether a driver publishes it is unknown: resourceslices could not be read";
                Step::new(StepType::Pool, text, None)
            }
            Publication::Nowhere => {
                let text = "not published: known only from the claims that it is allocated to";
                Step::new(StepType::Pool, text, None).satisfied(false)
            }
        }
    }

    /// What it is if no claim holds it: its hardware may be in use all the same.
    fn not_allocated(&self) -> String {
        let snapshot = &self.basis.reading.snapshot;
        let asked = BTreeSet::from([self.id]);
        if let Some(pods) = users_beside(snapshot, &asked).get(self.id) {
            let (pods, verb) = match pods.len() {
                1 => ("1 pod".to_owned(), "uses"),
                several => (counted(several, "pod"), "use"),
            };
            return format!("not allocated itself, but {pods} {verb} its partitions");
        }
        "not allocated".to_owned()
    }

    /// The claims that hold it, each with its pods.
    fn holders(&self) -> Vec<Step> {
        let mut claims: Vec<&ResourceClaim> = self.basis.reading.snapshot.claims.iter().collect();
        // By name, so that two explanations of one state are the same, whatever the order of the lists was.
        claims.sort_by_key(|claim| &claim.name);
        let mut steps = Vec::new();
        for claim in claims {
            let results = claim.allocation.iter().flat_map(|all| &all.results);
            for (place, result) in results.enumerate() {
                if result.device == *self.id {
                    steps.push(self.holder(claim, place, result));
                }
            }
        }
        steps
    }

    fn holder(&self, claim: &ResourceClaim, place: usize, result: &AllocationResult) -> Step {
        let mut text = format!("allocated to claim {}", claim.name);
        if result.admin_access {
            text.push_str(", with admin access");
        }
        if let Some(share) = &result.share_id {
            text.push_str(&format!(", share {share}"));
        }
        for (name, amount) in result.consumed_capacity.iter().flat_map(|all| all.iter()) {
            text.push_str(&format!(", {amount} of {name}"));
        }
        let path = format!(".status.allocation.devices.results[{place}]");
        let source = FieldReference::new("ResourceClaim", &claim.name, path);
        let pods = claim
            .reserved_for
            .iter()
            .enumerate()
            .map(|(place, consumer)| self.consumer(claim, place, consumer));
        Step::new(StepType::Claim, text, source).with(pods)
    }

    fn consumer(&self, claim: &ResourceClaim, place: usize, consumer: &ConsumerReference) -> Step {
        let path = format!(".status.reservedFor[{place}]");
        let source = FieldReference::new("ResourceClaim", &claim.name, path);
        if &*consumer.resource != "pods" {
            let text = format!("reserved for {} {}", consumer.resource, consumer.name);
            return Step::new(StepType::Reservation, text, source);
        }
        let name = NamespacedName {
            namespace: claim.name.namespace.clone(),
            name: consumer.name.clone(),
        };
        let mut pods = self.basis.reading.snapshot.pods.iter();
        // By UID: a later pod of the name has no reservation, and its verdict would be that of another pod.
        let text = match pods.find(|pod| pod.uid == consumer.uid) {
            Some(pod) => {
                let verdict = verdict_of(pod, self.assumed, self.basis);
                let predicts = self.basis.semantics.predicts_evictions();
                let is_known = match verdict {
                    // A taint that was not read may evict it.
                    PodVerdict::Untouched | PodVerdict::Tolerates => {
                        predicts && self.knows_taints()
                    }
                    PodVerdict::Evicted { .. } | PodVerdict::NotEvicted(_) => predicts,
                    PodVerdict::Terminating => true,
                };
                let outcome = if !is_known {
                    "outcome unknown".to_owned()
                } else {
                    describe_in(self.basis.reading, verdict, pod, self.basis.now)
                };
                format!("pod {}: {outcome}", pod.name)
            }
            None if self.is_unread(Kind::Pod) => format!("pod {name}, which could not be read"),
            None => format!("pod {name}, which does not exist: the reservation is outdated"),
        };
        Step::new(StepType::Pod, text, source)
    }

    /// Devices that share counters with it.
    fn siblings(&self) -> Vec<Step> {
        let snapshot = &self.basis.reading.snapshot;
        let others = sharing_counters(snapshot, &BTreeSet::from([self.id.clone()]));
        let holders = |device: &DeviceId| -> Vec<String> {
            let claims = snapshot.claims.iter().filter(|claim| {
                let mut results = claim.allocation.iter().flat_map(|all| &all.results);
                results.any(|result| result.device == *device)
            });
            claims.map(|claim| claim.name.to_string()).collect()
        };
        others
            .into_iter()
            .map(|device| {
                let holders = holders(&device);
                let held = if !holders.is_empty() {
                    format!("allocated to {}", holders.join(", "))
                } else if self.is_unread(Kind::ResourceClaim) {
                    "its allocation is unknown".to_owned()
                } else {
                    "not allocated".to_owned()
                };
                let text = format!("shares counters: {device}, {held}");
                Step::new(StepType::Sibling, text, published(&device, snapshot))
            })
            .collect()
    }
}

/// How many requests wait for such a device, and how many of them could have it now.
fn queue(candidates: &[CandidateClaim<'_>]) -> String {
    let requests = |is_meant: &dyn Fn(&CandidateClaim<'_>) -> bool| {
        let meant = candidates.iter().filter(|candidate| is_meant(candidate));
        // Each alternative of a request is a candidate of its own, and the request waits once.
        let requests: BTreeSet<_> = meant
            .map(|candidate| (&candidate.claim.name, candidate.request))
            .collect();
        requests.len()
    };
    match (
        requests(&|_| true),
        requests(&|candidate| candidate.exclusions.is_empty()),
    ) {
        (0, _) => "no request of a pending claim matches the device".to_owned(),
        (1, 0) => {
            "1 request of a pending claim matches the device, but cannot get it now".to_owned()
        }
        (1, _) => {
            "1 request of a pending claim could get the device now (the pod's other requirements were not checked)"
                .to_owned()
        }
        (all, 0) => {
            format!("{all} requests of pending claims match the device, but none can get it now")
        }
        (all, now) => {
            format!(
                "{all} requests of pending claims match the device; {now} of them could get it now \
                 (the pod's other requirements were not checked)"
            )
        }
    }
}

/// Who could get it next, and what speaks against that for now.
fn candidate_step(candidate: &CandidateClaim<'_>, teller: &DeviceSteps<'_>) -> Step {
    let claim = candidate.claim;
    let against: Vec<String> = candidate.exclusions.iter().map(against).collect();
    let could = if !against.is_empty() {
        format!("matches the device, but {}", against.join(", "))
    } else if teller.knows_taints() {
        "could get the device now (the pod's other requirements were not checked)".to_owned()
    } else {
        "matches the device, but not all taints of the device are known".to_owned()
    };
    let spec = claim.spec.as_deref();
    let asked = spec.and_then(|spec| {
        let (name, _) = terms_of(spec, candidate.request, candidate.alternative)?;
        let kind = &spec.requests.get(candidate.request)?.kind;
        Some((
            name,
            terms_path(kind, candidate.request, candidate.alternative),
        ))
    });
    let (name, path) = asked.unwrap_or_default();
    let text = format!("request {name} of unallocated claim {} {could}", claim.name);
    let source = FieldReference::new("ResourceClaim", &claim.name, path);
    let could = (teller.knows_taints() || !against.is_empty()).then_some(against.is_empty());
    Step::new(StepType::Candidate, text, source).satisfied(could)
}

fn against(exclusion: &Exclusion) -> String {
    match exclusion {
        Exclusion::Class(_) | Exclusion::Selector(_) => "a selector excludes it".to_owned(),
        Exclusion::ClassFails(_, why) | Exclusion::SelectorFails(_, why) => {
            format!("a selector fails with an error for the device: {why}")
        }
        Exclusion::Node => "its nodes do not exist".to_owned(),
        Exclusion::Tainted(taint, owner) => {
            let owner = match owner {
                TaintOwner::Rule(name) => format!("rule {name}"),
                TaintOwner::Proposed(_) => "the proposed taint".to_owned(),
                TaintOwner::Driver(..) => "the driver".to_owned(),
            };
            format!("the request does not tolerate {taint} of {owner}")
        }
        Exclusion::Held(_) => "it is allocated to another claim".to_owned(),
        Exclusion::Amount => "too little of its capacity is left".to_owned(),
        Exclusion::TooSmall => "its capacity is too small".to_owned(),
        Exclusion::Failing(why) => format!("the scheduler fails with an error: {why}"),
        Exclusion::OtherDevices => {
            "other devices that the claim needs are not available".to_owned()
        }
        Exclusion::PodUnschedulable(why) => why.clone(),
        Exclusion::Incomplete => "its pool is incomplete".to_owned(),
        Exclusion::Invalid => "the slices of its pool contradict each other".to_owned(),
        Exclusion::Unknown(why) => format!("unknown: {why}"),
    }
}
