//! Reallocation of every affected claim, with one budget and shared intermediate results.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::candidate_devices::{FittingDevices, pools_in_reach};
use super::cluster_state::ClusterState;
use super::counters::{Holdings, Usage};
use super::demand::ClaimGroup;
use super::demand::{SearchStop, demands};
use super::pending_claim::available;
use super::pending_claim::{ClaimReallocation, Placeability, Replacement, RequestCandidates};
use super::pod_nodes::{AllowedView, NodeFilter, PodNodes};
use super::pool::incomplete_pools;
use super::pool::{Completeness, SearchBasis, Unknown};
use super::pool::{NodeView, Pool, PoolStatus};
use super::search::{SearchTask, is_placeable};
use crate::claims::{Templates, template_of};
use crate::impact::{Impact, PodImpact};
use crate::model::{ClaimSpec, DeviceAmount, NamespacedName, ResourceClaim, Snapshot};
use crate::select::ProposedTaint;

/// Search budget of one answer, in steps; a search that exceeds it answers "unknown".
//
// Allocation with constraints is a combinatorial search. Upstream ends it by a timeout of the scheduler; steps
// are counted instead, since the engine has no clock and the same input has to give the same answer.
const STEPS: u64 = 5_000_000;
/// Search budget of one claim on one node.
//
// A node on which the search explodes must not use up what the others need: most claims that can be placed
// at all are placed in a few steps on the first node that fits.
const STEPS_OF_A_NODE: u64 = 50_000;

/// Reallocation of the claims whose pods the proposed taints of `impact` evict, on the nodes that `filter` allows.
pub fn replacement<'a>(
    snapshot: &'a Snapshot,
    proposed: &[ProposedTaint],
    impact: &Impact<'_>,
    filter: NodeFilter,
    basis: SearchBasis<'_>,
) -> Replacement<'a> {
    let affected = affected(snapshot, impact, basis.completeness);
    let state = ClusterState::new(snapshot, proposed, basis);
    let all = Holdings::of(&snapshot.claims, &state);
    let own = Holdings::of(affected.iter().map(|lost| lost.claim), &state);
    let pod_nodes = PodNodes::new(snapshot, &state, impact, filter);
    let mut session = AllocationSession::new(&state, &all, &own);
    let mut reallocations: Vec<ClaimReallocation<'a>> = affected
        .iter()
        .map(|lost| {
            session.reallocation_on(lost.claim, lost.spec.clone(), pod_nodes.of(lost.claim))
        })
        .collect();
    // Pods that the same taints evict leave at the same time, and their devices are free then.
    let gone: BTreeSet<&NamespacedName> = evicted(impact)
        .flat_map(|pod| &pod.claims)
        .map(|used| used.claim)
        .collect();
    let others = snapshot.claims.iter();
    let others = others.filter(|claim| !gone.contains(&claim.name));
    let left = Holdings::of(others, &state);
    let nothing = Holdings::default();
    let mut emptied = AllocationSession::new(&state, &left, &nothing);
    for (found, lost) in reallocations.iter_mut().zip(&affected) {
        if found.placeability == Placeability::Unplaceable
            && let Ok(spec) = lost.spec
        {
            let place = emptied.group(spec);
            found.placeability = emptied.placeability(place, &nothing, pod_nodes.of(found.claim));
        }
    }
    Replacement {
        available: available(impact, &state, &all),
        incomplete_pools: incomplete_pools(snapshot, impact),
        claims: reallocations,
    }
}

/// The pods that leave.
fn evicted<'i, 'a>(impact: &'i Impact<'a>) -> impl Iterator<Item = &'i PodImpact<'a>> {
    impact.pods.iter().filter(|pod| pod.is_evicted())
}

/// A claim through which pods lose devices.
struct LostClaim<'a> {
    claim: &'a ResourceClaim,
    /// Spec that replacements ask for: the template's if there is one; or why that is unknown.
    spec: Result<&'a ClaimSpec, Unknown>,
}

/// The claims through which pods lose devices, by namespace and name. A pod that has ended needs no replacement because of
/// its eviction.
fn affected<'a>(
    snapshot: &'a Snapshot,
    impact: &Impact<'_>,
    completeness: Completeness,
) -> Vec<LostClaim<'a>> {
    let templates = Templates::new(snapshot);
    let running = evicted(impact).filter(|pod| !pod.pod.phase.is_terminal());
    let mut specs: BTreeMap<&NamespacedName, Result<Option<&'a ClaimSpec>, Unknown>> =
        BTreeMap::new();
    for pod in running {
        for used in &pod.claims {
            let name = &used.claim.name;
            let spec = specs.entry(used.claim).or_insert(Ok(None));
            if !completeness.templates && template_of(pod.pod, name).is_some() {
                *spec = Err(Unknown::unread("the claim templates were not read"));
            } else if let Ok(spec) = spec {
                *spec = spec.or_else(|| templates.spec(pod.pod, name));
            }
        }
    }
    let mut claims: Vec<_> = snapshot
        .claims
        .iter()
        .filter_map(|claim| {
            let spec = specs.remove(&claim.name)?;
            Some(LostClaim {
                claim,
                spec: spec
                    .and_then(|spec| spec.or(claim.spec.as_deref()).ok_or_else(requests_unread)),
            })
        })
        .collect();
    claims.sort_by_key(|lost| &lost.claim.name);
    claims
}

fn requests_unread() -> Unknown {
    Unknown::from("the requests were not read".to_owned())
}

/// Answers for one claim after the other, and remembers what several have in common.
pub(super) struct AllocationSession<'s, 'a> {
    state: &'s ClusterState<'a>,
    all: &'s Holdings<'a>,
    nothing: Holdings<'a>,
    pools: Vec<Rc<Pool<'a>>>,
    /// The views in which a device plays a part, by its identity, of devices that such claims hold.
    concerned: HashMap<u32, Vec<usize>>,
    /// The pools that know such a device.
    known_in: HashMap<u32, Vec<u32>>,
    groups: Vec<ClaimGroup<'a>>,
    steps: Cell<u64>,
}

impl<'s, 'a> AllocationSession<'s, 'a> {
    /// A session for claims that hold no more devices than `asked`, where `all` is in use.
    pub(super) fn new(
        state: &'s ClusterState<'a>,
        all: &'s Holdings<'a>,
        asked: &Holdings<'a>,
    ) -> Self {
        let mut by_pool: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut concerned: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut known_in: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut pools: BTreeMap<u32, &Rc<Pool<'a>>> = BTreeMap::new();
        // Only views whose pools know a device can change when it is given back. Every other view is searched once
        // for a whole group of claims instead of once for each claim.
        for (view, seen) in state.views.iter().enumerate() {
            for pool in &seen.pools {
                by_pool.entry(pool.place).or_default().push(view);
                pools.insert(pool.place, pool);
            }
        }
        for (place, pool) in pools {
            for device in pool.devices.iter().chain(&pool.elsewhere) {
                let identity = state.at(*device).identity;
                if asked.has(identity) {
                    concerned
                        .entry(identity)
                        .or_default()
                        .extend(&by_pool[&place]);
                    known_in.entry(identity).or_default().push(place);
                }
            }
        }
        Self {
            state,
            all,
            nothing: Holdings::default(),
            pools: pools_in_reach(state),
            concerned,
            known_in,
            groups: Vec::new(),
            steps: Cell::new(STEPS),
        }
    }

    /// Reallocation of the claim, on whatever node.
    pub(super) fn reallocation(&mut self, claim: &'a ResourceClaim) -> ClaimReallocation<'a> {
        let spec = claim.spec.as_deref().ok_or_else(requests_unread);
        self.reallocation_on(claim, spec, None)
    }

    /// Reallocation of the claim's devices for `spec`, on the nodes of these views; absent for all.
    fn reallocation_on(
        &mut self,
        claim: &'a ResourceClaim,
        spec: Result<&'a ClaimSpec, Unknown>,
        views: Option<&[AllowedView]>,
    ) -> ClaimReallocation<'a> {
        let spec = if self.state.completeness.slices {
            spec
        } else {
            Err(Unknown::unread("the list of devices is incomplete"))
        };
        let spec = match spec {
            Ok(spec) => spec,
            Err(why) => {
                return ClaimReallocation {
                    claim,
                    placeability: Placeability::Unknown([why].into()),
                    requests: Vec::new(),
                };
            }
        };
        let place = self.group(spec);
        let own = Holdings::of([claim], self.state);
        ClaimReallocation {
            claim,
            placeability: self.placeability(place, &own, views),
            requests: self.requests(place, &own, views),
        }
    }

    /// The errors with which the allocator ends every attempt for a claim that holds nothing, on one node or another.
    pub(super) fn failures(&mut self, claim: &'a ResourceClaim) -> BTreeSet<Unknown> {
        let Some(spec) = claim.spec.as_deref() else {
            return BTreeSet::new();
        };
        let place = self.group(spec);
        // Of a doubtful node it is not known whether it has the device at all, so that an expression that fails
        // there proves nothing about the scheduler.
        let views = 0..self.state.views.len();
        let known: Vec<usize> = views
            .filter(|view| !self.state.views[*view].is_doubtful)
            .collect();
        let outcomes = known.into_iter().map(|view| self.outcome(place, view));
        let failures =
            outcomes.filter_map(|outcome| match outcome {
                Err(SearchStop::Unknown(why)) => why.is_failure().then_some(why),
                Ok(_)
                | Err(
                    SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany,
                ) => None,
            });
        let mut failures: BTreeSet<Unknown> = failures.collect();
        failures.extend(self.ending(place, None));
        failures
    }

    /// Why the scheduler ends every attempt for a claim of the group, on the nodes of these views: whatever it finds
    /// on others.
    fn ending(&self, place: usize, views: Option<&[AllowedView]>) -> Option<Unknown> {
        if self.state.semantics.allocates_as_1_38 {
            return None;
        }
        let demands = self.groups[place].demands.iter().flatten();
        let mut choices = demands.flat_map(|demand| &demand.choices);
        if !choices.any(|choice| choice.terms.amount == DeviceAmount::All) {
            return None;
        }
        let seen = self.state.views.iter().enumerate();
        let mut seen = seen.filter(|(view, _)| is_allowed(views, *view) == Some(true));
        let is_broken = |view: &NodeView<'_>| {
            let mut pools = view.pools.iter();
            !view.is_doubtful && pools.any(|pool| pool.status != PoolStatus::Usable)
        };
        seen.any(|(_, view)| is_broken(view)).then(|| {
            let why = "a request is for all devices of a node, and a node has an incomplete or invalid pool";
            Unknown::failure(why.to_owned())
        })
    }

    fn group(&mut self, spec: &'a ClaimSpec) -> usize {
        // A linear scan will do: claims come from templates, so that there are few different specs however many
        // claims there are.
        if let Some(known) = self.groups.iter().position(|group| group.spec == spec) {
            return known;
        }
        let demands = demands(spec, self.state);
        let usage = Usage {
            all: self.all,
            own: &self.nothing,
        };
        let choices = demands.iter().flatten().flat_map(|demand| &demand.choices);
        let fitting: Vec<_> = choices
            .map(|choice| {
                let fitting = FittingDevices::new(choice, &self.pools, self.state);
                let free = fitting.free(choice, usage, self.state);
                (fitting, free)
            })
            .collect();
        self.groups.push(ClaimGroup {
            spec,
            demands,
            fitting,
            outcomes: vec![None; self.state.views.len()],
            open: (0..self.state.views.len()).collect(),
        });
        self.groups.len().saturating_sub(1)
    }

    /// Placeability of a claim of the group on the nodes of `views` once it has given back what is its `own`.
    fn placeability(
        &mut self,
        place: usize,
        own: &Holdings<'a>,
        views: Option<&[AllowedView]>,
    ) -> Placeability {
        let found = self.placeability_by_node(place, own, views);
        if found != Placeability::Placeable {
            return found;
        }
        let ending = self.ending(place, views);
        ending.map_or(found, |why| Placeability::Unknown([why].into()))
    }

    /// As [`Self::placeability`], where what is wrong with one node does not matter to the others.
    fn placeability_by_node(
        &mut self,
        place: usize,
        own: &Holdings<'a>,
        views: Option<&[AllowedView]>,
    ) -> Placeability {
        if let Err(unknown) = &self.groups[place].demands {
            return Placeability::Unknown([unknown.clone()].into());
        }
        let mine: BTreeSet<usize> = own
            .devices()
            .filter_map(|device| self.concerned.get(&device))
            .flatten()
            .copied()
            .collect();
        let mut unknown = BTreeSet::new();
        // Its own node first, where most find their place again.
        for view in &mine {
            let outcome = |session: &mut Self| session.search(place, *view, own);
            if self.is_place(*view, views, &mut unknown, outcome) {
                return Placeability::Placeable;
            }
        }
        // Nodes that are ruled out for one claim of the group are not looked at for the others.
        let mut open = std::mem::take(&mut self.groups[place].open);
        let found = open.iter().position(|view| {
            let outcome = |session: &mut Self| session.outcome(place, *view);
            !mine.contains(view) && self.is_place(*view, views, &mut unknown, outcome)
        });
        let mut searched = open[..found.unwrap_or(open.len())].iter();
        if searched.any(|view| self.is_ruled_out(place, *view)) {
            open.retain(|view| !self.is_ruled_out(place, *view));
        }
        self.groups[place].open = open;
        if found.is_some() {
            return Placeability::Placeable;
        }
        if unknown.is_empty() {
            Placeability::Unplaceable
        } else {
            Placeability::Unknown(unknown)
        }
    }

    /// True if a claim can certainly be placed on the nodes of the view, by this outcome of a search; adds to `unknown`
    /// why it may be otherwise. One such node is enough, and what is unknown about others counts only if there is none.
    fn is_place(
        &mut self,
        view: usize,
        views: Option<&[AllowedView]>,
        unknown: &mut BTreeSet<Unknown>,
        outcome: impl FnOnce(&mut Self) -> Result<bool, SearchStop>,
    ) -> bool {
        let Some(is_certain) = is_allowed(views, view) else {
            return false;
        };
        let doubt = match outcome(self) {
            Ok(true) => match self.doubt(view, is_certain) {
                None => return true,
                Some(doubt) => Some(doubt),
            },
            Ok(false)
            | Err(SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany) =>
            {
                let is_doubtful = self.state.views[view].is_doubtful;
                is_doubtful.then(|| self.doubtful_nodes())
            }
            Err(SearchStop::Unknown(why)) => Some(why),
        };
        unknown.extend(doubt);
        false
    }

    /// True if it is known and certain that no claim of the group can be placed on the nodes of the view with nothing
    /// given back.
    fn is_ruled_out(&self, place: usize, view: usize) -> bool {
        match &self.groups[place].outcomes[view] {
            Some(
                Ok(false)
                | Err(SearchStop::No | SearchStop::Conflict | SearchStop::Node | SearchStop::TooMany),
            ) => !self.state.views[view].is_doubtful,
            None | Some(Ok(true) | Err(SearchStop::Unknown(_))) => false,
        }
    }

    /// Why a place on the node of a view may not be one, where it `is_certain` or not that the pod can be scheduled there.
    fn doubt(&self, view: usize, is_certain: bool) -> Option<Unknown> {
        let completeness = self.state.completeness;
        if self.state.views[view].is_doubtful {
            return Some(self.doubtful_nodes());
        }
        // Slices and classes are not asked about: where those are incomplete, `reallocation` and `demands` have
        // answered "unknown" before.
        let what = if !completeness.nodes {
            "the list of nodes is incomplete"
        } else if !completeness.claims {
            "the list of allocated devices is incomplete"
        } else if !completeness.rules {
            "the list of device taints is incomplete"
        } else {
            let what = "it is unknown whether its pod can be scheduled on a node with devices";
            return (!is_certain).then(|| Unknown::from(what.to_owned()));
        };
        Some(Unknown::unread(what))
    }

    /// A selector may be one that this crate does not understand, or ask for labels that were not read.
    fn doubtful_nodes(&self) -> Unknown {
        let what = "the nodes of some devices are unknown";
        if self.state.completeness.nodes {
            Unknown::from(what.to_owned())
        } else {
            Unknown::unread(what)
        }
    }

    /// As [`Self::search`] with nothing given back, which is the same for all claims of a group.
    fn outcome(&mut self, place: usize, view: usize) -> Result<bool, SearchStop> {
        if let Some(known) = &self.groups[place].outcomes[view] {
            return known.clone();
        }
        let outcome = self.search(place, view, &self.nothing);
        self.groups[place].outcomes[view] = Some(outcome.clone());
        outcome
    }

    fn search(&self, place: usize, view: usize, own: &Holdings<'a>) -> Result<bool, SearchStop> {
        let group = &self.groups[place];
        let demands = group
            .demands
            .as_ref()
            .map_err(|why| SearchStop::Unknown(why.clone()))?;
        let allowed = self.steps.get().min(STEPS_OF_A_NODE);
        let steps = Cell::new(allowed);
        let answer = is_placeable(SearchTask {
            state: self.state,
            view: &self.state.views[view],
            usage: Usage { all: self.all, own },
            spec: group.spec,
            demands,
            steps: &steps,
        });
        // The steps of a search are taken from the budget of all, whatever it came to.
        let taken = allowed.saturating_sub(steps.get());
        self.steps.set(self.steps.get().saturating_sub(taken));
        answer
    }

    fn requests(
        &self,
        place: usize,
        own: &Holdings<'a>,
        views: Option<&[AllowedView]>,
    ) -> Vec<RequestCandidates> {
        let group = &self.groups[place];
        let usage = Usage { all: self.all, own };
        let known_in = own
            .devices()
            .filter_map(|device| self.known_in.get(&device));
        let pools: BTreeSet<u32> = known_in.flatten().copied().collect();
        let seen_from: Option<Vec<&NodeView<'a>>> =
            views.map(|views| views.iter().map(|it| &self.state.views[it.view]).collect());
        let demands = group.demands.iter().flatten();
        let choices = demands.flat_map(|demand| {
            demand
                .choices
                .iter()
                .map(move |choice| (demand.request, choice))
        });
        choices
            .zip(&group.fitting)
            .map(|((request, choice), (fitting, free))| {
                // Pools that do not know a device of the claim have the same number free for all claims of the
                // group; only the others are counted again.
                let recounted = fitting.within(&pools).free(choice, usage, self.state);
                let everywhere = free.total_with(&recounted);
                let devices = seen_from.as_ref().map_or(everywhere, |views| {
                    let seen = fitting.seen_from(views, self.state);
                    seen.free(choice, usage, self.state).total()
                });
                RequestCandidates {
                    elsewhere: everywhere.most.saturating_sub(devices.most),
                    request: match choice.alternative {
                        Some(alternative) => format!("{request}/{alternative}"),
                        None => request.to_owned(),
                    },
                    needs: match choice.terms.amount {
                        DeviceAmount::Exactly(count) => Some(count),
                        DeviceAmount::All | DeviceAmount::Unknown(_) => None,
                    },
                    devices,
                }
            })
            .collect()
    }
}

/// True if a pod can certainly be scheduled on a node of the view; absent where it cannot.
fn is_allowed(views: Option<&[AllowedView]>, view: usize) -> Option<bool> {
    let Some(views) = views else {
        return Some(true);
    };
    let found = views.binary_search_by_key(&view, |it| it.view).ok()?;
    Some(views[found].is_certain)
}
