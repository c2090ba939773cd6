//! How many devices could serve a request?

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::capacity::{is_left, taken};
use super::counters::Remaining;
use super::demand::Choice;
use super::pool::{Pool, Standing, is_for};
use super::scene::Scene;
use super::sight::Range;
use super::usage::Usage;
use crate::model::SliceNodes;

/// Whether a device is one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    No,
    /// Nobody knows.
    Perhaps,
    Yes,
}

/// Places of devices, each with whether it is looked for.
pub(super) type Found = Vec<(u32, Answer)>;

/// The pools that some node can reach, each with its devices that fit a choice, in use or not.
#[derive(Debug)]
pub(super) struct Fitting<'a> {
    pub(super) pools: Vec<(Rc<Pool<'a>>, Found)>,
}

/// Every pool of which some node can use devices, once.
pub(super) fn pools_in_reach<'a>(scene: &Scene<'a>) -> Vec<Rc<Pool<'a>>> {
    let mut pools: BTreeMap<u32, Rc<Pool<'a>>> = BTreeMap::new();
    for pool in scene.views.iter().flat_map(|view| &view.pools) {
        if pool.standing == Standing::Usable {
            pools.entry(pool.place).or_insert_with(|| Rc::clone(pool));
        }
    }
    pools.into_values().collect()
}

impl<'a> Fitting<'a> {
    /// The devices of `pools` that fit the choice and that no taint keeps from it.
    pub(super) fn new(choice: &Choice<'_>, pools: &[Rc<Pool<'a>>], scene: &Scene<'a>) -> Self {
        let pools = pools.iter().map(|pool| {
            let places = pool.devices.iter().copied();
            let answers = places.map(|place| (place, fits(choice, place, scene)));
            let found = answers.filter(|(_, answer)| *answer != Answer::No);
            (Rc::clone(pool), found.collect())
        });
        let pools = pools.filter(|(_, devices): &(_, Found)| !devices.is_empty());
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

    /// How many of the devices are free, pool by pool; a device counts once, seen from wherever.
    pub(super) fn free(
        &self,
        choice: &Choice<'_>,
        usage: Usage<'_, '_>,
        scene: &Scene<'_>,
    ) -> Free {
        let mut free = Free::default();
        let mut seen = HashSet::default();
        for (pool, devices) in &self.pools {
            let range = count(pool, devices, (choice, usage, scene), &mut seen);
            free.by_pool.insert(pool.place, range);
        }
        free
    }
}

/// How many devices are free in each pool, by its place.
#[derive(Debug, Default)]
pub(super) struct Free {
    by_pool: HashMap<u32, Range>,
}

impl Free {
    /// All of them.
    pub(super) fn total(&self) -> Range {
        self.by_pool.values().copied().sum()
    }

    /// All of them, with the pools that `recounted` has counted otherwise.
    pub(super) fn total_with(&self, recounted: &Self) -> Range {
        let kept = self
            .by_pool
            .iter()
            .filter(|(place, _)| !recounted.by_pool.contains_key(place));
        let kept: Range = kept.map(|(_, range)| *range).sum();
        kept.plus(recounted.total())
    }
}

fn count(
    pool: &Pool<'_>,
    devices: &[(u32, Answer)],
    (choice, usage, scene): (&Choice<'_>, Usage<'_, '_>, &Scene<'_>),
    seen: &mut HashSet<u32>,
) -> Range {
    let mut range = Range::exactly(0);
    for (place, answer) in devices {
        let is_free = is_free(choice, (pool, *place), usage, scene);
        if is_free == Answer::No || !seen.insert(scene.at(*place).identity) {
            continue;
        }
        range = range.plus(match (*answer).min(is_free) {
            Answer::Yes => Range::exactly(1),
            Answer::Perhaps | Answer::No => Range::up_to(1),
        });
    }
    range
}

/// Whether a device fits the choice, for some node, in use or not.
fn fits(choice: &Choice<'_>, place: u32, scene: &Scene<'_>) -> Answer {
    if scene.is_blocked(place, &choice.terms.tolerations) {
        return Answer::No;
    }
    let reached = reached(place, scene);
    match choice.fits(place, scene) {
        Ok(true) => reached,
        Ok(false) => Answer::No,
        Err(_) => reached.min(Answer::Perhaps),
    }
}

/// Whether some node can use the device, which is in a pool in reach.
pub(super) fn reached(place: u32, scene: &Scene<'_>) -> Answer {
    let at = scene.at(place);
    match at.slice.nodes {
        SliceNodes::One(_) | SliceNodes::Several => Answer::Yes,
        SliceNodes::PerDevice => {
            let answers = scene
                .views
                .iter()
                .map(|view| match is_for(at.device, view.node) {
                    Some(true) => Answer::Yes,
                    Some(false) => Answer::No,
                    None => Answer::Perhaps,
                });
            answers.max().unwrap_or(Answer::No)
        }
    }
}

/// Whether nobody has the device, or enough of it is left.
pub(super) fn is_free(
    choice: &Choice<'_>,
    (pool, place): (&Pool<'_>, u32),
    usage: Usage<'_, '_>,
    scene: &Scene<'_>,
) -> Answer {
    let at = scene.at(place);
    if !choice.terms.admin_access && usage.is_held(at.identity) {
        return Answer::No;
    }
    let left = taken(&choice.terms.capacity, at.device).and_then(|taken| {
        taken.map_or(Ok(false), |taken| {
            is_left(&taken, at.device, |name| usage.consumed(at.identity, name))
        })
    });
    match left {
        Ok(true) => {}
        Ok(false) => return Answer::No,
        Err(_) => return Answer::Perhaps,
    }
    let consumes = at
        .device
        .terms
        .as_ref()
        .is_some_and(|terms| !terms.consumes.is_empty());
    let is_paid = at.device.allow_multiple_allocations && usage.is_shared(at.identity);
    if !consumes || is_paid {
        return Answer::Yes;
    }
    match Remaining::default().take((pool, at.device), usage, scene) {
        Ok(true) => Answer::Yes,
        Ok(false) => Answer::No,
        Err(_) => Answer::Perhaps,
    }
}
