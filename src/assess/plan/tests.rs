//! Plans of small clusters, and costs of random sets against the assessment of each set.

use std::collections::BTreeSet;

use super::units::{UnitEvictions, choose, evictions, impact};
use super::*;
use crate::assess::hazard::Hazard;
use crate::assess::{Assessed, Basis, DisruptionFacts, Limits, Severity};
use crate::engine::testing::Random;
use crate::model::{
    AllocationResult, DeviceId, Gap, Job, Kind, LabelOperator, LabelRequirement, LabelSelector,
    Phase, Pod, PodDisruptionBudget, PodGroup, Reading, ReplicaSet, ResourceClaim, ResourceSlice,
    Snapshot,
};
use crate::report::testing;

fn id(number: usize) -> DeviceId {
    testing::device(&format!("gpu-{number}"))
}

/// A pool with this number of devices.
fn pool(devices: usize) -> ResourceSlice {
    let names = (0..devices).map(|number| format!("gpu-{number}"));
    testing::slice(names.map(|name| testing::published(&name, &[])).collect())
}

/// A cluster with this number of devices, of which all is known.
fn reading(devices: usize) -> Reading {
    let mut reading = testing::reading();
    reading.snapshot.slices = vec![pool(devices)];
    reading.snapshot.nodes = vec![testing::node("node-7")];
    reading
}

/// A pod without hazards, but for its ReplicaSet, which was deleted.
fn pod(name: &str) -> Pod {
    let mut pod = testing::pod("team-a", name);
    pod.grace_period_seconds = 5;
    pod.controller = Some(testing::controller("ReplicaSet", "apart"));
    pod
}

/// Adds a pod that holds these devices.
fn add(reading: &mut Reading, mut pod: Pod, devices: &[usize]) {
    let mut claim = testing::claim_in_use(&pod);
    let result = claim.allocation.as_ref().unwrap().results[0].clone();
    let results = devices.iter().map(|device| crate::model::AllocationResult {
        device: id(*device),
        ..result.clone()
    });
    claim.allocation.as_mut().unwrap().results = results.collect();
    claim.controller = Some(testing::owner(&pod));
    pod.claims = testing::generated(&claim);
    reading.snapshot.claims.push(claim);
    reading.snapshot.pods.push(pod);
}

/// A budget of the pods with this label `app` that allows this number of disruptions.
fn budget(app: &str, allowed: i32) -> PodDisruptionBudget {
    let labels = [("app".to_owned(), app.to_owned())];
    PodDisruptionBudget {
        name: testing::name("team-a", app),
        selector: Some(LabelSelector {
            labels: labels.into(),
            expressions: Vec::new(),
        }),
        ..testing::budget("team-a", 2, allowed + 2, allowed + 2)
    }
}

fn labelled(mut pod: Pod, app: &str) -> Pod {
    pod.labels = vec![("app".into(), app.into())];
    pod
}

/// A unit for each device of the cluster.
fn units(reading: &Reading) -> Vec<PlanUnit> {
    let slices = reading.snapshot.slices.iter();
    let devices = slices.flat_map(|slice| slice.devices.iter().map(|device| slice.id_of(device)));
    let units = devices.map(|id| PlanUnit {
        name: id.to_string(),
        devices: vec![id],
    });
    units.collect()
}

fn planned(reading: &Reading, count: usize) -> Plan {
    let semantics = testing::semantics(37);
    let basis = Basis::new(reading, &semantics, testing::now());
    plan(&units(reading), count, &testing::TAINT, &basis)
}

/// The chosen devices.
fn chosen(reading: &Reading, count: usize) -> Vec<String> {
    let units = planned(reading, count).planned_units.into_iter();
    let names = units.map(|unit| unit.unit.replace("gpu.example.com/node-7/", ""));
    names.collect()
}

/// Units with their evictions, and the costs of these.
fn problem(reading: &Reading) -> (Vec<UnitEvictions>, EvictionCosts) {
    let semantics = testing::semantics(37);
    let basis = Basis::new(reading, &semantics, testing::now());
    let units = units(reading);
    let proposed = proposed_taints(&units, &testing::TAINT, basis.now);
    let impact = impact(&proposed, &basis);
    let costs = EvictionCosts::new(&impact, &basis);
    (evictions(&units, &impact, &basis), costs)
}

/// Cost of the set of these units.
fn cost((units, costs): &(Vec<UnitEvictions>, EvictionCosts), set: &[usize]) -> EvictionCost {
    let units = || set.iter().map(|unit| &units[*unit]);
    let pods: BTreeSet<usize> = units().flat_map(|unit| unit.pods.iter().copied()).collect();
    let own = units().map(|unit| unit.own);
    own.fold(costs.of(pods), EvictionCost::plus)
}

/// Assessment of a set: whether it violates a budget, dangers, pods and warnings; these unless a Job fails.
fn assessed(reading: &Reading, set: &[usize]) -> (bool, usize, usize, Option<usize>) {
    let semantics = testing::semantics(37);
    let basis = Basis::new(reading, &semantics, testing::now());
    let units = units(reading);
    let units = set.iter().map(|unit| &units[*unit]);
    let proposed = proposed_taints(units, &testing::TAINT, basis.now);
    let impact = impact(&proposed, &basis);
    let facts = DisruptionFacts::of(&impact, &basis);
    let assessed = Assessed::new(&impact, &facts, &basis, &Limits::default());
    let evicted = || assessed.pods.iter().filter(|pod| pod.impact.is_evicted());
    let findings = evicted().flat_map(|pod| &pod.findings);
    let mut hazards: Vec<Hazard> = findings.map(|found| found.hazard).collect();
    hazards.retain(|hazard| *hazard != Hazard::NoReplacement);
    let fails = hazards.contains(&Hazard::JobFails);
    let count = |severity| {
        hazards
            .iter()
            .filter(|hazard| hazard.severity() == severity)
            .count()
    };
    let mut budgets = facts.disruption.budgets.iter();
    (
        budgets.any(|budget| budget.is_violated()),
        count(Severity::Danger),
        evicted().count(),
        // Pods of a Job that fails are not recreated, so that the assessment has a warning less.
        (!fails).then(|| count(Severity::Warning)),
    )
}

/// All sets of `count` units.
fn sets(units: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0_u32..1 << units).filter(|bits| bits.count_ones() as usize == count);
    all.map(|bits| (0..units).filter(|place| bits >> place & 1 == 1).collect())
        .collect()
}

fn random(numbers: &mut Random) -> (Reading, usize) {
    let devices = 4 + numbers.below(4);
    let mut reading = reading(devices);
    let snapshot = &mut reading.snapshot;
    for number in 0..2 {
        let name = format!("web-{number}");
        let ready = 1 + i32::try_from(numbers.below(4)).unwrap();
        let workload = testing::workload(&name, ready);
        snapshot.replica_sets.push(ReplicaSet(workload));
        let mut job = testing::workload(&format!("sweep-{number}"), 1);
        let mut policy = testing::failure_policy(i32::try_from(numbers.below(4)).unwrap());
        policy.failed = i32::try_from(numbers.below(2)).unwrap();
        job.failure = Some(policy);
        snapshot.jobs.push(Job(job));
        let allowed = i32::try_from(numbers.below(3)).unwrap();
        snapshot
            .budgets
            .push(budget(&format!("app-{number}"), allowed));
        let mut group = testing::workload(&format!("group-{number}"), 1);
        group.min_members = Some(1 + i32::try_from(numbers.below(3)).unwrap());
        snapshot.pod_groups.push(PodGroup(group));
    }
    let mut free: Vec<usize> = (0..devices).collect();
    let mut number = 0;
    while free.len() > 1 {
        if numbers.one_in(4) {
            free.pop();
            continue;
        }
        let mut pod = pod(&format!("pod-{number}"));
        number += 1;
        let of = numbers.below(2);
        pod.controller = match numbers.below(4) {
            0 => None,
            1 => {
                let mut job = testing::controller("Job", &format!("sweep-{of}"));
                job.api_version = "batch/v1".into();
                Some(job)
            }
            _ => Some(testing::controller("ReplicaSet", &format!("web-{of}"))),
        };
        if numbers.one_in(2) {
            pod = labelled(pod, &format!("app-{}", numbers.below(2)));
        }
        if numbers.one_in(3) {
            pod.grace_period_seconds = 30;
        }
        if numbers.one_in(5) {
            pod.pod_group = Some(format!("group-{of}").as_str().into());
        }
        if numbers.one_in(6) {
            pod.has_local_data = true;
        }
        if numbers.one_in(8) {
            pod.phase = Phase::Succeeded;
            pod.is_ready = false;
        }
        let held: Vec<usize> = (0..=numbers.below(2)).filter_map(|_| free.pop()).collect();
        add(&mut reading, pod, &held);
    }
    (reading, devices)
}

#[test]
fn cost_of_a_set_agrees_with_its_assessment() {
    let mut numbers = Random(3);
    for case in 0..120 {
        let (reading, devices) = random(&mut numbers);
        let count = 1 + numbers.below(devices as u64);
        let problem = problem(&reading);
        for set in sets(devices, count).into_iter().step_by(5) {
            let cost = cost(&problem, &set);
            let (violated, danger, pods, warning) = assessed(&reading, &set);
            let expected = EvictionCost {
                violated_budgets: cost.violated_budgets,
                danger,
                warning: warning.unwrap_or(cost.warning),
                pods,
                ..cost
            };
            assert_eq!(cost.violated_budgets > 0, violated, "{case}: {set:?}");
            assert_eq!(cost, expected, "{case}: {set:?} {problem:#?}");
        }
    }
}

#[test]
fn plan_of_a_random_cluster_is_nearly_always_the_cheapest() {
    let mut numbers = Random(11);
    let mut dearer = 0;
    for case in 0..1_000 {
        let (reading, devices) = random(&mut numbers);
        let count = 1 + numbers.below(devices as u64);
        let problem = problem(&reading);
        let chosen = choose(&problem.0, count, &problem.1);
        let found = cost(&problem, &chosen);
        let all = sets(devices, count).into_iter();
        let cheapest = all.map(|set| cost(&problem, &set)).min().unwrap();
        dearer += usize::from(found != cheapest);
        for other in (0..devices).filter(|unit| !chosen.contains(unit)) {
            let with = |last: usize| {
                let (_, rest) = chosen.split_last().unwrap();
                cost(&problem, &[rest, &[last]].concat())
            };
            assert!(found <= with(other), "{case}: {problem:#?}");
        }
    }
    assert!(dearer <= 20, "{dearer} of 1,000 plans are not the cheapest");
}

#[test]
fn each_number_decides_where_all_before_it_are_equal() {
    let rows: [(&str, Change); 5] = [
        ("a budget is violated", |reading| {
            reading.snapshot.budgets.push(budget("first", 0));
        }),
        ("a hazard of severity danger", |reading| {
            reading.snapshot.pods[0].priority = 2_000_000_000;
        }),
        ("a hazard of severity warning", |reading| {
            reading.snapshot.pods[0].annotations =
                vec![("karpenter.sh/do-not-disrupt".into(), "true".into())];
        }),
        ("a second pod", |reading| {
            add(reading, pod("more"), &[0]);
        }),
        ("a device that is not free afterwards", |reading| {
            reading.snapshot.claims.push(without_pods("held", 0));
        }),
    ];
    for (name, change) in rows {
        let mut reading = reading(2);
        add(&mut reading, labelled(pod("first"), "first"), &[0]);
        add(&mut reading, pod("second"), &[1]);
        assert_eq!(chosen(&reading, 1), ["gpu-0"], "{name}: equal before");
        change(&mut reading);
        assert_eq!(chosen(&reading, 1), ["gpu-1"], "{name}");
    }
}

#[test]
fn budget_is_shared_by_its_pods_and_those_that_are_not_ready_leave_first() {
    let mut reading = reading(4);
    reading.snapshot.budgets.push(budget("web", 1));
    for number in 0..3 {
        let pod = labelled(pod(&format!("web-{number}")), "web");
        add(&mut reading, pod, &[number]);
    }
    let mut critical = pod("critical");
    critical.priority = 2_000_000_000;
    add(&mut reading, critical, &[3]);
    // A second pod of the budget would violate it, so that even a critical pod costs less.
    assert_eq!(chosen(&reading, 2), ["gpu-0", "gpu-3"]);
    reading.snapshot.pods[1].is_ready = false;
    reading.snapshot.budgets[0].status.current_healthy = 2;
    assert_eq!(chosen(&reading, 2), ["gpu-0", "gpu-1"]);
    let two = PodDisruptionBudget {
        name: testing::name("team-a", "second"),
        ..budget("web", 3)
    };
    reading.snapshot.budgets.push(two);
    // The Eviction API refuses pods of two budgets.
    let plan = planned(&reading, 2);
    let violated = plan
        .planned_units
        .into_iter()
        .map(|unit| unit.violated_budgets.unwrap().len());
    assert_eq!(violated.collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn unknown_cost_is_above_every_known_cost() {
    let rows: [(&str, Change); 3] = [
        ("budgets", |reading| {
            reading.known.remove(&Kind::PodDisruptionBudget);
        }),
        ("the owner", |reading| {
            let owner = testing::controller("ReplicaSet", "elsewhere");
            reading.snapshot.pods[0].controller = Some(owner);
            reading.known.remove(&Kind::ReplicaSet);
            reading.gaps.push(Gap::of(Kind::ReplicaSet, "denied"));
            reading.snapshot.pods[1].controller = None;
        }),
        ("the pods of a budget", |reading| {
            let selector = reading.snapshot.budgets[0].selector.as_mut().unwrap();
            let operator = LabelOperator::Unknown("Like".to_owned());
            selector.labels.clear();
            selector.expressions = vec![LabelRequirement {
                key: "app".to_owned(),
                operator,
                values: Vec::new(),
            }];
            reading.snapshot.pods[1].name.namespace = "team-b".into();
        }),
    ];
    for (name, change) in rows {
        let mut reading = reading(3);
        reading.snapshot.budgets.push(budget("none", 0));
        add(&mut reading, pod("unknown"), &[0]);
        let mut dear = pod("dear");
        dear.priority = 2_000_000_000;
        // A pod that has ended is not subject to budgets.
        dear.phase = Phase::Failed;
        add(&mut reading, dear, &[1]);
        change(&mut reading);
        let problem = problem(&reading);
        let of = |unit| cost(&problem, &[unit]);
        assert!(of(2) < of(1) && of(1) < of(0), "{name}");
        assert_eq!((of(0).unknown, of(1).unknown), (1, 0), "{name}");
    }
}

#[test]
fn budgets_and_hazards_are_unknown_where_budgets_were_not_read() {
    let mut reading = reading(2);
    add(&mut reading, pod("one"), &[0]);
    reading.snapshot.replica_sets = vec![ReplicaSet(testing::workload("apart", 5))];
    reading.known.remove(&Kind::PodDisruptionBudget);
    let plan = planned(&reading, 2);
    let budgets: Vec<_> = plan
        .planned_units
        .iter()
        .map(|unit| unit.violated_budgets.clone())
        .collect();
    // The device without pods violates nothing.
    assert_eq!(budgets, [None, Some(Vec::new())]);
    let hazards = |unit: usize| plan.planned_units[unit].hazards.clone();
    assert_eq!((hazards(0), hazards(1)), (None, Some(Vec::new())));
    assert!(!plan.gaps.is_empty());
}

/// A change of a cluster.
type Change = fn(&mut Reading);

/// A claim that holds a device, and is reserved for no pod.
fn without_pods(name: &str, device: usize) -> ResourceClaim {
    let mut claim = testing::claim_in_use(&pod(name));
    claim.reserved_for.clear();
    claim.allocation.as_mut().unwrap().results[0].device = id(device);
    claim
}

#[test]
fn device_is_free_only_if_all_users_of_its_claims_leave() {
    type Change = fn(&mut Snapshot);
    let rows: [(&str, Change, usize); 9] = [
        ("the pod of a template", |_| {}, 1),
        (
            "a device plugin that may offer the device, too",
            |it| {
                it.nodes[0].extended_resources = vec!["example.com/gpu".to_owned()];
            },
            0,
        ),
        ("no users", |it| it.claims[0].reserved_for.clear(), 0),
        ("a user that is gone", |it| it.pods.clear(), 0),
        (
            "a PodGroup",
            |it| it.claims[0].reserved_for[0].resource = "podgroups".into(),
            0,
        ),
        (
            "a terminating pod",
            |it| {
                it.pods[0].deletion =
                    Some(crate::engine::testing::deletion(testing::now(), Some(30)));
            },
            1,
        ),
        (
            "a DaemonSet",
            |it| {
                it.pods[0].controller = Some(testing::controller("DaemonSet", "monitor"));
            },
            0,
        ),
        (
            "a claim that the replacement takes",
            |it| it.pods[0].claims = testing::uses("user-gpu"),
            0,
        ),
        (
            "admin access",
            |it| {
                let allocation = it.claims[0].allocation.as_mut().unwrap();
                allocation.results[0].admin_access = true;
                it.claims[0].reserved_for.clear();
            },
            1,
        ),
    ];
    for (name, change, free) in rows {
        let mut reading = reading(1);
        add(&mut reading, pod("user"), &[0]);
        change(&mut reading.snapshot);
        let plan = planned(&reading, 1);
        assert_eq!(plan.planned_units[0].free_device_count, free, "{name}");
    }
}

#[test]
fn monitors_and_pods_that_tolerate_the_taint_of_a_drain_are_not_evicted() {
    let tolerates = |result: &mut AllocationResult| {
        result.tolerations = vec![testing::toleration(":NoSchedule")];
    };
    let monitors = |result: &mut AllocationResult| result.admin_access = true;
    let neither = |_: &mut AllocationResult| {};
    type Change<'c> = &'c dyn Fn(&mut AllocationResult);
    // A pod that tolerates the taint stays if something recreates it: its replacement would get the device again.
    let rows: [(Change<'_>, bool, usize, usize); 4] = [
        (&neither, true, 1, 1),
        (&monitors, true, 0, 1),
        (&tolerates, true, 0, 0),
        (&tolerates, false, 1, 1),
    ];
    for (change, is_owned, evicted, free) in rows {
        let mut reading = reading(1);
        let mut user = pod("user");
        user.controller = is_owned.then(|| testing::controller("ReplicaSet", "web"));
        add(&mut reading, user, &[0]);
        change(
            &mut reading.snapshot.claims[0]
                .allocation
                .as_mut()
                .unwrap()
                .results[0],
        );
        let unit = &planned(&reading, 1).planned_units[0];
        let found = (unit.evicted_pod_count, unit.free_device_count);
        assert_eq!(found, (evicted, free));
    }
}

/// A card of 80 with two halves, and a card without partitions.
fn partitioned() -> Reading {
    let mut reading = reading(1);
    let mut slice = testing::slice(vec![
        testing::drawing("card-0", "80Gi"),
        testing::published("card-1", &[]),
        testing::drawing("half-0", "40Gi"),
        testing::drawing("half-1", "40Gi"),
    ]);
    slice.terms = testing::card("80Gi");
    reading.snapshot.slices = vec![slice];
    add(&mut reading, pod("user"), &[0]);
    let allocation = reading.snapshot.claims[0].allocation.as_mut().unwrap();
    allocation.results[0].device = testing::device("half-0");
    reading
}

#[test]
fn partition_in_use_keeps_the_whole_device_from_being_free() {
    let reading = partitioned();
    let free = |count| -> Vec<(String, usize)> {
        let units = planned(&reading, count).planned_units.into_iter();
        let name = |unit: &PlannedUnit| unit.unit.replace("gpu.example.com/node-7/", "");
        units
            .map(|unit| (name(&unit), unit.free_device_count))
            .collect()
    };
    let row = |name: &str, free| (name.to_owned(), free);
    assert_eq!(free(2), [row("card-1", 1), row("half-1", 1)]);
    assert_eq!(free(3)[0], row("card-0", 0));
    // The drain of the partition frees the card.
    assert_eq!(free(4)[0], row("card-0", 1));
}
