//! Diagnosis of a waiting claim: usable devices, exclusions of all others, and the root cause.

use super::demand::demands;
use super::exclusions::{ChoiceDiagnosis, ExclusionFinder};
use super::pending_claim::PendingClaim;
use super::root_cause::{RootCause, root_cause};

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::allocator::tests::{asks, id, name, overdrawn, terms, world};
    use crate::allocator::{Completeness, Exclusion, RootCause, SearchBasis, TaintOwner};
    use crate::model::{
        AttributeValue, ClaimSpec, DeviceSelector, NodeName, ResourceClaim, Snapshot, Taint, Uid,
    };
    use crate::{ProposedTaint, Semantics};

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
        for (called, snapshot, proposed, root_cause) in [
            ("no taint", &free, vec![], RootCause::Elsewhere),
            (
                "either of both",
                &free,
                vec![a.clone(), b.clone()],
                RootCause::Taints(vec![TaintOwner::Proposed(0), TaintOwner::Proposed(1)]),
            ),
            (
                "the one on what is free",
                &taken,
                vec![a, b.clone()],
                RootCause::Taints(vec![TaintOwner::Proposed(1)]),
            ),
            (
                "two on one device",
                &taken,
                vec![b, other],
                RootCause::SeveralTaints,
            ),
        ] {
            let found = asked(snapshot, asks(terms(1)), &proposed, &[]);
            assert_eq!(found.root_cause, root_cause, "{called}");
        }
        let found = asked(&free, asks(terms(3)), &[on_pool("a", "drain")], &[]);
        assert_eq!(found.root_cause, RootCause::Never, "no node has three");
        let found = asked(&taken, asks(terms(2)), &[], &[]);
        assert_eq!(found.root_cause, RootCause::Devices, "both are held");
    }

    #[test]
    fn a_toleration_lets_a_device_be_used_and_no_driver_is_passed_over() {
        let mut snapshot = world();
        snapshot.slices[1].devices[0].taints.push(taint("ecc"));
        snapshot.slices.remove(0);
        let found = asked(&snapshot, asks(terms(1)), &[], &[]);
        let driver = TaintOwner::Driver(id("2"), taint("ecc").into());
        assert_eq!(found.root_cause, RootCause::Taints(vec![driver]));
        let mut tolerant = terms(1);
        tolerant
            .tolerations
            .push(crate::testing::toleration("ecc:"));
        let found = asked(&snapshot, asks(tolerant), &[], &[]);
        assert_eq!(found.choices[0].usable, [id("2")]);
        assert_eq!(found.root_cause, RootCause::Elsewhere);
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
