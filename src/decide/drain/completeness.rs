//! The size of a drain, and units whose rules were removed, as recorded on its rules.
//!
//! A removed rule leaves no trace of itself. What is known of it is on the rules that are left: how many there were once all
//! had been created, and which units a run has seen to be reversed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::decide::RulePatch;
use crate::engine::rule_lifecycle::blocks;
use crate::model::{DeviceTaintRule, RuleMetadata};

/// How large a drain was when all of its rules existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainSize {
    /// Units of the drain.
    pub units: usize,
    /// Rules of the unit.
    pub rules: usize,
}

impl DrainSize {
    /// The size that a rule records; absent if it records none that is understood.
    #[must_use]
    pub fn of(rule: &DeviceTaintRule) -> Option<Self> {
        let text = rule.metadata.annotation(RuleMetadata::DRAIN_SIZE)?;
        let (units, rules) = text.split_once('/')?;
        Some(Self {
            units: units.parse().ok()?,
            rules: rules.parse().ok()?,
        })
    }
}

/// The change that records on a rule that all rules exist, and which rule of the unit is `next` to it; absent if the rule
/// records both. `first` is the change to the first stage, for a rule that has none.
#[must_use]
pub fn completion_patch(
    rule: &DeviceTaintRule,
    size: DrainSize,
    next: &str,
    first: RulePatch,
) -> Option<RulePatch> {
    let has_stage = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE);
    let noted_next = rule.metadata.annotation(RuleMetadata::DRAIN_NEXT);
    let is_noted = DrainSize::of(rule) == Some(size) && noted_next == Some(next);
    if has_stage.is_some() && is_noted {
        return None;
    }
    // One patch for both, so that a rule never has a size without a stage or the reverse.
    let mut patch = match has_stage {
        Some(_) => RulePatch::default(),
        None => first,
    };
    let text = format!("{}/{}", size.units, size.rules);
    let size = (RuleMetadata::DRAIN_SIZE.to_owned(), text);
    let next = (RuleMetadata::DRAIN_NEXT.to_owned(), next.to_owned());
    patch.annotations.extend([size, next]);
    Some(patch)
}

/// Two changes of annotations as one.
#[must_use]
pub fn both_records(one: Option<RulePatch>, other: Option<RulePatch>) -> Option<RulePatch> {
    match (one, other) {
        (Some(mut patch), Some(other)) => {
            patch.annotations.extend(other.annotations);
            Some(patch)
        }
        (one, other) => one.or(other),
    }
}

/// Each of these rules of a unit with the name of the rule that is next to it, in a ring.
#[must_use]
pub fn ring(rules: &[DeviceTaintRule]) -> Vec<(&DeviceTaintRule, &str)> {
    let mut sorted: Vec<&DeviceTaintRule> = rules.iter().collect();
    sorted.sort_by(|left, right| left.name.cmp(&right.name));
    let next = sorted.iter().cycle().skip(1);
    let pairs = sorted.iter().zip(next);
    pairs
        .map(|(rule, next)| (*rule, next.name.as_str()))
        .collect()
}

/// How many rules the unit of these `rules` once had; absent if none of them records it.
pub(super) fn most_rules(rules: &[DeviceTaintRule]) -> Option<usize> {
    let sizes = rules.iter().filter_map(DrainSize::of);
    sizes.map(|size| size.rules).max()
}

/// Which rules of a unit were removed, as the `rules` that are left record it; absent if as many are there as once were.
pub(super) fn removal(rules: &[DeviceTaintRule]) -> Option<String> {
    let most = most_rules(rules)?;
    let missing = most
        .checked_sub(rules.len())
        .filter(|missing| *missing > 0)?;
    let there: BTreeSet<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    let next = rules
        .iter()
        .filter_map(|rule| rule.metadata.annotation(RuleMetadata::DRAIN_NEXT));
    let gone: BTreeSet<&str> = next.filter(|name| !there.contains(name)).collect();
    // Of rules that follow each other in the ring, only the first is known.
    Some(match (gone.first(), missing) {
        (Some(name), 1) => format!("rule {name} was removed"),
        (Some(name), _) => format!("{missing} of {most} rules were removed, such as {name}"),
        (None, _) => format!("{missing} of {most} rules were removed"),
    })
}

/// The units whose rules were removed, with the reasons, as these rules of one drain record them.
pub(super) fn reversed_units<'a>(
    rules: impl Iterator<Item = &'a DeviceTaintRule>,
) -> BTreeMap<String, String> {
    let texts = rules.filter_map(|rule| rule.metadata.annotation(RuleMetadata::DRAIN_REVERSED));
    let values = texts.filter_map(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let units = values.flatten();
    units
        .filter_map(|(unit, why)| Some((unit, why.as_str()?.to_owned())))
        .collect()
}

/// Why `unit` is reversed, such as who has restored it, as these rules of its drain record it.
#[must_use]
pub fn recorded_reversal<'a>(
    rules: impl IntoIterator<Item = &'a DeviceTaintRule>,
    unit: &str,
) -> Option<String> {
    reversed_units(rules.into_iter()).remove(unit)
}

/// The change that records on another rule of the drain why the units `reversed` are.
#[must_use]
pub fn reversal_patch(rule: &DeviceTaintRule, reversed: &[String], why: &str) -> RulePatch {
    let mut units = reversed_units(std::iter::once(rule));
    units.extend(reversed.iter().map(|unit| (unit.clone(), why.to_owned())));
    let units: Map<String, Value> = units
        .into_iter()
        .map(|(unit, why)| (unit, Value::from(why)))
        .collect();
    let key = RuleMetadata::DRAIN_REVERSED.to_owned();
    RulePatch {
        annotations: [(key, Value::from(units).to_string())].into(),
        ..RulePatch::default()
    }
}

/// Why `unit` of the drain with these `rules` is reversed, `why` if none of them records it, and the changes that record
/// it: of rules that record nothing, and that nobody has weakened, since a change would hide who that was.
#[must_use]
pub fn reversal_to_record<'a>(
    rules: &'a [DeviceTaintRule],
    unit: &str,
    why: String,
) -> (String, Vec<(&'a DeviceTaintRule, RulePatch)>) {
    // Who has restored the unit says more than which rule is missing.
    let why = recorded_reversal(rules, unit).unwrap_or(why);
    let silent = rules
        .iter()
        .filter(|rule| blocks(&rule.taint.effect) && recorded_reversal([*rule], unit).is_none());
    let patches = silent.map(|rule| (rule, reversal_patch(rule, &[unit.to_owned()], &why)));
    let patches = patches.collect();
    (why, patches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::named;

    fn with(patch: RulePatch) -> DeviceTaintRule {
        let mut rule = named("a", "NoSchedule");
        rule.metadata.annotations.extend(patch.annotations);
        rule
    }

    fn first() -> RulePatch {
        let stage = (RuleMetadata::DRAIN_STAGE.to_owned(), "Waiting".to_owned());
        RulePatch {
            annotations: [stage].into(),
            ..RulePatch::default()
        }
    }

    fn noted_again() -> DeviceTaintRule {
        let patch = completion_patch(&named("a", "NoSchedule"), SIZE, "b", first());
        with(patch.expect("news"))
    }

    #[test]
    fn the_rules_that_are_left_record_which_rule_was_removed() {
        let rules = ["c", "a", "b", "d"].map(|name| named(name, "NoSchedule"));
        let size = DrainSize { units: 1, rules: 4 };
        let all: Vec<DeviceTaintRule> = ring(&rules)
            .into_iter()
            .map(|(rule, next)| {
                let mut rule = rule.clone();
                let patch = completion_patch(&rule, size, next, first()).expect("news");
                rule.metadata.annotations.extend(patch.annotations);
                rule
            })
            .collect();
        let without = |gone: &[&str]| {
            let mut left = all.clone();
            left.retain(|rule| !gone.contains(&rule.name.as_str()));
            removal(&left)
        };
        assert_eq!(without(&[]), None);
        for name in ["a", "b", "c", "d"] {
            let expected = format!("rule {name} was removed");
            assert_eq!(without(&[name]), Some(expected));
        }
        assert_eq!(
            without(&["b", "c"]).as_deref(),
            Some("2 of 4 rules were removed, such as b")
        );
        let mut unnamed = all.clone();
        unnamed.truncate(3);
        for rule in &mut unnamed {
            rule.metadata.annotations.remove(RuleMetadata::DRAIN_NEXT);
        }
        assert_eq!(
            removal(&unnamed).as_deref(),
            Some("1 of 4 rules were removed")
        );
        assert_eq!(removal(&rules[..1]), None, "the size is not recorded");
        let one = [named("only", "NoSchedule")];
        assert_eq!(ring(&one)[0].1, "only");
    }

    const SIZE: DrainSize = DrainSize { units: 2, rules: 8 };

    #[test]
    fn the_size_is_recorded_once_and_a_stage_stays() {
        let rule = named("a", "NoSchedule");
        assert_eq!(DrainSize::of(&rule), None);
        let noted = with(completion_patch(&rule, SIZE, "b", first()).expect("news"));
        assert_eq!(DrainSize::of(&noted), Some(SIZE));
        let stage = |rule: &DeviceTaintRule| {
            let stage = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE);
            stage.map(str::to_owned)
        };
        assert_eq!(stage(&noted).as_deref(), Some("Waiting"));
        assert_eq!(completion_patch(&noted, SIZE, "b", first()), None);
        let mut idle = noted;
        let note = (RuleMetadata::DRAIN_STAGE.to_owned(), "Idle".to_owned());
        idle.metadata.annotations.extend([note]);
        let larger = DrainSize { units: 3, ..SIZE };
        let patch = completion_patch(&idle, larger, "b", first()).expect("news");
        assert_eq!(patch.annotations.len(), 2, "{patch:?}");
        let other = completion_patch(&noted_again(), SIZE, "c", first());
        assert!(other.is_some(), "the next rule is another");
    }

    #[test]
    fn two_records_on_a_rule_are_one_change() {
        let size = || completion_patch(&named("a", "NoSchedule"), SIZE, "b", RulePatch::default());
        let count = |patch: Option<RulePatch>| patch.map(|patch| patch.annotations.len());
        assert_eq!(count(both_records(size(), Some(first()))), Some(3));
        assert_eq!(count(both_records(size(), None)), Some(2));
        assert_eq!(count(both_records(None, Some(first()))), Some(1));
        assert_eq!(both_records(None, None), None);
    }

    #[test]
    fn a_size_that_is_not_understood_is_none() {
        for text in ["", "2", "a/b", "2/", "-1/2"] {
            let mut rule = named("a", "NoSchedule");
            let note = (RuleMetadata::DRAIN_SIZE.to_owned(), text.to_owned());
            rule.metadata.annotations.extend([note]);
            assert_eq!(DrainSize::of(&rule), None, "{text}");
        }
    }

    #[test]
    fn reversed_units_are_recorded_beside_each_other() {
        let rule = named("a", "NoSchedule");
        let unit = |name: &str| [name.to_owned()];
        let one = with(reversal_patch(&rule, &unit("node-1"), "rule x was removed"));
        let recorded = |unit| recorded_reversal([&rule, &one], unit);
        assert_eq!(recorded("node-1").as_deref(), Some("rule x was removed"));
        assert_eq!(recorded("node-2"), None);
        let both = with(reversal_patch(&one, &unit("node-2"), "rule y was removed"));
        let found = reversed_units([&both].into_iter());
        let expected = [
            ("node-1", "rule x was removed"),
            ("node-2", "rule y was removed"),
        ];
        let expected = expected.map(|(unit, why)| (unit.to_owned(), why.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        let mut odd = named("a", "NoSchedule");
        let note = (RuleMetadata::DRAIN_REVERSED.to_owned(), "[1]".to_owned());
        odd.metadata.annotations.extend([note]);
        assert_eq!(reversed_units([&odd].into_iter()), BTreeMap::new());
    }

    #[test]
    fn a_reversal_is_recorded_on_rules_that_say_nothing_of_it_and_still_block() {
        let unit = |name: &str| [name.to_owned()];
        let restored = with(reversal_patch(
            &named("a", "NoSchedule"),
            &unit("node-1"),
            "restored by alice",
        ));
        let mut rules = vec![
            named("b", "NoSchedule"),
            named("c", "None"),
            named("d", "NoExecute"),
        ];
        let names = |found: &[(&DeviceTaintRule, RulePatch)]| -> Vec<String> {
            found
                .iter()
                .map(|(rule, _)| rule.name.to_string())
                .collect()
        };
        let (why, found) = reversal_to_record(&rules, "node-1", "rule x was removed".to_owned());
        assert_eq!(
            (&*why, names(&found)),
            ("rule x was removed", vec!["b".to_owned(), "d".to_owned()])
        );
        rules.push(restored);
        let (why, found) = reversal_to_record(&rules, "node-1", "rule x was removed".to_owned());
        assert_eq!(
            (&*why, names(&found)),
            ("restored by alice", vec!["b".to_owned(), "d".to_owned()])
        );
        let noted = with(found[0].1.clone());
        assert_eq!(
            recorded_reversal([&noted], "node-1").as_deref(),
            Some("restored by alice")
        );
        // Of another unit, nothing is recorded yet.
        assert_eq!(
            reversal_to_record(&rules, "node-2", String::new()).1.len(),
            3
        );
    }

    #[test]
    fn the_largest_recorded_size_says_how_many_rules_there_were() {
        let sized = |name: &str, rules| {
            let mut rule = named(name, "NoSchedule");
            let size = DrainSize { units: 1, rules };
            let patch = completion_patch(&rule, size, "z", first()).expect("news");
            rule.metadata.annotations.extend(patch.annotations);
            rule
        };
        // The device of the third rule came later, and a run recorded it on one of the rules only.
        let rules = [sized("a", 2), sized("b", 3)];
        assert_eq!(most_rules(&rules), Some(3));
        assert!(removal(&rules).is_some());
    }
}
