//! What sets cost, against the assessment of each set, and against all sets of small random clusters.

use std::sync::Arc;

use super::*;
use crate::assess::hazard::DecidedBy;
use crate::assess::{Assessed, Basis, DisruptionFacts, Limits};
use crate::engine::set_search::{Burden, SetCost, Tier, search};
use crate::engine::{ProposedTaint, preview};
use crate::model::{
    BudgetStatus, ClaimSource, CounterUse, DeviceId, DeviceSelector, DeviceTerms, Gap, Job, Kind,
    LabelSelector, Phase, Pod, PodClaim, PodDisruptionBudget, PodGroup, Reading, ReplicaSet,
    ResourceSlice, UnhealthyPodEvictionPolicy,
};
use crate::report::testing;

/// A sequence of numbers that looks random and is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % limit
    }

    fn is_one_of(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }
}

fn id(number: usize) -> DeviceId {
    testing::device(&format!("gpu-{number}"))
}

/// A pool with so many devices.
fn pool(devices: usize) -> ResourceSlice {
    let names = (0..devices).map(|number| format!("gpu-{number}"));
    testing::slice(names.map(|name| testing::published(&name, &[])).collect())
}

/// A cluster of so many devices, of which all is known.
fn reading(devices: usize) -> Reading {
    let mut reading = testing::reading();
    reading.snapshot.slices = vec![pool(devices)];
    reading.snapshot.nodes = vec![testing::node("node-7")];
    reading
}

/// A pod that has nothing against leaving.
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
    pod.claims = vec![PodClaim {
        name: "gpu".into(),
        source: ClaimSource::Claim(claim.name.name.clone()),
    }];
    reading.snapshot.claims.push(claim);
    reading.snapshot.pods.push(pod);
}

/// A budget over the pods with this label `app` that allows so many to be away.
fn budget(app: &str, allowed: i32) -> PodDisruptionBudget {
    let labels = [("app".to_owned(), app.to_owned())];
    PodDisruptionBudget {
        name: testing::name("team-a", app),
        generation: 1,
        selector: Some(LabelSelector {
            labels: labels.into(),
            expressions: Vec::new(),
        }),
        min_available: None,
        max_unavailable: None,
        unhealthy_pod_eviction_policy: UnhealthyPodEvictionPolicy::IfHealthyBudget,
        status: BudgetStatus {
            disruptions_allowed: allowed,
            current_healthy: allowed + 2,
            desired_healthy: 2,
            expected_pods: allowed + 2,
            observed_generation: 1,
            failure: None,
        },
    }
}

fn labelled(mut pod: Pod, app: &str) -> Pod {
    pod.labels = vec![("app".into(), app.into())];
    pod
}

fn taint(devices: &[DeviceId]) -> Vec<ProposedTaint> {
    let selectors = devices.iter().cloned().map(DeviceSelector::from);
    let taints = selectors.map(|selector| {
        ProposedTaint::hypothetical(selector, testing::TAINT.clone(), testing::now())
    });
    taints.collect()
}

fn basis<'a>(reading: &'a Reading, semantics: &'a crate::engine::Semantics) -> Basis<'a> {
    Basis::new(reading, semantics, testing::now())
}

/// The problem of choosing so many of the devices, each by itself.
fn problem(reading: &Reading, count: usize) -> crate::engine::set_search::SearchProblem {
    let semantics = testing::semantics(37);
    let devices: Vec<DeviceId> = reading
        .snapshot
        .slices
        .iter()
        .flat_map(|slice| slice.devices.iter().map(|device| slice.id_of(device)))
        .collect();
    let units: Vec<PlanUnit> = devices
        .iter()
        .map(|id| PlanUnit {
            name: id.to_string(),
            devices: vec![id.clone()],
        })
        .collect();
    let proposed = taint(&devices);
    let impact = preview(&reading.snapshot, &proposed, testing::now(), &semantics);
    search_problem(&units, count, &impact, &basis(reading, &semantics))
}

/// What the assessment of a set says that it costs: what `problem` should say, by another way.
fn assessed(reading: &Reading, set: &[usize]) -> SetCost {
    let semantics = testing::semantics(37);
    let devices: Vec<DeviceId> = set.iter().map(|place| id(*place)).collect();
    let proposed = taint(&devices);
    let impact = preview(&reading.snapshot, &proposed, testing::now(), &semantics);
    let basis = basis(reading, &semantics);
    let facts = DisruptionFacts::of(&impact, &basis);
    let assessed = Assessed::new(&impact, &facts, &basis, &Limits::default());
    let evicted = || assessed.pods.iter().filter(|pod| pod.outcome.is_evicted());
    let violated = facts
        .disruption
        .budgets
        .iter()
        .any(|found| found.is_violated());
    let running = evicted().filter(|pod| !pod.impact.pod.phase.is_terminal());
    let mut graces = running.map(|pod| pod.impact.pod.grace_period_seconds);
    let is_long = graces.any(|grace| grace > 10);
    let mut burden = Burden::NONE;
    for pod in evicted() {
        burden.pods += 1;
        burden.unmanaged += i64::from(pod.impact.pod.controller.is_none());
        for claim in &reading.snapshot.claims {
            let is_its = claim
                .reserved_for
                .iter()
                .any(|one| one.uid == pod.impact.pod.uid);
            if is_its {
                let held = claim.allocation.as_ref().unwrap().results.len();
                burden.devices += i64::try_from(held).unwrap();
            }
        }
        for finding in &pod.findings {
            let is_counted = finding.hazard.decided_by() != DecidedBy::Allocation;
            if is_counted {
                burden = burden.plus(pod_burden::of_severity(finding.hazard.severity()));
            }
        }
    }
    let tier = if violated {
        Tier::BudgetsViolated
    } else if is_long {
        Tier::WithinBudgets
    } else {
        Tier::ShortGrace
    };
    SetCost { tier, burden }
}

/// All sets of so many of these units.
fn sets(units: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0_u32..1 << units).filter(|bits| bits.count_ones() as usize == count);
    all.map(|bits| (0..units).filter(|place| bits >> place & 1 == 1).collect())
        .collect()
}

fn random(numbers: &mut Numbers) -> (Reading, usize) {
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
        if numbers.is_one_of(4) {
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
        if numbers.is_one_of(2) {
            pod = labelled(pod, &format!("app-{}", numbers.below(2)));
        }
        if numbers.is_one_of(3) {
            pod.grace_period_seconds = 30;
        }
        if numbers.is_one_of(5) {
            pod.pod_group = Some(format!("group-{of}").as_str().into());
        }
        if numbers.is_one_of(6) {
            pod.has_local_data = true;
        }
        if numbers.is_one_of(8) {
            pod.phase = Phase::Succeeded;
            pod.is_ready = false;
        }
        let held: Vec<usize> = (0..=numbers.below(2)).filter_map(|_| free.pop()).collect();
        add(&mut reading, pod, &held);
    }
    (reading, devices)
}

#[test]
fn a_set_costs_what_its_assessment_says() {
    let mut numbers = Numbers(3);
    for case in 0..120 {
        let (reading, devices) = random(&mut numbers);
        let count = 1 + numbers.below(devices);
        let problem = problem(&reading, count);
        for set in sets(devices, count).into_iter().step_by(5) {
            assert_eq!(
                problem.cost(&set),
                assessed(&reading, &set),
                "{case}: {set:?} {problem:#?}"
            );
        }
    }
}

#[test]
fn the_plan_of_a_random_cluster_is_the_cheapest_of_all() {
    let mut numbers = Numbers(11);
    for case in 0..2_000 {
        let (reading, devices) = random(&mut numbers);
        let count = 1 + numbers.below(devices);
        let problem = problem(&reading, count);
        let result = search(&problem);
        let all = sets(devices, count).into_iter();
        let cheapest = all.map(|set| problem.cost(&set)).min().unwrap();
        let best = result.best.as_ref().unwrap();
        assert_eq!(best.cost, cheapest, "{case}: {problem:#?}");
        assert!(result.is_optimal(), "{case}: {problem:#?}");
        let next = result.runner_up.as_ref();
        assert!(next.is_none_or(|next| next.cost >= cheapest && next.units != best.units));
    }
}

/// The devices that are chosen, by their numbers.
fn chosen(reading: &Reading, count: usize) -> Vec<usize> {
    search(&problem(reading, count)).best.unwrap().units
}

#[test]
fn devices_that_no_pod_uses_come_first() {
    let mut reading = reading(3);
    add(&mut reading, pod("one"), &[0]);
    assert_eq!(chosen(&reading, 2), [1, 2]);
}

#[test]
fn each_number_decides_where_all_before_it_are_equal() {
    type Change = fn(&mut Reading);
    let rows: [(&str, Change); 6] = [
        ("a budget is violated", |reading| {
            reading.snapshot.budgets.push(budget("first", 0));
        }),
        ("a long grace period", |reading| {
            reading.snapshot.pods[0].grace_period_seconds = 11;
        }),
        ("a hazard of severity danger", |reading| {
            reading.snapshot.pods[0].priority = 2_000_000_000;
        }),
        ("a hazard of severity warning", |reading| {
            reading.snapshot.pods[0].annotations =
                vec![("karpenter.sh/do-not-disrupt".into(), "true".into())];
        }),
        ("a hazard of severity notice", |reading| {
            reading.snapshot.pods[0].has_local_data = true;
        }),
        ("a second pod", |reading| {
            add(reading, pod("more"), &[0]);
        }),
    ];
    for (name, change) in rows {
        let mut reading = reading(2);
        add(&mut reading, labelled(pod("first"), "first"), &[0]);
        add(&mut reading, pod("second"), &[1]);
        assert_eq!(chosen(&reading, 1), [0], "{name}: equal before");
        change(&mut reading);
        assert_eq!(chosen(&reading, 1), [1], "{name}");
    }
    // A claim that holds more devices than the one that is chosen.
    let mut reading = reading(3);
    add(&mut reading, pod("first"), &[0, 2]);
    add(&mut reading, pod("second"), &[1]);
    assert_eq!(chosen(&reading, 1), [1]);
}

#[test]
fn grace_periods_of_ten_seconds_are_short() {
    for (grace, tier) in [(10, Tier::ShortGrace), (11, Tier::WithinBudgets)] {
        let mut reading = reading(1);
        let mut pod = pod("one");
        pod.grace_period_seconds = grace;
        add(&mut reading, pod, &[0]);
        let found = search(&problem(&reading, 1)).best.unwrap();
        assert_eq!(found.cost.tier, tier, "{grace}");
    }
}

#[test]
fn a_budget_is_shared_by_its_pods_and_those_that_are_not_ready_leave_first() {
    let mut reading = reading(4);
    reading.snapshot.budgets.push(budget("web", 1));
    for number in 0..3 {
        let pod = labelled(pod(&format!("web-{number}")), "web");
        add(&mut reading, pod, &[number]);
    }
    let mut critical = pod("critical");
    critical.priority = 2_000_000_000;
    add(&mut reading, critical, &[3]);
    // One more of the budget's pods would violate it, so that even a critical one is better.
    assert_eq!(chosen(&reading, 2), [0, 3]);
    reading.snapshot.pods[1].is_ready = false;
    reading.snapshot.budgets[0].status.current_healthy = 2;
    assert_eq!(chosen(&reading, 2), [0, 1]);
    let two = PodDisruptionBudget {
        name: testing::name("team-a", "second"),
        ..budget("web", 3)
    };
    reading.snapshot.budgets.push(two);
    // Of two budgets the eviction API decides nothing.
    let found = search(&problem(&reading, 2)).best.unwrap();
    assert_eq!(found.cost.tier, Tier::BudgetsViolated);
    assert_eq!(found.cost.burden.danger, 2);
}

#[test]
fn what_was_not_read_is_the_worst_tier_and_never_nothing() {
    let unknown = |change: fn(&mut Reading), count| {
        let mut reading = reading(3);
        add(&mut reading, pod("one"), &[0]);
        add(&mut reading, pod("two"), &[1]);
        change(&mut reading);
        search(&problem(&reading, count)).best.unwrap()
    };
    let missing = |reading: &mut Reading, kind: Kind| {
        reading.known.remove(&kind);
        reading.gaps.push(Gap::of(kind, "denied"));
    };
    for (kind, change) in [
        (
            Kind::PodDisruptionBudget,
            (|reading| {
                reading.known.remove(&Kind::PodDisruptionBudget);
            }) as fn(&mut Reading),
        ),
        (Kind::Pod, |reading| {
            reading.gaps.push(Gap::of(Kind::Pod, "denied"));
            reading.snapshot.pods.clear();
        }),
    ] {
        // The device that no claim holds is known to hurt nobody.
        let free = unknown(change, 1);
        assert_eq!(
            (free.cost.tier, &*free.units),
            (Tier::ShortGrace, &[2][..]),
            "{kind}"
        );
        assert_eq!(unknown(change, 2).cost.tier, Tier::Unknown, "{kind}");
    }
    let mut without_claims = reading(1);
    missing(&mut without_claims, Kind::ResourceClaim);
    let found = search(&problem(&without_claims, 1)).best.unwrap();
    assert_eq!(found.cost.tier, Tier::Unknown);
    let mut unread_owner = reading(2);
    let mut unknown = pod("unknown");
    unknown.controller = Some(testing::controller("ReplicaSet", "elsewhere"));
    add(&mut unread_owner, unknown, &[0]);
    missing(&mut unread_owner, Kind::ReplicaSet);
    let found = search(&problem(&unread_owner, 2)).best.unwrap();
    assert_eq!(
        found.cost.burden.danger, 1,
        "it may be the last of its workload"
    );
}

#[test]
fn partitions_of_the_same_hardware_are_better_lost_together() {
    let mut reading = reading(4);
    for (place, device) in reading.snapshot.slices[0].devices.iter_mut().enumerate() {
        let counter: (Arc<str>, Arc<str>) = ("memory".into(), "1Gi".into());
        device.terms = Some(Box::new(DeviceTerms {
            consumes: vec![CounterUse {
                set: format!("card-{}", place % 2).as_str().into(),
                counters: [counter].into_iter().collect(),
                ..CounterUse::default()
            }],
            ..DeviceTerms::default()
        }));
    }
    for number in 0..4 {
        add(&mut reading, pod(&format!("pod-{number}")), &[number]);
    }
    assert_eq!(chosen(&reading, 2), [0, 2]);
}
