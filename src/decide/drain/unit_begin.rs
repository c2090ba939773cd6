//! How the run of a unit begins.

use std::collections::BTreeSet;

use super::facts::RuleState;
use super::recorded_workloads::recorded_workloads;
use super::state::UnitProgress;
use super::unit_limits::UnitLimits;
use super::unit_run::UnitRun;
use super::watch::rule_state;
use crate::model::{DeviceTaintRule, Effect, Uid};

/// What is to be done with a unit whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeUnit {
    /// It begins.
    Begins,
    /// It is reversed: a rule was removed.
    Missing(String),
    /// It is reversed: another user has weakened a rule, for this reason.
    Weakened(String),
}

/// What is to be done with a unit with the rules of these names, of which `rules` exist. Asked before this run changes
/// the rules: its change would hide that another user weakened one.
#[must_use]
pub fn before_unit(names: &[String], rules: &[DeviceTaintRule]) -> BeforeUnit {
    if let Some(why) = missing_rule(names, rules) {
        return BeforeUnit::Missing(why);
    }
    match rule_state(rules, rules, None) {
        RuleState::Reversed(why) => BeforeUnit::Weakened(why),
        RuleState::AsMade | RuleState::EffectChanged(_) | RuleState::TakenOver(_) => {
            BeforeUnit::Begins
        }
    }
}

/// Which of the rules of these names is missing from `rules`; absent if all are there.
#[must_use]
pub fn missing_rule(names: &[String], rules: &[DeviceTaintRule]) -> Option<String> {
    let is_there = |name: &&String| rules.iter().any(|rule| rule.name.as_str() == **name);
    let missing = names.iter().find(|name| !is_there(name))?;
    Some(format!("rule {missing} was removed"))
}

/// The run of a unit with these rules, by what an earlier run has recorded on them; `restarted` are the owners whose pods
/// are replaced by a restart.
#[must_use]
pub fn begun_run(
    limits: UnitLimits,
    progress: &UnitProgress,
    rules: &[DeviceTaintRule],
    restarted: BTreeSet<Uid>,
) -> UnitRun {
    let run = if progress.has_begun() {
        UnitRun::resumed(limits)
    } else {
        UnitRun::new(limits)
    };
    let run = run.recorded(&recorded_workloads(rules));
    let mut run = run.restarting(restarted);
    // A rule of a new device, or of one whose rule alone another user escalated: the pods say which rules evict them.
    if rules
        .iter()
        .all(|rule| rule.taint.effect == Effect::NoExecute)
    {
        run.raised();
    }
    run
}

#[cfg(test)]
mod tests {
    use super::super::testing::limits;
    use super::*;
    use crate::decide::testing::named;

    #[test]
    fn a_unit_begins_with_all_of_its_rules_and_only_if_they_still_block() {
        let names = ["a".to_owned(), "b".to_owned()];
        let rules = |effect| [named("a", "NoSchedule"), named("b", effect)];
        assert_eq!(
            before_unit(&names, &rules("NoSchedule")),
            BeforeUnit::Begins
        );
        assert_eq!(before_unit(&names, &rules("NoExecute")), BeforeUnit::Begins);
        let found = before_unit(&names, &rules("None"));
        assert!(matches!(found, BeforeUnit::Weakened(_)), "{found:?}");
        let missing = "rule b was removed".to_owned();
        let found = before_unit(&names, &rules("NoSchedule")[..1]);
        assert_eq!(found, BeforeUnit::Missing(missing));
    }

    #[test]
    fn a_run_goes_on_with_a_unit_that_was_begun_and_evicts_by_taint_if_all_rules_do() {
        let new = || UnitRun::new(limits());
        let raised = |mut run: UnitRun| {
            run.raised();
            run
        };
        for (progress, effects, expected) in [
            (UnitProgress::Waiting, ["NoSchedule", "NoSchedule"], new()),
            (UnitProgress::Waiting, ["NoExecute", "NoSchedule"], new()),
            (
                UnitProgress::Waiting,
                ["NoExecute", "NoExecute"],
                raised(new()),
            ),
            (
                UnitProgress::Draining,
                ["NoSchedule", "NoSchedule"],
                UnitRun::resumed(limits()),
            ),
            (
                UnitProgress::Blocked,
                ["NoSchedule", "NoSchedule"],
                UnitRun::resumed(limits()),
            ),
        ] {
            let rules = effects.map(|effect| named("a", effect));
            let owner = BTreeSet::from([Uid::from("web")]);
            let run = begun_run(limits(), &progress, &rules, owner.clone());
            let expected = expected.restarting(owner);
            assert_eq!(
                format!("{run:?}"),
                format!("{expected:?}"),
                "{progress:?} {effects:?}"
            );
        }
    }
}
