//! Chains, and changes that keep a pod.

use super::world::{GPU_0, NOW, World, at, one_pod, proposed};
use crate::explain::chain::taints_of;
use crate::explain::{
    Chain, ExplainInput, PendingPod, PodVerdict, Reservation, VerdictChange, alterations,
    related_objects,
};
use crate::model::{ClaimSpec, Snapshot};
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
    let tolerates = PodVerdict::Tolerates;
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
        ("tolerated", tolerant, asked(), tolerates, vec![]),
        // A taint that is asked about is no fix.
        ("asked", held(&[]), asked(), NOW_EVICTED, vec![tolerating]),
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
