//! Devices that could serve a request.

use super::capacity::{is_left, taken, takes_all};
use super::cluster_state::ClusterState;
use super::counters::{AvailableCounters, Usage};
use super::demand::Choice;
use super::pool::{NodeView, Pool, PoolStatus, Range, Unknown, is_for};
use crate::expression::{DeviceExpression, ExpressionError, Version};
use crate::model::{
    AttributeValue, ConstraintRule, Device, DeviceConstraint, DriverName, SliceNodes,
};
use crate::semantics::Semantics;
use foldhash::{HashMap, HashSet};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Suitability of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Candidacy {
    No,
    /// Unknown.
    Perhaps,
    Yes,
}

/// Places of devices, each with whether it is looked for.
pub(super) type CandidatePlaces = Vec<(u32, Candidacy)>;

/// The pools that some node can reach, each with its devices that fit a choice, in use or not.
#[derive(Debug)]
pub(super) struct FittingDevices<'a> {
    pub(super) pools: Vec<(Rc<Pool<'a>>, CandidatePlaces)>,
}

/// Every pool of which some node can use devices, once.
pub(super) fn pools_in_reach<'a>(state: &ClusterState<'a>) -> Vec<Rc<Pool<'a>>> {
    let mut pools: BTreeMap<u32, Rc<Pool<'a>>> = BTreeMap::new();
    for pool in state.views.iter().flat_map(|view| &view.pools) {
        // The allocator skips the others for counted requests, and fails a request for all devices over them.
        if pool.status == PoolStatus::Usable {
            pools.entry(pool.place).or_insert_with(|| Rc::clone(pool));
        }
    }
    pools.into_values().collect()
}

impl<'a> FittingDevices<'a> {
    /// The devices of `pools` that fit the choice and that no taint keeps from it.
    pub(super) fn new(
        choice: &Choice<'_>,
        pools: &[Rc<Pool<'a>>],
        state: &ClusterState<'a>,
    ) -> Self {
        let pools = pools.iter().map(|pool| {
            let places = pool.devices.iter().copied();
            let answers = places.map(|place| (place, fits(choice, place, state)));
            let found = answers.filter(|(_, answer)| *answer != Candidacy::No);
            (Rc::clone(pool), found.collect())
        });
        let pools = pools.filter(|(_, devices): &(_, CandidatePlaces)| !devices.is_empty());
        Self {
            pools: pools.collect(),
        }
    }

    /// Those of these pools, by their places.
    pub(super) fn within(&self, places: &BTreeSet<u32>) -> Self {
        let pools = self.pools.iter();
        let wanted = pools.filter(|(pool, _)| places.contains(&pool.place));
        Self {
            pools: wanted.cloned().collect(),
        }
    }

    /// Those that a node of these views can use.
    pub(super) fn seen_from(&self, views: &[&NodeView<'a>], state: &ClusterState<'a>) -> Self {
        let pools = views.iter().flat_map(|view| &view.pools);
        let mut found = self.within(&pools.map(|pool| pool.place).collect());
        for (_, devices) in &mut found.pools {
            devices.retain(|(place, _)| {
                let at = state.at(*place);
                let is_for = |view: &&NodeView<'a>| is_for(at.device, view.node) != Some(false);
                at.slice.nodes != SliceNodes::PerDevice || views.iter().any(is_for)
            });
        }
        found
    }

    /// Number of free devices, pool by pool; a device counts once, seen from wherever.
    pub(super) fn free(
        &self,
        choice: &Choice<'_>,
        usage: Usage<'_, '_>,
        state: &ClusterState<'_>,
    ) -> FreeDevices {
        let mut free = FreeDevices::default();
        let mut seen = HashSet::default();
        for (pool, devices) in &self.pools {
            let mut range = Range::exactly(0);
            for (place, answer) in devices {
                let is_free = is_free(choice, pool, *place, usage, state);
                if is_free == Candidacy::No || !seen.insert(state.at(*place).identity) {
                    continue;
                }
                range = range.plus(match (*answer).min(is_free) {
                    Candidacy::Yes => Range::exactly(1),
                    Candidacy::Perhaps | Candidacy::No => Range::up_to(1),
                });
            }
            free.by_pool.insert(pool.place, range);
        }
        free
    }
}

/// Number of free devices in each pool, by its place.
#[derive(Debug, Default)]
pub(super) struct FreeDevices {
    by_pool: HashMap<u32, Range>,
}

impl FreeDevices {
    /// All of them.
    pub(super) fn total(&self) -> Range {
        self.by_pool.values().copied().sum()
    }

    /// All of them, with the pools that `recounted` has counted otherwise.
    pub(super) fn total_with(&self, recounted: &Self) -> Range {
        let kept: Range = self
            .by_pool
            .iter()
            .filter(|(place, _)| !recounted.by_pool.contains_key(place))
            .map(|(_, range)| *range)
            .sum();
        kept.plus(recounted.total())
    }
}

/// Tells if a device fits the choice, for some node, in use or not.
fn fits(choice: &Choice<'_>, place: u32, state: &ClusterState<'_>) -> Candidacy {
    if state.is_blocked(place, &choice.terms.tolerations) {
        return Candidacy::No;
    }
    let reached = reached(place, state);
    match choice.fits(place, state) {
        Ok(true) => reached,
        Ok(false) => Candidacy::No,
        // Not every failure is one of Kubernetes: what this crate cannot evaluate may choose the device there.
        Err(_) => reached.min(Candidacy::Perhaps),
    }
}

/// Tells if some node can use the device, which is in a pool in reach.
pub(super) fn reached(place: u32, state: &ClusterState<'_>) -> Candidacy {
    let at = state.at(place);
    match at.slice.nodes {
        SliceNodes::One(_) | SliceNodes::Selected(_) | SliceNodes::Several => Candidacy::Yes,
        SliceNodes::PerDevice => {
            let answers = state
                .views
                .iter()
                .map(|view| match is_for(at.device, view.node) {
                    Some(true) => Candidacy::Yes,
                    Some(false) => Candidacy::No,
                    None => Candidacy::Perhaps,
                });
            answers.max().unwrap_or(Candidacy::No)
        }
    }
}

/// Tells if no claim has the device, or enough of it is left.
pub(super) fn is_free(
    choice: &Choice<'_>,
    pool: &Pool<'_>,
    place: u32,
    usage: Usage<'_, '_>,
    state: &ClusterState<'_>,
) -> Candidacy {
    let at = state.at(place);
    if !choice.terms.admin_access && usage.is_unavailable(at.identity, at.device, state) {
        return Candidacy::No;
    }
    // Shares can be left of a device that is no longer shareable.
    let is_whole = !usage.is_shared(at.identity);
    let left = if is_whole && takes_all(&choice.terms.capacity, at.device) {
        Ok(true)
    } else {
        let names = state.capacity_names(place);
        taken(&choice.terms.capacity, at.device, names).and_then(|taken| {
            taken.map_or(Ok(false), |taken| {
                is_left(&taken, |name| usage.consumed(at.identity, name))
            })
        })
    };
    match left {
        Ok(true) => {}
        Ok(false) => return Candidacy::No,
        Err(_) => return Candidacy::Perhaps,
    }
    let consumes = at
        .device
        .terms
        .as_ref()
        .is_some_and(|terms| !terms.consumes.is_empty());
    let is_paid = at.device.allow_multiple_allocations && usage.is_shared(at.identity);
    if !consumes || is_paid {
        return Candidacy::Yes;
    }
    // For this device alone, as if the claim had chosen nothing else: the count is a bound from above.
    match AvailableCounters::default().take(pool, at.device, usage, state) {
        Ok(true) => Candidacy::Yes,
        Ok(false) => Candidacy::No,
        Err(_) => Candidacy::Perhaps,
    }
}

/// A constraint, with what the devices have that were chosen so far.
#[derive(Clone, Debug)]
pub(super) struct Constraint<'a> {
    constraint: &'a DeviceConstraint,
    found: Vec<&'a AttributeValue>,
    /// True if versions are compared as such, and values that cannot be compared are an error (since 1.38).
    compares_versions: bool,
}

/// For which request a device is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstraintRequest<'a> {
    pub(super) request: &'a str,
    pub(super) alternative: Option<&'a str>,
}

impl<'a> Constraint<'a> {
    pub(super) fn new(constraint: &'a DeviceConstraint, semantics: &Semantics) -> Self {
        Self {
            constraint,
            found: Vec::new(),
            compares_versions: semantics.allocates_as_1_38,
        }
    }

    /// Takes a device of `driver` into account, unless it does not go with the others.
    ///
    /// Upstream: `matchAttributeConstraint.add` and `distinctAttributeConstraint.add`.
    pub(super) fn add(
        &mut self,
        request: ConstraintRequest<'_>,
        driver: &str,
        device: &'a Device,
    ) -> Result<bool, Unknown> {
        if !self.is_about(request) {
            return Ok(true);
        }
        let name = match &self.constraint.rule {
            ConstraintRule::Same(name) | ConstraintRule::Distinct(name) => name,
            // `demands` has answered "unknown" for such a claim before a search begins.
            ConstraintRule::Unknown => return Ok(false),
        };
        // A device without the attribute satisfies no constraint on it, in upstream too.
        let Some(value) = attribute(name, driver, device) else {
            return Ok(false);
        };
        if self.compares_versions && !is_comparable(value) {
            return Err(Unknown::failure(format!(
                "attribute {name} of device {} has a value that constraints cannot compare",
                device.name
            )));
        }
        let goes = match &self.constraint.rule {
            ConstraintRule::Same(_) => {
                let first = self.found.first();
                // The first device sets the value, whatever its type; values are compared from the second on.
                first.is_none_or(|first| is_scalar(value) && self.is_equal(first, value))
            }
            ConstraintRule::Distinct(_) => {
                let is_new = || !self.found.iter().any(|other| self.is_equal(other, value));
                self.found.is_empty() || (is_scalar(value) && is_new())
            }
            ConstraintRule::Unknown => false,
        };
        if goes {
            self.found.push(value);
        }
        Ok(goes)
    }

    fn is_equal(&self, one: &AttributeValue, other: &AttributeValue) -> bool {
        match (one, other) {
            (AttributeValue::Version(one), AttributeValue::Version(other))
                if self.compares_versions =>
            {
                // The part after a `+` does not count.
                let (one, other) = (Version::parse(one), Version::parse(other));
                let order = one.zip(other).map(|(one, other)| one.order(&other));
                order.is_some_and(Ordering::is_eq)
            }
            _ => one == other,
        }
    }

    /// Forgets the device that was added last for the request.
    pub(super) fn remove(&mut self, request: ConstraintRequest<'_>) {
        if self.is_about(request) {
            // Devices are given back in the reverse order of choosing, so that the last value is the one of this
            // device.
            self.found.pop();
        }
    }

    fn is_about(&self, request: ConstraintRequest<'_>) -> bool {
        let requests = &self.constraint.requests;
        // A constraint names a request with all its alternatives, or one alternative as REQUEST/ALTERNATIVE.
        let full = request
            .alternative
            .map(|alternative| format!("{}/{alternative}", request.request));
        requests.is_empty()
            || requests.iter().any(|name| {
                **name == *request.request || full.as_deref().is_some_and(|full| **name == *full)
            })
    }
}

/// Lists can be compared only behind a gate that is off by default up to 1.38.
fn is_scalar(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Int(_)
        | AttributeValue::Bool(_)
        | AttributeValue::String(_)
        | AttributeValue::Version(_) => true,
        AttributeValue::Ints(_)
        | AttributeValue::Bools(_)
        | AttributeValue::Strings(_)
        | AttributeValue::Versions(_)
        | AttributeValue::Unknown => false,
    }
}

/// True if constraints of 1.38 compare the value: no list, and no version that is not valid.
fn is_comparable(value: &AttributeValue) -> bool {
    let is_invalid =
        matches!(value, AttributeValue::Version(text) if Version::parse(text).is_none());
    is_scalar(value) && !is_invalid
}

/// The attribute by its full name, or by the short one where the domain is the driver's.
///
/// Upstream: `lookupAttribute`.
fn attribute<'a>(name: &str, driver: &str, device: &'a Device) -> Option<&'a AttributeValue> {
    if let Some(value) = device.attributes.get(name) {
        return Some(value);
    }
    let (domain, short) = name.split_once('/')?;
    device.attributes.get(short).filter(|_| domain == driver)
}

/// Limit on evaluations of expressions for one answer; beyond it results are unknown.
//
// Any user who may create claims adds expressions, and drivers add devices: their product has no other bound.
const EVALUATIONS: u32 = 400_000;

/// An expression, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ExpressionPlace(u32);

/// Expressions, each compiled once and evaluated once for each device.
#[derive(Debug, Default)]
pub(super) struct ExpressionCache<'a> {
    // Cells, since answers are found while searches share the state; an answer is computed on one thread.
    places: RefCell<HashMap<&'a str, ExpressionPlace>>,
    compiled: RefCell<Vec<Result<DeviceExpression, ExpressionError>>>,
    answers: RefCell<HashMap<(ExpressionPlace, u32), Result<bool, Unknown>>>,
    evaluated: Cell<u32>,
}

impl<'a> ExpressionCache<'a> {
    /// The place of an expression.
    pub(super) fn expression(&self, text: &'a str) -> ExpressionPlace {
        if let Some(known) = self.places.borrow().get(text) {
            return *known;
        }
        let mut compiled = self.compiled.borrow_mut();
        let place = ExpressionPlace(u32::try_from(compiled.len()).unwrap_or(u32::MAX));
        // The scheduler compiles with everything that stored expressions may use, whatever version or gate admitted
        // them.
        compiled.push(DeviceExpression::compile(text));
        self.places.borrow_mut().insert(text, place);
        place
    }

    /// True if the expression selects the device at `place`.
    ///
    /// # Errors
    ///
    /// Why that is not known: where it fails for the device, upstream gives up the whole attempt.
    pub(super) fn selects(
        &self,
        expression: ExpressionPlace,
        place: u32,
        driver: &DriverName,
        device: &Device,
    ) -> Result<bool, Unknown> {
        // An expression sees the device alone, neither node nor claim, so that its result holds for all of them.
        // The place and not the identity is the key: two generations of a device may differ in their attributes.
        if let Some(known) = self.answers.borrow().get(&(expression, place)) {
            return known.clone();
        }
        let evaluated = self.evaluated.get().saturating_add(1);
        if evaluated > EVALUATIONS {
            let why = "there are too many devices and expressions to evaluate";
            return Err(why.to_owned().into());
        }
        self.evaluated.set(evaluated);
        let answer = match &self.compiled.borrow()[expression.0 as usize] {
            Ok(compiled) => compiled
                .matches(driver, device)
                .map_err(|error| unknown(&error)),
            Err(error) => Err(unknown(error)),
        };
        self.answers
            .borrow_mut()
            .insert((expression, place), answer.clone());
        answer
    }
}

fn unknown(error: &ExpressionError) -> Unknown {
    let why = error.to_string();
    match error {
        // Only an error at run time is certain to fail in Kubernetes as well; the others say that this crate
        // cannot tell.
        ExpressionError::Runtime { .. } => Unknown::failure(why),
        ExpressionError::TooLong { .. }
        | ExpressionError::Compile { .. }
        | ExpressionError::Unsupported { .. }
        | ExpressionError::Unpublished => why.into(),
    }
}
