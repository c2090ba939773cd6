//! Explanation of a device: its taints and users, and devices that share counters with it.

use std::collections::BTreeSet;

use super::pod::judged;
use super::step::{FieldReference, Step, StepType, describe_in, origin, since};
use super::view::Explained;
use crate::assess::Basis;
use crate::engine::allocator::{sharing_counters, users_beside};
use crate::engine::explain::chain::taints_of;
use crate::engine::explain::{ExplainInput, PodVerdict, Publication, on_device};
use crate::engine::{ProposedTaint, complete_pools};
use crate::model::{
    AllocationResult, ConsumerReference, DeviceId, Effect, Kind, NamespacedName, Reading,
    ResourceClaim, Source,
};
use crate::naming::phrase::counted;

/// The explanation of a device; absent if no slice publishes it and no claim holds it.
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
    let steps = DeviceSteps { id, assumed, basis };
    let holders = steps.holders();
    let message = format!(
        "{}; {}",
        match holders.len() {
            0 if steps.is_unread(Kind::ResourceClaim) => "its allocation is unknown".to_owned(),
            0 => steps.not_allocated(),
            count => format!("allocated to {}", counted(count, "claim")),
        },
        match taints.len() {
            0 if !steps.knows_taints() => "not all of its taints are known".to_owned(),
            0 => "no taint".to_owned(),
            count => counted(count, "taint"),
        },
    );
    let tainted = taints.iter().map(|evaluated| {
        let (whose, source) = origin(evaluated, publication, &input);
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
    let all = [pool_step(id, publication, basis)]
        .into_iter()
        .chain(tainted)
        .chain(holders)
        .chain(steps.siblings());
    Some(Explained {
        message,
        steps: all.collect(),
        device: Some(id.to_string()),
        ..Explained::default()
    })
}

struct DeviceSteps<'t> {
    id: &'t DeviceId,
    assumed: &'t [ProposedTaint],
    basis: &'t Basis<'t>,
}

impl<'t> DeviceSteps<'t> {
    fn is_unread(&self, kind: Kind) -> bool {
        is_unread(self.basis.reading, kind)
    }

    /// True if every taint of the device is known: rules and drivers taint it.
    fn knows_taints(&self) -> bool {
        !self.is_unread(Kind::DeviceTaintRule) && !self.is_unread(Kind::ResourceSlice)
    }

    /// The use of its hardware if no claim holds it.
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
        // By name, so that two explanations of one state are the same, in any order of the lists.
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
        let text = format!("allocated to claim {}{}", claim.name, held_as(result));
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
                let verdict = judged(pod, self.assumed, self.basis, |chain, input| {
                    input.verdict(pod, chain)
                });
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
                Step::new(StepType::Sibling, text, None)
            })
            .collect()
    }
}

/// True if objects of the kind could not be read.
pub(super) fn is_unread(reading: &Reading, kind: Kind) -> bool {
    let is_denied = reading.gaps.iter().any(|gap| gap.kind() == Some(kind));
    // Of a live cluster only those pods are read that matter.
    let is_chosen = kind == Kind::Pod && reading.source != Source::Files;
    is_denied || (!is_chosen && reading.without(kind).is_some())
}

/// The properties of an allocated device, to follow its name.
pub(super) fn held_as(result: &AllocationResult) -> String {
    let mut text = String::new();
    if result.admin_access {
        text.push_str(", with admin access");
    }
    if let Some(share) = &result.share_id {
        text.push_str(&format!(", share {share}"));
    }
    for (name, amount) in result.consumed_capacity.iter().flat_map(|all| all.iter()) {
        text.push_str(&format!(", {amount} of {name}"));
    }
    text
}

/// The publication of a device in its pool.
pub(super) fn pool_step(id: &DeviceId, publication: Publication<'_>, basis: &Basis<'_>) -> Step {
    let pool = &id.pool;
    let (text, slice, is_current) = match publication {
        Publication::Current(slice, index) => {
            let complete = complete_pools(&basis.reading.snapshot.slices);
            let gap = if complete.contains(&(&id.driver, pool)) {
                ""
            } else {
                ", but some slices of this generation are missing: no device of the pool can be \
                 allocated until all are published"
            };
            let node = slice.devices.get(index);
            let node = node.and_then(|device| slice.node_of(device));
            let node = node.map_or_else(String::new, |node| format!(" on node {node}"));
            let generation = slice.pool.generation;
            let text = format!("pool {pool}{node}: generation {generation} is current{gap}");
            let path = format!(".spec.devices[{index}]");
            (text, Some((&slice.name, path)), Some(true))
        }
        Publication::Outdated(slice, newest) => {
            let generation = slice.pool.generation;
            let text = format!(
                "pool {pool}: the device is only in generation {generation}, and {newest} is current"
            );
            let path = ".spec.pool.generation".to_owned();
            (text, Some((&slice.name, path)), Some(false))
        }
        Publication::Nowhere if is_unread(basis.reading, Kind::ResourceSlice) => {
            let text = format!("pool {pool}: unknown whether the device is published");
            (text, None, None)
        }
        Publication::Nowhere => {
            let text = format!("pool {pool}: the device is not published");
            (text, None, Some(false))
        }
    };
    let field = slice.and_then(|(name, path)| FieldReference::new("ResourceSlice", name, path));
    Step::new(StepType::Pool, text, field).satisfied(is_current)
}
