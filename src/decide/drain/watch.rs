//! Changes of a unit's rules by other users, and the time until the scheduler has observed the rules.

use std::time::Duration;

use jiff::Timestamp;

use super::facts::RuleState;
use super::state::reversal;
use crate::model::{DeviceTaintRule, RuleMetadata};

/// Whether the existing rules are unchanged since this `run` recorded its work on them.
#[must_use]
pub fn rule_state(
    noted: &[DeviceTaintRule],
    found: &[DeviceTaintRule],
    run: Option<&str>,
) -> RuleState {
    for rule in noted {
        let name = &rule.name;
        let Some(now) = found.iter().find(|found| found.name == *name) else {
            return RuleState::Reversed(format!("rule {name} was removed"));
        };
        if now.uid != rule.uid {
            return RuleState::Reversed(format!("rule {name} was removed and recreated"));
        }
        if now.selector != rule.selector {
            return RuleState::Reversed(format!("rule {name} now selects other devices"));
        }
        if let Some(why) = reversal(now) {
            return RuleState::Reversed(why);
        }
        // Without a UID, a run cannot distinguish itself from others.
        let is_foreign = |key| {
            let last = now.metadata.annotation(key);
            run.is_some() && last.is_some() && last != run
        };
        let by = now.metadata.annotation(RuleMetadata::CHANGED_BY);
        if is_foreign(RuleMetadata::DRAIN_RUN) {
            let by = by.map_or_else(
                || "another run".to_owned(),
                |user| format!("another run (user {user})"),
            );
            return RuleState::TakenOver(by);
        }
        // Other commands sign their changes, too, and continue no drain.
        let effect = &now.taint.effect;
        if is_foreign(RuleMetadata::CHANGED_BY_RUN) && *effect != rule.taint.effect {
            let by = by.map_or_else(String::new, |user| format!(" by {user}"));
            return RuleState::EffectChanged(format!("rule {name} was set to effect {effect}{by}"));
        }
    }
    RuleState::AsMade
}

/// How long the scheduler may still place pods on the devices of `rules`. It observes them within `settle` after their
/// creation; all of `settle` if the creation time is unknown.
///
/// Upstream: KEP-5055 on the scheduler's race.
#[must_use]
pub fn settled_in(rules: &[DeviceTaintRule], now: Timestamp, settle: Duration) -> Duration {
    let rest = |rule: &DeviceTaintRule| match rule.metadata.created.or(rule.taint.time_added) {
        Some(at) => {
            let passed = now.duration_since(at);
            let passed = if passed.is_negative() {
                Duration::ZERO
            } else {
                passed.unsigned_abs()
            };
            settle.saturating_sub(passed)
        }
        None => settle,
    };
    rules.iter().map(rest).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{named, selector};
    use crate::model::Effect;
    use crate::report::testing::{after, now};

    #[test]
    fn what_somebody_did_to_a_rule_is_seen() {
        let made = named("a", "NoSchedule");
        let changed = |change: &dyn Fn(&mut DeviceTaintRule)| {
            let mut rule = made.clone();
            change(&mut rule);
            vec![rule]
        };
        let noted = |key: &'static str, run: &'static str, by: Option<&'static str>| {
            changed(&|rule| {
                let notes = [(key, Some(run)), (RuleMetadata::CHANGED_BY, by)];
                for (key, note) in notes {
                    let note = note.map(|note| (key.to_owned(), note.to_owned()));
                    rule.metadata.annotations.extend(note);
                }
            })
        };
        const CHANGED: &str = RuleMetadata::CHANGED_BY_RUN;
        const DRAINED: &str = RuleMetadata::DRAIN_RUN;
        let escalated = |mut rules: Vec<DeviceTaintRule>| {
            rules[0].taint.effect = Effect::NoExecute;
            rules
        };
        let reversed = |text: &str| RuleState::Reversed(text.to_owned());
        for (found, expected) in [
            (vec![made.clone()], RuleState::AsMade),
            (Vec::new(), reversed("rule a was removed")),
            (
                changed(&|rule| rule.uid = "other".into()),
                reversed("rule a was removed and recreated"),
            ),
            (
                changed(&|rule| rule.selector = Some(selector("gpu-9"))),
                reversed("rule a now selects other devices"),
            ),
            (
                changed(&|rule| rule.taint.effect = Effect::None),
                reversed("rule a was set to effect None"),
            ),
            (
                changed(&|rule| rule.taint.effect = Effect::NoExecute),
                RuleState::AsMade,
            ),
            (noted(CHANGED, "mine", None), RuleState::AsMade),
            (noted(DRAINED, "mine", None), RuleState::AsMade),
            // Another command has changed something that matters to no drain.
            (noted(CHANGED, "theirs", Some("bob")), RuleState::AsMade),
            (
                escalated(noted(CHANGED, "theirs", Some("bob"))),
                RuleState::EffectChanged("rule a was set to effect NoExecute by bob".to_owned()),
            ),
            (
                escalated(noted(CHANGED, "theirs", None)),
                RuleState::EffectChanged("rule a was set to effect NoExecute".to_owned()),
            ),
            (escalated(noted(CHANGED, "mine", None)), RuleState::AsMade),
            (
                escalated(noted(DRAINED, "theirs", None)),
                RuleState::TakenOver("another run".to_owned()),
            ),
            (
                noted(DRAINED, "theirs", Some("bob")),
                RuleState::TakenOver("another run (user bob)".to_owned()),
            ),
            (
                noted(DRAINED, "theirs", None),
                RuleState::TakenOver("another run".to_owned()),
            ),
        ] {
            let state = rule_state(std::slice::from_ref(&made), &found, Some("mine"));
            assert_eq!(state, expected);
        }
        let theirs = noted(DRAINED, "theirs", None);
        assert_eq!(rule_state(&[made], &theirs, None), RuleState::AsMade);
    }

    #[test]
    fn the_scheduler_has_its_time_after_the_last_rule() {
        let settle = Duration::from_secs(10);
        let made = |seconds| {
            let mut rule = named("a", "NoSchedule");
            rule.metadata.created = Some(after(seconds));
            rule
        };
        let rest = |rules: &[DeviceTaintRule]| settled_in(rules, now(), settle).as_secs();
        assert_eq!(rest(&[]), 0);
        assert_eq!(rest(&[made(-4)]), 6);
        assert_eq!(rest(&[made(-4), made(-1), made(-60)]), 9);
        assert_eq!(rest(&[made(-60)]), 0);
        assert_eq!(rest(&[made(5)]), 10, "a clock that differs");
        assert_eq!(rest(&[named("a", "NoSchedule")]), 10, "unknown");
    }

    #[test]
    fn each_rule_is_compared_with_the_one_of_its_name() {
        let (first, second) = (named("a", "NoSchedule"), named("b", "NoSchedule"));
        let found = [second.clone(), first.clone()];
        assert_eq!(
            rule_state(&[first, second], &found, None),
            RuleState::AsMade
        );
    }
}
