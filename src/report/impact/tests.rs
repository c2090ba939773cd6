//! Reports of evictions that hurt others.

use crate::assess::{Basis, Guard, Hazard, Limits, Severity, Wholes};
use crate::engine::{ProposedTaint, Semantics, preview};
use crate::model::{Gap, Kind, Reading, ReplicaSet, ResourceSlice, Snapshot};
use crate::report::{ImpactReport, testing};

/// Node 7 has two halves of one card, one of them used by train-0 and the other by infer-0.
fn snapshot() -> Snapshot {
    let pods = ["train-0", "infer-0"].map(|name| testing::pod("team-a", name));
    let halves = ["gpu-0", "gpu-1"].map(|name| testing::drawing(name, "20Gi"));
    let counters = ResourceSlice {
        name: "counters".into(),
        terms: testing::card("40Gi"),
        ..testing::slice(Vec::new())
    };
    let mut slices = vec![counters, testing::slice(halves.to_vec())];
    for slice in &mut slices {
        slice.pool.slice_count = 2;
    }
    let mut snapshot = Snapshot {
        nodes: vec![testing::node("node-7")],
        replica_sets: vec![ReplicaSet(testing::workload("train-6d", 5))],
        classes: vec![testing::gpu_class()],
        slices,
        ..Snapshot::default()
    };
    for (pod, device) in pods.into_iter().zip(["gpu-0", "gpu-1"]) {
        let mut claim = testing::claim_in_use(&pod);
        claim.spec = Some(testing::asks(testing::terms("gpu", Vec::new())).into());
        claim.allocation.as_mut().unwrap().results[0].device = testing::device(device);
        claim.controller = Some(testing::owner(&pod));
        let claims = testing::generated(&claim);
        snapshot.claims.push(claim);
        snapshot.pods.push(testing::Pod {
            claims,
            grace_period_seconds: 0,
            ..pod
        });
    }
    snapshot
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
