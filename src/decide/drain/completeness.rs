//! The size of a drain, and units whose rules were removed, as recorded on its rules.
//!
//! A removed rule leaves no trace of itself. What is known of it is on the rules that are left: how many there were once all
//! had been created, and which units a run has seen to be reversed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::decide::RulePatch;
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

/// The change that records on a rule that all rules exist; absent if the rule records it. `first` is the change to the first
/// stage, for a rule that has none.
#[must_use]
pub fn completion_patch(
    rule: &DeviceTaintRule,
    size: DrainSize,
    first: RulePatch,
) -> Option<RulePatch> {
    let has_stage = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE);
    if has_stage.is_some() && DrainSize::of(rule) == Some(size) {
        return None;
    }
    // One patch for both, so that a rule never has a size without a stage or the reverse.
    let mut patch = match has_stage {
        Some(_) => RulePatch::default(),
        None => first,
    };
    let text = format!("{}/{}", size.units, size.rules);
    let noted = (RuleMetadata::DRAIN_SIZE.to_owned(), text);
    patch.annotations.extend([noted]);
    Some(patch)
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

/// The change that records on another rule of the drain why `unit` is reversed.
#[must_use]
pub fn reversal_patch(rule: &DeviceTaintRule, unit: &str, why: &str) -> RulePatch {
    let mut units = reversed_units(std::iter::once(rule));
    units.insert(unit.to_owned(), why.to_owned());
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

    const SIZE: DrainSize = DrainSize { units: 2, rules: 8 };

    #[test]
    fn the_size_is_recorded_once_and_a_stage_stays() {
        let rule = named("a", "NoSchedule");
        assert_eq!(DrainSize::of(&rule), None);
        let noted = with(completion_patch(&rule, SIZE, first()).expect("news"));
        assert_eq!(DrainSize::of(&noted), Some(SIZE));
        let stage = |rule: &DeviceTaintRule| {
            let stage = rule.metadata.annotation(RuleMetadata::DRAIN_STAGE);
            stage.map(str::to_owned)
        };
        assert_eq!(stage(&noted).as_deref(), Some("Waiting"));
        assert_eq!(completion_patch(&noted, SIZE, first()), None);
        let mut idle = noted;
        let note = (RuleMetadata::DRAIN_STAGE.to_owned(), "Idle".to_owned());
        idle.metadata.annotations.extend([note]);
        let larger = DrainSize { units: 3, ..SIZE };
        let patch = completion_patch(&idle, larger, first()).expect("news");
        assert_eq!(patch.annotations.len(), 1, "{patch:?}");
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
        let one = with(reversal_patch(&rule, "node-1", "rule x was removed"));
        let both = with(reversal_patch(&one, "node-2", "rule y was removed"));
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
}
