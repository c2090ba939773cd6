//! Is the verdict of an expression the real environment's?
//!
//! Both sides say of a device true, false, that the evaluation fails, or that the expression does not
//! compile. The engine may also refuse to say anything, by name; it may never say anything else. Of an expression that
//! does not compile upstream, which no server stores, it may say anything: it does not check types.

mod devices;
mod grammar;

use std::collections::BTreeMap;

use kubectl_devicetaint::engine::expression::{DeviceExpression, ExpressionError};
use serde_json::{Value, json};

use self::devices::{Subject, subjects};
use self::grammar::expression;
use crate::harness::Random;
use crate::oracle::process::Oracle;
use crate::oracle::run::fresh_seed;

/// Expressions with a fixed seed, each also spoiled; each is evaluated for five devices.
const FIXED: usize = 4_000;
/// Expressions with a fresh seed: each run looks where no run has looked before.
const FRESH: usize = 400;

/// Verdict on an expression and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    True,
    False,
    Fails,
    DoesNotCompile,
    /// The engine does not say, or upstream breaks.
    Unsaid,
}

fn of_engine(compiled: Result<&DeviceExpression, &ExpressionError>, of: &Subject) -> Verdict {
    let verdict = compiled
        .map_err(Clone::clone)
        .and_then(|expression| expression.matches(&of.driver, &of.device));
    match verdict {
        Ok(true) => Verdict::True,
        Ok(false) => Verdict::False,
        Err(ExpressionError::Runtime { .. } | ExpressionError::Unpublished) => Verdict::Fails,
        Err(ExpressionError::Compile { .. } | ExpressionError::TooLong { .. }) => {
            Verdict::DoesNotCompile
        }
        Err(ExpressionError::Unsupported { .. }) => Verdict::Unsaid,
    }
}

fn of_upstream(answer: &Value) -> Verdict {
    let error = answer["error"].as_str();
    match (error, answer["stage"].as_str()) {
        (None, _) if answer["matches"] == json!(true) => Verdict::True,
        (None, _) => Verdict::False,
        // A panic within it, which the caller catches here or there.
        (Some(error), _) if error.contains("internal error") || error.contains("panic:") => {
            Verdict::Unsaid
        }
        (Some(_), Some("compile")) => Verdict::DoesNotCompile,
        (Some(_), Some("runtime")) => Verdict::Fails,
        (Some(error), _) => panic!("the proposed taint was wrong: {error}"),
    }
}

/// Number of each verdict, and the expressions that the engine refuses.
struct Comparison {
    agreed: BTreeMap<Verdict, usize>,
    refused: Vec<String>,
}

/// Compares all verdicts; one that differs ends it.
fn compare(expressions: &[String]) -> Comparison {
    let subjects = subjects();
    let mut oracle = Oracle::start();
    let mut comparison = Comparison {
        agreed: BTreeMap::new(),
        refused: Vec::new(),
    };
    for expressions in expressions.chunks(500) {
        let pairs = expressions
            .iter()
            .flat_map(|text| subjects.iter().map(move |of| (text, of)));
        let requests = pairs.enumerate().map(|(id, (text, of))| {
            json!({"id": id, "op": "cel", "expression": text, "device": of.object,
                "driver": of.driver.as_str(), "listTypeAttributes": of.lists})
        });
        let answers = oracle.ask(&requests.collect::<Vec<_>>());
        let mut answers = answers.iter();
        for text in expressions {
            let compiled = DeviceExpression::compile(text);
            let mut refused = false;
            for of in &subjects {
                let answer = answers.next().expect("as many answers as questions");
                let (ours, theirs) = (of_engine(compiled.as_ref(), of), of_upstream(answer));
                if ours == Verdict::Unsaid {
                    refused = true;
                } else if theirs != Verdict::Unsaid
                    && (theirs != Verdict::DoesNotCompile || ours == theirs)
                {
                    assert_eq!(ours, theirs, "{text}\nfor {}\n{answer}", of.object);
                    *comparison.agreed.entry(ours).or_insert(0) += 1;
                }
            }
            if refused {
                comparison.refused.push(text.clone());
            }
        }
    }
    comparison
}

fn random_expressions(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::of_seed(seed);
    let depths = (0..count).map(|place| 1 + place % 4);
    depths
        .map(|depth| expression(&mut random, b'b', depth))
        .collect()
}

/// Expressions with one character removed, doubled or inserted: most do not compile.
fn spoiled(seed: u64, expressions: &[String]) -> Vec<String> {
    let inserted: Vec<char> = "!-()[]{}.?:,+=<1a\"'\\ ".chars().collect();
    let mut random = Random::of_seed(seed);
    let spoil = |text: &String| {
        let mut characters: Vec<char> = text.chars().collect();
        let place = random.below(characters.len());
        match random.below(3) {
            0 => {
                characters.remove(place);
            }
            1 => characters.insert(place, characters[place]),
            _ => characters.insert(place, inserted[random.below(inserted.len())]),
        }
        characters.into_iter().collect()
    };
    expressions.iter().map(spoil).collect()
}

/// Twenty thousand pairs: each verdict often, little refused, nothing otherwise.
#[test]
fn random_expressions_have_the_verdicts_of_the_real_environment() {
    let comparison = compare(&random_expressions(1, FIXED));
    for verdict in [Verdict::True, Verdict::False, Verdict::Fails] {
        assert!(
            comparison.agreed[&verdict] > 1_000,
            "{:?}",
            comparison.agreed
        );
    }
    let refused = comparison.refused.len();
    assert!(
        refused * 10 <= FIXED,
        "{refused} refused: {:#?}",
        comparison.refused
    );
}

#[test]
fn spoiled_expressions_have_the_verdicts_of_the_real_environment() {
    let comparison = compare(&spoiled(1, &random_expressions(1, FIXED)));
    let agreed = comparison.agreed[&Verdict::DoesNotCompile];
    assert!(agreed > 5_000, "{:?}", comparison.agreed);
}

#[test]
fn fresh_expressions_have_the_verdicts_of_the_real_environment() {
    let seed = fresh_seed();
    let mut expressions = random_expressions(seed, FRESH);
    expressions.extend(spoiled(seed, &expressions));
    let _ = compare(&expressions);
}

/// Differences that a fresh seed once found.
#[test]
fn expressions_that_differed_once_agree() {
    let lines = include_str!("../../../crates/engine/tests/data/cel/found.txt").lines();
    let expressions: Vec<String> = lines.map(str::to_owned).collect();
    let refused = compare(&expressions).refused;
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn realistic_expressions_are_answered() {
    let expressions: Vec<String> =
        include_str!("../../../crates/engine/tests/data/cel/realistic.txt")
            .lines()
            .map(str::to_owned)
            .collect();
    assert!(expressions.len() >= 300);
    let refused = compare(&expressions).refused;
    assert!(refused.len() * 30 <= expressions.len(), "{refused:#?}");
}
