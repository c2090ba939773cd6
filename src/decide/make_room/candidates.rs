//! Which pods may be evicted so that a pod gets devices.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::assess::do_not_disrupt;
use crate::engine::disruption::is_subject_to_budgets;
use crate::engine::{Impact, NotEvicted, PodImpact, Verdict};
use crate::model::{Kind, Pod, PodDisruptionBudget, Uid};

/// The kind of owner that a mirror pod has: the node whose kubelet runs it from a file.
const MIRROR_OWNER: &str = "Node";
/// The namespace of the control plane's own pods.
const SYSTEM: &str = "kube-system";

/// Why a pod is never evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Immovable {
    /// Its kubelet runs it from a file, and starts it again.
    MirrorPod,
    /// Its DaemonSet creates it again on the same node.
    DaemonSet,
    /// It uses a device with admin access, such as a monitor.
    AdminAccess,
    /// It tolerates the taint, for good or for some time.
    Tolerates,
    /// The eviction controller leaves it alone.
    NotEvicted(NotEvicted),
    /// It shares a claim with the waiting pod, or is that pod.
    SameClaim,
    /// Its priority is that of the waiting pod, or higher.
    Priority,
    /// It is in kube-system.
    SystemNamespace,
    /// An annotation asks not to disrupt it.
    DoNotDisrupt,
}

impl Immovable {
    /// Why the pod stays, in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::MirrorPod => "it is a mirror pod, which its kubelet runs from a file",
            Self::DaemonSet => "its DaemonSet would recreate it on the same node",
            Self::AdminAccess => "it uses a device with admin access",
            Self::Tolerates => "it tolerates the taint",
            Self::NotEvicted(_) => "the eviction controller does not evict it",
            Self::SameClaim => "it shares a claim with the pending pod",
            Self::Priority => "its priority is not lower than that of the pending pod",
            Self::SystemNamespace => "it is in kube-system",
            Self::DoNotDisrupt => "an annotation forbids its disruption",
        }
    }
}

/// What can be done about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movability {
    /// It may be evicted.
    Evictable,
    /// It is on its way out already.
    Leaving,
    /// It stays.
    Stays(Immovable),
}

/// A pod that uses a device which could serve the waiting pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidatePod<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// What can be done about it.
    pub movability: Movability,
    /// Whether a budget is about it, or may be: then the Eviction API is asked first.
    pub has_budget: bool,
}

/// For whom pods may be evicted.
#[derive(Clone, Copy, Debug)]
pub struct Beneficiary<'a> {
    /// The waiting pod.
    pub pod: &'a Pod,
    /// The pods for which claims of the waiting pod are reserved.
    pub sharing: &'a BTreeSet<Uid>,
}

/// The pods that use a device of `impact`, which is that of the NoExecute taint for the waiting pod.
#[must_use]
pub fn candidates<'a>(
    impact: &Impact<'a>,
    beneficiary: Beneficiary<'_>,
    budgets: &[PodDisruptionBudget],
    now: Timestamp,
) -> Vec<CandidatePod<'a>> {
    let pods = impact.pods.iter().map(|found| CandidatePod {
        pod: found.pod,
        movability: movability(found, beneficiary, now),
        has_budget: has_budget(found.pod, budgets),
    });
    pods.collect()
}

fn movability(found: &PodImpact<'_>, beneficiary: Beneficiary<'_>, now: Timestamp) -> Movability {
    let pod = found.pod;
    let results = found.claims.iter().flat_map(|used| &used.results);
    let owner = pod.controller.as_ref();
    let mut stays = [
        (
            pod.uid == beneficiary.pod.uid || beneficiary.sharing.contains(&pod.uid),
            Immovable::SameClaim,
        ),
        (
            owner.is_some_and(|owner| &*owner.kind == MIRROR_OWNER),
            Immovable::MirrorPod,
        ),
        (
            owner.and_then(|owner| owner.workload_kind()) == Some(Kind::DaemonSet),
            Immovable::DaemonSet,
        ),
        (
            results.into_iter().any(|result| result.admin_access),
            Immovable::AdminAccess,
        ),
        (
            pod.priority >= beneficiary.pod.priority,
            Immovable::Priority,
        ),
        (
            pod.name.namespace.as_str() == SYSTEM,
            Immovable::SystemNamespace,
        ),
        (do_not_disrupt(pod).is_some(), Immovable::DoNotDisrupt),
    ]
    .into_iter()
    .filter_map(|(holds, why)| holds.then_some(why));
    // A pod that is terminating frees its devices without an eviction, whatever would protect it.
    if found.verdict == Verdict::Terminating {
        return Movability::Leaving;
    }
    if let Some(why) = stays.next() {
        return Movability::Stays(why);
    }
    match found.verdict {
        Verdict::Evicted { at } if at <= now => Movability::Evictable,
        // A toleration with seconds: nobody can say today when the device is free.
        Verdict::Evicted { .. } | Verdict::Tolerates => Movability::Stays(Immovable::Tolerates),
        Verdict::Terminating => Movability::Leaving,
        Verdict::NotEvicted(why) => Movability::Stays(Immovable::NotEvicted(why)),
    }
}

/// Whether a budget is about the pod; one that cannot be evaluated may be.
fn has_budget(pod: &Pod, budgets: &[PodDisruptionBudget]) -> bool {
    let mut budgets = budgets.iter();
    is_subject_to_budgets(pod) && budgets.any(|budget| budget.covers(pod) != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::budget;
    use crate::report::testing::pod;

    #[test]
    fn a_pod_has_a_budget_if_one_of_its_namespace_may_be_about_it() {
        let running = pod("team-a", "web");
        let mut elsewhere = budget(1, 2, 2);
        elsewhere.name.namespace = "team-b".into();
        let mut of_others = budget(1, 2, 2);
        of_others.selector = None;
        let about_it = || budget(1, 2, 2);
        assert!(!has_budget(&running, &[]));
        assert!(!has_budget(&running, &[elsewhere]));
        assert!(has_budget(&running, &[about_it()]));
        assert!(has_budget(&running, &[of_others.clone(), about_it()]));
        assert!(!has_budget(&running, &[of_others]));
        let mut ended = running;
        ended.phase = crate::model::Phase::Succeeded;
        assert!(!has_budget(&ended, &[about_it()]));
    }
}
