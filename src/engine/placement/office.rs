//! What becomes of every affected claim?

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};

use super::available::available;
use super::beyond::beyond;
use super::candidates::{Fitting, pools_in_reach};
use super::demand::{Halt, demands};
use super::group::Group;
use super::outlook::{Alone, ClaimOutlook, Replacement, RequestOutlook};
use super::pool::Pool;
use super::scene::Scene;
use super::search::{Task, is_placeable};
use super::sight::{Sight, Unknown};
use super::together::{Together, together};
use super::unfinished::unfinished;
use super::usage::{Holdings, Usage};
use crate::engine::{ConsideredTaint, Impact, Semantics, Verdict};
use crate::model::{ClaimSpec, DeviceAmount, NamespacedName, ResourceClaim, Snapshot};

/// So many steps are taken for one answer; what needs more is not known.
const STEPS: u64 = 5_000_000;
/// So many steps are taken for one claim on one node.
const STEPS_OF_A_NODE: u64 = 50_000;

/// What becomes of the claims whose pods the considered taints of `impact` evict.
#[must_use]
pub fn replacement<'a>(
    snapshot: &'a Snapshot,
    considered: &[ConsideredTaint],
    impact: &Impact<'_>,
    (semantics, sight): (&Semantics, Sight),
) -> Replacement<'a> {
    let affected = affected(snapshot, impact);
    let scene = Scene::new(snapshot, considered, semantics, sight);
    let all = Holdings::of(&snapshot.claims, |id| scene.identity(id));
    let mut office = Office::new(&scene, &all);
    let outlooks: Vec<ClaimOutlook<'a>> =
        affected.iter().map(|claim| office.outlook(claim)).collect();
    let own = Holdings::of(affected.iter().copied(), |id| scene.identity(id));
    let usage = Usage {
        all: &all,
        own: &own,
    };
    let hopeless = office.hopeless(&own);
    let mut wanted: Vec<(&Group<'a>, usize)> = Vec::new();
    let mut without_group = 0_usize;
    for outlook in &outlooks {
        let Some(place) = office.known_group(outlook.claim) else {
            without_group = without_group.saturating_add(1);
            continue;
        };
        let group = &office.groups[place];
        match wanted
            .iter_mut()
            .find(|(known, _)| std::ptr::eq(*known, group))
        {
            Some((_, number)) => *number = number.saturating_add(1),
            None if hopeless.contains(&place) => {}
            None => wanted.push((group, 1)),
        }
    }
    let together = together(&wanted, usage, &scene);
    Replacement {
        together: Together {
            at_most: together.saturating_add(without_group),
            claims: affected.len(),
        },
        available: available(impact, &scene, &all),
        unfinished: unfinished(snapshot, impact),
        claims: outlooks,
    }
}

/// The claims through which pods lose devices, by namespace and name.
fn affected<'a>(snapshot: &'a Snapshot, impact: &Impact<'_>) -> Vec<&'a ResourceClaim> {
    let evicted = impact
        .pods
        .iter()
        .filter(|pod| matches!(pod.verdict, Verdict::Evicted { .. }));
    let names: BTreeSet<&NamespacedName> = evicted
        .flat_map(|pod| &pod.claims)
        .map(|used| used.claim)
        .collect();
    let mut claims: Vec<_> = snapshot
        .claims
        .iter()
        .filter(|claim| names.contains(&claim.name))
        .collect();
    claims.sort_by_key(|claim| &claim.name);
    claims
}

/// Answers for one claim after the other, and remembers what several have in common.
pub(super) struct Office<'s, 'a> {
    scene: &'s Scene<'a>,
    all: &'s Holdings<'a>,
    nothing: Holdings<'a>,
    pools: Vec<Rc<Pool<'a>>>,
    /// The views in which a device plays a part, by its identity, of devices that are in use.
    concerned: HashMap<u32, Vec<usize>>,
    /// The pools that know such a device.
    known_in: HashMap<u32, Vec<u32>>,
    groups: Vec<Group<'a>>,
    steps: Cell<u64>,
}

impl<'s, 'a> Office<'s, 'a> {
    pub(super) fn new(scene: &'s Scene<'a>, all: &'s Holdings<'a>) -> Self {
        let held: BTreeSet<u32> = all.devices().collect();
        let mut by_pool: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut concerned: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut known_in: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut pools: BTreeMap<u32, &Rc<Pool<'a>>> = BTreeMap::new();
        for (view, seen) in scene.views.iter().enumerate() {
            for pool in &seen.pools {
                by_pool.entry(pool.place).or_default().push(view);
                pools.insert(pool.place, pool);
            }
        }
        for (place, pool) in pools {
            for device in pool.devices.iter().chain(&pool.elsewhere) {
                let identity = scene.at(*device).identity;
                if held.contains(&identity) {
                    concerned
                        .entry(identity)
                        .or_default()
                        .extend(&by_pool[&place]);
                    known_in.entry(identity).or_default().push(place);
                }
            }
        }
        Self {
            scene,
            all,
            nothing: Holdings::default(),
            pools: pools_in_reach(scene),
            concerned,
            known_in,
            groups: Vec::new(),
            steps: Cell::new(STEPS),
        }
    }

    /// What becomes of the claim.
    pub(super) fn outlook(&mut self, claim: &'a ResourceClaim) -> ClaimOutlook<'a> {
        let Some(spec) = claim.spec.as_deref().filter(|_| self.scene.sight.slices) else {
            let why = if self.scene.sight.slices {
                Unknown::from("its requests were not read".to_owned())
            } else {
                Unknown::unread("the list of devices is incomplete")
            };
            return ClaimOutlook {
                claim,
                alone: Alone::Unknown([why].into()),
                requests: Vec::new(),
                beyond: Vec::new(),
            };
        };
        let place = self.group(spec);
        let own = Holdings::of([claim], |id| self.scene.identity(id));
        ClaimOutlook {
            claim,
            alone: self.alone(place, &own),
            requests: self.requests(place, &own),
            beyond: self.groups[place].beyond.clone(),
        }
    }

    /// With which expressions the allocator fails for a claim that holds nothing, on one node or another.
    pub(super) fn failures(&mut self, claim: &'a ResourceClaim) -> BTreeSet<Unknown> {
        let Some(spec) = claim.spec.as_deref() else {
            return BTreeSet::new();
        };
        let place = self.group(spec);
        let views = 0..self.scene.views.len();
        let known = views.filter(|view| !self.scene.views[*view].is_doubtful);
        let known: Vec<usize> = known.collect();
        let outcomes = known.into_iter().map(|view| self.outcome(place, view));
        let failures = outcomes.filter_map(|outcome| match outcome {
            Err(Halt::Unknown(why)) => why.is_failure().then_some(why),
            Ok(_) | Err(Halt::No | Halt::Conflict | Halt::TooMany) => None,
        });
        failures.collect()
    }

    fn known_group(&self, claim: &ResourceClaim) -> Option<usize> {
        let spec = claim.spec.as_deref()?;
        let place = self.groups.iter().position(|group| group.spec == spec)?;
        self.groups[place].demands.is_ok().then_some(place)
    }

    fn group(&mut self, spec: &'a ClaimSpec) -> usize {
        if let Some(known) = self.groups.iter().position(|group| group.spec == spec) {
            return known;
        }
        let demands = demands(spec, self.scene);
        let usage = Usage {
            all: self.all,
            own: &self.nothing,
        };
        let choices = demands.iter().flatten().flat_map(|demand| &demand.choices);
        let fitting = choices.map(|choice| {
            let fitting = Fitting::new(choice, &self.pools, self.scene);
            let free = fitting.free(choice, usage, self.scene);
            (fitting, free)
        });
        let fitting: Vec<_> = fitting.collect();
        self.groups.push(Group {
            beyond: beyond(spec, fitting.iter().map(|(fitting, _)| fitting), self.scene),
            spec,
            demands,
            fitting,
            outcomes: vec![None; self.scene.views.len()],
        });
        self.groups.len().saturating_sub(1)
    }

    /// Whether a claim of the group could be placed once it has given back what is its `own`.
    fn alone(&mut self, place: usize, own: &Holdings<'a>) -> Alone {
        if let Err(unknown) = &self.groups[place].demands {
            return Alone::Unknown([unknown.clone()].into());
        }
        let mine = own
            .devices()
            .filter_map(|device| self.concerned.get(&device));
        let mine: BTreeSet<usize> = mine.flatten().copied().collect();
        let mut unknown = BTreeSet::new();
        // Its own node first, where most find their place again.
        let others = (0..self.scene.views.len()).filter(|view| !mine.contains(view));
        for view in mine.iter().copied().chain(others) {
            let outcome = if mine.contains(&view) {
                self.search(place, view, own)
            } else {
                self.outcome(place, view)
            };
            match outcome {
                Ok(true) => match self.doubt(view) {
                    None => return Alone::Placeable,
                    Some(doubt) => {
                        unknown.insert(doubt);
                    }
                },
                Ok(false) | Err(Halt::No | Halt::Conflict | Halt::TooMany)
                    if self.scene.views[view].is_doubtful =>
                {
                    unknown.insert(self.doubtful_nodes());
                }
                Ok(false) | Err(Halt::No | Halt::Conflict | Halt::TooMany) => {}
                Err(Halt::Unknown(why)) => {
                    unknown.insert(why);
                }
            }
        }
        unknown.extend(
            self.scene
                .doubts
                .iter()
                .map(|doubt| Unknown::from(doubt.clone())),
        );
        if unknown.is_empty() {
            Alone::Unplaceable
        } else {
            Alone::Unknown(unknown)
        }
    }

    /// Why a place on the node of a view may not be one.
    fn doubt(&self, view: usize) -> Option<Unknown> {
        let sight = self.scene.sight;
        if self.scene.views[view].is_doubtful {
            return Some(self.doubtful_nodes());
        }
        let what = if !sight.nodes {
            "whether its candidate nodes exist is unknown"
        } else if !sight.claims {
            "the list of allocated devices is incomplete"
        } else if !sight.rules {
            "the list of device taints is incomplete"
        } else {
            return None;
        };
        Some(Unknown::unread(what))
    }

    /// A selector may be one that nobody here understands, or ask for labels that nobody has read.
    fn doubtful_nodes(&self) -> Unknown {
        let what = "the nodes of some devices are unknown";
        if self.scene.sight.nodes {
            Unknown::from(what.to_owned())
        } else {
            Unknown::unread(what)
        }
    }

    /// As [`Self::search`] with nothing given back, which is the same for all claims of a group.
    fn outcome(&mut self, place: usize, view: usize) -> Result<bool, Halt> {
        if let Some(known) = &self.groups[place].outcomes[view] {
            return known.clone();
        }
        let outcome = self.search(place, view, &self.nothing);
        self.groups[place].outcomes[view] = Some(outcome.clone());
        outcome
    }

    /// The groups of which no claim can be placed even when all that is affected is given back: what
    /// others take of that again is no help.
    fn hopeless(&self, own: &Holdings<'a>) -> BTreeSet<usize> {
        let views = || 0..self.scene.views.len();
        let is_out = |place: usize, view: usize| match self.search(place, view, own) {
            Ok(false) | Err(Halt::No | Halt::TooMany) => !self.scene.views[view].is_doubtful,
            Ok(true) | Err(Halt::Conflict | Halt::Unknown(_)) => false,
        };
        let groups = 0..self.groups.len();
        groups
            .filter(|place| {
                self.scene.doubts.is_empty() && views().all(|view| is_out(*place, view))
            })
            .collect()
    }

    fn search(&self, place: usize, view: usize, own: &Holdings<'a>) -> Result<bool, Halt> {
        let group = &self.groups[place];
        let demands = group
            .demands
            .as_ref()
            .map_err(|why| Halt::Unknown(why.clone()))?;
        let allowed = self.steps.get().min(STEPS_OF_A_NODE);
        let steps = Cell::new(allowed);
        let answer = is_placeable(Task {
            scene: self.scene,
            view: &self.scene.views[view],
            usage: Usage { all: self.all, own },
            spec: group.spec,
            demands,
            steps: &steps,
            must: None,
        });
        let taken = allowed.saturating_sub(steps.get());
        self.steps.set(self.steps.get().saturating_sub(taken));
        answer
    }

    fn requests(&self, place: usize, own: &Holdings<'a>) -> Vec<RequestOutlook> {
        let group = &self.groups[place];
        let usage = Usage { all: self.all, own };
        let known_in = own
            .devices()
            .filter_map(|device| self.known_in.get(&device));
        let pools: BTreeSet<u32> = known_in.flatten().copied().collect();
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
                let recounted = fitting.within(&pools).free(choice, usage, self.scene);
                RequestOutlook {
                    request: match choice.alternative {
                        Some(alternative) => format!("{request}/{alternative}"),
                        None => request.to_owned(),
                    },
                    needs: match choice.terms.amount {
                        DeviceAmount::Exactly(count) => Some(count),
                        DeviceAmount::All | DeviceAmount::Unknown(_) => None,
                    },
                    devices: free.total_with(&recounted),
                }
            })
            .collect()
    }
}
