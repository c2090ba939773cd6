//! Conflicting writes: what is sent after another client changed a rule, or after a lost reply.

use super::add::{self, Existing, Terms};
use super::change_log::{RuleOutcome, RuleResult};
use super::chooser::gone;
use super::draft::{RuleDraft, RulePatch, Writer};
use super::proposal::needs_downgrade;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, FieldManager};
use crate::naming::device;
use crate::naming::keys;

/// A write of a rule; what exists is written as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleWrite {
    /// It is created.
    Create(Box<RuleDraft>),
    /// It is changed.
    Patch(Box<DeviceTaintRule>, RulePatch),
    /// It is deleted.
    Delete(Box<DeviceTaintRule>),
}

/// Step after a write that met a rule in another state, or whose reply was lost.
#[derive(Debug)]
pub enum ConflictStep {
    /// This is sent; the outcome once it is made.
    Send(RuleWrite, RuleOutcome),
    /// Nothing more is sent.
    End(RuleOutcome),
    /// The change is not made; an outcome if it was made before, and is lost again.
    Refuse(Failure, Option<RuleOutcome>),
}

impl ConflictStep {
    fn patch(rule: &DeviceTaintRule, patch: &RulePatch, outcome: RuleOutcome) -> Self {
        Self::Send(
            RuleWrite::Patch(Box::new(rule.clone()), patch.clone()),
            outcome,
        )
    }
}

/// Step for the creation of `draft`. A rule that the run of this `writer` has created is created, whatever else is done
/// about it: the answer to an earlier try was lost.
pub fn after_creation(
    draft: &RuleDraft,
    found: Option<&DeviceTaintRule>,
    terms: &Terms<'_>,
    writer: &Writer,
) -> ConflictStep {
    // The impact of another effect was not evaluated.
    let terms = Terms {
        existing: Existing::Kept,
        ..*terms
    };
    let created = RuleOutcome::made(draft, RuleResult::Created);
    let is_made = found.is_some_and(|rule| writer.has_made(rule));
    let outcome = |result| match is_made {
        true => created.clone(),
        false => RuleOutcome::made(draft, result),
    };
    match add::step(draft.without_maker(), found, &terms) {
        Ok(step) => match step.existing {
            None => ConflictStep::Send(RuleWrite::Create(Box::new(draft.clone())), created),
            Some(_) if step.patch.is_empty() => ConflictStep::End(outcome(RuleResult::Unchanged)),
            Some(rule) => ConflictStep::Send(
                RuleWrite::Patch(rule, writer.sign_patch(step.patch)),
                outcome(RuleResult::Configured),
            ),
        },
        Err(failure) => ConflictStep::Refuse(failure, is_made.then_some(created)),
    }
}

/// Step for the change `patch` that was decided on `decided_on`; `again` where the same command would change the rule as
/// it is now.
pub fn after_change(
    decided_on: &DeviceTaintRule,
    found: Option<&DeviceTaintRule>,
    patch: &RulePatch,
    writer: &Writer,
    again: impl Fn(Option<&DeviceTaintRule>) -> bool,
) -> ConflictStep {
    let made = RuleOutcome::patched(decided_on, patch);
    let is_ours = found.is_some_and(|rule| writer.has_changed(rule));
    if is_ours && found.is_some_and(|rule| patch.is_in(rule)) {
        return ConflictStep::End(made);
    }
    match check(decided_on, found) {
        Ok(found) => ConflictStep::patch(found, patch, made),
        Err(failure) => {
            let is_there = found.is_some_and(|rule| rule.uid == decided_on.uid);
            let failure = if is_there && again(found) {
                failure.ending(ExitStatus::TryAgain)
            } else {
                failure
            };
            // A rule changed by another client is read before it is changed again.
            let look = format!(
                "review the rule first: kubectl devicetaint describe {}",
                decided_on.name
            );
            ConflictStep::Refuse(failure.hint(look), is_ours.then_some(made))
        }
    }
}

/// Step for a rule that is lowered to `to`, also after concurrent changes; `sent` is the rule of the last try.
pub fn after_downgrade(
    sent: &DeviceTaintRule,
    found: Option<&DeviceTaintRule>,
    patch: &RulePatch,
    to: &Effect,
    writer: &Writer,
) -> ConflictStep {
    let name = sent.name.as_str();
    let Some(found) = found else {
        return ConflictStep::Refuse(gone(name), None);
    };
    let made = writer
        .has_changed(found)
        .then(|| RuleOutcome::patched(sent, patch));
    match (needs_downgrade(found, to), made) {
        (Ok(true), _) => ConflictStep::patch(found, patch, RuleOutcome::patched(found, patch)),
        (Ok(false), Some(made)) => ConflictStep::End(made),
        (Ok(false), None) => ConflictStep::End(RuleOutcome::new(name, RuleResult::Unchanged)),
        (Err(failure), made) => ConflictStep::Refuse(failure, made),
    }
}

/// Step for the deletion of `decided_on`: another rule of its name is not meant.
pub fn after_deletion(
    decided_on: &DeviceTaintRule,
    found: Option<&DeviceTaintRule>,
) -> ConflictStep {
    let Some(found) = found.filter(|found| found.uid == decided_on.uid) else {
        return ConflictStep::End(RuleOutcome::removed(decided_on, RuleResult::AlreadyDeleted));
    };
    if found.metadata.deletion.is_some() {
        return ConflictStep::End(RuleOutcome::being_deleted(decided_on));
    }
    match check(decided_on, Some(found)) {
        Ok(found) => ConflictStep::Send(
            RuleWrite::Delete(Box::new(found.clone())),
            RuleOutcome::removed(decided_on, RuleResult::Deleted),
        ),
        // The same command would delete it as it is by then.
        Err(failure) => ConflictStep::Refuse(failure.ending(ExitStatus::TryAgain), None),
    }
}

/// The rule as it is now, if only its status moved: the decision stands.
fn check<'f>(
    decided_on: &DeviceTaintRule,
    found: Option<&'f DeviceTaintRule>,
) -> Result<&'f DeviceTaintRule, Failure> {
    let name = &decided_on.name;
    let failure = |text| Failure::new(ExitStatus::Failed, text);
    let Some(found) = found else {
        return Err(failure(format!(
            "rule {name} was deleted by another client; it was not recreated"
        )));
    };
    if !differs(decided_on, found) {
        return Ok(found);
    }
    let failure = failure(format!(
        "rule {name} was changed by another client; this command's change was not made"
    ));
    let who = changed_by(decided_on, found).map(|who| format!("changed by {who}"));
    let details = differences(decided_on, found).into_iter().chain(who);
    Err(details.fold(failure, Failure::detail))
}

/// Refuses rules that were deleted while the user was asked.
///
/// # Errors
///
/// A rule is gone, or another one has its name.
pub fn refuse_deleted(
    decided_on: &[DeviceTaintRule],
    found: &[DeviceTaintRule],
) -> Result<(), Failure> {
    for rule in decided_on {
        let now = found.iter().find(|found| found.name == rule.name);
        if now.is_none_or(|now| now.uid != rule.uid) {
            check(rule, now).map_err(|failure| {
                let failure = failure.ending(ExitStatus::TryAgain);
                failure.detail("nothing was changed")
            })?;
        }
    }
    Ok(())
}

fn differs(before: &DeviceTaintRule, after: &DeviceTaintRule) -> bool {
    let (old, new) = (&before.metadata, &after.metadata);
    before.uid != after.uid
        || before.selector != after.selector
        || before.taint != after.taint
        || old.deletion.is_some() != new.deletion.is_some()
        || old.labels != new.labels
        || old.annotations != new.annotations
        // A newer field, which this plugin cannot show, may have changed.
        || before.generation != after.generation
}

/// Differences of two states of a rule that decide which pods are evicted.
pub(super) fn differences(before: &DeviceTaintRule, after: &DeviceTaintRule) -> Vec<String> {
    let selected = |rule: &DeviceTaintRule| {
        let selector = rule.selector.as_ref();
        selector.map_or_else(|| "none".to_owned(), device::format)
    };
    if before.uid != after.uid {
        let text = "it was deleted and recreated, with taint";
        let selector = selected(after);
        return vec![format!("{text} {} and selector {selector}", after.taint)];
    }
    let [old, new] = [before, after].map(|rule| rule.taint.to_string());
    let taint = (old != new).then(|| format!("its taint was {old}, and is now {new}"));
    let [old, new] = [before, after].map(selected);
    let selector = (old != new).then(|| format!("its selector was {old}, and is now {new}"));
    [selector, taint].into_iter().flatten().collect()
}

/// The client that has changed the rule between both states, as the server notes it.
fn changed_by(before: &DeviceTaintRule, after: &DeviceTaintRule) -> Option<String> {
    let managers = after.managers.iter();
    let is_new = |manager: &&FieldManager| {
        manager.subresource.is_none() && !before.managers.contains(manager)
    };
    let writer = managers
        .filter(is_new)
        .max_by_key(|manager| (manager.owns_spec, manager.time))?;
    let program = match writer.time {
        Some(time) => format!("{} at {time}", writer.name),
        None => writer.name.clone(),
    };
    let metadata = &after.metadata;
    let user = (writer.name == keys::THIS_PROGRAM)
        .then(|| metadata.annotation(keys::CHANGED_BY))
        .flatten();
    Some(match user {
        Some(user) => format!("{user}, with {program}"),
        None => program,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::decide::testing::{draft, manager, named, rule, selector};
    use crate::engine::Semantics;
    use crate::model::{DeviceSelector, EvictionCondition};

    /// Writer with the notes of run 1.
    fn writer() -> Writer {
        Writer {
            user: None,
            run: Some("1".to_owned()),
        }
    }

    fn noted(mut rule: DeviceTaintRule, key: &str) -> DeviceTaintRule {
        let note = (key.to_owned(), "1".to_owned());
        rule.metadata.annotations.extend([note]);
        rule
    }

    fn changed_by_run(rule: DeviceTaintRule) -> DeviceTaintRule {
        noted(rule, keys::CHANGED_BY_RUN)
    }

    /// Result, and the effect that is changed or the failure's status, of a step.
    fn shown(step: ConflictStep) -> String {
        match step {
            ConflictStep::Send(RuleWrite::Create(_), outcome) => {
                format!("create, {}", outcome.result.as_str())
            }
            ConflictStep::Send(RuleWrite::Patch(rule, _), outcome) => {
                format!("patch {}, {}", rule.taint.effect, outcome.result.as_str())
            }
            ConflictStep::Send(RuleWrite::Delete(_), outcome) => {
                format!("delete, {}", outcome.result.as_str())
            }
            ConflictStep::End(outcome) => format!("end, {}", outcome.result.as_str()),
            ConflictStep::Refuse(failure, made) => {
                let again = match failure.status() == ExitStatus::TryAgain {
                    true => "again",
                    false => "refused",
                };
                made.map_or(again.to_owned(), |made| {
                    format!("{again}, {}", made.result.as_str())
                })
            }
        }
    }

    #[test]
    fn a_change_is_made_sent_again_or_refused_by_what_became_of_the_rule() {
        let before = named("drain", "None");
        let patch = RulePatch {
            effect: Some(Effect::NoExecute),
            ..RulePatch::default()
        };
        let changed = named("drain", "NoExecute");
        let mut labelled = before.clone();
        labelled.metadata.labels.insert("team".into(), "x".into());
        let anew = DeviceTaintRule {
            uid: "anew".into(),
            ..labelled.clone()
        };
        for (found, again, wanted) in [
            (
                Some(changed_by_run(changed.clone())),
                true,
                "end, configured",
            ),
            // Another client has made the same change: this command says so.
            (Some(changed), true, "again"),
            // This run has changed the rule, but not in this way.
            (
                Some(changed_by_run(labelled.clone())),
                false,
                "refused, configured",
            ),
            (Some(before.clone()), true, "patch None, configured"),
            (Some(labelled.clone()), true, "again"),
            (Some(labelled), false, "refused"),
            (Some(anew), true, "refused"),
            (None, true, "refused"),
        ] {
            let step = after_change(&before, found.as_ref(), &patch, &writer(), |_| again);
            assert_eq!(shown(step), wanted, "{found:?}");
        }
    }

    #[test]
    fn a_rule_that_this_run_has_created_is_created_whatever_a_second_answer_says() {
        let wanted = RuleDraft {
            labels: rule("None").metadata.labels,
            annotations: [("note".to_owned(), "asked for".to_owned())].into(),
            ..draft(selector("gpu-0"), "None")
        };
        let semantics = Semantics::assumed();
        let terms = Terms {
            existing: Existing::Overwritten,
            semantics: &semantics,
            now: Timestamp::UNIX_EPOCH,
        };
        let of = |found: Option<&DeviceTaintRule>| {
            shown(after_creation(&wanted, found, &terms, &writer()))
        };
        let ours = |rule: &DeviceTaintRule| noted(rule.clone(), keys::CREATED_BY_RUN);
        let incomplete = rule("None");
        let mut complete = incomplete.clone();
        complete.metadata.annotations = wanted.annotations.clone();
        let mut leaving = complete.clone();
        leaving.metadata.deletion = Some(Timestamp::UNIX_EPOCH);
        assert_eq!(of(None), "create, created");
        // The impact of another effect was not evaluated, not even to overwrite it.
        assert_eq!(of(Some(&rule("NoExecute"))), "refused");
        for (found, theirs, made) in [
            (incomplete, "patch None, configured", "patch None, created"),
            (complete, "end, unchanged", "end, created"),
            (leaving, "refused", "refused, created"),
        ] {
            assert_eq!(of(Some(&found)), theirs);
            assert_eq!(of(Some(&ours(&found))), made);
        }
    }

    #[test]
    fn a_downgrade_whose_answer_was_lost_is_made_by_this_run_or_was_not_needed() {
        let (to, patch) = (Effect::NoSchedule, RulePatch::default());
        for (effect, theirs, ours) in [
            (
                "NoExecute",
                "patch NoExecute, configured",
                "patch NoExecute, configured",
            ),
            ("NoSchedule", "end, unchanged", "end, configured"),
            ("None", "refused", "refused, configured"),
        ] {
            let of = |found: Option<&DeviceTaintRule>| {
                shown(after_downgrade(
                    &rule("NoExecute"),
                    found,
                    &patch,
                    &to,
                    &writer(),
                ))
            };
            assert_eq!(of(Some(&rule(effect))), theirs);
            assert_eq!(of(Some(&changed_by_run(rule(effect)))), ours);
            assert_eq!(of(None), "refused");
        }
    }

    #[test]
    fn a_deletion_is_sent_again_for_the_same_rule_alone() {
        let before = rule("None");
        let mut leaving = before.clone();
        leaving.metadata.deletion = Some(Timestamp::UNIX_EPOCH);
        let anew = DeviceTaintRule {
            uid: "anew".into(),
            ..before.clone()
        };
        for (found, wanted) in [
            (None, "end, already deleted"),
            (Some(&anew), "end, already deleted"),
            (Some(&leaving), "end, deletion requested"),
            (Some(&before), "delete, deleted"),
            (Some(&rule("NoExecute")), "again"),
        ] {
            assert_eq!(shown(after_deletion(&before, found)), wanted, "{found:?}");
        }
        let ConflictStep::End(outcome) = after_deletion(&before, Some(&leaving)) else {
            panic!("it is requested already");
        };
        assert_eq!(outcome.changed, Some(false));
    }

    #[test]
    fn a_new_status_is_no_conflict_and_every_other_change_is() {
        let before = rule("None");
        let mut after = before.clone();
        after.resource_version = "8".to_owned();
        after.condition = Some(EvictionCondition {
            status: "False".to_owned(),
            reason: "NoEffect".to_owned(),
            observed_generation: 1,
            ..EvictionCondition::default()
        });
        let mut controller = manager("kube-controller-manager", "2026-11-21T03:00:00Z");
        controller.subresource = Some("status".to_owned());
        controller.owns_spec = false;
        after.managers.push(controller);
        assert!(check(&before, Some(&after)).is_ok());
        type Change = fn(&mut DeviceTaintRule);
        let changes: [Change; 7] = [
            |rule| rule.generation = 2,
            |rule| rule.taint.value = "x".to_owned(),
            |rule| rule.taint.time_added = Some(Timestamp::UNIX_EPOCH),
            |rule| rule.uid = "another".into(),
            |rule| rule.selector = Some(DeviceSelector::default()),
            |rule| rule.metadata.deletion = Some(Timestamp::UNIX_EPOCH),
            |rule| drop(rule.metadata.labels.insert("team".into(), "x".into())),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut after = before.clone();
            change(&mut after);
            assert!(check(&before, Some(&after)).is_err(), "{number}");
        }
    }

    #[test]
    fn the_client_that_changed_a_rule_is_named_if_the_server_notes_it() {
        let before = rule("None");
        assert_eq!(changed_by(&before, &before), None);
        let mut after = before.clone();
        after
            .managers
            .push(manager("kubectl-edit", "2026-11-21T03:00:00Z"));
        let who = changed_by(&before, &after).unwrap();
        assert_eq!(who, "kubectl-edit at 2026-11-21T03:00:00Z");
    }

    #[test]
    fn a_rule_that_was_deleted_under_a_question_is_named_before_its_impact() {
        let rule = named("fw-1", "NoSchedule");
        let again = DeviceTaintRule {
            uid: "another".into(),
            ..rule.clone()
        };
        let decided = [rule];
        let mut changed = decided[0].clone();
        changed.generation = 2;
        assert!(refuse_deleted(&decided, &[named("other", "None"), changed]).is_ok());
        let deleted = refuse_deleted(&decided, &[]).unwrap_err().to_string();
        assert!(deleted.starts_with("rule fw-1 was deleted"), "{deleted}");
        let recreated = refuse_deleted(&decided, &[again]).unwrap_err();
        assert_eq!(recreated.status(), ExitStatus::TryAgain);
        assert!(recreated.details()[0].starts_with("it was deleted and recreated"));
    }
}
