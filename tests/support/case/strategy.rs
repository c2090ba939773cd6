//! Frequencies of oddities.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{
    Case, ClaimSpec, OwnerSpec, PodSpec, ReferenceSpec, ReservationSpec, ResultSpec, RuleSpec,
    SliceSpec, TaintSpec, TolerationSpec,
};

/// Purpose of a case: the controller's preview and its evictions race when one case has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Rules with effect None; nothing is due before the end.
    Previews,
    /// Rules that evict, now and later.
    Timelines,
}

/// Long after every horizon.
const FAR_FUTURE: i64 = 50_000_000;

/// Any cluster of the family.
pub fn any_case(family: Family) -> impl Strategy<Value = Case> {
    (
        vec(any_slice(family), 0..5),
        vec(any_claim(family), 0..6),
        vec(any_pod(), 0..7),
        vec(any_rule(family), 1..4),
        any::<bool>(),
    )
        .prop_map(|(slices, mut claims, pods, rules, pod_groups)| Case {
            slices: with_equal_twins(slices),
            pods: (0u8..)
                .zip(pods)
                .map(|(place, (pod, usual))| as_usual(place, pod, &usual, &mut claims))
                .collect(),
            claims,
            rules,
            pod_groups,
        })
}

/// The pod with the usual surroundings: the claims that it refers to exist and are reserved for it, and one
/// that was generated for it is its own.
fn as_usual(place: u8, mut pod: PodSpec, usual: &[bool], claims: &mut [ClaimSpec]) -> PodSpec {
    let count = claims.len();
    for (reference, _) in pod
        .claims
        .iter_mut()
        .zip(usual)
        .filter(|(_, usual)| **usual)
    {
        let generated = matches!(reference, ReferenceSpec::Template(_));
        let (ReferenceSpec::Claim(number) | ReferenceSpec::Template(number)) = reference else {
            continue;
        };
        let Some(rest) = usize::from(*number).checked_rem(count) else {
            continue;
        };
        *number = u8::try_from(rest).unwrap_or(*number);
        let claim = &mut claims[rest];
        let reservation = ReservationSpec::Pod(place);
        if !claim.reserved_for.contains(&reservation) {
            claim.reserved_for.push(reservation);
        }
        if generated {
            claim.owner = OwnerSpec::Pod(place);
        }
    }
    pod
}

/// Makes taints equal wherever two slices of one pool and generation publish a device: which
/// of the two the controller sees is left to chance there.
fn with_equal_twins(slices: Vec<SliceSpec>) -> Vec<SliceSpec> {
    let mut first: BTreeMap<(u8, u8, i8, u8), Vec<TaintSpec>> = BTreeMap::new();
    let mut equal = slices;
    for slice in &mut equal {
        for (device, taints) in &mut slice.devices {
            let key = (slice.driver, slice.pool, slice.generation, *device);
            *taints = first.entry(key).or_insert_with(|| taints.clone()).clone();
        }
    }
    equal
}

fn any_slice(family: Family) -> impl Strategy<Value = SliceSpec> {
    let effect = select(vec![
        "NoExecute",
        "NoExecute",
        "NoSchedule",
        "None",
        "Newer",
    ]);
    let devices = vec((0u8..3, vec(any_taint(effect, family), 0..3)), 0..3);
    (0u8..2, 0u8..2, 1i8..3, 1u8..3, devices).prop_map(
        |(driver, pool, generation, slice_count, mut devices)| {
            // The server refuses a slice that has one name twice.
            devices.sort_by_key(|(device, _)| *device);
            devices.dedup_by_key(|(device, _)| *device);
            SliceSpec {
                driver,
                pool,
                generation,
                slice_count,
                devices,
            }
        },
    )
}

fn any_taint(
    effect: impl Strategy<Value = &'static str>,
    family: Family,
) -> impl Strategy<Value = TaintSpec> {
    let added = match family {
        Family::Previews => Just(FAR_FUTURE).boxed(),
        Family::Timelines => {
            prop_oneof![4 => -600i64..600, 1 => Just(0), 1 => Just(FAR_FUTURE)].boxed()
        }
    };
    (0u8..2, 0u8..3, effect, added).prop_map(|(key, value, effect, added)| TaintSpec {
        key,
        value,
        effect,
        added,
    })
}

fn any_rule(family: Family) -> impl Strategy<Value = RuleSpec> {
    let effects = match family {
        Family::Previews => vec!["None", "None", "None", "NoSchedule", "Newer"],
        Family::Timelines => vec!["NoExecute", "NoExecute", "NoExecute", "NoSchedule", "Newer"],
    };
    let part = |of: u8| option::weighted(0.5, 0u8..of);
    let selector = [part(2).boxed(), part(2).boxed(), part(3).boxed()];
    (
        option::weighted(0.9, selector),
        any_taint(select(effects), family),
    )
        .prop_map(|(selector, taint)| RuleSpec { selector, taint })
}

fn any_claim(family: Family) -> impl Strategy<Value = ClaimSpec> {
    let owner = prop_oneof![
        3 => Just(OwnerSpec::Unowned),
        3 => (0u8..7).prop_map(OwnerSpec::Pod),
        1 => (0u8..7).prop_map(OwnerSpec::FormerPod),
        1 => (0u8..2).prop_map(OwnerSpec::PodGroup),
    ];
    let results = option::weighted(0.9, vec(any_result(family), 0..4));
    (
        any_namespace(),
        results,
        owner,
        vec(any_reservation(family), 0..3),
    )
        .prop_map(|(namespace, results, owner, reserved_for)| ClaimSpec {
            namespace,
            results,
            owner,
            reserved_for,
        })
}

fn any_reservation(family: Family) -> BoxedStrategy<ReservationSpec> {
    let common = prop_oneof![
        8 => (0u8..7).prop_map(ReservationSpec::Pod),
        1 => (0u8..7).prop_map(ReservationSpec::FormerPod),
        1 => Just(ReservationSpec::NoPod),
        2 => (0u8..2).prop_map(ReservationSpec::PodGroup),
    ];
    match family {
        // A rule finds pods by name, a pod its claims by UID: whether such a pod is evicted depends
        // on which of them is handled last, and only its count is certain.
        Family::Previews => {
            prop_oneof![9 => common, 1 => (0u8..7).prop_map(ReservationSpec::RenamedPod)].boxed()
        }
        Family::Timelines => common.boxed(),
    }
}

fn any_result(family: Family) -> impl Strategy<Value = ResultSpec> {
    (
        0u8..2,
        0u8..2,
        0u8..3,
        any::<bool>(),
        any::<bool>(),
        vec(any_toleration(family), 0..3),
    )
        .prop_map(
            |(driver, pool, device, admin_access, shared, tolerations)| ResultSpec {
                driver,
                pool,
                device,
                admin_access,
                shared,
                tolerations,
            },
        )
}

/// The fewest seconds that wrap around into the past.
const WRAPPING: i64 = 9_223_372_037;

fn any_toleration(family: Family) -> impl Strategy<Value = TolerationSpec> {
    let seconds = prop_oneof![
        3 => Just(None),
        6 => (0i64..900).prop_map(Some),
        1 => Just(Some(0)),
        1 => (-900i64..0).prop_map(Some),
        1 => select(vec![WRAPPING - 1, WRAPPING, 18_446_744_074, i64::MAX, i64::MIN]).prop_map(Some),
    ];
    (
        option::weighted(0.6, 0u8..2),
        select(vec!["Exists", "Exists", "Equal", "Equal", "", "Newer"]),
        0u8..3,
        select(vec![
            "NoExecute",
            "NoExecute",
            "NoExecute",
            "NoSchedule",
            "",
            "Newer",
        ]),
        seconds,
    )
        .prop_map(
            move |(key, operator, value, effect, seconds)| TolerationSpec {
                key,
                operator,
                value,
                effect,
                // It would make a driver's taint due at once, which no preview may wait for.
                seconds: seconds.map(|seconds| match (family, seconds) {
                    (Family::Previews, WRAPPING) => WRAPPING - 1,
                    _ => seconds,
                }),
            },
        )
}

/// A pod, and for each of its references true if it has the usual surroundings.
fn any_pod() -> impl Strategy<Value = (PodSpec, Vec<bool>)> {
    let reference = prop_oneof![
        5 => (0u8..6).prop_map(ReferenceSpec::Claim),
        4 => (0u8..6).prop_map(ReferenceSpec::Template),
        1 => Just(ReferenceSpec::TemplateWithoutStatus),
        1 => Just(ReferenceSpec::TemplateWithoutClaim),
    ];
    (
        any_namespace(),
        prop::bool::weighted(0.85),
        select(vec![
            "Running",
            "Running",
            "Running",
            "Pending",
            "Succeeded",
            "Failed",
        ]),
        prop::bool::weighted(0.1),
        vec((reference, prop::bool::weighted(0.8)), 0..4),
        option::weighted(0.4, 0u8..2),
        option::weighted(0.15, 0u8..6),
    )
        .prop_map(
            |(namespace, scheduled, phase, terminating, references, pod_group, extended)| {
                let (claims, usual) = references.into_iter().unzip();
                let pod = PodSpec {
                    namespace,
                    scheduled,
                    phase,
                    terminating,
                    claims,
                    pod_group,
                    extended,
                };
                (pod, usual)
            },
        )
}

/// Mostly the same one, since pods and claims of different namespaces have nothing to do with each
/// other.
fn any_namespace() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0), 1 => Just(1)]
}
