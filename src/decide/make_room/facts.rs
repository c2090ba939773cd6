//! What is observed at each look, from the moment on that the devices are tainted.

use std::collections::BTreeSet;

use super::plan::RoomPlan;
use super::run::{Competitor, PodProgress, RemainingPod, StageFacts};
use super::terms::kept_for;
use crate::model::{DeviceId, DeviceTaintRule, NamespacedName, Pod, ResourceClaim, Snapshot, Uid};

/// The claims that held the devices before anything was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupants {
    claims: BTreeSet<Uid>,
}

impl Occupants {
    /// The claims that hold devices now.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let claims = snapshot.claims.iter();
        let holding = claims.filter(|claim| claim.allocation.is_some());
        Self {
            claims: holding.map(|claim| claim.uid.clone()).collect(),
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct StageView<'a> {
    /// The cluster now, with the pods that use the devices.
    pub snapshot: &'a Snapshot,
    /// The waiting pod now; absent where it is gone.
    pub pod: Option<&'a Pod>,
    /// Its UID.
    pub uid: &'a Uid,
    /// Its claims, by name.
    pub claims: &'a [NamespacedName],
    /// The rules that were made.
    pub rules: &'a [DeviceTaintRule],
    /// Who held devices before.
    pub before: &'a Occupants,
}

/// The facts of a look.
#[must_use]
pub fn stage_facts(plan: &RoomPlan, view: &StageView<'_>) -> StageFacts {
    let own = || {
        let claims = view.snapshot.claims.iter();
        claims.filter(|claim| view.claims.contains(&claim.name))
    };
    let held = own().flat_map(|claim| claim.allocation.iter().flat_map(|it| &it.results));
    StageFacts {
        progress: progress(view.pod, view.uid),
        devices: held.map(|result| result.device.clone()).collect(),
        remaining: remaining(plan, view.snapshot),
        competitors: competitors(&plan.chosen.set.devices, view),
        reversed: reversed(view),
    }
}

impl StageFacts {
    /// The facts of a pod for which nobody is evicted; absent where it is gone.
    #[must_use]
    pub fn of_pod(pod: Option<&Pod>, uid: &Uid) -> Self {
        Self {
            progress: progress(pod, uid),
            devices: BTreeSet::new(),
            remaining: Vec::new(),
            competitors: Vec::new(),
            reversed: None,
        }
    }

    /// Whether the claims were read before the pod was scheduled, and the pod after it: its devices are in the next look.
    #[must_use]
    pub fn precedes_scheduling(&self) -> bool {
        matches!(self.progress, PodProgress::Scheduled(_)) && self.devices.is_empty()
    }
}

fn progress(pod: Option<&Pod>, uid: &Uid) -> PodProgress {
    let Some(pod) = pod.filter(|pod| pod.uid == *uid) else {
        return PodProgress::Gone;
    };
    match &pod.node {
        Some(node) => PodProgress::Scheduled(node.clone()),
        // The scheduler skips pods that are terminating, so this one never gets a node.
        None if pod.deletion.is_some() => PodProgress::Gone,
        None => PodProgress::Pending(pod.has_no_place().map(str::to_owned)),
    }
}

/// The pods of the plan that still have a claim with a device that they are to leave.
fn remaining(plan: &RoomPlan, snapshot: &Snapshot) -> Vec<RemainingPod> {
    let emptied = &plan.chosen.set.emptied;
    let holds = |claim: &&ResourceClaim| {
        let mut results = claim.allocation.iter().flat_map(|it| &it.results);
        results.any(|result| emptied.contains(&result.device))
    };
    let holding = snapshot.claims.iter().filter(holds);
    let users: BTreeSet<&Uid> = holding
        .flat_map(|claim| claim.reserved_for.iter().map(|one| &one.uid))
        .collect();
    let left = plan.chosen.pods.iter();
    left.filter(|pod| users.contains(&pod.uid))
        .map(|pod| {
            let mut known = snapshot.pods.iter();
            let found = known.find(|found| found.uid == pod.uid);
            RemainingPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                has_budget: pod.has_budget,
                // A pod that is gone while its claim is still reserved for it needs no eviction.
                is_terminating: found.is_none_or(|pod| pod.deletion.is_some()),
            }
        })
        .collect()
}

/// The claims of others that hold one of the devices, and held nothing before.
fn competitors(devices: &BTreeSet<DeviceId>, view: &StageView<'_>) -> Vec<Competitor> {
    let claims = view.snapshot.claims.iter();
    let others = claims.filter(|claim| {
        // A claim that held a device before may hold it until its pods have left. It takes nothing from the
        // waiting pod.
        !view.claims.contains(&claim.name) && !view.before.claims.contains(&claim.uid)
    });
    let found = others.filter_map(|claim| {
        let mut results = claim.allocation.iter().flat_map(|it| &it.results);
        // Admin access leaves the device free for others.
        let taken = results.find(|it| !it.admin_access && devices.contains(&it.device))?;
        Some(Competitor {
            device: taken.device.clone(),
            claim: claim.name.clone(),
            pods: claim
                .reserved_for
                .iter()
                .filter(|one| &*one.resource == "pods")
                .map(|one| NamespacedName {
                    namespace: claim.name.namespace.clone(),
                    name: one.name.clone(),
                })
                .collect(),
        })
    });
    found.collect()
}

/// What somebody else did to a rule that was made.
fn reversed(view: &StageView<'_>) -> Option<String> {
    let known = &view.snapshot.rules;
    view.rules.iter().find_map(|rule| {
        let name = &rule.name;
        let Some(now) = known.iter().find(|now| now.name == *name) else {
            return Some(format!("rule {name} was removed"));
        };
        if now.uid != rule.uid {
            return Some(format!("rule {name} was removed and recreated"));
        }
        // The effect is left out: this run raises it itself.
        let is_other = now.selector != rule.selector
            || kept_for(now) != kept_for(rule)
            || now.taint.value != rule.taint.value;
        is_other.then(|| format!("rule {name} was changed"))
    })
}
