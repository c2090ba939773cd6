//! Reasons why a device cannot serve a request.

use std::collections::BTreeSet;
use std::rc::Rc;

use foldhash::HashMap;

use super::candidate_devices::{Candidacy, is_free};
use super::cluster_state::{ClusterState, TaintSetter};
use super::counters::{Holdings, Usage};
use super::demand::{Choice, ExpressionMismatch, ExpressionOwner};
use super::diagnosis::TaintOwner;
use super::pool::{Pool, PoolStatus, is_for};
use crate::devices::{complete_pools, current_slices};
use crate::model::{DeviceAmount, DeviceId, SliceNodes, Snapshot, Taint};

/// Devices for one choice of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceDiagnosis {
    /// The request, by its place.
    pub request: usize,
    /// Place of the alternative, where the request has some.
    pub alternative: Option<usize>,
    /// Number of needed devices; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// The devices that it could use, by name.
    pub usable: Vec<DeviceId>,
    /// All others with everything that speaks against them, by name.
    pub excluded: Vec<(DeviceId, Vec<Exclusion>)>,
}

/// A reason against a device, in the order in which reasons are reported: the first of a device is the one to name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exclusion {
    /// A selector of the device class does not choose it, by its place.
    Class(usize),
    /// A selector of the request does not choose it, by its place.
    Selector(usize),
    /// A selector of the device class fails for it, by its place, with this error: the scheduler gives
    /// up every attempt in which it comes to that device.
    ClassFails(usize, String),
    /// As [`Exclusion::ClassFails`], a selector of the request.
    SelectorFails(usize, String),
    /// No node can use it on which the claim could be placed.
    Node,
    /// Its pool is not published whole.
    Incomplete,
    /// Its pool contradicts itself.
    Invalid,
    /// It never has so much, whatever claims hold.
    TooSmall,
    /// Others have it.
    Held,
    /// Too little is left of its capacity, or of what it shares with others.
    Amount,
    /// A taint keeps it from the claim. Last of the known reasons: only where nothing else is against the device,
    /// it helps that the taint goes.
    Tainted(Taint, TaintOwner),
    /// Unknown whether it could be used, for this reason.
    Unknown(String),
}

impl Exclusion {
    /// The taint that it is, and whose; absent for all else.
    pub fn taint(&self) -> Option<(&Taint, &TaintOwner)> {
        let Self::Tainted(taint, owner) = self else {
            return None;
        };
        Some((taint, owner))
    }

    /// True if the device may serve the request once its driver has published all, or something unknown is known.
    pub(super) fn is_doubtful(&self) -> bool {
        matches!(self, Self::Incomplete | Self::Invalid | Self::Unknown(_))
    }
}

/// All devices that count, each with where it is and who has it.
pub(super) struct ExclusionFinder<'s, 'a> {
    state: &'s ClusterState<'a>,
    /// Places of the devices in current slices, each device once.
    places: Vec<u32>,
    incomplete: BTreeSet<u32>,
    /// The pool in which some node sees a device, and whether the node can use it.
    seen: HashMap<u32, (Rc<Pool<'a>>, Candidacy)>,
    all: Holdings<'a>,
    nothing: Holdings<'a>,
}

impl<'s, 'a> ExclusionFinder<'s, 'a> {
    pub(super) fn new(snapshot: &'a Snapshot, state: &'s ClusterState<'a>) -> Self {
        let current: BTreeSet<*const _> = current_slices(&snapshot.slices)
            .into_iter()
            .map(std::ptr::from_ref)
            .collect();
        let complete = complete_pools(&snapshot.slices);
        let mut finder = Self {
            state,
            places: Vec::new(),
            incomplete: BTreeSet::new(),
            seen: HashMap::default(),
            all: Holdings::of(&snapshot.claims, state),
            nothing: Holdings::default(),
        };
        let mut known = BTreeSet::new();
        for (place, at) in (0_u32..).zip(&state.devices) {
            if !current.contains(&std::ptr::from_ref(at.slice)) || !known.insert(at.identity) {
                continue;
            }
            finder.places.push(place);
            if !complete.contains(&(&at.slice.driver, &at.slice.pool.name)) {
                finder.incomplete.insert(place);
            }
        }
        finder.look();
        finder
    }

    /// Looks at the devices from every node.
    fn look(&mut self) {
        for view in &self.state.views {
            for pool in &view.pools {
                for place in &pool.devices {
                    let at = self.state.at(*place);
                    let is_there = match at.slice.nodes {
                        SliceNodes::One(_) | SliceNodes::Selected(_) | SliceNodes::Several
                            if view.is_doubtful =>
                        {
                            None
                        }
                        SliceNodes::One(_) | SliceNodes::Selected(_) | SliceNodes::Several => {
                            Some(true)
                        }
                        SliceNodes::PerDevice => is_for(at.device, view.node),
                    };
                    let answer = match is_there {
                        Some(true) => Candidacy::Yes,
                        Some(false) => Candidacy::No,
                        None => Candidacy::Perhaps,
                    };
                    // One node that can use the device is enough, whatever is unknown of others.
                    let known = self.seen.get(place).map(|(_, answer)| *answer);
                    if known.is_none_or(|known| known < answer) {
                        self.seen.insert(*place, (Rc::clone(pool), answer));
                    }
                }
            }
        }
    }

    fn id(&self, place: u32) -> DeviceId {
        let at = self.state.at(place);
        at.slice.id_of(at.device)
    }

    pub(super) fn diagnose(
        &self,
        request: usize,
        place: usize,
        choice: &Choice<'_>,
    ) -> ChoiceDiagnosis {
        let mut found = ChoiceDiagnosis {
            request,
            alternative: choice.alternative.map(|_| place),
            needs: match choice.terms.amount {
                DeviceAmount::Exactly(count) => Some(count),
                DeviceAmount::All | DeviceAmount::Unknown(_) => None,
            },
            usable: Vec::new(),
            excluded: Vec::new(),
        };
        for place in &self.places {
            let exclusions = self.exclusions(choice, *place);
            if exclusions.is_empty() {
                found.usable.push(self.id(*place));
            } else {
                found.excluded.push((self.id(*place), exclusions));
            }
        }
        found.usable.sort();
        found.excluded.sort();
        found
    }

    /// Everything that speaks against the device; of one that is not chosen, that alone.
    fn exclusions(&self, choice: &Choice<'_>, place: u32) -> Vec<Exclusion> {
        let state = self.state;
        let mut found = Vec::new();
        match choice.refusal(place, state) {
            Ok(None) => {}
            Ok(Some(ExpressionMismatch { whose, selector })) => {
                return vec![match whose {
                    ExpressionOwner::Class => Exclusion::Class(selector),
                    ExpressionOwner::Request => Exclusion::Selector(selector),
                }];
            }
            Err(trouble) if trouble.why.is_failure() => {
                let (selector, why) = (trouble.at.selector, trouble.why.to_string());
                found.push(match trouble.at.whose {
                    ExpressionOwner::Class => Exclusion::ClassFails(selector, why),
                    ExpressionOwner::Request => Exclusion::SelectorFails(selector, why),
                });
            }
            Err(trouble) => found.push(Exclusion::Unknown(choice.describe(&trouble).to_string())),
        }
        if !state.completeness.slices {
            let why = "the list of devices is incomplete";
            found.push(Exclusion::Unknown(why.to_owned()));
        }
        match self.seen.get(&place) {
            _ if self.incomplete.contains(&place) => found.push(Exclusion::Incomplete),
            None | Some((_, Candidacy::No)) => found.push(Exclusion::Node),
            Some((pool, _)) if pool.status != PoolStatus::Usable => {
                found.push(Exclusion::Invalid);
            }
            Some((pool, answer)) => {
                if *answer == Candidacy::Perhaps {
                    let why = "the nodes that can use it are unknown";
                    found.push(Exclusion::Unknown(why.to_owned()));
                }
                found.extend(self.is_taken(choice, pool, place));
            }
        }
        let blocking = state.blocking(place, &choice.terms.tolerations);
        found.extend(blocking.map(|(taint, setter)| {
            Exclusion::Tainted(taint.clone(), self.owner(place, taint, *setter))
        }));
        found.sort();
        found
    }

    /// Exclusion of a device that other claims have, that has too little left, or that never has so much.
    fn is_taken(&self, choice: &Choice<'_>, pool: &Pool<'_>, place: u32) -> Option<Exclusion> {
        let usage = |all| Usage {
            all,
            own: &self.nothing,
        };
        let is_free = |usage| is_free(choice, pool, place, usage, self.state);
        let (unused, usage) = (usage(&self.nothing), usage(&self.all));
        match is_free(usage) {
            Candidacy::Yes => None,
            Candidacy::Perhaps => {
                let why = "its remaining capacity cannot be calculated";
                Some(Exclusion::Unknown(why.to_owned()))
            }
            // A further share of a device in use may be free even where the first would not be.
            Candidacy::No if is_free(unused) == Candidacy::No => Some(Exclusion::TooSmall),
            Candidacy::No => {
                let identity = self.state.at(place).identity;
                let device = self.state.at(place).device;
                let is_held = !choice.terms.admin_access
                    && usage.is_unavailable(identity, device, self.state);
                Some(if is_held {
                    Exclusion::Held
                } else {
                    Exclusion::Amount
                })
            }
        }
    }

    fn owner(&self, place: u32, taint: &Taint, setter: TaintSetter) -> TaintOwner {
        match setter {
            TaintSetter::Driver(_) => TaintOwner::Driver(self.id(place), Box::new(taint.clone())),
            TaintSetter::Rule(rule) => match self.state.rule(rule) {
                Some(name) => TaintOwner::Rule(name.clone()),
                None => TaintOwner::Proposed(rule as usize),
            },
        }
    }
}
