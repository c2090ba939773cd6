//! The root cause that keeps a claim waiting, as far as devices go.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::allocation_session::AllocationSession;
use super::cluster_state::{ClusterState, IgnoredTaints};
use super::completeness::Unknown;
use super::demand::{Demand, SearchStop, demands};
use super::exclusions::ChoiceDiagnosis;
use super::pending_claim::{PendingClaim, is_placeable_without, placeability};
use super::replacement::Placeability;
use super::search::{self, SearchTask};
use super::taint_owner::TaintOwner;
use super::usage::{Holdings, Usage};
use crate::model::{ClaimSpec, DeviceId, ObjectName, RequestKind, ResourceClaim};

/// How many taint owners are tried one by one, the most frequent first.
//
// Each trial is an allocation on all nodes. The most frequent come first, since they keep away most devices.
const MAX_OWNERS: usize = 16;
/// How many combinations of taints are tried.
//
// Subsets grow exponentially; without an answer the report names all of them together, which is true too.
const MAX_TRIALS: usize = 500;
/// Search budget of one such trial.
//
// As much as a node gets in `allocation_session`; all trials together take 25 million steps at the most.
const STEPS: u64 = 50_000;

/// What keeps a claim waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootCause {
    /// Nothing about devices: on some node there are all that it needs.
    Elsewhere,
    /// Any one of these taints: without it there are all that it needs.
    Taints(Vec<TaintOwner>),
    /// Several taints at once: without these there are all that it needs, and without fewer of them
    /// there are not. None where too many had to be tried to find out which.
    TaintCombination(Vec<TaintOwner>),
    /// Any one of these constraints of the claim, by its place: without it there are all that it needs.
    Constraints(Vec<usize>),
    /// Any one of these constraints of the claim, by its place, and taints: without both there are all that it needs,
    /// and without one of both there are not.
    ConstraintsAndTaints(Vec<usize>),
    /// There are too few devices, with taints and without.
    Devices,
    /// There is no such device class.
    NoClass(ObjectName),
    /// Expressions that fail: the scheduler gives up with an error where it comes to them.
    Fails(BTreeSet<Unknown>),
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// What keeps the claim waiting, for which there are these `choices`.
pub(super) fn root_cause<'a>(
    waiting: &PendingClaim<'a>,
    state: &mut ClusterState<'a>,
    choices: &[ChoiceDiagnosis],
) -> RootCause {
    if let Some(class) = missing_class(waiting.claim, state) {
        return RootCause::NoClass(class);
    }
    let all = Holdings::of(&waiting.snapshot.claims, state);
    let mut session = AllocationSession::new(state, &all, &all);
    let alone = session.reallocation(waiting.claim).placeability;
    let failures = session.failures(waiting.claim);
    // Before the verdict: an error on one node ends the scheduler's attempt, so that another node is no help.
    if !failures.is_empty() {
        return RootCause::Fails(failures);
    }
    match alone {
        Placeability::Placeable => return RootCause::Elsewhere,
        Placeability::Unknown(why) => return RootCause::Unknown(why),
        Placeability::Unplaceable => {}
    }
    // The order of the questions is that of the way out: if it does not help that all taints are gone, no taint is
    // the cause.
    match placeability_without(IgnoredTaints::Everything, waiting, state, &all) {
        Placeability::Placeable => {}
        Placeability::Unknown(why) => return RootCause::Unknown(why),
        Placeability::Unplaceable => {
            let alone = constraints(&IgnoredTaints::NOTHING, waiting);
            if !alone.is_empty() {
                return RootCause::Constraints(alone);
            }
            return match constraints(&IgnoredTaints::Everything, waiting) {
                none if none.is_empty() => RootCause::Devices,
                some => RootCause::ConstraintsAndTaints(some),
            };
        }
    }
    // Only devices against which nothing but taints speaks can be won by removing some; `owners` has the taints of
    // those.
    let tried = owners(choices).into_iter().take(MAX_OWNERS);
    let found: Vec<TaintOwner> = tried
        .filter(|owner| {
            let ignorable = state.taint_of(owner);
            ignorable.is_some_and(|taint| {
                let ignored = IgnoredTaints::Those([taint].into());
                let found = placeability_without(ignored, waiting, state, &all);
                found == Placeability::Placeable
            })
        })
        .collect();
    if !found.is_empty() {
        return RootCause::Taints(found);
    }
    match fewest(waiting, state, choices, &all) {
        only if only.len() == 1 => RootCause::Taints(only),
        several => RootCause::TaintCombination(several),
    }
}

/// The constraints each of which alone keeps the claim from being placed without those taints, by place.
fn constraints(ignored: &IgnoredTaints, waiting: &PendingClaim<'_>) -> Vec<usize> {
    let Some(spec) = waiting.claim.spec.as_deref() else {
        return Vec::new();
    };
    let is_alone = |place: &usize| {
        let mut spec = spec.clone();
        spec.constraints.remove(*place);
        let claim = ResourceClaim {
            spec: Some(spec.into()),
            ..waiting.claim.clone()
        };
        let unconstrained = PendingClaim {
            claim: &claim,
            ..*waiting
        };
        is_placeable_without(ignored.clone(), &unconstrained)
    };
    (0..spec.constraints.len()).filter(is_alone).collect()
}

/// The first class that a request names and that is not there.
fn missing_class(claim: &ResourceClaim, state: &ClusterState<'_>) -> Option<ObjectName> {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let mut classes = requests.flat_map(|request| match &request.kind {
        RequestKind::Exactly(terms) => vec![&terms.class],
        RequestKind::FirstAvailable(all) => all.iter().map(|(_, terms)| &terms.class).collect(),
        RequestKind::Unknown => Vec::new(),
    });
    let missing = classes.find(|class| state.class(class.as_str()).is_none());
    missing.filter(|_| state.completeness.classes).cloned()
}

fn placeability_without<'a>(
    ignored: IgnoredTaints,
    waiting: &PendingClaim<'a>,
    state: &mut ClusterState<'a>,
    all: &Holdings<'a>,
) -> Placeability {
    state.ignored = ignored;
    let found = placeability(waiting, state, all);
    state.ignored = IgnoredTaints::NOTHING;
    found
}

/// Whose the taints are against which nothing else speaks, the most frequent first.
fn owners(choices: &[ChoiceDiagnosis]) -> Vec<TaintOwner> {
    let mut counts: BTreeMap<&TaintOwner, usize> = BTreeMap::new();
    for (_, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        // One exclusion that is no taint leaves the device out: no removal of taints would win it.
        let owners: Option<BTreeSet<&TaintOwner>> = exclusions
            .iter()
            .map(|exclusion| Some(exclusion.taint()?.1))
            .collect();
        for owner in owners.into_iter().flatten() {
            let count = counts.entry(owner).or_default();
            *count = count.saturating_add(1);
        }
    }
    let mut owners: Vec<_> = counts.into_iter().collect();
    owners.sort_by_key(|(owner, count)| (std::cmp::Reverse(*count), *owner));
    owners.into_iter().map(|(owner, _)| owner.clone()).collect()
}

/// The fewest taints without which the claim can be placed on some node; none where nobody has found them
/// in the end.
fn fewest<'a>(
    waiting: &PendingClaim<'a>,
    state: &mut ClusterState<'a>,
    choices: &[ChoiceDiagnosis],
    all: &Holdings<'a>,
) -> Vec<TaintOwner> {
    let Some(spec) = waiting.claim.spec.as_deref() else {
        return Vec::new();
    };
    let Ok(demands) = demands(spec, state) else {
        return Vec::new();
    };
    let mut on_nodes = owners_by_view(state, choices);
    // Trials are bounded for all nodes together; those with the fewest taints take the fewest.
    on_nodes.sort_by_key(|(view, owners)| (owners.len(), *view));
    let mut trial = RemovalTrial {
        state,
        spec,
        demands: &demands,
        all,
        left: MAX_TRIALS,
    };
    let mut best: Option<BTreeSet<TaintOwner>> = None;
    for (view, owners) in on_nodes {
        if let Some(found) = trial.fewest(view, owners)
            && best.as_ref().is_none_or(|best| found.len() < best.len())
        {
            best = Some(found);
        }
    }
    best.into_iter().flatten().collect()
}

/// For each view whose taints they are against which nothing else speaks.
fn owners_by_view(
    state: &ClusterState<'_>,
    choices: &[ChoiceDiagnosis],
) -> Vec<(usize, BTreeSet<TaintOwner>)> {
    let mut of_device: BTreeMap<&DeviceId, Vec<&TaintOwner>> = BTreeMap::new();
    for (device, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        let owners: Option<Vec<&TaintOwner>> = exclusions
            .iter()
            .map(|exclusion| Some(exclusion.taint()?.1))
            .collect();
        of_device
            .entry(device)
            .or_default()
            .extend(owners.into_iter().flatten());
    }
    let views = state.views.iter().enumerate();
    let known = views.filter(|(_, view)| !view.is_doubtful);
    let owners = known.map(|(place, view)| {
        let devices = view.pools.iter().flat_map(|pool| &pool.devices);
        let owners = devices.flat_map(|device| {
            let at = state.at(*device);
            let owners = of_device.get(&at.slice.id_of(at.device));
            owners.into_iter().flatten().map(|owner| (*owner).clone())
        });
        (place, owners.collect())
    });
    owners.collect()
}

/// Tries what helps on one node.
struct RemovalTrial<'t, 'a> {
    state: &'t mut ClusterState<'a>,
    spec: &'a ClaimSpec,
    demands: &'t [Demand<'a>],
    all: &'t Holdings<'a>,
    /// So often it may still be tried.
    left: usize,
}

impl RemovalTrial<'_, '_> {
    /// The fewest of the taints without which the claim can be placed on the node of that view.
    fn fewest(
        &mut self,
        view: usize,
        owners: BTreeSet<TaintOwner>,
    ) -> Option<BTreeSet<TaintOwner>> {
        if owners.is_empty() || !self.helps(view, &owners)? {
            return None;
        }
        // Greedy first: what is left then is minimal, none of it can stay. It takes as many trials as owners.
        let mut needed = owners.clone();
        for owner in &owners {
            let mut fewer = needed.clone();
            fewer.remove(owner);
            if self.helps(view, &fewer)? {
                needed = fewer;
            }
        }
        // Another combination may be smaller. Sizes ascend, so that the first that helps is the smallest.
        // Single taints were tried by the caller.
        let all: Vec<TaintOwner> = owners.into_iter().collect();
        for size in 2..needed.len() {
            match self.of_size(view, size, BTreeSet::new(), &all) {
                Some(Some(found)) => return Some(found),
                Some(None) => {}
                None => break,
            }
        }
        Some(needed)
    }

    /// `size` of the taints, with those `chosen` before, that help; absent where there is no time left.
    fn of_size(
        &mut self,
        view: usize,
        size: usize,
        chosen: BTreeSet<TaintOwner>,
        mut rest: &[TaintOwner],
    ) -> Option<Option<BTreeSet<TaintOwner>>> {
        if chosen.len() == size {
            return Some(self.helps(view, &chosen)?.then_some(chosen));
        }
        while let [first, others @ ..] = rest {
            let mut more = chosen.clone();
            more.insert(first.clone());
            if let Some(found) = self.of_size(view, size, more, others)? {
                return Some(Some(found));
            }
            rest = others;
        }
        Some(None)
    }

    /// Whether the claim can be placed there without the taints; absent where there is no time left, or where it is
    /// unknown.
    fn helps(&mut self, view: usize, owners: &BTreeSet<TaintOwner>) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        let ignored = owners.iter().filter_map(|owner| self.state.taint_of(owner));
        self.state.ignored = IgnoredTaints::Those(ignored.collect());
        // A budget for each trial: one on which the search explodes must not decide the others.
        let steps = Cell::new(STEPS);
        let nothing = Holdings::default();
        let answer = search::is_placeable(SearchTask {
            state: self.state,
            view: self.state.views.get(view)?,
            usage: Usage {
                all: self.all,
                own: &nothing,
            },
            spec: self.spec,
            demands: self.demands,
            steps: &steps,
            required: None,
        });
        self.state.ignored = IgnoredTaints::NOTHING;
        match answer {
            Ok(helps) => Some(helps),
            Err(SearchStop::Unknown(_)) => None,
            Err(SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany) => {
                Some(false)
            }
        }
    }
}
