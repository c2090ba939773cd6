//! Diagnosis of a waiting claim: usable devices, exclusions of all others, and the root cause.

use super::allocation_session::AllocationSession;
use super::cluster_state::{ClusterState, IgnoredTaints};
use super::counters::Holdings;
use super::demand::demands;
use super::exclusions::{ChoiceDiagnosis, Exclusion, ExclusionFinder};
use super::pending_claim::Placeability;
use super::pending_claim::{PendingClaim, is_placeable, placeability};
use super::pool::Unknown;
use crate::model::{DeviceId, ObjectName, RequestKind, ResourceClaim, Taint};
use std::collections::{BTreeMap, BTreeSet};

/// Diagnosis of a claim that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Cause of the wait, as far as devices go.
    pub root_cause: RootCause,
    /// One for each request, and for each alternative of one.
    pub choices: Vec<ChoiceDiagnosis>,
}

/// Diagnoses the claim.
pub fn diagnose<'a>(waiting: &PendingClaim<'a>) -> Diagnosis {
    let mut state = waiting.state();
    let spec = waiting.claim.spec.as_deref();
    let demands = spec.and_then(|spec| demands(spec, &state).ok());
    let finder = ExclusionFinder::new(waiting.snapshot, &state);
    let demands = demands.iter().flatten().enumerate();
    let choices = demands.flat_map(|(request, demand)| {
        let choices = demand.choices.iter().enumerate();
        choices.map(move |(place, choice)| (request, place, choice))
    });
    let choices: Vec<ChoiceDiagnosis> = choices
        .map(|(request, place, choice)| finder.diagnose(request, place, choice))
        .collect();
    let root_cause = root_cause(waiting, &mut state, &choices);
    Diagnosis {
        root_cause,
        choices,
    }
}

/// Number of taint owners that are tried one by one, the most frequent first.
//
// Each trial is an allocation on all nodes. The most frequent come first, since they keep away most devices.
const MAX_OWNERS: usize = 16;
/// Cause for which a claim waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootCause {
    /// Nothing about devices: on some node there are all that it needs.
    Elsewhere,
    /// Any one of these taints: without it there are all that it needs.
    Taints(Vec<TaintOwner>),
    /// Several taints at once: without all of them there are all that it needs, without any single one there are not.
    SeveralTaints,
    /// Any one of these constraints of the claim, by its place: without it there are all that it needs.
    Constraints(Vec<usize>),
    /// There are too few free devices, with taints and without.
    Devices,
    /// There are too few devices even if all are free and none is tainted.
    Never,
    /// There is no such device class.
    NoClass(ObjectName),
    /// Expressions that fail: the scheduler gives up with an error where it comes to them.
    Fails(BTreeSet<Unknown>),
    /// Unknown, for these reasons.
    Unknown(BTreeSet<Unknown>),
}

/// Cause for which the claim waits, given these `choices`.
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
            let alone = constraints(waiting);
            if !alone.is_empty() {
                return RootCause::Constraints(alone);
            }
            let nothing = Holdings::default();
            let free = placeability_without(IgnoredTaints::Everything, waiting, state, &nothing);
            return match free {
                Placeability::Unplaceable if are_known(choices) => RootCause::Never,
                Placeability::Unplaceable | Placeability::Placeable | Placeability::Unknown(_) => {
                    RootCause::Devices
                }
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
    if found.is_empty() {
        return RootCause::SeveralTaints;
    }
    RootCause::Taints(found)
}

/// True if all is known of devices that could serve a request: pools that are not published whole may have more.
fn are_known(choices: &[ChoiceDiagnosis]) -> bool {
    let excluded = choices.iter().flat_map(|choice| &choice.excluded);
    !excluded
        .flat_map(|(_, exclusions)| exclusions)
        .any(Exclusion::is_doubtful)
}

/// The constraints each of which alone keeps the claim from being placed, by place.
fn constraints(waiting: &PendingClaim<'_>) -> Vec<usize> {
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
        is_placeable(&unconstrained)
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

/// Owners of the taints against which nothing else speaks, the most frequent first.
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

/// Owner of a taint that keeps a device back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintOwner {
    /// A rule's.
    Rule(ObjectName),
    /// One that was asked about and that no rule has, by its place.
    Proposed(usize),
    /// The driver's on this device, of which it may have several.
    Driver(DeviceId, Box<Taint>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::tests::{asks, id, name, overdrawn, terms, world};
    use crate::allocator::{Completeness, Exclusion, RootCause, SearchBasis, TaintOwner};
    use crate::model::{
        AttributeValue, ClaimSpec, DeviceSelector, NodeName, ResourceClaim, Snapshot, Taint, Uid,
    };
    use crate::{ProposedTaint, Semantics};
    use std::sync::Arc;

    fn waiting(spec: ClaimSpec) -> ResourceClaim {
        ResourceClaim {
            name: name("waiting"),
            uid: Uid::from("waiting"),
            spec: Some(Arc::new(spec)),
            ..ResourceClaim::default()
        }
    }

    fn taint(key: &str) -> Taint {
        crate::testing::untimed(&format!("{key}:NoSchedule"))
    }

    /// A taint on all devices of the pool.
    fn on_pool(pool: &str, key: &str) -> ProposedTaint {
        ProposedTaint {
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
        proposed: &[ProposedTaint],
        nodes: &[NodeName],
    ) -> Diagnosis {
        let semantics = Semantics::assumed();
        diagnose(&PendingClaim {
            snapshot,
            claim: &waiting(spec),
            nodes,
            selectors: &[],
            proposed,
            basis: SearchBasis {
                semantics: &semantics,
                completeness: Completeness::COMPLETE,
            },
        })
    }

    #[test]
    fn what_keeps_each_device_out_is_told_and_what_is_left_can_be_used() {
        let snapshot = world().with_claim("held", &["0"], asks(terms(1)));
        let proposed = [on_pool("b", "drain")];
        let found = asked(&snapshot, asks(terms(1)), &proposed, &[]);
        let [choice] = found.choices.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(choice.usable, [id("1")]);
        let held = Exclusion::Held;
        let tainted = Exclusion::Tainted(taint("drain"), TaintOwner::Proposed(0));
        let expected = [(id("0"), vec![held]), (id("2"), vec![tainted])];
        assert_eq!(choice.excluded, expected);
        assert_eq!(found.root_cause, RootCause::Elsewhere);
    }

    #[test]
    fn one_taint_several_together_or_none_is_to_blame() {
        let free = world();
        let taken = world().with_claim("held", &["0", "1"], asks(terms(2)));
        let (a, b) = (on_pool("a", "drain"), on_pool("b", "drain"));
        let other = on_pool("b", "other");
        let taints = |taints: &[usize]| {
            RootCause::Taints(taints.iter().map(|it| TaintOwner::Proposed(*it)).collect())
        };
        let (either, both, two) = (
            vec![a.clone(), b.clone()],
            vec![a, b.clone()],
            vec![b, other],
        );
        for (snapshot, proposed, root_cause) in [
            (&free, vec![], RootCause::Elsewhere),
            (&free, either, taints(&[0, 1])),
            // The one on what is free.
            (&taken, both, taints(&[1])),
            (&taken, two, RootCause::SeveralTaints),
        ] {
            let found = asked(snapshot, asks(terms(1)), &proposed, &[]);
            assert_eq!(found.root_cause, root_cause, "{proposed:?}");
        }
        let found = asked(&free, asks(terms(3)), &[on_pool("a", "drain")], &[]);
        assert_eq!(found.root_cause, RootCause::Never, "no node has three");
        let found = asked(&taken, asks(terms(2)), &[], &[]);
        assert_eq!(found.root_cause, RootCause::Devices, "both are held");
    }

    #[test]
    fn a_class_that_is_gone_and_slices_that_were_not_read_are_told() {
        let mut unknown = terms(1);
        unknown.class = "gone".into();
        let found = asked(&world(), asks(unknown), &[], &[]);
        assert_eq!(found.root_cause, RootCause::NoClass("gone".into()));
        let semantics = Semantics::assumed();
        let unread = Completeness {
            slices: false,
            ..Completeness::COMPLETE
        };
        let found = diagnose(&PendingClaim {
            snapshot: &world(),
            claim: &waiting(asks(terms(1))),
            nodes: &[],
            selectors: &[],
            proposed: &[],
            basis: SearchBasis {
                semantics: &semantics,
                completeness: unread,
            },
        });
        assert!(
            matches!(found.root_cause, RootCause::Unknown(_)),
            "{found:?}"
        );
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
        assert_eq!(found.root_cause, RootCause::Never);
        let found = asked(&world(), asks(terms(1)), &[], &["b".into()]);
        assert_eq!(found.choices[0].usable, [id("2")]);
        let node = (id("0"), vec![Exclusion::Node]);
        assert!(found.choices[0].excluded.contains(&node));
    }

    #[test]
    fn an_expression_that_fails_ends_the_attempt_and_is_not_called_unknown() {
        let mut snapshot = world();
        let expression = "device.attributes['gpu.example.com'].model == 'a'";
        snapshot.classes[0].expressions.push(expression.to_owned());
        let found = asked(&snapshot, asks(terms(1)), &[], &[]);
        let RootCause::Fails(why) = &found.root_cause else {
            panic!("{found:?}");
        };
        let why: Vec<String> = why.iter().map(ToString::to_string).collect();
        let [why] = why.as_slice() else {
            panic!("{why:?}");
        };
        let told = "a selector of device class gpu fails: ";
        assert!(why.starts_with(told), "{why}");
        let (_, out) = &found.choices[0].excluded[0];
        let error = why.trim_start_matches(told).to_owned();
        assert_eq!(*out, [Exclusion::ClassFails(1, error.clone())]);

        // Where the allocator comes to a device that has it first, and needs no other, it does not fail.
        let model = AttributeValue::String("a".into());
        snapshot.slices[0].devices[0].attributes = [("model".into(), model)].into_iter().collect();
        let of_request = |count| {
            let mut picky = terms(count);
            picky.expressions.push(expression.into());
            asked(&snapshot, asks(picky), &[], &["a".into()])
        };
        assert_eq!(of_request(1).root_cause, RootCause::Elsewhere);
        assert!(matches!(of_request(2).root_cause, RootCause::Fails(_)));
        snapshot.classes[0].expressions.pop();
        let mut picky = terms(2);
        picky.expressions.push(expression.into());
        let found = asked(&snapshot, asks(picky), &[], &["a".into()]);
        let failing = (id("1"), vec![Exclusion::SelectorFails(0, error)]);
        assert!(found.choices[0].excluded.contains(&failing), "{found:?}");
    }

    #[test]
    fn a_device_that_never_has_so_much_is_told_from_one_of_which_too_little_is_left() {
        let mut snapshot = world();
        for (place, amount) in ["8Gi", "40Gi"].into_iter().enumerate() {
            let device = &mut snapshot.slices[0].devices[place];
            device.capacity = [("memory".into(), amount.into())].into_iter().collect();
        }
        let mut large = terms(1);
        large.capacity.insert("memory".into(), "10Gi".into());
        let found = asked(&snapshot, asks(large), &[], &[]);
        assert_eq!(found.choices[0].usable, [id("1")]);
        let expected = [id("0"), id("2")].map(|id| (id, vec![Exclusion::TooSmall]));
        assert_eq!(found.choices[0].excluded, expected);
        let found = asked(&overdrawn(), asks(terms(1)), &[], &[]);
        assert_eq!(found.choices[0].usable, [id("0")], "a further share");
        let expected = [(id("1"), vec![Exclusion::TooSmall])];
        assert_eq!(found.choices[0].excluded, expected);
    }
}
