//! Which devices could serve a claim that waits, what keeps it from the others, and what is to blame?

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use foldhash::HashMap;

use super::candidates::{Answer, is_free};
use super::demand::{Choice, Refusal, Whose, demands};
use super::nodes::NodeFacts;
use super::office::Office;
use super::outlook::Alone;
use super::owner::TaintOwner;
use super::pool::{Pool, Standing, is_for};
use super::scene::{Lift, Scene, Setter};
use super::sight::{Sight, Unknown};
use super::usage::{Holdings, Usage};
use crate::engine::devices::{complete_pools, current_slices};
use crate::engine::{ConsideredTaint, Semantics};
use crate::model::{
    DeviceAmount, DeviceId, NamespacedName, NodeName, ObjectName, ResourceClaim, SliceNodes,
    Snapshot, Taint, Wish,
};

/// So many taints are taken away one by one to find out whether one of them is to blame.
const LIFTED: usize = 16;

/// A claim that waits for devices.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// What is there.
    pub snapshot: &'a Snapshot,
    /// The claim; it holds nothing. Several claims of one pod can be written as one.
    pub claim: &'a ResourceClaim,
    /// Nodes that all have to be the one on which it is placed, since something else is there already.
    pub nodes: &'a [NodeName],
    /// Taints that are asked about, beside those that are there.
    pub considered: &'a [ConsideredTaint],
    /// How that version of Kubernetes behaves, and what was read.
    pub known: (&'a Semantics, Sight),
}

/// What there is for a claim that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospect {
    /// What keeps it waiting, as far as devices go.
    pub blame: Blame,
    /// One for each request, and for each alternative of one.
    pub choices: Vec<ChoiceProspect>,
}

/// What keeps a claim waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing about devices: on some node there are all that it needs.
    Elsewhere,
    /// Any one of these taints: without it there are all that it needs.
    Taints(Vec<TaintOwner>),
    /// Several taints at once: without all of them there are all that it needs.
    AllTaints,
    /// There are too few devices, with taints and without.
    Devices,
    /// There is no such device class.
    NoClass(ObjectName),
    /// Nobody knows, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// What there is for one choice of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceProspect {
    /// The request, by its place.
    pub request: usize,
    /// Which alternative of it, where it has some.
    pub alternative: Option<usize>,
    /// How many devices it needs; absent where it wants all of a node.
    pub needs: Option<i64>,
    /// The devices that it could use, by name.
    pub usable: Vec<DeviceId>,
    /// All others with everything that speaks against them, by name.
    pub excluded: Vec<(DeviceId, Vec<Exclusion>)>,
}

/// What speaks against a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exclusion {
    /// A selector of the device class does not choose it, by its place.
    Class(usize),
    /// A selector of the request does not choose it, by its place.
    Selector(usize),
    /// No node can use it on which the claim could be placed.
    Node,
    /// A taint keeps it from the claim.
    Tainted(Taint, TaintOwner),
    /// Others have it.
    Held(Vec<NamespacedName>),
    /// Too little is left of its capacity, or of what it shares with others.
    Amount,
    /// Its pool is not published whole.
    Incomplete,
    /// Its pool contradicts itself.
    Invalid,
    /// Nobody knows whether it could be used, for this reason.
    Unknown(String),
}

/// A claim that could get a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suitor<'a> {
    /// The claim, which holds nothing yet.
    pub claim: &'a ResourceClaim,
    /// Which of its requests the device would serve, by its place.
    pub request: usize,
    /// Which alternative of it, where it has some.
    pub alternative: Option<usize>,
    /// What speaks against it for now.
    pub exclusions: Vec<Exclusion>,
}

/// What there is for the claim.
#[must_use]
pub fn prospect<'a>(waiting: &Waiting<'a>) -> Prospect {
    let Waiting {
        snapshot,
        claim,
        considered,
        known,
        ..
    } = *waiting;
    let is_meant = |node: &NodeFacts<'a>| waiting.is_meant(node.name);
    let mut scene = Scene::among(snapshot, considered, known, is_meant);
    if let Some(class) = missing_class(claim, &scene) {
        return Prospect {
            blame: Blame::NoClass(class),
            choices: Vec::new(),
        };
    }
    let choices = match claim.spec.as_deref().map(|spec| demands(spec, &scene)) {
        Some(Ok(demands)) => {
            let survey = Survey::new(snapshot, &scene);
            let choices = demands.iter().enumerate().flat_map(|(request, demand)| {
                let choices = demand.choices.iter().enumerate();
                choices.map(move |(place, choice)| (request, place, choice))
            });
            choices
                .map(|(request, place, choice)| survey.prospect(request, place, choice))
                .collect()
        }
        Some(Err(_)) | None => Vec::new(),
    };
    let blame = blame(waiting, &mut scene, &choices);
    Prospect { blame, choices }
}

/// Whether there is a node with all that the claim needs; where nobody knows, there is none that is known.
#[must_use]
pub fn is_placeable<'a>(waiting: &Waiting<'a>) -> bool {
    let is_meant = |node: &NodeFacts<'a>| waiting.is_meant(node.name);
    let scene = Scene::among(
        waiting.snapshot,
        waiting.considered,
        waiting.known,
        is_meant,
    );
    let all = Holdings::of(&waiting.snapshot.claims, |id| scene.identity(id));
    alone(waiting, &scene, &all) == Alone::Placeable
}

impl Waiting<'_> {
    /// Whether the claim may be placed on the node of that name.
    fn is_meant(&self, name: Option<&str>) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.all(|node| name.is_none_or(|name| name == node.as_str()))
    }
}

/// The claims that wait and that the device would fit, those first that could have it at once.
#[must_use]
pub fn suitors<'a>(
    snapshot: &'a Snapshot,
    device: &DeviceId,
    considered: &[ConsideredTaint],
    known: (&Semantics, Sight),
) -> Vec<Suitor<'a>> {
    let scene = Scene::among(snapshot, considered, known, |_| true);
    let survey = Survey::new(snapshot, &scene);
    let Some(place) = survey
        .places
        .iter()
        .copied()
        .find(|place| survey.id(*place) == *device)
    else {
        return Vec::new();
    };
    let waiting = snapshot
        .claims
        .iter()
        .filter(|claim| claim.allocation.is_none());
    let mut suitors = Vec::new();
    for claim in waiting {
        let Some(Ok(demands)) = claim.spec.as_deref().map(|spec| demands(spec, &scene)) else {
            continue;
        };
        for (request, demand) in demands.iter().enumerate() {
            for (number, choice) in demand.choices.iter().enumerate() {
                let exclusions = survey.exclusions(choice, place);
                if exclusions.iter().any(Exclusion::is_lasting) {
                    continue;
                }
                suitors.push(Suitor {
                    claim,
                    request,
                    alternative: choice.alternative.map(|_| number),
                    exclusions,
                });
            }
        }
    }
    suitors.sort_by_key(|suitor| (!suitor.exclusions.is_empty(), &suitor.claim.name));
    suitors
}

impl Exclusion {
    /// Whether it is because of what the device is, which nobody changes.
    fn is_lasting(&self) -> bool {
        match self {
            Self::Class(_) | Self::Selector(_) => true,
            Self::Node
            | Self::Tainted(..)
            | Self::Held(_)
            | Self::Amount
            | Self::Incomplete
            | Self::Invalid
            | Self::Unknown(_) => false,
        }
    }
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

fn blame<'a>(waiting: &Waiting<'a>, scene: &mut Scene<'a>, choices: &[ChoiceProspect]) -> Blame {
    let all = Holdings::of(&waiting.snapshot.claims, |id| scene.identity(id));
    match alone(waiting, scene, &all) {
        Alone::Placeable => return Blame::Elsewhere,
        Alone::Unknown(why) => return Blame::Unknown(why),
        Alone::Unplaceable => {}
    }
    if !is_placeable_without(Lift::Everything, waiting, scene, &all) {
        return Blame::Devices;
    }
    let tried = owners(choices).into_iter().take(LIFTED);
    let found = tried.filter(|owner| {
        let lift = scene.lift_of(owner);
        lift.is_some_and(|lift| is_placeable_without(lift, waiting, scene, &all))
    });
    let found: Vec<TaintOwner> = found.collect();
    if found.is_empty() {
        Blame::AllTaints
    } else {
        Blame::Taints(found)
    }
}

fn is_placeable_without<'a>(
    lift: Lift,
    waiting: &Waiting<'a>,
    scene: &mut Scene<'a>,
    all: &Holdings<'a>,
) -> bool {
    scene.lift = lift;
    let outlook = alone(waiting, scene, all);
    scene.lift = Lift::Nothing;
    outlook == Alone::Placeable
}

fn alone<'a>(waiting: &Waiting<'a>, scene: &Scene<'a>, all: &Holdings<'a>) -> Alone {
    let mut office = Office::new(scene, all);
    office.outlook(waiting.claim).alone
}

/// Whose the taints are against which nothing else speaks, the most frequent first.
fn owners(choices: &[ChoiceProspect]) -> Vec<TaintOwner> {
    let mut counts: BTreeMap<&TaintOwner, usize> = BTreeMap::new();
    for (_, exclusions) in choices.iter().flat_map(|choice| &choice.excluded) {
        let owners = exclusions.iter().map(|exclusion| match exclusion {
            Exclusion::Tainted(_, owner) => Some(owner),
            Exclusion::Class(_)
            | Exclusion::Selector(_)
            | Exclusion::Node
            | Exclusion::Held(_)
            | Exclusion::Amount
            | Exclusion::Incomplete
            | Exclusion::Invalid
            | Exclusion::Unknown(_) => None,
        });
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

/// All devices that count, each with where it is and who has it.
struct Survey<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Places of the devices in current slices, each device once.
    places: Vec<u32>,
    incomplete: BTreeSet<u32>,
    /// The pool in which some node sees a device, and whether the node can use it.
    seen: HashMap<u32, (Rc<Pool<'a>>, Answer)>,
    holders: HashMap<u32, Vec<NamespacedName>>,
    all: Holdings<'a>,
    nothing: Holdings<'a>,
}

impl<'s, 'a> Survey<'s, 'a> {
    fn new(snapshot: &'a Snapshot, scene: &'s Scene<'a>) -> Self {
        let current: BTreeSet<*const _> = current_slices(&snapshot.slices)
            .into_iter()
            .map(std::ptr::from_ref)
            .collect();
        let complete = complete_pools(&snapshot.slices);
        let mut survey = Self {
            scene,
            places: Vec::new(),
            incomplete: BTreeSet::new(),
            seen: HashMap::default(),
            holders: HashMap::default(),
            all: Holdings::of(&snapshot.claims, |id| scene.identity(id)),
            nothing: Holdings::default(),
        };
        let mut known = BTreeSet::new();
        for (place, at) in (0_u32..).zip(&scene.devices) {
            if !current.contains(&std::ptr::from_ref(at.slice)) || !known.insert(at.identity) {
                continue;
            }
            survey.places.push(place);
            if !complete.contains(&(&at.slice.driver, &at.slice.pool.name)) {
                survey.incomplete.insert(place);
            }
        }
        survey.look();
        for claim in &snapshot.claims {
            let results = claim.allocation.iter().flat_map(|found| &found.results);
            for result in results.filter(|result| !result.admin_access) {
                if let Some(identity) = scene.identity(&result.device) {
                    let holders = survey.holders.entry(identity).or_default();
                    holders.push(claim.name.clone());
                }
            }
        }
        survey
    }

    /// Looks at the devices from every node.
    fn look(&mut self) {
        for view in &self.scene.views {
            for pool in &view.pools {
                for place in &pool.devices {
                    let at = self.scene.at(*place);
                    let is_there = match at.slice.nodes {
                        SliceNodes::One(_) | SliceNodes::Several if view.is_doubtful => None,
                        SliceNodes::One(_) | SliceNodes::Several => Some(true),
                        SliceNodes::PerDevice => is_for(at.device, view.node),
                    };
                    let answer = match is_there {
                        Some(true) => Answer::Yes,
                        Some(false) => Answer::No,
                        None => Answer::Perhaps,
                    };
                    let known = self.seen.get(place).map(|(_, answer)| *answer);
                    if known.is_none_or(|known| known < answer) {
                        self.seen.insert(*place, (Rc::clone(pool), answer));
                    }
                }
            }
        }
    }

    fn id(&self, place: u32) -> DeviceId {
        let at = self.scene.at(place);
        at.slice.id_of(at.device)
    }

    fn prospect(&self, request: usize, place: usize, choice: &Choice<'_>) -> ChoiceProspect {
        let mut found = ChoiceProspect {
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
        let scene = self.scene;
        let mut found = Vec::new();
        match choice.refusal(place, scene) {
            Ok(None) => {}
            Ok(Some(Refusal { whose, selector })) => {
                return vec![match whose {
                    Whose::Class => Exclusion::Class(selector),
                    Whose::Request => Exclusion::Selector(selector),
                }];
            }
            Err(why) => found.push(Exclusion::Unknown(why)),
        }
        if !scene.sight.slices {
            let why = "which devices there are was not read completely";
            found.push(Exclusion::Unknown(why.to_owned()));
        }
        match self.seen.get(&place) {
            _ if self.incomplete.contains(&place) => found.push(Exclusion::Incomplete),
            None | Some((_, Answer::No)) => found.push(Exclusion::Node),
            Some((pool, _)) if pool.standing != Standing::Usable => {
                found.push(Exclusion::Invalid);
            }
            Some((pool, answer)) => {
                if *answer == Answer::Perhaps {
                    let why = "which nodes can use it is not known";
                    found.push(Exclusion::Unknown(why.to_owned()));
                }
                found.extend(self.is_taken(choice, (pool, place)));
            }
        }
        let blocking = scene.blocking(place, &choice.terms.tolerations);
        found.extend(
            blocking.map(|(taint, setter)| {
                Exclusion::Tainted(taint.clone(), self.owner(place, *setter))
            }),
        );
        found.sort();
        found
    }

    /// Who has the device, or that too little of it is left.
    fn is_taken(&self, choice: &Choice<'_>, at: (&Pool<'_>, u32)) -> Option<Exclusion> {
        let usage = Usage {
            all: &self.all,
            own: &self.nothing,
        };
        match is_free(choice, at, usage, self.scene) {
            Answer::Yes => None,
            Answer::Perhaps => {
                let why = "how much of it is left cannot be worked out";
                Some(Exclusion::Unknown(why.to_owned()))
            }
            Answer::No => {
                let identity = self.scene.at(at.1).identity;
                let is_held = !choice.terms.admin_access && usage.is_held(identity);
                Some(if is_held {
                    Exclusion::Held(self.holders.get(&identity).cloned().unwrap_or_default())
                } else {
                    Exclusion::Amount
                })
            }
        }
    }

    fn owner(&self, place: u32, setter: Setter) -> TaintOwner {
        match setter {
            Setter::Driver => TaintOwner::Driver(self.id(place)),
            Setter::Rule(rule) => match self.scene.rule(rule) {
                Some(name) => TaintOwner::Rule(name.clone()),
                None => TaintOwner::Supposed(rule as usize),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::placement::tests::{asks, id, name, terms, world};
    use crate::model::{ClaimSpec, DeviceSelector, Effect, Operator, Toleration, Uid};

    fn waiting(spec: ClaimSpec) -> ResourceClaim {
        ResourceClaim {
            name: name("waiting"),
            uid: Uid::from("waiting"),
            controller: None,
            spec: Some(Arc::new(spec)),
            allocation: None,
            reserved_for: Vec::new(),
        }
    }

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
            time_added: None,
        }
    }

    /// A taint on all devices of the pool.
    fn on_pool(pool: &str, key: &str) -> ConsideredTaint {
        ConsideredTaint {
            rule: None,
            selector: Some(DeviceSelector {
                pool: Some(pool.into()),
                ..DeviceSelector::default()
            }),
            taint: taint(key),
        }
    }

    fn asked(
        snapshot: &Snapshot,
        spec: ClaimSpec,
        considered: &[ConsideredTaint],
        nodes: &[NodeName],
    ) -> Prospect {
        let semantics = Semantics::newest();
        prospect(&Waiting {
            snapshot,
            claim: &waiting(spec),
            nodes,
            considered,
            known: (&semantics, Sight::COMPLETE),
        })
    }

    #[test]
    fn what_keeps_each_device_out_is_told_and_what_is_left_can_be_used() {
        let snapshot = world().with_claim("held", &["0"], asks(terms(1)));
        let considered = [on_pool("b", "drain")];
        let found = asked(&snapshot, asks(terms(1)), &considered, &[]);
        let [choice] = found.choices.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(choice.usable, [id("1")]);
        let held = Exclusion::Held(vec![name("held")]);
        let tainted = Exclusion::Tainted(taint("drain"), TaintOwner::Supposed(0));
        let expected = [(id("0"), vec![held]), (id("2"), vec![tainted])];
        assert_eq!(choice.excluded, expected);
        assert_eq!(found.blame, Blame::Elsewhere);
    }

    #[test]
    fn one_taint_several_together_or_none_is_to_blame() {
        let free = world();
        let taken = world().with_claim("held", &["0", "1"], asks(terms(2)));
        let (a, b) = (on_pool("a", "drain"), on_pool("b", "drain"));
        let other = on_pool("b", "other");
        for (called, snapshot, considered, blame) in [
            ("no taint", &free, vec![], Blame::Elsewhere),
            (
                "either of both",
                &free,
                vec![a.clone(), b.clone()],
                Blame::Taints(vec![TaintOwner::Supposed(0), TaintOwner::Supposed(1)]),
            ),
            (
                "the one on what is free",
                &taken,
                vec![a, b.clone()],
                Blame::Taints(vec![TaintOwner::Supposed(1)]),
            ),
            (
                "two on one device",
                &taken,
                vec![b, other],
                Blame::AllTaints,
            ),
        ] {
            let found = asked(snapshot, asks(terms(1)), &considered, &[]);
            assert_eq!(found.blame, blame, "{called}");
        }
        let found = asked(&free, asks(terms(3)), &[on_pool("a", "drain")], &[]);
        assert_eq!(found.blame, Blame::Devices, "no node has three");
    }

    #[test]
    fn a_toleration_lets_a_device_be_used_and_no_driver_is_passed_over() {
        let mut snapshot = world();
        snapshot.slices[1].devices[0].taints.push(taint("ecc"));
        snapshot.slices.remove(0);
        let found = asked(&snapshot, asks(terms(1)), &[], &[]);
        let driver = TaintOwner::Driver(id("2"));
        assert_eq!(found.blame, Blame::Taints(vec![driver]));
        let mut tolerant = terms(1);
        tolerant.tolerations.push(Toleration {
            key: "ecc".to_owned(),
            operator: Operator::Exists,
            value: String::new(),
            effect: None,
            seconds: None,
        });
        let found = asked(&snapshot, asks(tolerant), &[], &[]);
        assert_eq!(found.choices[0].usable, [id("2")]);
        assert_eq!(found.blame, Blame::Elsewhere);
    }

    #[test]
    fn a_class_that_is_gone_and_slices_that_were_not_read_are_told() {
        let mut unknown = terms(1);
        unknown.class = "gone".into();
        let found = asked(&world(), asks(unknown), &[], &[]);
        assert_eq!(found.blame, Blame::NoClass("gone".into()));
        let semantics = Semantics::newest();
        let unread = Sight {
            slices: false,
            ..Sight::COMPLETE
        };
        let found = prospect(&Waiting {
            snapshot: &world(),
            claim: &waiting(asks(terms(1))),
            nodes: &[],
            considered: &[],
            known: (&semantics, unread),
        });
        assert!(matches!(found.blame, Blame::Unknown(_)), "{found:?}");
        assert!(found.choices.iter().all(|choice| choice.usable.is_empty()));
    }

    #[test]
    fn a_selector_and_a_node_keep_devices_out() {
        let mut picky = terms(1);
        picky.expressions.push("device.driver == 'other'".into());
        let found = asked(&world(), asks(picky), &[], &[]);
        let excluded = &found.choices[0].excluded;
        assert!(
            excluded
                .iter()
                .all(|(_, why)| *why == [Exclusion::Selector(0)])
        );
        assert_eq!(found.blame, Blame::Devices);
        let found = asked(&world(), asks(terms(1)), &[], &["b".into()]);
        assert_eq!(found.choices[0].usable, [id("2")]);
        let node = (id("0"), vec![Exclusion::Node]);
        assert!(found.choices[0].excluded.contains(&node));
    }

    #[test]
    fn those_who_wait_for_a_device_are_found_and_what_speaks_against_them() {
        let mut snapshot = world();
        snapshot.claims.push(waiting(asks(terms(1))));
        let semantics = Semantics::newest();
        let considered = [on_pool("a", "drain")];
        let known = (&semantics, Sight::COMPLETE);
        let found = suitors(&snapshot, &id("2"), &considered, known);
        assert_eq!(found.len(), 1);
        assert!(found[0].exclusions.is_empty());
        let found = suitors(&snapshot, &id("0"), &considered, known);
        assert_eq!(found[0].exclusions.len(), 1);
    }
}
