//! Answers of `explain` about a pod that waits, beside the allocator's.

use std::collections::BTreeSet;

use kubectl_devicetaint::assess::Basis;
use kubectl_devicetaint::engine::Semantics;
use kubectl_devicetaint::model::Reading;
use kubectl_devicetaint::report::explain::{
    ChangeType, ExclusionReason, Explained, RootCauseCode, SingleChange, WaitingRequest,
    explain_pod,
};
use serde_json::{Value, json};

use super::cluster::{Cluster, cluster};
use super::compare::read;
use super::room::ends_the_attempt;
use crate::harness::go_program::say;
use crate::oracle::explain::without_driver_taint;
use crate::oracle::process::Oracle;
use crate::oracle::subject::Subject;

/// Counts of compared answers.
struct Tally {
    semantics: Semantics,
    pods: usize,
    usable: usize,
    excluded: usize,
    changes: usize,
    to_blame: usize,
    never: usize,
    failures: usize,
}

/// Explains a pod that waits in each of `number` clusters of a seed; whether there was something of each kind to compare,
/// which a few fresh clusters may lack by chance.
pub fn wait(seed: u64, number: u64) -> bool {
    let mut oracle = Oracle::start();
    let mut tally = Tally {
        semantics: Subject::of(&mut oracle).semantics,
        pods: 0,
        usable: 0,
        excluded: 0,
        changes: 0,
        to_blame: 0,
        never: 0,
        failures: 0,
    };
    for place in 0..number {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(place);
        tally.devices(&mut oracle, seed);
        tally.blame(&mut oracle, seed);
    }
    let Tally {
        semantics: _,
        pods,
        usable,
        excluded,
        changes,
        to_blame,
        never,
        failures,
    } = tally;
    say(&format!(
        "explain: of {pods} pods that wait in clusters of seed {seed}, the allocator could use exactly the {usable} devices that are called usable and none of {excluded} others; of {to_blame} taints that are to blame {changes} changes place the claim, {never} claims are never placed, and {failures} times the allocator fails as is said"
    ));
    usable > 0 && excluded > 0 && changes > 0
}

impl Tally {
    /// A claim with one simple request: which devices could serve it, each alone?
    fn devices(&mut self, oracle: &mut Oracle, seed: u64) {
        let mut made = cluster(seed);
        waits(&mut made, Wants::OneDevice);
        let explained = explained(&made, &self.semantics);
        self.pods += 1;
        let [request] = explained.waiting_requests.as_slice() else {
            // Its class is not there.
            assert_eq!(
                explained.blocked_by,
                Some(RootCauseCode::Class),
                "{seed}: {explained:#?}"
            );
            return;
        };
        let usable: BTreeSet<&str> = request.usable_devices.iter().map(String::as_str).collect();
        let devices = devices(&made);
        let requests: Vec<Value> = devices
            .iter()
            .map(|device| with_slices(&made, &alone(&made, device)))
            .collect();
        for (device, answer) in devices.iter().zip(oracle.ask(&requests)) {
            let name = device.join("/");
            let is_placed = is_placed(&answer);
            // Without the others, a pool may no longer contradict itself, or a slice be unusable.
            let is_doubtful = is_out(request, &name);
            if is_doubtful || has_groups(&made, device) {
                continue;
            }
            if tolerates_everything(&made) && draws(&made, device) {
                continue;
            }
            // A selector that fails for the remaining devices shows nothing about this one.
            if fails_for_another(&answer, &name) {
                continue;
            }
            assert_eq!(
                usable.contains(name.as_str()),
                is_placed,
                "{seed}: {name}\n{answer:#}\n{explained:#?}\n{}",
                serde_yaml::to_string(&made.list()).expect("YAML")
            );
            if is_placed {
                self.usable += 1;
            } else {
                self.excluded += 1;
            }
        }
    }

    /// A claim as it comes: is that to blame which is named, and does each change help?
    fn blame(&mut self, oracle: &mut Oracle, seed: u64) {
        let mut made = cluster(seed);
        waits(&mut made, Wants::AsItComes);
        let explained = explained(&made, &self.semantics);
        let ask = |made: &Cluster, oracle: &mut Oracle| {
            let request = with_slices(made, &made.slices);
            oracle.ask(&[request]).remove(0)
        };
        let answer = ask(&made, oracle);
        let is_placed = is_placed(&answer);
        let ask = |made: &Cluster, oracle: &mut Oracle| self::is_placed(&ask(made, oracle));
        let yaml = || serde_yaml::to_string(&made.list()).expect("YAML");
        match explained.blocked_by.expect("it waits") {
            RootCauseCode::Elsewhere => assert!(is_placed, "{seed}: {explained:#?}\n{}", yaml()),
            RootCauseCode::Unknown => {}
            RootCauseCode::Fails => {
                self.failures += 1;
                assert!(
                    ends_the_attempt(&answer),
                    "{seed}: {answer:#}\n{explained:#?}\n{}",
                    yaml()
                );
            }
            RootCauseCode::Class
            | RootCauseCode::Constraint
            | RootCauseCode::Devices
            | RootCauseCode::Driver
            | RootCauseCode::Never
            | RootCauseCode::Pod
            | RootCauseCode::Taint
            | RootCauseCode::Taints => {
                assert!(!is_placed, "{seed}: {explained:#?}\n{}", yaml());
            }
        }
        if explained.blocked_by == Some(RootCauseCode::Taint) {
            self.to_blame += 1;
            assert!(!explained.fixes.is_empty(), "{seed}: {explained:#?}");
        }
        for change in &explained.fixes {
            let mut changed = cluster(seed);
            waits(&mut changed, Wants::AsItComes);
            make(change, &mut changed);
            assert!(ask(&changed, oracle), "{seed}: {change:#?}\n{}", yaml());
            self.changes += 1;
        }
        let without_taints = [
            RootCauseCode::Constraint,
            RootCauseCode::Devices,
            RootCauseCode::Never,
            RootCauseCode::Taints,
        ];
        if explained
            .blocked_by
            .is_some_and(|blame| without_taints.contains(&blame))
        {
            let mut bare = cluster(seed);
            waits(&mut bare, Wants::AsItComes);
            bare.rules.clear();
            for device in published(&mut bare.slices) {
                device.as_object_mut().expect("a device").remove("taints");
            }
            let helps = explained.blocked_by == Some(RootCauseCode::Taints);
            if explained.blocked_by == Some(RootCauseCode::Never) {
                self.never += 1;
                for claim in &mut bare.claims {
                    claim.as_object_mut().expect("a claim").remove("status");
                }
                assert!(!ask(&bare, oracle), "{seed}: {explained:#?}\n{}", yaml());
            }
            assert_eq!(
                ask(&bare, oracle),
                helps,
                "{seed}: {explained:#?}\n{}",
                yaml()
            );
        }
    }
}

/// Request of the claim that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    AsItComes,
    OneDevice,
}

/// Takes its devices from the first claim, and its node from the pod.
/// The first claim as it comes, holding nothing.
pub(super) fn waits_for_all(made: &mut Cluster) {
    waits(made, Wants::AsItComes);
}

fn waits(made: &mut Cluster, wants: Wants) {
    let claim = &mut made.claims[0];
    claim.as_object_mut().expect("a claim").remove("status");
    made.pods[0]["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("nodeName");
    if wants == Wants::AsItComes {
        return;
    }
    let devices = &mut claim["spec"]["devices"];
    let first = &devices["requests"][0];
    let mut terms = first
        .get("exactly")
        .unwrap_or(&first["firstAvailable"][0])
        .clone();
    terms["allocationMode"] = json!("ExactCount");
    terms["count"] = json!(1);
    terms.as_object_mut().expect("terms").remove("name");
    *devices = json!({"requests": [{"name": "r0", "exactly": terms}]});
}

fn explained(made: &Cluster, semantics: &Semantics) -> Explained {
    let reading: Reading = read(made);
    let basis = Basis::new(
        &reading,
        semantics,
        "2026-11-21T01:00:34Z".parse().expect("a time"),
    );
    let mut pods = reading.snapshot.pods.iter();
    let pod = pods
        .find(|pod| pod.name.name.as_str() == "pod-0")
        .expect("the pod");
    explain_pod(pod, &[], &basis)
}

/// The devices of all slices that count, by driver, pool and name.
fn devices(made: &Cluster) -> BTreeSet<[String; 3]> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut all = BTreeSet::new();
    for slice in &made.slices {
        let spec = &slice["spec"];
        let newest = made.slices.iter().filter(|other| {
            other["spec"]["driver"] == spec["driver"]
                && other["spec"]["pool"]["name"] == spec["pool"]["name"]
        });
        let newest = newest
            .map(|other| other["spec"]["pool"]["generation"].as_u64())
            .max();
        if newest != Some(spec["pool"]["generation"].as_u64()) {
            continue;
        }
        for device in spec["devices"].as_array().into_iter().flatten() {
            all.insert([
                text(&spec["driver"]),
                text(&spec["pool"]["name"]),
                text(&device["name"]),
            ]);
        }
    }
    all
}

/// True if a device of the pool is of a group, which makes the allocator pass over its slice.
fn has_groups(made: &Cluster, [driver, pool, _]: &[String; 3]) -> bool {
    let slices = made.slices.iter().filter(|slice| {
        slice["spec"]["driver"] == **driver && slice["spec"]["pool"]["name"] == **pool
    });
    slices
        .map(Value::to_string)
        .any(|text| text.contains("compatibilityGroups"))
}

/// True if the allocator gives up a node because of another device.
fn fails_for_another(answer: &Value, name: &str) -> bool {
    let nodes = answer["placements"]["ml/claim-0"]["nodes"].as_object();
    let mut answers = nodes.expect("nodes").values().filter_map(Value::as_str);
    let place = format!("on device {name}:");
    answers.any(|answer| answer.starts_with("error") && !answer.contains(&place))
}

/// True if the claim that waits tolerates taints with any key.
fn tolerates_everything(made: &Cluster) -> bool {
    let tolerations =
        made.claims[0]["spec"]["devices"]["requests"][0]["exactly"]["tolerations"].as_array();
    let mut tolerations = tolerations.into_iter().flatten();
    tolerations.any(|toleration| toleration.get("key").is_none())
}

/// True if the device draws from counters.
fn draws(made: &Cluster, [driver, pool, name]: &[String; 3]) -> bool {
    let slices = made.slices.iter().filter(|slice| {
        slice["spec"]["driver"] == **driver && slice["spec"]["pool"]["name"] == **pool
    });
    let devices = slices.filter_map(|slice| slice["spec"]["devices"].as_array());
    let mut devices = devices.flatten().filter(|device| device["name"] == **name);
    devices.any(|device| device.get("consumesCounters").is_some())
}

/// The slices with one available device: of the others only those stay that are held while they draw from
/// counters, with a taint that no claim tolerates.
fn alone(made: &Cluster, [driver, pool, name]: &[String; 3]) -> Vec<Value> {
    let held = |slice: &Value, device: &Value| {
        let mut results = made.claims.iter().flat_map(|claim| {
            let results = claim["status"]["allocation"]["devices"]["results"].as_array();
            results.into_iter().flatten()
        });
        results.any(|result| {
            result["driver"] == slice["spec"]["driver"]
                && result["pool"] == slice["spec"]["pool"]["name"]
                && result["device"] == device["name"]
        })
    };
    let mut slices = made.slices.clone();
    for slice in &mut slices {
        let is_its_pool =
            slice["spec"]["driver"] == **driver && slice["spec"]["pool"]["name"] == **pool;
        let Some(devices) = slice["spec"]["devices"].as_array().cloned() else {
            continue;
        };
        let kept = devices.into_iter().filter_map(|mut device| {
            if is_its_pool && device["name"] == **name {
                return Some(device);
            }
            let draws = device.get("consumesCounters").is_some();
            if !draws || !held(slice, &device) || tolerates_everything(made) {
                return None;
            }
            // No selector of any class chooses it.
            device["attributes"] = json!({});
            device.as_object_mut()?.remove("capacity");
            device["taints"] = json!([{
                "key": "example.com/judge", "effect": "NoSchedule", "timeAdded": "2026-11-21T01:00:00Z",
            }]);
            Some(device)
        });
        let kept: Vec<Value> = kept.collect();
        slice["spec"]["devices"] = json!(kept);
    }
    slices
}

fn with_slices(made: &Cluster, slices: &[Value]) -> Value {
    json!({
        "op": "allocate",
        "nodes": made.nodes,
        "classes": made.classes,
        "slices": slices,
        "claims": made.claims,
        "rules": made.rules,
        "place": ["ml/claim-0"],
    })
}

fn is_placed(answer: &Value) -> bool {
    assert!(
        answer.get("error").is_none(),
        "the oracle cannot answer: {answer}"
    );
    let nodes = answer["placements"]["ml/claim-0"]["nodes"].as_object();
    nodes
        .expect("nodes")
        .values()
        .any(|answer| answer == "placed")
}

fn is_out(request: &WaitingRequest, device: &str) -> bool {
    let doubtful = [ExclusionReason::Unknown, ExclusionReason::InvalidPool];
    let excluded = request.excluded.iter();
    let mut excluded = excluded.filter(|one| doubtful.contains(&one.reason));
    excluded.any(|one| one.devices.iter().any(|name| name == device))
}

fn published(slices: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    let devices = slices
        .iter_mut()
        .filter_map(|slice| slice["spec"]["devices"].as_array_mut());
    devices.flatten()
}

/// Makes the change in the objects of the API, by the report's description.
fn make(change: &SingleChange, made: &mut Cluster) {
    match (change.change_type, &change.rule, &change.device) {
        (ChangeType::WithoutTaint, Some(rule), _) => {
            made.rules.retain(|one| one["metadata"]["name"] != **rule);
        }
        (ChangeType::WithoutTaint, None, Some(device)) => {
            without_driver_taint(change, device, &mut made.slices);
        }
        (ChangeType::WithToleration, None, None) => {
            let wanted = serde_json::to_value(&change.toleration).expect("JSON");
            let requests = made.claims[0]["spec"]["devices"]["requests"].as_array_mut();
            let mut requests = requests.expect("requests").iter_mut();
            let name = change.request.as_deref().expect("a request");
            let (name, alternative) = match name.split_once('/') {
                Some((name, alternative)) => (name, Some(alternative)),
                None => (name, None),
            };
            let request = requests.find(|one| one["name"] == name);
            let request = request.expect("the request");
            let terms = match alternative {
                None => &mut request["exactly"],
                Some(alternative) => {
                    let all = request["firstAvailable"].as_array_mut();
                    let mut all = all.expect("alternatives").iter_mut();
                    let found = all.find(|one| one["name"] == alternative);
                    found.expect("the alternative")
                }
            };
            let mut all = terms["tolerations"].as_array().cloned().unwrap_or_default();
            all.push(wanted);
            terms["tolerations"] = json!(all);
        }
        other => panic!("no such change: {other:?}"),
    }
}
