//! Requests of a claim as the allocator evaluates them on a node.

use super::candidate_devices::ExpressionPlace;
use super::candidate_devices::{FittingDevices, FreeDevices};
use super::capacity::{CapacityError, is_left, taken};
use super::cluster_state::ClusterState;
use super::pool::Unknown;
use super::pool::{NodeView, PoolStatus, is_for};
use crate::model::{
    ClaimSpec, ConstraintRule, Device, DeviceAmount, DeviceClass, RequestKind, RequestTerms,
    SliceNodes,
};

/// The most devices that a claim gets.
///
/// Upstream: `AllocationResultsMaxSize`.
pub(super) const MOST_DEVICES: usize = 32;

/// A request, with its alternatives or the one thing that it asks for.
#[derive(Debug)]
pub(super) struct Demand<'a> {
    pub(super) request: &'a str,
    pub(super) choices: Vec<Choice<'a>>,
}

/// One way to serve a request.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    /// Name of the alternative, where there are several.
    pub(super) alternative: Option<&'a str>,
    pub(super) terms: &'a RequestTerms,
    /// Those of the class, then those of the request.
    pub(super) expressions: Vec<(ExpressionPlace, ExpressionOwner)>,
}

/// Owner of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpressionOwner {
    Class,
    Request,
}

/// An expression that does not choose a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpressionMismatch {
    pub(super) whose: ExpressionOwner,
    /// Its place among those of the class, or of the request.
    pub(super) selector: usize,
}

/// An expression that may or may not choose a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpressionFailure {
    /// The expression.
    pub(super) at: ExpressionMismatch,
    /// Reason.
    pub(super) why: Unknown,
}

/// Devices that a choice needs on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NeededDevices {
    /// So many.
    Some(usize),
    /// These, each with the place of its pool in the view.
    All(Vec<(usize, u32)>),
}

impl NeededDevices {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Some(count) => *count,
            Self::All(devices) => devices.len(),
        }
    }
}

/// Why a search on a node ends at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SearchStop {
    /// The allocator gives up there, whatever claims hold.
    No,
    /// The allocator gives up there, as things are.
    Conflict,
    /// The allocator skips the node, whatever claims hold.
    Node,
    /// The allocator's result is unknown.
    Unknown(Unknown),
    /// It would be more devices than a claim gets.
    TooMany,
}

impl From<String> for SearchStop {
    fn from(why: String) -> Self {
        Self::Unknown(why.into())
    }
}

impl From<Unknown> for SearchStop {
    fn from(why: Unknown) -> Self {
        Self::Unknown(why)
    }
}

impl From<CapacityError> for SearchStop {
    fn from(error: CapacityError) -> Self {
        Self::Unknown(error.into())
    }
}

/// Demands of a claim, wherever it is placed.
///
/// Upstream: `validateDeviceRequest`, up to the choice of devices.
pub(super) fn demands<'a>(
    spec: &'a ClaimSpec,
    state: &ClusterState<'a>,
) -> Result<Vec<Demand<'a>>, Unknown> {
    if !state.completeness.classes {
        return Err(Unknown::unread("the list of DeviceClasses is incomplete"));
    }
    if spec
        .constraints
        .iter()
        .any(|one| one.rule == ConstraintRule::Unknown)
    {
        return Err("the claim has a constraint of an unknown kind"
            .to_owned()
            .into());
    }
    let is_in_parts = |device: &Device| {
        let mut terms = device.terms.iter();
        device.allow_multiple_allocations || terms.any(|terms| !terms.consumes.is_empty())
    };
    let mut devices = state.devices.iter();
    if !state.semantics.models_parts_of_devices && devices.any(|at| is_in_parts(at.device)) {
        let why = "shared devices and partitions are not modelled before Kubernetes 1.36";
        return Err(why.to_owned().into());
    }
    let requests = spec.requests.iter();
    requests
        .map(|request| {
            let choice = |alternative, terms| choice(alternative, terms, state);
            let choices = match &request.kind {
                RequestKind::Exactly(terms) => vec![choice(None, terms)?],
                // All alternatives are validated before the first is tried, as upstream: a class that is missing
                // for the second fails the claim although the first would do.
                RequestKind::FirstAvailable(all) => all
                    .iter()
                    .map(|(name, terms)| choice(Some(&**name), terms))
                    .collect::<Result<_, _>>()?,
                RequestKind::Unknown => {
                    let what = format!("request {} is of an unknown kind", request.name);
                    return Err(what.into());
                }
            };
            Ok(Demand {
                request: &request.name,
                choices,
            })
        })
        .collect()
}

fn choice<'a>(
    alternative: Option<&'a str>,
    terms: &'a RequestTerms,
    state: &ClusterState<'a>,
) -> Result<Choice<'a>, Unknown> {
    if terms.is_more {
        return Err("the claim requests devices in an unknown way"
            .to_owned()
            .into());
    }
    if let DeviceAmount::Unknown(mode) = &terms.amount {
        return Err(format!("allocationMode {mode} is unknown").into());
    }
    let Some(class) = state.class(terms.class.as_str()) else {
        return Err(format!("DeviceClass {} not found", terms.class).into());
    };
    let mut choice = Choice::of_class(class, terms, state);
    choice.alternative = alternative;
    // The class comes first, as upstream: for a device that its expressions refuse, no expression of the request
    // can fail.
    let expressions = terms.expressions.iter();
    let of_request =
        expressions.map(|text| (state.fits.expression(text), ExpressionOwner::Request));
    choice.expressions.extend(of_request);
    Ok(choice)
}

impl<'a> Choice<'a> {
    /// Choice of devices that fit the class alone.
    pub(super) fn of_class<'t>(
        class: &'a DeviceClass,
        terms: &'t RequestTerms,
        state: &ClusterState<'a>,
    ) -> Choice<'t> {
        let expressions = class.expressions.iter();
        let of_class =
            expressions.map(|text| (state.fits.expression(text), ExpressionOwner::Class));
        Choice {
            alternative: None,
            terms,
            expressions: of_class.collect(),
        }
    }
}

impl Choice<'_> {
    /// True if the device fits class and expressions.
    ///
    /// Upstream: `selectorsMatch`.
    pub(super) fn fits(&self, place: u32, state: &ClusterState<'_>) -> Result<bool, Unknown> {
        let refusal = self
            .refusal(place, state)
            .map_err(|trouble| self.describe(&trouble))?;
        Ok(refusal.is_none())
    }

    /// Reason, with the owner of the expression.
    pub(super) fn describe(&self, trouble: &ExpressionFailure) -> Unknown {
        trouble.why.with_context(|why| match trouble.at.whose {
            ExpressionOwner::Class => format!(
                "a selector of device class {} fails: {why}",
                self.terms.class
            ),
            ExpressionOwner::Request => format!("a selector of a request fails: {why}"),
        })
    }

    /// The first expression that does not choose the device, if there is one.
    pub(super) fn refusal(
        &self,
        place: u32,
        state: &ClusterState<'_>,
    ) -> Result<Option<ExpressionMismatch>, ExpressionFailure> {
        let at = state.at(place);
        let mut of_class = 0_usize;
        for (number, (expression, whose)) in self.expressions.iter().enumerate() {
            let answer = state
                .fits
                .selects(*expression, place, &at.slice.driver, at.device);
            let selector = match whose {
                ExpressionOwner::Class => {
                    of_class = number.saturating_add(1);
                    number
                }
                ExpressionOwner::Request => number.saturating_sub(of_class),
            };
            let at = ExpressionMismatch {
                whose: *whose,
                selector,
            };
            if !answer.map_err(|why| ExpressionFailure { at, why })? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// True if the device fits and is for the node.
    ///
    /// Upstream: `isSelectable`.
    pub(super) fn selects(
        &self,
        place: u32,
        view: &NodeView<'_>,
        state: &ClusterState<'_>,
    ) -> Result<bool, SearchStop> {
        if !self.fits(place, state)? {
            return Ok(false);
        }
        let at = state.at(place);
        match at.slice.nodes {
            SliceNodes::PerDevice => is_for(at.device, view.node)
                .ok_or_else(|| "the nodes of some devices are unknown".to_owned().into()),
            SliceNodes::One(_) | SliceNodes::Selected(_) | SliceNodes::Several => Ok(true),
        }
    }

    /// Number of devices, or the devices, that it needs on the node of `view`.
    ///
    /// Upstream: `validateDeviceRequest`.
    pub(super) fn needed(
        &self,
        view: &NodeView<'_>,
        state: &ClusterState<'_>,
    ) -> Result<NeededDevices, SearchStop> {
        let count = match &self.terms.amount {
            DeviceAmount::Exactly(count) => usize::try_from(*count).unwrap_or_default(),
            // Not a "no" for something unknown: `choice` has answered "unknown" for such a claim before any search.
            DeviceAmount::Unknown(_) => return Err(SearchStop::No),
            DeviceAmount::All => return self.all(view, state),
        };
        Ok(NeededDevices::Some(count))
    }

    fn all(
        &self,
        view: &NodeView<'_>,
        state: &ClusterState<'_>,
    ) -> Result<NeededDevices, SearchStop> {
        let mut all = Vec::new();
        for (number, pool) in view.pools.iter().enumerate() {
            // "All" of a pool that is not whole is not known.
            if pool.status != PoolStatus::Usable {
                return Err(if state.semantics.allocates_as_1_38 {
                    SearchStop::Node
                } else {
                    SearchStop::No
                });
            }
            for place in &pool.devices {
                if !self.selects(*place, view, state)? {
                    continue;
                }
                let device = state.at(*place).device;
                if device.allow_multiple_allocations && !state.semantics.all_has_full_devices {
                    let why = "before Kubernetes 1.37, a request for all devices leaves out shared devices that are full";
                    return Err(SearchStop::Unknown(why.to_owned().into()));
                }
                let names = state.capacity_names(*place);
                let Some(taken) = taken(&self.terms.capacity, device, names)? else {
                    continue;
                };
                // Devices in use belong to "all" too. The search then fails on them, as upstream: a request for
                // all devices is not served by those that happen to be free.
                if is_left(&taken, |_| Some(0))? {
                    all.push((number, *place));
                }
            }
        }
        Ok(NeededDevices::All(all))
    }
}

/// Claims that ask for the same.
pub(super) struct ClaimGroup<'a> {
    pub(super) spec: &'a ClaimSpec,
    pub(super) demands: Result<Vec<Demand<'a>>, Unknown>,
    /// Fitting devices of each choice, in the order of the demands.
    pub(super) fitting: Vec<(FittingDevices<'a>, FreeDevices)>,
    /// Search result for such a claim on each node, with nothing given back.
    pub(super) outcomes: Vec<Option<Result<bool, SearchStop>>>,
    /// The nodes of which it is not known that such a claim cannot be placed there with nothing given back, in their order.
    pub(super) open: Vec<usize>,
}
