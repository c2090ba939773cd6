//! Claims that hold devices, and pods that stay on them despite a rule.
//!
//! A rule that has evicted all its pods leaves those that tolerate its taint, and those that only look at the device
//! with administrative access. They hold it all the same: a device is idle when no claim holds it, nor another name of
//! the same hardware.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::impact::{Impact, NotEvicted, PodImpact, Verdict};
use super::rule_lifecycle::{PendingEviction, TerminationFacts, terminating};
use crate::model::{DeviceId, Pod, ResourceClaim, Snapshot};

/// A claim that holds devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingClaim<'a> {
    /// The claim.
    pub claim: &'a ResourceClaim,
    /// Those of its devices that were asked about, by name.
    pub devices: Vec<DeviceId>,
    /// The pods that it is reserved for, as far as they are known.
    pub pods: Vec<&'a Pod>,
    /// Those of them that were deleted, by any client, and how far they are.
    pub leaving: Vec<PendingEviction<'a>>,
}

impl HoldingClaim<'_> {
    /// True if it has admin access alone to these devices, which takes them from no other claim.
    pub fn has_admin_access(&self) -> bool {
        let allocation = self.claim.allocation.iter();
        let results = allocation.flat_map(|found| &found.results);
        let mut results = results.filter(|result| self.devices.contains(&result.device));
        results.all(|result| result.admin_access)
    }

    /// The claim, with how far those of its pods are that were deleted.
    #[must_use]
    pub fn with_leaving(self, facts: &TerminationFacts<'_>, now: Timestamp) -> Self {
        let pods = self.pods.iter();
        let leaving = pods.filter_map(|pod| {
            let obstacle = terminating(pod, facts, now)?;
            Some(PendingEviction { pod, obstacle })
        });
        let leaving = leaving.collect();
        Self { leaving, ..self }
    }
}

/// The claims that hold any of `devices`, by name.
pub fn holders<'a>(snapshot: &'a Snapshot, devices: &BTreeSet<DeviceId>) -> Vec<HoldingClaim<'a>> {
    let holder = |claim: &'a ResourceClaim| {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let held: BTreeSet<&DeviceId> = results
            .map(|result| &result.device)
            .filter(|id| devices.contains(*id))
            .collect();
        let pods = snapshot.pods.iter().filter(|pod| {
            claim
                .reserved_for
                .iter()
                .any(|consumer| consumer.uid == pod.uid)
        });
        (!held.is_empty()).then(|| HoldingClaim {
            claim,
            devices: held.into_iter().cloned().collect(),
            pods: pods.collect(),
            leaving: Vec::new(),
        })
    };
    let mut holders: Vec<HoldingClaim<'a>> = snapshot.claims.iter().filter_map(holder).collect();
    holders.sort_by_key(|holder| &holder.claim.name);
    holders
}

/// Why a pod stays on devices from which rules evict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotEvictedReason {
    /// It tolerates the taints forever.
    Tolerates,
    /// It tolerates them, and only looks at the devices, with administrative access.
    Administrates,
    /// The rules do not evict.
    EffectDoesNotEvict,
    /// Its containers have ended, and its claim is not given back.
    Ended,
    /// It was deleted, and not by the rules.
    Leaves,
    /// The controller leaves it alone for another reason.
    NotEvicted(NotEvicted),
}

/// A pod that uses devices from which rules evict, and is not evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnevictedPod<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// Why.
    pub stay: NotEvictedReason,
}

/// The pods that use devices which the proposed taints of `impact` select, and are not among those that are
/// `left` to go.
pub fn staying<'a>(impact: &Impact<'a>, left: &[PendingEviction<'_>]) -> Vec<UnevictedPod<'a>> {
    let pods = impact.pods.iter();
    let others = pods.filter(|one| left.iter().all(|known| known.pod.uid != one.pod.uid));
    let staying = others.filter_map(|one| {
        Some(UnevictedPod {
            pod: one.pod,
            stay: stay(one)?,
        })
    });
    staying.collect()
}

fn stay(impact: &PodImpact<'_>) -> Option<NotEvictedReason> {
    if impact.pod.phase.is_terminal() {
        return Some(NotEvictedReason::Ended);
    }
    match impact.verdict {
        // It will be left at the next look.
        Verdict::Evicted { .. } => None,
        Verdict::Terminating => Some(NotEvictedReason::Leaves),
        Verdict::Tolerates if is_admin(impact) => Some(NotEvictedReason::Administrates),
        Verdict::Tolerates => Some(NotEvictedReason::Tolerates),
        Verdict::NotEvicted(NotEvicted::EffectDoesNotEvict) => {
            Some(NotEvictedReason::EffectDoesNotEvict)
        }
        Verdict::NotEvicted(why) => Some(NotEvictedReason::NotEvicted(why)),
    }
}

/// True if it has administrative access alone to the devices.
fn is_admin(impact: &PodImpact<'_>) -> bool {
    impact
        .claims
        .iter()
        .flat_map(|used| &used.results)
        .all(|result| result.admin_access)
}
