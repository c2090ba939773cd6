//! Units that stand for each other: classes.
//!
//! Two units are of one class where exchanging one for the other changes neither what a set costs nor whether it
//! keeps the limits. Only how many of each class are taken has to be searched for, which is what makes thousands of
//! replicas and of unused devices easy.

use std::collections::BTreeMap;

use super::cost::{Burden, Tier};
use super::problem::{Coupling, SearchProblem, SearchUnit};

/// Units that stand for each other.
#[derive(Clone, Debug)]
pub(super) struct UnitClass {
    /// Their places, ascending.
    pub(super) members: Vec<usize>,
    /// What each costs by the pods that only it evicts.
    pub(super) burden: Burden,
    /// How many of these pods each coupling counts.
    pub(super) counted: Vec<(usize, usize)>,
    /// The pods that other units evict too.
    pub(super) shared: Vec<usize>,
}

/// What makes units of one class.
type Signature = (Burden, Vec<(usize, usize)>, Vec<usize>);

/// The classes of the units that sets of a tier can have, with what matters of the couplings.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The classes, by their first members.
    pub(super) all: Vec<UnitClass>,
    /// The couplings that matter of each pod, by its place.
    pub(super) couplings_of_pods: Vec<Vec<usize>>,
}

impl Classes {
    /// Of the units that can be in a set of this tier.
    pub(super) fn of(problem: &SearchProblem, tier: Tier) -> Self {
        let units: Vec<(usize, &SearchUnit)> = problem
            .units
            .iter()
            .enumerate()
            .filter(|(_, unit)| problem.tier_of(unit) <= tier)
            .collect();
        let users = users(problem, &units);
        let matters = mattering(problem, tier, &units, &users);
        let couplings_of_pods: Vec<Vec<usize>> = problem
            .pods
            .iter()
            .map(|pod| {
                let couplings = pod.couplings.iter().copied();
                couplings
                    .filter(|place| matters.get(*place).copied().unwrap_or_default())
                    .collect()
            })
            .collect();
        let mut members: BTreeMap<Signature, Vec<usize>> = BTreeMap::new();
        for (place, unit) in units {
            let mut burden = Burden::NONE;
            let mut counted: BTreeMap<usize, usize> = BTreeMap::new();
            let mut shared = Vec::new();
            for pod in &unit.pods {
                let of_pod = couplings_of_pods.get(*pod).map_or(&[][..], Vec::as_slice);
                let own = problem
                    .pods
                    .get(*pod)
                    .map(|pod| pod.burden)
                    .unwrap_or_default();
                if users.get(*pod).is_some_and(|users| *users > 1) {
                    // A pod that costs nothing is lost for nothing, however often.
                    if own != Burden::NONE || !of_pod.is_empty() {
                        shared.push(*pod);
                    }
                    continue;
                }
                burden = burden.plus(own);
                for coupling in of_pod {
                    let count = counted.entry(*coupling).or_default();
                    *count = count.saturating_add(1);
                }
            }
            shared.sort_unstable();
            let counted = counted.into_iter().collect();
            let signature = (burden, counted, shared);
            members.entry(signature).or_default().push(place);
        }
        let mut all: Vec<UnitClass> = members
            .into_iter()
            .map(|((burden, counted, shared), members)| UnitClass {
                members,
                burden,
                counted,
                shared,
            })
            .collect();
        // So that of equal sets the one with the first names is found.
        all.sort_by(|left, right| left.members.cmp(&right.members));
        Self {
            all,
            couplings_of_pods,
        }
    }
}

/// How many of the units evict each pod.
fn users(problem: &SearchProblem, units: &[(usize, &SearchUnit)]) -> Vec<usize> {
    let mut users = vec![0_usize; problem.pods.len()];
    for pod in units.iter().flat_map(|(_, unit)| &unit.pods) {
        if let Some(users) = users.get_mut(*pod) {
            *users = users.saturating_add(1);
        }
    }
    users
}

/// Whether each coupling can add anything to the cost of a set, or exclude one.
//
// Most budgets allow more than a set can take: without them, the pods of a workload stand for each other.
fn mattering(
    problem: &SearchProblem,
    tier: Tier,
    units: &[(usize, &SearchUnit)],
    users: &[usize],
) -> Vec<bool> {
    let mut pods = vec![0_usize; problem.couplings.len()];
    for (pod, _) in problem
        .pods
        .iter()
        .zip(users)
        .filter(|(_, users)| **users > 0)
    {
        for place in &pod.couplings {
            if let Some(count) = pods.get_mut(*place) {
                *count = count.saturating_add(1);
            }
        }
    }
    // The most that one unit takes of each: a set takes no more than so many times as much.
    let mut of_one_unit = vec![0_usize; problem.couplings.len()];
    for (_, unit) in units {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let of_unit = unit
            .pods
            .iter()
            .filter_map(|place| problem.pods.get(*place));
        for coupling in of_unit.flat_map(|pod| &pod.couplings) {
            let count = counts.entry(*coupling).or_default();
            *count = count.saturating_add(1);
        }
        for (coupling, count) in counts {
            if let Some(most) = of_one_unit.get_mut(coupling) {
                *most = count.max(*most);
            }
        }
    }
    let reachable = pods.into_iter().zip(of_one_unit);
    let couplings = problem.couplings.iter().zip(reachable);
    couplings
        .map(|(coupling, (pods, of_one_unit))| {
            let lost = pods.min(of_one_unit.saturating_mul(problem.count));
            matters(coupling, tier, lost)
        })
        .collect()
}

/// Whether the loss of up to so many pods adds anything, or leaves the tier.
fn matters(coupling: &Coupling, tier: Tier, lost: usize) -> bool {
    let adds =
        (1..=lost.min(coupling.penalties.len())).any(|lost| coupling.penalty(lost) != Burden::NONE);
    adds || (tier.respects_budgets() && coupling.is_violated_by(lost))
}
