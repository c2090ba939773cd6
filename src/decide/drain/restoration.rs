//! The record that units of a drain were restored, on the rules that are left of it.

use super::state::{DrainState, UnitState};
use crate::engine::rule_lifecycle::blocks;
use crate::model::DeviceTaintRule;

/// What is recorded once units of a drain are restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestorationRecord {
    /// The units without a rule: nothing else tells what became of them.
    pub units: Vec<String>,
    /// The rules that are left of the drain, which record it. Not those that somebody weakened: a change would hide who that
    /// was.
    pub rules: Vec<DeviceTaintRule>,
}

/// What to record about `drain`, one of the `known` drains, when the rules `removed` are.
#[must_use]
pub fn restoration_record(
    known: &[DrainState],
    drain: &str,
    removed: &[DeviceTaintRule],
) -> RestorationRecord {
    let units = known.iter().filter(|known| known.name == drain);
    let units: Vec<&UnitState> = units.flat_map(|drain| &drain.units).collect();
    let is_left = |rule: &&DeviceTaintRule| !removed.iter().any(|it| it.name == rule.name);
    let is_restored = |unit: &&&UnitState| {
        !unit.rules.is_empty() && !unit.rules.iter().any(|rule| is_left(&rule))
    };
    let restored = units.iter().filter(is_restored);
    let rules = units.iter().flat_map(|unit| &unit.rules);
    let rules = rules
        .filter(is_left)
        .filter(|rule| blocks(&rule.taint.effect));
    RestorationRecord {
        units: restored.map(|unit| unit.name.clone()).collect(),
        rules: rules.cloned().collect(),
    }
}

/// Why a unit is reversed that `restore` has restored, on behalf of this user if it is known.
#[must_use]
pub fn restored_by(user: Option<&str>) -> String {
    user.map_or_else(
        || "restored".to_owned(),
        |user| format!("restored by {user}"),
    )
}

/// The user that restored a unit, in the words of [`restored_by`]; absent in all other words.
#[must_use]
pub fn restorer(why: &str) -> Option<&str> {
    why.strip_prefix("restored by ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::state::drains;
    use crate::decide::drain::testing::drain_rule as rule;
    use crate::model::RuleMetadata;

    fn named(name: &str) -> DeviceTaintRule {
        rule(name, "a", "NoSchedule")
    }

    #[test]
    fn only_units_without_a_rule_are_recorded_on_rules_that_are_left() {
        let known = drains(&[
            rule("a-0", "a", "NoSchedule"),
            rule("a-1", "a", "NoSchedule"),
            rule("b-0", "b", "NoSchedule"),
            rule("c-0", "c", "None"),
        ]);
        let record = |removed: &[&str]| {
            let removed: Vec<DeviceTaintRule> = removed.iter().map(|name| named(name)).collect();
            let record = restoration_record(&known, "fw", &removed);
            let rules = record.rules.iter().map(|rule| rule.name.to_string());
            (record.units, rules.collect::<Vec<_>>())
        };
        let texts = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(record(&["a-0", "a-1"]), (texts(&["a"]), texts(&["b-0"])));
        // One device of a unit: the unit is still drained in part.
        assert_eq!(record(&["a-0"]), (Vec::new(), texts(&["a-1", "b-0"])));
        let all = ["a-0", "a-1", "b-0", "c-0"];
        assert_eq!(record(&all), (texts(&["a", "b", "c"]), Vec::new()));
        // What is recorded of a unit stays: somebody else may have restored it.
        let mut before = rule("b-0", "b", "NoSchedule");
        let note = (
            RuleMetadata::DRAIN_REVERSED.to_owned(),
            r#"{"d":"restored by bob"}"#.to_owned(),
        );
        before.metadata.annotations.extend([note]);
        let known = drains(&[rule("a-0", "a", "NoSchedule"), before]);
        assert_eq!(
            restoration_record(&known, "fw", &[named("a-0")]).units,
            ["a"]
        );
        let other = restoration_record(&known, "other", &[]);
        assert_eq!(other, RestorationRecord::default());
        assert_eq!(restored_by(Some("anna")), "restored by anna");
        assert_eq!(restored_by(None), "restored");
        assert_eq!(restorer(&restored_by(Some("anna"))), Some("anna"));
        assert_eq!(restorer(&restored_by(None)), None);
    }
}
