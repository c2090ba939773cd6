//! Rules that exist in a reading, and errors about those that do not.

use super::chooser::no_such_rule;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Gap, Kind, Reading};

/// All rules that were read.
///
/// # Errors
///
/// When they could not be read: what is not known is not none.
pub fn rules_in(reading: &Reading) -> Result<&[DeviceTaintRule], Failure> {
    let mut gaps = reading.gaps.iter();
    let unread = |gap: &&Gap| gap.what == Kind::DeviceTaintRule.plural();
    match gaps.find(unread) {
        Some(gap) => Err(Failure::new(ExitStatus::Failed, gap.why.clone())),
        None => Ok(&reading.snapshot.rules),
    }
}

/// The one of `rules` that has that name, if these are all that there are.
///
/// # Errors
///
/// When there is none, with what may have been meant.
pub fn rule_named<'a>(
    name: &str,
    rules: &'a [DeviceTaintRule],
) -> Result<&'a DeviceTaintRule, Failure> {
    let found = rules.iter().find(|rule| rule.name.as_str() == name);
    found.ok_or_else(|| no_such_rule(name, rules))
}

/// Those of `rules` that have one of these names.
pub fn rules_named(
    names: &[String],
    rules: impl IntoIterator<Item = DeviceTaintRule>,
) -> Vec<DeviceTaintRule> {
    let is_named = |rule: &DeviceTaintRule| names.iter().any(|name| name == rule.name.as_str());
    rules.into_iter().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::decide::testing::named;
    use crate::model::{Affects, Snapshot, Source};

    fn reading(rules: &[&str], gaps: Vec<Gap>) -> Reading {
        Reading {
            snapshot: Snapshot {
                rules: rules.iter().map(|name| named(name, "None")).collect(),
                ..Snapshot::default()
            },
            source: Source::Files,
            observed_at: None,
            is_time_guessed: false,
            version: None,
            known: BTreeSet::new(),
            resource_versions: BTreeMap::new(),
            warnings: Vec::new(),
            gaps,
        }
    }

    fn refusal(reading: &Reading, name: &str) -> (String, Vec<String>) {
        let found = rules_in(reading).and_then(|rules| rule_named(name, rules));
        let failure = found.expect_err("no such rule");
        let told = [failure.details(), failure.hints()].concat();
        (failure.to_string(), told)
    }

    #[test]
    fn rules_that_could_not_be_read_are_not_known_instead_of_none() {
        let gap = Gap {
            affects: Affects::Details,
            what: "devicetaintrules".to_owned(),
            why: "access denied for alice".to_owned(),
        };
        let reading = reading(&[], vec![gap]);
        let (text, hints) = refusal(&reading, "drain-a");
        assert_eq!(text, "access denied for alice");
        assert!(hints.is_empty(), "{hints:?}");
        assert!(rules_in(&reading).is_err());
    }

    #[test]
    fn of_all_rules_those_are_meant_that_are_named() {
        let all = ["a", "b", "c"].map(|name| named(name, "None"));
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let found = rules_named(&names, all.clone());
            let found = found.iter().map(|rule| rule.name.to_string());
            found.collect::<Vec<_>>()
        };
        assert_eq!(of(&["c", "a", "absent"]), ["a", "c"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
