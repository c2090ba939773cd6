//! Rows in which the allocators of two releases differ.

use std::collections::BTreeMap;

use super::{asks, device, name, seen_as, terms, word_of, world};
use crate::allocator::Completeness;
use crate::model::{
    AttributeValue, CapacityPolicy, ClaimSpec, ConstraintRule, DeviceAmount, DeviceConstraint,
    DeviceTerms, RequestTerms, Snapshot,
};
use crate::testing::semantics;

/// Placeability of the claim `c0` when device `0` is tainted, by a word for 1.37 and one for 1.38.
fn words(snapshot: &Snapshot) -> [&'static str; 2] {
    [37, 38].map(|minor| word(snapshot, minor))
}

fn word(snapshot: &Snapshot, minor: u32) -> &'static str {
    let complete = Completeness::COMPLETE;
    let found = seen_as(snapshot, Some("0"), complete, &semantics(minor));
    assert_eq!(found.claims[0].claim.name, name("c0"));
    word_of(&found)
}

#[test]
fn shared_devices_before_they_are_modelled() {
    let all = RequestTerms {
        amount: DeviceAmount::All,
        ..terms(1)
    };
    let for_all = world().with_claim("c0", &["0"], asks(all));
    let for_one = world().with_claim("c0", &["0"], asks(terms(1)));
    for (mut snapshot, shared) in [
        (for_one, ["unknown", "placeable", "placeable"]),
        (for_all, ["unknown", "unknown", "placeable"]),
    ] {
        let of = |snapshot: &Snapshot| [35, 36, 37].map(|minor| word(snapshot, minor));
        assert_eq!(of(&snapshot), ["placeable"; 3]);
        snapshot.slices[1].devices[0].allow_multiple_allocations = true;
        assert_eq!(of(&snapshot), shared);
    }
}

/// The claim `c0` holds device `0` and asks for these capacities; device `2` on the other node has `memory`: 10Gi.
fn capacity(asked: &[(&str, &str)]) -> Snapshot {
    let asked = asked
        .iter()
        .map(|(name, amount)| ((*name).into(), (*amount).into()));
    let wanted = RequestTerms {
        capacity: asked.collect(),
        ..terms(1)
    };
    let mut snapshot = world().with_claim("c0", &["0"], asks(wanted));
    let free = &mut snapshot.slices[1].devices[0];
    free.capacity.insert("memory".into(), "10Gi".into());
    snapshot
}

/// Device `2` has the claim's share of so much, and can be shared or not.
fn share(consumed: &[(&str, &str)], is_shareable: bool) -> Snapshot {
    let mut snapshot = capacity(&[("memory", "4Gi")]).with_claim("c1", &["2"], asks(terms(1)));
    let shared = &mut snapshot.slices[1].devices[0];
    shared.allow_multiple_allocations = is_shareable;
    let allocation = snapshot.claims[1].allocation.as_mut().expect("allocated");
    let consumed = consumed
        .iter()
        .map(|(name, amount)| ((*name).into(), (*amount).into()));
    allocation.results[0].share_id = Some("share".into());
    allocation.results[0].consumed_capacity = Some(Box::new(consumed.collect()));
    snapshot
}

#[test]
fn device_with_a_live_share_that_is_no_longer_shareable() {
    assert_eq!(
        words(&share(&[("memory", "1Gi")], false)),
        ["placeable", "unplaceable"]
    );
}

#[test]
fn request_for_all_devices_beside_an_incomplete_pool() {
    let all = RequestTerms {
        amount: DeviceAmount::All,
        ..terms(1)
    };
    let mut snapshot = world().with_claim("c0", &["0"], asks(all));
    assert_eq!(words(&snapshot), ["placeable"; 2]);
    snapshot.slices[0].pool.slice_count = 2;
    assert_eq!(words(&snapshot), ["unknown", "placeable"]);
    snapshot.slices[1].pool.slice_count = 2;
    assert_eq!(words(&snapshot), ["unplaceable"; 2]);
}

#[test]
fn versions_are_compared_as_versions() {
    let with = |rule: fn(&str) -> ConstraintRule, values: [&str; 2]| {
        let spec = ClaimSpec {
            constraints: vec![DeviceConstraint {
                requests: Vec::new(),
                rule: rule("gpu.example.com/firmware"),
            }],
            ..asks(terms(2))
        };
        let mut snapshot = world().with_claim("c0", &["0"], spec);
        snapshot.slices[1].devices = ["2", "3"].map(device).to_vec();
        for (device, value) in snapshot.slices[1].devices.iter_mut().zip(values) {
            let value = AttributeValue::Version(value.into());
            device.attributes.insert("firmware".into(), value);
        }
        words(&snapshot)
    };
    let same: fn(&str) -> ConstraintRule = |name| ConstraintRule::Same(name.into());
    let distinct: fn(&str) -> ConstraintRule = |name| ConstraintRule::Distinct(name.into());
    assert_eq!(with(same, ["1.0.0", "1.0.0"]), ["placeable"; 2]);
    assert_eq!(
        with(same, ["1.0.0+a", "1.0.0+b"]),
        ["unplaceable", "placeable"]
    );
    assert_eq!(
        with(distinct, ["1.0.0+a", "1.0.0+b"]),
        ["placeable", "unplaceable"]
    );
    // Too large for semver, and not refused by every API server.
    let large = "1.0.99999999999999999999";
    assert_eq!(with(same, [large, large]), ["placeable", "unknown"]);
}

#[test]
fn negative_consumed_capacity_of_any_claim() {
    let snapshot = share(&[("memory", "-1Gi")], true);
    assert_eq!(words(&snapshot), ["placeable", "unknown"]);
}

#[test]
fn negative_request_is_not_rounded_up() {
    let mut snapshot = capacity(&[("memory", "-1Gi")]);
    let policy = CapacityPolicy {
        default: Some("2Gi".into()),
        values: vec!["2Gi".into()],
        ..CapacityPolicy::default()
    };
    snapshot.slices[1].devices[0].terms = Some(Box::new(DeviceTerms {
        policies: BTreeMap::from([("memory".into(), policy)]),
        ..DeviceTerms::default()
    }));
    assert_eq!(words(&snapshot), ["placeable", "unknown"]);
}
