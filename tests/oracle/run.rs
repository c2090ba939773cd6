//! Many cases, one after the other, and the smallest one that differs.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use crate::case::{Case, Family, any_case, list};
use crate::harness::{number_in, say};
use crate::oracle::compare::{Outcome, actual, comparable, expected};
use crate::oracle::process::Oracle;
use crate::oracle::subject::Subject;

/// Number of cases that the oracle is given at once; it works on several at a time.
const BATCH: usize = 100;

/// Limit of attempts at shrinking.
const SHRINKING: usize = 2_000;

/// Cases of one family and seed.
pub struct Run {
    family: Family,
    seed: u64,
    cases: usize,
    oracle: Oracle,
    subject: Subject,
}

impl Run {
    pub fn new(family: Family, seed: u64, cases: usize) -> Self {
        let mut oracle = Oracle::start();
        let subject = Subject::of(&mut oracle);
        Self {
            family,
            seed,
            cases: cases_or(cases),
            oracle,
            subject,
        }
    }

    /// Compares every case, and prints their number.
    pub fn compare(mut self) {
        let mut runner = runner(self.seed);
        let strategy = any_case(self.family);
        let mut compared = 0;
        while compared < self.cases {
            let size = BATCH.min(self.cases - compared);
            let mut trees = Vec::with_capacity(size);
            for _ in 0..size {
                trees.push(strategy.new_tree(&mut runner).expect("cases can be made"));
            }
            let cases: Vec<Case> = trees
                .iter()
                .map(|tree| self.subject.adapted(tree.current()))
                .collect();
            let differing = self
                .differences(&cases)
                .into_iter()
                .position(|difference| difference.is_some());
            if let Some(place) = differing {
                self.report(trees.swap_remove(place), compared + place);
            }
            compared += size;
        }
        say(&format!(
            "oracle: {compared} {:?} of seed {} agree with the controller of Kubernetes {}",
            self.family, self.seed, self.subject.semantics.version
        ));
    }

    fn differences(&mut self, cases: &[Case]) -> Vec<Option<(Outcome, Outcome)>> {
        let requests: Vec<Value> = cases
            .iter()
            .map(|case| self.subject.request(case, self.family))
            .collect();
        let answers = self.oracle.ask(&requests);
        let pairs = cases.iter().zip(&answers);
        pairs
            .map(|(case, answer)| {
                let both = (expected(case, self.family, &self.subject), actual(answer));
                let (ours, theirs) = comparable(case, self.family, &self.subject, both);
                (ours != theirs).then_some((ours, theirs))
            })
            .collect()
    }

    fn difference(&mut self, case: Case) -> Option<(Outcome, Outcome)> {
        self.differences(&[self.subject.adapted(case)])
            .pop()
            .flatten()
    }

    /// Shrinks a case as long as it differs, and fails with the smallest.
    fn report(&mut self, mut tree: impl ValueTree<Value = Case>, place: usize) -> ! {
        let mut smallest = self.subject.adapted(tree.current());
        let mut attempts = 0;
        let mut changed = tree.simplify();
        while changed && attempts < SHRINKING {
            attempts += 1;
            if self.difference(tree.current()).is_some() {
                smallest = self.subject.adapted(tree.current());
                changed = tree.simplify();
            } else {
                changed = tree.complicate();
            }
        }
        let yaml = serde_yaml::to_string(&list(&smallest.objects())).expect("YAML");
        let (ours, theirs) = self
            .difference(smallest.clone())
            .expect("it differed before");
        panic!(
            "case {place} of seed {} ({:?}, PodGroups {}) differs from Kubernetes {}\n\nours:   {ours:#?}\n\ntheirs: {theirs:#?}\n\n# read this with --from\n{yaml}",
            self.seed, self.family, smallest.pod_groups, self.subject.semantics.version,
        );
    }
}

/// A new seed, or the one that is to be repeated.
pub fn fresh_seed() -> u64 {
    number_in("DEVICETAINT_ORACLE_SEED").unwrap_or_else(crate::harness::fresh_seed)
}

/// The number of cases that the environment wants, or the usual one.
pub fn cases_or(usual: usize) -> usize {
    number_in("DEVICETAINT_ORACLE_CASES").map_or(usual, |it| usize::try_from(it).expect("small"))
}

/// Generator of the cases of a seed.
pub fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
    )
}
