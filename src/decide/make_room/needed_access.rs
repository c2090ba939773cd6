//! What the user must be allowed to do, from the first rule to the removal of the last.

use std::collections::BTreeSet;

use super::plan::{PlannedEviction, RoomLimits, RoomPlan};
use crate::decide::add::AddStep;
use crate::model::Namespace;

/// Something that the user must be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeededAccess {
    /// To make rules.
    CreateRules,
    /// To change rules.
    PatchRules,
    /// To delete rules: without it the devices would stay tainted.
    DeleteRules,
    /// To evict pods of this namespace through the Eviction API.
    EvictPods(Namespace),
}

/// All that is needed for the plan, of which `first` are the first steps.
///
/// Rules are changed where an earlier run has left some, and where pods leave by effect NoExecute after others have been
/// evicted through the Eviction API.
#[must_use]
pub fn needed_access(
    plan: &RoomPlan,
    first: &[AddStep],
    limits: RoomLimits,
) -> BTreeSet<NeededAccess> {
    let pods = &plan.chosen.pods;
    let evicted = pods.iter().filter(|pod| pod.has_budget);
    let evictions = evicted.map(|pod| NeededAccess::EvictPods(pod.name.namespace.clone()));
    let mut needed: BTreeSet<NeededAccess> = evictions.collect();
    let is_raised = !needed.is_empty() && (limits.force || pods.iter().any(|pod| !pod.has_budget));
    let mut rules = false;
    for step in first {
        rules = true;
        match step {
            AddStep::Create(_) => drop(needed.insert(NeededAccess::CreateRules)),
            AddStep::Change { .. } => drop(needed.insert(NeededAccess::PatchRules)),
            AddStep::Keep { .. } => {}
        }
    }
    if is_raised && rules {
        needed.insert(NeededAccess::PatchRules);
    }
    if rules {
        needed.insert(NeededAccess::DeleteRules);
    }
    needed
}

/// The evictions that are tried beforehand, without being carried out: what is evicted through the Eviction API may be
/// refused by admission. One of each namespace is enough, since permissions are granted by namespace.
#[must_use]
pub fn tried_evictions(pods: &[PlannedEviction]) -> Vec<&PlannedEviction> {
    let mut namespaces = BTreeSet::new();
    let evicted = pods.iter().filter(|pod| pod.has_budget);
    evicted
        .filter(|pod| namespaces.insert(&pod.name.namespace))
        .collect()
}
