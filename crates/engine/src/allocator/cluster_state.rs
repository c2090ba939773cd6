//! The cluster as the allocator sees it: devices with their taints, classes and nodes.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt};

use super::candidate_devices::ExpressionCache;
use super::capacity::CapacityNames;
use super::diagnosis::TaintOwner;
use super::pod_nodes::NodeFacts;
use super::pool::{Completeness, SearchBasis};
use super::pool::{NodeView, PoolGatherer};
use crate::model::{
    Device, DeviceClass, DeviceId, DeviceSelector, Effect, ObjectName, ResourceSlice, Snapshot,
    Taint, Toleration,
};
use crate::preview::existing_rules;
use crate::select::{DeviceKey, ProposedTaint, RuleIndex, RuleTaint, proposed_rules};
use crate::semantics::Semantics;
use crate::tolerate::tolerates;

/// The selector that selects every device of every driver.
const EVERY_DEVICE: &DeviceSelector = &DeviceSelector {
    driver: None,
    pool: None,
    device: None,
    unknown_fields: Vec::new(),
};

/// A device in a slice, of whatever generation.
#[derive(Debug)]
pub(super) struct DeviceAt<'a> {
    pub(super) slice: &'a ResourceSlice,
    pub(super) device: &'a Device,
    /// Identity of the device: those of one driver, pool and name are the same.
    pub(super) identity: u32,
    /// The driver's taints, then those of rules, the proposed ones among them.
    taints: Vec<(Taint, TaintSetter)>,
}

/// Setter of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaintSetter {
    /// The driver of the device, by the place of the taint among those that it has set.
    Driver(u32),
    /// A rule, by its place among the proposed taints and the rules beside them.
    Rule(u32),
}

/// Taints that are taken for gone, to find out what they keep away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IgnoredTaints {
    /// These, or none of them.
    Those(BTreeSet<IgnoredTaint>),
    /// All.
    Everything,
}

/// A taint that is taken for gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IgnoredTaint {
    /// The taint of a rule.
    Rule(u32),
    /// One of the driver on one device, by its identity, and the place of the taint.
    Driver(u32, u32),
}

impl IgnoredTaints {
    /// All taints are there.
    pub(super) const NOTHING: Self = Self::Those(BTreeSet::new());
}

/// A cluster as the allocator sees it, once the proposed taints are there.
#[derive(Debug)]
pub(super) struct ClusterState<'a> {
    pub(super) devices: Vec<DeviceAt<'a>>,
    /// One for each node, or for nodes among which the allocator sees no difference.
    pub(super) views: Vec<NodeView<'a>>,
    pub(super) fits: ExpressionCache<'a>,
    pub(super) completeness: Completeness,
    /// Taints that are taken for gone.
    pub(super) ignored: IgnoredTaints,
    /// The rules that taint, by their places; absent for a taint without one.
    rules: Vec<Option<ObjectName>>,
    identities: HashMap<DeviceKey<'a>, u32>,
    classes: HashMap<&'a str, &'a DeviceClass>,
    pub(super) semantics: Semantics,
}

impl<'a> ClusterState<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        proposed: &[ProposedTaint],
        basis: SearchBasis<'_>,
    ) -> Self {
        Self::among(snapshot, proposed, basis, |_| true)
    }

    /// As [`ClusterState::new`], seen from those nodes alone that are `meant`.
    pub(super) fn among(
        snapshot: &'a Snapshot,
        proposed: &[ProposedTaint],
        basis: SearchBasis<'_>,
        meant: impl Fn(&NodeFacts<'a>) -> bool,
    ) -> Self {
        let SearchBasis {
            semantics,
            completeness,
        } = basis;
        // The scheduler treats a rule without selector otherwise than the eviction controller.
        let every_device = semantics.nil_selector_blocks.then_some(EVERY_DEVICE);
        let rules: Vec<_> = proposed_rules(proposed)
            .chain(existing_rules(snapshot, proposed))
            .map(|rule| RuleTaint {
                selector: rule.selector.or(every_device),
                ..rule
            })
            .collect();
        let names = rules.iter().map(|rule| rule.name.cloned()).collect();
        let rules = RuleIndex::new(rules, semantics);
        let published = snapshot
            .slices
            .iter()
            .map(|slice| slice.devices.len())
            .sum();
        let mut state = Self {
            devices: Vec::with_capacity(published),
            views: Vec::new(),
            fits: ExpressionCache::default(),
            completeness,
            ignored: IgnoredTaints::NOTHING,
            rules: names,
            identities: HashMap::with_capacity(published),
            classes: snapshot
                .classes
                .iter()
                .map(|class| (class.name.as_str(), class))
                .collect(),
            semantics: *semantics,
        };
        // Every generation, in the order of the snapshot: `PoolGatherer` derives the places of devices from that
        // order, and leaves out what is old for each node.
        for slice in &snapshot.slices {
            for device in &slice.devices {
                state.add(slice, device, &rules);
            }
        }
        let mut nodes = nodes(snapshot, completeness);
        nodes.retain(|node| meant(node));
        state.views = PoolGatherer::new(&snapshot.slices).views(&nodes);
        state
    }

    fn add(&mut self, slice: &'a ResourceSlice, device: &'a Device, rules: &RuleIndex<'_>) {
        let key = DeviceKey {
            driver: slice.driver.as_str(),
            pool: slice.pool.name.as_str(),
            device: device.name.as_str(),
        };
        // Claims name devices by driver, pool and name. While a driver replaces a pool, the same device is in
        // slices of two generations, and what is held in one is held in the other.
        let next = u32::try_from(self.identities.len()).unwrap_or(u32::MAX);
        let of_rules = rules.matching(key).into_iter().map(|place| {
            let taint = rules.rule(place).taint.clone();
            (taint, TaintSetter::Rule(place))
        });
        let of_driver = device
            .taints
            .iter()
            .zip(0_u32..)
            .map(|(taint, place)| (taint.clone(), TaintSetter::Driver(place)));
        self.devices.push(DeviceAt {
            slice,
            device,
            identity: *self.identities.entry(key).or_insert(next),
            taints: of_driver.chain(of_rules).collect(),
        });
    }

    /// The device at `place`.
    pub(super) fn at(&self, place: u32) -> &DeviceAt<'a> {
        &self.devices[place as usize]
    }

    /// Names of the capacities of the device at `place`.
    pub(super) fn capacity_names(&self, place: u32) -> CapacityNames<'a> {
        CapacityNames::of(self.at(place).slice.driver.as_str(), &self.semantics)
    }

    /// The identity of a device that some slice has.
    pub(super) fn identity(&self, id: &DeviceId) -> Option<u32> {
        let key = DeviceKey {
            driver: id.driver.as_str(),
            pool: id.pool.as_str(),
            device: id.device.as_str(),
        };
        self.identities.get(&key).copied()
    }

    /// The class of that name.
    pub(super) fn class(&self, name: &str) -> Option<&'a DeviceClass> {
        self.classes.get(name).copied()
    }

    /// All classes, by name.
    pub(super) fn classes(&self) -> Vec<&'a DeviceClass> {
        let mut classes: Vec<_> = self.classes.values().copied().collect();
        classes.sort_by_key(|class| &class.name);
        classes
    }

    /// True if a taint keeps the device at `place` from a claim with these tolerations.
    ///
    /// Upstream: `taintPreventsAllocation`.
    pub(super) fn is_blocked(&self, place: u32, tolerations: &[Toleration]) -> bool {
        self.blocking(place, tolerations).next().is_some()
    }

    /// The taints that keep the device at `place` from a claim with these tolerations.
    pub(super) fn blocking<'s>(
        &'s self,
        place: u32,
        tolerations: &'s [Toleration],
    ) -> impl Iterator<Item = &'s (Taint, TaintSetter)> {
        let at = self.at(place);
        at.taints.iter().filter(move |(taint, setter)| {
            // `None` is for previews, and an effect that the version does not know counts like it.
            let counts = match &taint.effect {
                Effect::NoSchedule | Effect::NoExecute => true,
                Effect::None | Effect::Unknown(_) => false,
            };
            // Not the eviction controller's test: here an empty effect matches every effect, and tolerationSeconds
            // play no part.
            counts
                && !self.is_ignored(at.identity, *setter)
                && !tolerations
                    .iter()
                    .any(|toleration| tolerates(toleration, taint))
        })
    }

    fn is_ignored(&self, identity: u32, setter: TaintSetter) -> bool {
        match &self.ignored {
            IgnoredTaints::Those(taints) => taints.contains(&match setter {
                TaintSetter::Driver(place) => IgnoredTaint::Driver(identity, place),
                TaintSetter::Rule(place) => IgnoredTaint::Rule(place),
            }),
            IgnoredTaints::Everything => true,
        }
    }

    /// Key under which a taint is taken for gone; absent where the taint does not exist.
    pub(super) fn taint_of(&self, owner: &TaintOwner) -> Option<IgnoredTaint> {
        match owner {
            TaintOwner::Driver(device, taint) => {
                let identity = self.identity(device)?;
                let devices = self.devices.iter().filter(|at| at.identity == identity);
                devices
                    .flat_map(|at| &at.taints)
                    .find_map(|(known, setter)| match setter {
                        TaintSetter::Driver(place) => {
                            (*known == **taint).then_some(IgnoredTaint::Driver(identity, *place))
                        }
                        TaintSetter::Rule(_) => None,
                    })
            }
            // Proposed taints come before the rules in the index, so that their place in the question is their
            // place in it.
            TaintOwner::Proposed(place) => u32::try_from(*place).ok().map(IgnoredTaint::Rule),
            TaintOwner::Rule(name) => {
                let found = (0_u32..)
                    .zip(&self.rules)
                    .find(|(_, rule)| rule.as_ref() == Some(name));
                found.map(|(place, _)| IgnoredTaint::Rule(place))
            }
        }
    }

    /// The rule at that place; absent for a taint that no rule has.
    pub(super) fn rule(&self, place: u32) -> Option<&ObjectName> {
        self.rules.get(place as usize)?.as_ref()
    }
}

/// The nodes on which claims could be placed; where nodes were not read, those that slices name, and one that stands
/// for all others.
fn nodes(snapshot: &Snapshot, completeness: Completeness) -> Vec<NodeFacts<'_>> {
    if completeness.nodes {
        let nodes = snapshot.nodes.iter();
        return nodes
            .map(|node| NodeFacts {
                name: Some(node.name.as_str()),
                labels: Some(&node.labels),
            })
            .collect();
    }
    // Labels are unknown then, so that selectors answer "perhaps"; the nameless node stands for those without
    // local slices, which differ in nothing that is known.
    let slices = snapshot.slices.iter();
    let named = slices.flat_map(|slice| slice.devices.iter().map(|device| slice.node_of(device)));
    let mut names: Vec<Option<&str>> = named
        .flatten()
        .map(|name| Some(name.as_str()))
        .chain([None])
        .collect();
    names.sort_unstable();
    names.dedup();
    let unknown = |name| NodeFacts { name, labels: None };
    names.into_iter().map(unknown).collect()
}
