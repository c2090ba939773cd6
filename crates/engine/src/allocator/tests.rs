//! Placements that a reader can follow; the allocator itself judges thousands in `tests/oracle`.

mod releases;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ClaimReallocation, Completeness, NodeFilter, Placeability, Replacement, SearchBasis,
    replacement, same_hardware, siblings,
};
use crate::model::{
    Allocation, AllocationResult, AttributeValue, CapacityPolicy, ClaimSource, ClaimSpec,
    ConstraintRule, Device, DeviceAmount, DeviceConstraint, DeviceId, DeviceRequest,
    DeviceSelector, DeviceTerms, NamespacedName, Node, NodeRequirement, NodeSelector, NodeTerm,
    Phase, Pod, PodClaim, Pool, RequestKind, RequestTerms, ResourceClaim, ResourceSlice,
    SliceNodes, SliceTerms, Snapshot,
};
use crate::testing;
use crate::{Impact, ProposedTaint, Semantics, preview};

const DRIVER: &str = "gpu.example.com";

/// Node `a` with devices `0` and `1`, and node `b` with device `2`.
pub(super) fn world() -> Snapshot {
    Snapshot {
        nodes: vec![node("a"), node("b")],
        classes: vec![testing::gpu_class()],
        slices: vec![slice("a", &["0", "1"]), slice("b", &["2"])],
        ..Snapshot::default()
    }
}

pub(super) fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        is_whole: true,
        ..Node::default()
    }
}

pub(super) fn device(name: &str) -> Device {
    Device {
        name: name.into(),
        ..Device::default()
    }
}

pub(super) fn slice(node: &str, devices: &[&str]) -> ResourceSlice {
    ResourceSlice {
        name: node.into(),
        driver: DRIVER.into(),
        pool: Pool {
            name: node.into(),
            generation: 1,
            slice_count: 1,
        },
        nodes: SliceNodes::One(node.into()),
        devices: devices.iter().map(|name| device(name)).collect(),
        terms: None,
    }
}

pub(super) fn id(device: &str) -> DeviceId {
    DeviceId {
        driver: DRIVER.into(),
        pool: if device == "2" { "b" } else { "a" }.into(),
        device: device.into(),
    }
}

pub(super) fn terms(count: i64) -> RequestTerms {
    RequestTerms {
        amount: DeviceAmount::Exactly(count),
        ..testing::terms("gpu", Vec::new())
    }
}

pub(super) fn asks(terms: RequestTerms) -> ClaimSpec {
    ClaimSpec {
        requests: vec![DeviceRequest {
            name: "r".into(),
            kind: RequestKind::Exactly(terms),
        }],
        constraints: Vec::new(),
    }
}

pub(super) fn name(name: &str) -> NamespacedName {
    NamespacedName {
        namespace: "ml".into(),
        name: name.into(),
    }
}

impl Snapshot {
    /// A claim that holds the devices, and the pod that uses it, both called `called`.
    pub(super) fn with_claim(mut self, called: &str, devices: &[&str], spec: ClaimSpec) -> Self {
        let results = devices.iter().map(|device| AllocationResult {
            request: "r".into(),
            ..testing::result(id(device))
        });
        self.claims.push(ResourceClaim {
            name: name(called),
            uid: called.into(),
            controller: None,
            spec: Some(spec.into()),
            allocation: Some(Allocation {
                node: None,
                results: results.collect(),
            }),
            reserved_for: vec![testing::consumer(called, called)],
        });
        self.pods.push(Pod {
            name: name(called),
            uid: called.into(),
            node: Some("a".into()),
            phase: Phase::Running,
            is_ready: true,
            claims: vec![PodClaim {
                name: "r".into(),
                source: ClaimSource::Claim(called.into()),
            }],
            grace_period_seconds: 30,
            ..Pod::default()
        });
        self
    }

    pub(super) fn share(mut self, claim: usize, memory: &str) -> Self {
        let allocation = self.claims[claim].allocation.as_mut().expect("allocated");
        allocation.results[0].share_id = Some(format!("share-{claim}"));
        let consumed = BTreeMap::from([("memory".into(), memory.into())]);
        allocation.results[0].consumed_capacity = Some(Box::new(consumed));
        self
    }
}

fn taint(device: Option<&str>) -> ProposedTaint {
    ProposedTaint {
        rule: None,
        selector: Some(DeviceSelector {
            driver: Some(DRIVER.into()),
            device: device.map(Into::into),
            ..DeviceSelector::default()
        }),
        taint: testing::untimed("example.com/drain:NoExecute"),
    }
}

/// As [`seen`], in a cluster that behaves so.
fn seen_as<'a>(
    snapshot: &'a Snapshot,
    device: Option<&str>,
    completeness: Completeness,
    semantics: &Semantics,
) -> Replacement<'a> {
    let proposed = [taint(device)];
    let impact = preview(snapshot, &proposed, jiff::Timestamp::UNIX_EPOCH, semantics);
    replacement(
        snapshot,
        &proposed,
        &impact,
        NodeFilter::Cordoned,
        SearchBasis {
            semantics,
            completeness,
        },
    )
}

fn impact<'a>(snapshot: &'a Snapshot, proposed: &'a [ProposedTaint]) -> Impact<'a> {
    let now = jiff::Timestamp::UNIX_EPOCH;
    preview(snapshot, proposed, now, &Semantics::assumed())
}

fn seen<'a>(
    snapshot: &'a Snapshot,
    device: Option<&str>,
    completeness: Completeness,
) -> Replacement<'a> {
    seen_as(snapshot, device, completeness, &Semantics::assumed())
}

/// Placeability of the first affected claim when device `0` is tainted, in one word.
fn word(snapshot: &Snapshot) -> &'static str {
    word_of(&seen(snapshot, Some("0"), Completeness::COMPLETE))
}

fn word_of(replacement: &Replacement<'_>) -> &'static str {
    match replacement.claims[0].placeability {
        Placeability::Placeable => "placeable",
        Placeability::Unplaceable => "unplaceable",
        Placeability::Unknown(_) => "unknown",
    }
}

/// Everything without one list, for each that every claim depends on.
fn without_one() -> [Completeness; 5] {
    let mut all = [Completeness::COMPLETE; 5];
    all[0].classes = false;
    all[1].slices = false;
    all[2].claims = false;
    all[3].rules = false;
    all[4].nodes = false;
    all
}

#[test]
fn a_claim_is_placed_where_a_free_device_is_left() {
    let one = world().with_claim("c0", &["0"], asks(terms(1)));
    assert_eq!(word(&one), "placeable");
    let full =
        one.with_claim("c1", &["1"], asks(terms(1)))
            .with_claim("c2", &["2"], asks(terms(1)));
    assert_eq!(word(&full), "unplaceable");
    let replacement = seen(&full, Some("0"), Completeness::COMPLETE);
    assert_eq!(replacement.claims.len(), 1);
    assert_eq!(replacement.claims[0].requests[0].devices.most, 0);
    let available = replacement.available.expect("known");
    assert_eq!((available.devices.most, available.whole.least), (0, 3));
    assert_eq!(available.classes, ["gpu"]);
}

#[test]
fn what_is_not_known_is_neither_no_nor_yes() {
    let one = || world().with_claim("c0", &["0"], asks(terms(1)));
    let gone = |mut snapshot: Snapshot| {
        snapshot.classes.clear();
        snapshot
    };
    assert_eq!(word(&gone(one())), "unknown");
    let mut failing = one();
    failing.classes[0].expressions = vec![format!("device.attributes['{DRIVER}'].size > 1")];
    assert_eq!(word(&failing), "unknown");
    let mut unread = one();
    unread.claims[0].spec = None;
    assert_eq!(word(&unread), "unknown");
    for completeness in without_one() {
        let snapshot = one();
        let replacement = seen(&snapshot, Some("0"), completeness);
        assert_eq!(word_of(&replacement), "unknown", "{completeness:?}");
        let least = replacement
            .available
            .map_or(0, |available| available.devices.least);
        assert_eq!(least, 0, "{completeness:?}");
    }
}

#[test]
fn nodes_of_which_devices_are_unknown_are_unknown_for_every_claim_that_asks_for_the_same() {
    let mut snapshot =
        world()
            .with_claim("c0", &["0"], asks(terms(1)))
            .with_claim("c1", &["1"], asks(terms(1)));
    // Not for node `a`; unknown for node `b`.
    let zone = |operator: &str| NodeRequirement {
        key: "zone".into(),
        operator: operator.into(),
        values: vec!["b".into()],
    };
    let labels = BTreeMap::from([("zone".to_owned(), "b".to_owned())]);
    snapshot.nodes[1].labels = labels;
    snapshot.slices[1].nodes = SliceNodes::Several;
    snapshot.slices[1].terms = Some(Box::new(SliceTerms {
        selector: Some(NodeSelector {
            terms: vec![NodeTerm {
                labels: vec![zone("In"), zone("Near")],
                fields: Vec::new(),
            }],
        }),
        ..SliceTerms::default()
    }));
    let replacement = seen(&snapshot, None, Completeness::COMPLETE);
    let unknown =
        |found: &&ClaimReallocation<'_>| matches!(found.placeability, Placeability::Unknown(_));
    assert_eq!(replacement.claims.len(), 2);
    assert_eq!(replacement.claims.iter().filter(unknown).count(), 2);
}

/// Devices `0` and `1` are halves of one card.
pub(super) fn halves() -> Snapshot {
    let mut snapshot = world();
    snapshot.slices[0].devices = ["0", "1"]
        .map(|name| testing::drawing(name, "20Gi"))
        .to_vec();
    let mut shared = slice("a", &[]);
    shared.name = "a-counters".into();
    shared.terms = testing::card("40Gi");
    for slice in [&mut snapshot.slices[0], &mut shared] {
        slice.pool.slice_count = 2;
    }
    snapshot.slices.push(shared);
    snapshot.slices.remove(1);
    snapshot
}

/// Halves of which the card has enough for none, and one of them is shared already.
pub(super) fn overdrawn() -> Snapshot {
    let mut snapshot = halves().with_claim("held", &["0"], asks(terms(1)));
    let terms = snapshot.slices[1].terms.as_mut().expect("counters");
    let counters = &mut terms.counters[0].counters;
    counters.insert("memory".into(), "10Gi".into());
    snapshot.slices[0].devices[0].allow_multiple_allocations = true;
    let allocation = snapshot.claims[0].allocation.as_mut().expect("devices");
    allocation.results[0].share_id = Some("share".to_owned());
    snapshot
}

/// Halves that both together take more than the card has, as a part and its whole do.
fn overlapping() -> Snapshot {
    let mut snapshot = halves();
    let terms = snapshot.slices[1].terms.as_mut().expect("counters");
    let counters = &mut terms.counters[0].counters;
    counters.insert("memory".into(), "30Gi".into());
    snapshot
}

#[test]
fn selected_devices_are_the_same_hardware_where_counters_say_so() {
    let (first, second) = (id("0"), id("1"));
    let both = BTreeSet::from([&first, &second]);
    let alone = BTreeSet::from([&first]);
    let same = |snapshot: &Snapshot, selected, held| same_hardware(snapshot, selected, held);
    let snapshot = overlapping();
    let found = same(&snapshot, &both, &alone);
    assert_eq!(found, BTreeSet::from([second.clone()]));
    for (snapshot, selected, held) in [
        (&snapshot, &both, &BTreeSet::new()),
        (&snapshot, &alone, &alone),
        (&halves(), &both, &alone),
        (&world(), &both, &alone),
    ] {
        assert_eq!(same(snapshot, selected, held), BTreeSet::new());
    }
}

/// Device `0` is shared, `1` and `2` are taken.
fn shares(policy: Option<CapacityPolicy>) -> Snapshot {
    let mut snapshot = world()
        .with_claim("c0", &["0"], asks(terms(1)))
        .with_claim("c1", &["0"], asks(terms(1)))
        .with_claim("c2", &["2"], asks(terms(1)))
        .share(0, "8Gi")
        .share(1, "8Gi");
    snapshot.slices[0].devices.truncate(1);
    let shared = &mut snapshot.slices[0].devices[0];
    shared.allow_multiple_allocations = true;
    shared.capacity.insert("memory".into(), "40Gi".into());
    shared.terms = policy.map(|policy| {
        Box::new(DeviceTerms {
            policies: BTreeMap::from([("memory".into(), policy)]),
            ..DeviceTerms::default()
        })
    });
    snapshot
}

#[test]
fn whoever_stays_on_a_shared_device_is_a_sibling_of_those_that_leave() {
    let mut snapshot = shares(None);
    let allocation = snapshot.claims[1].allocation.as_mut().expect("allocated");
    let tolerations = &mut allocation.results[0].tolerations;
    tolerations.push(testing::toleration(":NoExecute"));
    let proposed = [taint(Some("0"))];
    let impact = impact(&snapshot, &proposed);
    let found = siblings(&snapshot, &impact);
    let pods: Vec<_> = found.iter().flat_map(|sibling| sibling.pods()).collect();
    assert_eq!(pods, [name("c1")]);
    assert_eq!(found[0].beside, BTreeSet::from([id("0")]));
    // Administrative access to a device that is not shared takes it from no claim.
    let mut whole = snapshot.clone();
    for claim in &mut whole.claims {
        let allocation = claim.allocation.as_mut().expect("allocated");
        allocation.results[0].share_id = None;
    }
    let admin = whole.claims[1].allocation.as_mut().expect("allocated");
    admin.results[0].admin_access = true;
    let impact = self::impact(&whole, &proposed);
    assert_eq!(siblings(&whole, &impact), []);
    // A pod that is terminating anyway is not evicted, and does not stay either.
    let mut going = snapshot.clone();
    going.pods[0].deletion = Some(crate::testing::deletion(
        jiff::Timestamp::UNIX_EPOCH,
        Some(30),
    ));
    let impact = self::impact(&going, &proposed);
    assert_eq!(siblings(&going, &impact), []);
}

#[test]
fn a_search_that_would_take_too_long_is_no_answer() {
    // Sixteen devices of sixteen that are all but alike, which no order makes alike.
    let mut snapshot = world().with_claim(
        "c0",
        &["0"],
        ClaimSpec {
            constraints: vec![DeviceConstraint {
                requests: Vec::new(),
                rule: ConstraintRule::Distinct("gpu.example.com/numa".into()),
            }],
            requests: (0..16)
                .map(|number| DeviceRequest {
                    name: format!("r{number}").as_str().into(),
                    kind: RequestKind::Exactly(terms(1)),
                })
                .collect(),
        },
    );
    snapshot.slices[0].devices.clear();
    snapshot.slices[1].devices = (0..30_i64)
        .map(|number| {
            let mut device = device(&format!("d{number}"));
            let value = AttributeValue::Int(number % 15);
            device.attributes.insert("numa".into(), value);
            device
        })
        .collect();
    assert_eq!(word(&snapshot), "unknown");
}

#[test]
fn pools_that_are_not_whole_are_named_where_they_matter() {
    let mut snapshot = world().with_claim("c0", &["0"], asks(terms(1)));
    let named = |snapshot: &Snapshot| -> Vec<String> {
        let replacement = seen(snapshot, Some("0"), Completeness::COMPLETE);
        let pools = replacement.incomplete_pools.iter();
        pools
            .map(|pool| format!("{}/{}", pool.driver, pool.pool))
            .collect()
    };
    assert_eq!(named(&snapshot), [""; 0]);
    snapshot.slices[1].pool.slice_count = 2;
    assert_eq!(named(&snapshot), ["gpu.example.com/b"]);
    // A slice of an older generation is no part of it.
    let mut old = snapshot.slices[1].clone();
    old.name = "old".into();
    old.pool.generation = 0;
    snapshot.slices.push(old);
    assert_eq!(named(&snapshot), ["gpu.example.com/b"]);
    // No affected pod has devices of another driver.
    snapshot.slices[1].driver = "nic.example.com".into();
    snapshot.slices.pop();
    assert_eq!(named(&snapshot), [""; 0]);
}

#[test]
fn what_was_not_read_is_told_from_what_nobody_can_say() {
    let snapshot = world().with_claim("c0", &["0"], asks(terms(1)));
    let is_unread = |snapshot: &Snapshot, completeness| -> Vec<bool> {
        let replacement = seen(snapshot, Some("0"), completeness);
        match &replacement.claims[0].placeability {
            Placeability::Unknown(why) => why.iter().map(super::Unknown::is_unread).collect(),
            Placeability::Placeable | Placeability::Unplaceable => Vec::new(),
        }
    };
    assert_eq!(is_unread(&snapshot, Completeness::COMPLETE), [false; 0]);
    let all = Completeness::COMPLETE;
    for completeness in without_one() {
        assert_eq!(
            is_unread(&snapshot, completeness),
            [true],
            "{completeness:?}"
        );
    }
    let without_templates = Completeness {
        templates: false,
        ..all
    };
    assert_eq!(is_unread(&snapshot, without_templates), [false; 0]);
    let mut generated = snapshot.clone();
    generated.claims[0].controller = Some(testing::owner(&generated.pods[0]));
    generated.pods[0].claims[0].source = ClaimSource::Template {
        template: "of-deployment".into(),
        generated: Some("c0".into()),
    };
    assert_eq!(is_unread(&generated, without_templates), [true]);
    let mut gone = snapshot.clone();
    gone.classes.clear();
    assert_eq!(is_unread(&gone, all), [false]);
    let mut unread = snapshot;
    unread.claims[0].spec = None;
    assert_eq!(is_unread(&unread, all), [false]);
}
