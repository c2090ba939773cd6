//! What one unit knows at one moment.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{BudgetState, Harm};
use super::pod_class::{Inclusions, PodClass, Treatment};
use super::restart::RestartState;
use crate::assess::Basis;
use crate::engine::disruption::{BudgetAnswer, disruption};
use crate::engine::workloads::Owners;
use crate::engine::{Impact, Verdict};
use crate::model::{JobEnd, Kind, NamespacedName, Pod, Reading, Uid, Workload};

/// What is known of a unit at one moment.
#[derive(Clone, Debug, Default)]
pub struct UnitFacts {
    /// Whether the rules of the unit are as this drain made them.
    pub rules: RuleState,
    /// The pods that use its devices, the least harmful to evict first.
    pub pods: Vec<UnitPod>,
    /// Claims that hold its devices, each with no pod of `pods` that it is reserved for.
    pub other_claims: Vec<NamespacedName>,
    /// The workloads of pods that this run has seen, by UID.
    pub workloads: BTreeMap<Uid, WorkloadState>,
    /// The Deployments among them, by UID, with how a restart would go and how far it is.
    pub restarts: BTreeMap<Uid, RestartState>,
    /// Pods of these workloads that the scheduler finds no place for, with what it says, by workload.
    pub unschedulable: BTreeMap<Uid, String>,
    /// What could not be read.
    pub unread: Vec<String>,
    /// Whether a wait has seen that no claim holds the devices, also not under other names of the hardware.
    pub is_idle: bool,
}

/// Whether the rules of a unit are as the drain made them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RuleState {
    /// They keep new pods off.
    #[default]
    AsMade,
    /// Another user or program removed or weakened one.
    Reversed(String),
    /// Another run goes on with this unit.
    TakenOver(String),
}

/// A pod that uses a device of the unit.
#[derive(Clone, Debug)]
pub struct UnitPod {
    /// Namespace and name.
    pub name: NamespacedName,
    /// Distinguishes it from a later pod of the same name.
    pub uid: Uid,
    /// What becomes of it when it is evicted.
    pub class: PodClass,
    /// How harmful its eviction is.
    pub harm: Harm,
    /// Whether it is on its way out.
    pub is_terminating: bool,
    /// The workload whose recovery is waited for; absent where nothing is known to make the pod again.
    pub workload: Option<Uid>,
}

impl UnitPod {
    /// Whether the drain has it evicted.
    #[must_use]
    pub fn is_evicted(&self, included: Inclusions) -> bool {
        !self.is_terminating && self.class.treatment(included) == Treatment::Evicted
    }
}

/// How a workload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadState {
    /// `KIND NAMESPACE/NAME`
    pub name: String,
    /// How many of its pods are ready; absent where that is not known.
    pub ready: Option<i32>,
    /// How many it wants; absent where that is not known.
    pub wanted: Option<i32>,
    /// Whether it makes no more pods: it has ended, or was deleted.
    pub has_ended: bool,
}

impl WorkloadState {
    fn of(kind: Kind, workload: &Workload) -> Self {
        let failure = workload.failure.as_ref();
        let ended = failure.and_then(|failure| failure.ended.as_ref());
        Self {
            name: format!("{kind} {}", workload.name),
            ready: workload.ready,
            wanted: workload.replicas,
            has_ended: match ended {
                Some(JobEnd::Complete | JobEnd::Failed(_)) => true,
                None => false,
            },
        }
    }

    /// How many of its pods are ready, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.ready, self.wanted) {
            (Some(ready), Some(wanted)) => format!("{}: {ready} of {wanted} ready", self.name),
            (None, _) | (_, None) => {
                format!("{}: the number of ready pods is unknown", self.name)
            }
        }
    }
}

/// The pods of `impact`, which is that of a NoExecute taint on the devices of a unit.
///
/// Pods whose containers have ended are none: their claims are given back without an eviction.
#[must_use]
pub fn pods_of<'a>(impact: &Impact<'a>, basis: &Basis<'a>) -> Vec<UnitPod> {
    let owners = Owners::new(basis.reading);
    let budgets = &basis.reading.snapshot.budgets;
    let refused: BTreeSet<Uid> = disruption(impact, budgets, basis.now)
        .budgets
        .iter()
        .flat_map(|budget| &budget.pods)
        .filter(|(_, answer)| match answer {
            BudgetAnswer::Refused | BudgetAnswer::Ambiguous => true,
            BudgetAnswer::NotAsked | BudgetAnswer::Allowed => false,
        })
        .map(|(pod, _)| pod.uid.clone())
        .collect();
    let pods = impact.pods.iter();
    let running = pods.filter(|impact| !impact.pod.phase.is_terminal());
    let mut pods: Vec<UnitPod> = running
        .map(|impact| {
            let pod = impact.pod;
            let class = PodClass::of(impact, &owners);
            let budgets = if refused.contains(&pod.uid) {
                BudgetState::Refuses
            } else {
                BudgetState::Allows
            };
            UnitPod {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                class,
                harm: Harm::of(pod, class, budgets),
                is_terminating: match impact.verdict {
                    Verdict::Terminating => true,
                    Verdict::Evicted { .. } | Verdict::Tolerates | Verdict::NotEvicted(_) => {
                        pod.deletion.is_some()
                    }
                },
                workload: workload_of(pod, &owners)
                    // A DaemonSet makes its pod again on the same devices, where it waits until the drain is undone.
                    .filter(|_| class != PodClass::DaemonSet)
                    .map(|workload| workload.uid.clone()),
            }
        })
        .collect();
    pods.sort_by(|left, right| left.harm.cmp(&right.harm));
    pods
}

/// The topmost workload above a pod that says how many pods it wants and has; else the nearest that was read.
fn workload_of<'a>(pod: &'a Pod, owners: &Owners<'a>) -> Option<&'a Workload> {
    let above = owners.above(pod);
    let telling = above.iter().rev();
    let telling = telling.copied().find(|it| it.has_recovered().is_some());
    telling.or_else(|| above.first().copied())
}

/// The workloads of `pods` as far as they were read, each with a pod of it that waits for a place.
#[must_use]
pub fn workloads_of_waiting<'a>(
    pods: &'a [Pod],
    reading: &'a Reading,
) -> BTreeMap<&'a Uid, &'a Pod> {
    let owners = Owners::new(reading);
    let waiting = pods.iter().filter(|pod| pod.has_no_place().is_some());
    waiting
        .filter_map(|pod| Some((&workload_of(pod, &owners)?.uid, pod)))
        .collect()
}

/// How the workloads of `pods` are in `reading`, by UID, and what could not be read of them. The pods may be gone: what
/// made them is asked for by its name.
#[must_use]
pub fn workload_states(
    pods: &[Pod],
    reading: &Reading,
) -> (BTreeMap<Uid, WorkloadState>, Vec<String>) {
    let owners = Owners::new(reading);
    let kinds: BTreeMap<&Uid, Kind> = reading
        .snapshot
        .workloads()
        .into_iter()
        .map(|(kind, workload)| (&workload.uid, kind))
        .collect();
    let mut states = BTreeMap::new();
    let mut unread = BTreeSet::new();
    for pod in pods {
        if let Some(workload) = workload_of(pod, &owners) {
            let kind = kinds.get(&workload.uid).copied();
            let state = kind.map(|kind| WorkloadState::of(kind, workload));
            states.extend(state.map(|state| (workload.uid.clone(), state)));
            continue;
        }
        let owner = pod.controller.as_ref();
        let Some((owner, kind)) = owner.and_then(|it| Some((it, it.workload_kind()?))) else {
            continue;
        };
        if reading.without(kind).is_some() {
            unread.insert(format!("{kind} {}/{}", pod.name.namespace, owner.name));
        }
    }
    (states, unread.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, owned};
    use crate::model::Gap;
    use crate::report::testing::{impact, now, semantics, with_verdict};

    #[test]
    fn a_workload_is_told_by_the_topmost_owner_that_says_how_many_it_wants() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 2);
        let pod = owned("web-1", Some(("ReplicaSet", "web")));
        let (states, unread) = workload_states(&[pod], &cluster.reading);
        assert_eq!(unread, Vec::<String>::new());
        let lines: Vec<String> = states.values().map(WorkloadState::describe).collect();
        assert_eq!(lines, ["ReplicaSet team-a/web: 2 of 3 ready"]);
    }

    #[test]
    fn an_owner_that_could_not_be_read_is_unread_and_one_that_is_gone_is_not() {
        let mut cluster = Cluster::default();
        let pods = [owned("web-1", Some(("ReplicaSet", "web")))];
        assert_eq!(
            workload_states(&pods, &cluster.reading),
            (BTreeMap::new(), Vec::new())
        );
        cluster.reading.known.remove(&Kind::ReplicaSet);
        cluster.reading.gaps = vec![Gap::of(Kind::ReplicaSet, "denied")];
        let (states, unread) = workload_states(&pods, &cluster.reading);
        assert!(states.is_empty());
        assert_eq!(unread, ["ReplicaSet team-a/web"]);
    }

    #[test]
    fn a_workload_of_unknown_numbers_says_so() {
        let state = WorkloadState {
            name: "ReplicaSet team-a/web".to_owned(),
            ready: Some(1),
            wanted: None,
            has_ended: false,
        };
        assert_eq!(
            state.describe(),
            "ReplicaSet team-a/web: the number of ready pods is unknown"
        );
    }

    #[test]
    fn pods_come_the_least_harmful_first_and_those_that_ended_not_at_all() {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 3, 3);
        let web = owned("web-1", Some(("ReplicaSet", "web")));
        let job = owned("a-job", Some(("Job", "train")));
        let mut leaving = owned("web-2", Some(("ReplicaSet", "web")));
        leaving.deletion = Some(crate::model::Deletion {
            at: now(),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
        let mut ended = owned("web-3", Some(("ReplicaSet", "web")));
        ended.phase = crate::model::Phase::Succeeded;
        let at = Verdict::Evicted { at: now() };
        let used = crate::decide::drain::testing::used();
        let of = |pod, verdict| {
            let mut impact = with_verdict(pod, verdict);
            impact.claims = vec![used.claim_use()];
            impact
        };
        let impact = impact(vec![
            of(&job, at.clone()),
            of(&leaving, Verdict::Terminating),
            of(&web, at.clone()),
            of(&ended, at),
        ]);
        let semantics = semantics(37);
        let basis = Basis {
            reading: &cluster.reading,
            semantics: &semantics,
            now: now(),
        };
        let pods = pods_of(&impact, &basis);
        let found: Vec<(&str, PodClass, bool, bool)> = pods
            .iter()
            .map(|pod| {
                (
                    pod.name.name.as_str(),
                    pod.class,
                    pod.is_terminating,
                    pod.workload.is_some(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("web-1", PodClass::Replicated, false, true),
                ("web-2", PodClass::Replicated, true, true),
                ("a-job", PodClass::Job, false, false),
            ]
        );
    }
}
