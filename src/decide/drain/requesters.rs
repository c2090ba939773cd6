//! Requesters of a drain: users or teams that need its devices out of service at the same time.
//!
//! A rule records its requesters in an annotation, and is removed when the last of them has withdrawn.

use std::collections::BTreeSet;

use crate::decide::RulePatch;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, RuleMetadata};
use crate::naming::labels;
use crate::naming::phrase::few;

/// Separates requesters in the annotation; no name of a requester contains it.
const SEPARATOR: &str = ",";

/// A requester as it was typed.
///
/// # Errors
///
/// The name is not a valid label value.
pub fn parse_requester(name: &str) -> Result<String, Failure> {
    labels::parse_label_value(name).map_err(|_| {
        Failure::usage(format!(
            "--requester {name:?} is not a valid label value: at most 63 letters, digits, -, _ and ., with a letter \
             or digit at both ends"
        ))
    })
}

/// The requesters that a rule records, by name.
#[must_use]
pub fn requesters(rule: &DeviceTaintRule) -> BTreeSet<String> {
    let text = rule.metadata.annotation(RuleMetadata::DRAIN_REQUESTERS);
    let names = text.unwrap_or_default().split(SEPARATOR);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The annotation of a rule that `requester` joins; `rule` is the existing one. A rule that was created without a
/// requester belongs to its creator, who stays one.
#[must_use]
pub fn joined(rule: Option<&DeviceTaintRule>, requester: &str) -> String {
    let mut names = rule.map(requesters).unwrap_or_default();
    if names.is_empty() {
        let creator = rule.and_then(|rule| rule.metadata.annotation(RuleMetadata::CREATED_BY));
        // A user name, such as that of a certificate, may contain the separator; the name of a requester cannot.
        names.extend(creator.map(|user| user.replace(SEPARATOR, "-")));
    }
    names.insert(requester.to_owned());
    text(&names)
}

fn text(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(SEPARATOR)
}

/// The requester with which the printed `restore` is run: the one of the `drain` command itself, or one that the rules
/// record if `restore` would refuse this user without; absent if none is needed. Of several, none can be chosen.
#[must_use]
pub fn restoring_requester(
    typed: Option<&str>,
    recorded: &BTreeSet<String>,
    user: Option<&str>,
) -> Option<String> {
    if typed.is_some() || recorded.is_empty() || user.is_some_and(|user| recorded.contains(user)) {
        return typed.map(str::to_owned);
    }
    match Vec::from_iter(recorded).as_slice() {
        [only] => Some((*only).clone()),
        _ => Some("REQUESTER".to_owned()),
    }
}

/// Who restores a drain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restorer<'a> {
    /// `--requester`
    pub requester: Option<&'a str>,
    /// The user, as the server names them; absent if unknown.
    pub user: Option<&'a str>,
    /// Whether other requesters are ignored: `--others`.
    pub ignores_others: bool,
}

/// What a restoration does to the rules of a drain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Withdrawal {
    /// Names of the rules that no other requester needs.
    pub removed: Vec<String>,
    /// Rules that others still need, each with the change that records the withdrawal.
    pub kept: Vec<(DeviceTaintRule, RulePatch)>,
    /// The other requesters.
    pub others: BTreeSet<String>,
}

/// The rules to remove and to keep when `restorer` withdraws from `rules` of the drain called `name`.
///
/// # Errors
///
/// Other requesters need the rules, and `restorer` is none of them.
pub fn withdraw(
    name: &str,
    rules: &[&DeviceTaintRule],
    restorer: &Restorer<'_>,
) -> Result<Withdrawal, Failure> {
    let mut withdrawal = Withdrawal::default();
    let all: BTreeSet<String> = rules.iter().flat_map(|rule| requesters(rule)).collect();
    let me = restorer.requester.or(restorer.user);
    let is_requester = me.is_some_and(|me| all.contains(me));
    // A drain without requesters belongs to no one in particular, so any user may restore it.
    if restorer.ignores_others || all.is_empty() && restorer.requester.is_none() {
        withdrawal.removed = rules.iter().map(|rule| rule.name.to_string()).collect();
        return Ok(withdrawal);
    }
    let names: Vec<String> = all.iter().cloned().collect();
    if let Some(requester) = restorer.requester
        && !is_requester
    {
        let there = if names.is_empty() {
            "omit --requester: the drain has no requesters".to_owned()
        } else {
            format!("use one of its requesters: {}", few(&names))
        };
        return Err(Failure::refused(format!(
            "{requester} is not a requester of drain {name}; nothing was changed"
        ))
        .hint(there));
    }
    let Some(me) = me.filter(|_| is_requester) else {
        return Err(Failure::refused(format!(
            "drain {name} is also requested by {} (see `drain --requester`); nothing was changed",
            few(&names)
        ))
        .hint("to withdraw the request of one of them: --requester NAME")
        .hint("to restore the devices regardless of all requesters: --others"));
    };
    for rule in rules {
        let mut left = requesters(rule);
        let was_one = left.remove(me);
        if left.is_empty() {
            withdrawal.removed.push(rule.name.to_string());
            continue;
        }
        // A rule that this requester never joined needs no withdrawal, but its requesters still keep it.
        if was_one {
            let annotation = (RuleMetadata::DRAIN_REQUESTERS.to_owned(), text(&left));
            let patch = RulePatch {
                annotations: [annotation].into(),
                ..RulePatch::default()
            };
            withdrawal.kept.push(((*rule).clone(), patch));
        }
        withdrawal.others.extend(left);
    }
    Ok(withdrawal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::named;
    use crate::error::ExitStatus;

    fn rule(name: &str, requesters: &str) -> DeviceTaintRule {
        let mut rule = named(name, "NoSchedule");
        let key = RuleMetadata::DRAIN_REQUESTERS.to_owned();
        rule.metadata.annotations.insert(key, requesters.to_owned());
        rule
    }

    fn by<'a>(requester: Option<&'a str>, user: Option<&'a str>) -> Restorer<'a> {
        Restorer {
            requester,
            user,
            ignores_others: false,
        }
    }

    #[test]
    fn restore_is_proposed_with_a_requester_that_it_needs() {
        let recorded = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let proposed =
            |typed, names: &[&str]| restoring_requester(typed, &recorded(names), Some("anna"));
        assert_eq!(proposed(None, &[]), None);
        assert_eq!(proposed(None, &["anna", "team-b"]), None);
        assert_eq!(proposed(None, &["team-b"]).as_deref(), Some("team-b"));
        assert_eq!(
            proposed(None, &["a", "team-b"]).as_deref(),
            Some("REQUESTER")
        );
        assert_eq!(proposed(Some("c"), &["c", "team-b"]).as_deref(), Some("c"));
        let unknown = restoring_requester(None, &recorded(&["team-b"]), None);
        assert_eq!(unknown.as_deref(), Some("team-b"));
    }

    #[test]
    fn who_joins_is_added_and_the_creator_of_a_rule_stays_a_requester() {
        assert_eq!(joined(None, "firmware"), "firmware");
        assert_eq!(
            joined(Some(&rule("a", "power")), "firmware"),
            "firmware,power"
        );
        assert_eq!(joined(Some(&rule("a", "power")), "power"), "power");
        let mut unnamed = named("a", "NoSchedule");
        let key = RuleMetadata::CREATED_BY.to_owned();
        unnamed.metadata.annotations.insert(key, "anna".to_owned());
        assert_eq!(joined(Some(&unnamed), "firmware"), "anna,firmware");
    }

    #[test]
    fn a_rule_is_removed_when_its_last_requester_withdraws() {
        let (shared, mine) = (rule("a", "firmware,power"), rule("b", "firmware"));
        let rules = [&shared, &mine];
        let first = withdraw("fw", &rules, &by(Some("firmware"), None)).unwrap();
        assert_eq!(first.removed, ["b"]);
        assert_eq!(first.others, ["power".to_owned()].into());
        let [(kept, patch)] = first.kept.as_slice() else {
            panic!("{first:?}");
        };
        assert_eq!(kept.name.as_str(), "a");
        assert_eq!(patch.annotations[RuleMetadata::DRAIN_REQUESTERS], "power");
        let last = rule("a", "power");
        let last = withdraw("fw", &[&last], &by(None, Some("power"))).unwrap();
        assert_eq!(
            (last.removed, last.kept),
            (vec!["a".to_owned()], Vec::new())
        );
    }

    #[test]
    fn who_is_no_requester_is_refused_by_the_names_of_those_who_are() {
        let shared = rule("a", "firmware,power");
        let unknown = withdraw("fw", &[&shared], &by(None, None)).unwrap_err();
        assert_eq!(unknown.status(), ExitStatus::Refused);
        assert_eq!(
            unknown.to_string(),
            "drain fw is also requested by firmware, power (see `drain --requester`); nothing was changed"
        );
        let other = withdraw("fw", &[&shared], &by(Some("storage"), Some("power"))).unwrap_err();
        assert_eq!(
            other.to_string(),
            "storage is not a requester of drain fw; nothing was changed"
        );
        let all = Restorer {
            ignores_others: true,
            ..Restorer::default()
        };
        assert_eq!(withdraw("fw", &[&shared], &all).unwrap().removed, ["a"]);
        let plain = named("a", "NoSchedule");
        let removed = withdraw("fw", &[&plain], &by(None, Some("anna"))).unwrap();
        assert_eq!(removed.removed, ["a"]);
        assert!(withdraw("fw", &[&plain], &by(Some("power"), None)).is_err());
    }

    #[test]
    fn a_requester_is_a_name_that_the_annotation_can_hold() {
        assert_eq!(parse_requester("firmware-team").unwrap(), "firmware-team");
        assert!(parse_requester("a,b").is_err());
        assert!(parse_requester("").is_err());
    }

    #[test]
    fn a_user_who_is_no_requester_withdraws_nothing() {
        let shared = rule("a", "firmware,power");
        let refused = withdraw("fw", &[&shared], &by(None, Some("eve"))).unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Refused);
    }
}
