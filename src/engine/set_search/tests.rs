//! The search against every set of small random problems.

use super::*;

/// A sequence of numbers that looks random and is the same in every run.
struct Numbers(u64);

impl Numbers {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*: good enough to make cases, and no seed has to be noted.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % limit
    }

    fn is_one_of(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn burden(&mut self) -> Burden {
        let mut number = |limit: usize| i64::try_from(self.below(limit)).unwrap();
        Burden {
            danger: number(2),
            warning: number(2),
            notice: number(3),
            pods: 1,
            devices: number(3),
            unmanaged: number(2),
        }
    }

    fn tier(&mut self) -> Tier {
        match self.below(8) {
            0..=3 => Tier::ShortGrace,
            4..=6 => Tier::WithinBudgets,
            _ => Tier::BudgetsViolated,
        }
    }

    fn coupling(&mut self) -> Coupling {
        let allowed = self.below(3);
        let is_budget = self.is_one_of(2);
        let of = |lost: usize, harmless: usize| Burden {
            danger: i64::try_from(lost.saturating_sub(harmless)).unwrap(),
            ..Burden::NONE
        };
        if self.is_one_of(4) {
            // As for hardware of which some is still in use: worse in the middle than at the end.
            let notice = |notice| Burden {
                notice,
                ..Burden::NONE
            };
            return Coupling {
                penalties: vec![Burden::NONE, notice(1), notice(2), Burden::NONE],
                within_budget: None,
            };
        }
        Coupling {
            penalties: (0..8).map(|lost| of(lost, allowed)).collect(),
            within_budget: is_budget.then_some(allowed),
        }
    }

    fn problem(&mut self) -> SearchProblem {
        let units = 2 + self.below(8);
        let couplings: Vec<Coupling> = (0..self.below(4)).map(|_| self.coupling()).collect();
        let mut problem = SearchProblem {
            couplings,
            ..SearchProblem::default()
        };
        for _ in 0..units {
            let mut pods: Vec<usize> = Vec::new();
            for _ in 0..self.below(3) {
                if !problem.pods.is_empty() && self.is_one_of(3) {
                    pods.push(self.below(problem.pods.len()));
                    continue;
                }
                let all = problem.couplings.len();
                let couplings = (0..all).filter(|_| self.is_one_of(2)).collect();
                let (burden, tier) = (self.burden(), self.tier());
                pods.push(problem.pods.len());
                problem.pods.push(SearchPod {
                    burden,
                    tier,
                    couplings,
                });
            }
            pods.sort_unstable();
            pods.dedup();
            problem.units.push(SearchUnit {
                pods,
                tier: if self.is_one_of(12) {
                    Tier::Unknown
                } else {
                    Tier::ShortGrace
                },
            });
        }
        problem.count = 1 + self.below(units);
        problem
    }
}

/// The cheapest of all sets.
fn cheapest(problem: &SearchProblem) -> Option<SetCost> {
    sets(problem)
        .into_iter()
        .map(|set| problem.cost(&set))
        .min()
}

fn sets(problem: &SearchProblem) -> Vec<Vec<usize>> {
    let all = (0_u32..1 << problem.units.len()).map(|bits| {
        let places = 0..problem.units.len();
        places.filter(|place| bits >> place & 1 == 1).collect()
    });
    all.filter(|set: &Vec<usize>| set.len() == problem.count)
        .collect()
}

#[test]
fn the_set_that_is_found_is_the_cheapest_of_all_and_known_to_be() {
    let mut numbers = Numbers(42);
    let (mut found, mut runners) = (0, 0);
    for number in 0..2_000 {
        let problem = numbers.problem();
        let result = search(&problem);
        let best = result.best.as_ref();
        assert_eq!(
            best.map(|set| set.cost),
            cheapest(&problem),
            "{number}: {problem:#?}"
        );
        assert_eq!(
            result.is_optimal(),
            best.is_some(),
            "{number}: {problem:#?}"
        );
        for set in best.into_iter().chain(&result.runner_up) {
            assert!(set.units.len() == problem.count, "{number}: {problem:#?}");
            assert_eq!(problem.cost(&set.units), set.cost);
        }
        found += usize::from(best.is_some());
        runners += usize::from(result.runner_up.is_some());
    }
    assert!(found > 1_000 && runners > 500, "{found}, {runners}");
}

/// Units with a pod each that costs so much.
fn apart(pods: &[i64]) -> SearchProblem {
    let mut problem = SearchProblem::default();
    for (place, number) in pods.iter().enumerate() {
        problem.pods.push(SearchPod {
            burden: Burden {
                pods: *number,
                ..Burden::NONE
            },
            ..SearchPod::default()
        });
        problem.units.push(SearchUnit {
            pods: vec![place],
            ..SearchUnit::default()
        });
    }
    problem
}

#[test]
fn of_equal_units_the_first_are_taken_and_the_runner_up_exchanges_a_class() {
    let mut problem = apart(&[3, 1, 1, 1, 2]);
    problem.count = 2;
    let result = search(&problem);
    assert_eq!(result.best.as_ref().unwrap().units, [1, 2]);
    assert_eq!(result.runner_up.as_ref().unwrap().units, [1, 4]);
    assert!(result.is_optimal());
    problem.count = 5;
    let result = search(&problem);
    assert_eq!((result.is_optimal(), result.runner_up), (true, None));
    problem.count = 6;
    assert_eq!(search(&problem), SearchResult::default());
}

#[test]
fn a_set_of_a_gentler_tier_is_taken_whatever_it_costs() {
    let mut problem = apart(&[1, 1, 9, 9]);
    problem.count = 2;
    problem.pods[0].tier = Tier::BudgetsViolated;
    problem.units[1].tier = Tier::Unknown;
    problem.pods[2].tier = Tier::WithinBudgets;
    let result = search(&problem);
    assert_eq!(result.best.as_ref().unwrap().units, [2, 3]);
    assert_eq!(result.best.as_ref().unwrap().cost.tier, Tier::WithinBudgets);
    // The next one is of a worse tier, where no other is of this.
    assert_eq!(result.runner_up.as_ref().unwrap().units, [0, 2]);
    assert!(result.is_optimal());
}

#[test]
fn a_budget_is_shared_by_the_pods_that_it_covers() {
    let mut problem = apart(&[1, 1, 1, 5]);
    problem.count = 3;
    problem.couplings = vec![Coupling {
        penalties: vec![Burden::NONE; 4],
        within_budget: Some(2),
    }];
    for pod in &mut problem.pods[..3] {
        pod.couplings = vec![0];
    }
    let result = search(&problem);
    assert_eq!(result.best.as_ref().unwrap().units, [0, 1, 3]);
    problem.couplings[0].within_budget = Some(3);
    assert_eq!(search(&problem).best.unwrap().units, [0, 1, 2]);
}

#[test]
fn a_pod_of_several_units_is_lost_once() {
    let mut problem = apart(&[1, 1, 1, 3]);
    problem.count = 3;
    for unit in &mut problem.units[1..] {
        unit.pods = vec![3];
    }
    // Three units of the dear pod cost as much as one of them.
    assert_eq!(search(&problem).best.unwrap().units, [1, 2, 3]);
}

/// Many pods of two units each and many budgets that each cover pods of others: one region that is cut.
fn tangled(units: usize, numbers: &mut Numbers) -> SearchProblem {
    let mut problem = apart(&vec![1; units]);
    problem.couplings = (0..units)
        .map(|_| Coupling {
            penalties: (0..4)
                .map(|danger| Burden {
                    danger,
                    ..Burden::NONE
                })
                .collect(),
            within_budget: None,
        })
        .collect();
    for pod in &mut problem.pods {
        pod.couplings = (0..4).map(|_| numbers.below(units)).collect();
        pod.couplings.sort_unstable();
        pod.couplings.dedup();
    }
    for unit in &mut problem.units {
        unit.pods.push(numbers.below(units));
        unit.pods.sort_unstable();
        unit.pods.dedup();
    }
    problem.count = units / 3;
    problem
}

#[test]
fn what_is_too_tangled_is_cut_and_the_bound_says_how_good_the_set_is() {
    let mut numbers = Numbers(7);
    let problem = tangled(400, &mut numbers);
    let result = search(&problem);
    let best = result.best.as_ref().unwrap();
    assert!(best.units.len() == problem.count);
    assert!(!result.is_optimal());
    assert!(result.lower_bound.unwrap() < best.cost);
}

/// The parts of the search that are used for large clusters, with the limits of small ones.
#[test]
fn a_bound_of_hulls_is_never_above_the_cheapest_set_and_a_rounded_set_never_below() {
    let mut numbers = Numbers(1);
    let mut met = 0;
    for number in 0..2_000 {
        let problem = numbers.problem();
        let Some(cheapest) = sets(&problem)
            .into_iter()
            .map(|set| problem.cost(&set).burden)
            .min()
        else {
            continue;
        };
        // So little that regions are cut wherever there is something to cut.
        let least = search::Effort {
            partial_sets: 1_000,
            narrowest: 3,
            combination: 0,
        };
        let found = search::solve(&problem, Tier::Unknown, least);
        let (lower, set) = (found.lower.unwrap(), found.sets.first());
        assert!(
            lower <= cheapest,
            "{number}: {lower:?} {cheapest:?} {problem:#?}"
        );
        if let Some(set) = set {
            assert!(set.units.len() == problem.count, "{number}: {problem:#?}");
            assert!(set.cost.burden >= cheapest);
            met += usize::from(set.cost.burden == cheapest);
        }
    }
    assert!(met > 1_000, "{met}");
}
