//! Rules that another user, another program or another run made or changed.

use super::owner::owner;
use crate::model::{DeviceTaintRule, RuleMetadata};

/// Those of `rules` that `user` did not make, or that others changed, one line each with their author; an unknown
/// `user` made none. To be shown before a change of them is approved.
pub fn others(rules: &[DeviceTaintRule], user: Option<&str>) -> Vec<String> {
    let lines = rules.iter().filter_map(|rule| {
        let why = why_not_mine(rule, user);
        (!why.is_empty()).then(|| format!("rule {} {}", rule.name, why.join("; ")))
    });
    lines.collect()
}

/// True if the user's name matters: one of `rules` notes a user.
pub fn note_users(rules: &[DeviceTaintRule]) -> bool {
    let notes = [RuleMetadata::CREATED_BY, RuleMetadata::CHANGED_BY];
    let mut rules = rules.iter();
    rules.any(|rule| {
        notes
            .iter()
            .any(|key| rule.metadata.annotation(key).is_some())
    })
}

fn why_not_mine(rule: &DeviceTaintRule, user: Option<&str>) -> Vec<String> {
    let metadata = &rule.metadata;
    let noted = |key: &str, verb: &str| {
        let other = metadata.annotation(key)?;
        match user {
            Some(own) if own == other => None,
            Some(_) => Some(format!("was {verb} by {other}")),
            // An unknown user may be any user.
            None => Some(format!(
                "was {verb} by {other}, and your own user is unknown"
            )),
        }
    };
    let owner = owner(rule);
    let program =
        (!owner.is_this_plugin()).then(|| format!("was not created by this plugin: {owner}"));
    let why = [
        program,
        noted(RuleMetadata::CREATED_BY, "created"),
        noted(RuleMetadata::CHANGED_BY, "changed"),
        changed_outside(rule),
    ];
    why.into_iter().flatten().collect()
}

/// Other program that was the last to write the spec of a rule of this plugin, and when.
fn changed_outside(rule: &DeviceTaintRule) -> Option<String> {
    let last = rule.last_writer()?;
    // A client that removes a field owns nothing of it: only the generation counts the change.
    let made = rule.metadata.created;
    let is_unrecorded = rule.generation > 1
        && rule.metadata.annotation(RuleMetadata::CHANGED_BY).is_none()
        && last.time.zip(made).is_some_and(|(last, made)| last <= made);
    if is_unrecorded && owner(rule).is_this_plugin() {
        return Some("was changed by a client that the server did not record".to_owned());
    }
    let is_foreign = last.name != RuleMetadata::THIS_PROGRAM;
    // Of a rule of another owner, `program` says so already.
    (owner(rule).is_this_plugin() && is_foreign).then(|| {
        let time = last
            .time
            .map_or_else(String::new, |time| format!(" at {time}"));
        format!("was changed by {}{time}", last.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{foreign, manager, named};

    const ANNA: Option<&str> = Some("anna");

    fn noted(key: &str, user: &str) -> DeviceTaintRule {
        let mut rule = named("drain", "NoExecute");
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(key.to_owned(), user.to_owned());
        rule
    }

    #[test]
    fn a_rule_is_mine_unless_another_user_or_program_made_or_changed_it() {
        let mut edited = named("drain", "NoExecute");
        edited
            .managers
            .push(manager("kubectl-edit", "2026-11-21T02:00:00Z"));
        let plain = || named("drain", "NoExecute");
        // A client removed a field, which leaves no entry in managedFields.
        let mut unrecorded = plain();
        unrecorded.generation = 2;
        unrecorded.metadata.created = Some("2026-11-21T01:00:00Z".parse().unwrap());
        unrecorded.managers = vec![manager(RuleMetadata::THIS_PROGRAM, "2026-11-21T01:00:00Z")];
        for (rule, me, expected) in [
            (plain(), ANNA, None),
            (noted(RuleMetadata::CREATED_BY, "anna"), ANNA, None),
            (
                noted(RuleMetadata::CREATED_BY, "bob"),
                ANNA,
                Some("was created by bob"),
            ),
            (
                noted(RuleMetadata::CREATED_BY, "anna"),
                None,
                Some("was created by anna, and your own user is unknown"),
            ),
            (
                noted(RuleMetadata::CHANGED_BY, "bob"),
                ANNA,
                Some("was changed by bob"),
            ),
            (noted(RuleMetadata::CHANGED_BY, "anna"), ANNA, None),
            (
                edited,
                ANNA,
                Some("was changed by kubectl-edit at 2026-11-21T02:00:00Z"),
            ),
            (
                unrecorded,
                ANNA,
                Some("was changed by a client that the server did not record"),
            ),
            (
                foreign("drain", "kubectl-create"),
                ANNA,
                Some("was not created by this plugin: created by kubectl-create"),
            ),
        ] {
            let expected: Vec<String> = expected
                .iter()
                .map(|why| format!("rule drain {why}"))
                .collect();
            assert_eq!(others(std::slice::from_ref(&rule), me), expected);
        }
    }

    #[test]
    fn a_rule_is_mine_that_nobody_has_changed_since_or_that_the_plugin_itself_has() {
        let created = Some("2026-11-21T01:00:00Z".parse().unwrap());
        let of = |generation, changed_by: Option<&str>, time| {
            let mut rule = named("drain", "NoExecute");
            rule.metadata.created = created;
            rule.generation = generation;
            rule.managers = vec![manager(RuleMetadata::THIS_PROGRAM, time)];
            let key = RuleMetadata::CHANGED_BY.to_owned();
            let note = changed_by.map(|user| (key, user.to_owned()));
            rule.metadata.annotations.extend(note);
            rule
        };
        let (then, later) = ("2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z");
        for rule in [
            of(1, None, then),
            of(1, None, later),
            of(2, None, later),
            of(2, Some("anna"), then),
        ] {
            assert_eq!(
                others(std::slice::from_ref(&rule), ANNA),
                [""; 0],
                "{rule:?}"
            );
        }
    }
}
