//! Which pods does the controller delete?

use std::collections::HashMap;

use super::claims::{AffectedClaim, ClaimTable};
use super::{Cause, ClaimUse, NotEvicted, PodImpact, Semantics, Verdict};
use crate::model::{ClaimSource, ObjectName, Pod, ResourceClaim};

/// What a verdict about a pod is made from.
#[derive(Debug)]
pub(crate) struct Court<'a, 'b> {
    pub(crate) claims: &'b ClaimTable<'a>,
    pub(crate) stale: &'b StaleReservations<'a>,
    pub(crate) semantics: &'b Semantics,
}

/// One way in which a pod uses an affected claim.
#[derive(Debug)]
struct Usage<'a, 'b> {
    claim: &'b AffectedClaim<'a>,
    /// Why the claim does not count for this pod, if it does not.
    obstacle: Option<NotEvicted>,
}

/// How a pod refers to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reference {
    /// By a name that somebody chose.
    Named,
    /// By the name of a claim that was generated for the pod.
    Generated,
    /// By a claim that was made for the pod's extended resources.
    ExtendedResource,
}

impl<'a> Court<'a, '_> {
    /// The verdict about `pod`, or `None` when no claim of it holds a selected device.
    ///
    /// Neither the phase nor the claim's own deletion plays a part, as upstream.
    ///
    /// Upstream: `podEvictionTime` in `device_taint_eviction.go`.
    pub(crate) fn judge(&self, pod: &'a Pod) -> Option<PodImpact<'a>> {
        let usages = self.usages(pod);
        let selected = || {
            usages
                .iter()
                .filter(|usage| !usage.claim.selected.is_empty())
        };
        selected().next()?;
        let counting = || usages.iter().filter(|usage| usage.obstacle.is_none());
        let causes = merge(counting().flat_map(|usage| &usage.claim.causes));
        Some(PodImpact {
            pod,
            verdict: self.verdict(pod, &usages, &causes),
            tolerates_schedule_only: counting().any(|usage| usage.claim.schedule_only),
            claims: selected()
                .map(|usage| ClaimUse {
                    claim: &usage.claim.claim.name,
                    results: usage.claim.selected.clone(),
                })
                .collect(),
            causes,
        })
    }

    fn verdict(&self, pod: &Pod, usages: &[Usage<'a, '_>], causes: &[Cause<'a>]) -> Verdict {
        if pod.deletion.is_some() {
            return Verdict::Terminating;
        }
        if let Some(first) = causes.first()
            && causes.iter().any(Cause::is_considered)
        {
            if self.is_hidden(pod, usages) {
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
                None if usage.claim.unpublished => {
                    return Verdict::NotEvicted(NotEvicted::NotPublished);
                }
                None => return Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict),
                Some(found) => obstacle = obstacle.or(Some(found)),
            }
        }
        Verdict::NotEvicted(obstacle.unwrap_or(NotEvicted::EffectDoesNotEvict))
    }

    /// The pod's affected claims that are reserved for it: those of its spec in order, then the one
    /// of its extended resources. A pod that only refers to a claim does not use it.
    fn usages(&self, pod: &'a Pod) -> Vec<Usage<'a, '_>> {
        let named = pod.claims.iter().filter_map(|entry| match &entry.source {
            ClaimSource::Claim(name) => Some((name, Reference::Named)),
            ClaimSource::Template {
                generated: Some(name),
            } => Some((name, Reference::Generated)),
            ClaimSource::Template { generated: None } | ClaimSource::Unknown => None,
        });
        let extended = pod.extended_resource_claim.iter();
        named
            .chain(extended.map(|name| (name, Reference::ExtendedResource)))
            .filter_map(|(name, reference)| self.usage(pod, name, reference))
            .collect()
    }

    fn usage(&self, pod: &Pod, name: &ObjectName, reference: Reference) -> Option<Usage<'a, '_>> {
        let claim = self
            .claims
            .find(pod.name.namespace.as_str(), name.as_str())?;
        let for_pod = claim
            .claim
            .reserved_for
            .iter()
            .any(|consumer| consumer.uid == pod.uid);
        if !for_pod && !reserved_for_group(pod, claim.claim) {
            return None;
        }
        let counts = for_pod || self.semantics.honours_pod_groups;
        let owned = match reference {
            Reference::Named => true,
            Reference::Generated | Reference::ExtendedResource => self.is_owned(pod, claim.claim),
        };
        let looked_at = match reference {
            Reference::Named | Reference::Generated => true,
            Reference::ExtendedResource => self.semantics.evicts_extended_resources,
        };
        let obstacles = [
            (!looked_at, NotEvicted::ExtendedResource),
            (pod.node.is_none(), NotEvicted::NotScheduled),
            (!owned, NotEvicted::NotOwned),
            (!counts, NotEvicted::PodGroupReservation),
        ];
        let obstacle = obstacles.into_iter().find(|(stands, _)| *stands);
        Some(Usage {
            claim,
            obstacle: obstacle.map(|(_, obstacle)| obstacle),
        })
    }

    /// Whether `claim` was generated for `pod`, or for its PodGroup where that counts.
    ///
    /// Upstream: `resourceclaim.IsForPod`.
    fn is_owned(&self, pod: &Pod, claim: &ResourceClaim) -> bool {
        let Some(controller) = &claim.controller else {
            return false;
        };
        let for_group = controller.kind == "PodGroup"
            && controller.api_version.starts_with("scheduling.k8s.io/")
            && pod.pod_group.as_ref() == Some(&controller.name);
        controller.uid == pod.uid || (self.semantics.honours_pod_groups && for_group)
    }

    /// Whether this version never looks at `pod` when the considered rules appear.
    fn is_hidden(&self, pod: &Pod, usages: &[Usage<'a, '_>]) -> bool {
        self.semantics.stale_reservation_hides
            && usages
                .iter()
                .filter(|usage| usage.obstacle.is_none() && usage.claim.is_evicted_by_considered())
                .all(|usage| self.stale.hides(pod, usage.claim.claim))
    }
}

/// Whether `claim` is reserved for the PodGroup of `pod`, by name.
///
/// Upstream: `resourceclaim.IsReservedForPod`.
fn reserved_for_group(pod: &Pod, claim: &ResourceClaim) -> bool {
    pod.pod_group.as_ref().is_some_and(|group| {
        claim.reserved_for.iter().any(|consumer| {
            consumer.api_group == "scheduling.k8s.io"
                && consumer.resource == "podgroups"
                && consumer.name == *group
        })
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
        let mut seen = std::collections::HashSet::new();
        merged.retain(|cause| seen.insert((cause.origin, cause.device, cause.taint)));
    }
    merged
}

/// Which pods exist under the names in `reservedFor`, to find entries that are out of date.
#[derive(Debug, Default)]
pub(crate) struct StaleReservations<'a> {
    uids: HashMap<(&'a str, &'a str), &'a str>,
}

impl<'a> StaleReservations<'a> {
    pub(crate) fn new(pods: &'a [Pod]) -> Self {
        let uids = pods
            .iter()
            .map(|pod| {
                (
                    (pod.name.namespace.as_str(), pod.name.name.as_str()),
                    pod.uid.as_str(),
                )
            })
            .collect();
        Self { uids }
    }

    /// Whether an entry before the pod's own names a pod that is gone or was replaced: up to 1.35
    /// the controller stops there.
    ///
    /// Upstream: `handlePods` in 1.35's `device_taint_eviction.go`, which returns where 1.36's
    /// continues.
    fn hides(&self, pod: &Pod, claim: &ResourceClaim) -> bool {
        for consumer in &claim.reserved_for {
            if !consumer.api_group.is_empty() || consumer.resource != "pods" {
                continue;
            }
            if consumer.uid == pod.uid && consumer.name == pod.name.name {
                return false;
            }
            let known = self
                .uids
                .get(&(claim.name.namespace.as_str(), consumer.name.as_str()));
            if known != Some(&consumer.uid.as_str()) {
                return true;
            }
        }
        true
    }
}
