//! Units of a drain: devices that are taken out of service together, and the rules that taint them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{Treatment, UnitPod, pods_of, unread};
use super::run::DrainLimits;
use crate::assess::{Basis, DeviceBasis};
use crate::decide::add::{AddStep, Existing, Terms, add};
use crate::decide::choice::{Choice, unknown_devices};
use crate::decide::draft::{RuleAnnotations, RuleDraft};
use crate::decide::identity::with_identities;
use crate::decide::pending_evictions::awaited_devices;
use crate::engine::allocator::sharing_counters;
use crate::engine::holders::holders;
use crate::engine::{self, DeviceState, ProposedTaint, complete_pools};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, ResourceSlice, Snapshot, Taint,
};
use crate::naming::keys;
use crate::naming::phrase::few;
use crate::naming::{Subject, device, labels, rule};

/// The key of the taint of every drain; the value is the drain's name.
const TAINT_KEY: &str = keys::in_group!("drain");

/// Selection, name and limits of a drain.
#[derive(Clone, Debug, clap::Args)]
pub struct DrainOptions {
    /// Also select devices that use the same counter sets, such as the partitions of a GPU
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    pub with_partitions: bool,

    /// Unit: device, node or pool; default: node with --node, else device
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "UNIT",
        help_heading = "Drain"
    )]
    pub unit: Option<UnitKind>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment would be help")]
    pub limits: DrainLimits,

    /// Name of the drain; default: derived from nodes or devices
    #[arg(long, help_heading = "Drain", hide_short_help = true)]
    pub name: Option<String>,

    /// Why the devices are drained
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    pub reason: Option<String>,
}

/// Devices that are drained together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum UnitKind {
    /// Each device by itself
    Device,
    /// All devices of a node
    Node,
    /// All devices of a pool
    Pool,
}

/// Devices that are taken out of service together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The node, DRIVER/POOL or DRIVER/POOL/DEVICE; the first of them if units share counters.
    pub name: String,
    /// The devices to drain.
    pub devices: BTreeSet<DeviceId>,
    /// The selectors of its rules: a pool where the unit covers it, else devices.
    pub selectors: Vec<DeviceSelector>,
}

/// The units of `devices`, by name. Devices or pools that share counters are one unit: one after the other, none of them
/// would become idle.
///
/// # Errors
///
/// Units are nodes, and a device has no node, or not all devices of the node are known.
pub fn units(
    devices: &BTreeSet<DeviceId>,
    kind: UnitKind,
    basis: &DeviceBasis<'_>,
) -> Result<Vec<Unit>, Failure> {
    let snapshot = &basis.reading.snapshot;
    let slices = &snapshot.slices;
    let inventory = engine::devices(snapshot, basis.semantics);
    let units = grouped(devices, &inventory, kind)?;
    let units = match kind {
        UnitKind::Device | UnitKind::Pool => joined(units, snapshot),
        UnitKind::Node => units,
    };
    let units = units.into_iter().map(|(name, devices)| Unit {
        name,
        selectors: selectors(&devices, kind, &inventory, slices),
        devices,
    });
    let units: Vec<Unit> = units.collect();
    if kind == UnitKind::Node {
        // A pool rule taints what is published later, but the pools of a driver that is away are not known to be those
        // of the node.
        let named = units
            .iter()
            .map(|unit| (unit.name.as_str(), unit.devices.iter().collect()));
        if let Some(failure) = unknown_devices("node", named, slices) {
            return Err(failure);
        }
    }
    Ok(units)
}

fn grouped(
    devices: &BTreeSet<DeviceId>,
    inventory: &[DeviceState<'_>],
    kind: UnitKind,
) -> Result<BTreeMap<String, BTreeSet<DeviceId>>, Failure> {
    let nodes: BTreeMap<&DeviceId, &str> = inventory
        .iter()
        .filter_map(|state| Some((&state.id, state.node?.as_str())))
        .collect();
    let name = |device: &DeviceId| match kind {
        UnitKind::Device => Some(device.to_string()),
        UnitKind::Node => nodes.get(device).map(|node| (*node).to_owned()),
        UnitKind::Pool => Some(format!("{}/{}", device.driver, device.pool)),
    };
    let mut units: BTreeMap<String, BTreeSet<DeviceId>> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for device in devices {
        match name(device) {
            Some(name) => drop(units.entry(name).or_default().insert(device.clone())),
            None => elsewhere.push(device.to_string()),
        }
    }
    if elsewhere.is_empty() {
        return Ok(units);
    }
    let text = format!(
        "cannot drain by node: these devices have no node, or an unknown one: {}; nothing was changed",
        few(&elsewhere)
    );
    Err(Failure::new(ExitStatus::Failed, text).hint("use --unit device or --unit pool"))
}

/// The units, those that share counters as one by the first of their names.
fn joined(
    units: BTreeMap<String, BTreeSet<DeviceId>>,
    snapshot: &Snapshot,
) -> BTreeMap<String, BTreeSet<DeviceId>> {
    let mut joined: BTreeMap<String, BTreeSet<DeviceId>> = BTreeMap::new();
    let mut unit_of: BTreeMap<DeviceId, String> = BTreeMap::new();
    for (name, mut devices) in units {
        let same = sharing_counters(snapshot, &devices);
        let known = devices.union(&same);
        let known = known.filter_map(|device| unit_of.get(device));
        let known: BTreeSet<String> = known.cloned().collect();
        // A pool may share counters with several units that had nothing in common before.
        let mut known = known.into_iter();
        let first = known.next().unwrap_or(name);
        devices.extend(known.filter_map(|other| joined.remove(&other)).flatten());
        unit_of.extend(devices.iter().map(|device| (device.clone(), first.clone())));
        joined.entry(first).or_default().extend(devices);
    }
    joined
}

/// A selector for each pool that the unit covers, and for each other device. A pool that spans nodes has devices that are
/// not of the unit, and one that is not published whole may have some.
fn selectors(
    devices: &BTreeSet<DeviceId>,
    kind: UnitKind,
    inventory: &[DeviceState<'_>],
    slices: &[ResourceSlice],
) -> Vec<DeviceSelector> {
    let complete = complete_pools(slices);
    let is_covered = |id: &DeviceId| {
        let of_pool =
            |state: &&DeviceState<'_>| state.id.driver == id.driver && state.id.pool == id.pool;
        complete.contains(&(&id.driver, &id.pool))
            && inventory
                .iter()
                .filter(of_pool)
                .all(|state| devices.contains(&state.id))
    };
    let selectors = devices.iter().map(|id| {
        let mut selector = DeviceSelector::from(id.clone());
        // A device that was named by itself does not stand for those that are added to its pool.
        if kind != UnitKind::Device && is_covered(id) {
            selector.device = None;
        }
        selector
    });
    let mut selectors: Vec<DeviceSelector> = selectors.collect();
    selectors.dedup();
    selectors
}

/// Name and reason of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainTerms {
    /// Its name: a label of its rules, and the value of their taint.
    pub name: String,
    /// `--reason`
    pub reason: Option<String>,
}

impl DrainTerms {
    /// The given name, or a name derived from the nodes or devices, so that the same command continues the drain.
    ///
    /// # Errors
    ///
    /// A name that is not a valid label value.
    pub fn new(
        name: Option<&str>,
        reason: Option<String>,
        nodes: &BTreeSet<String>,
        devices: &BTreeSet<DeviceId>,
    ) -> Result<Self, Failure> {
        let name = match (name, nodes.first()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(node)) if nodes.len() == 1 && labels::parse_label_value(node).is_ok() => {
                node.clone()
            }
            (None, Some(_)) => {
                let pools = nodes.iter().map(|node| DeviceSelector {
                    pool: Some(node.as_str().into()),
                    ..DeviceSelector::default()
                });
                format!("nodes-{}", hash(pools))
            }
            (None, None) => {
                let selectors = devices.iter().cloned().map(DeviceSelector::from);
                format!("devices-{}", hash(selectors))
            }
        };
        labels::parse_label_value(&name).map_err(Failure::usage)?;
        Ok(Self { name, reason })
    }

    /// The rules of a unit. Those that `known` rules of this drain show as escalated stay so: that was approved when they
    /// were.
    ///
    /// # Errors
    ///
    /// Two rules would have the same name.
    pub fn drafts(
        &self,
        unit: &Unit,
        known: &[DeviceTaintRule],
    ) -> Result<Vec<RuleDraft>, Failure> {
        let choice = Choice::of_selectors(unit.selectors.clone(), Some(drain_taint(&self.name)));
        let annotations = RuleAnnotations {
            name: None,
            reason: self.reason.clone(),
            labels: vec![
                (keys::DRAIN.to_owned(), self.name.clone()),
                (keys::DRAIN_UNIT.to_owned(), unit_hash(&unit.name)),
            ],
        };
        let mut drafts = annotations.drafts(&choice, Vec::new())?;
        let raised: BTreeSet<&str> = unit_rules(known, &self.name, &unit.name)
            .filter(|rule| rule.taint.effect == Effect::NoExecute)
            .map(|rule| rule.name.as_str())
            .collect();
        for draft in &mut drafts {
            let key = keys::DRAIN_UNIT.to_owned();
            draft.annotations.insert(key, unit.name.clone());
            if raised.contains(draft.name.as_str()) {
                draft.taint.effect = Effect::NoExecute;
            }
        }
        Ok(drafts)
    }
}

/// The work of a drain.
#[derive(Clone, Debug)]
pub struct PreparedDrain {
    /// Name and reason.
    pub terms: DrainTerms,
    /// The units, in the order in which they are drained.
    pub units: Vec<Unit>,
    /// The rules of each unit.
    pub steps: Vec<Vec<AddStep>>,
}

impl PreparedDrain {
    /// The units of `devices`, which `nodes` select if there are any, and the rules of each; `rules` are all rules.
    ///
    /// # Errors
    ///
    /// As [`units`], [`DrainTerms::new`] and [`add`]; a rule of the same name is another one.
    pub fn new(
        devices: &BTreeSet<DeviceId>,
        nodes: &BTreeSet<String>,
        options: &DrainOptions,
        rules: &[DeviceTaintRule],
        basis: &DeviceBasis<'_>,
    ) -> Result<Self, Failure> {
        let default = match nodes.is_empty() {
            true => UnitKind::Device,
            false => UnitKind::Node,
        };
        let units = units(devices, options.unit.unwrap_or(default), basis)?;
        let (name, reason) = (options.name.as_deref(), options.reason.clone());
        let terms = DrainTerms::new(name, reason, nodes, devices)?;
        let existing = Terms {
            existing: Existing::Kept,
            semantics: basis.semantics,
            now: basis.now,
        };
        let steps = units.iter().map(|unit| {
            let drafts = terms.drafts(unit, rules)?;
            let drafts = with_identities(drafts, &basis.reading.snapshot, basis.semantics);
            add(drafts, rules, &existing)
        });
        let steps = steps.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Self {
            terms,
            units,
            steps,
        })
    }

    /// The rules of all units.
    pub fn all_steps(&self) -> impl Iterator<Item = &AddStep> {
        self.steps.iter().flatten()
    }

    /// The rules that exist, if all do.
    pub fn existing(&self) -> Vec<DeviceTaintRule> {
        let rules = self.all_steps().map(|step| step.existing().cloned());
        rules.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// True if rules of an earlier run exist, which may have evicted pods.
    pub fn is_resumed(&self) -> bool {
        self.all_steps().any(|step| step.existing().is_some())
    }

    /// True if an earlier run has given a rule effect NoExecute.
    pub fn is_raised(&self) -> bool {
        self.all_steps()
            .any(|step| step.draft.taint.effect == Effect::NoExecute)
    }

    /// The taints of its units, as if they evicted the pods.
    pub fn as_evicting(&self, now: Timestamp) -> Vec<ProposedTaint> {
        let selectors = self.units.iter().flat_map(|unit| unit.selectors.clone());
        selectors_as_evicting(selectors, &self.terms.name, now)
    }
}

/// Taints of a drain on these devices, as if they evicted the pods.
pub fn selectors_as_evicting(
    selectors: impl IntoIterator<Item = DeviceSelector>,
    drain: &str,
    now: Timestamp,
) -> Vec<ProposedTaint> {
    let taint = Taint {
        effect: Effect::NoExecute,
        ..drain_taint(drain)
    };
    ProposedTaint::hypothetical_for(selectors, &taint, now)
}

/// The taint of a drain, which keeps new pods off.
pub fn drain_taint(name: &str) -> Taint {
    Taint {
        key: TAINT_KEY.to_owned(),
        value: name.to_owned(),
        effect: Effect::NoSchedule,
        time_added: None,
    }
}

fn hash(selectors: impl Iterator<Item = DeviceSelector>) -> String {
    rule::batch(&selectors.collect::<Vec<_>>(), &drain_taint(""))
}

/// Rules of one unit of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainUnit {
    /// Name of the drain.
    pub drain: String,
    /// Name of the unit.
    pub unit: String,
    /// Its rules.
    pub rules: Vec<DeviceTaintRule>,
}

/// Stage of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum UnitStage {
    /// An earlier unit of the drain is not done yet. New pods are kept off the devices.
    Waiting,
    /// Pods are evicted from the devices, or will be when the drain is run again.
    Draining,
    /// No claim holds the devices, admin access aside.
    Idle,
    /// Only claims hold the devices that the drain does not release.
    Held,
}

impl UnitStage {
    /// The stage as tables show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Draining => "draining",
            Self::Idle => "idle",
            Self::Held => "held",
        }
    }
}

/// Unit of a drain and its stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitStatus {
    /// Name of the drain: a label of its rules, and the value of their taint.
    pub drain: String,
    /// Name of the unit: a node, DRIVER/POOL or DRIVER/POOL/DEVICE.
    pub unit: String,
    /// Stage of the unit; null if unknown (see `incomplete`).
    pub stage: Option<UnitStage>,
    /// The pods that use the devices, as NAMESPACE/NAME, without those that have admin access only; null if unknown.
    pub pods: Option<Vec<String>>,
    /// Seconds since the first rule of the unit was created; null if unknown.
    pub age_seconds: Option<i64>,
    /// Names of the rules of the unit.
    pub rules: Vec<String>,
}

/// Value of the label of a unit, whose name is no label value.
pub fn unit_hash(unit: &str) -> String {
    rule::digest(unit)
}

/// The rules of a unit.
pub fn unit_rules<'a>(
    rules: &'a [DeviceTaintRule],
    drain: &str,
    unit: &str,
) -> impl Iterator<Item = &'a DeviceTaintRule> {
    let labels = [
        (keys::DRAIN, drain.to_owned()),
        (keys::DRAIN_UNIT, unit_hash(unit)),
    ];
    rules.iter().filter(move |rule| {
        let mut labels = labels.iter();
        labels.all(|(key, value)| rule.metadata.labels.get(*key) == Some(value))
    })
}

/// The drains among `rules`, unit by unit, by name.
pub fn drain_units(rules: &[DeviceTaintRule]) -> Vec<DrainUnit> {
    let mut units: BTreeMap<(&str, String), Vec<DeviceTaintRule>> = BTreeMap::new();
    for rule in rules {
        let Some(drain) = rule.metadata.labels.get(keys::DRAIN) else {
            continue;
        };
        let unit = rule.metadata.annotation(keys::DRAIN_UNIT);
        let devices = || rule.selector.as_ref().map(device::format);
        let unit = unit.map(str::to_owned).or_else(devices).unwrap_or_default();
        units.entry((drain, unit)).or_default().push(rule.clone());
    }
    let units = units.into_iter();
    units
        .map(|((drain, unit), rules)| DrainUnit {
            drain: drain.to_owned(),
            unit,
            rules,
        })
        .collect()
}

/// The rules of the drains or units that `targets` name: a drain, or all units of that name.
///
/// # Errors
///
/// No drain and no unit has the name.
pub fn restorable(
    targets: &[String],
    rules: &[DeviceTaintRule],
) -> Result<Vec<DeviceTaintRule>, Failure> {
    let units = drain_units(rules);
    let mut found: Vec<DeviceTaintRule> = Vec::new();
    let nodes = Subject::nodes(targets);
    for target in nodes.as_deref().unwrap_or(targets) {
        let of_drain = |unit: &&DrainUnit| unit.drain == *target;
        let of_unit = |unit: &&DrainUnit| unit.unit == *target;
        let mut named: Vec<&DrainUnit> = units.iter().filter(of_drain).collect();
        if named.is_empty() {
            named = units.iter().filter(of_unit).collect();
        }
        if named.is_empty() {
            return Err(no_such_drain(target, &units));
        }
        found.extend(named.into_iter().flat_map(|unit| unit.rules.clone()));
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found.dedup_by(|left, right| left.name == right.name);
    Ok(found)
}

/// Failure for a name that no drain and no unit has.
pub fn no_such_drain(name: &str, units: &[DrainUnit]) -> Failure {
    let text = format!("no drain, and no unit of a drain, has the name {name:?}");
    let mut drains: Vec<String> = units.iter().map(|unit| unit.drain.clone()).collect();
    drains.dedup();
    Failure::new(ExitStatus::Failed, text).detail(match drains.is_empty() {
        true => "there are no drains".to_owned(),
        false => format!("drains: {}", few(&drains)),
    })
}

/// The stages of `units`, which are in the order in which a drain takes them.
pub fn unit_statuses(units: &[DrainUnit], basis: &Basis<'_>) -> Vec<UnitStatus> {
    let mut open: Option<&str> = None;
    let statuses = units.iter().map(|unit| {
        let mut status = UnitStatus {
            drain: unit.drain.clone(),
            unit: unit.unit.clone(),
            stage: None,
            pods: None,
            age_seconds: unit
                .rules
                .iter()
                .filter_map(|rule| rule.metadata.created)
                .min()
                .map(|created| basis.now.duration_since(created).as_secs()),
            rules: unit
                .rules
                .iter()
                .map(|rule| rule.name.to_string())
                .collect(),
        };
        if !unread(basis.reading).is_empty() {
            return status;
        }
        let proposed = as_evicting(&unit.rules, basis.now);
        let mut pods = pods_of(&basis.impact(&proposed), basis);
        // They hold no device.
        pods.retain(|pod| pod.class.treatment(&[]) != Treatment::Ignored);
        status.stage = Some(match stage(&pods, is_held(&proposed, basis)) {
            // A drain takes the units of one name after the other.
            UnitStage::Draining if open == Some(&unit.drain) => UnitStage::Waiting,
            UnitStage::Draining => {
                open = Some(&unit.drain);
                UnitStage::Draining
            }
            stage @ (UnitStage::Waiting | UnitStage::Idle | UnitStage::Held) => stage,
        });
        status.pods = Some(pods.iter().map(|pod| pod.name.to_string()).collect());
        status
    });
    statuses.collect()
}

/// The taints of rules, as if they evicted the pods that the drain evicts.
pub fn as_evicting(rules: &[DeviceTaintRule], now: jiff::Timestamp) -> Vec<ProposedTaint> {
    let rules = rules.iter();
    rules
        .map(|rule| ProposedTaint::of_changed_rule(rule, &Effect::NoExecute, now))
        .collect()
}

fn stage(pods: &[UnitPod], is_held: bool) -> UnitStage {
    let leaves = |pod: &UnitPod| {
        pod.is_terminating
            || match pod.class.treatment(&[]) {
                // The drain began, so its --include names them.
                Treatment::Evicted | Treatment::NeedsInclude(_) => true,
                Treatment::Stays | Treatment::Ignored => false,
            }
    };
    if pods.iter().any(leaves) {
        UnitStage::Draining
    } else if is_held {
        UnitStage::Held
    } else {
        UnitStage::Idle
    }
}

fn is_held(taints: &[ProposedTaint], basis: &Basis<'_>) -> bool {
    let snapshot = &basis.reading.snapshot;
    let devices = awaited_devices(snapshot, taints, basis.semantics);
    let claims = holders(snapshot, &devices);
    claims.iter().any(|claim| !claim.has_admin_access())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::testing::{Cluster, drain_rule, owned};
    use crate::decide::testing::selector;
    use crate::engine::testing::{
        claim_in_use, drawing, generated, now, published, reading, semantics, slice,
    };
    use crate::model::{DeviceSelector, Gap, Kind, Pod, Reading, SliceNodes};
    use crate::naming::device;

    fn cluster(slices: Vec<ResourceSlice>) -> Reading {
        let mut reading = reading();
        reading.snapshot.slices = slices;
        reading
    }

    /// The units of these devices of node-7, each with its selectors.
    fn named(reading: &Reading, devices: &[&str], kind: UnitKind) -> Vec<(String, Vec<String>)> {
        let semantics = semantics(37);
        let basis = DeviceBasis {
            reading,
            semantics: &semantics,
            now: now(),
        };
        let ids = devices.iter().map(|name| {
            let selector = device::parse(name).expect("a device");
            selector.device_id().expect("one device")
        });
        let units = units(&ids.collect(), kind, &basis).expect("units");
        let text = |selectors: &[DeviceSelector]| selectors.iter().map(device::format).collect();
        let units = units.iter();
        units
            .map(|unit| (unit.name.clone(), text(&unit.selectors)))
            .collect()
    }

    const BOTH: [&str; 2] = [
        "gpu.example.com/node-7/gpu-0",
        "gpu.example.com/node-7/gpu-1",
    ];

    #[test]
    fn a_unit_that_covers_a_pool_has_one_rule_for_it() {
        let whole = || slice(vec![published("gpu-0", &[]), published("gpu-1", &[])]);
        let reading = cluster(vec![whole()]);
        let pool = vec!["gpu.example.com/node-7/*".to_owned()];
        let node = named(&reading, &BOTH, UnitKind::Node);
        assert_eq!(node, [("node-7".to_owned(), pool.clone())]);
        let by_pool = named(&reading, &BOTH, UnitKind::Pool);
        assert_eq!(by_pool, [("gpu.example.com/node-7".to_owned(), pool)]);
        let part = named(&reading, &BOTH[..1], UnitKind::Node);
        assert_eq!(part[0].1, BOTH[..1]);
        assert_eq!(named(&reading, &BOTH, UnitKind::Device).len(), 2);
        // A pool that spans nodes has devices that are not of the unit.
        let (mut here, mut there) = (whole(), slice(vec![published("gpu-2", &[])]));
        there.name = "other".into();
        there.nodes = SliceNodes::One("node-8".into());
        for slice in [&mut here, &mut there] {
            slice.pool.slice_count = 2;
        }
        let spread = cluster(vec![here.clone(), there]);
        assert_eq!(named(&spread, &BOTH, UnitKind::Node)[0].1, BOTH);
        // Devices of a slice that is missing may be of another node.
        let partly = cluster(vec![here]);
        assert_eq!(named(&partly, &BOTH, UnitKind::Node)[0].1, BOTH);
    }

    #[test]
    fn devices_that_share_counters_are_one_unit() {
        let parts = vec![drawing("gpu-0", "40Gi"), drawing("gpu-1", "40Gi")];
        let reading = cluster(vec![slice(parts)]);
        let units = named(&reading, &BOTH, UnitKind::Device);
        assert_eq!(units.len(), 1);
        assert_eq!(units[0].0, BOTH[0]);
        assert_eq!(units[0].1, BOTH);
    }

    #[test]
    fn a_unit_that_shares_counters_with_two_others_joins_them() {
        let parts = ["a", "b", "c"].map(|name| drawing(name, "80Gi"));
        let snapshot = cluster(vec![slice(parts.to_vec())]).snapshot;
        let id = |name: &str| crate::engine::testing::device(name);
        let unit = |name: &str| (name.to_owned(), BTreeSet::from([id(name)]));
        let joined = joined([unit("a"), unit("b"), unit("c")].into(), &snapshot);
        assert_eq!(joined.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(joined["a"].len(), 3);
    }

    #[test]
    fn the_same_nodes_or_devices_always_have_the_same_name() {
        let nodes = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|&name| name.to_owned()).collect()
        };
        let devices = |name: &str| -> BTreeSet<DeviceId> {
            BTreeSet::from([crate::engine::testing::device(name)])
        };
        let name = |text, of: &[&str], device: &str| {
            let terms = DrainTerms::new(text, None, &nodes(of), &devices(device));
            terms.map(|terms| terms.name).map_err(|it| it.to_string())
        };
        assert_eq!(name(None, &["node-1"], "a").unwrap(), "node-1");
        let two = name(None, &["node-1", "node-2"], "a").unwrap();
        assert!(two.starts_with("nodes-"), "{two}");
        // The devices of the nodes may change while they are drained.
        assert_eq!(name(None, &["node-2", "node-1"], "b").unwrap(), two);
        let by_devices = name(None, &[], "a").unwrap();
        assert!(by_devices.starts_with("devices-"), "{by_devices}");
        assert_ne!(name(None, &[], "b").unwrap(), by_devices);
        assert_eq!(name(Some("fw"), &["node-1"], "a").unwrap(), "fw");
        assert!(name(Some("no label"), &[], "a").is_err());
        let long = "n".repeat(64);
        assert!(name(None, &[&long], "a").unwrap().starts_with("nodes-"));
    }

    #[test]
    fn rules_have_labels_of_drain_and_unit_and_stay_raised() {
        let terms = DrainTerms {
            name: "fw".to_owned(),
            reason: Some("firmware".to_owned()),
        };
        let unit = Unit {
            name: "node-1".to_owned(),
            devices: BTreeSet::new(),
            selectors: vec![crate::decide::testing::selector("gpu-0")],
        };
        let draft = terms.drafts(&unit, &[]).expect("a rule").remove(0);
        assert_eq!(draft.labels[keys::DRAIN], "fw");
        assert_eq!(draft.labels[keys::DRAIN_UNIT], unit_hash("node-1"));
        assert_eq!(draft.annotations[keys::DRAIN_UNIT], "node-1");
        assert_eq!(draft.taint.effect, Effect::NoSchedule);
        let raised = drain_rule(&draft.name, "node-1", "NoExecute");
        let draft = terms.drafts(&unit, &[raised]).expect("a rule").remove(0);
        assert_eq!(draft.taint.effect, Effect::NoExecute);
        // The rule of another drain is none of its rules.
        let mut other = drain_rule(&draft.name, "node-1", "NoExecute");
        let label = (keys::DRAIN.to_owned(), "other".to_owned());
        other.metadata.labels.extend([label]);
        let draft = terms.drafts(&unit, &[other]).expect("a rule").remove(0);
        assert_eq!(draft.taint.effect, Effect::NoSchedule);
    }

    fn rules() -> Vec<DeviceTaintRule> {
        let mut rules = [
            drain_rule("a", "node-1", "NoSchedule"),
            drain_rule("b", "node-2", "NoSchedule"),
        ];
        rules[0].selector = Some(selector("gpu-0"));
        rules[1].selector = Some(selector("gpu-1"));
        rules.into()
    }

    /// The stages of two units; each pod uses the device of its number.
    fn stages(pods: &[Pod], change: impl FnOnce(&mut Reading)) -> Vec<Option<UnitStage>> {
        let mut cluster = Cluster::default();
        cluster.replica_set("web", 2, 2);
        let mut reading = cluster.reading;
        let devices = vec![published("gpu-0", &[]), published("gpu-1", &[])];
        reading.snapshot.slices = vec![slice(devices)];
        for (number, pod) in pods.iter().enumerate() {
            let mut claim = claim_in_use(pod);
            let results = &mut claim.allocation.as_mut().expect("an allocation").results;
            results[0].device.device = format!("gpu-{number}").as_str().into();
            let mut pod = pod.clone();
            pod.claims = generated(&claim);
            claim.controller = Some(crate::engine::testing::owner(&pod));
            reading.snapshot.claims.push(claim);
            reading.snapshot.pods.push(pod);
        }
        change(&mut reading);
        let semantics = semantics(37);
        let basis = Basis::new(&reading, &semantics, now());
        let statuses = unit_statuses(&drain_units(&rules()), &basis);
        statuses.into_iter().map(|status| status.stage).collect()
    }

    #[test]
    fn the_stage_of_a_unit_follows_from_the_pods_and_claims_on_its_devices() {
        use UnitStage::{Draining, Held, Idle, Waiting};
        let web = |name| owned(name, Some(("ReplicaSet", "web")));
        let agent = owned("agent", Some(("DaemonSet", "agent")));
        let both = [web("web-0"), web("web-1")];
        assert_eq!(stages(&both, |_| {}), [Some(Draining), Some(Waiting)]);
        assert_eq!(stages(&both[..1], |_| {}), [Some(Draining), Some(Idle)]);
        let held = [agent, web("web-1")];
        assert_eq!(stages(&held, |_| {}), [Some(Held), Some(Draining)]);
        assert_eq!(stages(&[], |_| {}), [Some(Idle), Some(Idle)]);
        // A claim whose pod is not known holds its device.
        let claim_alone = |reading: &mut Reading| reading.snapshot.pods.clear();
        assert_eq!(
            stages(&both[..1], claim_alone),
            [Some(Held), Some(Idle)],
            "a claim alone"
        );
        let admin = |reading: &mut Reading| {
            for claim in &mut reading.snapshot.claims {
                let results = &mut claim.allocation.as_mut().expect("an allocation").results;
                results[0].admin_access = true;
            }
        };
        assert_eq!(stages(&held, admin), [Some(Idle), Some(Idle)], "monitors");
        let unread = |reading: &mut Reading| {
            reading.gaps = vec![Gap::of(Kind::ResourceClaim, "denied")];
        };
        assert_eq!(stages(&[], unread), [None, None], "unknown is not idle");
    }

    #[test]
    fn a_drain_or_the_units_of_a_name_are_restored() {
        let mut rules = rules();
        let mut other = drain_rule("c", "node-2", "NoSchedule");
        let label = (keys::DRAIN.to_owned(), "node-1".to_owned());
        other.metadata.labels.extend([label]);
        rules.push(other);
        let names = |targets: &[&str]| {
            let targets: Vec<String> = targets.iter().map(|&name| name.to_owned()).collect();
            let found = restorable(&targets, &rules).ok()?;
            let names: Vec<String> = found.iter().map(|rule| rule.name.to_string()).collect();
            Some(names.join(","))
        };
        assert_eq!(names(&["fw"]).as_deref(), Some("a,b"));
        for typed in [&["node-2"][..], &["node/node-2"], &["nodes", "node-2"]] {
            assert_eq!(names(typed).as_deref(), Some("b,c"));
        }
        // A drain goes before a unit of the same name.
        assert_eq!(names(&["node-1"]).as_deref(), Some("c"));
        assert_eq!(names(&["fw", "node-2"]).as_deref(), Some("a,b,c"));
        assert_eq!(names(&["fw", "absent"]), None);
    }
}
