//! Pauses and aborts between the units of a drain: soft guards wait, hard guards end the run.

use std::time::Duration;

use super::stage::ABORTED;
use super::state::UnitState;
use crate::decide::RulePatch;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata};
use jiff::Timestamp;

/// Time between two evaluations of a guard that pauses a drain.
const INTERVAL: Duration = Duration::from_secs(5);

/// The next step before a unit starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseStep {
    /// Start the unit.
    Start,
    /// Evaluate the guards again after this time, for this reason.
    WaitFor(Duration, String),
    /// The pause has lasted too long, for this reason.
    GiveUp(String),
}

/// The next step before a unit starts, at `elapsed` since the start of the pause. `refusal` says which guard trips, if one
/// does; a guard whose value is unknown trips.
#[must_use]
pub fn pause_step(refusal: Option<String>, elapsed: Duration, timeout: Duration) -> PauseStep {
    match refusal {
        None => PauseStep::Start,
        Some(why) if elapsed >= timeout => PauseStep::GiveUp(why),
        // Never beyond the timeout, so that a pause ends when it is due.
        Some(why) => PauseStep::WaitFor(INTERVAL.min(timeout.saturating_sub(elapsed)), why),
    }
}

/// What becomes of the units that have not started when a guard ends a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortAction {
    /// Their taints stay.
    Keep,
    /// Their rules get effect None.
    Deescalate,
}

/// The change of a rule of a unit that does not start any more; absent where the rule has no effect already.
#[must_use]
pub fn abort_patch(
    rule: &DeviceTaintRule,
    semantics: &Semantics,
    now: Option<Timestamp>,
) -> Option<RulePatch> {
    if rule.taint.effect == Effect::None {
        return None;
    }
    let mut patch = RulePatch::effect(&Effect::None, semantics, now);
    let stage = (RuleMetadata::DRAIN_STAGE.to_owned(), ABORTED.to_owned());
    patch.annotations = [stage].into();
    Some(patch)
}

/// Refuses to continue a drain that a guard has ended with `--on-abort deescalate`: its units may have new pods.
///
/// # Errors
///
/// A rule of the drain records that.
pub fn refuse_aborted(name: &str, units: &[UnitState]) -> Result<(), Failure> {
    let rules = units.iter().flat_map(|unit| &unit.rules);
    let mut stages = rules.map(|rule| rule.metadata.annotation(RuleMetadata::DRAIN_STAGE));
    if !stages.any(|stage| stage == Some(ABORTED)) {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Refused,
        format!(
            "drain {name} cannot be continued: a guard aborted an earlier run, and some rules of the \
             drain have effect None; nothing was changed"
        ),
    )
    .hint(format!(
        "to drain again, first undo the earlier run: kubectl devicetaint restore {}",
        crate::naming::shell::word(name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drain::drains;
    use crate::decide::testing::named;
    use crate::report::testing::semantics;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_guard_that_trips_pauses_until_the_timeout() {
        let why = || "it trips".to_owned();
        for (refusal, elapsed, expected) in [
            (None, 0, PauseStep::Start),
            (None, 99, PauseStep::Start),
            (Some(why()), 0, PauseStep::WaitFor(seconds(5), why())),
            (Some(why()), 58, PauseStep::WaitFor(seconds(2), why())),
            (Some(why()), 60, PauseStep::GiveUp(why())),
        ] {
            let step = pause_step(refusal.clone(), seconds(elapsed), seconds(60));
            assert_eq!(step, expected, "{refusal:?} {elapsed}");
        }
    }

    #[test]
    fn an_aborted_drain_is_not_continued_before_it_is_restored() {
        let mut rule = named("a", "NoSchedule");
        let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
        rule.metadata.labels.extend([label]);
        let units = |rule: &DeviceTaintRule| drains(std::slice::from_ref(rule)).remove(0).units;
        assert!(refuse_aborted("fw", &units(&rule)).is_ok());
        let patch = abort_patch(&rule, &semantics(37), None).expect("a change");
        assert_eq!(patch.effect, Some(Effect::None));
        rule.metadata.annotations.extend(patch.annotations);
        rule.taint.effect = Effect::None;
        assert_eq!(abort_patch(&rule, &semantics(37), None), None);
        let refused = refuse_aborted("fw", &units(&rule)).unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Refused);
        assert_eq!(
            refused.to_string(),
            "drain fw cannot be continued: a guard aborted an earlier run, and some rules of the \
             drain have effect None; nothing was changed"
        );
    }

    #[test]
    fn one_rule_that_a_guard_has_lowered_is_enough_to_refuse() {
        let drained = |name: &str, stage: &str| {
            let mut rule = named(name, "NoSchedule");
            let label = (RuleMetadata::DRAIN.to_owned(), "fw".to_owned());
            rule.metadata.labels.extend([label]);
            let stage = (RuleMetadata::DRAIN_STAGE.to_owned(), stage.to_owned());
            rule.metadata.annotations.extend([stage]);
            rule
        };
        let units = drains(&[drained("a", "Idle"), drained("b", ABORTED)])
            .remove(0)
            .units;
        assert!(refuse_aborted("fw", &units).is_err());
    }
}
