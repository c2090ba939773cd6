//! What keeps a claim waiting, as far as devices go?

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::demand::{Demand, demands};
use super::office::Office;
use super::outlook::Alone;
use super::owner::TaintOwner;
use super::scene::{Lift, Scene};
use super::search::{self, Task};
use super::sight::Unknown;
use super::survey::ChoiceProspect;
use super::usage::{Holdings, Usage};
use super::waiting::{Waiting, alone, is_placeable};
use crate::model::{ClaimSpec, DeviceId, ObjectName, ResourceClaim, Wish};

/// So many taints are taken away one by one to find out whether one of them is to blame.
const LIFTED: usize = 16;
/// So often it is tried to take several of them away.
const TRIED: usize = 500;
/// So many steps each of these takes at the most.
const STEPS: u64 = 50_000;

/// What keeps a claim waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing about devices: on some node there are all that it needs.
    Elsewhere,
    /// Any one of these taints: without it there are all that it needs.
    Taints(Vec<TaintOwner>),
    /// Several taints at once: without these there are all that it needs, and without fewer of them
    /// there are not. None where too many had to be tried to find out which.
    Together(Vec<TaintOwner>),
    /// Any one of these constraints of the claim, by its place: without it there are all that it needs.
    Constraints(Vec<usize>),
    /// There are too few devices, with taints and without.
    Devices,
    /// There is no such device class.
    NoClass(ObjectName),
    /// Expressions that fail: the scheduler gives up with an error where it comes to them.
    Fails(BTreeSet<Unknown>),
    /// Nobody knows, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// What keeps the claim waiting, for which there are these `choices`.
pub(super) fn blame<'a>(
    waiting: &Waiting<'a>,
    scene: &mut Scene<'a>,
    choices: &[ChoiceProspect],
) -> Blame {
    if let Some(class) = missing_class(waiting.claim, scene) {
        return Blame::NoClass(class);
    }
    let all = Holdings::of(&waiting.snapshot.claims, |id| scene.identity(id));
    let mut office = Office::new(scene, &all);
    let alone = office.outlook(waiting.claim).alone;
    let failures = office.failures(waiting.claim);
    if !failures.is_empty() {
        return Blame::Fails(failures);
    }
    match alone {
        Alone::Placeable => return Blame::Elsewhere,
        Alone::Unknown(why) => return Blame::Unknown(why),
        Alone::Unplaceable => {}
    }
    if !is_placeable_without(Lift::Everything, waiting, scene, &all) {
        return match constraints(waiting) {
            none if none.is_empty() => Blame::Devices,
            some => Blame::Constraints(some),
        };
    }
    let tried = owners(choices).into_iter().take(LIFTED);
    let found = tried.filter(|owner| {
        let lifted = scene.lifted(owner);
        lifted.is_some_and(|lifted| {
            let lift = Lift::Those([lifted].into());
            is_placeable_without(lift, waiting, scene, &all)
        })
    });
    let found: Vec<TaintOwner> = found.collect();
    if !found.is_empty() {
        return Blame::Taints(found);
    }
    match fewest(waiting, scene, choices, &all) {
        only if only.len() == 1 => Blame::Taints(only),
        several => Blame::Together(several),
    }
}

/// The constraints each of which alone keeps the claim from being placed, by place.
fn constraints(waiting: &Waiting<'_>) -> Vec<usize> {
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
        is_placeable(&Waiting {
            claim: &claim,
            ..*waiting
        })
    };
    (0..spec.constraints.len()).filter(is_alone).collect()
}

/// The first class that a request names and that is not there.
fn missing_class(claim: &ResourceClaim, scene: &Scene<'_>) -> Option<ObjectName> {
    let requests = claim.spec.iter().flat_map(|spec| &spec.requests);
    let mut classes = requests.flat_map(|request| match &request.wish {
        Wish::Exactly(terms) => vec![&terms.class],
        Wish::FirstAvailable(all) => all.iter().map(|(_, terms)| &terms.class).collect(),
        Wish::Unknown => Vec::new(),
    });
    let missing = classes.find(|class| scene.class(class.as_str()).is_none());
    missing.filter(|_| scene.sight.classes).cloned()
}

fn is_placeable_without<'a>(
    lift: Lift,
    waiting: &Waiting<'a>,
    scene: &mut Scene<'a>,
    all: &Holdings<'a>,
) -> bool {
    scene.lift = lift;
    let outlook = alone(waiting, scene, all);
    scene.lift = Lift::NOTHING;
    outlook == Alone::Placeable
}

/// Whose the taints are against which nothing else speaks, the most frequent first.
fn owners(choices: &[ChoiceProspect]) -> Vec<TaintOwner> {
    let mut counts: BTreeMap<&TaintOwner, usize> = BTreeMap::new();
    for (_, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        let owners = exclusions
            .iter()
            .map(|exclusion| Some(exclusion.taint()?.1));
        let owners: Option<BTreeSet<&TaintOwner>> = owners.collect();
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
    waiting: &Waiting<'a>,
    scene: &mut Scene<'a>,
    choices: &[ChoiceProspect],
    all: &Holdings<'a>,
) -> Vec<TaintOwner> {
    let Some(spec) = waiting.claim.spec.as_deref() else {
        return Vec::new();
    };
    let Ok(demands) = demands(spec, scene) else {
        return Vec::new();
    };
    let mut on_nodes = owners_by_view(scene, choices);
    on_nodes.sort_by_key(|(view, owners)| (owners.len(), *view));
    let mut trial = Trial {
        scene,
        spec,
        demands: &demands,
        all,
        left: TRIED,
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
    scene: &Scene<'_>,
    choices: &[ChoiceProspect],
) -> Vec<(usize, BTreeSet<TaintOwner>)> {
    let mut of_device: BTreeMap<&DeviceId, Vec<&TaintOwner>> = BTreeMap::new();
    for (device, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        let owners = exclusions
            .iter()
            .map(|exclusion| Some(exclusion.taint()?.1));
        let owners: Option<Vec<&TaintOwner>> = owners.collect();
        of_device
            .entry(device)
            .or_default()
            .extend(owners.into_iter().flatten());
    }
    let views = scene.views.iter().enumerate();
    let known = views.filter(|(_, view)| !view.is_doubtful);
    let owners = known.map(|(place, view)| {
        let devices = view.pools.iter().flat_map(|pool| &pool.devices);
        let owners = devices.flat_map(|device| {
            let at = scene.at(*device);
            let owners = of_device.get(&at.slice.id_of(at.device));
            owners.into_iter().flatten().map(|owner| (*owner).clone())
        });
        (place, owners.collect())
    });
    owners.collect()
}

/// Tries what helps on one node.
struct Trial<'t, 'a> {
    scene: &'t mut Scene<'a>,
    spec: &'a ClaimSpec,
    demands: &'t [Demand<'a>],
    all: &'t Holdings<'a>,
    /// So often it may still be tried.
    left: usize,
}

impl Trial<'_, '_> {
    /// The fewest of the taints without which the claim can be placed on the node of that view.
    fn fewest(
        &mut self,
        view: usize,
        owners: BTreeSet<TaintOwner>,
    ) -> Option<BTreeSet<TaintOwner>> {
        if owners.is_empty() || !self.helps(view, &owners)? {
            return None;
        }
        // None of those that are left can stay.
        let mut needed = owners.clone();
        for owner in &owners {
            let mut fewer = needed.clone();
            fewer.remove(owner);
            if self.helps(view, &fewer)? {
                needed = fewer;
            }
        }
        // Others may be fewer, as far as there is time to look.
        let all: Vec<TaintOwner> = owners.into_iter().collect();
        for size in 2..needed.len() {
            match self.of_size(view, size, (BTreeSet::new(), &all)) {
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
        (chosen, rest): (BTreeSet<TaintOwner>, &[TaintOwner]),
    ) -> Option<Option<BTreeSet<TaintOwner>>> {
        if chosen.len() == size {
            return Some(self.helps(view, &chosen)?.then_some(chosen));
        }
        let mut rest = rest;
        while let [first, others @ ..] = rest {
            let mut more = chosen.clone();
            more.insert(first.clone());
            if let Some(found) = self.of_size(view, size, (more, others))? {
                return Some(Some(found));
            }
            rest = others;
        }
        Some(None)
    }

    /// Whether the claim can be placed there without the taints; absent where there is no time left.
    fn helps(&mut self, view: usize, owners: &BTreeSet<TaintOwner>) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        let lifted = owners.iter().filter_map(|owner| self.scene.lifted(owner));
        self.scene.lift = Lift::Those(lifted.collect());
        let steps = Cell::new(STEPS);
        let nothing = Holdings::default();
        let answer = search::is_placeable(Task {
            scene: self.scene,
            view: self.scene.views.get(view)?,
            usage: Usage {
                all: self.all,
                own: &nothing,
            },
            spec: self.spec,
            demands: self.demands,
            steps: &steps,
            must: None,
        });
        self.scene.lift = Lift::NOTHING;
        Some(answer == Ok(true))
    }
}
