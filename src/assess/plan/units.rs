//! Units of a plan: the candidates, and the chosen ones with the evictions of their drain.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::choose::{UnitEvictions, choose};
use super::cost::{EvictionCost, EvictionCosts};
use super::free::DeviceRelease;
use crate::assess::assessment::Assessed;
use crate::assess::basis::Basis;
use crate::assess::completeness::CountSubject;
use crate::assess::disruption_facts::DisruptionFacts;
use crate::assess::guard::Limits;
use crate::assess::hazard::Hazard;
use crate::assess::open_parts::{device_plugin_warning, device_plugins};
use crate::engine::{Impact, PodImpact, ProposedTaint, Verdict, preview};
use crate::model::{DeviceId, DeviceSelector, Gap, Taint, Uid, Warning};

/// Devices that a plan chooses together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanUnit {
    /// Name of the device or node.
    pub name: String,
    /// Its devices, by name.
    pub devices: Vec<DeviceId>,
}

/// Units that cost least to drain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The chosen units, ordered by name.
    pub planned_units: Vec<PlannedUnit>,
    /// Oddities of the data that do not prevent the plan.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated.
    #[serde(skip)]
    pub gaps: Vec<Gap>,
}

/// Unit of a plan, with the evictions of its drain. Pods are evaluated as if all chosen units were drained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedUnit {
    /// The unit: a device as DRIVER/POOL/DEVICE, or a node.
    pub unit: String,
    /// Node of the unit; null if its devices are not local to a node.
    pub node: Option<String>,
    /// The devices, as DRIVER/POOL/DEVICE.
    pub devices: Vec<String>,
    /// Pods that would be evicted from these devices, now or later. A pod that uses devices of several units counts for
    /// each of them.
    pub evicted_pod_count: usize,
    /// Hazards of these pods, the worst first, each once. `help hazards` explains them. Null if none is known, but data
    /// is missing; `incomplete` has the reason.
    pub hazards: Option<Vec<Hazard>>,
    /// PodDisruptionBudgets of these pods that the drain of all chosen units would violate, as NAMESPACE/NAME. Null if
    /// that is unknown; `incomplete` has the reason.
    pub violated_budgets: Option<Vec<String>>,
    /// Devices that are free when the pods of all chosen units are gone: no claim holds them, and their counters are
    /// left. Claims without pods, and pods of DaemonSets, keep their devices.
    pub free_device_count: usize,
}

/// Chooses `count` of the `units`; pods that tolerate `taint` stay.
pub fn plan(units: &[PlanUnit], count: usize, taint: &Taint, basis: &Basis<'_>) -> Plan {
    let proposed = proposed_taints(units, taint, basis.now);
    let impact = impact(&proposed, basis);
    let costs = EvictionCosts::new(&impact, basis);
    let mut chosen = choose(&evictions(units, &impact, basis), count, &costs);
    // The order of the choice means nothing after the swaps.
    chosen.sort_unstable();
    let chosen = chosen.iter().filter_map(|index| units.get(*index));
    evaluate(&chosen.collect::<Vec<_>>(), taint, basis)
}

/// Taints on all devices of the units.
pub fn proposed_taints<'u>(
    units: impl IntoIterator<Item = &'u PlanUnit>,
    taint: &Taint,
    now: Timestamp,
) -> Vec<ProposedTaint> {
    let devices = units.into_iter().flat_map(|unit| &unit.devices);
    let selectors = devices.cloned().map(DeviceSelector::from);
    ProposedTaint::hypothetical_for(selectors, taint, now)
}

/// Verdicts of a drain: pods that tolerate its taint for scheduling stay, as do monitors with admin access.
pub(super) fn impact<'a>(proposed: &'a [ProposedTaint], basis: &Basis<'a>) -> Impact<'a> {
    let snapshot = &basis.reading.snapshot;
    let mut impact = preview(snapshot, proposed, basis.now, basis.semantics);
    for found in impact.pods.iter_mut().filter(|found| found.is_evicted()) {
        if found.replacement_tolerates() || found.has_admin_access_only() {
            found.verdict = Verdict::Tolerates;
        }
    }
    impact
}

/// For each unit, the pods that it evicts and the devices that it does not free, if it is drained alone.
pub(super) fn evictions(
    units: &[PlanUnit],
    impact: &Impact<'_>,
    basis: &Basis<'_>,
) -> Vec<UnitEvictions> {
    let index = UnitIndex::new(units);
    let evicted: Vec<&PodImpact<'_>> = impact.pods.iter().filter(|pod| pod.is_evicted()).collect();
    let mut pods: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
    for (pod, found) in evicted.iter().enumerate() {
        for unit in index.units_of(found) {
            pods[unit].push(pod);
        }
    }
    let release = DeviceRelease::new(impact, &basis.reading.snapshot);
    let evictions = units.iter().zip(pods).map(|(unit, pods)| {
        let uids: HashSet<&Uid> = pods.iter().map(|pod| &evicted[*pod].pod.uid).collect();
        let free = release.free(&unit.devices, |uid| uids.contains(uid));
        let own = EvictionCost {
            held_devices: unit.devices.len().saturating_sub(free.len()),
            ..EvictionCost::default()
        };
        UnitEvictions { pods, own }
    });
    evictions.collect()
}

/// Units by their devices.
struct UnitIndex<'u>(HashMap<&'u DeviceId, usize>);

impl<'u> UnitIndex<'u> {
    fn new(units: impl IntoIterator<Item = &'u PlanUnit>) -> Self {
        let units = units.into_iter().enumerate();
        let devices = units.flat_map(|(index, unit)| {
            let devices = unit.devices.iter();
            devices.map(move |device| (device, index))
        });
        Self(devices.collect())
    }

    /// Units whose taints evict the pod: it may tolerate the taint of one device, and not that of another.
    fn units_of(&self, pod: &PodImpact<'_>) -> BTreeSet<usize> {
        let causes = pod.causes.iter().filter(|cause| cause.is_proposed());
        let units = causes.filter_map(|cause| self.0.get(cause.device));
        units.copied().collect()
    }
}

/// Evaluates the drain of all these units together.
fn evaluate(units: &[&PlanUnit], taint: &Taint, basis: &Basis<'_>) -> Plan {
    let proposed = proposed_taints(units.iter().copied(), taint, basis.now);
    let impact = impact(&proposed, basis);
    let facts = DisruptionFacts::of(&impact, basis);
    let assessed = Assessed::new(&impact, &facts, basis, &Limits::default());
    let nodes: BTreeMap<&DeviceId, String> = impact
        .devices
        .iter()
        .filter_map(|device| Some((&device.id, device.node?.to_string())))
        .collect();
    let devices: Vec<DeviceId> = units.iter().flat_map(|unit| unit.devices.clone()).collect();
    let release = DeviceRelease::new(&impact, &basis.reading.snapshot);
    let free = release.free(&devices, |_| true);
    let index = UnitIndex::new(units.iter().copied());
    let mut rows: Vec<PlannedUnit> = units
        .iter()
        .map(|unit| PlannedUnit {
            unit: unit.name.clone(),
            node: unit.devices.first().and_then(|id| nodes.get(id)).cloned(),
            devices: unit.devices.iter().map(ToString::to_string).collect(),
            free_device_count: unit.devices.iter().filter(|id| free.contains(id)).count(),
            hazards: Some(Vec::new()),
            violated_budgets: Some(Vec::new()),
            ..PlannedUnit::default()
        })
        .collect();
    let is_complete = |subject: &CountSubject| assessed.completeness.is_complete(*subject);
    let knows_budgets = is_complete(&CountSubject::Budgets);
    let mut read = Hazard::ALL.iter().flat_map(|hazard| hazard.reads());
    let knows_hazards = read.all(is_complete);
    let budgets = facts.disruption.budgets.iter();
    let violated: Vec<_> = budgets.filter(|budget| budget.is_violated()).collect();
    // A drain leaves pods that have ended; that another device has none still decides between equal units.
    let leaves = |pod: &PodImpact<'_>| pod.is_evicted() && !pod.pod.phase.is_terminal();
    for pod in assessed.pods.iter().filter(|pod| leaves(pod.impact)) {
        let uid = &pod.impact.pod.uid;
        let of_pod = violated.iter().filter(|budget| {
            let mut pods = budget.pods.iter();
            pods.any(|(pod, _)| pod.uid == *uid)
        });
        let names: Vec<String> = of_pod.map(|found| found.budget.name.to_string()).collect();
        for unit in index.units_of(pod.impact) {
            let row = &mut rows[unit];
            row.evicted_pod_count = row.evicted_pod_count.saturating_add(1);
            let hazards = pod.findings.iter().map(|found| found.hazard);
            row.hazards.get_or_insert_default().extend(hazards);
            match &mut row.violated_budgets {
                Some(budgets) if knows_budgets => budgets.extend(names.clone()),
                budgets => *budgets = None,
            }
        }
    }
    for row in &mut rows {
        let is_known = knows_hazards || row.evicted_pod_count == 0;
        row.hazards = row.hazards.take().filter(|all| is_known || !all.is_empty());
        if let Some(hazards) = &mut row.hazards {
            hazards.sort_by_key(|hazard| hazard.rank());
            hazards.dedup();
        }
        if let Some(budgets) = &mut row.violated_budgets {
            budgets.sort();
            budgets.dedup();
        }
    }
    let mut warnings = basis.reading.warnings.clone();
    warnings.extend(impact.warnings.iter().cloned());
    let plugins = device_plugins(&impact, &basis.reading.snapshot.nodes);
    warnings.extend(device_plugin_warning(&plugins));
    Plan {
        planned_units: rows,
        warnings,
        gaps: assessed.completeness.gaps().cloned().collect(),
    }
}
