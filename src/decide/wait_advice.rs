//! Advice at the end of an interrupted or failed wait: the state of the rules, and commands to go on with.

use jiff::Timestamp;

use crate::engine::settle::{Patience, Shortfall, UnreachableGoal};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Gap};
use crate::naming::duration::exact_duration;

use super::conflict::differences;

/// Commands to go on waiting for the evictions of the rules called `names`, and to stop them, by the rules as they were
/// when last `seen`: nothing where none of them evicts.
pub fn ways_on(names: &[String], seen: &[DeviceTaintRule]) -> Vec<String> {
    let evicts = |name: &&String| {
        let mut seen = seen.iter();
        seen.any(|rule| rule.name.as_str() == *name && evicts(rule))
    };
    let evicting: Vec<&str> = names.iter().filter(evicts).map(String::as_str).collect();
    if evicting.is_empty() {
        return Vec::new();
    }
    let rules = evicting.join(" ");
    vec![
        format!("to keep waiting: kubectl devicetaint wait {rules} --for evicted"),
        format!("to stop the evictions: kubectl devicetaint deescalate {rules} --to NoSchedule"),
    ]
}

/// Returns why a wait cannot be met, for rules that were `before` as it began and are `seen` now.
pub fn ended(
    never: &UnreachableGoal,
    before: &[DeviceTaintRule],
    seen: &[DeviceTaintRule],
) -> Failure {
    let failed = |text: String| Failure::new(ExitStatus::Failed, text);
    match never {
        UnreachableGoal::Gone(name) => failed(format!("rule {name} was deleted during the wait")),
        UnreachableGoal::Replaced(name) => failed(format!(
            "rule {name} was deleted during the wait, and recreated"
        ))
        .hint("to wait for the new rule, run the same command again"),
        UnreachableGoal::Changed(name) => {
            let was = before.iter().find(|rule| rule.name == *name);
            let now = seen.iter().find(|rule| rule.name == *name);
            let lines = was.zip(now).map(|(was, now)| differences(was, now));
            let failure = failed(format!("rule {name} was changed during the wait"));
            lines
                .into_iter()
                .flatten()
                .fold(failure, Failure::detail)
                .hint("to wait for the rule as it is now, run the same command again")
        }
        UnreachableGoal::Harmless { rule, effect } => failed(format!(
            "rule {rule} has effect {effect}, which evicts no pods"
        )),
        UnreachableGoal::BlocksNoPods { rule, effect } => failed(format!(
            "rule {rule} has effect {effect}, which does not block new pods: its devices may be in \
             use again at any time"
        )),
        UnreachableGoal::Unknowable(gaps) => {
            let gaps: Vec<String> = gaps.iter().map(describe).collect();
            failed(format!(
                "cannot tell when the wait is over: {}",
                gaps.join("; ")
            ))
        }
    }
}

/// Refuses a change that is waited for where the wait is over before the `last` eviction is due: it
/// could only end badly, which is said before the first pod is evicted.
///
/// # Errors
///
/// When the time is too short.
pub fn refuse_too_short(
    last: Option<Timestamp>,
    patience: Patience,
    now: Timestamp,
) -> Result<(), Failure> {
    // The settle time alone can exceed the timeout, also without any eviction.
    if patience.is_too_short_to_settle() {
        let text = format!("{}; nothing was changed", cannot_settle(patience));
        return Err(Failure::refused(text).hint("use a longer --timeout"));
    }
    let shortfall = last.and_then(|last| patience.shortfall(last, now));
    shortfall.map_or(Ok(()), |short| Err(too_short(&short, patience)))
}

/// A change whose evictions cannot be over in the time that may be waited; nothing was changed yet.
pub fn too_short(shortfall: &Shortfall, patience: Patience) -> Failure {
    Failure::refused(format!(
        "{}; nothing was changed",
        cannot_be_met(shortfall, patience)
    ))
    // A minute more than is needed, for pods to end and for the time until the command is pasted.
    .hint(format!(
        "use a longer timeout, such as --timeout {}m, or omit --wait",
        shortfall.needed.as_secs().div_ceil(60).saturating_add(1)
    ))
}

/// Statement that a wait cannot be met, in one line.
pub fn cannot_be_met(shortfall: &Shortfall, patience: Patience) -> String {
    format!(
        "the last eviction is due in {}, at {}, and the result must last {}s: --timeout {}s is too \
        short",
        exact_duration(
            shortfall
                .until_last
                .try_into()
                .unwrap_or(jiff::SignedDuration::MAX)
        ),
        shortfall.last,
        patience.settle.as_secs_f64(),
        patience.timeout.as_secs_f64(),
    )
}

/// Statement that a wait is over before anything can settle, in one line.
pub fn cannot_settle(patience: Patience) -> String {
    format!(
        "--timeout ({}s) must be longer than the {}s that the result must last",
        patience.timeout.as_secs_f64(),
        patience.settle.as_secs_f64(),
    )
}

fn evicts(rule: &DeviceTaintRule) -> bool {
    rule.taint.effect == Effect::NoExecute
}

fn describe(gap: &Gap) -> String {
    format!("{}: {}", gap.what, gap.why)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_that_is_too_short_is_refused_with_the_time_that_it_takes() {
        let patience = Patience {
            settle: Duration::from_secs(10),
            timeout: Duration::from_secs(25),
        };
        let now = "2026-11-21T01:00:00Z".parse().expect("a time");
        let last = "2026-11-21T01:05:00Z".parse().expect("a time");
        let short = patience.shortfall(last, now).expect("too short");
        let failure = too_short(&short, patience);
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.to_string(),
            "the last eviction is due in 5m, at 2026-11-21T01:05:00Z, and the result must last 10s: \
            --timeout 25s is too short; nothing was changed"
        );
        assert_eq!(
            failure.hints(),
            ["use a longer timeout, such as --timeout 7m, or omit --wait"]
        );
    }

    #[test]
    fn a_change_whose_wait_cannot_succeed_is_refused_before_anything_is_changed() {
        let at = |seconds: i64| crate::report::testing::after(seconds);
        let patience = |settle, timeout| Patience {
            settle: Duration::from_secs(settle),
            timeout: Duration::from_secs(timeout),
        };
        let refused = |last: Option<i64>, patience| {
            let outcome = refuse_too_short(last.map(at), patience, at(0));
            outcome.err().map(|failure| failure.status())
        };
        let no = Some(crate::error::ExitStatus::Refused);
        assert_eq!(refused(None, patience(5, 60)), None);
        assert_eq!(refused(None, patience(61, 60)), no);
        assert_eq!(refused(Some(55), patience(5, 60)), None);
        assert_eq!(refused(Some(56), patience(5, 60)), no);
    }
}
