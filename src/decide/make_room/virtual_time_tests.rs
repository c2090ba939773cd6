//! Random runs with faults, in virtual time.
//!
//! A simulated cluster has devices, pods with and without budgets, a scheduler that respects the taint, and competitors,
//! some of which tolerate it. Runs are killed or interrupted at any step, and followed by another run or by a cleanup.
//! The invariants: no pod is evicted twice, no pod is evicted that was not chosen, no budget is violated without force,
//! every run ends in time, and no rule is left after the last cleanup.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::run::{
    Competitor, PodProgress, RemainingPod, StageEnd, StageFacts, StageLimits, StageRun, StageStep,
};
use super::tolerance::Mechanism;
use crate::decide::drain::EvictionReply;
use crate::engine::testing::{device, name};
use crate::model::{DeviceId, Effect, Uid};

const RUNS: u64 = 10_000;
const TIMEOUT: u64 = 60;

/// Numbers that look random, and are the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

#[derive(Clone, Debug)]
struct SimulatedPod {
    number: u64,
    has_budget: bool,
    /// Until when its budget refuses.
    refused_until: u64,
    /// How long it takes to end; never for one that is stuck.
    grace: Option<u64>,
    /// When it is gone, once it is deleted.
    gone_at: Option<Option<u64>>,
    device: usize,
}

/// Somebody else who wants a device.
#[derive(Clone, Copy, Debug)]
struct SimulatedCompetitor {
    arrives: u64,
    tolerates: bool,
    /// Whether the scheduler tries it before the waiting pod.
    comes_first: bool,
}

struct Simulation {
    random: Random,
    now: u64,
    pods: Vec<SimulatedPod>,
    devices: usize,
    competitors: Vec<SimulatedCompetitor>,
    /// The device that a competitor got.
    taken: Option<usize>,
    is_scheduled: bool,
    /// Whether something else than devices keeps the pod pending for good.
    never_fits: bool,
    rules: Option<Effect>,
    evictions: BTreeMap<u64, usize>,
    violated: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// At this step, nothing is done any more.
    Killed(u64),
    /// At this step, the rules are removed.
    Interrupted(u64),
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let devices = 1 + random.below(4);
        let pods = (0..devices).filter_map(|device| {
            let is_free = random.one_in(4);
            let pod = SimulatedPod {
                number: device,
                has_budget: random.one_in(2),
                refused_until: random.below(3) * random.below(30),
                grace: (!random.one_in(12)).then(|| random.below(8)),
                gone_at: None,
                device: usize::try_from(device).unwrap(),
            };
            (!is_free).then_some(pod)
        });
        let pods = pods.collect();
        let competitors = (0..random.below(3)).map(|_| SimulatedCompetitor {
            arrives: random.below(20),
            tolerates: random.one_in(3),
            comes_first: random.one_in(2),
        });
        Self {
            competitors: competitors.collect(),
            devices: usize::try_from(devices).unwrap(),
            pods,
            now: 0,
            taken: None,
            is_scheduled: false,
            never_fits: random.one_in(10),
            rules: None,
            evictions: BTreeMap::new(),
            violated: 0,
            random,
        }
    }

    fn delete(&mut self, number: u64) {
        let now = self.now;
        let Some(pod) = self.pods.iter_mut().find(|pod| pod.number == number) else {
            return;
        };
        if pod.gone_at.is_none() {
            *self.evictions.entry(number).or_default() += 1;
            pod.gone_at = Some(pod.grace.map(|grace| now + grace));
        }
    }

    /// A second goes by: controllers and the scheduler do their work.
    fn tick(&mut self, chosen: &BTreeSet<u64>) {
        self.now += 1;
        let now = self.now;
        if self.rules == Some(Effect::NoExecute) {
            let due: Vec<u64> = self.pods.iter().map(|pod| pod.number).collect();
            for number in due {
                let pod = self.pods.iter().find(|pod| pod.number == number);
                let refuses = pod.is_some_and(|pod| {
                    pod.has_budget && pod.gone_at.is_none() && now < pod.refused_until
                });
                self.violated += usize::from(refuses);
                assert!(chosen.contains(&number));
                self.delete(number);
            }
        }
        self.pods
            .retain(|pod| pod.gone_at.flatten().is_none_or(|at| at > now));
        let all_free = self.pods.is_empty() && self.taken.is_none();
        let fits = all_free && !self.never_fits && !self.is_scheduled;
        let arrived = self.competitors.iter();
        let arrived = arrived.filter(|it| it.arrives <= now);
        let may = |it: &&SimulatedCompetitor| it.tolerates || self.rules.is_none();
        let first = arrived.filter(may).any(|it| it.comes_first || !fits);
        let held: BTreeSet<usize> = self.pods.iter().map(|pod| pod.device).collect();
        let free = (0..self.devices).find(|device| !held.contains(device));
        match free.filter(|_| first && self.taken.is_none() && !self.is_scheduled) {
            Some(free) => self.taken = Some(free),
            None => self.is_scheduled |= fits,
        }
    }

    fn facts(&self, chosen: &BTreeSet<u64>, reversed: Option<String>) -> StageFacts {
        let remaining = self.pods.iter().filter(|pod| chosen.contains(&pod.number));
        StageFacts {
            progress: if self.is_scheduled {
                PodProgress::Scheduled("node-7".into())
            } else {
                PodProgress::Pending(Some("cannot allocate all claims".to_owned()))
            },
            devices: BTreeSet::new(),
            remaining: remaining
                .map(|pod| RemainingPod {
                    name: name("team-a", &format!("pod-{}", pod.number)),
                    uid: uid(pod.number),
                    has_budget: pod.has_budget,
                    is_terminating: pod.gone_at.is_some(),
                })
                .collect(),
            competitors: self
                .taken
                .map(|taken| Competitor {
                    device: gpu(taken),
                    claim: name("team-b", "claim"),
                    pods: vec![name("team-b", "other")],
                })
                .into_iter()
                .collect(),
            reversed,
        }
    }

    fn evict(&mut self, uid: &Uid) -> EvictionReply {
        let now = self.now;
        let Some(pod) = self.pods.iter().find(|pod| self::uid(pod.number) == *uid) else {
            return EvictionReply::Gone;
        };
        if now < pod.refused_until {
            return EvictionReply::Refused("Cannot evict pod".to_owned());
        }
        let number = pod.number;
        assert!(pod.has_budget, "pod {number} is evicted by its taint");
        // The answer is lost now and then, whatever the server did.
        let is_lost = self.random.one_in(8);
        if !(is_lost && self.random.one_in(2)) {
            self.delete(number);
        }
        if is_lost {
            EvictionReply::Unknown
        } else {
            EvictionReply::Accepted
        }
    }

    /// One run of the command; how it ended, unless a fault ended it.
    fn run(&mut self, limits: StageLimits, fault: Fault) -> Option<StageEnd> {
        let began = self.now;
        // Whoever is terminating already is not chosen again.
        let staying = self.pods.iter().filter(|pod| pod.gone_at.is_none());
        let chosen: BTreeSet<u64> = staying.map(|pod| pod.number).collect();
        let all: BTreeSet<u64> = self.pods.iter().map(|pod| pod.number).collect();
        let has_budgets = self
            .pods
            .iter()
            .any(|pod| chosen.contains(&pod.number) && pod.has_budget);
        let mut run = StageRun::new(limits);
        self.rules = Some(if has_budgets {
            Effect::NoSchedule
        } else {
            run.raised();
            Effect::NoExecute
        });
        for step in 0.. {
            assert!(step < 10_000, "it never ends");
            match fault {
                Fault::Killed(at) if at == step => return None,
                Fault::Interrupted(at) if at == step => {
                    self.rules = None;
                    return None;
                }
                Fault::None | Fault::Killed(_) | Fault::Interrupted(_) => {}
            }
            let elapsed = Duration::from_secs(self.now - began);
            let facts = self.facts(&chosen, None);
            match run.next(&facts, elapsed) {
                StageStep::Evict(uid) => {
                    let reply = self.evict(&uid);
                    run.replied(&uid, &reply, elapsed);
                }
                StageStep::Raise => {
                    self.rules = Some(Effect::NoExecute);
                    run.raised();
                }
                StageStep::Lift => {
                    assert!(facts.remaining.is_empty());
                    self.rules = None;
                    run.lifted();
                }
                StageStep::WaitUntil(until) => {
                    assert!(until > elapsed, "it waits for nothing");
                    self.tick(&all);
                }
                StageStep::Finished(end) => {
                    self.rules = None;
                    assert!(elapsed <= limits.timeout + Duration::from_secs(1));
                    return Some(end);
                }
            }
        }
        None
    }
}

fn uid(number: u64) -> Uid {
    format!("uid-{number}").as_str().into()
}

fn gpu(number: usize) -> DeviceId {
    device(&format!("gpu-{number}"))
}

#[test]
fn no_pod_is_evicted_twice_and_no_rule_is_left_whatever_happens() {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 1..=RUNS {
        let mut simulation = Simulation::new(seed);
        let limits = StageLimits {
            timeout: Duration::from_secs(TIMEOUT),
            force_after: (seed % 3 == 0).then_some(Duration::from_secs(5)),
            mechanism: if seed % 4 == 0 {
                Mechanism::PriorityAlone
            } else {
                Mechanism::Taint
            },
        };
        let mut ended = None;
        for _ in 0..simulation.random.below(4) {
            let at = simulation.random.below(12);
            let fault = match simulation.random.below(3) {
                0 => Fault::Killed(at),
                1 => Fault::Interrupted(at),
                _ => Fault::None,
            };
            ended = simulation.run(limits, fault);
            if ended.is_some() {
                break;
            }
        }
        if ended.is_none() && simulation.random.one_in(2) {
            ended = simulation.run(limits, Fault::None);
            assert!(ended.is_some(), "{seed}");
        }
        if ended.is_none() {
            // `remove -l`
            simulation.rules = None;
        }
        assert_eq!(simulation.rules, None, "{seed}: a rule is left");
        assert!(
            simulation.evictions.values().all(|times| *times == 1),
            "{seed}: {:?}",
            simulation.evictions
        );
        if limits.force_after.is_none() {
            assert_eq!(simulation.violated, 0, "{seed}: a budget is violated");
        }
        let end = match &ended {
            None => "cleaned up",
            Some(StageEnd::Scheduled(..)) => "scheduled",
            Some(StageEnd::Lost(_)) => "lost",
            Some(StageEnd::TimedOut(left)) => {
                assert!(!left.is_empty(), "{seed}");
                "timed out"
            }
            Some(StageEnd::Gone | StageEnd::Reversed(_)) => "impossible",
        };
        *ends.entry(end).or_default() += 1;
        if simulation.is_scheduled && ended.is_some() {
            assert!(simulation.taken.is_none() || end == "scheduled", "{seed}");
        }
    }
    for end in ["cleaned up", "scheduled", "lost", "timed out"] {
        assert!(ends.get(end).is_some_and(|times| *times > 100), "{ends:?}");
    }
    assert!(!ends.contains_key("impossible"));
}
