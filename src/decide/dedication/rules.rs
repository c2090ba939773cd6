//! The rules of a dedication.

use std::collections::BTreeSet;

use crate::decide::owner::owner;
use crate::model::{DeviceTaintRule, RuleMetadata, Warning};
use crate::naming::phrase::few;

/// The rules with the taint of the dedication `name`, whatever made them.
pub fn members_of_rules<'a>(
    name: &'a str,
    rules: &'a [DeviceTaintRule],
) -> impl Iterator<Item = &'a DeviceTaintRule> {
    rules
        .iter()
        .filter(move |rule| rule.taint.dedication() == Some(name))
}

/// Whether `rule` was made for the dedication of its taint: it carries the label, and this plugin made it.
#[must_use]
pub fn is_our_rule(rule: &DeviceTaintRule) -> bool {
    // The taint alone proves nothing, since any user may make such a rule.
    let label = rule.metadata.labels.get(RuleMetadata::DEDICATION);
    rule.taint.dedication().is_some()
        && label.map(String::as_str) == rule.taint.dedication()
        && owner(rule).is_this_plugin()
}

/// Warnings that the removal of `rules` alone opens the devices of dedications, while their policies stay: one for each
/// dedication.
#[must_use]
pub fn left_policies(rules: &[DeviceTaintRule]) -> Vec<Warning> {
    let names: BTreeSet<&str> = rules
        .iter()
        .filter(|rule| is_our_rule(rule))
        .filter_map(|rule| rule.taint.dedication())
        .collect();
    let warning = |name: &str| {
        let own = members_of_rules(name, rules);
        let rules: Vec<String> = own.map(|rule| rule.name.to_string()).collect();
        let noun = if rules.len() == 1 { "rule" } else { "rules" };
        Warning {
            code: "dedication-rule",
            message: format!(
                "dedication {name}: after the removal of {noun} {}, claims can get the devices of the {noun} without \
                 a toleration of the dedication; the dedication's admission policies, if it has any, stay",
                few(&rules)
            ),
            fix: Some(format!(
                "to end the whole dedication: kubectl devicetaint undedicate {name}"
            )),
        }
    };
    names.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, rule};
    use crate::model::Taint;

    fn ours() -> DeviceTaintRule {
        let mut rule = rule("NoSchedule");
        rule.taint.key = Taint::DEDICATED.to_owned();
        rule.taint.value = "a".to_owned();
        rule.metadata.labels = [
            (RuleMetadata::MANAGED_BY, RuleMetadata::THIS_PROGRAM),
            (RuleMetadata::DEDICATION, "a"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        rule.managers.clear();
        rule
    }

    #[test]
    fn a_removed_rule_of_a_dedication_leaves_its_policies() {
        let mut rule = ours();
        let warnings = left_policies(&[rule.clone(), rule.clone()]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        rule.metadata.labels.clear();
        assert_eq!(left_policies(&[rule]), []);
    }

    #[test]
    fn a_rule_is_ours_by_its_label_and_its_maker() {
        let mut rule = ours();
        assert!(is_our_rule(&rule));
        for key in [RuleMetadata::MANAGED_BY, RuleMetadata::DEDICATION] {
            let mut theirs = rule.clone();
            theirs.metadata.labels.remove(key);
            assert!(!is_our_rule(&theirs), "{key}");
        }
        rule.taint.value = "b".to_owned();
        assert!(!is_our_rule(&rule));
    }

    #[test]
    fn the_rules_of_a_dedication_are_those_with_its_taint() {
        let mut other = ours();
        other.taint.value = "b".to_owned();
        let rules = [ours(), other, named("plain", "NoSchedule")];
        let members: Vec<&DeviceTaintRule> = members_of_rules("a", &rules).collect();
        assert_eq!(members, [&rules[0]]);
    }
}
