//! Chains, and changes that keep a pod.

use super::world::{GPU_0, NOW, World, at, one_pod, proposed};
use crate::explain::chain::taints_of;
use crate::explain::{
    Chain, ExplainInput, PendingPod, PodVerdict, Reservation, VerdictChange, alterations,
    related_objects,
};
use crate::model::{
    ClaimSource, ClaimSpec, Controller, DeviceAmount, DeviceClass, RequestKind, Snapshot,
};
use crate::{NotEvicted, ProposedTaint, Semantics};

const TAINT: &str = "example.com/drain=x:NoExecute";

/// Explanation of the first pod of the world.
struct Told {
    verdict: PodVerdict,
    changes: Vec<(String, PodVerdict)>,
}

fn describe(world: &World, assumed: &[ProposedTaint], semantics: &Semantics) -> Told {
    asked(&world.snapshot, assumed, semantics, |chain, input| Told {
        verdict: input.verdict(chain.pod, chain),
        changes: alterations(input, chain)
            .into_iter()
            .map(|one| (word(&one.change), one.verdict))
            .collect(),
    })
}

fn asked<T>(
    snapshot: &Snapshot,
    assumed: &[ProposedTaint],
    semantics: &Semantics,
    look: impl FnOnce(&Chain<'_>, &ExplainInput<'_>) -> T,
) -> T {
    let pod = &snapshot.pods[0];
    let facts = related_objects(snapshot, pod);
    let taints = taints_of(&facts, assumed, at(NOW));
    let input = ExplainInput {
        snapshot: &facts,
        assumed: assumed.len(),
        taints: &taints,
        now: at(NOW),
        semantics,
    };
    look(&Chain::new(pod, &input), &input)
}

fn word(change: &VerdictChange) -> String {
    match change {
        VerdictChange::WithoutRule(index) => format!("without rule {index}"),
        VerdictChange::WithoutDriverTaint { taint, .. } => format!("without {taint} of the driver"),
        VerdictChange::WithToleration(wanted) => format!("with {}", wanted.toleration),
    }
}

const NOW_EVICTED: PodVerdict = PodVerdict::Evicted {
    at: jiff::Timestamp::constant(NOW, 0),
};

#[test]
fn what_becomes_of_a_pod_and_what_would_alter_that() {
    let held = |tolerations: &[&str]| {
        World::default()
            .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
            .claim("team/claim", &[GPU_0], tolerations)
            .pod("team/pod", &["claim"])
    };
    let ecc = &[("gpu-0", &["example.com/ecc:NoExecute"][..])];
    let driver = World::default()
        .slice("gpu.example.com/node-a", ecc)
        .claim("team/claim", &[GPU_0], &[])
        .pod("team/pod", &["claim"]);
    let ruled = held(&[]).rule("drain", GPU_0, TAINT);
    let unplaced = ruled.clone().but_pod(|pod| pod.node = None);
    let harmless = held(&[]).rule("drain", GPU_0, "example.com/drain:NoSchedule");
    let tolerant = held(&["example.com/drain:NoExecute", "example.com/fan:NoExecute"]);
    let asked = || vec![proposed(GPU_0, TAINT)];
    let stays = PodVerdict::NotEvicted(NotEvicted::EffectDoesNotEvict);
    let waits = PodVerdict::NotEvicted(NotEvicted::NotScheduled);
    let tolerating = ("with example.com/drain=x:NoExecute", PodVerdict::Tolerates);
    let of_rule = vec![("without rule 0", PodVerdict::Untouched), tolerating];
    let of_driver = vec![
        (
            "without example.com/ecc:NoExecute of the driver",
            PodVerdict::Untouched,
        ),
        ("with example.com/ecc:NoExecute", PodVerdict::Tolerates),
    ];
    for (name, world, assumed, verdict, changes) in [
        ("a rule", ruled, vec![], NOW_EVICTED, of_rule),
        ("the driver", driver, vec![], NOW_EVICTED, of_driver),
        (
            "a taint that is asked about is tolerated",
            tolerant,
            asked(),
            PodVerdict::Tolerates,
            vec![],
        ),
        (
            "a taint that is asked about is no fix",
            held(&[]),
            asked(),
            NOW_EVICTED,
            vec![tolerating],
        ),
        ("no eviction", harmless, vec![], stays, vec![]),
        ("no node", unplaced, vec![], waits, vec![]),
    ] {
        let found = describe(&world, &assumed, &Semantics::assumed());
        assert_eq!(found.verdict, verdict, "{name}");
        let expected: Vec<(String, PodVerdict)> = changes
            .into_iter()
            .map(|(word, verdict)| (word.to_owned(), verdict))
            .collect();
        assert_eq!(found.changes, expected, "{name}");
    }
}

#[test]
fn of_two_causes_one_that_goes_only_moves_the_moment() {
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/claim", &[GPU_0], &["example.com/late:NoExecute@60"])
        .pod("team/pod", &["claim"])
        .rule("early", GPU_0, "example.com/early:NoExecute")
        .rule("late", GPU_0, "example.com/late:NoExecute");
    let found = describe(&world, &[], &Semantics::assumed());
    assert_eq!(found.verdict, NOW_EVICTED);
    let later = PodVerdict::Evicted { at: at(NOW + 60) };
    assert_eq!(
        found.changes,
        [
            ("without rule 0".to_owned(), later),
            ("with example.com/early:NoExecute".to_owned(), later),
        ]
    );
}

#[test]
fn a_reservation_is_current_or_it_is_said_whose_it_is() {
    let reservation = |world: World| {
        asked(&world.snapshot, &[], &Semantics::assumed(), |chain, _| {
            (chain.links[0].reservation, chain.links[0].validity)
        })
    };
    assert_eq!(
        reservation(one_pod()),
        (Reservation::Current(0), Some(None))
    );
    let former = one_pod().but_claim(|claim| claim.reserved_for[0].uid = "before".into());
    assert_eq!(reservation(former), (Reservation::Former(0), None));
    let renamed = one_pod().but_claim(|claim| claim.reserved_for[0].name = "other".into());
    assert_eq!(reservation(renamed), (Reservation::Renamed(0), Some(None)));
    let absent = one_pod().but_claim(|claim| claim.reserved_for.clear());
    assert_eq!(reservation(absent), (Reservation::Absent, None));
}

/// A patch of the pod's status may drop `resourceClaimStatuses`.
#[test]
fn a_claim_that_the_status_does_not_name_is_found_by_its_owner() {
    let world = one_pod()
        .but_claim(|claim| {
            claim.controller = Some(Controller {
                api_version: "v1".into(),
                kind: "Pod".into(),
                name: "pod".into(),
                uid: "uid-team/pod".into(),
            });
        })
        .but_pod(|pod| {
            pod.claims[0].source = ClaimSource::Template {
                template: "gpu".into(),
                generated: None,
            };
        });
    let found = |world: &World| {
        asked(&world.snapshot, &[], &Semantics::assumed(), |chain, _| {
            let link = &chain.links[0];
            (
                link.claim.is_some(),
                link.unlisted.map(|claim| claim.name.to_string()),
            )
        })
    };
    assert_eq!(found(&world), (false, Some("team/claim".to_owned())));
    let other = world.but_claim(|claim| claim.controller = None);
    assert_eq!(found(&other), (false, None), "of another pod");
}

#[test]
fn extended_resources_are_requests_for_the_devices_of_their_class() {
    let class = |name: &str, extended: Option<&str>| DeviceClass {
        name: name.into(),
        expressions: Vec::new(),
        extended_resource: extended.map(str::to_owned),
    };
    let requests = |resource: &str, node: Option<&str>| {
        let mut world = World::default().pod("team/pod", &[]).but_pod(|pod| {
            pod.node = node.map(Into::into);
            pod.extended_resources = vec![(resource.into(), 2)];
        });
        world.snapshot.classes = vec![class("gpu", Some("example.com/gpu")), class("nic", None)];
        asked(
            &world.snapshot,
            &[],
            &Semantics::assumed(),
            |chain, input| {
                let found = PendingPod::of(chain, input.snapshot)?;
                assert!(PendingPod::waits(chain, input.snapshot));
                let spec = found.claim.spec.expect("its requests");
                let [request] = spec.requests.as_slice() else {
                    panic!("{spec:?}");
                };
                match &request.kind {
                    RequestKind::Exactly(terms) => {
                        Some((terms.class.to_string(), terms.amount.clone()))
                    }
                    RequestKind::FirstAvailable(_) | RequestKind::Unknown => None,
                }
            },
        )
    };
    let two = DeviceAmount::Exactly(2);
    assert_eq!(
        requests("example.com/gpu", None),
        Some(("gpu".to_owned(), two.clone()))
    );
    let implicit = "deviceclass.resource.kubernetes.io/nic";
    assert_eq!(requests(implicit, None), Some(("nic".to_owned(), two)));
    assert_eq!(
        requests("example.com/gpu", Some("node-a")),
        None,
        "it has a node"
    );
    assert_eq!(
        requests("example.com/disk", None),
        None,
        "no class serves it"
    );
}

#[test]
fn several_claims_that_wait_are_one_question() {
    let spec = || Some(std::sync::Arc::new(ClaimSpec::default()));
    let world = World::default()
        .slice("gpu.example.com/node-a", &[("gpu-0", &[])])
        .claim("team/held", &[GPU_0], &[])
        .claim_of("team/one", None)
        .but_claim(|claim| claim.spec = spec())
        .claim_of("team/two", None)
        .but_claim(|claim| claim.spec = spec())
        .pod_without_reservation("team/pod", &["held", "one", "two"]);
    let wanted = |world: &World| {
        asked(
            &world.snapshot,
            &[],
            &Semantics::assumed(),
            |chain, input| PendingPod::of(chain, input.snapshot),
        )
    };
    let found = wanted(&world).expect("two wait");
    assert_eq!(found.nodes, ["node-a".into()]);
    let unread = world.but_claim(|claim| claim.spec = None);
    assert!(wanted(&unread).is_none());
}
