//! Workloads whose pods come back each time that they are evicted.
//!
//! Takes, look by look, the pods that rules evict, and names the workloads of which a pod was evicted, replaced on
//! the same devices, evicted again, and replaced again: a wait for their end has none. A pod that comes back once may
//! be one whose device the scheduler chose before it knew the taint. Pods that ended by themselves do not count.
//!
//! Upstream: a toleration that names no effect is good for the allocator and not for the eviction controller; see
//! [`super::tolerate`].

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use super::impact::PodImpact;
use super::rule_lifecycle::{EvictionObstacle, PendingEviction};
use crate::model::{ClaimSource, Controller, NamespacedName, ObjectName, Pod, Uid};

/// Whether the pod's replacement is made while the pod terminates, and takes its claim as it is allocated: only a claim
/// that no pod uses is deallocated, and taints do not count for a claim that is allocated.
///
/// Upstream: `syncClaim` in `pkg/controller/resourceclaim/controller.go`, `PreFilter` in
/// `pkg/scheduler/framework/plugins/dynamicresources`, and `FilterActivePods` for ReplicaSets; a StatefulSet and a
/// DaemonSet wait until the pod is gone.
#[must_use]
pub fn replacement_takes_claim(impact: &PodImpact<'_>) -> bool {
    let is_used = |name: &ObjectName| impact.claims.iter().any(|used| used.claim.name == *name);
    let is_named = impact.pod.claims.iter().any(|entry| match &entry.source {
        ClaimSource::Claim(name) => is_used(name),
        ClaimSource::Template { .. } | ClaimSource::Unknown => false,
    });
    let owner = impact.pod.controller.as_ref();
    let at_once =
        owner.is_some_and(|owner| matches!(&*owner.kind, "ReplicaSet" | "ReplicationController"));
    is_named && at_once
}

/// A workload comes back each time once this many pods in a row have replaced an evicted one.
const RETURNS: usize = 2;

/// A workload whose pods come back each time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecurringEviction {
    /// Namespace and name of what manages the pods.
    pub name: NamespacedName,
    /// Its kind.
    pub kind: String,
    /// How many pods of it were seen evicted.
    pub evicted: usize,
}

/// What was seen of a workload's pod.
#[derive(Clone, Debug)]
struct PodSighting {
    /// How many evicted ones it came after, one after the other.
    after: usize,
    /// Whether its eviction was due when it was seen last.
    is_due: bool,
    /// Whether it was seen evicted.
    is_evicted: bool,
}

/// The pods of every workload that were seen so far.
#[derive(Clone, Debug, Default)]
pub struct RecurringEvictions {
    /// By the workload's UID and the pod's.
    seen: HashMap<Uid, HashMap<Uid, PodSighting>>,
    has_looked: bool,
}

impl RecurringEvictions {
    /// Takes note of who is `left` to go now, and of which pods are `there` at all.
    ///
    /// Must be told of every look, in the order of time.
    pub fn see(&mut self, left: &[PendingEviction<'_>], there: &[Pod]) {
        let there: HashSet<&Uid> = there.iter().map(|pod| &pod.uid).collect();
        for (uid, pod) in self.seen.values_mut().flatten() {
            // A pod without a grace period is never seen terminating.
            pod.is_evicted |= pod.is_due && !there.contains(uid);
        }
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        for one in left {
            let Some(owner) = &one.pod.controller else {
                continue;
            };
            let pods = self.seen.entry(owner.uid.clone()).or_default();
            let evicted = pods.values().filter(|pod| pod.is_evicted);
            let after = evicted.map(|pod| pod.after.saturating_add(1)).max();
            // Who is there at the first look has come after none that was seen.
            let after = after.filter(|_| !is_first).unwrap_or(0);
            let pod = pods.entry(one.pod.uid.clone()).or_insert(PodSighting {
                after,
                is_due: false,
                is_evicted: false,
            });
            pod.is_due = matches!(one.obstacle, EvictionObstacle::Controller { .. });
            pod.is_evicted |= one.obstacle.is_terminating();
        }
    }

    /// The workloads that come back each time and of which a pod is `left` now, by name.
    #[must_use]
    pub fn returning(&self, left: &[PendingEviction<'_>]) -> Vec<RecurringEviction> {
        let owners: BTreeMap<&Uid, _> = left
            .iter()
            .filter_map(|left| {
                let owner = left.pod.controller.as_ref()?;
                Some((&owner.uid, (left.pod, owner)))
            })
            .collect();
        let mut returning: Vec<RecurringEviction> = owners
            .into_iter()
            .filter_map(|(uid, (pod, owner))| {
                let pods = self.seen.get(uid)?;
                let comes_back = pods.values().any(|pod| pod.after >= RETURNS);
                let evicted = pods.values().filter(|pod| pod.is_evicted).count();
                comes_back.then(|| returning(pod, owner, evicted))
            })
            .collect();
        returning.sort();
        returning
    }
}

fn returning(pod: &Pod, owner: &Controller, evicted: usize) -> RecurringEviction {
    let deployment = pod.deployment();
    RecurringEviction {
        kind: match deployment {
            Some(_) => "Deployment".to_owned(),
            None => owner.kind.to_string(),
        },
        name: NamespacedName {
            namespace: pod.name.namespace.clone(),
            name: deployment.unwrap_or_else(|| owner.name.clone()),
        },
        evicted,
    }
}
