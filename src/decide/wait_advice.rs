//! Advice at the end of an interrupted or failed wait: the state of the rules, and commands to go on with.

use std::collections::BTreeSet;

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
use super::unreleased_devices::check_on;

/// What is left of the evictions that a wait waits for, the most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvictionsLeft {
    /// All pods are gone, as far as is known.
    None,
    /// All pods that are left are terminating.
    Terminating,
    /// Pods may still be evicted, or nothing is known of them.
    Due,
}

/// The failure of a wait that also queries a kubelet, with what another wait needs for that: its hint names a wait for idle
/// devices if the `rules` evict no pods.
#[must_use]
pub fn also_verified(failure: Failure, rules: &[DeviceTaintRule]) -> Failure {
    let mut rules = rules.iter();
    if rules.any(|rule| rule.taint.effect == Effect::NoExecute) {
        return failure;
    }
    failure.hint("to also query the kubelet in another wait, add the same flags: --verify-node or --via-debug")
}

/// What becomes of the rules that were escalated and are called `names`, for whoever stops waiting:
/// `before` they were so, and when they were last `seen` they were so. One line each, with what can be
/// done about it; those whose evictions go on first; `left` is what is left of them.
#[must_use]
pub fn ways_on(
    names: &[String],
    before: &[DeviceTaintRule],
    seen: &[DeviceTaintRule],
    left: EvictionsLeft,
) -> Vec<String> {
    let found = |name: &String| seen.iter().find(|rule| rule.name.as_str() == name);
    let evicts = |name: &&String| found(name).is_some_and(evicts);
    let evicting: Vec<&str> = names.iter().filter(evicts).map(String::as_str).collect();
    let mut lines = Vec::new();
    if !evicting.is_empty() {
        let rules = evicting.join(" ");
        let these = match evicting[..] {
            [only] => format!("rule {only} keeps effect NoExecute"),
            _ if evicting.len() == names.len() => "the rules keep effect NoExecute".to_owned(),
            [..] => format!("rules {} keep effect NoExecute", evicting.join(", ")),
        };
        let wait = format!("to keep waiting: kubectl devicetaint wait {rules} --for evicted");
        match left {
            EvictionsLeft::Due => {
                // What is left may be pods of the other rules alone, which are not evicted any more.
                let what = if evicting.len() == names.len() {
                    "so evictions continue"
                } else {
                    "so pods can still be evicted"
                };
                lines.push(format!("{these}, {what}; {wait}"));
                lines.push(format!(
                    "to stop the evictions: kubectl devicetaint deescalate {rules} --to NoSchedule"
                ));
            }
            EvictionsLeft::Terminating => lines.push(format!(
                "{these}, and the pods that are left are already terminating; {wait}"
            )),
            EvictionsLeft::None => lines.push(format!("{these}; no pod is left, but a wait succeeds only if the condition EvictionInProgress of each rule also reports that no eviction is in progress, and only after the time of --settle; {wait}")),
        }
    }
    for name in names.iter().filter(|name| !evicts(name)) {
        lines.push(match found(name) {
            None => format!("rule {name} was deleted meanwhile: it no longer evicts pods"),
            Some(rule) => format!(
                "rule {name} now has effect {}{}: it no longer evicts pods",
                rule.taint.effect,
                by_whom(before, rule)
            ),
        });
    }
    lines
}

/// How to go on waiting for rules of these names that are being deleted.
#[must_use]
pub fn until_deleted(names: &[String]) -> String {
    let these = match names {
        [only] => format!("rule {only} is deleted once its finalizers are removed"),
        _ => "the rules are deleted once their finalizers are removed".to_owned(),
    };
    format!(
        "{these}; to keep waiting: kubectl devicetaint wait {} --for deleted",
        names.join(" ")
    )
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

/// A pod that was deleted by force, or whose end was not observed, and whose node has not confirmed the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreleasedLine<'a> {
    /// It in words.
    pub message: &'a str,
    /// The node.
    pub node: Option<&'a str>,
}

/// A wait that has seen pods deleted by force: `left` names them.
#[must_use]
pub fn not_seen_released(left: &[UnreleasedLine<'_>]) -> Failure {
    let failure = Failure::new(
        ExitStatus::TimedOut,
        "the nodes of the devices have not confirmed that the devices are released",
    );
    let failure = left.iter().fold(failure, |failure, left| {
        failure.detail(format!("left: {}", left.message))
    });
    let nodes: BTreeSet<Option<&str>> = left.iter().map(|left| left.node).collect();
    nodes.into_iter().fold(failure, |failure, node| {
        failure.hint(format!(
            "to check with the kubelet, run on the node: {}",
            check_on(node)
        ))
    })
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
        return Err(Failure::refused(text).hint("use a longer --timeout or a shorter --settle"));
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
        "the last eviction is due in {}, at {}, and --settle adds {}s: --timeout {}s is too \
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
        "--timeout ({}s) must be longer than --settle ({}s)",
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
    fn another_wait_queries_the_kubelet_with_the_same_flags_alone() {
        let hints = |effect: &str| {
            let failure = also_verified(
                Failure::new(ExitStatus::Failed, "no"),
                &[named("drain", effect)],
            );
            failure.hints().len()
        };
        assert_eq!((hints("NoSchedule"), hints("NoExecute")), (1, 0));
    }

    #[test]
    fn whoever_leaves_learns_that_evictions_go_on_only_where_they_do() {
        let before = [named("a", "NoExecute"), named("b", "NoExecute")];
        let seen = [
            named("a", "NoExecute"),
            by(named("b", "NoSchedule"), "kubectl-edit"),
        ];
        let both = names(&["a", "b"]);
        assert_eq!(
            ways_on(&both, &before, &before, EvictionsLeft::Due),
            [
                "the rules keep effect NoExecute, so evictions continue; to keep waiting: \
                 kubectl devicetaint wait a b --for evicted",
                "to stop the evictions: kubectl devicetaint deescalate a b --to NoSchedule",
            ]
        );
        assert_eq!(
            ways_on(&both, &before, &seen, EvictionsLeft::Due),
            [
                "rule a keeps effect NoExecute, so pods can still be evicted; to keep waiting: \
                 kubectl devicetaint wait a --for evicted",
                "to stop the evictions: kubectl devicetaint deescalate a --to NoSchedule",
                "rule b now has effect NoSchedule, changed by kubectl-edit at 2026-11-21T01:00:00Z: it no longer evicts pods",
            ]
        );
        assert_eq!(
            ways_on(&names(&["b", "c"]), &before, &seen[1..], EvictionsLeft::Due),
            [
                "rule b now has effect NoSchedule, changed by kubectl-edit at 2026-11-21T01:00:00Z: it no longer evicts pods",
                "rule c was deleted meanwhile: it no longer evicts pods",
            ]
        );
        assert_eq!(
            ways_on(&both, &before, &before, EvictionsLeft::Terminating),
            [
                "the rules keep effect NoExecute, and the pods that are left are already terminating; \
              to keep waiting: kubectl devicetaint wait a b --for evicted"
            ]
        );
    }

    #[test]
    fn a_wait_that_cannot_be_met_says_who_did_what() {
        let before = [named("a", "NoExecute")];
        let eased = [by(named("a", "None"), "kubectl-edit")];
        let harmless = UnreachableGoal::Harmless {
            rule: "a".into(),
            effect: Effect::None,
        };
        let ended = |never: &UnreachableGoal, before: &[_], seen: &[_]| {
            super::ended(never, before, seen, &[])
        };
        let failure = ended(&harmless, &before, &eased);
        assert_eq!(
            failure.to_string(),
            "rule a has effect None, which evicts no pods"
        );
        assert_eq!(
            failure.details(),
            [
                "it had effect NoExecute when the wait began, changed by kubectl-edit at 2026-11-21T01:00:00Z"
            ]
        );
        let failure = ended(&harmless, &eased, &eased);
        assert_eq!(
            failure.hints(),
            ["to evict pods: kubectl devicetaint escalate a --to NoExecute"]
        );

        let mut narrowed = by(named("a", "NoExecute"), "kubectl-edit");
        narrowed.taint.key = "other".to_owned();
        let changed = ended(&UnreachableGoal::Changed("a".into()), &before, &[narrowed]);
        assert_eq!(changed.to_string(), "rule a was changed during the wait");
        assert!(changed.details()[0].contains("other"), "{changed:?}");
        assert_eq!(
            changed.details()[1],
            "changed by kubectl-edit at 2026-11-21T01:00:00Z"
        );

        let gone = ended(&UnreachableGoal::Gone("a".into()), &before, &[]);
        assert_eq!(gone.to_string(), "rule a was deleted during the wait");
        let by = "the server does not report the user who deleted the rule";
        let stay = "pods that it evicted stay evicted";
        assert_eq!(gone.details(), [stay, by]);
        let never = [named("a", "NoSchedule")];
        let gone = ended(&UnreachableGoal::Gone("a".into()), &never, &[]);
        assert_eq!(gone.details(), [by]);
        let replaced = ended(&UnreachableGoal::Replaced("a".into()), &before, &eased);
        assert!(
            replaced.to_string().contains("recreated with taint"),
            "{replaced}"
        );
    }

    #[test]
    fn all_rules_that_are_too_weak_are_escalated_at_once() {
        let rules = [
            named("a", "None"),
            named("b", "NoSchedule"),
            named("c", "None"),
        ];
        let open = UnreachableGoal::BlocksNoPods {
            rule: "a".into(),
            effect: Effect::None,
        };
        let failure = ended(&open, &rules, &rules, &[]);
        assert_eq!(
            failure.hints(),
            ["to block new pods: kubectl devicetaint escalate a c --to NoSchedule"]
        );
        let harmless = UnreachableGoal::Harmless {
            rule: "a".into(),
            effect: Effect::None,
        };
        let failure = ended(&harmless, &rules, &rules, &[]);
        assert!(
            failure.hints()[0].ends_with("escalate a b c --to NoExecute"),
            "{failure:?}"
        );
    }

    #[test]
    fn a_rule_of_other_hardware_is_escalated_with_the_flag_that_this_needs() {
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
            "the last eviction is due in 5m, at 2026-11-21T01:05:00Z, and --settle adds 10s: \
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
