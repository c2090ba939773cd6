//! What is to become of a rule, as it is shown before a question.

use crate::model::{DeviceTaintRule, Effect};
use crate::naming::device;

/// More rules than these are counted.
const SHOWN: usize = 5;

/// A rule, and the change of its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// The rule's name.
    name: String,
    /// Which devices it taints.
    devices: String,
    /// What it does now; nothing where it is to be made.
    before: Option<Effect>,
    /// What it does then; nothing where it is to be deleted.
    after: Option<Effect>,
}

impl RuleChange {
    /// `rule` is to have effect `after`.
    #[must_use]
    pub fn to(rule: &DeviceTaintRule, after: &Effect) -> Self {
        Self {
            after: Some(after.clone()),
            ..Self::deletion(rule)
        }
    }

    /// `rule` is to be made as it is, or to take the place of the one that is there `now`.
    #[must_use]
    pub fn making(rule: &DeviceTaintRule, now: Option<&DeviceTaintRule>) -> Self {
        Self {
            before: now.map(|now| now.taint.effect.clone()),
            ..Self::to(rule, &rule.taint.effect)
        }
    }

    /// `rule` is to be deleted.
    #[must_use]
    pub fn deletion(rule: &DeviceTaintRule) -> Self {
        let selector = rule.selector.as_ref();
        Self {
            name: rule.name.to_string(),
            devices: selector.map_or_else(|| "no selector".to_owned(), device::format),
            before: Some(rule.taint.effect.clone()),
            after: None,
        }
    }

    /// `Rule NAME   DEVICES   EFFECT → EFFECT`
    fn line(&self) -> String {
        let effect = |effect: &Option<Effect>, absent: &str| match effect {
            Some(effect) => effect.to_string(),
            None => absent.to_owned(),
        };
        let Self { name, devices, .. } = self;
        let (before, after) = (effect(&self.before, "new"), effect(&self.after, "deleted"));
        format!("Rule {name}   {devices}   {before} → {after}")
    }
}

/// The first of the changes, one line each, and how many more there are.
#[must_use]
pub fn lines(changes: &[RuleChange]) -> Vec<String> {
    let mut lines: Vec<String> = changes.iter().take(SHOWN).map(RuleChange::line).collect();
    match changes.len().saturating_sub(SHOWN) {
        0 => {}
        1 => lines.push("and 1 more rule".to_owned()),
        more => lines.push(format!("and {more} more rules")),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::named;

    #[test]
    fn each_rule_is_shown_with_its_devices_and_the_change_of_its_effect() {
        let rule = named("drain", "None");
        let changes = [
            RuleChange::to(&rule, &Effect::NoExecute),
            RuleChange::making(&named("new", "NoSchedule"), None),
            RuleChange::making(&named("drain", "NoExecute"), Some(&rule)),
            RuleChange::deletion(&named("old", "NoExecute")),
        ];
        assert_eq!(
            lines(&changes),
            [
                "Rule drain   gpu.example.com/node-7/gpu-0   None → NoExecute",
                "Rule new   gpu.example.com/node-7/gpu-0   new → NoSchedule",
                "Rule drain   gpu.example.com/node-7/gpu-0   None → NoExecute",
                "Rule old   gpu.example.com/node-7/gpu-0   NoExecute → deleted",
            ]
        );
        let many = vec![changes[0].clone(); SHOWN + 2];
        assert_eq!(lines(&many).last().unwrap(), "and 2 more rules");
    }
}
