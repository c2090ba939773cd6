//! Reports of evictions that hurt others.

use crate::assess::{Basis, Guard, Hazard, Limits, Severity, Wholes};
use crate::engine::{ProposedTaint, Semantics, preview};
use crate::model::{
    ClaimSpec, ConsumerReference, CounterSet, CounterUse, Device, DeviceAmount, DeviceClass,
    DeviceRequest, DeviceTerms, Effect, Gap, Kind, Operator, PodClaim, Pool, Reading, ReplicaSet,
    RequestKind, RequestTerms, ResourceSlice, SliceNodes, SliceTerms, Snapshot, Toleration,
};
use crate::report::{ImpactReport, testing};

/// Node 7 has two halves of one card, one of them used by train-0 and the other by infer-0.
fn snapshot() -> Snapshot {
    let pods = ["train-0", "infer-0"].map(|name| testing::pod("team-a", name));
    let mut snapshot = Snapshot {
        nodes: vec![testing::node("node-7")],
        replica_sets: vec![ReplicaSet(testing::workload("train-6d", 5))],
        classes: vec![DeviceClass {
            name: "gpu".into(),
            expressions: vec!["device.driver == 'gpu.example.com'".to_owned()],
            extended_resource: None,
        }],
        slices: slices(),
        ..Snapshot::default()
    };
    for (pod, device) in pods.into_iter().zip(["gpu-0", "gpu-1"]) {
        let mut claim = testing::claim(&pod);
        claim.spec = Some(one().into());
        claim.allocation.as_mut().unwrap().results[0].device = testing::device(device);
        claim.reserved_for.push(ConsumerReference {
            api_group: "".into(),
            resource: "pods".into(),
            name: pod.name.name.clone(),
            uid: pod.uid.clone(),
        });
        claim.controller = Some(crate::model::Controller {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: pod.name.name.to_string().as_str().into(),
            uid: pod.uid.clone(),
        });
        let claims = vec![PodClaim {
            name: "gpu".into(),
            source: crate::model::ClaimSource::Template {
                template: "gpu".into(),
                generated: Some(claim.name.name.clone()),
            },
        }];
        snapshot.claims.push(claim);
        snapshot.pods.push(testing::Pod {
            claims,
            grace_period_seconds: 0,
            ..pod
        });
    }
    snapshot
}

fn one() -> ClaimSpec {
    ClaimSpec {
        requests: vec![DeviceRequest {
            name: "gpu".into(),
            kind: RequestKind::Exactly(RequestTerms {
                class: "gpu".into(),
                expressions: Vec::new(),
                amount: DeviceAmount::Exactly(1),
                admin_access: false,
                tolerations: Vec::new(),
                capacity: std::collections::BTreeMap::new(),
                is_more: false,
            }),
        }],
        constraints: Vec::new(),
    }
}

fn slices() -> Vec<ResourceSlice> {
    let memory = |much: &str| std::collections::BTreeMap::from([("memory".into(), much.into())]);
    let device = |name: &str| Device {
        terms: Some(Box::new(DeviceTerms {
            consumes: vec![CounterUse {
                set: "card".into(),
                counters: memory("20Gi"),
                has_groups: false,
            }],
            ..DeviceTerms::default()
        })),
        ..testing::published(name, &[])
    };
    let slice = |name: &str, devices, terms| ResourceSlice {
        name: name.into(),
        driver: "gpu.example.com".into(),
        pool: Pool {
            name: "node-7".into(),
            generation: 1,
            slice_count: 2,
        },
        nodes: SliceNodes::One("node-7".into()),
        devices,
        terms,
    };
    let card = CounterSet {
        name: "card".into(),
        counters: memory("40Gi"),
    };
    let terms = SliceTerms {
        counters: vec![card],
        ..SliceTerms::default()
    };
    vec![
        slice("counters", Vec::new(), Some(Box::new(terms))),
        slice("devices", ["gpu-0", "gpu-1"].map(device).to_vec(), None),
    ]
}

fn report(snapshot: Snapshot, unread: &[Kind], guards: &[&str]) -> ImpactReport {
    let mut reading = testing::reading();
    reading.snapshot = snapshot;
    for kind in unread {
        reading.known.remove(kind);
    }
    report_of(&reading, guards)
}

fn report_of(reading: &Reading, guards: &[&str]) -> ImpactReport {
    let semantics = Semantics::assumed();
    let proposed = [ProposedTaint {
        rule: None,
        ..testing::proposed(None)
    }];
    let impact = preview(&reading.snapshot, &proposed, testing::now(), &semantics);
    let guards: Vec<Guard> = guards.iter().map(|guard| guard.parse().unwrap()).collect();
    let limits = Limits {
        guards: &guards,
        wholes: Wholes::default(),
    };
    let basis = Basis::new(reading, &semantics, testing::now());
    ImpactReport::new(&impact, &basis, &limits)
}

#[test]
fn a_pod_without_replacement_that_leaves_others_behind_says_both() {
    let mut snapshot = snapshot();
    let terms = snapshot.slices[0].terms.as_mut().expect("counters");
    // Less than both devices take, so that they are no neighbours.
    let counters = &mut terms.counters[0].counters;
    counters.insert("memory".into(), "30Gi".into());
    let report = report(
        snapshot,
        &[],
        &[
            "claims.unplaceable>0",
            "claims.unplaceable>1",
            "devices.available<1",
            "devices.available<0%",
        ],
    );
    assert_eq!(report.affected_pods.len(), 1);
    let hazards = [Hazard::NoReplacement, Hazard::SiblingInUse];
    assert_eq!(report.affected_pods[0].hazards, hazards);
    assert_eq!(report.affected_pods[0].severity, Severity::Warning);
    let assessment = &report.assessment;
    assert_eq!(assessment.siblings[0].pods, ["team-a/infer-0"]);
    let available = assessment.replacements.available.as_ref().unwrap();
    assert_eq!(available.available_device_count.exact(), Some(0));
    assert_eq!(available.class_device_count.exact(), Some(2));
    assert_eq!(tripped(&report), [true, false, true, false]);
    assert_eq!(report.incomplete, []);
}

/// Node 7 with one half in use, and with a class that is as `expressions` say.
fn alone(expressions: &[&str]) -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.claims.truncate(1);
    snapshot.pods.truncate(1);
    let expressions = expressions.iter().map(|text| (*text).to_owned());
    snapshot.classes[0].expressions = expressions.collect();
    snapshot
}

const OF_DRIVER: &[&str] = &["device.driver == 'gpu.example.com'"];

#[test]
fn where_all_find_another_place_nothing_is_said() {
    let guards = ["claims.unplaceable>0", "devices.available<=50%"];
    let report = report(alone(OF_DRIVER), &[], &guards);
    assert_eq!(codes(&report), [""; 0]);
    let replacements = &report.assessment.replacements;
    assert_eq!(replacements.claims[0].placeable, Some(true));
    assert_eq!(replacements.lines(), [""; 0]);
    // One of two is left.
    assert_eq!(tripped(&report), [false, true]);
}

fn codes(report: &ImpactReport) -> Vec<String> {
    let pods = report.affected_pods.iter();
    pods.flat_map(|pod| &pod.hazards)
        .map(|hazard| hazard.code().to_owned())
        .collect()
}

fn tripped(report: &ImpactReport) -> Vec<bool> {
    let guards = report.assessment.guards.iter();
    guards.map(|guard| guard.tripped).collect()
}

/// Missing data of the report.
fn missing(report: &ImpactReport) -> Vec<(&str, &str)> {
    let gaps = report.incomplete.iter();
    gaps.map(|gap| (gap.missing.as_str(), gap.message.as_str()))
        .collect()
}

const GUARDS: [&str; 2] = ["claims.unplaceable>0", "devices.available<1"];

#[test]
fn what_was_not_read_trips_guards_and_is_named_once() {
    for (kinds, why) in [
        (
            &[Kind::DeviceClass][..],
            "the input contains no DeviceClass",
        ),
        (&[Kind::Node], "the input contains no Node"),
        (
            &[Kind::DeviceClass, Kind::Node],
            "the input contains no DeviceClass and no Node",
        ),
    ] {
        let report = report(alone(OF_DRIVER), kinds, &GUARDS);
        assert_eq!(tripped(&report), [true, true], "{kinds:?}");
        assert_eq!(codes(&report), [""; 0]);
        let why = format!("{why}: it is unknown whether claims can be reallocated");
        let mut expected = vec![("replacements", why.as_str())];
        let nodes =
            "the input contains no Node: it is unknown whether the nodes of the pods are ready";
        if kinds.contains(&Kind::Node) {
            expected.insert(0, ("nodes", nodes));
        }
        let mut found = missing(&report);
        found.sort_unstable();
        assert_eq!(found, expected, "{kinds:?}");
    }
}

#[test]
fn what_every_answer_needs_is_named_by_its_own_gap() {
    for kind in [
        Kind::ResourceSlice,
        Kind::ResourceClaim,
        Kind::DeviceTaintRule,
        Kind::Pod,
    ] {
        let mut reading = testing::reading();
        reading.snapshot = alone(OF_DRIVER);
        reading.gaps = vec![Gap::of(kind, "denied")];
        let report = report_of(&reading, &["claims.unplaceable>0"]);
        assert_eq!(codes(&report), [""; 0], "{kind}");
        assert_eq!(tripped(&report), [true], "{kind}");
        let unknown = report.assessment.guards[0].missing.as_deref();
        assert_eq!(unknown, Some(kind.plural()));
        let missing: Vec<&str> = missing(&report).iter().map(|(what, _)| *what).collect();
        assert_eq!(missing, [kind.plural()]);
    }
}

#[test]
fn what_may_not_be_read_is_told_as_whoever_tried_tells_it() {
    let mut reading = testing::reading();
    reading.snapshot = alone(OF_DRIVER);
    reading.gaps = vec![Gap::of_replacements("eve may not list nodes")];
    let report = report_of(&reading, &GUARDS);
    assert_eq!(tripped(&report), [true, true]);
    assert_eq!(codes(&report), [""; 0]);
    assert_eq!(
        missing(&report),
        [(
            "replacements",
            "eve may not list nodes: it is unknown whether claims can be reallocated"
        )]
    );
    assert_eq!(
        report.assessment.guards[0].missing.as_deref(),
        Some("replacements")
    );
}

#[test]
fn without_permission_to_list_nodes_it_is_unknown_whether_claims_can_be_reallocated() {
    let mut reading = testing::reading();
    reading.snapshot = alone(OF_DRIVER);
    reading.known.remove(&Kind::Node);
    reading.gaps = vec![Gap::of(Kind::Node, "cannot list nodes: denied")];
    let report = report_of(&reading, &GUARDS);
    assert_eq!(
        missing(&report),
        [
            (
                "nodes",
                "cannot list nodes: denied: it is unknown whether the nodes of the pods are ready"
            ),
            (
                "replacements",
                "cannot list nodes: denied: it is unknown whether claims can be reallocated"
            ),
        ]
    );
    let summary = report.summary_lines().join("\n");
    assert!(
        summary.contains("it is unknown whether claims can be reallocated"),
        "{summary}"
    );
}

#[test]
fn what_nobody_can_say_is_named_and_is_no_no() {
    let mut gone = snapshot();
    gone.classes.clear();
    let mut fails = snapshot();
    fails.classes[0].expressions =
        vec!["device.attributes['gpu.example.com'].model == 'a'".to_owned()];
    let mut unfinished = snapshot();
    unfinished.slices.push(ResourceSlice {
        name: "late".into(),
        pool: Pool {
            name: "node-8".into(),
            generation: 1,
            slice_count: 2,
        },
        ..unfinished.slices[1].clone()
    });
    for (snapshot, why) in [
        (gone, "DeviceClass gpu not found"),
        (fails, "no such key"),
        (
            unfinished,
            "pool gpu.example.com/node-8 is incomplete, and the scheduler skips it",
        ),
    ] {
        let report = report(snapshot, &[], &GUARDS);
        assert_eq!(codes(&report), [""; 0], "{why}");
        assert_eq!(tripped(&report), [true, true], "{why}");
        let claim = &report.assessment.replacements.claims[0];
        assert_eq!(claim.placeable, None, "{why}");
        assert!(claim.unknown[0].contains(why), "{:?}", claim.unknown);
        let is_open = report
            .assessment
            .totals
            .available_device_count
            .most()
            .is_none();
        assert_eq!(is_open, why.starts_with("pool"), "{why}");
        let [("replacements", told)] = missing(&report)[..] else {
            panic!("{why}: {:?}", missing(&report));
        };
        assert!(
            told.contains(why) && told.contains("(claim team-a/train-0-gpu)"),
            "{told}"
        );
    }
}

#[test]
fn where_nobody_is_evicted_nothing_is_missing() {
    let mut reading = testing::reading();
    reading.snapshot = alone(OF_DRIVER);
    reading.snapshot.pods.clear();
    reading.snapshot.claims[0].reserved_for.clear();
    reading.gaps = vec![Gap::of_replacements("eve may not list nodes")];
    let report = report_of(&reading, &["devices.available<1"]);
    assert_eq!(missing(&report), []);
    assert_eq!(tripped(&report), [true]);
    assert_eq!(
        report.assessment.guards[0].missing.as_deref(),
        Some("device classes, nodes, or results of expressions")
    );
}

#[test]
fn a_shared_device_that_others_keep_is_told_to_those_who_leave() {
    let mut snapshot = snapshot();
    for claim in &mut snapshot.claims {
        let share = claim.name.name.to_string();
        let result = &mut claim.allocation.as_mut().unwrap().results[0];
        result.device = testing::device("gpu-0");
        result.share_id = Some(share);
    }
    let stays = &mut snapshot.claims[1].allocation.as_mut().unwrap().results[0];
    stays.tolerations = vec![Toleration {
        key: String::new(),
        operator: Operator::Exists,
        value: String::new(),
        effect: Some(Effect::NoExecute),
        seconds: None,
    }];
    let report = report(snapshot, &[], &[]);
    let mut pods = report.affected_pods.iter();
    let leaves = pods.find(|pod| pod.name == "train-0").unwrap();
    assert!(leaves.hazards.contains(&Hazard::SiblingInUse));
}
