//! Kubeconfig contexts that a command runs against.

use std::collections::BTreeSet;

use crate::error::Failure;
use crate::naming::nearest::{first_few, hints_for};

/// The contexts that were named, and of those that are `known` the ones that match a pattern; each
/// once, those that were named first, in their order.
///
/// # Errors
///
/// When one that was named is not known, and when no context matches.
pub fn contexts(
    named: &[String],
    matches: Option<&dyn Fn(&str) -> bool>,
    known: &[String],
) -> Result<Vec<String>, Failure> {
    let unknown: BTreeSet<&String> = named.iter().filter(|name| !known.contains(name)).collect();
    if !unknown.is_empty() {
        return Err(no_such(&unknown, known));
    }
    let matching = matches.map(|matches| {
        let known = known.iter();
        known.filter(|name| matches(name)).collect::<Vec<_>>()
    });
    // Beside contexts that were named, a pattern that matches none leaves something to ask.
    if matching.as_ref().is_some_and(Vec::is_empty) && named.is_empty() {
        return Err(Failure::usage("no context matches --contexts").hint(existing(known)));
    }
    let mut seen = BTreeSet::new();
    let all = named.iter().chain(matching.into_iter().flatten());
    Ok(all.filter(|name| seen.insert(*name)).cloned().collect())
}

/// None of the contexts `unknown` is among those that are `known`.
fn no_such(unknown: &BTreeSet<&String>, known: &[String]) -> Failure {
    let quoted: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
    let noun = match quoted.len() {
        1 => "no context",
        _ => "no contexts",
    };
    let failure = Failure::usage(format!("{noun} {}", quoted.join(", ")));
    let unknown: Vec<&str> = unknown.iter().map(|name| name.as_str()).collect();
    hints_for("context", &unknown, known)
        .into_iter()
        .fold(failure, Failure::hint)
}

fn existing(known: &[String]) -> String {
    if known.is_empty() {
        return "the kubeconfig has no contexts".to_owned();
    }
    format!("contexts: {}", first_few(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: &[&str], prefix: Option<&str>) -> Result<Vec<String>, String> {
        let known = ["eu-1", "eu-2", "us-1"].map(str::to_owned);
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let matches = |name: &str| name.starts_with(prefix.unwrap_or_default());
        let matches: Option<&dyn Fn(&str) -> bool> = match prefix {
            Some(_) => Some(&matches),
            None => None,
        };
        contexts(&named, matches, &known)
            .map_err(|failure| format!("{failure}; {}", failure.hints().join("; ")))
    }

    #[test]
    fn each_context_is_asked_once_and_those_that_were_named_first() {
        assert_eq!(chosen(&["us-1", "eu-1"], None).unwrap(), ["us-1", "eu-1"]);
        assert_eq!(chosen(&["us-1", "us-1"], None).unwrap(), ["us-1"]);
        assert_eq!(chosen(&[], Some("eu")).unwrap(), ["eu-1", "eu-2"]);
        assert_eq!(chosen(&["eu-2"], Some("eu")).unwrap(), ["eu-2", "eu-1"]);
        assert_eq!(chosen(&["us-1"], Some("ap")).unwrap(), ["us-1"]);
    }

    #[test]
    fn every_context_that_is_not_there_is_named_and_all_that_are() {
        assert_eq!(
            chosen(&["c", "us-1", "prod-eu", "c"], None).unwrap_err(),
            "no contexts \"c\", \"prod-eu\"; contexts: eu-1, eu-2, us-1"
        );
    }

    #[test]
    fn a_name_or_a_pattern_that_means_nothing_is_a_mistake() {
        assert_eq!(
            chosen(&["us-1", "eu-3"], None).unwrap_err(),
            "no context \"eu-3\"; did you mean one of eu-1, eu-2?; contexts: eu-1, eu-2, us-1"
        );
        assert_eq!(
            chosen(&[], Some("ap")).unwrap_err(),
            "no context matches --contexts; contexts: eu-1, eu-2, us-1"
        );
        assert_eq!(
            contexts(&[], Some(&|_| true), &[]).unwrap_err().hints(),
            ["the kubeconfig has no contexts"]
        );
        let many: Vec<String> = (0..12).map(|number| format!("c{number:02}")).collect();
        let failure = contexts(&[], Some(&|_| false), &many).unwrap_err();
        assert!(
            failure.hints()[0].ends_with("c09 and 2 more"),
            "{:?}",
            failure.hints()
        );
    }
}
