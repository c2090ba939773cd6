//! Devices of the affected classes that stay allocatable.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use super::candidate_devices::{Candidacy, is_free, pools_in_reach, reached};
use super::cluster_state::ClusterState;
use super::completeness::Range;
use super::demand::Choice;
use super::usage::{Holdings, Usage};
use crate::impact::Impact;
use crate::model::{DeviceAmount, DeviceClass, RequestTerms};

/// Devices of the classes of the selected devices that stay allocatable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// The classes that a selected device is of, by name.
    pub classes: Vec<String>,
    /// Devices of these classes that claims without tolerations can get, shareable ones with capacity left included.
    pub devices: Range,
    /// All devices of these classes.
    pub whole: Range,
}

/// Devices of the classes of the devices of `impact` that stay allocatable; absent where the inputs were not read.
pub(super) fn available<'a>(
    impact: &Impact<'_>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Option<Available> {
    let selected: BTreeSet<u32> = impact
        .devices
        .iter()
        .filter_map(|device| state.identity(&device.id))
        .collect();
    let Members {
        classes,
        by_identity,
    } = members(&selected, state, all)?;
    let mut found = Available {
        classes,
        devices: by_identity
            .values()
            .map(|(_, is_left)| range(*is_left))
            .sum(),
        whole: by_identity
            .values()
            .map(|(is_member, _)| range(*is_member))
            .sum(),
    };
    if !is_sure(state) {
        // Something that was not read may hold or taint every one of them; the upper bound stays true.
        found.devices.least = 0;
    }
    Some(found)
}

/// True if everything was read that may hold or taint a device.
fn is_sure(state: &ClusterState<'_>) -> bool {
    let completeness = state.completeness;
    completeness.claims && completeness.rules && completeness.nodes
}

/// The devices of some classes.
struct Members {
    /// The classes, by name.
    classes: Vec<String>,
    /// Of each device, whether it is of one of the classes, and whether it is left.
    by_identity: HashMap<u32, (Candidacy, Candidacy)>,
}

/// The devices of the classes that the `selected` ones are of, by their identities; absent where classes or slices
/// were not read.
fn members<'a>(
    selected: &BTreeSet<u32>,
    state: &ClusterState<'a>,
    all: &Holdings<'a>,
) -> Option<Members> {
    if !state.completeness.classes || !state.completeness.slices {
        return None;
    }
    let pools = pools_in_reach(state);
    let places = || {
        pools
            .iter()
            .flat_map(|pool| pool.devices.iter().map(move |place| (pool, *place)))
    };
    let mut classes = Vec::new();
    let mut members: HashMap<u32, (Candidacy, Candidacy)> = HashMap::new();
    let nothing = Holdings::default();
    let usage = Usage { all, own: &nothing };
    for class in state.classes() {
        let terms = terms(class);
        let choice = Choice::of_class(class, &terms, state);
        let is_of = |place| match choice.fits(place, state) {
            Ok(true) => Candidacy::Yes,
            Ok(false) => Candidacy::No,
            Err(_) => Candidacy::Perhaps,
        };
        let selected = places().filter(|(_, place)| selected.contains(&state.at(*place).identity));
        let is_meant = selected
            .map(|(_, place)| is_of(place))
            .max()
            .unwrap_or(Candidacy::No);
        if is_meant == Candidacy::No {
            continue;
        }
        classes.push(class.name.to_string());
        for (pool, place) in places() {
            let is_member = is_of(place).min(is_meant).min(reached(place, state));
            if is_member == Candidacy::No {
                continue;
            }
            let is_left = if state.is_blocked(place, &[]) {
                Candidacy::No
            } else {
                is_free(&choice, pool, place, usage, state).min(is_member)
            };
            // A device of several classes counts once, and as one that can be had if a claim of any of them can
            // have it.
            let known = members
                .entry(state.at(place).identity)
                .or_insert((Candidacy::No, Candidacy::No));
            *known = (known.0.max(is_member), known.1.max(is_left));
        }
    }
    Some(Members {
        classes,
        by_identity: members,
    })
}

fn range(answer: Candidacy) -> Range {
    match answer {
        Candidacy::Yes => Range::exactly(1),
        Candidacy::Perhaps => Range::up_to(1),
        Candidacy::No => Range::exactly(0),
    }
}

/// One device of the class, without more.
fn terms(class: &DeviceClass) -> RequestTerms {
    RequestTerms {
        class: class.name.clone(),
        expressions: Vec::new(),
        amount: DeviceAmount::Exactly(1),
        admin_access: false,
        tolerations: Vec::new(),
        capacity: BTreeMap::new(),
        is_more: false,
    }
}
