//! Pools as the allocator gathers them for a node.

use super::capacity::{Amount, amount};
use super::pod_nodes::{NodeFacts, selects};
use crate::devices::{current_slices, pool_of};
use crate::impact::Impact;
use crate::model::{
    Device, DriverName, NodeSelector, PoolName, ResourceSlice, SliceNodes, Snapshot, three_valued,
};
use crate::semantics::Semantics;
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::iter::Sum;
use std::rc::Rc;

/// Counters of a pool, by set and name; `None` where an amount cannot be read.
pub(super) type Counters<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Option<Amount>>>;

/// Usability of a pool for the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolStatus {
    Usable,
    /// It has another number of slices than its `resourceSliceCount`, as while its driver replaces it.
    Incomplete,
    /// It contradicts itself.
    Invalid,
}

/// A pool, as it is seen from some nodes.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    /// Tells pools apart; the same one seen with other slices is another.
    pub(super) place: u32,
    pub(super) status: PoolStatus,
    /// Places of the devices in slices that are for the node, in the order of the allocator.
    pub(super) devices: Vec<u32>,
    /// Places of its other devices.
    pub(super) elsewhere: Vec<u32>,
    pub(super) counters: Counters<'a>,
    /// True if each device says for itself which nodes can use it.
    is_per_device: bool,
}

/// Devices that the allocator sees on a node.
#[derive(Debug)]
pub(super) struct NodeView<'a> {
    pub(super) node: NodeFacts<'a>,
    /// Other nodes that see the same.
    pub(super) alike: Vec<NodeFacts<'a>>,
    /// By driver and name.
    pub(super) pools: Vec<Rc<Pool<'a>>>,
    /// True if some slice may or may not be for the node.
    pub(super) is_doubtful: bool,
}

/// A slice, and the place of its first device.
#[derive(Clone, Copy, Debug)]
struct SliceAt<'a> {
    slice: &'a ResourceSlice,
    first: u32,
}

/// Relevance of a slice to a node.
struct NodeRelevance {
    is_relevant: bool,
    is_doubtful: bool,
}

/// All slices, to look at them from nodes.
pub(super) struct PoolGatherer<'a> {
    slices: Vec<SliceAt<'a>>,
    on_node: HashMap<&'a str, Vec<usize>>,
    shared: Vec<usize>,
    by_pool: HashMap<(&'a str, &'a str), Vec<usize>>,
    made: HashMap<Vec<usize>, Option<Rc<Pool<'a>>>>,
}

impl<'a> PoolGatherer<'a> {
    /// The slices in the order in which their devices are numbered.
    pub(super) fn new(slices: &'a [ResourceSlice]) -> Self {
        let mut gatherer = Self {
            slices: Vec::with_capacity(slices.len()),
            on_node: HashMap::default(),
            shared: Vec::new(),
            by_pool: HashMap::default(),
            made: HashMap::default(),
        };
        let mut first = 0_u32;
        for (place, slice) in slices.iter().enumerate() {
            gatherer.slices.push(SliceAt { slice, first });
            first = first.saturating_add(u32::try_from(slice.devices.len()).unwrap_or(u32::MAX));
            match &slice.nodes {
                SliceNodes::One(node) => gatherer
                    .on_node
                    .entry(node.as_str())
                    .or_default()
                    .push(place),
                SliceNodes::PerDevice | SliceNodes::Selected(_) | SliceNodes::Several => {
                    gatherer.shared.push(place);
                }
            }
            gatherer
                .by_pool
                .entry(pool_of(slice))
                .or_default()
                .push(place);
        }
        gatherer
    }

    /// View of each of `nodes`; nodes that see the same stand for one another.
    pub(super) fn views(mut self, nodes: &[NodeFacts<'a>]) -> Vec<NodeView<'a>> {
        let mut views: Vec<NodeView<'a>> = Vec::new();
        let mut seen: BTreeMap<(Vec<u32>, bool), usize> = BTreeMap::new();
        for node in nodes {
            let view = self.view(*node);
            let pools: Vec<u32> = view.pools.iter().map(|pool| pool.place).collect();
            // Two nodes with the same pools give the same search, unless devices say for themselves which nodes
            // can use them. A cluster of thousands of nodes comes down to a few views.
            let is_alike = view.pools.iter().all(|pool| !pool.is_per_device);
            if is_alike {
                let next = views.len();
                let first = *seen.entry((pools, view.is_doubtful)).or_insert(next);
                if first < next {
                    views[first].alike.push(*node);
                    continue;
                }
            }
            views.push(view);
        }
        views
    }

    /// Upstream: `GatherPools`.
    fn view(&mut self, node: NodeFacts<'a>) -> NodeView<'a> {
        let own = node.name.and_then(|name| self.on_node.get(name));
        let mut pools: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        let mut is_doubtful = false;
        for place in own.into_iter().flatten().chain(&self.shared) {
            let slice = self.slices[*place].slice;
            let relevance = relevance(slice, node);
            if uses_groups(slice) || !relevance.is_relevant {
                continue;
            }
            is_doubtful |= relevance.is_doubtful;
            let found = pools.entry(pool_of(slice)).or_default();
            let known = found
                .first()
                .map(|first| self.slices[*first].slice.pool.generation);
            match known {
                // The newest generation among the slices for this node counts, as upstream; where slices are
                // missing, `make` asks for newer ones of the pool.
                Some(known) if slice.pool.generation < known => {}
                Some(known) if slice.pool.generation > known => *found = vec![*place],
                Some(_) | None => found.push(*place),
            }
        }
        let pools = pools.into_values().filter_map(|found| self.pool(found));
        NodeView {
            node,
            alike: Vec::new(),
            pools: pools.collect(),
            is_doubtful,
        }
    }

    /// The pool of which these slices are for the node; absent where they are outdated.
    fn pool(&mut self, mut found: Vec<usize>) -> Option<Rc<Pool<'a>>> {
        // Upstream goes through the slices of a pool by name; which device it meets first decides which expression
        // fails.
        found.sort_by_key(|place| &self.slices[*place].slice.name);
        // Nodes that share slices share the pool: it is built once for each set of slices.
        if let Some(made) = self.made.get(&found) {
            return made.clone();
        }
        let number = u32::try_from(self.made.len()).unwrap_or(u32::MAX);
        let made = self.make(&found, number).map(Rc::new);
        self.made.insert(found, made.clone());
        made
    }

    fn make(&self, found: &[usize], place: u32) -> Option<Pool<'a>> {
        let first = self.slices[*found.first()?].slice;
        let is_complete = |slices: usize| i64::try_from(slices) == Ok(first.pool.slice_count);
        let mut elsewhere = Vec::new();
        if !is_complete(found.len()) {
            // `resourceSliceCount` counts the slices of all nodes. Too few here is no gap if the others are for
            // other nodes; then their devices still count for shared counters.
            let all = &self.by_pool[&pool_of(first)];
            let generation = |place: &usize| self.slices[*place].slice.pool.generation;
            if all
                .iter()
                .any(|place| generation(place) > first.pool.generation)
            {
                return None;
            }
            let current = all
                .iter()
                .filter(|place| generation(place) == first.pool.generation)
                .filter(|place| !uses_groups(self.slices[**place].slice));
            elsewhere = current.copied().collect();
            if !is_complete(elsewhere.len()) {
                return Some(Pool::without_devices(place, PoolStatus::Incomplete));
            }
            elsewhere.retain(|place| !found.contains(place));
        }
        Some(self.build(found, &elsewhere, place))
    }

    /// Upstream: `buildPool`.
    fn build(&self, found: &[usize], elsewhere: &[usize], place: u32) -> Pool<'a> {
        let slices = |places: &[usize]| -> Vec<SliceAt<'a>> {
            places.iter().map(|place| self.slices[*place]).collect()
        };
        let (here, there) = (slices(found), slices(elsewhere));
        let mut pool = Pool::without_devices(place, PoolStatus::Usable);
        // Counters first: devices refer to sets that any slice of the pool may define.
        for slice in here.iter().chain(&there) {
            if !pool.add_counters(slice.slice) {
                pool.status = PoolStatus::Invalid;
            }
        }
        let mut names = BTreeSet::new();
        for slice in here.iter().filter(|slice| !has_counters(slice.slice)) {
            pool.is_per_device |= slice.slice.nodes == SliceNodes::PerDevice;
            for (device, at) in slice.slice.devices.iter().zip(slice.first..) {
                // One name twice, or one counter that is not defined, makes the whole pool invalid upstream.
                if !names.insert(&device.name) || !pool.covers(device) {
                    pool.status = PoolStatus::Invalid;
                }
                pool.devices.push(at);
            }
        }
        for slice in there.iter().filter(|slice| !has_counters(slice.slice)) {
            for (device, at) in slice.slice.devices.iter().zip(slice.first..) {
                if !pool.covers(device) {
                    pool.status = PoolStatus::Invalid;
                }
                pool.elsewhere.push(at);
            }
        }
        pool
    }
}

impl<'a> Pool<'a> {
    fn without_devices(place: u32, status: PoolStatus) -> Self {
        Self {
            place,
            status,
            devices: Vec::new(),
            elsewhere: Vec::new(),
            counters: Counters::new(),
            is_per_device: false,
        }
    }

    /// Adds what there is of counters; `false` where a set is there twice.
    fn add_counters(&mut self, slice: &'a ResourceSlice) -> bool {
        let sets = slice.terms.iter().flat_map(|terms| &terms.counters);
        let mut is_new = true;
        for set in sets {
            let counters = set
                .counters
                .iter()
                .map(|(name, written)| (&**name, amount(written)));
            let before = self.counters.insert(&set.name, counters.collect());
            is_new &= before.is_none();
        }
        is_new
    }

    /// True if all that the device takes of counters exists.
    fn covers(&self, device: &Device) -> bool {
        let consumes = device.terms.iter().flat_map(|terms| &terms.consumes);
        consumes.into_iter().all(|taken| {
            let set = self.counters.get(&*taken.set);
            set.is_some_and(|set| taken.counters.keys().all(|name| set.contains_key(&**name)))
        })
    }
}

fn has_counters(slice: &ResourceSlice) -> bool {
    slice
        .terms
        .as_ref()
        .is_some_and(|terms| !terms.counters.is_empty())
}

/// The allocator passes over such slices, as the gate `DRADeviceCompatibilityGroups` is off by default.
///
/// Upstream: `sliceUsesCompatibilityGroups`.
fn uses_groups(slice: &ResourceSlice) -> bool {
    let terms = slice.devices.iter().flat_map(|device| &device.terms);
    terms
        .flat_map(|terms| &terms.consumes)
        .any(|taken| taken.has_groups)
}

fn relevance(slice: &ResourceSlice, node: NodeFacts<'_>) -> NodeRelevance {
    let terms = slice.terms.as_deref();
    let all_nodes = terms.is_some_and(|terms| terms.all_nodes);
    let selector = terms.and_then(|terms| terms.selector.as_ref());
    let answer = match &slice.nodes {
        SliceNodes::One(name) => Some(node.name == Some(name.as_str())),
        SliceNodes::Several | SliceNodes::Selected(_) | SliceNodes::PerDevice
            if all_nodes || selector.is_some() =>
        {
            if all_nodes {
                Some(true)
            } else {
                reaches(selector, node)
            }
        }
        // Upstream (`GatherPools`) passes over a slice that names its nodes in none of the known ways.
        SliceNodes::Several | SliceNodes::Selected(_) => Some(false),
        SliceNodes::PerDevice => {
            let devices = slice.devices.iter();
            three_valued::any(devices.map(|device| is_for(device, node)))
        }
    };
    NodeRelevance {
        is_relevant: answer != Some(false),
        is_doubtful: answer.is_none(),
    }
}

/// True if a device that says so for itself is for the node.
///
/// Upstream: `NodeMatches`.
pub(super) fn is_for(device: &Device, node: NodeFacts<'_>) -> Option<bool> {
    if let Some(name) = &device.node {
        return Some(node.name == Some(name.as_str()));
    }
    let Some(terms) = &device.terms else {
        return Some(false);
    };
    if terms.all_nodes {
        return Some(true);
    }
    reaches(terms.selector.as_ref(), node)
}

fn reaches(selector: Option<&NodeSelector>, node: NodeFacts<'_>) -> Option<bool> {
    match selector {
        Some(selector) => selects(selector, node),
        None => Some(false),
    }
}

/// A pool whose number of current slices is not its `resourceSliceCount`.
///
/// Once it is complete, claims may be allocated from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncompletePool {
    /// Publisher of the pool.
    pub driver: DriverName,
    /// Its name.
    pub pool: PoolName,
}

/// The incomplete pools of the drivers that have selected devices, by name.
///
/// Upstream: `pools_incubating.go`, which compares with the first slice alone. `pool_slices` of `engine::devices` also
/// calls a pool incomplete whose slices contradict each other.
pub(super) fn incomplete_pools(
    snapshot: &Snapshot,
    impact: &Impact<'_>,
) -> BTreeSet<IncompletePool> {
    let devices = impact.devices.iter();
    let drivers: BTreeSet<&DriverName> = devices.map(|device| &device.id.driver).collect();
    let mut slices_of: BTreeMap<(&str, &str), Vec<_>> = BTreeMap::new();
    for slice in current_slices(&snapshot.slices) {
        if drivers.contains(&slice.driver) {
            slices_of.entry(pool_of(slice)).or_default().push(slice);
        }
    }
    let pools = slices_of.into_values().filter_map(|slices| {
        let first = slices.first()?;
        let is_whole = i64::try_from(slices.len()) == Ok(first.pool.slice_count);
        (!is_whole).then(|| IncompletePool {
            driver: first.driver.clone(),
            pool: first.pool.name.clone(),
        })
    });
    pools.collect()
}

/// Inputs that were read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completeness {
    /// All slices, with what the allocator looks at.
    pub slices: bool,
    /// All claims, with what they ask for.
    pub claims: bool,
    /// All rules.
    pub rules: bool,
    /// All device classes.
    pub classes: bool,
    /// All nodes.
    pub nodes: bool,
    /// All claim templates, or none of them, where generated claims stand for theirs.
    pub templates: bool,
}

impl Completeness {
    /// Everything.
    pub const COMPLETE: Self = Self {
        slices: true,
        claims: true,
        rules: true,
        classes: true,
        nodes: true,
        templates: true,
    };
}

/// Basis of a search for devices beside the snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SearchBasis<'a> {
    /// Behaviour of that version of Kubernetes.
    pub semantics: &'a Semantics,
    /// Inputs that were read completely.
    pub completeness: Completeness,
}

/// Why something is not known, in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    why: String,
    ground: UnknownCause,
}

/// Cause of an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnknownCause {
    /// It was not read.
    Unread,
    /// An expression fails, in Kubernetes just as here, where the scheduler gives up with an error.
    Failure,
    /// Something else about what was read.
    Other,
}

impl Unknown {
    /// Unknown since something was not read; the failed read tells why.
    pub(super) fn unread(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            ground: UnknownCause::Unread,
        }
    }

    /// Since an expression fails, in Kubernetes just as here.
    pub(super) fn failure(why: String) -> Self {
        Self {
            why,
            ground: UnknownCause::Failure,
        }
    }

    /// The same unknown, told in other words.
    pub(super) fn with_context(&self, words: impl FnOnce(&str) -> String) -> Self {
        Self {
            why: words(&self.why),
            ground: self.ground,
        }
    }

    /// True if the cause is that something was not read, and not what was read.
    pub fn is_unread(&self) -> bool {
        self.ground == UnknownCause::Unread
    }

    /// True if the cause is a failing expression, in Kubernetes just as here: the scheduler gives up the whole attempt
    /// with an error.
    pub fn is_failure(&self) -> bool {
        self.ground == UnknownCause::Failure
    }
}

impl From<String> for Unknown {
    fn from(why: String) -> Self {
        Self {
            why,
            ground: UnknownCause::Other,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.why)
    }
}

/// Bounds of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub least: usize,
    /// The highest.
    pub most: usize,
}

impl Range {
    /// Known.
    pub const fn exactly(number: usize) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    /// Anything up to there.
    pub const fn up_to(most: usize) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            least: self.least.saturating_add(more.least),
            most: self.most.saturating_add(more.most),
        }
    }
}

impl Sum for Range {
    fn sum<I: Iterator<Item = Self>>(ranges: I) -> Self {
        ranges.fold(Self::exactly(0), Self::plus)
    }
}
