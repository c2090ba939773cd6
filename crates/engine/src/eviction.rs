//! Pods that the device-taint-eviction controller deletes.

use foldhash::{HashMap, HashSet, HashSetExt};
use jiff::Timestamp;

use super::claims::{AffectedClaim, ClaimTable, key_of};
use super::claims::{ReplacementTolerations, Templates};
use super::impact::{Cause, ClaimUse, NotEvicted, PodImpact, Verdict};
use super::semantics::Semantics;
use crate::model::{ClaimSource, ObjectName, Pod, PodClaim, ResourceClaim, Snapshot};

/// Input of a verdict about a pod.
#[derive(Debug)]
pub(crate) struct VerdictEvaluator<'a, 'b> {
    pub(crate) claims: &'b ClaimTable<'a>,
    pub(crate) reached: &'b AffectedPods<'a>,
    pub(crate) templates: &'b Templates<'a>,
    pub(crate) semantics: &'b Semantics,
    pub(crate) now: Timestamp,
}

/// One way in which a pod uses an affected claim.
#[derive(Debug)]
struct PodClaimUse<'a, 'b> {
    claim: &'b AffectedClaim<'a>,
    /// Why the claim does not count for this pod, if it does not.
    obstacle: Option<NotEvicted>,
    /// True if the claim's consumers lead to this pod: by its name and its UID, or by its PodGroup.
    leads_here: bool,
}

/// Reference of a pod to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimReference {
    /// By a name that the pod's author chose.
    Named,
    /// By the name of a claim that was generated for the pod.
    Generated,
    /// By a claim that was made for the pod's extended resources.
    ExtendedResource,
}

impl<'a> VerdictEvaluator<'a, '_> {
    /// The verdict about `pod`, or `None` when no claim of it holds a selected device.
    ///
    /// Neither the phase nor the claim's own deletion plays a part, as upstream.
    ///
    /// Upstream: `podEvictionTime` in `device_taint_eviction.go`.
    pub(crate) fn evaluate(&self, pod: &'a Pod) -> Option<PodImpact<'a>> {
        let usages = self.usages(pod);
        let selected = || {
            usages
                .iter()
                .filter(|usage| !usage.claim.selected.is_empty())
        };
        selected().next()?;
        let counting = || usages.iter().filter(|usage| usage.obstacle.is_none());
        let causes = merge(counting().flat_map(|usage| &usage.claim.causes));
        let mut claims = Vec::with_capacity(usages.len());
        claims.extend(selected().map(claim_use));
        let replacement = counting().map(|usage| {
            let claim = usage.claim;
            self.templates
                .tolerations(pod, claim, self.now, self.semantics)
        });
        let replacement = replacement.fold(
            ReplacementTolerations::default(),
            ReplacementTolerations::or,
        );
        Some(PodImpact {
            pod,
            verdict: self.verdict(pod, &usages, &causes),
            tolerates_schedule_only: replacement.schedule_only,
            tolerates_no_schedule: replacement.no_schedule,
            replacement_stays: replacement.forever,
            claims,
            causes,
        })
    }

    fn verdict(&self, pod: &Pod, usages: &[PodClaimUse<'a, '_>], causes: &[Cause<'a>]) -> Verdict {
        // Before everything else: the controller counts no pod that is terminating, and the earlier deletion came
        // first.
        if pod.deletion.is_some() {
            return Verdict::Terminating;
        }
        if let Some(first) = causes.first()
            && causes.iter().any(Cause::is_proposed)
        {
            if !self.is_reached(pod, usages) {
                return Verdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
            }
            return Verdict::Evicted { at: first.at };
        }
        let selected = usages
            .iter()
            .filter(|usage| !usage.claim.selected.is_empty());
        let mut obstacle = None;
        for usage in selected {
            match usage.obstacle {
                None if usage.claim.tolerated => return Verdict::Tolerates,
                None => return Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict),
                Some(found) => obstacle = obstacle.or(Some(found)),
            }
        }
        Verdict::NotEvicted(obstacle.unwrap_or(NotEvicted::EffectDoesNotEvict))
    }

    /// True if a new rule makes the controller look at `pod`: the controller goes from the claims that the rule changes
    /// to their consumers, by name, and takes only a pod that has the UID as well. A pod whose UID is reserved under
    /// another name counts in the rule's condition, which is made from all pods, and is not evicted until something
    /// about the pod itself changes.
    ///
    /// Upstream: `handlePods` in `device_taint_eviction.go`.
    fn is_reached(&self, pod: &Pod, usages: &[PodClaimUse<'a, '_>]) -> bool {
        if self.semantics.stale_reservation_hides {
            return self.reached.contains(pod);
        }
        usages
            .iter()
            .any(|usage| usage.leads_here && usage.claim.is_evicted_by_considered())
    }

    /// The pod's affected claims that are reserved for it: those of its spec in order, then the one
    /// of its extended resources. A pod that only refers to a claim does not use it.
    fn usages(&self, pod: &'a Pod) -> Vec<PodClaimUse<'a, '_>> {
        let named = pod
            .claims
            .iter()
            .filter_map(|entry| entry_of(&entry.source));
        let extended = pod.extended_resource_claim.iter();
        named
            .chain(extended.map(|name| (name, ClaimReference::ExtendedResource)))
            .filter_map(|(name, reference)| self.usage(pod, name, reference))
            .chain(self.unnamed(pod))
            .collect()
    }

    /// The affected claims that were generated and are reserved for the pod, but have no entry in its status: the controller
    /// skips them until the claim controller restores the entries.
    ///
    /// Upstream: `resourceclaim.Name`, which goes by `status.resourceClaimStatuses` alone.
    fn unnamed(&self, pod: &'a Pod) -> Vec<PodClaimUse<'a, '_>> {
        let is_unnamed = |entry: &PodClaim| {
            let ClaimSource::Template { generated, .. } = &entry.source else {
                return false;
            };
            generated.is_none()
        };
        if !pod.claims.iter().any(is_unnamed) {
            return Vec::new();
        }
        let named = |name: &ObjectName| {
            let mut entries = pod.claims.iter().filter_map(|it| entry_of(&it.source));
            entries.any(|(other, _)| other == name)
                || pod.extended_resource_claim.as_ref() == Some(name)
        };
        let owned = self.claims.generated_for(&pod.uid);
        let lost = owned.filter(|found| {
            let mut consumers = found.claim.reserved_for.iter();
            found.claim.name.namespace == pod.name.namespace
                && consumers.any(|it| it.uid == pod.uid)
                && !named(&found.claim.name.name)
        });
        lost.map(|claim| PodClaimUse {
            claim,
            obstacle: Some(NotEvicted::ClaimNotInStatus),
            leads_here: false,
        })
        .collect()
    }

    fn usage(
        &self,
        pod: &Pod,
        name: &ObjectName,
        reference: ClaimReference,
    ) -> Option<PodClaimUse<'a, '_>> {
        let claim = self
            .claims
            .find(pod.name.namespace.as_str(), name.as_str())?;
        let ReservationValidity {
            obstacle,
            leads_here,
        } = validity(pod, claim.claim, reference, self.semantics)?;
        Some(PodClaimUse {
            claim,
            obstacle,
            leads_here,
        })
    }
}

/// The claim that an entry of a pod's spec means, and how, where that is known.
pub(crate) fn entry_of(source: &ClaimSource) -> Option<(&ObjectName, ClaimReference)> {
    match source {
        ClaimSource::Claim(name) => Some((name, ClaimReference::Named)),
        ClaimSource::Template {
            generated: Some(name),
            ..
        } => Some((name, ClaimReference::Generated)),
        ClaimSource::Template {
            generated: None, ..
        }
        | ClaimSource::Unknown => None,
    }
}

/// Validity of a claim's reservation for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReservationValidity {
    /// Why the claim does not count for the pod, if it does not.
    pub(crate) obstacle: Option<NotEvicted>,
    /// True if the claim's consumers lead to the pod.
    pub(crate) leads_here: bool,
}

/// Validity of `claim` for `pod`, which refers to it; absent where it is not reserved for the pod.
pub(crate) fn validity(
    pod: &Pod,
    claim: &ResourceClaim,
    reference: ClaimReference,
    semantics: &Semantics,
) -> Option<ReservationValidity> {
    let consumers = claim.reserved_for.iter();
    let mut own = consumers
        .filter(|consumer| consumer.uid == pod.uid)
        .peekable();
    // By UID alone, as upstream; the name plays a part only in how the controller comes to the pod.
    let for_pod = own.peek().is_some();
    let for_group = reserved_for_group(pod, claim);
    if !for_pod && !for_group {
        return None;
    }
    let leads_here = (for_group && semantics.honours_pod_groups)
        || own.any(|consumer| {
            consumer.name == pod.name.name
                && consumer.api_group.is_empty()
                && &*consumer.resource == "pods"
        });
    let counts = for_pod || semantics.honours_pod_groups;
    let owned = match reference {
        ClaimReference::Named => true,
        ClaimReference::Generated | ClaimReference::ExtendedResource => {
            is_owned(pod, claim, semantics)
        }
    };
    let looked_at = match reference {
        ClaimReference::Named | ClaimReference::Generated => true,
        ClaimReference::ExtendedResource => semantics.evicts_extended_resources,
    };
    let obstacles = [
        (!looked_at, NotEvicted::ExtendedResource),
        (pod.node.is_none(), NotEvicted::NotScheduled),
        (!owned, NotEvicted::NotOwned),
        (!counts, NotEvicted::PodGroupReservation),
    ];
    let obstacle = obstacles.into_iter().find(|(stands, _)| *stands);
    Some(ReservationValidity {
        obstacle: obstacle.map(|(_, obstacle)| obstacle),
        leads_here,
    })
}

/// True if `claim` was generated for `pod`, or for its PodGroup where that counts.
///
/// Upstream: `resourceclaim.IsForPod`.
fn is_owned(pod: &Pod, claim: &ResourceClaim, semantics: &Semantics) -> bool {
    let Some(controller) = &claim.controller else {
        return false;
    };
    // A PodGroup is compared by name, as upstream, which knows no UID of it here.
    let for_group = &*controller.kind == "PodGroup"
        && controller.api_version.starts_with("scheduling.k8s.io/")
        && pod.pod_group.as_ref() == Some(&controller.name);
    controller.uid == pod.uid || (semantics.honours_pod_groups && for_group)
}

fn claim_use<'a>(usage: &PodClaimUse<'a, '_>) -> ClaimUse<'a> {
    let selected = usage.claim.selected.iter();
    ClaimUse {
        claim: &usage.claim.claim.name,
        results: selected.map(|selected| selected.result).collect(),
    }
}

/// True if `claim` is reserved for the PodGroup of `pod`, by name.
///
/// Upstream: `resourceclaim.IsReservedForPod`.
pub(crate) fn reserved_for_group(pod: &Pod, claim: &ResourceClaim) -> bool {
    pod.pod_group.as_ref().is_some_and(|group| {
        let mut consumers = claim.reserved_for.iter();
        consumers.any(|consumer| consumer.is_group() && consumer.name == *group)
    })
}

/// All causes, each taint on each device once and at its earliest, earliest first.
fn merge<'a: 'b, 'b>(causes: impl Iterator<Item = &'b Cause<'a>>) -> Vec<Cause<'a>> {
    let mut merged: Vec<Cause<'a>> = causes.cloned().collect();
    if merged.len() > 1 {
        merged.sort_by(|left, right| {
            (left.at, left.origin, left.device, left.taint).cmp(&(
                right.at,
                right.origin,
                right.device,
                right.taint,
            ))
        });
        let mut seen = HashSet::new();
        merged.retain(|cause| seen.insert((cause.origin, cause.device, cause.taint)));
    }
    // It is kept for every pod.
    merged.shrink_to_fit();
    merged
}

/// The pods that a new rule reaches in versions where an outdated reservation hides others.
///
/// Those controllers go from a claim to its consumers, and stop at the first whose pod is gone or was
/// replaced.
#[derive(Debug, Default)]
pub(crate) struct AffectedPods<'a> {
    uids: HashSet<&'a str>,
}

impl<'a> AffectedPods<'a> {
    /// Follows the reservations of every claim that the proposed taints change, and of those that
    /// nothing taints, at whose pods a new rule makes these controllers look again. Which claim is looked at first is left to chance there: a pod that
    /// is reached through another claim than the tainted one may or may not be evicted, and counts as
    /// reached, so that the answer is not shorter than the truth.
    ///
    /// Upstream: `handleRuleChange`, `evictionAndReason.equal` and `handlePods` in 1.35's
    /// `device_taint_eviction.go`; the last returns where 1.36's continues.
    pub(crate) fn new(snapshot: &'a Snapshot, claims: &ClaimTable<'a>) -> Self {
        let pods: HashMap<(&str, &str), &str> = snapshot
            .pods
            .iter()
            .map(|pod| (key_of(&pod.name), pod.uid.as_str()))
            .collect();
        let mut uids = HashSet::new();
        for claim in snapshot
            .claims
            .iter()
            .filter(|claim| claim.allocation.is_some())
        {
            let (namespace, name) = key_of(&claim.name);
            let affected = claims.find(namespace, name);
            let untainted = affected.is_none_or(|affected| affected.causes.is_empty());
            let changed = affected.is_some_and(AffectedClaim::is_evicted_by_considered);
            if changed || untainted {
                let consumers = claim.reserved_for.iter().filter(|consumer| {
                    consumer.api_group.is_empty() && &*consumer.resource == "pods"
                });
                let current = consumers.map_while(|consumer| {
                    let known = pods.get(&(namespace, consumer.name.as_str()));
                    known.filter(|uid| **uid == consumer.uid.as_str()).copied()
                });
                uids.extend(current);
            }
        }
        Self { uids }
    }

    fn contains(&self, pod: &Pod) -> bool {
        self.uids.contains(pod.uid.as_str())
    }
}
