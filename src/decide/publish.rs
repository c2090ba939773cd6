//! Publication of a preview: the rules created for it, and comparison with the controller's answer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::RuleDraft;
use super::draft::of_batch;
use crate::assess::ImpactFacts;
use crate::assess::taint::Condition;
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, EvictionCondition, Taint};
use crate::naming::keys;
use crate::naming::phrase::counted;
use crate::naming::rule;
use schemars::JsonSchema;
use serde::Serialize;

/// A rule with effect None for each of the `proposed` taints, all with the label of one batch.
///
/// # Errors
///
/// A taint that no such rule can preview.
pub fn previews(proposed: &[ProposedTaint]) -> Result<Vec<RuleDraft>, Failure> {
    let drafts: Vec<RuleDraft> = proposed.iter().map(preview).collect::<Result<_, _>>()?;
    let selectors: Vec<_> = drafts.iter().map(|draft| draft.selector.clone()).collect();
    let Some(first) = proposed.first() else {
        return Ok(drafts);
    };
    let labels = of_batch(&rule::batch(&selectors, &first.taint));
    let labelled = drafts.into_iter().map(|draft| RuleDraft {
        labels: labels.clone(),
        ..draft
    });
    Ok(labelled.collect())
}

fn preview(proposed: &ProposedTaint) -> Result<RuleDraft, Failure> {
    let taint = &proposed.taint;
    if taint.effect != Effect::NoExecute {
        return Err(Failure::usage(format!(
            "--publish compares evictions, so the proposed taint needs effect NoExecute (or no EFFECT): {} evicts no pods",
            taint.effect
        )));
    }
    let Some(selector) = &proposed.selector else {
        return Err(Failure::usage(
            "--publish needs a rule with spec.deviceSelector",
        ));
    };
    Ok(RuleDraft {
        // The value tells the previews of two taints with one key apart.
        name: rule::preview_name(selector, taint),
        selector: selector.clone(),
        taint: Taint {
            effect: Effect::None,
            time_added: None,
            ..taint.clone()
        },
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        manifest: None,
    })
}

/// Action that creates so many preview rules, as the beginning of a question.
pub fn publication(rules: usize) -> String {
    format!("Create {} with effect None", counted(rules, "rule"))
}

/// Checks that the rule of the draft's name is an earlier preview, which may be deleted.
///
/// # Errors
///
/// When it is something else.
pub fn check_preview(rule: &DeviceTaintRule, draft: &RuleDraft) -> Result<(), Failure> {
    // The preview may have been escalated: its deletion would lift a taint that is in force.
    let managed = rule.metadata.labels.get(keys::MANAGED_BY);
    let is_ours = managed.is_some_and(|manager| manager == keys::THIS_PROGRAM);
    if is_ours && draft.is_spec_of(rule) {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Failed,
        format!(
            "rule {} exists, but is not the rule that --publish creates for this preview: its \
            taint is {}",
            rule.name, rule.taint
        ),
    ))
}

/// The rule that the controller was asked by is gone.
pub fn removed_meanwhile(name: &str) -> Failure {
    Failure::new(
        ExitStatus::Failed,
        format!("rule {name} was deleted by another client during the wait"),
    )
}

/// Failure of a wait that a signal interrupted.
pub fn interrupted(status: ExitStatus) -> Failure {
    Failure::new(status, "interrupted while waiting for the controller")
}

/// `failure`, with that of the removal of the rules.
pub fn with_failed_removal(failure: Failure, removal: &Failure) -> Failure {
    let failure = failure.detail(format!("the rules could not be removed: {removal}"));
    removal.hints().iter().cloned().fold(failure, Failure::hint)
}

/// The failure to take the rules away, with how to find those that are left.
pub fn with_what_is_left(failure: Failure, drafts: &[RuleDraft]) -> Failure {
    let batch = batch_of(drafts);
    failure.hint(format!(
        "to list the remaining rules: kubectl get devicetaintrules -l {batch}"
    ))
}

/// Note about rules that stay after a preview.
pub fn what_stays(drafts: &[RuleDraft]) -> String {
    let batch = batch_of(drafts);
    format!("rules with effect None stay; to remove them: kubectl devicetaint remove -l {batch}")
}

/// The label by which the rules are found.
fn batch_of(drafts: &[RuleDraft]) -> String {
    let key = keys::BATCH;
    let batch = drafts.first().and_then(|draft| draft.labels.get(key));
    format!("{key}={}", batch.map_or("", String::as_str))
}

/// A rule with effect None that `preview --publish` created, and the counts that the eviction controller wrote to
/// the rule's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Published")]
pub struct ControllerAnswer {
    /// The rule's name.
    pub rule: String,
    /// The rule's condition for its current generation; null if the controller did not write it in time.
    pub condition: Option<Condition>,
    /// True if the message of the condition is identical to `controllerMessage` in the corresponding entry of
    /// `proposedTaints`; null if one of these messages is missing.
    pub agrees: Option<bool>,
    /// Message that the controller should write; absent where a number of it is not known.
    #[serde(skip)]
    expected: Option<String>,
}

impl ControllerAnswer {
    /// Answer for a rule of this name and generation. A condition is an answer only when the controller has seen that
    /// generation.
    pub fn new(
        rule: &str,
        generation: i64,
        condition: Option<&EvictionCondition>,
        expected: Option<&str>,
    ) -> Self {
        // A condition with an older generation is about an earlier spec of the rule.
        let condition = condition.filter(|condition| condition.observed_generation == generation);
        let agrees = condition.zip(expected).map(|(condition, expected)| {
            // Not the message alone: with another status or reason, the controller says something else.
            condition.status == "False"
                && condition.reason == "NoEffect"
                && condition.message == *expected
        });
        Self {
            rule: rule.to_owned(),
            condition: condition.map(Condition::from),
            agrees,
            expected: expected.map(str::to_owned),
        }
    }

    /// The answer in a line.
    pub fn line(&self) -> String {
        let rule = &self.rule;
        let Some(condition) = &self.condition else {
            return format!("rule {rule}: no controller responded");
        };
        let said = &condition.message;
        match (self.agrees, &self.expected) {
            (Some(true), _) => {
                format!("rule {rule}: the controller reports the same as this preview: {said}")
            }
            (Some(false), Some(expected)) => format!(
                "rule {rule}: the controller reports {said:?} ({} {}), but this preview expects {expected:?}",
                condition.status, condition.reason,
            ),
            (Some(false) | None, _) => {
                format!("rule {rule} is not compared; the controller reports: {said}")
            }
        }
    }
}

/// Checks the answers.
///
/// # Errors
///
/// An answer that contradicts this preview, none in time, or one that was not compared. A contradiction comes first:
/// silence may end, and one of the two is wrong for good.
pub fn check(
    answers: &[ControllerAnswer],
    facts: &ImpactFacts,
    patience: Duration,
) -> Result<(), Failure> {
    let failure = |agrees: Option<bool>, is_answered: bool, text: &str| {
        let is_of =
            |it: &&ControllerAnswer| it.agrees == agrees && it.condition.is_some() == is_answered;
        let rules = answers.iter().filter(is_of).map(|it| it.rule.as_str());
        let rules: Vec<&str> = rules.collect();
        let text = format!("{text}: {}", rules.join(", "));
        (!rules.is_empty()).then(|| Failure::new(ExitStatus::Incomplete, text))
    };
    let differs = "the controller's result differs from this preview for rules";
    if let Some(failure) = failure(Some(false), true, differs) {
        return Err(failure.hint(
            "please report the difference, with the file that this command writes: kubectl devicetaint \
            snapshot -o FILE",
        ));
    }
    let seconds = patience.as_secs();
    let silent = format!("no controller responded within {seconds}s; rules without a response");
    if let Some(failure) = failure(None, false, &silent) {
        return Err(failure.hint(
            "check that kube-controller-manager runs device-taint-eviction-controller, with the \
            feature gates DRADeviceTaints and DRADeviceTaintRules enabled",
        ));
    }
    let unknown = "not compared with the controller, because some pod counts are unknown";
    match failure(None, true, unknown) {
        None => Ok(()),
        Some(failure) => {
            let gaps = facts.gaps.iter();
            let gaps = gaps.map(|gap| format!("{}: {}", gap.what, gap.why));
            Err(gaps.fold(failure, Failure::detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{selector, taint};

    fn proposed(effect: &str) -> ProposedTaint {
        ProposedTaint {
            rule: None,
            selector: Some(selector("gpu-0")),
            taint: taint(effect),
        }
    }

    #[test]
    fn each_taint_is_asked_about_by_a_rule_that_does_nothing() {
        let asked = previews(&[proposed("NoExecute")]).unwrap();
        assert_eq!(asked[0].taint.effect, Effect::None);
        assert_eq!(asked[0].taint.time_added, None);
        assert!(what_stays(&asked).ends_with(&asked[0].labels[keys::BATCH]));
        for effect in ["NoSchedule", "None"] {
            assert!(previews(&[proposed(effect)]).is_err(), "{effect}");
        }
        let nameless = ProposedTaint {
            selector: None,
            ..proposed("NoExecute")
        };
        assert!(previews(&[nameless]).is_err());
    }

    #[test]
    fn only_an_earlier_preview_of_the_same_taint_is_taken_away() {
        let draft = previews(&[proposed("NoExecute")]);
        let draft = draft.unwrap().remove(0);
        let mut found = crate::decide::testing::rule("None");
        found.selector = Some(draft.selector.clone());
        found.taint = draft.taint.clone();
        found.metadata.labels.clone_from(&draft.labels);
        assert!(check_preview(&found, &draft).is_ok());
        let mut escalated = found.clone();
        escalated.taint.effect = Effect::NoExecute;
        assert!(check_preview(&escalated, &draft).is_err());
        found.metadata.labels.clear();
        assert!(check_preview(&found, &draft).is_err());
    }

    fn condition(message: &str, reason: &str, generation: i64) -> EvictionCondition {
        EvictionCondition {
            status: "False".to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition: None,
        }
    }

    fn said(said: Option<(&str, i64)>, expected: Option<&str>) -> Option<String> {
        let said = said.map(|(message, generation)| condition(message, "NoEffect", generation));
        let answer = ControllerAnswer::new("p", 1, said.as_ref(), expected);
        let checked = check(&[answer], &ImpactFacts::default(), Duration::from_secs(15));
        checked.err().map(|failure| failure.to_string())
    }

    #[test]
    fn what_the_controller_says_has_to_be_the_same_to_the_letter() {
        for (condition, expected, told) in [
            (Some(("1 pod", 1)), Some("1 pod"), None),
            (Some(("2 pods", 1)), Some("1 pod"), Some("differs")),
            (Some(("1 pod", 0)), Some("1 pod"), Some("no controller")),
            (None, Some("1 pod"), Some("no controller responded")),
            (Some(("1 pod", 1)), None, Some("not compared")),
        ] {
            let said = said(condition, expected);
            assert_eq!(said.is_some(), told.is_some(), "{condition:?}");
            let mut said = said.iter().zip(told);
            assert!(
                said.all(|(said, told)| said.contains(told)),
                "{condition:?}"
            );
        }
    }
}
