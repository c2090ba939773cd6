//! What several pods have in common: budgets, workloads, groups, Jobs, hardware.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::pod_burden::{EvictedPods, hazards, of_severity};
use crate::assess::basis::Basis;
use crate::assess::hazard::{DecidedBy, Hazard};
use crate::engine::disruption::{allows_first, is_subject_to_budgets, refusals};
use crate::engine::job_fate::job_fates;
use crate::engine::set_search::{Burden, Coupling, SearchProblem, Tier};
use crate::engine::workloads::{Gang, gangs};
use crate::engine::{Impact, PodImpact, workloads};
use crate::model::{DeviceId, Kind, Namespace, PodDisruptionBudget, ResourceClaim, Snapshot, Uid};

/// Adds to the pods of `problem`, which are `pods`, what they have in common.
pub(super) fn add_couplings(
    problem: &mut SearchProblem,
    pods: &EvictedPods<'_, '_>,
    impact: &Impact<'_>,
    basis: &Basis<'_>,
) {
    // First: it compares with what the pods cost by themselves.
    add_jobs(problem, impact, pods, basis);
    add_budgets(problem, pods, basis);
    add_workloads(problem, impact, pods, basis);
    add_groups(problem, impact, pods, basis);
    add_hardware(problem, pods, basis);
}

/// What a hazard adds that is decided by that; the worst, where there are several.
fn burden_of(decided_by: DecidedBy) -> Burden {
    let hazards = Hazard::ALL.into_iter();
    let decided = hazards.filter(|hazard| hazard.decided_by() == decided_by);
    of_severity(decided.map(Hazard::severity).max().unwrap_or_default())
}

/// A penalty for each number of lost pods from none to so many.
fn penalties(lost: usize, of: impl Fn(usize) -> Burden) -> Vec<Burden> {
    (0..=lost).map(of).collect()
}

/// Adds a coupling of the pods at these places, and makes each of them name it.
fn couple(problem: &mut SearchProblem, members: &[usize], coupling: Coupling) {
    let number = problem.couplings.len();
    problem.couplings.push(coupling);
    for member in members {
        if let Some(pod) = problem.pods.get_mut(*member) {
            pod.couplings.push(number);
        }
    }
}

/// Adds to a pod what its loss costs besides, and the least tier of a set that evicts it.
fn worsen(problem: &mut SearchProblem, place: usize, burden: Burden, tier: Tier) {
    if let Some(pod) = problem.pods.get_mut(place) {
        pod.burden = pod.burden.plus(burden);
        pod.tier = pod.tier.max(tier);
    }
}

fn add_budgets(problem: &mut SearchProblem, pods: &EvictedPods<'_, '_>, basis: &Basis<'_>) {
    let violation = burden_of(DecidedBy::Budget);
    let reading = basis.reading;
    let is_unread = reading.without(Kind::PodDisruptionBudget).is_some();
    let mut budgets: HashMap<&Namespace, Vec<(usize, &PodDisruptionBudget)>> = HashMap::default();
    for (number, budget) in reading.snapshot.budgets.iter().enumerate() {
        let of_namespace = budgets.entry(&budget.name.namespace).or_default();
        of_namespace.push((number, budget));
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, found) in pods.all.iter().enumerate() {
        let pod = found.pod;
        if !is_subject_to_budgets(pod) {
            continue;
        }
        // What protects the pod may be among what was not read.
        if is_unread {
            worsen(problem, place, Burden::NONE, Tier::Unknown);
        }
        let mut covering = Vec::new();
        for (number, budget) in budgets.get(&pod.name.namespace).into_iter().flatten() {
            match budget.covers(pod) {
                Some(true) => covering.push((*number, *budget)),
                Some(false) => {}
                None => worsen(problem, place, Burden::NONE, Tier::Unknown),
            }
        }
        match covering.as_slice() {
            [] => {}
            [(number, _)] if pod.is_ready => members.entry(*number).or_default().push(place),
            [(_, budget)] if allows_first(budget, pod) => {}
            // Not ready and refused all the same, or of several budgets, which the eviction API refuses to decide.
            _ => worsen(problem, place, violation, Tier::BudgetsViolated),
        }
    }
    for (number, members) in members {
        let Some(budget) = reading.snapshot.budgets.get(number) else {
            continue;
        };
        let refused = refusals(budget, members.len());
        // The first entry is for no eviction at all.
        let allowed = refused.iter().skip(1).take_while(|refused| **refused == 0);
        let coupling = Coupling {
            within_budget: Some(allowed.count()),
            penalties: refused
                .iter()
                .map(|refused| violation.times(*refused))
                .collect(),
        };
        couple(problem, &members, coupling);
    }
}

fn add_workloads(
    problem: &mut SearchProblem,
    impact: &Impact<'_>,
    pods: &EvictedPods<'_, '_>,
    basis: &Basis<'_>,
) {
    let last = burden_of(DecidedBy::Workload);
    for workload in workloads(impact, basis.reading).workloads {
        let running = workload
            .pods
            .iter()
            .filter(|pod| pod.is_ready && !pod.phase.is_terminal());
        let members: Vec<usize> = running.filter_map(|pod| pods.place(&pod.uid)).collect();
        let ready = workload.workload.and_then(|(_, workload)| workload.ready);
        match (workload.left(), ready) {
            (Some(_), Some(ready)) => {
                let ready = usize::try_from(ready).unwrap_or_default();
                let penalty = |lost| {
                    if lost >= ready {
                        last.times(lost)
                    } else {
                        Burden::NONE
                    }
                };
                let coupling = Coupling {
                    penalties: penalties(members.len(), penalty),
                    within_budget: None,
                };
                couple(problem, &members, coupling);
            }
            // Any of its pods may be the last, where its owner or the owner's numbers were not read.
            _ if workload.is_down().is_none()
                && (workload.workload.is_some() || !workload.is_whole) =>
            {
                for member in members {
                    worsen(problem, member, last, Tier::default());
                }
            }
            _ => {}
        }
    }
}

fn add_groups(
    problem: &mut SearchProblem,
    impact: &Impact<'_>,
    pods: &EvictedPods<'_, '_>,
    basis: &Basis<'_>,
) {
    let broken = burden_of(DecidedBy::Group);
    let mut groups: BTreeMap<String, (Gang, Vec<usize>)> = BTreeMap::new();
    // Only of groups that are broken if all are lost: others are not broken by less.
    for (uid, gang) in gangs(impact, basis.reading) {
        let Some(place) = pods.place(uid) else {
            continue;
        };
        let is_running = |pod: &&&PodImpact<'_>| !pod.pod.phase.is_terminal();
        if pods.all.get(place).filter(is_running).is_some() {
            let name = gang.group.clone();
            let (_, members) = groups.entry(name).or_insert((gang, Vec::new()));
            members.push(place);
        }
    }
    for (gang, members) in groups.into_values() {
        let all = gang.lost.saturating_add(gang.left);
        let penalty = |lost: usize| {
            let left = Gang {
                lost,
                left: all.saturating_sub(lost),
                ..gang.clone()
            };
            if left.is_broken() {
                broken.times(lost)
            } else {
                Burden::NONE
            }
        };
        let coupling = Coupling {
            penalties: penalties(members.len(), penalty),
            within_budget: None,
        };
        couple(problem, &members, coupling);
    }
}

fn add_jobs(
    problem: &mut SearchProblem,
    impact: &Impact<'_>,
    pods: &EvictedPods<'_, '_>,
    basis: &Basis<'_>,
) {
    let mut members: BTreeMap<&Uid, Vec<usize>> = BTreeMap::new();
    let fates = job_fates(impact, basis.reading);
    for (place, found) in pods.all.iter().enumerate() {
        if fates.contains_key(&found.pod.uid)
            && let Some(owner) = &found.pod.controller
        {
            members.entry(&owner.uid).or_default().push(place);
        }
    }
    if members.is_empty() {
        return;
    }
    let failing = hazards(pods, fates, impact, basis);
    for job in &basis.reading.snapshot.jobs {
        let (Some(members), Some(failure)) = (members.get(&job.uid), &job.failure) else {
            continue;
        };
        let room = failure.backoff_limit.saturating_sub(failure.failed);
        let room = usize::try_from(room).unwrap_or_default();
        // With no room one pod is too many already, and failures of an index are counted by themselves.
        if room == 0 || members.len() <= room || failure.limit_per_index.is_some() {
            continue;
        }
        // The same pods once all of them are lost, so that the Job fails, and otherwise none of its hazards.
        let more = members.first().and_then(|place| {
            let alone = problem.pods.get(*place)?.burden;
            let alone = Burden {
                danger: alone.danger,
                warning: alone.warning,
                notice: alone.notice,
                ..Burden::NONE
            };
            Some(failing.get(*place)?.minus(alone))
        });
        let more = more.unwrap_or_default();
        let penalty = |lost| {
            if lost > room {
                more.times(lost)
            } else {
                Burden::NONE
            }
        };
        let coupling = Coupling {
            penalties: penalties(members.len(), penalty),
            within_budget: None,
        };
        couple(problem, members, coupling);
    }
}

/// Counters that devices draw from: driver, pool and set.
type CounterSet<'a> = (&'a str, &'a str, &'a str);

fn add_hardware(problem: &mut SearchProblem, pods: &EvictedPods<'_, '_>, basis: &Basis<'_>) {
    let in_use = burden_of(DecidedBy::Hardware);
    let snapshot = &basis.reading.snapshot;
    let sets = counter_sets(snapshot);
    if sets.is_empty() {
        return;
    }
    let mut users: BTreeMap<CounterSet<'_>, BTreeSet<&Uid>> = BTreeMap::new();
    for claim in &snapshot.claims {
        for set in sets_of(claim, &sets) {
            let reserved = claim.reserved_for.iter().map(|one| &one.uid);
            users.entry(set).or_default().extend(reserved);
        }
    }
    for users in users.into_values().filter(|users| users.len() > 1) {
        let all = users.len();
        let members: Vec<usize> = users
            .into_iter()
            .filter_map(|uid| pods.place(uid))
            .collect();
        // Who leaves while others stay leaves the hardware in use; once all have left, nothing is wrong.
        let penalty = |lost| {
            if lost < all {
                in_use.times(lost)
            } else {
                Burden::NONE
            }
        };
        let coupling = Coupling {
            penalties: penalties(members.len(), penalty),
            within_budget: None,
        };
        couple(problem, &members, coupling);
    }
}

/// The counters that each device draws from, of devices that draw from any.
fn counter_sets(snapshot: &Snapshot) -> HashMap<DeviceId, BTreeSet<CounterSet<'_>>> {
    let mut sets: HashMap<DeviceId, BTreeSet<CounterSet<'_>>> = HashMap::default();
    for slice in &snapshot.slices {
        for device in &slice.devices {
            let terms = device.terms.as_deref().into_iter();
            let (driver, pool) = (slice.driver.as_str(), slice.pool.name.as_str());
            let used = terms.flat_map(|terms| &terms.consumes);
            let used: Vec<CounterSet<'_>> = used.map(|used| (driver, pool, &*used.set)).collect();
            if !used.is_empty() {
                sets.entry(slice.id_of(device)).or_default().extend(used);
            }
        }
    }
    sets
}

fn sets_of<'a>(
    claim: &ResourceClaim,
    sets: &HashMap<DeviceId, BTreeSet<CounterSet<'a>>>,
) -> impl Iterator<Item = CounterSet<'a>> {
    let results = claim.allocation.iter().flat_map(|found| &found.results);
    results
        .filter_map(|result| sets.get(&result.device))
        .flatten()
        .copied()
}
