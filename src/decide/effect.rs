//! Transitions between effects: escalation and downgrade.

use super::proposal::ProposedRule;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use crate::naming::device;
use crate::naming::phrase::counted;
use crate::naming::shell::word;

/// Rank of an effect, a higher one being worse for pods; `None` for an effect that this plugin does not know, which
/// cannot be compared.
pub fn rank(effect: &Effect) -> Option<u8> {
    match effect {
        Effect::None => Some(0),
        Effect::NoSchedule => Some(1),
        Effect::NoExecute => Some(2),
        Effect::Unknown(_) => None,
    }
}

/// Proposal that gives `rules` the effect `to`: first those that have to be changed.
///
/// # Errors
///
/// When one of them does more already, or belongs to a dedication. Nothing is to be changed then, not even
/// the others.
pub fn escalate(rules: &[DeviceTaintRule], to: &Effect) -> Result<Vec<ProposedRule>, Failure> {
    for rule in rules {
        refuse_dedicated(rule, to)?;
        let DeviceTaintRule { name, taint, .. } = rule;
        if is_less(to, &taint.effect) {
            return Err(Failure::usage(format!(
                "rule {name} has effect {}, which is higher than {to}; nothing was changed",
                taint.effect
            ))
            .hint(format!(
                "to lower the effect: kubectl devicetaint deescalate {name} --to {to}"
            )));
        }
    }
    let rules = rules.iter().map(|rule| ProposedRule::effect(rule, to));
    let (open, done): (Vec<_>, Vec<_>) = rules.partition(ProposedRule::is_open);
    Ok([open, done].concat())
}

/// Refuses NoExecute for a rule of a dedication, whose policies add a toleration of NoSchedule: the pods of
/// the dedication's own namespaces would be evicted.
///
/// # Errors
///
/// As it says.
pub fn refuse_dedicated(rule: &DeviceTaintRule, to: &Effect) -> Result<(), Failure> {
    let label = rule.metadata.labels.get(RuleMetadata::DEDICATION);
    let dedication = label.map(String::as_str).or(rule.taint.dedication());
    match dedication.filter(|_| to.evicts()) {
        None => Ok(()),
        Some(name) => Err(Failure::refused(format!(
            "rule {} belongs to dedication {name}, and its effect stays NoSchedule; nothing was changed",
            rule.name
        ))
        .hint(format!(
            "to evict pods from the devices: kubectl devicetaint drain {}",
            word(&device::format(&rule.selector.clone().unwrap_or_default()))
        ))),
    }
}

/// True if the same command would give a rule, changed by another client meanwhile, the effect `to` as it is `found`:
/// not if it is gone, nor if it does more by now.
pub fn escalates_again(found: Option<&DeviceTaintRule>, to: &Effect) -> bool {
    found.is_some_and(|found| escalate(std::slice::from_ref(found), to).is_ok())
}

/// Action of an escalation of rules with those names, as the beginning of a question.
pub fn escalation(open: &[String], to: &Effect) -> String {
    match open {
        [only] => format!("Give rule {only} effect {to}"),
        several => format!("Give {} effect {to}", counted(several.len(), "rule")),
    }
}

/// Change that lowers the effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Downgrade {
    /// It has the effect already.
    Done,
    /// The effect has to be changed.
    Send,
}

/// Change that gives `rule` the effect `to`, if one is needed.
///
/// An effect that this plugin does not know is always lowered: it may evict.
///
/// # Errors
///
/// When the rule does less than `to` already.
pub fn downgrade(rule: &DeviceTaintRule, to: &Effect) -> Result<Downgrade, Failure> {
    let effect = &rule.taint.effect;
    if effect == to {
        return Ok(Downgrade::Done);
    }
    if is_less(effect, to) {
        return Err(Failure::usage(format!(
            "rule {} has effect {effect}, which is lower than {to}; it was not changed",
            rule.name
        ))
        .hint("to raise the effect, use `escalate`"));
    }
    Ok(Downgrade::Send)
}

/// True if `left` certainly does less than `right`.
fn is_less(left: &Effect, right: &Effect) -> bool {
    match (rank(left), rank(right)) {
        (Some(left), Some(right)) => left < right,
        (None, _) | (_, None) => false,
    }
}

/// The server takes no effect None.
pub fn too_old_for_none(failure: Failure) -> Failure {
    failure.hint(
        "effect None needs Kubernetes 1.35 or later; on older versions, `remove` the rule or use \
        --to NoSchedule",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::rule;
    use crate::error::ExitStatus;
    use crate::model::Taint;

    const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

    fn effect(text: &str) -> Effect {
        Effect::from(text)
    }

    #[test]
    fn a_rule_that_is_gone_or_does_more_by_now_is_not_escalated_again() {
        let again = |found: Option<&str>| {
            let found = found.map(rule);
            escalates_again(found.as_ref(), &Effect::NoSchedule)
        };
        assert!(again(Some("None")) && again(Some("NoSchedule")));
        assert!(!again(Some("NoExecute")));
        assert!(!again(None));
    }

    #[test]
    fn a_rule_of_a_dedication_is_never_given_noexecute() {
        let mut by_label = rule("NoSchedule");
        let label = RuleMetadata::DEDICATION.to_owned();
        by_label.metadata.labels.insert(label, "a".to_owned());
        let mut by_taint = rule("None");
        by_taint.taint.key = Taint::DEDICATED.to_owned();
        by_taint.taint.value = "a".to_owned();
        for rule in [by_label, by_taint] {
            let refused = |to| escalate(std::slice::from_ref(&rule), &effect(to)).err();
            let status = refused("NoExecute").map(|failure| failure.status());
            assert_eq!(status, Some(ExitStatus::Refused));
            assert!(refused("NoSchedule").is_none());
        }
    }

    #[test]
    fn escalation_goes_up_only() {
        for (from, place) in EFFECTS.iter().zip(0..) {
            for (to, target) in EFFECTS.iter().zip(0..) {
                let sorted = escalate(&[rule(from)], &effect(to));
                match sorted {
                    Ok(sorted) => {
                        assert!(place <= target, "{from} to {to}");
                        assert_eq!(sorted.len(), 1);
                        assert_eq!(sorted[0].is_open(), place != target);
                    }
                    Err(failure) => {
                        assert!(place > target, "{from} to {to}");
                        assert_eq!(failure.status(), ExitStatus::Usage);
                        assert!(failure.hints()[0].contains("deescalate drain"));
                    }
                }
            }
        }
    }

    #[test]
    fn the_brake_goes_down_only() {
        for (from, place) in EFFECTS.iter().zip(0..) {
            for (to, target) in EFFECTS.iter().zip(0..) {
                match downgrade(&rule(from), &effect(to)) {
                    Ok(Downgrade::Done) => assert_eq!(place, target),
                    Ok(Downgrade::Send) => assert!(place > target, "{from} to {to}"),
                    Err(_) => assert!(place < target, "{from} to {to}"),
                }
            }
        }
    }

    #[test]
    fn an_effect_that_is_not_known_can_be_lowered_and_raised() {
        let newer = rule("NoExecuteWithBudget");
        for to in EFFECTS {
            assert_eq!(
                downgrade(&newer, &effect(to)).unwrap(),
                Downgrade::Send,
                "{to}"
            );
            let sorted = escalate(std::slice::from_ref(&newer), &effect(to)).unwrap();
            assert!(sorted[0].is_open(), "{to}");
        }
    }
}
