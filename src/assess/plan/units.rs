//! Units of a plan: the candidates, and the chosen ones with the evictions of their drain.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::cost::{EvictionCost, EvictionCosts};
use crate::assess::assessment::Assessed;
use crate::assess::availability::{device_plugin_warning, device_plugins};
use crate::assess::completeness::{Basis, CountSubject};
use crate::assess::guard::Limits;
use crate::assess::hazard::Hazard;
use crate::assess::totals::DisruptionFacts;
use crate::engine::allocator::PartitionedPools;
use crate::engine::impact::replacement_takes_claim;
use crate::engine::{Impact, PodImpact, ProposedTaint, Verdict, preview};
use crate::model::{
    DeviceId, DeviceSelector, Gap, Kind, ResourceClaim, Snapshot, Taint, Uid, Warning,
};

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
    let plugins = device_plugins(impact, &basis.reading.snapshot.nodes);
    let offered = plugins.into_keys().collect();
    let release = DeviceRelease::new(impact, &basis.reading.snapshot, offered);
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
    let plugins = device_plugins(&impact, &basis.reading.snapshot.nodes);
    let offered = plugins.keys().cloned().collect();
    let release = DeviceRelease::new(&impact, &basis.reading.snapshot, offered);
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
            hazards.sort();
            hazards.dedup();
        }
        if let Some(budgets) = &mut row.violated_budgets {
            budgets.sort();
            budgets.dedup();
        }
    }
    let mut warnings = basis.reading.warnings.clone();
    warnings.extend(impact.warnings.iter().cloned());
    warnings.extend(device_plugin_warning(&plugins));
    Plan {
        planned_units: rows,
        warnings,
        gaps: assessed.completeness.gaps().cloned().collect(),
    }
}

/// Pods that the drain of a unit evicts, and what the unit costs besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitEvictions {
    /// Indices of the pods, each once; another unit may evict them too.
    pub(super) pods: Vec<usize>,
    /// Cost that the unit adds to that of its pods.
    pub(super) own: EvictionCost,
}

/// Chooses `count` of the `units` by index, of equal ones the first; `costs` are those of their pods.
pub(super) fn choose(units: &[UnitEvictions], count: usize, costs: &EvictionCosts) -> Vec<usize> {
    let mut selection = Selection::new(units, costs);
    let greedy = (0..count).map_while(|_| selection.choose_cheapest());
    let mut chosen: Vec<usize> = greedy.collect();
    // A unit that was the cheapest at its turn may not be the cheapest beside units that were chosen later.
    for unit in &mut chosen {
        selection.set(*unit, false);
        *unit = selection.choose_cheapest().unwrap_or(*unit);
    }
    chosen
}

/// Chosen units, with what each of the others would add to their cost.
//
// Only units that have pods or shared losses in common with a unit are evaluated again when that unit is chosen: the
// others of 40,000 would add the same as before.
struct Selection<'s> {
    units: &'s [UnitEvictions],
    costs: &'s EvictionCosts,
    is_chosen: Vec<bool>,
    /// For each pod, the units that evict it.
    units_of_pod: Vec<Vec<usize>>,
    /// For each shared loss, the units that lose its pods, with the number of these.
    units_of_shared: Vec<BTreeMap<usize, usize>>,
    /// For each pod, the number of chosen units that evict it.
    evictions: Vec<usize>,
    /// For each shared loss, its lost pods.
    lost: Vec<usize>,
    /// For each unit, the cost that it would add.
    added: Vec<EvictionCost>,
    /// Units that are not chosen, the cheapest first.
    open: BTreeSet<(EvictionCost, usize)>,
}

impl<'s> Selection<'s> {
    fn new(units: &'s [UnitEvictions], costs: &'s EvictionCosts) -> Self {
        let mut units_of_pod = vec![Vec::new(); costs.pods.len()];
        let mut units_of_shared = vec![BTreeMap::new(); costs.shared.len()];
        for (index, unit) in units.iter().enumerate() {
            for pod in &unit.pods {
                units_of_pod[*pod].push(index);
                for shared in &costs.pods[*pod].shared {
                    increase(units_of_shared[*shared].entry(index).or_default());
                }
            }
        }
        let mut selection = Self {
            units,
            costs,
            is_chosen: vec![false; units.len()],
            units_of_pod,
            units_of_shared,
            evictions: vec![0; costs.pods.len()],
            lost: vec![0; costs.shared.len()],
            added: vec![EvictionCost::default(); units.len()],
            open: BTreeSet::new(),
        };
        for unit in 0..units.len() {
            selection.evaluate(unit);
        }
        selection
    }

    fn choose_cheapest(&mut self) -> Option<usize> {
        let (_, unit) = *self.open.first()?;
        self.set(unit, true);
        Some(unit)
    }

    /// Adds the unit to the chosen ones, or removes it.
    fn set(&mut self, unit: usize, is_chosen: bool) {
        let step: fn(&mut usize) = if is_chosen { increase } else { decrease };
        let mut stale = BTreeSet::from([unit]);
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        for pod in &self.units[unit].pods {
            // The first unit that evicts the pod is chosen, or the last one is removed.
            let is_first = self.evictions[*pod] == usize::from(!is_chosen);
            step(&mut self.evictions[*pod]);
            if is_first {
                stale.extend(&self.units_of_pod[*pod]);
                for shared in &self.costs.pods[*pod].shared {
                    before.entry(*shared).or_insert(self.lost[*shared]);
                    step(&mut self.lost[*shared]);
                }
            }
        }
        for (shared, before) in before {
            let units = &self.units_of_shared[shared];
            let widest = units.values().copied().max().unwrap_or_default();
            if !self.costs.shared[shared].is_linear(before, self.lost[shared], widest) {
                stale.extend(units.keys());
            }
        }
        self.is_chosen[unit] = is_chosen;
        for unit in stale {
            self.evaluate(unit);
        }
    }

    /// Evaluates again what the unit would add.
    fn evaluate(&mut self, unit: usize) {
        self.open.remove(&(self.added[unit], unit));
        self.added[unit] = self.added_by(unit);
        if !self.is_chosen[unit] {
            self.open.insert((self.added[unit], unit));
        }
    }

    fn added_by(&self, unit: usize) -> EvictionCost {
        let unit = &self.units[unit];
        let mut cost = unit.own;
        let mut more: BTreeMap<usize, usize> = BTreeMap::new();
        let pods = unit.pods.iter().filter(|pod| self.evictions[**pod] == 0);
        for pod in pods.map(|pod| &self.costs.pods[*pod]) {
            cost = cost.plus(pod.alone);
            for shared in &pod.shared {
                increase(more.entry(*shared).or_default());
            }
        }
        for (shared, more) in more {
            let (loss, lost) = (self.costs.shared[shared], self.lost[shared]);
            let after = loss.cost(lost.saturating_add(more));
            cost = cost.plus(after.beyond(loss.cost(lost)));
        }
        cost
    }
}

fn increase(number: &mut usize) {
    *number = number.saturating_add(1);
}

fn decrease(number: &mut usize) {
    *number = number.saturating_sub(1);
}

/// Holders of devices, and which pods release their claims when they are evicted.
pub(super) struct DeviceRelease<'a> {
    holders: HashMap<&'a DeviceId, Vec<&'a ResourceClaim>>,
    pools: PartitionedPools<'a>,
    /// Devices that no claim holds, and whose counters are in use.
    blocked: BTreeSet<DeviceId>,
    /// Devices that a device plugin may offer to pods without claims.
    offered: BTreeSet<DeviceId>,
    /// Pods that are terminating already.
    terminating: HashSet<&'a Uid>,
    /// Evicted pods that give their claims back.
    releasing: HashSet<&'a Uid>,
}

impl<'a> DeviceRelease<'a> {
    /// Holders of the devices of `snapshot`, whose pods have the verdicts of `impact`; device plugins may offer those
    /// that are `offered`.
    pub(super) fn new(
        impact: &Impact<'a>,
        snapshot: &'a Snapshot,
        offered: BTreeSet<DeviceId>,
    ) -> Self {
        let mut holders: HashMap<&DeviceId, Vec<&ResourceClaim>> = HashMap::default();
        for claim in &snapshot.claims {
            for result in claim.exclusive_results() {
                holders.entry(&result.device).or_default().push(claim);
            }
        }
        let pods = |wanted: fn(&PodImpact<'_>) -> bool| {
            let pods = impact.pods.iter().filter(move |pod| wanted(pod));
            pods.map(|pod| &pod.pod.uid).collect()
        };
        let pools = PartitionedPools::new(&snapshot.slices);
        Self {
            blocked: pools.blocked(|device| holders.contains_key(device)),
            offered,
            terminating: pods(|pod| pod.verdict == Verdict::Terminating),
            releasing: pods(|pod| pod.is_evicted() && releases_claims(pod)),
            holders,
            pools,
        }
    }

    /// The `devices` that are free once the pods for which `is_evicted` holds are evicted.
    pub(super) fn free<'d>(
        &self,
        devices: &'d [DeviceId],
        is_evicted: impl Fn(&Uid) -> bool,
    ) -> BTreeSet<&'d DeviceId> {
        let leaves = |uid: &Uid| {
            self.terminating.contains(uid) || (self.releasing.contains(uid) && is_evicted(uid))
        };
        let is_released = |claim: &&ResourceClaim| {
            let mut users = claim.reserved_for.iter();
            !claim.reserved_for.is_empty() && users.all(|user| leaves(&user.uid))
        };
        let is_held = |device: &DeviceId| {
            let holders = self.holders.get(device);
            self.offered.contains(device)
                || holders.is_some_and(|claims| !claims.iter().all(is_released))
        };
        let unheld = devices.iter().filter(|device| !is_held(device));
        let mut free: BTreeSet<&DeviceId> = unheld.collect();
        if free.iter().any(|device| self.blocked.contains(device)) {
            // The partitions that block it may be released, too.
            let blocked = self.pools.blocked_in(free.iter().copied(), is_held);
            free.retain(|device| !blocked.contains(device));
        }
        free
    }
}

/// Release of the claims of an evicted pod, and of its devices with them.
//
// A DaemonSet's pod stays in a drain, unless the user includes it.
fn releases_claims(pod: &PodImpact<'_>) -> bool {
    let owner = pod.pod.controller.as_ref();
    let kind = owner.and_then(|owner| owner.workload_kind());
    kind != Some(Kind::DaemonSet) && !replacement_takes_claim(pod)
}
