//! Random clusters with faults, drained in virtual time.
//!
//! A simulated cluster has devices, workloads with budgets, a scheduler and an Eviction API; each step is a second. The
//! invariants: no budget is violated without NoExecute, no unit is reported idle while one of its devices is held, a
//! workload loses no pod while it is not ready, pods whose loss does harm leave last, every run ends, and its result can be
//! undone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::decide::drain::facts::{
    IdleWait, IncludedClass, PodClass, UnitFacts, UnitPod, WorkloadState,
};
use crate::decide::drain::run::{DrainLimits, DrainRun, DrainStep, EvictionReply, UnitEnd};
use crate::decide::drain::testing::unit_pod;
use crate::engine::testing::{Random, pod as running, tries};
use crate::model::{Pod, Uid};

const CLUSTERS: u64 = 10_000;
const TIMEOUT: u64 = 40;
/// No fault lasts longer.
const FAULTS_UNTIL: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Starting(u64),
    Ready,
    /// Gone then; never for a pod that is stuck.
    Terminating(Option<u64>),
}

#[derive(Clone, Debug)]
struct SimulatedPod {
    number: u64,
    workload: usize,
    device: Option<usize>,
    state: State,
}

#[derive(Clone, Debug)]
struct SimulatedWorkload {
    replicas: usize,
    min_available: usize,
    class: PodClass,
}

/// Device `d` is of unit `d / size` while that is a unit; the others are spare.
struct Simulation {
    random: Random,
    now: u64,
    pods: Vec<SimulatedPod>,
    workloads: Vec<SimulatedWorkload>,
    devices: usize,
    size: usize,
    units: usize,
    is_tainted: bool,
    raised: BTreeSet<usize>,
    start_seconds: u64,
    sticks: bool,
    next: u64,
    idle_since: BTreeMap<usize, u64>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (units, size) = (1 + random.number(2), 1 + random.number(3));
        let spare = random.number(4);
        let workloads: Vec<SimulatedWorkload> = (0..1 + random.number(3))
            .map(|_| {
                let replicas = 1 + random.number(3);
                SimulatedWorkload {
                    replicas: usize::try_from(replicas).unwrap(),
                    min_available: random.below(replicas + 1),
                    class: match (replicas, random.number(4)) {
                        (_, 0) => PodClass::Job,
                        (1, _) => PodClass::Singleton,
                        (_, _) => PodClass::Replicated,
                    },
                }
            })
            .collect();
        let mut simulation = Self {
            now: 0,
            pods: Vec::new(),
            workloads,
            devices: usize::try_from(units * size + spare).unwrap(),
            size: usize::try_from(size).unwrap(),
            units: usize::try_from(units).unwrap(),
            is_tainted: false,
            raised: BTreeSet::new(),
            start_seconds: 1 + random.number(8),
            sticks: random.one_in(10),
            next: 0,
            idle_since: BTreeMap::new(),
            random,
        };
        for _ in 0..12 {
            simulation.tick();
        }
        // Workloads without enough devices were never ready: they can show nothing.
        let pods = std::mem::take(&mut simulation.pods);
        simulation.pods = pods
            .into_iter()
            .filter(|pod| pod.device.is_some())
            .collect();
        for number in 0..simulation.workloads.len() {
            let there = simulation.ready(number);
            let workload = &mut simulation.workloads[number];
            workload.replicas = there;
            workload.min_available = workload.min_available.min(there);
        }
        simulation.is_tainted = true;
        simulation
    }

    fn ready(&self, workload: usize) -> usize {
        let pods = self.pods.iter();
        let ready = pods.filter(|pod| pod.workload == workload && pod.state == State::Ready);
        ready.count()
    }

    fn is_of(&self, pod: &SimulatedPod, unit: usize) -> bool {
        let drained = self.units * self.size;
        pod.device
            .is_some_and(|it| it < drained && it / self.size == unit)
    }

    fn tick(&mut self) {
        self.now += 1;
        let now = self.now;
        for pod in &mut self.pods {
            match pod.state {
                State::Starting(at) if at <= now => pod.state = State::Ready,
                State::Starting(_) | State::Pending | State::Ready | State::Terminating(_) => {}
            }
        }
        self.pods
            .retain(|pod| !matches!(pod.state, State::Terminating(Some(at)) if at <= now));
        for number in 0..self.workloads.len() {
            self.make_new(number);
        }
        let drained = if self.is_tainted {
            self.units * self.size
        } else {
            0
        };
        let used: BTreeSet<usize> = self.pods.iter().filter_map(|pod| pod.device).collect();
        let mut free = (drained..self.devices).filter(|device| !used.contains(device));
        for pod in self.pods.iter_mut().filter(|pod| pod.device.is_none()) {
            if let Some(device) = free.next() {
                pod.device = Some(device);
                pod.state = State::Starting(now + self.start_seconds);
            }
        }
        let raised = self.raised.clone();
        for number in 0..self.pods.len() {
            let pod = self.pods[number].clone();
            if raised.iter().any(|unit| self.is_of(&pod, *unit)) {
                self.delete(number);
            }
        }
    }

    fn make_new(&mut self, number: usize) {
        let is_alive = |pod: &&SimulatedPod| {
            pod.workload == number && !matches!(pod.state, State::Terminating(_))
        };
        let alive = self.pods.iter().filter(is_alive).count();
        for _ in alive..self.workloads[number].replicas {
            self.next += 1;
            self.pods.push(SimulatedPod {
                number: self.next,
                workload: number,
                device: None,
                state: State::Pending,
            });
        }
    }

    fn delete(&mut self, place: usize) {
        if matches!(self.pods[place].state, State::Terminating(_)) {
            return;
        }
        let stuck = self.sticks && self.random.one_in(4);
        let grace = 1 + self.random.number(3);
        self.pods[place].state = State::Terminating((!stuck).then_some(self.now + grace));
    }

    /// Does what the Eviction API does.
    fn evict(&mut self, uid: &Uid) -> EvictionReply {
        let found = self.pods.iter().position(|pod| self::uid(pod) == *uid);
        let Some(place) = found else {
            return EvictionReply::Gone;
        };
        let workload = self.pods[place].workload;
        let healthy = self.ready(workload);
        let needed = self.workloads[workload].min_available;
        if self.pods[place].state == State::Ready && healthy <= needed {
            return EvictionReply::Refused(format!("needs {needed} and has {healthy}"));
        }
        let is_lost = self.now < FAULTS_UNTIL && self.random.one_in(20);
        if !is_lost || self.random.one_in(2) {
            self.delete(place);
        }
        if is_lost {
            EvictionReply::Unknown(String::new())
        } else {
            EvictionReply::Accepted
        }
    }

    fn facts(&mut self, unit: usize) -> UnitFacts {
        let of_unit: Vec<SimulatedPod> = {
            let pods = self.pods.iter().filter(|pod| self.is_of(pod, unit));
            pods.cloned().collect()
        };
        // A wait calls devices idle when they have been for a while.
        if of_unit.is_empty() {
            self.idle_since.entry(unit).or_insert(self.now);
        } else {
            self.idle_since.remove(&unit);
        }
        let idle_since = self.idle_since.get(&unit).copied();
        let mut pods: Vec<UnitPod> = of_unit.iter().map(|pod| self.unit_pod(pod)).collect();
        pods.sort_by(|left, right| left.harm.cmp(&right.harm));
        let workloads = self.workloads.iter().enumerate().map(|(number, workload)| {
            let state = WorkloadState {
                name: format!("ReplicaSet team-a/{number}"),
                ready: i32::try_from(self.ready(number)).ok(),
                wanted: i32::try_from(workload.replicas).ok(),
                has_ended: false,
            };
            (key(number), state)
        });
        let unread = self.now < FAULTS_UNTIL && self.random.0.is_multiple_of(17);
        UnitFacts {
            workloads: workloads.collect(),
            unread: if unread {
                vec!["pods".to_owned()]
            } else {
                Vec::new()
            },
            is_raised: self.raised.contains(&unit),
            wait: IdleWait {
                is_idle: idle_since.is_some_and(|since| since + 2 <= self.now),
                ..IdleWait::default()
            },
            // A read that fails may show nothing at all.
            pods: if unread { Vec::new() } else { pods },
            ..UnitFacts::default()
        }
    }

    fn unit_pod(&self, pod: &SimulatedPod) -> UnitPod {
        let class = self.workloads[pod.workload].class;
        let shown = Pod {
            is_ready: pod.state == State::Ready,
            ..running("team-a", &format!("pod-{}", pod.number))
        };
        UnitPod {
            uid: uid(pod),
            is_terminating: matches!(pod.state, State::Terminating(_)),
            workload: Some(key(pod.workload)),
            ..unit_pod(&shown, class)
        }
    }

    fn check_budgets(&self, may_violate: bool, seed: u64) {
        for (number, workload) in self.workloads.iter().enumerate() {
            assert!(
                may_violate || self.ready(number) >= workload.min_available,
                "seed {seed}: below the budget"
            );
        }
    }

    /// A workload loses a pod only while as many are ready as before the drain, when all were.
    fn check_ready(&self, uid: &Uid, limits: &DrainLimits, seed: u64) {
        let pods = self.pods.iter();
        let workload = pods
            .filter(|pod| self::uid(pod) == *uid)
            .map(|pod| pod.workload);
        for number in workload.filter(|_| !limits.accept_unplaceable) {
            let ready = self.ready(number);
            let wanted = self.workloads[number].replicas;
            assert!(ready >= wanted, "seed {seed}: {ready} of {wanted} ready");
        }
    }

    /// True if a device of the unit is held.
    fn holds(&self, unit: usize) -> bool {
        self.pods.iter().any(|pod| self.is_of(pod, unit))
    }
}

fn uid(pod: &SimulatedPod) -> Uid {
    Uid::from(format!("pod-{}", pod.number).as_str())
}

fn key(workload: usize) -> Uid {
    Uid::from(format!("workload-{workload}").as_str())
}

/// Drains all units of one cluster, and gives the end of the last one.
fn drain(seed: u64) -> UnitEnd {
    let mut simulation = Simulation::new(seed);
    let by_taint = seed.is_multiple_of(11);
    let is_forced = by_taint || seed.is_multiple_of(5);
    let limits = DrainLimits {
        restart: false,
        include: vec![IncludedClass::Singletons, IncludedClass::Jobs],
        force: is_forced,
        grace: Duration::from_secs(if by_taint { 0 } else { 20 }),
        timeout: Duration::from_secs(TIMEOUT),
        accept_unplaceable: seed.is_multiple_of(7),
    };
    let mut end = UnitEnd::Idle;
    let mut run = DrainRun::new(limits.clone(), false);
    for unit in 0..simulation.units {
        end = drain_unit(&mut simulation, &mut run, unit, &limits, seed);
        match &end {
            UnitEnd::Idle => assert!(!simulation.holds(unit), "seed {seed}: idle while held"),
            UnitEnd::Blocked(reasons) => {
                assert!(!reasons.is_empty(), "seed {seed}: blocked without a reason");
                break;
            }
            UnitEnd::Held(_) | UnitEnd::Changed(_) => {
                panic!("seed {seed}: {end:?}")
            }
        }
    }
    check_undone(simulation, seed);
    end
}

fn drain_unit(
    simulation: &mut Simulation,
    run: &mut DrainRun,
    unit: usize,
    limits: &DrainLimits,
    seed: u64,
) -> UnitEnd {
    let is_forced = limits.force;
    let mut began = simulation.now;
    simulation.idle_since.clear();
    run.begin_unit(Duration::from_secs(began));
    loop {
        let elapsed = Duration::from_secs(simulation.now);
        assert!(
            simulation.now - began <= TIMEOUT + 2,
            "seed {seed}: unit {unit} does not end"
        );
        // The command is stopped, and run again.
        if simulation.now < FAULTS_UNTIL && simulation.random.one_in(60) {
            *run = DrainRun::new(limits.clone(), true);
            began = simulation.now;
            run.begin_unit(elapsed);
            simulation.tick();
            continue;
        }
        let facts = simulation.facts(unit);
        match run.next(&facts, elapsed) {
            DrainStep::Evict(uid) => {
                assert!(
                    facts.unread.is_empty(),
                    "seed {seed}: evicts without a look"
                );
                let pod = facts.pods.iter().find(|pod| pod.uid == uid);
                let pod = pod.expect("a pod of the unit");
                check_order(pod, &facts, seed);
                simulation.check_ready(&uid, limits, seed);
                let reply = simulation.evict(&uid);
                run.replied(pod, &reply, elapsed);
            }
            DrainStep::Restart(_) => panic!("seed {seed}: nothing to restart"),
            DrainStep::Raise => {
                assert!(is_forced, "seed {seed}: NoExecute without --force");
                simulation.raised.insert(unit);
                simulation.tick();
            }
            DrainStep::Wait => simulation.tick(),
            DrainStep::Finished(end) => return end,
        }
        simulation.check_budgets(is_forced, seed);
    }
}

/// One pod of a workload leaves after the other, and those whose loss does harm when all others are gone.
fn check_order(pod: &UnitPod, facts: &UnitFacts, seed: u64) {
    let mut others = facts.pods.iter();
    let is_first = others.all(|other| {
        let is_same = other.is_terminating && other.workload == pod.workload;
        !is_same && (pod.class == PodClass::Replicated || other.class != PodClass::Replicated)
    });
    assert!(is_first, "seed {seed}: {} is evicted too early", pod.name);
}

/// Without the taints, every workload becomes ready again, unless a pod is stuck.
fn check_undone(mut simulation: Simulation, seed: u64) {
    if simulation.sticks {
        return;
    }
    simulation.is_tainted = false;
    simulation.raised.clear();
    let is_whole = (0..100).any(|_| {
        simulation.tick();
        let mut workloads = simulation.workloads.iter().enumerate();
        workloads.all(|(number, workload)| simulation.ready(number) == workload.replicas)
    });
    assert!(is_whole, "seed {seed}");
}

#[test]
fn no_budget_is_violated_unasked_and_nothing_is_idle_while_it_is_held() {
    let clusters = tries(CLUSTERS);
    let ends: Vec<UnitEnd> = (1..=clusters).map(drain).collect();
    let idle = ends.iter().filter(|end| **end == UnitEnd::Idle).count();
    // Both ends have to be reached often, or the invariants are about nothing.
    let others = ends.len() - idle;
    assert!(idle * 5 > ends.len() && others * 20 > ends.len(), "{idle}");
}
