//! Conflicting writes: whether a decision still holds for the changed rule.

use std::ops::ControlFlow;

use super::add::{self, AddStep, Terms};
use super::chooser::gone;
use super::draft::Writer;
use super::draft::{RuleDraft, RulePatch};
use super::effect::{Downgrade, downgrade};
use super::outcomes::RuleResult;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, FieldManager, RuleMetadata};
use crate::naming::device;

/// Change of a rule between decision and write.
#[derive(Debug)]
pub enum ConflictOutcome {
    /// Only the controller's status moved: the decision stands, and can be sent again with the new
    /// state's version.
    Ours,
    /// Another client has changed it: what differs, and which client. Nothing may be forced.
    Theirs(Failure),
}

/// Outcome of a change of a rule that the server refused, or whose answer was lost.
#[derive(Debug)]
pub enum ConflictingChange {
    /// The rule already has the change: the answer to an earlier try was lost.
    Made,
    /// It can be sent again, for the rule as it is now.
    SentAgain,
    /// It is not made, for this reason.
    Refused {
        /// Changes by another client.
        failure: Failure,
        /// True if the same command would make the change.
        is_repeatable: bool,
    },
}

/// Outcome of the change `patch` that was decided on `decided_on`, for the rule as it is `found` now; `is_ours` if this
/// run has changed it, and `again` where the same command would change it as it is now.
pub fn conflicting_change(
    decided_on: &DeviceTaintRule,
    found: Option<&DeviceTaintRule>,
    patch: &RulePatch,
    is_ours: bool,
    again: impl Fn(Option<&DeviceTaintRule>) -> bool,
) -> ConflictingChange {
    if is_ours && found.is_some_and(|found| patch.is_in(found)) {
        return ConflictingChange::Made;
    }
    match conflict(decided_on, found) {
        ConflictOutcome::Ours => ConflictingChange::SentAgain,
        ConflictOutcome::Theirs(failure) => ConflictingChange::Refused {
            failure,
            is_repeatable: is_still_there(decided_on, found) && again(found),
        },
    }
}

/// Step that is left for a rule whose creation the server refused, or whose answer was lost, for the rule as it is
/// `found` now; with the result once that is done. A rule that the run of this `writer` has created is created,
/// whatever else is done about it: the answer to an earlier try was lost.
pub fn conflicting_creation(
    wanted: RuleDraft,
    found: Option<&DeviceTaintRule>,
    terms: &Terms<'_>,
    writer: &Writer,
) -> (RuleResult, Result<AddStep, Failure>) {
    let step = add::step(wanted, found, terms);
    if found.is_some_and(|rule| writer.has_made(rule)) {
        return (RuleResult::Created, step);
    }
    let result = match &step {
        Ok(AddStep::Create(_)) => RuleResult::Created,
        Ok(AddStep::Change { .. }) => RuleResult::Configured,
        Ok(AddStep::Keep { .. }) => RuleResult::Unchanged,
        Err(_) => RuleResult::Failed,
    };
    (result, step)
}

/// Outcome of a downgrade that the server refused, or whose answer was lost.
#[derive(Debug)]
pub enum DowngradeEnd {
    /// This run has made it: the answer to an earlier try was lost.
    Made,
    /// Another client gave the rule the effect, so that nothing was to be done.
    Unneeded,
    /// This run has made it, and another client has changed the rule since, which is the failure.
    LostAgain(Failure),
    /// It is not made, for this reason.
    Refused(Failure),
}

/// Outcome of a downgrade `to` an effect that the server refused, or whose answer was lost, for the rule called `name`
/// as it is `found` now; `is_ours` if this run was the last that changed it. It goes on with the rule that is
/// downgraded: whatever the rule is by now, less is wanted.
pub fn conflicting_downgrade(
    name: &str,
    found: Option<&DeviceTaintRule>,
    to: &Effect,
    is_ours: bool,
) -> ControlFlow<DowngradeEnd, DeviceTaintRule> {
    let Some(found) = found else {
        return ControlFlow::Break(DowngradeEnd::Refused(gone(name)));
    };
    ControlFlow::Break(match downgrade(found, to) {
        Ok(Downgrade::Send) => return ControlFlow::Continue(found.clone()),
        Ok(Downgrade::Done) if is_ours => DowngradeEnd::Made,
        Ok(Downgrade::Done) => DowngradeEnd::Unneeded,
        Err(failure) if is_ours => DowngradeEnd::LostAgain(failure),
        Err(failure) => DowngradeEnd::Refused(failure),
    })
}

/// Tells if a decision made on `decided_on` still holds for the rule as it is now, `None` when it is gone.
pub fn conflict(decided_on: &DeviceTaintRule, found: Option<&DeviceTaintRule>) -> ConflictOutcome {
    let name = &decided_on.name;
    let Some(found) = found else {
        return ConflictOutcome::Theirs(Failure::new(
            ExitStatus::Failed,
            format!("rule {name} was deleted by another client; it was not recreated"),
        ));
    };
    let differences = differences(decided_on, found);
    if differences.is_empty() {
        return ConflictOutcome::Ours;
    }
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("rule {name} was changed by another client; this command's change was not made"),
    );
    let failure = differences.into_iter().fold(failure, Failure::detail);
    ConflictOutcome::Theirs(match changed_by(decided_on, found) {
        Some(who) => failure.detail(format!("changed by {who}")),
        None => failure,
    })
}

/// Refuses to go on where a rule of `decided_on` is gone from `found`, or another one has its name.
///
/// # Errors
///
/// As [`conflict`] gives it, for the first such rule.
pub fn refuse_deleted(
    decided_on: &[DeviceTaintRule],
    found: &[DeviceTaintRule],
) -> Result<(), Failure> {
    for rule in decided_on {
        let now = found.iter().find(|found| found.name == rule.name);
        if now.is_some_and(|now| now.uid == rule.uid) {
            continue;
        }
        if let ConflictOutcome::Theirs(failure) = conflict(rule, now) {
            return Err(failure
                .ending(ExitStatus::TryAgain)
                .detail("nothing was changed"));
        }
    }
    Ok(())
}

/// Differences besides the status, one line each.
pub(super) fn differences(before: &DeviceTaintRule, after: &DeviceTaintRule) -> Vec<String> {
    if before.uid != after.uid {
        return vec![format!(
            "it was deleted and recreated, with taint {} and selector {}",
            after.taint,
            selected(after)
        )];
    }
    let mut lines = Vec::new();
    if before.selector != after.selector {
        lines.push(format!(
            "its selector was {}, and is now {}",
            selected(before),
            selected(after)
        ));
    }
    let (old, new) = (&before.taint, &after.taint);
    if (&old.key, &old.value, &old.effect) != (&new.key, &new.value, &new.effect) {
        lines.push(format!("its taint was {old}, and is now {new}"));
    } else if old.time_added != new.time_added {
        let time = |rule: &DeviceTaintRule| match rule.taint.time_added {
            Some(time) => time.to_string(),
            None => "unknown".to_owned(),
        };
        lines.push(format!(
            "its timeAdded was {}, and is now {}",
            time(before),
            time(after)
        ));
    }
    let (old, new) = (&before.metadata, &after.metadata);
    if old.deletion.is_none() && new.deletion.is_some() {
        lines.push("it is being deleted".to_owned());
    }
    for (what, changed) in [
        ("labels", old.labels != new.labels),
        ("annotations", old.annotations != new.annotations),
    ] {
        if changed {
            lines.push(format!("its {what} were changed"));
        }
    }
    // A newer field, which this plugin cannot show, may have changed.
    if lines.is_empty() && before.generation != after.generation {
        lines.push(format!(
            "its generation was {}, and is now {}",
            before.generation, after.generation
        ));
    }
    lines
}

/// True if something has a value that it had not before, and is not only gone.
fn sets_something(before: &DeviceTaintRule, after: &DeviceTaintRule) -> bool {
    let names = |rule: &DeviceTaintRule| {
        let selector = rule.selector.clone().unwrap_or_default();
        [
            selector.driver.map(|name| name.to_string()),
            selector.pool.map(|name| name.to_string()),
            selector.device.map(|name| name.to_string()),
        ]
    };
    let selects = names(after)
        .into_iter()
        .zip(names(before))
        .any(|(after, before)| after.is_some() && after != before);
    let (old, new) = (&before.taint, &after.taint);
    let taints = (&old.key, &old.value, &old.effect) != (&new.key, &new.value, &new.effect);
    let annotates = |key: &str| {
        let annotation = |rule: &DeviceTaintRule| rule.metadata.annotations.get(key).cloned();
        annotation(after).is_some() && annotation(after) != annotation(before)
    };
    let notes = after.metadata.annotations.keys().any(|key| annotates(key));
    selects || taints || notes || before.uid != after.uid
}

fn selected(rule: &DeviceTaintRule) -> String {
    match &rule.selector {
        Some(selector) => device::format(selector),
        None => "none".to_owned(),
    }
}

/// Author of the newest change of the rule: the user noted by this plugin, if it made the change, and the program and
/// the time noted by the server. `None` where the server noted none: a client that only removes fields owns none of
/// them.
pub fn changed_by(before: &DeviceTaintRule, after: &DeviceTaintRule) -> Option<String> {
    let writers = || {
        let managers = after.managers.iter();
        managers.filter(|manager| manager.subresource.is_none())
    };
    let is_new = |manager: &&FieldManager| !before.managers.contains(manager);
    // Times are whole seconds: what is new tells more than what is newest.
    let newest = |managers: Vec<&FieldManager>| {
        let spec = managers.iter().filter(|manager| manager.owns_spec);
        let spec = spec.max_by_key(|manager| manager.time).copied();
        spec.or_else(|| managers.into_iter().max_by_key(|manager| manager.time))
            .cloned()
    };
    let noted = newest(writers().filter(is_new).collect());
    // Within one second, a program that writes again leaves the same note.
    let again = || sets_something(before, after).then(|| newest(writers().collect()));
    let writer = noted.or_else(|| again().flatten())?;
    let program = match writer.time {
        Some(time) => format!("{} at {time}", writer.name),
        None => format!("{} at an unknown time", writer.name),
    };
    let user = (writer.name == RuleMetadata::THIS_PROGRAM).then(|| {
        let metadata = &after.metadata;
        metadata
            .annotation(RuleMetadata::CHANGED_BY)
            .or_else(|| metadata.annotation(RuleMetadata::CREATED_BY))
    });
    Some(match user.flatten() {
        Some(user) => format!("{user}, with {program}"),
        None => program,
    })
}

/// True if the rule that was decided on still exists, and not another of its name: only then may the same command be
/// run again without a look at what it would change now.
pub fn is_still_there(decided_on: &DeviceTaintRule, found: Option<&DeviceTaintRule>) -> bool {
    found.is_some_and(|found| found.uid == decided_on.uid)
}

/// Note that another rule has the name of the one that was to be deleted, and was left alone.
pub fn made_anew(decided_on: &DeviceTaintRule, found: &DeviceTaintRule) -> Option<String> {
    let (name, taint, selector) = (&found.name, &found.taint, selected(found));
    (found.uid != decided_on.uid).then(|| {
        format!(
            "rule {name} was deleted and recreated, with taint {taint} and selector {selector}; \
            the new rule was not changed"
        )
    })
}

/// Advice about a rule that is so different by now that the same command would not change it.
pub fn look_first(name: &str) -> String {
    format!("review the rule first: kubectl devicetaint describe {name}")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::decide::Existing;
    use crate::decide::testing::{manager, named, rule, selector};
    use crate::engine::Semantics;
    use crate::model::{DeviceSelector, Effect, EvictionCondition};

    #[test]
    fn a_change_is_made_sent_again_or_refused_by_what_became_of_the_rule() {
        let before = named("drain", "None");
        let patch = RulePatch {
            effect: Some(Effect::NoExecute),
            ..RulePatch::default()
        };
        let changed = named("drain", "NoExecute");
        let labelled = {
            let mut rule = before.clone();
            rule.metadata.labels.insert("team".into(), "x".into());
            rule
        };
        let anew = DeviceTaintRule {
            uid: "anew".into(),
            ..labelled.clone()
        };
        let of = |found: Option<&DeviceTaintRule>, is_ours, again: bool| match conflicting_change(
            &before,
            found,
            &patch,
            is_ours,
            |_| again,
        ) {
            ConflictingChange::Made => "made",
            ConflictingChange::SentAgain => "sent again",
            ConflictingChange::Refused {
                is_repeatable: true,
                ..
            } => "repeatable",
            ConflictingChange::Refused { .. } => "refused",
        };
        assert_eq!(of(Some(&changed), true, true), "made");
        // Another client has made the same change: this command says so.
        assert_eq!(of(Some(&changed), false, true), "repeatable");
        // This run has changed the rule, but not in this way.
        assert_eq!(of(Some(&labelled), true, false), "refused");
        assert_eq!(of(Some(&before), false, true), "sent again");
        assert_eq!(of(Some(&before), true, false), "sent again");
        assert_eq!(of(Some(&labelled), false, true), "repeatable");
        assert_eq!(of(Some(&labelled), false, false), "refused");
        assert_eq!(of(Some(&anew), false, true), "refused", "another rule");
        assert_eq!(of(None, false, true), "refused");
    }

    #[test]
    fn a_rule_that_this_run_has_created_is_created_whatever_a_second_answer_says() {
        let wanted = RuleDraft {
            labels: rule("None").metadata.labels,
            annotations: [("note".to_owned(), "asked for".to_owned())].into(),
            ..crate::decide::testing::draft(selector("gpu-0"), "None")
        };
        let semantics = Semantics::assumed();
        let terms = Terms {
            existing: Existing::Kept,
            semantics: &semantics,
            now: Timestamp::UNIX_EPOCH,
        };
        let writer = Writer {
            user: None,
            run: Some("1".to_owned()),
        };
        let of = |found: Option<&DeviceTaintRule>| {
            let (result, step) = conflicting_creation(wanted.clone(), found, &terms, &writer);
            let step = match step {
                Ok(AddStep::Create(_)) => "created",
                Ok(AddStep::Change { .. }) => "changed",
                Ok(AddStep::Keep { .. }) => "kept",
                Err(_) => "refused",
            };
            (result, step)
        };
        let incomplete = rule("None");
        let mut complete = incomplete.clone();
        complete.metadata.annotations = wanted.annotations.clone();
        let mut leaving = complete.clone();
        leaving.metadata.deletion = Some(Timestamp::UNIX_EPOCH);
        let ours = |mut rule: DeviceTaintRule| {
            let note = (RuleMetadata::CREATED_BY_RUN.to_owned(), "1".to_owned());
            rule.metadata.annotations.extend([note]);
            rule
        };
        assert_eq!(of(None), (RuleResult::Created, "created"));
        assert_eq!(of(Some(&incomplete)), (RuleResult::Configured, "changed"));
        assert_eq!(of(Some(&complete)), (RuleResult::Unchanged, "kept"));
        assert_eq!(of(Some(&leaving)), (RuleResult::Failed, "refused"));
        for (found, step) in [
            (incomplete, "changed"),
            (complete, "kept"),
            (leaving, "refused"),
        ] {
            assert_eq!(of(Some(&ours(found))), (RuleResult::Created, step));
        }
    }

    #[test]
    fn a_downgrade_whose_answer_was_lost_is_made_by_this_run_or_was_not_needed() {
        let of = |found: Option<&DeviceTaintRule>, is_ours| match conflicting_downgrade(
            "drain",
            found,
            &Effect::NoSchedule,
            is_ours,
        ) {
            ControlFlow::Continue(rule) => format!("sent for {}", rule.taint.effect),
            ControlFlow::Break(DowngradeEnd::Made) => "made".to_owned(),
            ControlFlow::Break(DowngradeEnd::Unneeded) => "unneeded".to_owned(),
            ControlFlow::Break(DowngradeEnd::LostAgain(_)) => "lost again".to_owned(),
            ControlFlow::Break(DowngradeEnd::Refused(_)) => "refused".to_owned(),
        };
        for is_ours in [true, false] {
            assert_eq!(of(None, is_ours), "refused");
            let raised = rule("NoExecute");
            assert_eq!(of(Some(&raised), is_ours), "sent for NoExecute");
        }
        assert_eq!(of(Some(&rule("NoSchedule")), true), "made");
        assert_eq!(of(Some(&rule("NoSchedule")), false), "unneeded");
        assert_eq!(of(Some(&rule("None")), true), "lost again");
        assert_eq!(of(Some(&rule("None")), false), "refused");
    }

    #[test]
    fn another_rule_of_the_same_name_is_not_the_one_that_was_decided_on() {
        let decided_on = rule("None");
        let mut changed = rule("NoExecute");
        assert!(is_still_there(&decided_on, Some(&changed)));
        changed.uid = "another".into();
        assert!(!is_still_there(&decided_on, Some(&changed)));
        assert_eq!(made_anew(&decided_on, &decided_on), None);
        let told = made_anew(&decided_on, &changed).unwrap();
        assert!(
            told.contains("recreated, with taint example.com/maintenance:NoExecute"),
            "{told}"
        );
        assert!(!is_still_there(&decided_on, None));
    }

    #[test]
    fn a_new_status_is_no_conflict() {
        let before = rule("None");
        let mut after = before.clone();
        after.resource_version = "8".to_owned();
        after.condition = Some(EvictionCondition {
            status: "False".to_owned(),
            reason: "NoEffect".to_owned(),
            message: String::new(),
            observed_generation: 1,
            last_transition: None,
        });
        let mut controller = manager("kube-controller-manager", "2026-11-21T03:00:00Z");
        controller.subresource = Some("status".to_owned());
        controller.owns_spec = false;
        after.managers.push(controller);
        assert!(matches!(
            conflict(&before, Some(&after)),
            ConflictOutcome::Ours
        ));
    }

    #[test]
    fn only_what_has_a_value_that_it_had_not_was_set() {
        type Change = fn(&mut DeviceTaintRule);
        let changes: [(Change, bool); 9] = [
            (|_| (), false),
            (|rule| rule.generation = 2, false),
            (|rule| rule.taint.value = "x".to_owned(), true),
            (|rule| rule.taint.effect = Effect::NoExecute, true),
            (|rule| rule.taint.key = "example.com/other".to_owned(), true),
            (|rule| rule.uid = "another".into(), true),
            (
                |rule| {
                    let annotations = &mut rule.metadata.annotations;
                    annotations.insert("devicetaint.dev/reason".to_owned(), "x".to_owned());
                },
                true,
            ),
            // A client that removes a field owns nothing of it.
            (
                |rule| {
                    rule.selector = rule.selector.take().map(|selector| DeviceSelector {
                        device: None,
                        ..selector
                    });
                },
                false,
            ),
            (
                |rule| {
                    rule.selector = rule.selector.take().map(|selector| DeviceSelector {
                        device: Some("gpu-9".into()),
                        ..selector
                    });
                },
                true,
            ),
        ];
        for (number, (change, expected)) in changes.into_iter().enumerate() {
            let before = rule("None");
            let mut after = before.clone();
            change(&mut after);
            assert_eq!(sets_something(&before, &after), expected, "{number}");
        }
        let mut noted = rule("None");
        let annotations = &mut noted.metadata.annotations;
        annotations.insert("devicetaint.dev/reason".to_owned(), "x".to_owned());
        assert!(!sets_something(&noted, &rule("None")), "taken away");
        assert!(!sets_something(&noted, &noted), "left as it is");
    }

    #[test]
    fn whoever_only_takes_fields_away_leaves_no_note_and_nobody_else_is_blamed() {
        let before = rule("None");
        let mut after = before.clone();
        after.selector = Some(DeviceSelector {
            pool: None,
            device: None,
            ..selector("gpu-0")
        });
        assert_eq!(changed_by(&before, &after), None);
        // A field with another value was set by the client that owns it by now.
        after.taint.effect = Effect::NoExecute;
        assert!(changed_by(&before, &after).is_some());
    }

    #[test]
    fn a_rule_that_was_deleted_under_a_question_is_named_before_its_impact() {
        let rule = named("fw-1", "NoSchedule");
        let again = DeviceTaintRule {
            uid: "another".into(),
            ..rule.clone()
        };
        let decided = [rule];
        assert!(refuse_deleted(&decided, &decided).is_ok());
        let mut changed = decided[0].clone();
        changed.generation = 2;
        let found = [named("other", "None"), changed];
        assert!(
            refuse_deleted(&decided, &found).is_ok(),
            "it is still there"
        );
        let deleted = refuse_deleted(&decided, &[]).unwrap_err().to_string();
        assert!(deleted.starts_with("rule fw-1 was deleted"), "{deleted}");
        let recreated = refuse_deleted(&decided, &[again]).unwrap_err();
        assert!(recreated.details()[0].starts_with("it was deleted and recreated"));
    }
}
