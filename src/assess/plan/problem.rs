//! Units of a plan, and the problem of choosing among them.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use super::couplings::add_couplings;
use super::pod_burden::{EvictedPods, burdens};
use crate::assess::basis::Basis;
use crate::assess::completeness::{CountSubject, ReportCompleteness};
use crate::engine::Impact;
use crate::engine::set_search::{SearchProblem, SearchUnit, Tier};
use crate::model::DeviceId;

/// Devices that a plan takes together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanUnit {
    /// The device or the node, as people write it.
    pub name: String,
    /// The devices, by name.
    pub devices: Vec<DeviceId>,
}

/// The problem of choosing `count` of `units`; `impact` is that of a taint on all of their devices.
#[must_use]
pub fn search_problem(
    units: &[PlanUnit],
    count: usize,
    impact: &Impact<'_>,
    basis: &Basis<'_>,
) -> SearchProblem {
    let pods = EvictedPods::of(impact);
    let mut problem = SearchProblem {
        pods: burdens(&pods, impact, basis),
        count,
        ..SearchProblem::default()
    };
    add_couplings(&mut problem, &pods, impact, basis);
    let unknown = unknown_devices(impact, basis);
    let mut unit_of: HashMap<&DeviceId, usize> = HashMap::default();
    for (place, unit) in units.iter().enumerate() {
        unit_of.extend(unit.devices.iter().map(|device| (device, place)));
    }
    let mut pods_of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); units.len()];
    for (place, pod) in pods.all.iter().enumerate() {
        // A pod goes with any of its devices whose taint it does not tolerate, and with no other.
        let causes = pod.causes.iter().filter(|cause| cause.is_proposed());
        for unit in causes.filter_map(|cause| unit_of.get(cause.device)) {
            if let Some(pods) = pods_of.get_mut(*unit) {
                pods.insert(place);
            }
        }
    }
    let found = units.iter().zip(pods_of).map(|(unit, pods)| {
        let is_known = unit.devices.iter().all(|device| !unknown.contains(device));
        SearchUnit {
            pods: pods.into_iter().collect(),
            tier: if is_known {
                Tier::default()
            } else {
                Tier::Unknown
            },
        }
    });
    problem.units = found.collect();
    problem
}

/// The problem of choosing among the pods that `impact` evicts, each of which is a unit: in the order of the impact.
#[must_use]
pub fn pod_problem(impact: &Impact<'_>, basis: &Basis<'_>) -> SearchProblem {
    let pods = EvictedPods::of(impact);
    let mut problem = SearchProblem {
        pods: burdens(&pods, impact, basis),
        ..SearchProblem::default()
    };
    add_couplings(&mut problem, &pods, impact, basis);
    let units = (0..pods.all.len()).map(|place| SearchUnit {
        pods: vec![place],
        ..SearchUnit::default()
    });
    problem.units = units.collect();
    problem
}

/// The devices of which it is not known who is evicted with them.
fn unknown_devices<'i>(impact: &'i Impact<'_>, basis: &Basis<'_>) -> HashSet<&'i DeviceId> {
    let completeness = ReportCompleteness::new(&basis.reading.gaps);
    // Claims that were not read may hold any device; pods that were not read use those that claims hold.
    let knows_claims = completeness.is_complete(CountSubject::Allocated);
    let knows_pods = completeness.is_complete(CountSubject::Pods);
    let devices = impact.devices.iter();
    let unknown =
        devices.filter(|device| !knows_claims || (!knows_pods && !device.claims.is_empty()));
    unknown.map(|device| &device.id).collect()
}
