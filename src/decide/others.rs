//! Rules that somebody else made or changed: another user, another program, another run.

use super::owner::owner;
use crate::model::{DeviceTaintRule, RuleMetadata, Uid};

/// Who asks for a change, as far as a rule can tell them apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requester<'a> {
    /// The user, as the server knows them; nothing where it does not say.
    pub user: Option<&'a str>,
    /// The batch that the rules are taken to be of; nothing where any is meant.
    pub batch: Option<&'a str>,
    /// The UIDs that the rules are taken to have; none where any is meant.
    pub uids: &'a [String],
}

/// Those of `rules` that are not mine, each with who made or changed it, one line each: to be shown before
/// anybody agrees to a change of them.
#[must_use]
pub fn others(rules: &[DeviceTaintRule], me: &Requester<'_>) -> Vec<String> {
    let lines = rules.iter().filter_map(|rule| {
        let why = why_not_mine(rule, me);
        (!why.is_empty()).then(|| format!("rule {} {}", rule.name, why.join("; ")))
    });
    lines.collect()
}

/// Whether it matters who I am: one of `rules` notes a user.
#[must_use]
pub fn note_users(rules: &[DeviceTaintRule]) -> bool {
    let notes = [RuleMetadata::CREATED_BY, RuleMetadata::CHANGED_BY];
    let mut rules = rules.iter();
    rules.any(|rule| {
        notes
            .iter()
            .any(|key| rule.metadata.annotation(key).is_some())
    })
}

fn why_not_mine(rule: &DeviceTaintRule, me: &Requester<'_>) -> Vec<String> {
    let metadata = &rule.metadata;
    let noted = |key: &str, verb: &str| {
        let user = metadata.annotation(key)?;
        match me.user {
            Some(own) if own == user => None,
            Some(_) => Some(format!("was {verb} by {user}")),
            // Who cannot tell who they are may be anybody.
            None => Some(format!(
                "was {verb} by {user}, and your own user is unknown"
            )),
        }
    };
    let owner = owner(rule);
    let program =
        (!owner.is_this_plugin()).then(|| format!("was not created by this plugin: {owner}"));
    let batch = me
        .batch
        .and_then(|own| match metadata.labels.get(RuleMetadata::BATCH) {
            Some(batch) if batch == own => None,
            Some(batch) => Some(format!(
                "has label {}={batch}, and --batch is {own}",
                RuleMetadata::BATCH
            )),
            None => Some(format!(
                "has no label {}, and --batch is {own}",
                RuleMetadata::BATCH
            )),
        });
    let is_meant = me.uids.is_empty()
        || me
            .uids
            .iter()
            .any(|uid| rule.uid == Uid::from(uid.as_str()));
    let uid = (!is_meant).then(|| format!("has UID {}, which --uid does not list", rule.uid));
    let why = [
        program,
        noted(RuleMetadata::CREATED_BY, "created"),
        batch,
        uid,
        noted(RuleMetadata::CHANGED_BY, "changed"),
        changed_outside(rule),
    ];
    why.into_iter().flatten().collect()
}

/// Which other program has written the spec of a rule of this plugin, and when, where it was the last.
fn changed_outside(rule: &DeviceTaintRule) -> Option<String> {
    let last = rule.last_writer()?;
    // Whoever removes a field owns nothing of it: only the generation counts the change.
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

    const ANNA: Requester<'_> = Requester {
        user: Some("anna"),
        batch: None,
        uids: &[],
    };

    fn noted(key: &str, user: &str) -> DeviceTaintRule {
        let mut rule = named("drain", "NoExecute");
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(key.to_owned(), user.to_owned());
        rule
    }

    fn of_batch(batch: &str) -> DeviceTaintRule {
        let mut rule = named("drain", "NoExecute");
        let labels = &mut rule.metadata.labels;
        labels.insert(RuleMetadata::BATCH.to_owned(), batch.to_owned());
        rule
    }

    #[test]
    fn a_rule_is_mine_unless_another_user_program_batch_or_object_says_otherwise() {
        let nobody = Requester { user: None, ..ANNA };
        let run = Requester {
            batch: Some("run-b"),
            ..ANNA
        };
        let uids = ["uid-of-another".to_owned()];
        let object = Requester {
            uids: &uids,
            ..ANNA
        };
        let mut edited = named("drain", "NoExecute");
        edited
            .managers
            .push(manager("kubectl-edit", "2026-11-21T02:00:00Z"));
        let plain = || named("drain", "NoExecute");
        // Somebody removed a field, which leaves no entry in managedFields.
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
                nobody,
                Some("was created by anna, and your own user is unknown"),
            ),
            (
                noted(RuleMetadata::CHANGED_BY, "bob"),
                ANNA,
                Some("was changed by bob"),
            ),
            (noted(RuleMetadata::CHANGED_BY, "anna"), ANNA, None),
            (of_batch("run-b"), run, None),
            (
                of_batch("run-a"),
                run,
                Some("has label devicetaint.dev/batch=run-a, and --batch is run-b"),
            ),
            (of_batch("run-a"), ANNA, None),
            (
                plain(),
                run,
                Some("has no label devicetaint.dev/batch, and --batch is run-b"),
            ),
            (
                plain(),
                object,
                Some("has UID uid-of-drain, which --uid does not list"),
            ),
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
            assert_eq!(others(std::slice::from_ref(&rule), &me), expected);
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
                others(std::slice::from_ref(&rule), &ANNA),
                [""; 0],
                "{rule:?}"
            );
        }
    }

    #[test]
    fn each_uid_that_is_listed_is_meant() {
        let uids = ["uid-of-another".to_owned(), "uid-of-drain".to_owned()];
        let me = Requester {
            uids: &uids,
            ..ANNA
        };
        assert_eq!(others(&[named("drain", "NoExecute")], &me), [""; 0]);
    }

    #[test]
    fn the_user_matters_where_one_of_the_rules_notes_one() {
        let plain = || named("plain", "None");
        assert!(!note_users(&[]));
        assert!(!note_users(&[plain()]));
        for key in [RuleMetadata::CREATED_BY, RuleMetadata::CHANGED_BY] {
            assert!(note_users(&[plain(), noted(key, "anna")]), "{key}");
        }
    }
}
