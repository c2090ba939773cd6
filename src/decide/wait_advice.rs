//! Advice at the end of an interrupted or failed wait: the state of the rules, and commands to go on with.

use jiff::Timestamp;

use crate::engine::rule_lifecycle::blocks;
use crate::engine::settle::{Patience, Shortfall, UnreachableGoal};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Gap, Kind, ObjectName};
use crate::naming::age::human_duration;
use crate::naming::phrase::few;
use crate::naming::shell::word;

use super::conflict::{changed_by, differences};
use super::identity::ChangedIdentity;

/// How to go on waiting for the evictions of the rules that are called `names`, and how to stop them, by the rules as they
/// were when last `seen`: nothing where none of them evicts.
#[must_use]
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

/// Why a wait for rules that `before` were so, and when they were last `seen` so, cannot be met; the device names of the
/// `changed` ones stand for other hardware.
#[must_use]
pub fn ended(
    never: &UnreachableGoal,
    before: &[DeviceTaintRule],
    seen: &[DeviceTaintRule],
    changed: &[ChangedIdentity],
) -> Failure {
    let failed = |text: String| Failure::new(ExitStatus::Failed, text);
    // A rule that never had effect NoExecute has evicted no pods.
    let evicted = |name: &ObjectName| {
        let mut known = before.iter().filter(|rule| rule.name == *name);
        let has_evicted = known.any(|rule| rule.taint.effect == Effect::NoExecute);
        let line = has_evicted.then_some("pods that it evicted stay evicted");
        line.into_iter()
    };
    match never {
        UnreachableGoal::Gone(name) => {
            let failure = failed(format!("rule {name} was deleted during the wait"));
            let failure = evicted(name).fold(failure, Failure::detail);
            failure.detail("the server does not report the user who deleted the rule")
        }
        UnreachableGoal::Replaced(name) => {
            let rule = seen.iter().find(|rule| rule.name == *name);
            let now = rule.map_or_else(String::new, |rule| {
                format!(" with taint {}{}", rule.taint, by_whom(before, rule))
            });
            let failure = failed(format!(
                "rule {name} was deleted during the wait, and recreated{now}"
            ));
            let failure = evicted(name).fold(failure, Failure::detail);
            failure.hint("to repeat the wait with the new rule, run the same command again")
        }
        UnreachableGoal::Changed(name) => {
            let was = before.iter().find(|rule| rule.name == *name);
            let now = seen.iter().find(|rule| rule.name == *name);
            let failure = failed(format!("rule {name} was changed during the wait"));
            let lines = was.zip(now).map(|(was, now)| differences(was, now));
            let whom = was.zip(now).and_then(|(was, now)| changed_by(was, now));
            lines
                .into_iter()
                .flatten()
                .chain(whom.map(|who| format!("changed by {who}")))
                .fold(failure, Failure::detail)
                .detail("pods are not evicted from devices that the rule no longer taints")
                .hint("to wait for the rule as it is now, run the same command again")
        }
        UnreachableGoal::Harmless { rule, effect } => {
            let failure = failed(format!(
                "rule {rule} has effect {effect}, which evicts no pods"
            ));
            let was = before.iter().find(|found| found.name == *rule);
            let now = seen.iter().find(|found| found.name == *rule);
            // Who ends by itself needs no eviction to be waited for.
            let failure = match effect {
                Effect::NoSchedule => failure.hint(format!(
                    "to wait until the pods on its devices have ended: kubectl devicetaint wait {rule} --for idle"
                )),
                Effect::NoExecute | Effect::None | Effect::Unknown(_) => failure,
            };
            match (was, now) {
                (Some(was), Some(now)) if was.taint.effect != *effect => failure.detail(format!(
                    "it had effect {} when the wait began{}",
                    was.taint.effect,
                    by_whom(before, now)
                )),
                (Some(_) | None, Some(_) | None) => failure.hint(to_escalate(
                    "to evict pods",
                    &too_weak(rule, seen, |effect| *effect == Effect::NoExecute),
                    &Effect::NoExecute,
                    changed,
                )),
            }
        }
        UnreachableGoal::BlocksNoPods { rule, effect } => failed(format!(
            "rule {rule} has effect {effect}, which does not block new pods: its devices may be in \
             use again at any time"
        ))
        .hint(to_escalate(
            "to block new pods",
            &too_weak(rule, seen, blocks),
            &Effect::NoSchedule,
            changed,
        )),
        UnreachableGoal::Untainted { rule, devices } => {
            let found = seen.iter().find(|found| found.name == *rule);
            let taint = found.map_or_else(
                || "KEY:NoSchedule".to_owned(),
                |rule| rule.taint.to_string(),
            );
            let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
            let words: Vec<_> = names.iter().map(|name| word(name)).collect();
            failed(format!(
                "rule {rule} no longer taints the hardware that it was created for, which is now named {}; \
                 the hardware is idle, but may be in use again at any time, because no taint blocks new pods",
                few(&names)
            ))
            .hint(format!(
                "to block new pods: kubectl devicetaint add {} {}",
                words.join(" "),
                word(&taint)
            ))
        }
        UnreachableGoal::Unknowable(gaps) => {
            // Pods are found without slices; which devices are the same hardware is not.
            let hides_hardware = gaps
                .iter()
                .any(|gap| gap.kind() == Some(Kind::ResourceSlice));
            let what = if hides_hardware {
                "the hardware of the selected devices is idle"
            } else {
                "all pods are gone"
            };
            let gaps: Vec<String> = gaps.iter().map(describe).collect();
            failed(format!("cannot tell when {what}: {}", gaps.join("; ")))
        }
    }
}

/// The names of the rules whose effect `is_enough` does not hold for: all that `escalate` has to raise, or only `rule`
/// if no rules were read.
fn too_weak(
    rule: &ObjectName,
    seen: &[DeviceTaintRule],
    is_enough: impl Fn(&Effect) -> bool,
) -> Vec<ObjectName> {
    let weak = seen.iter().filter(|found| !is_enough(&found.taint.effect));
    let names: Vec<ObjectName> = weak.map(|found| found.name.clone()).collect();
    if names.is_empty() {
        vec![rule.clone()]
    } else {
        names
    }
}

/// How rules are escalated, for a `purpose`; `escalate` refuses the `changed` rules.
fn to_escalate(
    purpose: &str,
    rules: &[ObjectName],
    to: &Effect,
    changed: &[ChangedIdentity],
) -> String {
    let names: Vec<&str> = rules.iter().map(ObjectName::as_str).collect();
    let escalate = format!("kubectl devicetaint escalate {} --to {to}", names.join(" "));
    if changed.iter().any(|found| rules.contains(&found.rule)) {
        format!("{purpose}: remove the rule, and add one for the intended device")
    } else {
        format!("{purpose}: {escalate}")
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
#[must_use]
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

/// That a wait cannot be met, in one line.
#[must_use]
pub fn cannot_be_met(shortfall: &Shortfall, patience: Patience) -> String {
    format!(
        "the last eviction is due in {}, at {}, and the result must last {}s: --timeout {}s is too \
        short",
        human_duration(
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

/// That a wait is over before anything can settle, in one line.
#[must_use]
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

/// `, changed by …`, as far as the rule tells.
fn by_whom(before: &[DeviceTaintRule], rule: &DeviceTaintRule) -> String {
    let was = before.iter().find(|found| found.name == rule.name);
    let who = changed_by(was.unwrap_or(rule), rule);
    who.map_or_else(String::new, |who| format!(", changed by {who}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decide::testing::named;

    #[test]
    fn a_rule_of_other_hardware_is_not_to_be_escalated() {
        let changed = |rule: &str| ChangedIdentity {
            rule: rule.into(),
            device: crate::report::testing::device("gpu-0"),
            message: "the device has another name".to_owned(),
            published_as: Vec::new(),
        };
        let rule = [named("a", "NoSchedule")];
        let harmless = UnreachableGoal::Harmless {
            rule: "a".into(),
            effect: Effect::NoSchedule,
        };
        let open = UnreachableGoal::BlocksNoPods {
            rule: "a".into(),
            effect: Effect::None,
        };
        for (goal, other, last_hint) in [
            (
                &harmless,
                "a",
                "to evict pods: remove the rule, and add one for the intended device",
            ),
            (
                &harmless,
                "b",
                "to evict pods: kubectl devicetaint escalate a --to NoExecute",
            ),
            (
                &open,
                "a",
                "to block new pods: remove the rule, and add one for the intended device",
            ),
        ] {
            let failure = ended(goal, &rule, &rule, &[changed(other)]);
            assert_eq!(failure.hints().last().map(String::as_str), Some(last_hint));
        }
    }

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
